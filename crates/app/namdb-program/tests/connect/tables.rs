//! Programs that share tables.

use super::cluster::Cluster;
use super::peer::{COUNTS, Peer};
use namdb::{
    AsyncSession, Db, Isolation, KeyValueTable, RecordTable, Retry, Session, Storage,
    TransactionError, asynchronous::block_on, record,
};

record! {
    /// A number that programs count up.
    pub struct Counter in "counter" {
        key { name: i32 }
        value: i64,
    }
}

record! {
    /// A row with a unique value beside its key.
    struct Account in "account" {
        key { number: i64 }
        owner: String[20],
    }
    unique by_owner(owner);
}

/// An error of the application.
#[derive(PartialEq, Debug)]
enum Refusal {
    Poor(String),
    Database(TransactionError),
}

impl From<TransactionError> for Refusal {
    fn from(error: TransactionError) -> Self {
        Self::Database(error)
    }
}

pub fn count_up(
    session: &mut Session,
    counters: RecordTable<Counter>,
) -> Result<i64, TransactionError> {
    session.transaction(Isolation::Serializable, Retry::default(), |txn| {
        let value = txn.get(counters, 7)?.map_or(0, |counter| counter.value) + 1;
        txn.upsert(counters, &Counter { name: 7, value })?;
        Ok(value)
    })
}

/// Two processes and two threads create the same table at once, and count up the same row.
fn programs_share_a_table(fabric: &str) {
    let cluster = Cluster::up("share", fabric);
    let peers = ["count", "count", "stay"].map(|work| Peer::start(work, &cluster.file));
    let db = namdb::connect(&cluster.file).expect("the cluster runs");
    let counters = RecordTable::<Counter>::open_or_create(&db, Default::default());
    let counters = counters.expect("it is there now");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            // A session is made on one thread and used on another.
            let mut session = db.session();
            scope.spawn(move || {
                for _ in 0..COUNTS {
                    count_up(&mut session, counters).expect("it commits");
                }
            });
        }
    });
    let [one, other, stays] = peers;
    assert_eq!([one.end(), other.end()], ["counted", "counted"]);
    assert_eq!(count_up(&mut db.session(), counters).expect("it commits"), 4 * COUNTS + 1);
    let refused = Peer::start("differ", &cluster.file).end();
    assert!(
        refused.contains("table counter: column `value` is declared as i32, and is i64")
            && refused.contains("declare the table as it was created"),
        "{refused}"
    );
    assert!(cluster.processes("compute").contains(&(std::process::id() as i32)));
    drop(db);
    assert!(!cluster.processes("compute").contains(&(std::process::id() as i32)));
    assert_eq!(stays.end(), "stayed: true");
    cluster.await_compute_servers(0);
    assert_eq!(cluster.status()["state"], "running");
}

#[test]
fn programs_share_a_table_in_shared_memory() {
    programs_share_a_table("shm");
}

#[test]
fn programs_share_a_table_over_messages() {
    programs_share_a_table("tcp");
}

/// A database of a cluster does the same as one of this process.
fn a_database_is_complete(fabric: &str) {
    let cluster = Cluster::up("complete", fabric);
    let db = namdb::connect(&cluster.file).expect("the cluster runs");
    has_values_of_bytes(&db);
    has_records_indexes_and_ranges(&db);
    let other = namdb::connect(&cluster.file).expect("there is room for two");
    sees_changes_of_the_catalog(&db, &other);
    let counters = RecordTable::<Counter>::open_or_create(&db, Default::default());
    let counters = counters.expect("it is new");
    let refused = count_up(&mut other.session(), counters).expect_err("a handle of the first");
    assert!(refused.to_string().contains("belongs to another database"), "{refused}");
    let counted = AsyncSession::open(&db, 2).expect("threads can be had");
    let counted = counted.run(move |session| count_up(session, counters));
    assert_eq!(block_on(counted).expect("no panic").ok(), Some(1));
}

fn has_values_of_bytes(db: &Db) {
    let values = KeyValueTable::open_or_create(db, "values", 8, 100_000, Default::default());
    let values = values.expect("it is new");
    let mut session = db.session();
    let mut kv = session.key_value().expect("it begins");
    kv.write(values, b"long", &[7; 90_000]).expect("it fits");
    drop(kv);
    let mut kv = session.key_value().expect("it begins");
    assert_eq!(kv.read(values, b"long"), Ok(None), "it was rolled back");
    kv.write(values, b"long", &[7; 90_000]).expect("it fits");
    assert_eq!(kv.read(values, b"long"), Ok(Some(vec![7; 90_000])), "its own write");
    kv.commit().expect("it commits");
    let mut kv = session.key_value().expect("it begins");
    assert_eq!(kv.read(values, b"long"), Ok(Some(vec![7; 90_000])));
    assert_eq!(kv.delete(values, b"long"), Ok(true));
    kv.commit().expect("it commits");
}

fn has_records_indexes_and_ranges(db: &Db) {
    let accounts = RecordTable::<Account>::open_or_create(db, Storage::Tree.into());
    let accounts = accounts.expect("it is new");
    let by_owner = Account::by_owner(db).expect("it was created with the table");
    let mut session = db.session();
    let account = |number: i64, owner: &str| Account { number, owner: owner.to_owned() };
    let all = session.transaction(Isolation::Serializable, Retry::default(), |txn| {
        for (number, owner) in [(3, "Ada"), (1, "Bob"), (2, "Eve")] {
            txn.insert(accounts, &account(number, owner))?;
        }
        namdb::Ok(())
    });
    all.expect("it commits");
    let found = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
        let (eve, mut count) = (txn.index(by_owner).get("Eve")?, 0);
        let numbers = txn.range(accounts, ..3).rev().map(|account| Ok(account?.number));
        let numbers = numbers.collect::<namdb::Result<Vec<_>>>()?;
        let first = txn.index(by_owner).range("B"..).limit(1).next().transpose()?;
        txn.rows().for_each(accounts.id(), |_| count += 1)?;
        namdb::Ok((eve, numbers, first, count))
    });
    let (eve, bob) = (Some(account(2, "Eve")), Some(account(1, "Bob")));
    assert_eq!(found.expect("it commits"), (eve, vec![2, 1], bob, 3));
    let refused = session.transaction(Isolation::Serializable, Retry::default(), |txn| {
        txn.insert(accounts, &account(4, "Ada"))
    });
    let refused = refused.expect_err("another account is Ada's");
    assert!(matches!(&refused, TransactionError::UniqueViolation(_)), "{refused}");
    let mut attempts = 0;
    let refused = session.transaction(Isolation::Serializable, Retry::default(), |txn| {
        attempts += 1;
        let previous = txn.update(accounts, &account(3, "Eva"))?.map(|account| account.owner);
        Err::<(), _>(Refusal::Poor(previous.unwrap_or_default()))
    });
    assert_eq!((refused, attempts), (Err(Refusal::Poor("Ada".to_owned())), 1));
    conflicts_are_retried(db, accounts);
}

/// Another session commits between the statements of the first attempt.
fn conflicts_are_retried(db: &Db, accounts: RecordTable<Account>) {
    let mut attempts = 0;
    let account = |number: i64, owner: &str| Account { number, owner: owner.to_owned() };
    let inserted = db.session().transaction(Isolation::Snapshot, Retry::default(), |txn| {
        attempts += 1;
        if attempts == 1 {
            let other = db.session().transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
                txn.insert(accounts, &account(9, "Zoe"))
            });
            other.expect("it is the first committer");
        }
        txn.insert(accounts, &account(9, "Yan")).map_err(|_| Refusal::Poor("hidden".to_owned()))
    });
    assert_eq!((inserted, attempts), (Err(Refusal::Poor("hidden".to_owned())), 2));
    let deleted = db.session().transaction(Isolation::Snapshot, Retry::default(), |txn| {
        let deleted = txn.delete(accounts, 9)?;
        Ok::<_, Refusal>((deleted, txn.delete(accounts, 9)?))
    });
    assert_eq!(deleted, Ok((Some(account(9, "Zoe")), None)));
}

fn sees_changes_of_the_catalog(db: &Db, other: &Db) {
    let values = KeyValueTable::open(other, "values").expect("the first one has created it");
    let read = |db: &Db, table| {
        let read = |txn: &mut namdb::Transaction<'_>| txn.read_value(table, b"long");
        db.session().transaction(Isolation::Snapshot, Retry::default(), read)
    };
    assert_eq!(read(other, values).ok(), Some(None));
    db.drop_table("values").expect("nobody uses it");
    assert_eq!(other.table("values"), None);
    assert!(read(other, values).is_err(), "the table is gone");
    assert!(db.memory_usage().expect("it is read").iter().any(|table| table.name == "account"));
}

#[test]
fn a_database_in_shared_memory_is_complete() {
    a_database_is_complete("shm");
}

#[test]
fn a_database_over_messages_is_complete() {
    a_database_is_complete("tcp");
}

/// More programs one after another than the cluster has slots: each gives its slots back.
#[test]
fn programs_that_leave_give_their_slots_back() {
    for fabric in ["shm", "tcp"] {
        let cluster = Cluster::up("slots", fabric);
        for round in 1..=70 {
            let db = namdb::connect(&cluster.file).expect("the cluster runs");
            let counters = RecordTable::<Counter>::open_or_create(&db, Default::default());
            let counters = counters.expect("it is there now");
            let mut session = db.session();
            let count = move || count_up(&mut session, counters);
            let counted = std::thread::scope(|scope| scope.spawn(count).join());
            assert_eq!(counted.expect("no panic").expect("a slot is free"), round);
        }
        cluster.await_compute_servers(0);
    }
}

//! Transactions whose closures return an error type of the application.

use super::open;
use namdb::{
    Abort, AsyncSession, Db, Isolation, KeyValueTable, Retry, TransactionError,
    asynchronous::block_on, record,
};

#[derive(PartialEq, Debug)]
enum Refusal {
    Taken,
    NoFunds { balance: i64 },
    Lost,
    Database(TransactionError),
}

impl From<TransactionError> for Refusal {
    fn from(error: TransactionError) -> Self {
        match error {
            TransactionError::DuplicateKey(_) => Self::Taken,
            other => Self::Database(other),
        }
    }
}

record! {
    /// An account.
    struct Account in "account" {
        key { number: i64 }
        balance: i64,
    }
}

type Accounts = namdb::RecordTable<Account>;

fn accounts(db: &Db) -> Accounts {
    let accounts = Accounts::create(db, Default::default()).expect("the table is new");
    let funded = db.session().transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
        txn.upsert(accounts, &Account { number: 1, balance: 10 })
    });
    funded.expect("nobody else writes");
    accounts
}

fn balance(db: &Db, accounts: Accounts) -> Option<i64> {
    let read = db.session().transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
        namdb::Ok(txn.get(accounts, 1)?.map(|account| account.balance))
    });
    read.expect("nobody else writes")
}

/// Writes the row that a session which has begun is about to write.
fn write_in_between(db: &Db, accounts: Accounts, balance: i64) {
    let written = db.session().transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
        txn.upsert(accounts, &Account { number: 1, balance })
    });
    written.expect("it is the first committer");
}

#[test]
fn a_refusal_rolls_back_and_comes_out_as_it_is() {
    let db = open(2);
    let accounts = accounts(&db);
    let mut attempts = 0;
    let refused = db.session().transaction(Isolation::Serializable, Retry::default(), |txn| {
        attempts += 1;
        txn.upsert(accounts, &Account { number: 1, balance: 0 })?;
        Err::<(), _>(Refusal::NoFunds { balance: 10 })
    });
    assert_eq!((refused, attempts), (Err(Refusal::NoFunds { balance: 10 }), 1));
    assert_eq!(balance(&db, accounts), Some(10));
}

#[test]
fn a_conflict_at_commit_is_retried_and_then_reported_in_the_callers_type() {
    let db = open(2);
    let accounts = accounts(&db);
    let mut session = db.session();
    let mut attempts = 0;
    let mut withdraw = |conflicts: i32, retry| {
        attempts = 0;
        session.transaction(Isolation::Serializable, retry, |txn| {
            attempts += 1;
            let account = txn.get(accounts, 1)?.ok_or(Refusal::Lost)?;
            // Another session commits first.
            if attempts <= conflicts {
                write_in_between(&db, accounts, account.balance);
            }
            txn.upsert(accounts, &Account { balance: account.balance - 1, ..account })?;
            Ok::<_, Refusal>(attempts)
        })
    };
    assert_eq!(withdraw(2, Retry::default()), Ok(3));
    let given_up = TransactionError::Aborted { reason: Abort::WriteConflict, attempts: 4 };
    assert_eq!(withdraw(9, Retry::attempts(4)), Err(Refusal::Database(given_up)));
    assert_eq!(balance(&db, accounts), Some(9));
}

/// A statement aborts. The closure hides that in an error of its own, or ignores it.
#[test]
fn a_conflict_inside_is_retried_whatever_the_closure_makes_of_it() {
    for hides in [true, false] {
        let db = open(2);
        let table = KeyValueTable::create(&db, "kv", 8, 8, Default::default()).expect("new");
        let mut attempts = 0;
        let insert = |session: &mut namdb::Session, value: &[u8]| {
            session.transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
                txn.write_value(table, b"k", value)
            })
        };
        let ended = db.session().transaction(Isolation::Snapshot, Retry::default(), |txn| {
            attempts += 1;
            if attempts == 1 {
                insert(&mut db.session(), b"first").expect("it is the first committer");
            }
            // In the first attempt the key is in no snapshot and cannot be inserted.
            match txn.write_value(table, b"k", b"second") {
                Ok(()) => Ok(attempts),
                Err(error) => {
                    assert_eq!(error.abort(), Some(Abort::InsertConflict));
                    let later = txn.read_value(table, b"other").expect_err("it is over");
                    assert_eq!(later.abort(), Some(Abort::InsertConflict));
                    if hides { Err(Refusal::Lost) } else { Ok(attempts) }
                }
            }
        });
        assert_eq!(ended, Ok(2), "hides: {hides}");
        let read = db
            .session()
            .transaction(Isolation::Snapshot, Retry::NEVER, |txn| txn.read_value(table, b"k"));
        assert_eq!(read, Ok(Some(b"second".to_vec())));
    }
}

#[test]
fn async_sessions_return_the_callers_errors() {
    let db = open(2);
    let accounts = accounts(&db);
    let session = AsyncSession::open(&db, 1).expect("a thread can be had");
    let withdraw = |wanted: i64| {
        session.transaction(Isolation::Serializable, Retry::default(), move |txn| {
            let account = txn.get(accounts, 1)?.ok_or(Refusal::Lost)?;
            let balance = account.balance - wanted;
            if balance < 0 {
                return Err(Refusal::NoFunds { balance: account.balance });
            }
            txn.upsert(accounts, &Account { balance, ..account })?;
            Ok(balance)
        })
    };
    assert_eq!(block_on(withdraw(11)), Err(Refusal::NoFunds { balance: 10 }));
    assert_eq!(block_on(withdraw(4)), Ok(6));
    let panics =
        session.transaction(Isolation::Snapshot, Retry::NEVER, |_| -> Result<(), Refusal> {
            panic!("on purpose")
        });
    assert_eq!(block_on(panics), Err(Refusal::Database(TransactionError::Panicked)));
}

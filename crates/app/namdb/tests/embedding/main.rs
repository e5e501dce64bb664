//! The library in a multi-threaded program: sessions, borrowed lanes, outcomes.

mod checkpoints;
mod directory;
mod errors;
mod key_names;
mod records;
mod texts;

use fabric::Env;
use namdb::{
    Abort, AsyncSession, Bytes, CatalogError, Column, ColumnType, Config, Db, IndexDesign,
    IndexKind, Isolation, Key, KeyBuilder, KeyValueTable, OpenError, Oracle, RecordTable, Retry,
    Schema, TableId, TableSpec, Text, TransactionError, asynchronous::block_on, host,
    key_value::VALUE_BYTES_MAX, record,
};

fn open(lanes: u32) -> Db {
    let config = Config { server_bytes: 64 << 20, lanes, ..Config::default() };
    namdb::open(config).expect("64 MiB can be had")
}

fn counters(db: &Db) -> TableId {
    let columns = vec![Column::new("id", ColumnType::Int8), Column::new("n", ColumnType::Int8)];
    let schema = Schema::new("counter", columns, &[0]).expect("the columns are fine");
    let spec = TableSpec { schema, design: Default::default(), indexes: Vec::new() };
    db.create_table(spec).expect("the table is new")
}

fn key(id: i64) -> Key {
    KeyBuilder::new().int8(id).key()
}

#[test]
fn many_sessions_share_few_lanes_and_lose_no_update() {
    const THREADS: i64 = 8;
    const COUNTS: i64 = 200;
    let db = open(2);
    let table = counters(&db);
    let retry = Retry::attempts(10_000);
    db.session()
        .transaction(Isolation::Snapshot, retry, |txn| txn.rows().insert(table, &key(0)).map(drop))
        .expect("the row is new");
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let mut session = db.session();
            let count = move || {
                for _ in 0..COUNTS {
                    let counted = session.transaction(Isolation::Snapshot, retry, |txn| {
                        let row = txn.rows().read(table, &key(0))?.expect("inserted above");
                        let next = txn.rows().row(row).int(1) + 1;
                        txn.rows().update(row).set_int(1, next);
                        namdb::Ok(())
                    });
                    counted.expect("so many attempts suffice");
                }
            };
            host::spawn("counter", count).expect("threads can be had")
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no counter panics"));
    let sum = db.session().transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
        let row = txn.rows().read(table, &key(0))?.expect("inserted above");
        namdb::Ok(txn.rows().row(row).int(1))
    });
    assert_eq!(sum.expect("reads commit"), THREADS * COUNTS);
}

/// Two sessions that alternate on two lanes, so that each would get the other's lane if it could.
#[test]
fn a_session_sees_what_it_has_committed_under_either_oracle() {
    for oracle in [Oracle::DoubleCollect, Oracle::Frozen] {
        let config = Config { server_bytes: 64 << 20, lanes: 2, oracle, ..Config::default() };
        let db = namdb::open(config).expect("64 MiB can be had");
        let table = counters(&db);
        let (mut holder, mut counter) = (db.session(), db.session());
        for round in 0..20 {
            let held = holder.begin(Isolation::Snapshot).expect("a lane is free");
            let seen = counter.transaction(Isolation::Snapshot, Retry::attempts(100), |txn| {
                let row = match txn.rows().read(table, &key(1))? {
                    Some(row) => row,
                    None => txn.rows().insert(table, &key(1))?,
                };
                let seen = txn.rows().row(row).int(1);
                txn.rows().update(row).set_int(1, seen + 1);
                namdb::Ok(seen)
            });
            assert_eq!(seen.expect("quiet"), round, "under {oracle:?}");
            held.abort();
            // The holder's lane is now the last returned, and therefore the next one lent.
            holder
                .transaction(Isolation::Snapshot, Retry::NEVER, |_| namdb::Ok(()))
                .expect("quiet");
        }
    }
}

#[test]
fn ten_thousand_sessions_fit_one_lane() {
    let db = open(1);
    let table = counters(&db);
    let mut sessions: Vec<_> = (0..10_000).map(|_| db.session()).collect();
    for (id, session) in sessions.iter_mut().enumerate() {
        let inserted = session.transaction(Isolation::Snapshot, Retry::attempts(10), |txn| {
            txn.rows().insert(table, &key(id as i64)).map(drop)
        });
        inserted.expect("the rows are new");
    }
    let mut rows = 0;
    let counted = sessions[0].transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
        rows = 0;
        txn.rows().for_each(table, |_| rows += 1)
    });
    counted.expect("reads commit");
    assert_eq!(rows, 10_000);
}

#[test]
fn outcomes_are_told_apart() {
    let db = open(4);
    let table = counters(&db);
    let (mut first, mut second) = (db.session(), db.session());
    let insert = |txn: &mut namdb::Transaction<'_>| txn.rows().insert(table, &key(1)).map(drop);
    first.transaction(Isolation::Snapshot, Retry::NEVER, insert).expect("the row is new");

    // The same row again: the statement fails, and the transaction has no effect.
    let again = first.transaction(Isolation::Snapshot, Retry::attempts(5), insert);
    assert!(matches!(again, Err(TransactionError::DuplicateKey(_))), "{again:?}");

    // Two writers of one row: the first committer wins.
    let mut slow = first.begin(Isolation::Snapshot).expect("a lane is free");
    let row = slow.rows().read(table, &key(1)).expect("quiet").expect("inserted above");
    second
        .transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
            let row = txn.rows().read(table, &key(1))?.expect("inserted above");
            txn.rows().update(row).set_int(1, 7);
            namdb::Ok(())
        })
        .expect("nobody has committed before");
    slow.rows().update(row).set_int(1, 8);
    assert_eq!(slow.commit(), Err(Abort::WriteConflict.into()));

    // A rollback by the caller is not retried.
    let mut attempts = 0;
    let result = second.transaction(Isolation::Serializable, Retry::attempts(5), |txn| {
        attempts += 1;
        let row = txn.rows().read(table, &key(1))?.expect("inserted above");
        txn.rows().update(row).set_int(1, 9);
        Err::<(), TransactionError>(Abort::User.into())
    });
    assert_eq!((result.expect_err("rolled back").abort(), attempts), (Some(Abort::User), 1));
    let left = second.transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
        let row = txn.rows().read(table, &key(1))?.expect("inserted above");
        namdb::Ok(txn.rows().row(row).int(1))
    });
    assert_eq!(left.expect("reads commit"), 7);
}

/// People with a unique number who share a town and a name.
fn people(db: &Db, name: &str, indexes: Vec<IndexDesign>) -> TableId {
    let columns = vec![
        Column::new("id", ColumnType::Int8),
        Column::nullable("town", ColumnType::Varchar(12)),
        Column::new("rent", ColumnType::Decimal { scale: 2 }),
    ];
    let schema = Schema::new(name, columns, &[0]).expect("the columns are fine");
    let spec = TableSpec { schema, design: Default::default(), indexes };
    db.create_table(spec).expect("the table is new")
}

fn by_town_and_rent(kind: IndexKind) -> IndexDesign {
    let (name, columns) = ("by_town_and_rent".to_owned(), vec![1, 2]);
    IndexDesign { name, columns, unique: true, kind, size_hint: 64, ..IndexDesign::default() }
}

fn settle_in(txn: &mut namdb::Transaction<'_>, table: TableId, id: i64) -> namdb::Result<()> {
    let row = txn.rows().insert(table, &key(id))?;
    txn.rows().update(row).set_bytes(1, b"Ghent");
    txn.rows().update(row).set_int(2, 85_050);
    Ok(())
}

#[test]
fn a_unique_violation_names_index_and_key() {
    let db = open(2);
    for kind in [IndexKind::Hash, IndexKind::Tree] {
        let table = people(&db, &format!("{kind:?}"), vec![by_town_and_rent(kind)]);
        let expected = format!(
            "table {kind:?} already holds a row with town = 'Ghent', rent = 850.50, \
             and index by_town_and_rent is unique"
        );
        let mut session = db.session();
        let mut settle = |id| {
            let settle = |txn: &mut namdb::Transaction<'_>| settle_in(txn, table, id);
            session.transaction(Isolation::Snapshot, Retry::attempts(5), settle)
        };
        settle(1).expect("the first");
        let refused = settle(2).expect_err("the second");
        assert_eq!(refused.abort(), Some(Abort::UniqueViolation));
        assert_eq!(refused.to_string(), format!("the transaction was aborted: {expected}"));

        let mut txn = session.begin(Isolation::Snapshot).expect("a lane is free");
        settle_in(&mut txn, table, 3).expect("that shows at commit");
        assert_eq!(txn.commit(), Err(Abort::UniqueViolation.into()));
        let violation = session.last_unique_violation().expect("it has just been");
        assert_eq!(violation.to_string(), expected);
    }
}

#[test]
fn an_index_that_cannot_be_unique_names_a_key() {
    let db = open(2);
    let table = people(&db, "people", Vec::new());
    let mut session = db.session();
    let both = session.transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
        settle_in(txn, table, 1)?;
        settle_in(txn, table, 2)
    });
    both.expect("nothing says that it is unique yet");
    let refused = db.create_index("people", by_town_and_rent(IndexKind::Tree));
    assert_eq!(
        refused.expect_err("two live there").to_string(),
        "index by_town_and_rent cannot be unique: table people holds several rows with \
         town = 'Ghent', rent = 850.50"
    );
    assert_eq!(db.index("people", "by_town_and_rent"), None);
}

#[test]
fn a_dropped_transaction_leaves_nothing() {
    let db = open(1);
    let table = KeyValueTable::create(&db, "kv", 20, 3000, Default::default()).expect("new");
    let mut session = db.session();
    let mut kv = session.key_value().expect("the lane is free");
    kv.write(table, b"lost", b"value").expect("it fits");
    drop(kv);
    let mut kv = session.key_value().expect("the lane is free again");
    assert_eq!(kv.read(table, b"lost"), Ok(None));
    let long = vec![7; 3000];
    kv.write(table, b"", &long).expect("it fits");
    assert!(kv.write(table, b"k", &[0; 3001]).is_err());
    assert!(kv.write(table, &[0; 21], b"v").is_err());
    kv.commit().expect("it commits");
    let mut kv = session.key_value().expect("the lane is free again");
    assert_eq!(kv.read(table, b""), Ok(Some(long)));
    assert_eq!(kv.delete(table, b""), Ok(true));
    assert_eq!(kv.delete(table, b""), Ok(false));
    kv.commit().expect("it commits");
}

record! {
    /// A row with a name.
    struct Person in "person" {
        key { name: Text<20> }
        age: Option<i16>,
    }
}

#[test]
fn typed_tables_find_themselves_again() {
    let db = open(2);
    let missing = RecordTable::<Person>::open(&db).expect_err("nobody has created it");
    assert_eq!(
        missing.to_string(),
        "there is no table person; the database has no tables yet; `open_or_create` finds or creates a table"
    );
    let people = RecordTable::<Person>::create(&db, Default::default()).expect("new");
    assert_eq!(RecordTable::<Person>::open(&db).map(|table| table.id()), Ok(people.id()));
    let mut session = db.session();
    let removed = session.transaction(Isolation::Serializable, Retry::NEVER, |txn| {
        txn.upsert(people, &Person { name: "Ada".into(), age: Some(36) })?;
        txn.upsert(people, &Person { name: "Ada".into(), age: None })?;
        txn.upsert(people, &Person { name: "Alan".into(), age: Some(41) })?;
        txn.delete(people, "Alan")
    });
    assert_eq!(removed.expect("quiet"), Some(Person { name: "Alan".into(), age: Some(41) }));
    let read = session.transaction(Isolation::Serializable, Retry::NEVER, |txn| {
        namdb::Ok((txn.get(people, "Ada")?, txn.get(people, "Alan")?))
    });
    assert_eq!(read.expect("quiet"), (Some(Person { name: "Ada".into(), age: None }), None));
}

#[test]
fn tables_of_bytes_find_themselves_again() {
    let db = open(2);
    assert!(matches!(KeyValueTable::open(&db, "t"), Err(CatalogError::NoTable(_))));
    // In one column, in several columns, and out of line.
    for (name, value_bytes_max) in [("t", 1), ("u", 2500), ("v", VALUE_BYTES_MAX)] {
        let created = KeyValueTable::create(&db, name, 9, value_bytes_max, Default::default());
        assert_eq!(KeyValueTable::open(&db, name), Ok(created.expect("new")));
    }
    RecordTable::<Person>::create(&db, Default::default()).expect("new");
    let refused = KeyValueTable::open(&db, "person").expect_err("it has other columns");
    assert!(refused.to_string().contains("table person: it is not a table of bytes"), "{refused}");
    let missing = KeyValueTable::open(&db, "w").expect_err("nobody has created it").to_string();
    assert!(missing.contains("no table w; the database has tables person, t, u, v"), "{missing}");
}

record! {
    /// A document with a long text and, perhaps, a picture.
    struct Document in "document" {
        key { number: i32 }
        title: Text<40>,
        text: Text<100_000>,
        picture: Option<Bytes<1_048_576>>,
    }
}

#[test]
#[should_panic(expected = "the row is of another table than that of the records person")]
fn a_record_is_read_out_of_its_own_table_only() {
    let db = open(1);
    let people = RecordTable::<Person>::create(&db, Default::default()).expect("the table is new");
    let counters = counters(&db);
    let read = db.session().transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
        let row = txn.rows().insert(counters, &key(0))?;
        txn.rows().record(people, row).map(drop)
    });
    read.expect("it panics before");
}

#[test]
fn handles_of_another_database_are_refused() {
    let (one, other) = (open(1), open(1));
    // Each is the first table of its database, but the databases differ.
    let values = KeyValueTable::create(&one, "values", 8, 8, Default::default()).expect("new");
    let people = RecordTable::<Person>::create(&other, Default::default()).expect("new");
    let refuse = |db: &Db, work: &dyn Fn(&mut namdb::Transaction<'_>) -> namdb::Result<()>| {
        let ended = db.session().transaction(Isolation::Snapshot, Retry::NEVER, |txn| work(txn));
        let sentence = ended.expect_err("the handle is of another database").to_string();
        assert!(sentence.contains("belongs to another database"), "{sentence}");
    };
    refuse(&other, &|txn| txn.read_value(values, b"k").map(drop));
    refuse(&other, &|txn| txn.write_value(values, b"k", b"v"));
    refuse(&other, &|txn| txn.delete_value(values, b"k").map(drop));
    refuse(&one, &|txn| txn.get(people, "Ada").map(drop));
    refuse(&one, &|txn| txn.insert(people, &Person { name: "Ada".into(), age: None }));
    refuse(&one, &|txn| txn.delete(people, "Ada").map(drop));
    let second = one.clone();
    let ended = second
        .session()
        .transaction(Isolation::Snapshot, Retry::NEVER, |txn| txn.write_value(values, b"k", b"v"));
    assert!(ended.is_ok(), "clones are the same database");
}

#[test]
fn keys_that_fit_no_row_are_refused_by_reads_and_deletes_too() {
    let db = open(1);
    let values = KeyValueTable::create(&db, "values", 8, 8, Default::default()).expect("new");
    let people = RecordTable::<Person>::create(&db, Default::default()).expect("new");
    let long = "longer than twenty bytes";
    let mut session = db.session();
    let mut refuse = |work: &dyn Fn(&mut namdb::Transaction<'_>) -> namdb::Result<()>| {
        let ended = session.transaction(Isolation::Snapshot, Retry::NEVER, |txn| work(txn));
        ended.expect_err("the key fits no row").to_string()
    };
    let refused = refuse(&|txn| txn.insert(people, &Person { name: long.into(), age: None }));
    assert!(
        refused.contains(
            "column name of table person cannot hold this value: it has 24 bytes, at most 20 fit"
        ),
        "{refused}"
    );
    let refused = refuse(&|txn| txn.get(people, long).map(drop));
    assert!(
        refused.contains(
            "column of the key of table person cannot hold this value: it has 24 bytes, at most 20"
        ),
        "{refused}"
    );
    assert_eq!(refuse(&|txn| txn.delete(people, long).map(drop)), refused);
    let refused = refuse(&|txn| txn.write_value(values, b"nine char", b"v"));
    assert!(refused.contains("it has 9 bytes, at most 8 fit"), "{refused}");
    assert_eq!(refuse(&|txn| txn.read_value(values, b"nine char").map(drop)), refused);
    assert_eq!(refuse(&|txn| txn.delete_value(values, b"nine char").map(drop)), refused);
}

fn document(number: i32) -> Document {
    let text = format!("{number} is a number. ").repeat(2000 + number as usize).as_str().into();
    let picture = (number % 2 == 0).then(|| Bytes(vec![number as u8; 1 << 20]));
    Document { number, title: format!("on {number}").as_str().into(), text, picture }
}

#[test]
fn records_with_long_fields_are_records_like_others() {
    let db = open(2);
    let documents = RecordTable::<Document>::create(&db, Default::default()).expect("new");
    let mut session = db.session();
    let seen_at_once = session.transaction(Isolation::Serializable, Retry::NEVER, |txn| {
        (0..4).try_for_each(|number| txn.insert(documents, &document(number)))?;
        txn.get(documents, 3)
    });
    assert_eq!(seen_at_once.expect("quiet"), Some(document(3)));
    let read = session.transaction(Isolation::Serializable, Retry::NEVER, |txn| {
        let changed = Document { title: "new".into(), picture: None, ..document(2) };
        txn.upsert(documents, &changed)?;
        assert_eq!(txn.get(documents, 2)?, Some(changed));
        txn.get(documents, 0)
    });
    assert_eq!(read.expect("quiet"), Some(document(0)));
    let too_long = session.transaction(Isolation::Serializable, Retry::NEVER, |txn| {
        txn.upsert(
            documents,
            &Document { text: "x".repeat(100_001).as_str().into(), ..document(1) },
        )
    });
    let sentence = too_long.expect_err("it does not fit").to_string();
    assert!(sentence.contains("it has 100001 bytes, at most 100000 fit"), "{sentence}");
    let titles = session.transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
        let mut lengths = Vec::new();
        txn.rows().for_each_long(documents.id(), |row| {
            lengths.push((row.int(0), row.text(2).len(), row.bytes(3).len()));
        })?;
        lengths.sort_unstable();
        namdb::Ok(lengths)
    });
    let length = |number: i32| document(number).text.len();
    let expected =
        vec![(0, length(0), 1 << 20), (1, length(1), 0), (2, length(2), 0), (3, length(3), 0)];
    assert_eq!(titles.expect("quiet"), expected);
}

#[test]
fn long_values_have_short_neighbours_in_a_table_of_bytes() {
    let db = open(2);
    let table = KeyValueTable::create(&db, "kv", 8, VALUE_BYTES_MAX, Default::default());
    let table = table.expect("it is new");
    assert!(KeyValueTable::create(&db, "no", 8, VALUE_BYTES_MAX + 1, Default::default()).is_err());
    let mut session = db.session();
    let lengths = [0, 1, 256, 257, 7168, 7169, VALUE_BYTES_MAX as usize];
    for (number, &bytes) in lengths.iter().enumerate() {
        let mut kv = session.key_value().expect("a lane is free");
        kv.write(table, &[0], &vec![number as u8; bytes]).expect("it fits");
        kv.write(table, &[number as u8 + 1], &vec![number as u8; bytes]).expect("it fits");
        assert_eq!(kv.read(table, &[0]), Ok(Some(vec![number as u8; bytes])), "its own write");
        kv.commit().expect("it commits");
        let mut kv = session.key_value().expect("a lane is free");
        assert_eq!(kv.read(table, &[0]), Ok(Some(vec![number as u8; bytes])));
        let too_long = kv.write(table, &[0], &vec![0; VALUE_BYTES_MAX as usize + 1]);
        let sentence = too_long.expect_err("it does not fit").to_string();
        assert!(sentence.contains("it has 1048577 bytes, at most 1048576 fit"), "{sentence}");
    }
    let mut kv = session.key_value().expect("a lane is free");
    for (number, &bytes) in lengths.iter().enumerate() {
        let key = [number as u8 + 1];
        assert_eq!(kv.read(table, &key), Ok(Some(vec![number as u8; bytes])));
        assert_eq!(kv.delete(table, &key), Ok(true));
        assert_eq!(kv.read(table, &key), Ok(None));
    }
    kv.commit().expect("it commits");
}

#[test]
fn full_memory_is_an_error_and_not_a_crash() {
    let config = Config { server_bytes: 16 << 20, ..Config::default() };
    let db = namdb::open(config).expect("16 MiB can be had");
    let table = KeyValueTable::create(&db, "kv", 8, 4000, Default::default()).expect("new");
    let mut session = db.session();
    let full = (0..10_000_u64).find_map(|number| {
        let written = session.transaction(Isolation::Snapshot, Retry::attempts(100), |txn| {
            txn.write_value(table, &number.to_be_bytes(), &[1; 4000])
        });
        written.err()
    });
    let sentence = full.expect("16 MiB do not hold 40 MB").to_string();
    assert!(sentence.contains("full") || sentence.contains("memory"), "{sentence}");
}

#[test]
fn absurd_settings_are_refused() {
    let open = |change: fn(&mut Config)| {
        let mut config = Config { server_bytes: 64 << 20, ..Config::default() };
        change(&mut config);
        namdb::open(config).map(drop)
    };
    assert!(matches!(open(|config| config.servers = 0), Err(OpenError::ServerCount(0))));
    assert!(matches!(open(|config| config.server_bytes = 7), Err(OpenError::ServerBytes(7))));
    assert!(matches!(open(|config| config.lanes = 1000), Err(OpenError::LaneCount(1000))));
    assert!(matches!(open(|config| config.server_bytes = 1 << 60), Err(OpenError::Start(_))));
}

#[test]
fn more_threads_than_a_system_has_are_refused() {
    let refused = AsyncSession::open(&open(1), 100_000).map(drop).expect_err("absurd");
    assert!(refused.to_string().contains("at most 1024 threads"), "{refused}");
}

/// Sessions that begin transactions themselves keep their lanes, but nothing waits for lanes at
/// rest.
#[test]
fn a_session_between_transactions_holds_up_nobody() {
    let config = Config {
        server_bytes: 64 << 20,
        lanes: 2,
        transaction_time_max_ms: 2000,
        ..Config::default()
    };
    let db = namdb::open(config).expect("64 MiB can be had");
    let (mut committer, mut dropper) = (db.session(), db.session());
    for round in 0..2 {
        let table = counters(&db);
        let mut txn = committer.begin(Isolation::Snapshot).expect("a lane is free");
        assert_eq!(txn.rows().read(table, &key(1)), Ok(None));
        txn.commit().expect("it commits");
        let mut txn = dropper.begin(Isolation::Snapshot).expect("a lane is free");
        assert_eq!(txn.rows().read(table, &key(1)), Ok(None));
        drop(txn);
        assert_eq!(db.drop_table("counter"), Ok(()), "round {round}");
        assert!(db.schema(table).is_none());
    }
    committer.rest();
    let nothing = db.session().transaction(Isolation::Snapshot, Retry::NEVER, |_| namdb::Ok(()));
    assert!(nothing.is_ok(), "the lane was given back");
}

#[test]
fn a_table_is_made_while_a_transaction_hangs() {
    let config = Config { server_bytes: 64 << 20, transaction_time_max_ms: 1, ..Config::default() };
    let db = namdb::open(config).expect("64 MiB can be had");
    let mut session = db.session();
    let _hangs = session.begin(Isolation::Snapshot).expect("a lane is free");
    let table = counters(&db);
    let read = |txn: &mut namdb::Transaction<'_>| txn.rows().read(table, &key(1));
    let read = db.session().transaction(Isolation::Snapshot, Retry::NEVER, read);
    assert_eq!(read.expect("the table is there"), None);
}

#[test]
fn async_work_outlives_its_future() {
    let db = open(2);
    let table = KeyValueTable::create(&db, "kv", 8, 8, Default::default()).expect("new");
    let session = AsyncSession::open(&db, 1).expect("threads can be had");
    drop(session.transaction(Isolation::Snapshot, Retry::NEVER, move |txn| {
        txn.write_value(table, b"k", b"v")
    }));
    let value =
        block_on(session.transaction(Isolation::Snapshot, Retry::NEVER, move |txn| {
            txn.read_value(table, b"k")
        }));
    assert_eq!(value.expect("quiet"), Some(b"v".to_vec()));
}

#[test]
fn nobody_is_waited_for_longer_than_a_transaction_may_run() {
    let config = Config { server_bytes: 64 << 20, transaction_time_max_ms: 1, ..Config::default() };
    let db = namdb::open(config).expect("64 MiB can be had");
    counters(&db);
    let handle = db.handle();
    let mut lane = fabric::run_now(handle.lane()).expect("a lane");
    let txn = fabric::run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    let start_ns = handle.env().now_ns();
    // The transaction knows the table and does not end.
    assert_eq!(db.drop_table("counter"), Err(CatalogError::Unacknowledged));
    let waited_ns = handle.env().now_ns() - start_ns;
    assert!((1_000_000..5_000_000_000).contains(&waited_ns), "{waited_ns} ns");
    fabric::run_now(txn.abort());
}

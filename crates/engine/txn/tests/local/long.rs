//! Long columns on `local`: writes, reads, changes, deletions, and collection of their memory.

use fabric::{Env, Fabric, LocalEnv, run_now};
use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, LongValues, PhysicalDesign,
    Schema, Storage, Value,
};
use txn::local::{OpenConfig, open};
use txn::{
    Abort, Database, Isolation, Lane, Outcome, Scan, ScanSource, TableId, TableSpec, Transaction,
    TxnError,
};

const NUMBER: usize = 1;
const NOTE: usize = 2;
const PHOTO: usize = 3;

const STORAGES: [Storage; 3] = [Storage::HashInlined, Storage::HashOutside, Storage::Tree];

fn database(server_bytes: u64) -> Database<LocalEnv> {
    open(&OpenConfig { servers: 2, server_bytes, ..OpenConfig::default() }).expect("memory")
}

fn key(id: i32) -> Key {
    KeyBuilder::new().int4(id).key()
}

fn spec(name: &str, storage: Storage) -> TableSpec {
    let columns = vec![
        Column::new("id", ColumnType::Int4),
        Column::new("number", ColumnType::Int8),
        Column::nullable("note", ColumnType::Varchar(4000)),
        Column::new("photo", ColumnType::Bytes(layout::column::COLUMN_LENGTH_MAX)),
    ];
    let schema = Schema::new(name, columns, &[0]).expect("a valid schema");
    let design = PhysicalDesign { storage, size_hint: 64, ..PhysicalDesign::default() };
    TableSpec { schema, design, indexes: Vec::new() }
}

fn create(database: &Database<LocalEnv>, storage: Storage) -> TableId {
    run_now(database.create_table(spec(&format!("{storage:?}"), storage))).expect("created")
}

fn begin(lane: &mut Lane<LocalEnv>) -> Transaction<'_, LocalEnv> {
    run_now(lane.begin(Isolation::Snapshot)).expect("begins")
}

fn commit(txn: Transaction<'_, LocalEnv>) {
    assert_eq!(run_now(txn.commit()), Outcome::Committed);
}

/// Bytes that identify their row.
fn photo(id: i32, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n as i32 + id) as u8).collect()
}

fn insert(txn: &mut Transaction<'_, LocalEnv>, table: TableId, id: i32, bytes: usize) {
    let row = run_now(txn.insert(table, &key(id))).expect("is free");
    let mut row = txn.update(row);
    row.set_int(NUMBER, i64::from(id));
    row.set(NOTE, &Value::Text(format!("note {id}"))).expect("fits");
    row.set_bytes(PHOTO, &photo(id, bytes));
}

fn read(
    txn: &mut Transaction<'_, LocalEnv>,
    table: TableId,
    id: i32,
    column: usize,
) -> Option<Vec<u8>> {
    let row = run_now(txn.read(table, &key(id))).expect("readable").expect("it exists");
    let mut value = vec![1];
    let is_there = run_now(txn.read_long(row, column, &mut value)).expect("readable");
    is_there.then_some(value)
}

fn check(database: &Database<LocalEnv>) -> Vec<String> {
    let report = run_now(database.check()).expect("readable");
    assert_eq!((&report.errors, &report.locks), (&Vec::new(), &Vec::new()));
    report.lines
}

fn used_bytes(database: &Database<LocalEnv>) -> u64 {
    let usage = run_now(database.memory_usage()).expect("readable");
    usage.iter().map(|table| table.used_bytes).sum()
}

fn values_collected(lane: &Lane<LocalEnv>) -> u64 {
    lane.statistics().expect("the lane is here").values_collected
}

#[test]
fn long_values_are_visible_to_all() {
    let database = database(64 << 20);
    for storage in STORAGES {
        let table = create(&database, storage);
        let lengths = [0, 1, 8, 9, 100, 1024, 5000, 1 << 20];
        let mut lane = run_now(database.lane()).expect("a lane");
        for (id, &bytes) in (0..).zip(&lengths) {
            let mut txn = begin(&mut lane);
            insert(&mut txn, table, id, bytes);
            assert_eq!(read(&mut txn, table, id, PHOTO), Some(photo(id, bytes)), "its own write");
            commit(txn);
        }
        let mut other = run_now(database.lane()).expect("a lane");
        let mut txn = begin(&mut other);
        for (id, &bytes) in (0..).zip(&lengths) {
            assert_eq!(read(&mut txn, table, id, PHOTO), Some(photo(id, bytes)));
            assert_eq!(read(&mut txn, table, id, NOTE), Some(format!("note {id}").into_bytes()));
        }
        let lines = check(&database);
        assert!(lines.contains(&format!("{storage:?}: 15 values out of line")), "{lines:?}");
    }
}

#[test]
fn values_are_null_changed_kept_and_deleted_like_any_other() {
    let database = database(64 << 20);
    for storage in STORAGES {
        let table = create(&database, storage);
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut txn = begin(&mut lane);
        (0..3).for_each(|id| insert(&mut txn, table, id, 3000));
        commit(txn);
        let mut old_lane = run_now(database.lane()).expect("a lane");
        let mut old = begin(&mut old_lane);

        let mut txn = begin(&mut lane);
        let mut rows = Vec::new();
        let keys: Vec<_> = (0..3).map(|id| (table, key(id))).collect();
        run_now(txn.read_many(&keys, &mut rows)).expect("readable");
        let [zero, one, two] = rows[..] else { unreachable!("three keys were read") };
        txn.update(zero.expect("it exists")).set_int(NUMBER, -1);
        let mut row = txn.update(one.expect("it exists"));
        row.set_null(NOTE);
        row.set_bytes(PHOTO, b"first");
        row.set_bytes(PHOTO, b"and second thoughts");
        assert_eq!(read(&mut txn, table, 1, NOTE), None, "its own write");
        assert_eq!(read(&mut txn, table, 1, PHOTO), Some(b"and second thoughts".to_vec()));
        txn.delete(two.expect("it exists"));
        commit(txn);

        let mut txn = begin(&mut lane);
        assert_eq!(read(&mut txn, table, 0, PHOTO), Some(photo(0, 3000)));
        assert_eq!(read(&mut txn, table, 1, NOTE), None);
        assert_eq!(read(&mut txn, table, 1, PHOTO), Some(b"and second thoughts".to_vec()));
        assert_eq!(run_now(txn.read(table, &key(2))), Ok(None));
        // The row returns over its tombstone, without its former values.
        let row = run_now(txn.insert(table, &key(2))).expect("is free");
        txn.update(row).set_int(NUMBER, 2);
        commit(txn);
        let mut txn = begin(&mut lane);
        let row = run_now(txn.read(table, &key(2))).expect("readable").expect("it exists");
        let mut values = LongValues::default();
        run_now(txn.read_long_many(&[(row, NOTE), (row, PHOTO)], &mut values)).expect("readable");
        assert_eq!((values.get(0), values.get(1)), (Some(&b""[..]), Some(&b""[..])));
        run_now(txn.abort());

        for id in 0..3 {
            assert_eq!(read(&mut old, table, id, PHOTO), Some(photo(id, 3000)), "as it was");
            assert_eq!(read(&mut old, table, id, NOTE), Some(format!("note {id}").into_bytes()));
        }
        check(&database);
    }
}

#[test]
fn a_row_made_and_deleted_by_one_transaction_leaves_no_value() {
    let database = database(64 << 20);
    for storage in STORAGES {
        let table = create(&database, storage);
        let mut lane = run_now(database.lane()).expect("a lane");
        let before = values_collected(&lane);
        for _ in 0..3 {
            let mut txn = begin(&mut lane);
            insert(&mut txn, table, 1, 2000);
            let row = run_now(txn.read(table, &key(1))).expect("readable").expect("it exists");
            txn.delete(row);
            commit(txn);
            check(&database);
        }
        let mut txn = begin(&mut lane);
        insert(&mut txn, table, 1, 2000);
        commit(txn);
        let mut txn = begin(&mut lane);
        let row = run_now(txn.read(table, &key(1))).expect("readable").expect("it exists");
        txn.delete(row);
        insert(&mut txn, table, 1, 20);
        commit(txn);
        assert_eq!(read(&mut begin(&mut lane), table, 1, PHOTO), Some(photo(1, 20)));
        run_now(lane.collect_garbage()).expect("reachable");
        let collected = values_collected(&lane) - before;
        assert_eq!(collected, 2, "note and photo of the first");
        assert_eq!(read(&mut begin(&mut lane), table, 1, PHOTO), Some(photo(1, 20)));
        check(&database);
    }
}

#[test]
fn memory_stays_bounded_under_updates_deletes_and_aborts() {
    let database = database(64 << 20);
    for storage in STORAGES {
        let table = create(&database, storage);
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut rival = run_now(database.lane()).expect("a lane");
        let mut after_warmup = 0;
        for round in 0..4000 {
            let mut txn = begin(&mut lane);
            let row = run_now(txn.read(table, &key(0))).expect("readable");
            match row {
                None => insert(&mut txn, table, 0, 20_000),
                Some(row) if round % 7 == 6 => txn.delete(row),
                Some(row) => txn.update(row).set_bytes(PHOTO, &photo(round, 20_000)),
            }
            commit(txn);
            if round % 3 == 0 && round % 7 < 5 {
                let (mut one, mut two) = (begin(&mut lane), begin(&mut rival));
                for txn in [&mut one, &mut two] {
                    let row = run_now(txn.read(table, &key(0))).expect("readable");
                    txn.update(row.expect("it exists")).set_bytes(PHOTO, &photo(7, 20_000));
                }
                commit(one);
                assert_eq!(run_now(two.commit()), Outcome::Aborted(Abort::WriteConflict));
                run_now(rival.rest()).expect("reachable");
            }
            if round == 400 {
                after_warmup = used_bytes(&database);
            }
        }
        assert_eq!(used_bytes(&database), after_warmup, "{storage:?}");
        assert!(values_collected(&lane) > 4000);
        check(&database);
    }
}

#[test]
fn another_lane_reuses_the_memory_of_deleted_values() {
    let database = database(64 << 20);
    let table = create(&database, Storage::HashOutside);
    let mut writer = run_now(database.lane()).expect("a lane");
    let mut eraser = run_now(database.lane()).expect("a lane");
    // Fifty times 4 MiB do not fit in the two servers.
    for round in 0..50 {
        let mut txn = begin(&mut writer);
        (0..4).for_each(|id| insert(&mut txn, table, round * 4 + id, 1 << 20));
        commit(txn);
        run_now(writer.rest()).expect("reachable");
        let mut txn = begin(&mut eraser);
        for id in 0..4 {
            let row = run_now(txn.read(table, &key(round * 4 + id))).expect("readable");
            txn.delete(row.expect("it exists"));
        }
        commit(txn);
        run_now(eraser.collect_garbage()).expect("reachable");
    }
    check(&database);
}

#[test]
fn full_memory_aborts_and_keeps_existing_values() {
    let database = database(16 << 20);
    let table = create(&database, Storage::HashInlined);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut count = 0;
    let full = loop {
        let mut txn = begin(&mut lane);
        insert(&mut txn, table, count, 1 << 20);
        match run_now(txn.commit()) {
            Outcome::Committed => count += 1,
            outcome => break outcome,
        }
    };
    assert_eq!(full, Outcome::Aborted(Abort::OutOfMemory));
    assert!(count > 8, "only {count} values of 1 MiB fit into 32 MiB");
    let mut txn = begin(&mut lane);
    for id in 0..count {
        assert_eq!(read(&mut txn, table, id, PHOTO), Some(photo(id, 1 << 20)));
    }
    let row = run_now(txn.read(table, &key(0))).expect("readable").expect("it exists");
    txn.delete(row);
    commit(txn);
    run_now(lane.collect_garbage()).expect("reachable");
    let mut txn = begin(&mut lane);
    insert(&mut txn, table, 0, 1 << 20);
    commit(txn);
    check(&database);
}

#[test]
fn a_snapshot_older_than_its_limit_misses_no_value_silently() {
    let config = txn::DatabaseConfig { transaction_time_max_ns: 1000, ..Default::default() };
    let config = OpenConfig { server_bytes: 64 << 20, database: config, ..OpenConfig::default() };
    let database = open(&config).expect("memory");
    let table = create(&database, Storage::HashInlined);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = begin(&mut lane);
    insert(&mut txn, table, 0, 5000);
    commit(txn);
    let mut old_lane = run_now(database.lane()).expect("a lane");
    let mut old = begin(&mut old_lane);
    let row = run_now(old.read(table, &key(0))).expect("readable").expect("it exists");
    let mut value = Vec::new();
    let mut rounds = 0;
    let error = loop {
        match run_now(old.read_long(row, PHOTO, &mut value)) {
            Ok(_) => assert_eq!(value, photo(0, 5000), "the value of the snapshot, or none"),
            Err(error) => break error,
        }
        let mut txn = begin(&mut lane);
        let row = run_now(txn.read(table, &key(0))).expect("readable").expect("it exists");
        txn.update(row).set_bytes(PHOTO, &photo(rounds, 4990));
        commit(txn);
        run_now(lane.env().sleep_ns(2000));
        run_now(lane.collect_garbage()).expect("reachable");
        rounds += 1;
        assert!(rounds < 10_000, "the memory of the value is never used again");
    };
    assert_eq!(error, TxnError::Abort(Abort::SnapshotTooOld));
}

#[test]
fn values_are_read_together_in_one_round_trip() {
    let database = database(64 << 20);
    let table = create(&database, Storage::HashInlined);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = begin(&mut lane);
    (0..10).for_each(|id| insert(&mut txn, table, id, 2000));
    commit(txn);
    let mut txn = begin(&mut lane);
    let keys: Vec<_> = (0..10).map(|id| (table, key(id))).collect();
    let (mut rows, mut values) = (Vec::new(), LongValues::default());
    run_now(txn.read_many(&keys, &mut rows)).expect("readable");
    let wanted: Vec<_> = rows.iter().flatten().map(|&row| (row, PHOTO)).collect();
    let before = txn.env().counters().counts();
    run_now(txn.read_long_many(&wanted, &mut values)).expect("readable");
    assert_eq!((txn.env().counters().counts() - before).round_trips, 1);
    for id in 0..10 {
        assert_eq!(values.get(id), Some(&photo(id as i32, 2000)[..]));
    }
}

#[test]
fn a_value_adds_no_round_trip_to_its_commit() {
    let config = OpenConfig { servers: 1, server_bytes: 64 << 20, ..OpenConfig::default() };
    let database = open(&config).expect("memory");
    let table = create(&database, Storage::HashInlined);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = begin(&mut lane);
    (0..10).for_each(|id| insert(&mut txn, table, id, 100));
    commit(txn);
    let mut costs = Vec::new();
    // The first update takes memory from a new extent; of the others, every second writes a value.
    for id in 0..7 {
        let mut txn = begin(&mut lane);
        let row = run_now(txn.read(table, &key(id))).expect("readable").expect("it exists");
        let mut row = txn.update(row);
        row.set_int(NUMBER, 1);
        if id % 2 == 0 {
            row.set_bytes(PHOTO, &photo(id, 3000));
        }
        let before = txn.env().counters().counts();
        commit(txn);
        costs.push((lane.env().counters().counts() - before).round_trips);
    }
    assert_eq!(costs[1..], [3; 6]);
}

#[test]
fn scans_and_visits_deliver_values() {
    let database = database(64 << 20);
    for storage in STORAGES {
        let table = create(&database, storage);
        let mut lane = run_now(database.lane()).expect("a lane");
        for first in (0..600).step_by(100) {
            let mut txn = begin(&mut lane);
            (first..first + 100).for_each(|id| insert(&mut txn, table, id, id as usize));
            commit(txn);
        }
        let mut txn = begin(&mut lane);
        let mut seen = 0;
        let mut visit = |row: layout::RecordRef<'_>| {
            let id = row.int(0) as i32;
            assert_eq!(row.bytes(PHOTO), photo(id, id as usize));
            assert_eq!(row.value(NOTE), Value::Text(format!("note {id}")));
            seen += 1;
        };
        run_now(txn.for_each_long(table, &mut visit)).expect("readable");
        assert_eq!(seen, 600);
        if storage == Storage::Tree {
            let (low, high) = (key(100), key(299));
            let source = ScanSource::Table(table);
            let scan = Scan { source, low, high, reverse: false, limit: usize::MAX };
            let (mut rows, mut values) = (Vec::new(), LongValues::default());
            run_now(txn.scan(&scan, &mut rows)).expect("readable");
            let wanted: Vec<_> = rows.iter().map(|&row| (row, PHOTO)).collect();
            run_now(txn.read_long_many(&wanted, &mut values)).expect("readable");
            assert_eq!(values.count(), 200);
            assert!((0..200).all(|n| values.get(n).expect("not null").len() == n + 100));
        }
        // An index is created over the table while it has long values, and rows keep theirs.
        let (name, columns) = ("by_number".to_owned(), vec![NUMBER]);
        let kind = IndexKind::Tree;
        let design = IndexDesign {
            name,
            columns,
            unique: false,
            kind,
            size_hint: 64,
            ..IndexDesign::default()
        };
        drop(lane);
        run_now(database.create_index(&format!("{storage:?}"), design)).expect("created");
        let mut lane = run_now(database.lane()).expect("a lane");
        assert_eq!(read(&mut begin(&mut lane), table, 200, PHOTO), Some(photo(200, 200)));
        check(&database);
    }
}

#[test]
fn a_value_above_its_bound_and_an_index_over_it_are_refused() {
    let database = database(64 << 20);
    let table = create(&database, Storage::Tree);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = begin(&mut lane);
    let row = run_now(txn.insert(table, &key(1))).expect("is free");
    let error = txn.update(row).set(PHOTO, &Value::Bytes(vec![0; (1 << 20) + 1])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column photo of table Tree cannot hold this value: longer than the column's maximal length"
    );
    run_now(txn.abort());
    for kind in [IndexKind::Hash, IndexKind::Tree] {
        let (name, columns) = ("by_note".to_owned(), vec![NOTE]);
        let design = IndexDesign {
            name,
            columns,
            unique: false,
            kind,
            size_hint: 64,
            ..IndexDesign::default()
        };
        let refused = run_now(database.create_index("Tree", design));
        assert_eq!(
            refused.expect_err("it cannot be a key").to_string(),
            "table Tree: index by_note: column note is kept out of line, and cannot be indexed"
        );
    }
}

#[test]
fn values_of_more_than_half_a_gigabyte_are_refused() {
    let database = database(64 << 20);
    let table = create(&database, Storage::HashOutside);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = begin(&mut lane);
    let value = photo(0, 1 << 20);
    for id in 0..513 {
        let row = run_now(txn.insert(table, &key(id))).expect("is free");
        txn.update(row).set_bytes(PHOTO, &value);
    }
    assert_eq!(run_now(txn.commit()), Outcome::Aborted(Abort::TooLarge));
    let mut txn = begin(&mut lane);
    insert(&mut txn, table, 0, 100);
    commit(txn);
}

#[test]
fn values_count_as_memory_of_their_table_and_are_freed_with_it() {
    let database = database(64 << 20);
    let before = used_bytes(&database);
    for _ in 0..10 {
        let table = create(&database, Storage::HashInlined);
        let mut lane = run_now(database.lane()).expect("a lane");
        let empty = used_bytes(&database);
        for id in 0..32 {
            let mut txn = begin(&mut lane);
            insert(&mut txn, table, id, 1 << 20);
            commit(txn);
        }
        let usage = run_now(database.memory_usage()).expect("readable");
        let own = usage.iter().find(|table| table.name == "HashInlined").expect("it exists");
        assert!(own.used_bytes >= 32 << 20 && used_bytes(&database) - empty >= 32 << 20);
        drop(lane);
        run_now(database.drop_table("HashInlined")).expect("it exists");
        assert_eq!(used_bytes(&database), before);
    }
}

//! Statements that fail: an abort ends the transaction, whatever its caller does next; after any
//! other error the transaction goes on as if the statement had not run.

use fabric::{Env, LocalEnv, run_now};
use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, LongValues, PhysicalDesign,
    Schema, Storage,
};
use txn::local::{OpenConfig, open};
use txn::read::ACCESSES_MAX;
use txn::{
    Abort, Database, DatabaseConfig, Isolation, Lane, Outcome, Scan, ScanSource, TableId,
    TableSpec, Transaction, TxnError,
};

const VALUE: usize = 1;
const STORAGES: [Storage; 3] = [Storage::HashInlined, Storage::HashOutside, Storage::Tree];
/// A transaction that runs longer may abort because its snapshot is too old.
const TIME_MAX_NS: u64 = 1_000_000;

fn database() -> Database<LocalEnv> {
    let database =
        DatabaseConfig { transaction_time_max_ns: TIME_MAX_NS, ..DatabaseConfig::default() };
    let config = OpenConfig { server_bytes: 256 << 20, database, ..OpenConfig::default() };
    open(&config).expect("memory")
}

fn table(database: &Database<LocalEnv>, storage: Storage) -> TableId {
    let columns = vec![Column::new("id", ColumnType::Int8), Column::new("value", ColumnType::Int8)];
    let schema = Schema::new(&format!("{storage:?}"), columns, &[0]).expect("a valid schema");
    let design = PhysicalDesign { storage, ..PhysicalDesign::default() };
    let index = IndexDesign {
        name: "by_value".to_owned(),
        columns: vec![VALUE],
        unique: false,
        kind: IndexKind::Hash,
        node_bytes: 512,
        size_hint: 64,
        hashed_columns: None,
    };
    let spec = TableSpec { schema, design, indexes: vec![index] };
    run_now(database.create_table(spec)).expect("created")
}

fn key(id: i64) -> Key {
    KeyBuilder::new().int8(id).key()
}

fn begin(lane: &mut Lane<LocalEnv>) -> Transaction<'_, LocalEnv> {
    run_now(lane.begin(Isolation::Snapshot)).expect("begins")
}

fn value_of(transaction: &mut Transaction<'_, LocalEnv>, table: TableId, id: i64) -> Option<i64> {
    let row = run_now(transaction.read(table, &key(id))).expect("readable");
    row.map(|row| transaction.row(row).int(VALUE))
}

/// Sets a row's value, inserts the row if it is absent, and collects garbage.
fn write(lane: &mut Lane<LocalEnv>, table: TableId, id: i64, value: i64) {
    let mut transaction = begin(lane);
    let row = match run_now(transaction.read(table, &key(id))).expect("readable") {
        Some(row) => row,
        None => run_now(transaction.insert(table, &key(id))).expect("is free"),
    };
    transaction.update(row).set_int(VALUE, value);
    assert_eq!(run_now(transaction.commit()), Outcome::Committed);
    run_now(lane.collect_garbage()).expect("collected");
}

/// Earlier writes must not commit without the rest.
#[test]
fn a_transaction_whose_statement_was_aborted_does_not_commit() {
    const OLD: TxnError = TxnError::Abort(Abort::SnapshotTooOld);
    for storage in STORAGES {
        let database = database();
        let table = table(&database, storage);
        let index = database.index(&format!("{storage:?}"), "by_value").expect("it was created");
        let mut writer = run_now(database.lane()).expect("a lane");
        for id in [7, 8] {
            write(&mut writer, table, id, 0);
        }
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut old = begin(&mut lane);
        let row = run_now(old.read(table, &key(8))).expect("readable").expect("it exists");
        old.update(row).set_int(VALUE, 1);
        run_now(old.insert(table, &key(9))).expect("is free");
        for value in 1..10 {
            write(&mut writer, table, 7, value);
            run_now(database.env().sleep_ns(TIME_MAX_NS));
        }
        assert_eq!(run_now(old.read(table, &key(7))), Err(OLD), "its version was collected");

        assert_eq!(run_now(old.read(table, &key(7))), Err(OLD), "not that there is no such row");
        assert_eq!(run_now(old.read(table, &key(8))), Err(OLD));
        assert_eq!(run_now(old.read_many(&[(table, key(8))], &mut Vec::new())), Err(OLD));
        let columns = [database.columns(table, &[VALUE]).expect("it exists")];
        let reads = [(table, key(8))];
        assert_eq!(run_now(old.read_columns(&reads, &columns, &mut Vec::new())), Err(OLD));
        assert_eq!(run_now(old.insert(table, &key(10))), Err(OLD));
        assert_eq!(run_now(old.insert_many(&[(table, key(10))], &mut Vec::new())), Err(OLD));
        assert_eq!(run_now(old.lookup(index, &key(1), &mut Vec::new())), Err(OLD));
        let (low, high) = (Key::lowest(1), Key::highest(1));
        let source = ScanSource::Table(table);
        let scan = Scan { source, low, high, reverse: false, limit: 1 };
        assert_eq!(run_now(old.scan(&scan, &mut Vec::new())), Err(OLD));
        assert_eq!(run_now(old.scan_many(&[scan], &mut Vec::new())), Err(OLD));
        assert_eq!(run_now(old.for_each(table, &mut |_| ())), Err(OLD));
        assert_eq!(run_now(old.for_each_long(table, &mut |_| ())), Err(OLD));
        let visited = run_now(old.for_each_long_in_part(table, None, &mut |_| ()));
        assert_eq!(visited.map(drop), Err(OLD));
        let mut values = LongValues::default();
        assert_eq!(run_now(old.read_long_row(row, &mut values)), Err(OLD));
        assert_eq!(run_now(old.read_long_many(&[], &mut values)), Err(OLD));

        let mut old = begin(&mut lane);
        let row = run_now(old.read(table, &key(8))).expect("readable").expect("it exists");
        old.update(row).set_int(VALUE, 1);
        for value in 10..20 {
            write(&mut writer, table, 7, value);
            run_now(database.env().sleep_ns(TIME_MAX_NS));
        }
        assert_eq!(run_now(old.read(table, &key(7))), Err(OLD));
        assert_eq!(run_now(old.commit()), Outcome::Aborted(Abort::SnapshotTooOld), "{storage:?}");
        assert_eq!(lane_aborts(&lane), 1);
        let mut transaction = begin(&mut lane);
        assert_eq!(value_of(&mut transaction, table, 7), Some(19), "it knows nothing of the other");
        assert_eq!(
            value_of(&mut transaction, table, 8),
            Some(0),
            "{storage:?}: half was committed"
        );
        assert_eq!(value_of(&mut transaction, table, 9), None);
    }
}

fn lane_aborts(lane: &Lane<LocalEnv>) -> u64 {
    lane.statistics().expect("it is here").aborts[Abort::SnapshotTooOld.index()]
}

/// A list of reads that is refused in its middle has read none of its rows.
#[test]
fn rows_of_a_refused_statement_are_read_by_the_next() {
    for storage in STORAGES {
        let database = database();
        let table = table(&database, storage);
        let mut writer = run_now(database.lane()).expect("a lane");
        write(&mut writer, table, 1, 5);
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut transaction = begin(&mut lane);
        let wrong = (table, KeyBuilder::new().int4(1).key());
        let refused = run_now(transaction.read_many(&[(table, key(1)), wrong], &mut Vec::new()));
        assert!(matches!(refused, Err(TxnError::Schema(_))), "{storage:?}: {refused:?}");
        let inserts = [(table, key(2)), wrong];
        let refused = run_now(transaction.insert_many(&inserts, &mut Vec::new()));
        assert!(matches!(refused, Err(TxnError::Schema(_))), "{storage:?}: {refused:?}");
        assert_eq!(value_of(&mut transaction, table, 1), Some(5), "{storage:?}");
        let row = run_now(transaction.insert(table, &key(2))).expect("is free");
        transaction.update(row).set_int(VALUE, 6);
        assert_eq!(run_now(transaction.commit()), Outcome::Committed);
        let mut transaction = begin(&mut lane);
        assert_eq!(value_of(&mut transaction, table, 2), Some(6), "{storage:?}");
    }
}

/// The same if it is refused because the transaction would access too many rows.
#[test]
fn rows_of_a_read_over_the_limit_do_not_count_as_absent() {
    let database = database();
    let table = table(&database, Storage::Tree);
    let mut lane = run_now(database.lane()).expect("a lane");
    write(&mut lane, table, 0, 5);
    let mut transaction = begin(&mut lane);
    let absent = |ids: std::ops::Range<i64>| ids.map(|id| (table, key(-id))).collect::<Vec<_>>();
    let (mut found, most) = (Vec::new(), ACCESSES_MAX as i64);
    for first in (1..most).step_by(1 << 16) {
        let reads = absent(first..most.min(first + (1 << 16)));
        run_now(transaction.read_many(&reads, &mut found)).expect("there is room");
    }
    let refused = run_now(transaction.read_many(&[(table, key(0)), (table, key(1))], &mut found));
    assert!(matches!(refused, Err(TxnError::TooLarge(_))), "{refused:?}");
    assert_eq!(value_of(&mut transaction, table, 0), Some(5));
}

//! Reads of some columns: the columns that they fetch, and the later read of the rest of a row.

use fabric::{Fabric, LocalEnv, run_now};
use layout::{
    Column, ColumnType, Key, KeyBuilder, PhysicalDesign, Placement, Schema, Storage, WORD_BYTES,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use txn::local::{OpenConfig, open};
use txn::{Columns, Database, Isolation, Lane, Outcome, RowId, TableId, TableSpec, Transaction};

/// A change that is refused for a row if only some of its columns were read.
type Change = fn(&mut Transaction<'_, LocalEnv>, RowId);

const COUNT: usize = 1;
const TEXT: usize = 2;
const TEXT_BYTES: usize = 400;

fn key(id: i32) -> Key {
    KeyBuilder::new().int4(id).key()
}

/// A table of two rows, both with count 7 and a long text.
fn two_rows(database: &Database<LocalEnv>, storage: Storage) -> TableId {
    let columns = vec![
        Column::new("id", ColumnType::Int4),
        Column::new("count", ColumnType::Int4),
        Column::new("text", ColumnType::Varchar(TEXT_BYTES as u32)),
    ];
    let schema = Schema::new(&format!("{storage:?}"), columns, &[0]).expect("a valid schema");
    let (neighbourhood, placement) = match storage {
        Storage::HashInlined => (1, Placement::Dense { columns: vec![(0, 2)] }),
        _ => (4, Placement::Hashed { load_percent: 60 }),
    };
    let design = PhysicalDesign { storage, neighbourhood, placement, ..PhysicalDesign::default() };
    let spec = TableSpec { schema, design, indexes: Vec::new() };
    let table = run_now(database.create_table(spec)).expect("created");
    let mut lane = run_now(database.lane()).expect("a lane");
    set(&mut lane, table, 0, 7);
    set(&mut lane, table, 1, 7);
    table
}

/// Sets a row's count, and fills its text with bytes of the same value.
fn set(lane: &mut Lane<LocalEnv>, table: TableId, id: i32, count: i64) {
    let mut txn = begin(lane);
    let row = match run_now(txn.read(table, &key(id))).expect("readable") {
        Some(row) => row,
        None => run_now(txn.insert(table, &key(id))).expect("is free"),
    };
    txn.update(row).set_int(COUNT, count);
    txn.update(row).set_bytes(TEXT, &[count as u8; TEXT_BYTES]);
    assert_eq!(run_now(txn.commit()), Outcome::Committed);
}

fn begin(lane: &mut Lane<LocalEnv>) -> Transaction<'_, LocalEnv> {
    run_now(lane.begin(Isolation::Snapshot)).expect("begins")
}

fn read_count(
    txn: &mut Transaction<'_, LocalEnv>,
    table: TableId,
    id: i32,
    columns: Columns,
) -> RowId {
    let mut found = Vec::new();
    run_now(txn.read_columns(&[(table, key(id))], &[columns], &mut found)).expect("readable");
    found[0].expect("it exists")
}

fn read_all(txn: &mut Transaction<'_, LocalEnv>, table: TableId, id: i32) -> RowId {
    run_now(txn.read(table, &key(id))).expect("readable").expect("it exists")
}

fn database() -> Database<LocalEnv> {
    open(&OpenConfig { server_bytes: 16 << 20, ..OpenConfig::default() }).expect("memory")
}

#[test]
fn reads_fetch_up_to_the_last_column_and_the_rest_on_demand() {
    let database = database();
    let table = two_rows(&database, Storage::HashInlined);
    let columns = database.columns(table, &[COUNT]).expect("the table is there");
    let mut lane = run_now(database.lane()).expect("a lane");
    let moved = |lane: &Lane<LocalEnv>| lane.env().counters().counts().bytes;
    let mut txn = begin(&mut lane);
    read_all(&mut txn, table, 1);
    let before = txn.env().counters().counts().bytes;
    let row = read_count(&mut txn, table, 0, columns);
    // Header of the bucket, header of the row, key, and one word of columns.
    assert_eq!(txn.env().counters().counts().bytes - before, (5 + 3 + 1 + 1) * WORD_BYTES);
    assert_eq!(txn.row(row).int(COUNT), 7);
    assert_eq!(read_count(&mut txn, table, 0, columns), row);
    assert!(catch_unwind(AssertUnwindSafe(|| txn.row(row).bytes(TEXT).len())).is_err());
    let changes: [Change; 2] =
        [|txn, row| txn.update(row).set_int(COUNT, 1), |txn, row| txn.delete(row)];
    for change in changes {
        assert!(catch_unwind(AssertUnwindSafe(|| change(&mut txn, row))).is_err());
    }
    assert_eq!(read_all(&mut txn, table, 0), row);
    assert_eq!(txn.row(row).bytes(TEXT), [7; TEXT_BYTES]);
    txn.update(row).set_int(COUNT, 8);
    assert_eq!(read_count(&mut txn, table, 0, columns), row);
    assert_eq!((txn.row(row).int(COUNT), txn.row(row).bytes(TEXT).len()), (8, TEXT_BYTES));
    assert_eq!(run_now(txn.commit()), Outcome::Committed);
    let before = moved(&lane);
    let mut txn = begin(&mut lane);
    let row = read_all(&mut txn, table, 0);
    assert_eq!((txn.row(row).int(COUNT), txn.row(row).bytes(TEXT)), (8, &[7; TEXT_BYTES][..]));
    run_now(txn.abort());
    assert!(moved(&lane) - before > TEXT_BYTES as u64);
}

#[test]
fn columns_and_rest_are_of_the_same_snapshot() {
    let database = database();
    let table = two_rows(&database, Storage::HashInlined);
    let columns = database.columns(table, &[COUNT]).expect("the table is there");
    let (mut lane, mut other) =
        (run_now(database.lane()).expect("a lane"), run_now(database.lane()).expect("a lane"));
    let mut txn = begin(&mut lane);
    let first = read_count(&mut txn, table, 0, columns);
    set(&mut other, table, 0, 9);
    set(&mut other, table, 1, 9);
    let second = read_count(&mut txn, table, 1, columns);
    for (id, row) in [(0, first), (1, second)] {
        assert_eq!(txn.row(row).int(COUNT), 7);
        assert_eq!(read_all(&mut txn, table, id), row);
        assert_eq!((txn.row(row).int(COUNT), txn.row(row).bytes(TEXT)), (7, &[7; TEXT_BYTES][..]));
    }
    run_now(txn.abort());
}

#[test]
fn some_rows_are_always_read_whole() {
    let database = database();
    for storage in [Storage::HashOutside, Storage::Tree] {
        let table = two_rows(&database, storage);
        let columns = database.columns(table, &[COUNT]).expect("the table is there");
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut txn = begin(&mut lane);
        let row = read_count(&mut txn, table, 0, columns);
        assert_eq!((txn.row(row).int(COUNT), txn.row(row).bytes(TEXT).len()), (7, TEXT_BYTES));
        txn.update(row).set_int(COUNT, 8);
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
    }
}

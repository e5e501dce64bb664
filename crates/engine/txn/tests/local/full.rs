//! Full memory: rows can still be updated and deleted, and new rows reuse the memory of deleted
//! rows.

use fabric::{LocalEnv, run_now};
use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, PhysicalDesign, Schema, Storage,
};
use txn::local::{OpenConfig, open};
use txn::{Abort, Database, Isolation, Lane, Outcome, TableId, TableSpec, Transaction, TxnError};

const GROUP: usize = 1;
const VALUE: usize = 2;
/// Rows per transaction where a test deletes or inserts several at once.
const ROWS: i64 = 8;

fn key(id: i64) -> Key {
    KeyBuilder::new().int8(id).key()
}

/// A table of rows of 1,000 bytes, with an index if `index` has a kind.
fn spec(storage: Storage, index: Option<IndexKind>) -> TableSpec {
    let columns = vec![
        Column::new("id", ColumnType::Int8),
        Column::new("group", ColumnType::Int8),
        Column::new("value", ColumnType::Bytes(1000)),
    ];
    let schema = Schema::new("t", columns, &[0]).expect("a valid schema");
    let design = PhysicalDesign { storage, ..PhysicalDesign::default() };
    let (name, columns) = ("by_group".to_owned(), vec![GROUP]);
    let design_of = |kind| IndexDesign { name, columns, kind, ..IndexDesign::default() };
    TableSpec { schema, design, indexes: index.map(design_of).into_iter().collect() }
}

struct Full {
    database: Database<LocalEnv>,
    table: TableId,
    /// Number of inserted rows; their keys begin at 0.
    rows: i64,
}

fn fill_up(server_mib: u64, spec: TableSpec) -> Full {
    let config = OpenConfig { server_bytes: server_mib << 20, ..OpenConfig::default() };
    let database = open(&config).expect("memory");
    let table = run_now(database.create_table(spec)).expect("there is room");
    let mut lane = run_now(database.lane()).expect("a lane");
    let rows = fill(&mut lane, table, 1);
    Full { database, table, rows }
}

/// Inserts rows, `count` in each transaction, until memory is full. Returns the number of rows.
fn fill(lane: &mut Lane<LocalEnv>, table: TableId, count: i64) -> i64 {
    for first in (0..).step_by(count as usize) {
        let outcome = run(lane, |txn| {
            (first..first + count).try_for_each(|id| {
                let row = run_now(txn.insert(table, &key(id)))?;
                txn.update(row).set_int(GROUP, id % 100);
                txn.update(row).set_bytes(VALUE, &[id as u8; 1000]);
                Ok(())
            })
        });
        match outcome {
            Ok(()) => {}
            Err(Abort::OutOfMemory) => return first,
            Err(abort) => panic!("row {first} was not inserted: {abort}"),
        }
    }
    unreachable!("numbers do not end")
}

/// Runs one attempt at a transaction.
fn run(
    lane: &mut Lane<LocalEnv>,
    body: impl FnOnce(&mut Transaction<'_, LocalEnv>) -> Result<(), TxnError>,
) -> Result<(), Abort> {
    let mut txn = run_now(lane.begin(Isolation::Snapshot))?;
    if let Err(error) = body(&mut txn) {
        run_now(txn.abort());
        return Err(error.abort().expect("only an abort ends the statements of these tests"));
    }
    match run_now(txn.commit()) {
        Outcome::Committed => Ok(()),
        Outcome::Aborted(abort) => Err(abort),
        Outcome::Unknown => panic!("no server dies here"),
    }
}

fn delete(
    lane: &mut Lane<LocalEnv>,
    table: TableId,
    ids: std::ops::Range<i64>,
) -> Result<(), Abort> {
    run(lane, |txn| {
        for id in ids {
            let row = run_now(txn.read(table, &key(id)))?.expect("it was inserted");
            txn.delete(row);
        }
        Ok(())
    })
}

fn update(lane: &mut Lane<LocalEnv>, table: TableId, id: i64) -> Result<(), Abort> {
    run(lane, |txn| {
        let row = run_now(txn.read(table, &key(id)))?.expect("it was inserted");
        txn.update(row).set_bytes(VALUE, b"changed");
        Ok(())
    })
}

fn check(database: &Database<LocalEnv>, table: TableId, rows: i64) {
    let report = run_now(database.check()).expect("readable");
    assert_eq!((report.errors, report.locks), (Vec::new(), Vec::new()));
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut seen = 0;
    let counted = run(&mut lane, |txn| run_now(txn.for_each(table, &mut |_| seen += 1)));
    assert_eq!((counted, seen), (Ok(()), rows));
}

/// Fills, updates and deletes everything, one row at a time; fills again, deletes several rows at a
/// time.
fn fill_and_empty(server_mib: u64, storage: Storage, index: Option<IndexKind>) {
    let what = format!("{server_mib} MiB, {storage:?}, index {index:?}");
    let Full { database, table, rows } = fill_up(server_mib, spec(storage, index));
    assert!(rows as u64 * 1000 > (server_mib << 20) / 3, "{what}: only {rows} rows");
    let mut lane = run_now(database.lane()).expect("a lane");
    for id in (0..rows).step_by(7) {
        assert_eq!(update(&mut lane, table, id), Ok(()), "{what}: update of row {id} of {rows}");
    }
    for id in 0..rows {
        let deleted = delete(&mut lane, table, id..id + 1);
        assert_eq!(deleted, Ok(()), "{what}: row {id} of {rows}");
    }
    run_now(lane.collect_garbage()).expect("reachable");
    let again = fill(&mut lane, table, ROWS);
    assert!(again * 10 >= rows * 8, "{what}: {again} of {rows} rows find room again");
    for first in (0..again).step_by(ROWS as usize) {
        let deleted = delete(&mut lane, table, first..first + ROWS);
        assert_eq!(deleted, Ok(()), "{what}: rows from {first} of {again}");
    }
    check(&database, table, 0);
}

/// A chain does not grow while one of its blocks has an empty slot.
#[test]
fn inserted_rows_reuse_all_slots_of_a_chain() {
    let database = open(&OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() });
    let database = database.expect("memory");
    let mut spec = spec(Storage::HashOutside, Some(IndexKind::Hash));
    spec.design.size_hint = 1;
    let table = run_now(database.create_table(spec)).expect("there is room");
    let mut lane = run_now(database.lane()).expect("a lane");
    let insert = |lane: &mut Lane<LocalEnv>, ids: std::ops::Range<i64>| {
        let inserted = run(lane, |txn| {
            for id in ids {
                let row = run_now(txn.insert(table, &key(id)))?;
                txn.update(row).set_int(GROUP, 7);
            }
            Ok(())
        });
        assert_eq!(inserted, Ok(()));
    };
    insert(&mut lane, 0..400);
    run_now(lane.collect_garbage()).expect("reachable");
    let chain = || {
        let report = run_now(database.check()).expect("readable");
        report.lines.into_iter().find(|line| line.contains("by_group")).expect("it has an index")
    };
    let before = chain();
    for first in (0..400).step_by(5) {
        // Entries are removed from the first blocks of the index's one long chain, and others are
        // inserted.
        assert_eq!(delete(&mut lane, table, first..first + 5), Ok(()));
        run_now(lane.collect_garbage()).expect("reachable");
        insert(&mut lane, 400 + first..405 + first);
    }
    assert_eq!(chain(), before);
    check(&database, table, 400);
}

#[test]
fn other_lanes_reuse_the_memory_of_deleted_rows() {
    for storage in [Storage::HashInlined, Storage::HashOutside, Storage::Tree] {
        let Full { database, table, rows } = fill_up(16, spec(storage, Some(IndexKind::Tree)));
        let mut other = run_now(database.lane()).expect("a lane");
        let mut deleting = run_now(database.lane()).expect("another lane");
        for id in 0..rows {
            assert_eq!(delete(&mut deleting, table, id..id + 1), Ok(()), "{storage:?}, row {id}");
        }
        run_now(deleting.collect_garbage()).expect("reachable");
        let again = fill(&mut other, table, 1);
        assert!(again * 10 >= rows * 8, "{storage:?}: {again} of {rows} rows find room again");
        drop((other, deleting));
        check(&database, table, again);
    }
}

#[test]
fn rows_of_a_full_hash_table_are_updated_and_deleted() {
    for server_mib in [16, 17, 20, 24, 32, 48, 64, 100, 128] {
        fill_and_empty(server_mib, Storage::HashInlined, None);
    }
}

#[test]
fn rows_outside_the_buckets_of_a_full_hash_table_are_updated_and_deleted() {
    for server_mib in [16, 24, 32, 64] {
        fill_and_empty(server_mib, Storage::HashOutside, None);
    }
}

#[test]
fn rows_of_a_full_tree_are_updated_and_deleted() {
    for server_mib in [16, 20, 24, 32, 48, 64, 100] {
        fill_and_empty(server_mib, Storage::Tree, None);
    }
}

#[test]
fn rows_with_index_entries_are_updated_and_deleted_in_full_memory() {
    for storage in [Storage::HashInlined, Storage::HashOutside, Storage::Tree] {
        for kind in [IndexKind::Hash, IndexKind::Tree] {
            for server_mib in [16, 32, 100] {
                fill_and_empty(server_mib, storage, Some(kind));
            }
        }
    }
}

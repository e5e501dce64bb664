//! How closely the horizon follows the transactions. Two lanes, driven in turns by hand, update a
//! few hot rows on `local`: their old versions must be collected without the version mover.

use fabric::{LocalEnv, run_now};
use layout::{Column, ColumnType, KeyBuilder, PhysicalDesign, Schema};
use txn::local::{OpenConfig, open};
use txn::{Database, Isolation, Lane, Outcome, TableId, TableSpec, Transaction};

const VALUE: usize = 1;
const TRANSACTIONS: u64 = 4000;

fn table(database: &Database<LocalEnv>, versions_beside: u32) -> TableId {
    let columns = ["id", "value"].map(|name| Column::new(name, ColumnType::Int8));
    let schema = Schema::new("t", columns.to_vec(), &[0]).expect("a valid schema");
    let design = PhysicalDesign { versions_beside, ..PhysicalDesign::default() };
    let spec = TableSpec { schema, design, indexes: Vec::new() };
    run_now(database.create_table(spec)).expect("created")
}

/// Begins a transaction that adds 1 to a row.
fn begin(lane: &mut Lane<LocalEnv>, table: TableId, id: u64) -> Transaction<'_, LocalEnv> {
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    let key = KeyBuilder::new().int8(id as i64).key();
    let row = match run_now(txn.read(table, &key)).expect("readable") {
        Some(row) => row,
        None => run_now(txn.insert(table, &key)).expect("is free"),
    };
    let value = txn.row(row).int(VALUE);
    txn.update(row).set_int(VALUE, value + 1);
    txn
}

fn commit(txn: Transaction<'_, LocalEnv>) {
    assert_eq!(run_now(txn.commit()), Outcome::Committed);
}

/// Number of versions moved while rows are updated one after another, over and over, and each
/// transaction begins before the previous one commits.
fn versions_moved(rows: u64, versions_beside: u32) -> u64 {
    let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
    let database = open(&config).expect("memory");
    let table = table(&database, versions_beside);
    let lane = || run_now(database.lane()).expect("a lane");
    let (mut one, mut other) = (lane(), lane());
    let mut of_one = begin(&mut one, table, 0);
    for number in (1..TRANSACTIONS).step_by(2) {
        let of_other = begin(&mut other, table, number % rows);
        commit(of_one);
        of_one = begin(&mut one, table, (number + 1) % rows);
        commit(of_other);
    }
    commit(of_one);
    let moved = |lane: &Lane<LocalEnv>| lane.statistics().expect("the lane is here").versions_moved;
    moved(&one) + moved(&other)
}

/// A slot of a version buffer is reused after eight transactions. If a lane took a candidate for
/// the horizon only when it needs the next slot, instead of as soon as the last candidate is
/// adopted, every second version would be moved: the horizon would be as old as the version.
#[test]
fn a_version_that_eight_transactions_have_passed_need_not_be_moved() {
    for (rows, versions_beside) in [(8, 1), (4, 2), (2, 4)] {
        let moved = versions_moved(rows, versions_beside);
        assert!(
            moved <= TRANSACTIONS / 100,
            "{moved} versions of {rows} rows were moved, with {versions_beside} beside each"
        );
    }
}

/// A lane collects its garbage although it alternates between transactions that read and ones that
/// write, so that the writers' commits are always the same ones of sixteen.
#[test]
fn readers_between_the_writers_do_not_put_off_collection() {
    for first in 0..16 {
        let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
        let database = open(&config).expect("memory");
        let table = table(&database, 1);
        let mut lane = run_now(database.lane()).expect("a lane");
        for _ in 0..first {
            commit(begin(&mut lane, table, 0));
        }
        for row in (0..200).chain(0..200) {
            commit(begin(&mut lane, table, row));
            for _ in 0..15 {
                let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
                run_now(txn.read(table, &KeyBuilder::new().int8(row as i64).key()))
                    .expect("readable");
                commit(txn);
            }
        }
        let statistics = lane.statistics().expect("the lane is here");
        let (given, collected) = (statistics.buffers_given, statistics.buffers_collected);
        assert!(collected + 50 > given, "after {first}: {collected} of {given} buffers collected");
    }
}

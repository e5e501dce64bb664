//! Inserts into kept leaves: only the commit detects changes of such a leaf.

use fabric::{LocalEnv, run_now};
use layout::{Column, ColumnType, Key, KeyBuilder, PhysicalDesign, Schema, Storage};
use txn::local::{OpenConfig, open};
use txn::{Abort, Database, Isolation, Lane, Outcome, TableId, TableSpec, TxnError};

fn database() -> (Database<LocalEnv>, TableId) {
    let mut config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
    config.database.keeps_leaves = true;
    let database = open(&config).expect("memory");
    let schema = Schema::new("row", vec![Column::new("id", ColumnType::Int4)], &[0]);
    let design = PhysicalDesign { storage: Storage::Tree, ..PhysicalDesign::default() };
    let spec = TableSpec { schema: schema.expect("valid"), design, indexes: vec![] };
    let table = run_now(database.create_table(spec)).expect("created");
    (database, table)
}

fn key(id: i32) -> Key {
    KeyBuilder::new().int4(id).key()
}

/// Inserts a row in a transaction of its own.
fn insert(lane: &mut Lane<LocalEnv>, table: TableId, id: i32) -> Result<Outcome, TxnError> {
    let mut txn = run_now(lane.begin(Isolation::Snapshot))?;
    run_now(txn.insert(table, &key(id)))?;
    Ok(run_now(txn.commit()))
}

/// The commit reports only a conflict; the next attempt reads the leaf and reports the duplicate
/// key.
#[test]
fn a_duplicate_key_in_a_kept_leaf_is_reported_at_the_next_attempt() {
    let (database, table) = database();
    let [mut one, mut other] = [(); 2].map(|()| run_now(database.lane()).expect("a lane"));
    let committed = Ok(Outcome::Committed);
    assert_eq!(insert(&mut one, table, 1), committed);
    assert_eq!(insert(&mut other, table, 2), committed);
    let conflict = Ok(Outcome::Aborted(Abort::InsertConflict));
    assert_eq!(insert(&mut one, table, 2), conflict, "the kept leaf is outdated");
    let duplicate = Err(TxnError::DuplicateKey { table: "row".to_owned() });
    assert_eq!(insert(&mut one, table, 2), duplicate, "the leaf was evicted");
    assert_eq!(insert(&mut one, table, 3), committed);
    assert_eq!(insert(&mut one, table, 4), committed, "the leaf is kept again");
}

/// A parked transaction goes on in a lane that has kept the same leaf from before its split.
#[test]
fn a_parked_transaction_does_not_mix_what_two_lanes_have_kept_of_a_leaf() {
    let (database, table) = database();
    let [mut one, mut other] = [(); 2].map(|()| run_now(database.lane()).expect("a lane"));
    assert_eq!(insert(&mut one, table, 1_000), Ok(Outcome::Committed));
    for id in 1..200 {
        assert_eq!(insert(&mut other, table, id), Ok(Outcome::Committed));
    }
    // `one` has kept the only leaf that there was, `other` its left part.
    assert_eq!(insert(&mut other, table, -1), Ok(Outcome::Committed));
    // The first parked transaction of a database may be older than the keeper of pins.
    let txn = run_now(other.begin(Isolation::Snapshot)).expect("begins");
    drop(run_now(txn.park()));
    let mut txn = run_now(other.begin(Isolation::Snapshot)).expect("begins");
    run_now(txn.insert(table, &key(-2))).expect("it is free");
    let parked = run_now(txn.park()).expect("it has changed nothing yet in memory");
    let mut txn = run_now(one.resume(parked)).map_err(|(_, abort)| abort).expect("it goes on");
    run_now(txn.insert(table, &key(2_000))).expect("it is free");
    assert_eq!(run_now(txn.commit()), Outcome::Aborted(Abort::InsertConflict));
    assert_eq!(insert(&mut one, table, 2_000), Ok(Outcome::Committed));
    let mut txn = run_now(other.begin(Isolation::Snapshot)).expect("begins");
    for (id, is_there) in [(-2, false), (-1, true), (199, true), (1_000, true), (2_000, true)] {
        let found = run_now(txn.read(table, &key(id))).expect("readable");
        assert_eq!(found.is_some(), is_there, "{id}");
    }
}

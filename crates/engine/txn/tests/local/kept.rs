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

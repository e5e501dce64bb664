//! Transactions see tables that were created since their snapshot, if they want to.

use fabric::{Env, LocalEnv, run_now};
use layout::{Column, ColumnType, IndexDesign, Key, KeyBuilder, PhysicalDesign, Schema, Storage};
use txn::local::{OpenConfig, open};
use txn::{
    Abort, CatalogError, Database, Isolation, Outcome, TableId, TableSpec, Transaction, TxnError,
};

const VALUE: usize = 1;

fn database() -> Database<LocalEnv> {
    let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
    open(&config).expect("memory")
}

fn key(id: i64) -> Key {
    KeyBuilder::new().int8(id).key()
}

fn create(database: &Database<LocalEnv>, name: &str, storage: Storage) -> TableId {
    let columns = vec![Column::new("id", ColumnType::Int8), Column::new("value", ColumnType::Int8)];
    let schema = Schema::new(name, columns, &[0]).expect("a valid schema");
    let design = PhysicalDesign { storage, ..PhysicalDesign::default() };
    let by_value =
        IndexDesign { name: "by_value".to_owned(), columns: vec![VALUE], ..IndexDesign::default() };
    let spec = TableSpec { schema, design, indexes: vec![by_value] };
    run_now(database.create_table(spec)).expect("created")
}

fn insert(txn: &mut Transaction<'_, LocalEnv>, table: TableId, id: i64) -> Result<(), TxnError> {
    let row = run_now(txn.insert(table, &key(id)))?;
    txn.update(row).set_int(VALUE, id * 10);
    Ok(())
}

/// The creation does not wait for the transaction either: the transaction may be the one that
/// creates the table.
#[test]
fn a_transaction_writes_to_tables_that_it_has_created() {
    for storage in [Storage::Tree, Storage::HashInlined, Storage::HashOutside] {
        let database = database();
        let old = create(&database, "old", storage);
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
        insert(&mut txn, old, 1).expect("it is free");
        let start_ns = database.env().now_ns();
        let new = create(&database, "new", storage);
        assert!(database.env().now_ns() - start_ns < 5_000_000_000, "it has waited for itself");
        txn.see_new_tables();
        insert(&mut txn, new, 2).expect("it sees the table");
        insert(&mut txn, old, 3).expect("it still sees the other one");
        assert_eq!(run_now(txn.commit()), Outcome::Committed);

        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
        for (table, id) in [(old, 1), (new, 2), (old, 3)] {
            assert!(run_now(txn.read(table, &key(id))).expect("it reads").is_some());
        }
        let index = database.index("new", "by_value").expect("it exists");
        let mut rows = Vec::new();
        run_now(txn.lookup(index, &key(20), &mut rows)).expect("it reads");
        assert_eq!(rows.len(), 1);
    }
}

#[test]
fn a_transaction_that_does_not_look_keeps_its_catalog() {
    let database = database();
    let old = create(&database, "old", Storage::Tree);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    insert(&mut txn, old, 1).expect("it is free");
    let new = create(&database, "new", Storage::Tree);
    assert_eq!(insert(&mut txn, new, 2), Err(Abort::CatalogChanged.into()));
}

/// Rows of others that are later than the snapshot are not visible, and are not overwritten.
#[test]
fn rows_of_a_new_table_are_later_than_the_snapshot() {
    let database = database();
    let old = create(&database, "old", Storage::Tree);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    insert(&mut txn, old, 1).expect("it is free");
    let new = create(&database, "new", Storage::Tree);
    let mut other = run_now(database.lane()).expect("a lane");
    let mut later = run_now(other.begin(Isolation::Snapshot)).expect("begins");
    insert(&mut later, new, 2).expect("it is free");
    assert_eq!(run_now(later.commit()), Outcome::Committed);
    txn.see_new_tables();
    assert_eq!(run_now(txn.read(new, &key(2))).map(|row| row.is_some()), Ok(false));
    let inserted = insert(&mut txn, new, 2);
    let is_committed = inserted.is_ok() && run_now(txn.commit()) == Outcome::Committed;
    assert!(!is_committed, "the first committer of a row wins");
}

/// The transaction has not acknowledged the epoch in which the table was created, so a drop waits
/// for it.
#[test]
fn a_new_table_is_not_freed_under_the_transaction_that_sees_it() {
    let config = txn::DatabaseConfig {
        transaction_time_max_ns: 100_000_000,
        ..txn::DatabaseConfig::default()
    };
    let config = OpenConfig { server_bytes: 64 << 20, database: config, ..OpenConfig::default() };
    let database = open(&config).expect("memory");
    create(&database, "old", Storage::Tree);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    let new = create(&database, "new", Storage::Tree);
    txn.see_new_tables();
    insert(&mut txn, new, 1).expect("it sees the table");
    assert_eq!(run_now(database.drop_table("new")), Err(CatalogError::Unacknowledged));
    run_now(txn.abort());
}

//! Parked transactions on `local`: their snapshots, their changes, and the catalog.

use fabric::{LocalEnv, run_now};
use layout::{Column, ColumnType, Key, KeyBuilder, PhysicalDesign, Schema};
use txn::local::{OpenConfig, open};
use txn::{
    Abort, CatalogError, Database, DatabaseConfig, Isolation, Lane, Outcome, Parked, TableId,
    TableSpec, Transaction,
};

const VALUE: usize = 1;
const LANES: u32 = 4;

fn database(config: DatabaseConfig) -> Database<LocalEnv> {
    let config = OpenConfig { server_bytes: 64 << 20, database: config, ..OpenConfig::default() };
    open(&config).expect("memory")
}

fn few_lanes() -> DatabaseConfig {
    DatabaseConfig { lanes: LANES, ..DatabaseConfig::default() }
}

fn key(id: i64) -> Key {
    KeyBuilder::new().int8(id).key()
}

fn table(database: &Database<LocalEnv>, name: &str) -> TableId {
    let columns = vec![Column::new("id", ColumnType::Int8), Column::new("value", ColumnType::Int8)];
    let schema = Schema::new(name, columns, &[0]).expect("a valid schema");
    let spec = TableSpec { schema, design: PhysicalDesign::default(), indexes: Vec::new() };
    run_now(database.create_table(spec)).expect("created")
}

fn lane(database: &Database<LocalEnv>) -> Lane<LocalEnv> {
    run_now(database.lane()).expect("a lane is free")
}

/// Sets a row; returns the value that it had.
fn set(txn: &mut Transaction<'_, LocalEnv>, table: TableId, id: i64, value: i64) -> Option<i64> {
    let found = run_now(txn.read(table, &key(id))).expect("readable");
    let before = found.map(|row| txn.row(row).int(VALUE));
    let row = match found {
        Some(row) => row,
        None => run_now(txn.insert(table, &key(id))).expect("is free"),
    };
    txn.update(row).set_int(VALUE, value);
    before
}

fn value(txn: &mut Transaction<'_, LocalEnv>, table: TableId, id: i64) -> Option<i64> {
    let found = run_now(txn.read(table, &key(id))).expect("readable");
    found.map(|row| txn.row(row).int(VALUE))
}

fn commit_one(lane: &mut Lane<LocalEnv>, table: TableId, id: i64, value: i64) -> Outcome {
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    set(&mut txn, table, id, value);
    run_now(txn.commit_and_rest())
}

/// A parked transaction. The first one of a database may be older than the keeper of pins.
fn parked(database: &Database<LocalEnv>, isolation: Isolation) -> Parked<LocalEnv> {
    let mut lane = lane(database);
    for _ in 0..2 {
        let txn = run_now(lane.begin(isolation)).expect("begins");
        if let Ok(parked) = run_now(txn.park()) {
            return parked;
        }
    }
    panic!("a slot is free for the keeper");
}

fn resumed(lane: &mut Lane<LocalEnv>, parked: Parked<LocalEnv>) -> Transaction<'_, LocalEnv> {
    match run_now(lane.resume(parked)) {
        Ok(transaction) => transaction,
        Err((_, abort)) => panic!("{abort}"),
    }
}

#[test]
fn five_hundred_transactions_share_four_lanes() {
    for shares_slot in [false, true] {
        let database = database(DatabaseConfig { shares_slot, ..few_lanes() });
        let table = table(&database, "t");
        drop(parked(&database, Isolation::Snapshot));
        for id in 0..500 {
            assert_eq!(commit_one(&mut lane(&database), table, id, 0), Outcome::Committed);
        }
        let mut parked = Vec::new();
        for id in 0..500 {
            // Each sees what was committed before it has begun, and nothing later.
            assert_eq!(commit_one(&mut lane(&database), table, -1, id), Outcome::Committed);
            let mut lane = lane(&database);
            let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
            set(&mut txn, table, id, 2 * id);
            let Ok(one) = run_now(txn.park()) else { panic!("{id} is not parked") };
            parked.push(one);
        }
        // Without the pins, these would end the old versions.
        for round in 0..200 {
            assert_eq!(commit_one(&mut lane(&database), table, -1, -round), Outcome::Committed);
        }
        let mut lane = lane(&database);
        for (id, one) in (0..).zip(parked) {
            let mut txn = resumed(&mut lane, one);
            assert_eq!(value(&mut txn, table, -1), Some(id), "its snapshot");
            assert_eq!(value(&mut txn, table, id), Some(2 * id), "its own change");
            assert_eq!(run_now(txn.commit_and_rest()), Outcome::Committed);
        }
        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
        assert!((0..500).all(|id| value(&mut txn, table, id) == Some(2 * id)));
    }
}

#[test]
fn conflicts_with_a_parked_transaction_are_found() {
    let database = database(few_lanes());
    let table = table(&database, "t");
    let mut lane = lane(&database);
    assert_eq!(commit_one(&mut lane, table, 1, 0), Outcome::Committed);
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        drop(parked(&database, isolation));
        let mut txn = run_now(lane.begin(isolation)).expect("begins");
        value(&mut txn, table, 1);
        value(&mut txn, table, 2);
        set(&mut txn, table, i64::from(isolation == Isolation::Serializable) + 1, 7);
        let Ok(one) = run_now(txn.park()) else { panic!("it is parked") };
        assert_eq!(commit_one(&mut lane, table, 1, 8), Outcome::Committed);
        let outcome = run_now(resumed(&mut lane, one).commit());
        assert!(matches!(outcome, Outcome::Aborted(_)), "{isolation:?}: {outcome:?}");
    }
}

#[test]
fn a_dropped_transaction_pins_nothing_and_its_keeper_leaves_with_the_server() {
    let database = database(few_lanes());
    let table = table(&database, "t");
    let one = parked(&database, Isolation::Snapshot);
    let slots = run_now(database.slots()).expect("reachable");
    drop(one);
    // It would wait for the transaction, and give up after 10 s.
    run_now(database.drop_table("t")).expect("nobody uses it");
    assert!(database.schema(table).is_none());
    run_now(database.leave(0)).expect("reachable");
    let left = run_now(database.slots()).expect("reachable");
    assert!(left.free > slots.free, "{left:?}, {slots:?}");
    assert_eq!(left.free, left.all);
}

/// A table is not dropped as long as a parked transaction may use it.
#[test]
fn changes_of_the_catalog_wait_for_parked_transactions() {
    for shares_slot in [false, true] {
        let time_max_ns = 50_000_000;
        let config = DatabaseConfig { transaction_time_max_ns: time_max_ns, ..few_lanes() };
        let database = database(DatabaseConfig { shares_slot, ..config });
        let table = table(&database, "t");
        drop(parked(&database, Isolation::Snapshot));
        let mut lane = lane(&database);
        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
        set(&mut txn, table, 1, 1);
        let Ok(one) = run_now(txn.park()) else { panic!("it is parked") };
        let dropped = run_now(database.drop_table("t"));
        assert_eq!(dropped, Err(CatalogError::Unacknowledged));
        // It goes on with its own catalog, on a lane that has a newer one and garbage of it.
        let newer = self::table(&database, "newer");
        for value in 0..20 {
            assert_eq!(commit_one(&mut lane, newer, 1, value), Outcome::Committed);
        }
        let mut txn = resumed(&mut lane, one);
        assert_eq!(value(&mut txn, table, 1), Some(1));
        assert!(txn.schema(newer).is_none(), "it is newer than the snapshot");
        for id in 2..40 {
            set(&mut txn, table, id, id);
        }
        assert_eq!(run_now(txn.commit_and_rest()), Outcome::Committed);
        for value in 0..20 {
            assert_eq!(commit_one(&mut lane, newer, 1, value), Outcome::Committed);
        }
        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
        assert_eq!(value(&mut txn, newer, 1), Some(19));
        assert!(txn.schema(table).is_none());
    }
}

#[test]
fn without_a_slot_for_the_keeper_a_transaction_keeps_its_lane() {
    let database = database(DatabaseConfig { slots: 8, lanes: 8, ..DatabaseConfig::default() });
    table(&database, "t");
    let mut lanes: Vec<_> = (0..8).map(|_| lane(&database)).collect();
    let mut lane = lanes.pop().expect("there are eight");
    let Ok(txn) = run_now(lane.begin_owned(Isolation::Snapshot)) else { panic!("it begins") };
    // All slots have lanes: none is left for the keeper. The transaction goes on.
    let Err((txn, abort)) = run_now(txn.park()) else { panic!("no slot is free") };
    assert_eq!(abort, Abort::SnapshotUnavailable);
    lane = run_now(txn.commit_and_rest()).0;
    drop(lane);
}

//! Lanes and their timestamp slots on `local`: lanes take slots, exchange them, and return them.

use fabric::{LocalEnv, run_now};
use layout::{Column, ColumnType, Key, KeyBuilder, PhysicalDesign, Schema, SlotId};
use std::collections::BTreeSet;
use std::sync::Arc;
use txn::local::{OpenConfig, open};
use txn::{
    Abort, Database, DatabaseConfig, Isolation, Lane, LaneError, Oracle, Outcome, TableId,
    TableSpec,
};

const VALUE: usize = 1;
/// Lanes give up their slot when their next number reaches this.
const LIMIT: u64 = layout::version::COUNTER_MAX - (1 << 24);

fn database(config: DatabaseConfig) -> Database<LocalEnv> {
    let config = OpenConfig { server_bytes: 64 << 20, database: config, ..OpenConfig::default() };
    open(&config).expect("memory")
}

fn key(id: i64) -> Key {
    KeyBuilder::new().int8(id).key()
}

fn table(database: &Database<LocalEnv>) -> TableId {
    let columns = vec![Column::new("id", ColumnType::Int8), Column::new("value", ColumnType::Int8)];
    let schema = Schema::new("t", columns, &[0]).expect("a valid schema");
    let spec = TableSpec { schema, design: PhysicalDesign::default(), indexes: Vec::new() };
    run_now(database.create_table(spec)).expect("created")
}

/// Adds 1 to row 0.
fn increment(lane: &mut Lane<LocalEnv>, table: TableId) -> Result<Outcome, Abort> {
    let mut txn = run_now(lane.begin(Isolation::Snapshot))?;
    let row = match run_now(txn.read(table, &key(0))).expect("readable") {
        Some(row) => row,
        None => run_now(txn.insert(table, &key(0))).expect("is free"),
    };
    let value = txn.row(row).int(VALUE);
    txn.update(row).set_int(VALUE, value + 1);
    Ok(run_now(txn.commit()))
}

fn value(lane: &mut Lane<LocalEnv>, table: TableId) -> i64 {
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    let row = run_now(txn.read(table, &key(0))).expect("readable").expect("it exists");
    txn.row(row).int(VALUE)
}

/// The slot of the lane's last commit.
fn slot(lane: &Lane<LocalEnv>) -> SlotId {
    lane.last_commit().expect("the lane is here").slot()
}

#[test]
fn the_last_handle_and_lane_free_everything() {
    let database = database(DatabaseConfig::default());
    let table = table(&database);
    let world = Arc::downgrade(database.env().world());
    let mut lane = run_now(database.lane()).expect("a lane");
    let other = run_now(database.lane()).expect("a lane");
    drop(other);
    let handle = database.for_thread();
    drop(database);
    assert!(run_now(handle.lane()).is_ok(), "there is a handle yet");
    drop(handle);
    assert_eq!(increment(&mut lane, table), Ok(Outcome::Committed));
    assert!(world.upgrade().is_some());
    drop(lane);
    assert!(world.upgrade().is_none(), "idle lanes keep their world");
}

#[test]
fn slots_are_given_up_before_their_numbers_end() {
    for oracle in [Oracle::DoubleCollect, Oracle::Frozen] {
        let config =
            DatabaseConfig { oracle, first_counter: LIMIT - 8, ..DatabaseConfig::default() };
        let database = database(config);
        let table = table(&database);
        let mut lanes: Vec<_> = (0..4).map(|_| run_now(database.lane()).expect("a lane")).collect();
        let mut slots = BTreeSet::new();
        for round in 0..100 {
            let lane = &mut lanes[round % 4];
            assert_eq!(increment(lane, table), Ok(Outcome::Committed));
            slots.insert(slot(lane));
            let reader = &mut lanes[(round + 1) % 4];
            assert_eq!(value(reader, table), round as i64 + 1);
        }
        assert_eq!(slots.len(), 8, "each lane took a second slot");
        let vector = run_now(database.vector()).expect("readable");
        let full = vector.iter().filter(|&&counter| counter >= LIMIT - 8).count();
        assert_eq!(full, 4, "the final numbers stay in the vector: {vector:?}");
    }
}

#[test]
fn a_reader_finds_its_version_when_the_writer_changes_its_slot() {
    let config = DatabaseConfig { first_counter: LIMIT - 5, ..DatabaseConfig::default() };
    let database = database(config);
    let table = table(&database);
    let mut writer = run_now(database.lane()).expect("a lane");
    assert_eq!(increment(&mut writer, table), Ok(Outcome::Committed));
    let mut reader = run_now(database.lane()).expect("a lane");
    let mut old = run_now(reader.begin(Isolation::Snapshot)).expect("begins");
    let before = slot(&writer);
    for _ in 0..50 {
        assert_eq!(increment(&mut writer, table), Ok(Outcome::Committed));
    }
    assert_ne!(slot(&writer), before);
    let row = run_now(old.read(table, &key(0))).expect("readable").expect("it exists");
    assert_eq!(old.row(row).int(VALUE), 1);
}

#[test]
fn without_a_free_slot_a_lane_stops_and_the_others_go_on() {
    let config = DatabaseConfig { first_counter: LIMIT - 8, ..DatabaseConfig::default() };
    let database = database(config);
    let table = table(&database);
    let mut first = run_now(database.lane()).expect("a lane");
    assert_eq!(increment(&mut first, table), Ok(Outcome::Committed));
    let mut others: Vec<_> = (1..64).map(|_| run_now(database.lane()).expect("a lane")).collect();
    let mut ended = None;
    for _ in 0..20 {
        ended = increment(&mut first, table).err();
    }
    assert_eq!(ended, Some(Abort::SnapshotUnavailable));
    // Requests for slots have failed: no lane may mistake that for a longer vector.
    assert_eq!(increment(&mut others[0], table), Ok(Outcome::Committed));
    assert!(value(&mut others[1], table) > 1);
}

#[test]
fn returned_slots_continue_their_numbers() {
    let first = database(DatabaseConfig::default());
    let table = table(&first);
    let mut last_number = std::collections::BTreeMap::new();
    let slots = |database: &Database<LocalEnv>| run_now(database.slots()).expect("reachable");
    let supply = slots(&first);
    assert!(supply.all == 64 && supply.free > 50, "{supply:?}");
    for round in 1..=100 {
        // A compute server joins, commits, aborts, and leaves; this repeats more often than there
        // are slots.
        let compute = Database::open(first.env().world().endpoint(), &first.root());
        run_now(compute.refresh()).expect("readable");
        let mut lane = run_now(compute.lane()).expect("a lane");
        assert_eq!(increment(&mut lane, table), Ok(Outcome::Committed));
        assert_eq!(value(&mut lane, table), round);
        let version = lane.last_commit().expect("the lane is here");
        let before = last_number.insert(version.slot().0, version.counter());
        assert!(before.is_none_or(|before| before < version.counter()), "{version:?}");
        // The attempt that loses draws a number, too.
        let mut other = run_now(compute.lane()).expect("a lane");
        let mut loser = run_now(other.begin(Isolation::Snapshot)).expect("begins");
        let row = run_now(loser.read(table, &key(0))).expect("readable").expect("it exists");
        loser.update(row).set_int(VALUE, 0);
        assert_eq!(increment(&mut lane, table), Ok(Outcome::Committed));
        assert!(matches!(run_now(loser.commit()), Outcome::Aborted(_)));
        assert_eq!(increment(&mut lane, table), Ok(Outcome::Committed));
        let mut third = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
        let row = run_now(third.read(table, &key(0))).expect("readable").expect("it exists");
        third.update(row).set_int(VALUE, round);
        assert_eq!(run_now(third.commit()), Outcome::Committed);
        assert_eq!(slots(&compute).free, supply.free - 2, "round {round}");
        drop((lane, other));
        let departure = run_now(compute.leave(1_000_000_000)).expect("reachable");
        assert_eq!((departure.slots, departure.left_behind), (2, 0), "round {round}");
        assert!(run_now(compute.leave(0)).expect("reachable").slots == 0);
    }
    assert_eq!(slots(&first), supply);
    assert!(last_number.len() <= 64);
    assert!(first.root().slots == 64);
}

#[test]
fn lanes_beyond_the_vector_are_refused_and_the_others_go_on() {
    let database = database(DatabaseConfig::default());
    let table = table(&database);
    let elsewhere = database.elsewhere(database.env().world().endpoint());
    run_now(elsewhere.refresh()).expect("readable");
    let take = |database: &Database<LocalEnv>| run_now(database.lane());
    let mut lanes: Vec<_> = (0..40).map(|_| take(&database).expect("a lane")).collect();
    let mut more = Vec::new();
    let mut refused = 0;
    for _ in 0..40 {
        match take(&elsewhere) {
            Ok(lane) => more.push(lane),
            Err(error) => {
                assert_eq!(error, LaneError::Exhausted(64));
                refused += 1;
            }
        }
    }
    assert_eq!((more.len(), refused), (24, 16));
    assert_eq!(increment(&mut lanes[0], table), Ok(Outcome::Committed));
    assert_eq!(increment(&mut more[0], table), Ok(Outcome::Committed));
    assert_eq!(value(&mut lanes[1], table), 2);
    drop(more.pop());
    assert!(take(&elsewhere).is_ok(), "a lane that came home can be had again");
}

#[test]
fn a_single_free_slot_is_returned_if_two_are_needed() {
    let shares = DatabaseConfig { slots: 8, shares_slot: true, ..DatabaseConfig::default() };
    let first = database(shares);
    let free = |database: &Database<LocalEnv>| run_now(database.slots()).expect("reachable").free;
    // One compute server has a slot to itself, so that an odd number remains for those that need
    // two.
    let mut alone = first.root();
    alone.config.shares_slot = false;
    let alone = Database::open(first.env().world().endpoint(), &alone);
    let lane = run_now(alone.lane()).expect("a lane");
    let others: Vec<_> = std::iter::from_fn(|| {
        let other = Database::open(first.env().world().endpoint(), &first.root());
        run_now(other.lane()).ok().map(|lane| (other, lane))
    })
    .collect();
    assert_eq!((others.len(), free(&first)), (3, 1), "the last one got no slots");
    drop(lane);
    run_now(alone.leave(0)).expect("reachable");
    assert_eq!(free(&first), 2);
    let last = Database::open(first.env().world().endpoint(), &first.root());
    assert!(run_now(last.lane()).is_ok());
}

#[test]
fn a_timestamp_without_rows_is_covered_by_every_later_snapshot() {
    for shares_slot in [false, true] {
        let oracle = Oracle::Frozen;
        let database = database(DatabaseConfig { oracle, shares_slot, ..Default::default() });
        let [mut one, mut other] = [(); 2].map(|()| run_now(database.lane()).expect("a lane"));
        for _ in 0..40 {
            let transaction = run_now(one.begin(Isolation::Snapshot)).expect("begins");
            let before = transaction.snapshot().clone();
            let timestamp = run_now(transaction.publish_timestamp()).expect("published");
            assert!(!before.covers(timestamp), "{timestamp:?} was drawn after {before:?}");
            let later = run_now(other.begin(Isolation::Snapshot)).expect("begins");
            assert!(later.snapshot().covers(timestamp), "{timestamp:?}: {:?}", later.snapshot());
            assert!(later.snapshot().includes(&before));
        }
    }
}

//! Replicas over messages: a memory server dies while lanes run, and nothing that was acknowledged
//! is lost.

use crate::catalog::write_into;
use crate::support::replicated_network::ReplicatedNetwork;
use crate::support::{STORAGES, VALUE, key, table};
use fabric::Env;
use layout::{NodeId, Storage};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use txn::{Isolation, Lane, Outcome, TableId};

const ROWS: i32 = 40;
const LANES: i32 = 4;
/// Commits before the death, and after the promotion.
const COMMITS: u64 = 300;
/// Pause of a lane whose transaction has failed.
const PAUSE_NS: u64 = 1_000_000;

/// How often a row was counted up, and how often it may have been.
#[derive(Clone, Copy, Default, Debug)]
struct Counted {
    surely: i64,
    perhaps: i64,
}

struct Load {
    counted: RefCell<Vec<Counted>>,
    commits: Cell<u64>,
    is_over: Cell<bool>,
}

/// Counts one row up; `None` if the transaction ended before its commit.
async fn count_up(lane: &mut Lane<fabric::DynEnv>, table: TableId, id: i32) -> Option<Outcome> {
    let mut txn = lane.begin(Isolation::Snapshot).await.ok()?;
    match txn.read(table, &key(id)).await.ok()? {
        Some(row) => {
            let value = txn.row(row).int(VALUE);
            txn.update(row).set_int(VALUE, value + 1);
        }
        None => {
            let row = txn.insert(table, &key(id)).await.ok()?;
            txn.update(row).set_int(VALUE, 1);
        }
    }
    Some(txn.commit().await)
}

impl Load {
    async fn run(&self, network: &ReplicatedNetwork, table: TableId, number: i32) {
        let mut lane = network.database.lane().await.expect("there are slots");
        let env = network.database.env().clone();
        let mut id = number * 7;
        while !self.is_over.get() {
            id = (id + 1) % (2 * ROWS);
            let outcome = count_up(&mut lane, table, id).await;
            self.note(id, outcome);
            if outcome != Some(Outcome::Committed) {
                env.sleep_ns(PAUSE_NS).await;
            }
        }
    }

    fn note(&self, id: i32, outcome: Option<Outcome>) {
        let counted = &mut self.counted.borrow_mut()[id as usize];
        match outcome {
            Some(Outcome::Committed) => {
                counted.surely += 1;
                self.commits.set(self.commits.get() + 1);
            }
            Some(Outcome::Unknown) => counted.perhaps += 1,
            _ => {}
        }
    }

    /// Waits for some more commits.
    async fn more(&self, network: &ReplicatedNetwork) {
        let wanted = self.commits.get() + COMMITS;
        while self.commits.get() < wanted {
            network.database.env().sleep_ns(PAUSE_NS).await;
        }
    }
}

/// Runs lanes until `course` has ended.
fn run_load(
    network: &ReplicatedNetwork,
    table: TableId,
    course: impl AsyncFnOnce(&Load),
) -> Vec<Counted> {
    let load = Load {
        counted: RefCell::new(vec![Counted::default(); 2 * ROWS as usize]),
        commits: Cell::new(0),
        is_over: Cell::new(false),
    };
    let mut runs: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
    for number in 0..LANES {
        let load = &load;
        runs.push(Box::pin(load.run(network, table, number)));
    }
    let load = &load;
    runs.push(Box::pin(async move {
        course(load).await;
        load.is_over.set(true);
    }));
    network.engine.block_on(poll_fn(|context| {
        runs.retain_mut(|run| run.as_mut().poll(context).is_pending());
        if runs.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    }));
    drop(runs);
    load.counted.take()
}

/// The value of each row; 0 of one that is not there.
async fn values(network: &ReplicatedNetwork, table: TableId) -> Vec<i64> {
    let mut lane = network.database.lane().await.expect("a lane");
    let mut txn = lane.begin(Isolation::Snapshot).await.expect("the oracle answers");
    let mut values = Vec::new();
    for id in 0..2 * ROWS {
        let row = txn.read(table, &key(id)).await.expect("readable");
        values.push(row.map_or(0, |row| txn.row(row).int(VALUE)));
    }
    assert_eq!(txn.commit().await, Outcome::Committed);
    values
}

fn a_death_loses_nothing(dying: NodeId, storage: Storage) {
    nothing_is_lost(storage, async |network, load| {
        network.kill(dying);
        network.promote(dying).await;
        load.more(network).await;
    });
}

/// Counts rows up during `course`, and compares them with what was acknowledged.
fn nothing_is_lost(storage: Storage, course: impl AsyncFnOnce(&ReplicatedNetwork, &Load)) {
    let network = ReplicatedNetwork::new(3, 2);
    let created = network.database.create_table(table("t", storage, Vec::new()));
    let table = network.engine.block_on(created).expect("created");
    let counted = run_load(&network, table, async |load| {
        load.more(&network).await;
        course(&network, load).await;
    });
    let values = network.engine.block_on(values(&network, table));
    for (id, (value, counted)) in values.iter().zip(&counted).enumerate() {
        let possible = counted.surely..=counted.surely + counted.perhaps;
        assert!(possible.contains(value), "row {id} of {storage:?} is {value}, {counted:?}");
    }
    network.check();
}

#[test]
fn the_death_of_a_memory_server_loses_nothing_that_was_acknowledged() {
    for storage in STORAGES {
        a_death_loses_nothing(NodeId(1), storage);
    }
}

#[test]
fn the_death_of_the_oracles_server_loses_nothing_that_was_acknowledged() {
    for storage in STORAGES {
        a_death_loses_nothing(NodeId(0), storage);
    }
}

#[test]
fn a_server_that_returns_takes_over_what_its_neighbour_had() {
    for storage in STORAGES {
        nothing_is_lost(storage, async |network, load| {
            for dying in [NodeId(1), NodeId(2), NodeId(0)] {
                network.kill(dying);
                network.promote(dying).await;
                load.more(network).await;
                network.take_back(dying).await;
                load.more(network).await;
            }
        });
    }
}

#[test]
fn replicas_over_messages_cost_updates_no_round_trip() {
    let cost = |replica_count: u16| {
        let network = ReplicatedNetwork::new(3, replica_count);
        let created = network.database.create_table(table("t", Storage::HashInlined, Vec::new()));
        let table = network.engine.block_on(created).expect("created");
        network.engine.block_on(async {
            let mut lane = network.database.lane().await.expect("a lane");
            for id in 0..ROWS {
                assert!(write_into(&mut lane, table, id, 1, 0).await);
            }
            // The first update gets a version buffer for the row.
            for _ in 0..2 {
                count_up(&mut lane, table, 1).await;
            }
            let counters = lane.env().clone();
            let before = fabric::Fabric::counters(&counters).counts().round_trips;
            assert_eq!(count_up(&mut lane, table, 1).await, Some(Outcome::Committed));
            fabric::Fabric::counters(&counters).counts().round_trips - before
        })
    };
    let [one, two, three] = [1, 2, 3].map(cost);
    assert_eq!([two, three], [one, one]);
}

//! Replicas of regions: their cost in round trips, and a promotion that keeps all rows.
//!
//! The drawn worlds of the crate `mutants` do the same in the middle of everything.

use crate::catalog::write_into;
use crate::support::cluster::Cluster;
use crate::support::{VALUE, key, table};
use fabric::{DynEnv, Env, Fabric};
use layout::{NodeId, Storage};
use sim::{Fault, SimConfig};
use txn::{Database, DatabaseConfig, Isolation, Lane, Outcome, TableId};

const ROWS: i32 = 40;
/// The memory server that dies. The first one has the oracle.
const DYING: NodeId = NodeId(1);
/// Longest time until no lock of a closed region is held.
const DRAIN_NS_MAX: u64 = 1_000_000_000;

/// A database with a table whose rows are on all servers.
fn open(seed: u64, servers: u16, replicas: u16, storage: Storage) -> (Cluster, TableId) {
    let config = SimConfig::new(seed).with_replicas(replicas);
    let cluster = Cluster::new(config, servers, DatabaseConfig::default());
    let created = cluster.admin(cluster.database.create_table(table("t", storage, Vec::new())));
    let table = created.expect("no other client runs");
    let mut lane = cluster.lane();
    for id in 0..ROWS {
        assert!(cluster.admin(write_into(&mut lane, table, id, 1, 0)));
    }
    (cluster, table)
}

/// Round trips of a commit that adds to three rows, or inserts one; without those of upkeep.
async fn commit_cost(lane: &mut Lane<DynEnv>, table: TableId, inserted: Option<i32>) -> u64 {
    let upkeep = |lane: &Lane<DynEnv>| lane.statistics().expect("it is here").upkeep_round_trips;
    let upkeep_before = upkeep(lane);
    let mut txn = lane.begin(Isolation::Snapshot).await.expect("the oracle answers");
    match inserted {
        Some(id) => {
            let row = txn.insert(table, &key(id)).await.expect("the key is new");
            txn.update(row).set_int(VALUE, 1);
        }
        None => {
            for id in 0..3 {
                let row = txn.read(table, &key(id)).await.expect("readable").expect("it is there");
                let value = txn.row(row).int(VALUE);
                txn.update(row).set_int(VALUE, value + 1);
            }
        }
    }
    let counters = txn.env().clone();
    let before = counters.counters().counts().round_trips;
    assert_eq!(txn.commit().await, Outcome::Committed);
    counters.counters().counts().round_trips - before - (upkeep(lane) - upkeep_before)
}

#[test]
fn replicas_cost_updates_no_round_trip_and_inserts_one() {
    for storage in [Storage::HashInlined, Storage::HashOutside, Storage::Tree] {
        let costs = [1, 2, 3].map(|replicas| {
            let (cluster, table) = open(1, 3, replicas, storage);
            let mut lane = cluster.lane();
            cluster.admin(async {
                // The first of them fetch what the lane does not know yet.
                commit_cost(&mut lane, table, None).await;
                commit_cost(&mut lane, table, Some(ROWS)).await;
                let update = commit_cost(&mut lane, table, None).await;
                (update, commit_cost(&mut lane, table, Some(ROWS + 1)).await)
            })
        });
        let [(update, insert), others @ ..] = costs;
        assert_eq!(others, [(update, insert + 1); 2], "{storage:?}");
    }
}

/// The value of each row.
async fn values(database: &Database<DynEnv>, table: TableId) -> Vec<Option<i64>> {
    let mut lane = database.lane().await.expect("a lane");
    let mut txn = lane.begin(Isolation::Snapshot).await.expect("the oracle answers");
    let mut values = Vec::new();
    for id in 0..ROWS {
        let row = txn.read(table, &key(id)).await.expect("readable");
        values.push(row.map(|row| txn.row(row).int(VALUE)));
    }
    assert_eq!(txn.commit().await, Outcome::Committed);
    values
}

#[test]
fn a_promoted_replica_has_all_rows_and_takes_new_ones() {
    for (seed, storage) in (0..).zip([Storage::HashInlined, Storage::HashOutside, Storage::Tree]) {
        let (cluster, table) = open(seed, 3, 2, storage);
        let Cluster { world, database, .. } = &cluster;
        world.inject(&Fault::Crash { node: DYING });
        world.inject(&Fault::Fence { node: DYING });
        let closed = world.close_regions_of(DYING);
        assert_eq!(closed, [layout::RegionId(DYING.0)]);
        cluster.admin(async {
            let deadline_ns = database.env().now_ns() + DRAIN_NS_MAX;
            assert!(database.drain(deadline_ns).await, "no transaction runs");
            for &region in &closed {
                database.prepare_promotion(region).await.expect("the others live");
            }
        });
        assert!(closed.iter().all(|&region| world.promote(region)), "each has a replica");
        let found = cluster.admin(async {
            for &region in &closed {
                database.finish_promotion(region).await.expect("the others have room");
            }
            let mut lane = database.lane().await.expect("a lane");
            for id in (0..ROWS).step_by(2) {
                assert!(write_into(&mut lane, table, id, 2, 0).await, "row {id} is writable");
            }
            drop(lane);
            values(database, table).await
        });
        let expected: Vec<_> = (0..ROWS).map(|id| Some(2 - i64::from(id % 2))).collect();
        assert_eq!(found, expected, "{storage:?}");
        cluster.check();
    }
}

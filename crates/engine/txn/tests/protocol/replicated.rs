//! Replicas of regions: their cost in round trips, and a promotion that keeps all rows.
//!
//! The drawn worlds of the crate `mutants` do the same in the middle of everything.

use crate::catalog::write_into;
use crate::support::cluster::Cluster;
use crate::support::{VALUE, key, table};
use fabric::{Batch, DynEnv, Env, Fabric};
use layout::{GlobalPtr, NodeId, RegionId, Storage, WORD_BYTES};
use memory::extent::{allocate_extent, free_extent, free_label, usage};
use memory::{AllocateError, Label};
use sim::{Differing, Fault, SimConfig};
use std::sync::atomic::Ordering::Relaxed;
use txn::server::returned_services;
use txn::{
    CatalogError, Copied, CopyCounts, Database, DatabaseConfig, Isolation, Lane, Outcome, Pace,
    TableId,
};

const ROWS: i32 = 40;
/// The memory server that dies. The first one has the oracle.
const DYING: NodeId = NodeId(1);
/// The extents that tests allocate themselves.
const EXTENT_BYTES: u64 = 64 * 1024;
const LABEL: Label = Label(77);
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

/// Kills a memory server, and promotes replicas of the regions that it had.
fn kill(cluster: &Cluster, node: NodeId) -> Vec<RegionId> {
    let Cluster { world, database, .. } = cluster;
    world.inject(&Fault::Crash { node });
    world.inject(&Fault::Fence { node });
    let closed = world.close_regions_of(node);
    drain(cluster);
    cluster.admin(async {
        for &region in &closed {
            database.prepare_promotion(region).await.expect("the others live");
        }
    });
    assert!(closed.iter().all(|&region| world.promote(region)), "each has a replica");
    cluster.admin(async {
        for &region in &closed {
            database.finish_promotion(region).await.expect("the others have room");
        }
    });
    closed
}

fn drain(cluster: &Cluster) {
    let database = &cluster.database;
    let deadline_ns = database.env().now_ns() + DRAIN_NS_MAX;
    let drained = cluster.admin(database.drain(deadline_ns));
    assert!(drained, "no transaction runs");
}

/// A server that has died comes back with empty memory.
fn take_back(cluster: &Cluster, node: NodeId) {
    let Cluster { world, .. } = cluster;
    assert!(world.take_back(node), "it has died, and its regions have other places");
    let region = RegionId(node.0);
    for (id, service) in returned_services(region, world.region_bytes(region)) {
        world.register(node, id, service);
    }
}

/// A server that has died comes back, and its regions are copied.
fn return_server(cluster: &Cluster, node: NodeId) {
    take_back(cluster, node);
    let Cluster { database, .. } = cluster;
    let pace = Pace { words: 512, pieces: 3, pause_ns: 1_000, deadline_ns: u64::MAX };
    let counts = CopyCounts::default();
    let copied = cluster.admin(database.copy_to(node, pace, &counts)).expect("all servers live");
    assert!(copied.written > 0 && copied.compared >= copied.written);
    let [total, compared] = [&counts.total, &counts.compared].map(|it| it.load(Relaxed));
    assert_eq!([total, compared], [copied.compared; 2], "nothing else runs");
}

/// The last part of filling a server, after which it counts.
fn fill(cluster: &Cluster, node: NodeId) -> Copied {
    let Cluster { world, database, .. } = cluster;
    assert!(world.defer_changes(node), "it has returned, and no region is closed");
    assert!(cluster.admin(database.await_changes(u64::MAX)), "there is no deadline");
    assert!(world.begin_filling(node), "no server has died");
    drain(cluster);
    let copied = cluster.admin(database.finish_copy(node, u64::MAX)).expect("all servers live");
    assert!(world.end_filling(node), "no server has died");
    copied
}

/// Adds to every second row, or to the others.
fn write_half(cluster: &Cluster, table: TableId, first: i32, value: i64) {
    cluster.admin(async {
        let mut lane = cluster.database.lane().await.expect("a lane");
        for id in (first..ROWS).step_by(2) {
            assert!(write_into(&mut lane, table, id, value, 0).await, "row {id} is writable");
        }
    });
}

#[test]
fn a_server_that_returns_is_filled_and_may_be_the_last() {
    let storages = [Storage::HashInlined, Storage::HashOutside, Storage::Tree];
    for (seed, (servers, storage)) in (0..)
        .zip(storages.map(|it| (2, it)).into_iter().chain(storages.map(|storage| (3, storage))))
    {
        let (cluster, table) = open(seed, servers, 2, storage);
        let (first, second) = (DYING, NodeId((DYING.0 + 1) % servers));
        kill(&cluster, first);
        write_half(&cluster, table, 0, 2);
        return_server(&cluster, first);
        // Stamps are restored by promotions.
        let differing = || -> Vec<Differing> {
            let is_stamp = |it: &Differing| it.word == layout::region::collected(it.word.region());
            let differing = cluster.world.differing_replicas().into_iter();
            differing.filter(|it| !is_stamp(it)).collect()
        };
        assert_eq!(differing(), [], "what is not whole does not count");
        write_half(&cluster, table, 1, 3);
        let fresh =
            cluster.admin(cluster.database.create_table(self::table("fresh", storage, Vec::new())));
        let fresh = fresh.expect("the others have room");
        let copied = fill(&cluster, first);
        assert!(copied.written > 0, "rows were written since they were copied");
        assert_eq!(differing(), [], "{servers} servers, {storage:?}");
        write_half(&cluster, table, 0, 4);
        kill(&cluster, second);
        write_half(&cluster, table, 1, 5);
        let expected: Vec<_> = (0..ROWS).map(|id| Some(4 + i64::from(id % 2))).collect();
        assert_eq!(cluster.admin(values(&cluster.database, table)), expected, "{storage:?}");
        // It knows the free memory of all its regions, and the catalog.
        for table in [table, fresh] {
            cluster.admin(async {
                let mut lane = cluster.database.lane().await.expect("a lane");
                for id in 2 * ROWS..5 * ROWS {
                    assert!(write_into(&mut lane, table, id, 1, 0).await, "there is room");
                }
            });
        }
        let last =
            cluster.admin(cluster.database.create_table(self::table("last", storage, Vec::new())));
        last.expect("there is room");
        cluster.check();
    }
}

/// Replicas that differ from their regions when a database begins are made equal.
#[test]
fn replicas_are_like_their_regions_when_they_were_made_equal() {
    for servers in [2, 3] {
        let (cluster, table) = open(11, servers, 2, Storage::Tree);
        kill(&cluster, DYING);
        write_half(&cluster, table, 0, 2);
        take_back(&cluster, DYING);
        let equalise = || {
            let copied = cluster.admin(cluster.database.equalise(DYING));
            copied.expect("all servers live")
        };
        let first = equalise();
        assert!(first.written > 0 && first.compared > first.written, "{first:?}");
        assert_eq!((equalise().written, equalise().compared), (0, first.compared));
        // The catalog, too: the last copy of it is left out.
        assert!(cluster.world.defer_changes(DYING) && cluster.world.begin_filling(DYING));
        drain(&cluster);
        assert!(cluster.world.end_filling(DYING), "no server has died");
        write_half(&cluster, table, 1, 3);
        kill(&cluster, NodeId((DYING.0 + 1) % servers));
        let expected: Vec<_> = (0..ROWS).map(|id| Some(2 + i64::from(id % 2))).collect();
        assert_eq!(cluster.admin(values(&cluster.database, table)), expected);
        let created = cluster.admin(cluster.database.create_table(self::table(
            "u",
            Storage::Tree,
            Vec::new(),
        )));
        created.expect("there is room");
        cluster.check();
    }
}

/// Allocates extents on `node` until it is full.
fn take_all(cluster: &Cluster, node: NodeId) -> Vec<GlobalPtr> {
    let env = cluster.database.env();
    let mut taken = Vec::new();
    while let Ok(extent) = cluster.admin(allocate_extent(env, node, EXTENT_BYTES, LABEL)) {
        taken.push(extent);
    }
    taken
}

#[test]
fn a_promoted_region_gives_and_takes_memory_as_before() {
    let (cluster, table) = open(5, 3, 2, Storage::Tree);
    let env = cluster.database.env();
    let used = || {
        let usage = cluster.admin(usage(env, DYING)).expect("somebody has the region");
        usage.iter().map(|part| (part.label, part.bytes)).collect::<Vec<_>>()
    };
    let before = used();
    let refused = cluster.admin(allocate_extent(env, DYING, 1 << 30, LABEL));
    assert!(matches!(refused, Err(AllocateError::Full { .. })), "{refused:?}");
    // Memory is full once, and most of it is freed again.
    let taken = take_all(&cluster, DYING);
    let (kept, freed) = (taken[1], taken[2]);
    for &extent in taken.iter().filter(|&&extent| extent != kept) {
        cluster.admin(free_extent(env, extent, LABEL)).expect("it was allocated");
    }
    kill(&cluster, DYING);
    // Inner nodes are rebuilt in the region, too.
    let new_nodes = |label| before.iter().any(|&(known, _)| known == label) && label != Label(0);
    let grown: Vec<_> = used().into_iter().filter(|&part| !before.contains(&part)).collect();
    assert!(grown.contains(&(LABEL, EXTENT_BYTES)), "{grown:?}");
    assert!(grown.iter().all(|&(label, _)| label == LABEL || new_nodes(label)), "{grown:?}");
    let again = take_all(&cluster, DYING);
    let lost = 1 + again.len() as i64 - taken.len() as i64;
    assert!((-2..=0).contains(&lost), "{} of {} extents", again.len(), taken.len());
    assert!(again.contains(&freed) && !again.contains(&kept));
    let read = async |extent| {
        let mut batch = Batch::new();
        let words = batch.read(extent, (EXTENT_BYTES / WORD_BYTES) as u32);
        let batch = env.execute(batch).await.expect("it is there");
        batch.words(words).iter().all(|word| *word == 0)
    };
    assert!(again.iter().all(|&extent| cluster.admin(read(extent))), "free memory is zero");
    cluster.admin(free_extent(env, kept, LABEL)).expect("the dead server has allocated it");
    assert_eq!(take_all(&cluster, DYING).len(), 1, "it was freed");
    // Its tables grow as soon as something is dropped.
    cluster.admin(free_label(env, DYING, LABEL)).expect("it is there");
    assert!(used().iter().all(|&(label, bytes)| label != LABEL || bytes == 0));
    write_half(&cluster, table, 0, 2);
    assert!(again.len().abs_diff(take_all(&cluster, DYING).len()) < 3, "all of it is free");
    cluster.check();
}

#[test]
fn changes_of_the_catalog_wait_while_a_server_is_about_to_be_filled() {
    let (cluster, _) = open(9, 3, 2, Storage::HashInlined);
    let create = |name| cluster.database.create_table(table(name, Storage::Tree, Vec::new()));
    kill(&cluster, DYING);
    return_server(&cluster, DYING);
    assert!(cluster.world.defer_changes(DYING));
    let refused = cluster.admin(create("refused"));
    assert!(matches!(&refused, Err(CatalogError::Unreachable(why)) if why.contains("replaced")));
    cluster.world.give_up_filling();
    cluster.admin(create("created")).expect("the fill was given up");
    fill(&cluster, DYING);
    cluster.admin(create("last")).expect("the server is whole");
    cluster.check();
}

#[test]
fn a_fill_that_is_given_up_goes_on_with_what_is_there() {
    let (cluster, table) = open(7, 3, 3, Storage::Tree);
    kill(&cluster, DYING);
    return_server(&cluster, DYING);
    assert!(cluster.world.defer_changes(DYING) && cluster.world.begin_filling(DYING));
    // While it gets all writes, another server dies.
    drain(&cluster);
    kill(&cluster, NodeId(2));
    assert!(!cluster.world.end_filling(DYING), "it was given up");
    write_half(&cluster, table, 0, 2);
    fill(&cluster, DYING);
    kill(&cluster, NodeId(0));
    let expected: Vec<_> = (0..ROWS).map(|id| Some(2 - i64::from(id % 2))).collect();
    assert_eq!(cluster.admin(values(&cluster.database, table)), expected);
    cluster.check();
}

#[test]
fn a_promoted_replica_has_all_rows_and_takes_new_ones() {
    for (seed, storage) in (0..).zip([Storage::HashInlined, Storage::HashOutside, Storage::Tree]) {
        let (cluster, table) = open(seed, 3, 2, storage);
        let database = &cluster.database;
        assert_eq!(kill(&cluster, DYING), [RegionId(DYING.0)]);
        let found = cluster.admin(async {
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

//! The lock for freezing vectors: its holder releases it after every loss, others wait for it for a
//! bounded time, and nobody takes it over but from a compute server that is fenced.

use crate::support::cluster::Cluster;
use crate::support::{VALUE, index, key, table};
use fabric::{DynEnv, Env};
use layout::{IndexDesign, IndexKind, NodeId, Storage};
use sim::{Fault, PlannedFault, SimConfig, When};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use txn::{
    Abort, CatalogError, Database, DatabaseConfig, FreezeError, Isolation, Lane, Oracle, Outcome,
    TableId,
};

/// The node of the oracle.
const ORACLE: NodeId = NodeId(0);
/// Longer than any wait for the lock.
const LONG_NS: u64 = 60_000_000_000;

fn cluster(name: &str, seed: u64, servers: u16, vector_copies: u32) -> (Cluster, TableId) {
    let settings = DatabaseConfig {
        oracle: Oracle::Frozen,
        shares_slot: vector_copies > 0,
        vector_copies,
        transaction_time_max_ns: 20_000_000,
        ..DatabaseConfig::default()
    };
    let config = SimConfig { time_limit_ns: 100 * LONG_NS, ..SimConfig::new(seed).named(name) };
    let cluster = Cluster::new(config, servers, settings);
    let created = cluster.database.create_table(table("t", Storage::HashInlined, Vec::new()));
    let table = cluster.admin(created).expect("no other client runs");
    (cluster, table)
}

/// Sets the row with id 1.
async fn write(lane: &mut Lane<DynEnv>, table: TableId, value: i64) -> Result<Outcome, Abort> {
    let mut txn = lane.begin(Isolation::Snapshot).await?;
    let read = txn.read(table, &key(1)).await;
    let row = match read.map_err(|error| error.abort().expect("the table is whole"))? {
        Some(row) => row,
        None => txn.insert(table, &key(1)).await.expect("it is absent"),
    };
    txn.update(row).set_int(VALUE, value);
    Ok(txn.commit().await)
}

/// A client that has lost nothing commits and sees its commits.
fn goes_on(cluster: &Cluster, table: TableId) {
    let database = cluster.compute(2);
    let env = database.env().clone();
    cluster.world.block_on(&env, async {
        database.refresh().await.expect("the servers answer");
        let mut lane = database.lane().await.expect("there are slots");
        for value in 0..5 {
            let written = write(&mut lane, table, value).await;
            assert_eq!(written, Ok(Outcome::Committed));
        }
        let mut txn = lane.begin(Isolation::Snapshot).await.expect("begins");
        let row = txn.read(table, &key(1)).await.expect("reads").expect("it was written");
        assert_eq!(txn.row(row).int(VALUE), 4);
        txn.abort().await;
    });
    let holder = cluster.admin(cluster.database.freeze_holder());
    assert_eq!(holder, Ok(None), "{}", cluster.world.identity());
    assert_eq!(cluster.world.shadow_errors(), [""; 0], "{}", cluster.world.identity());
}

/// Number of batches that a world has posted when a client has written a few times, each with a
/// freeze.
fn write_few(cluster: &Cluster, table: TableId, lost: Option<Fault>, number: u64) -> u64 {
    let world = &cluster.world;
    let database = cluster.compute(1);
    let env = database.env().clone();
    if let Some(fault) = lost {
        let posted = world.batches();
        world.plan(&PlannedFault { when: When::Batch(posted + number), fault });
    }
    let before = world.batches();
    world.block_on(&env, async {
        for value in 0..3 {
            if database.refresh().await.is_err() {
                continue;
            }
            let Ok(mut lane) = database.lane().await else { continue };
            let _ = write(&mut lane, table, value).await;
        }
        env.sleep_ns(LONG_NS).await;
    });
    world.batches() - before
}

#[test]
fn a_lane_that_loses_a_batch_releases_the_lock() {
    let (quiet, table) = cluster("nothing is lost", 1, 1, 0);
    let batches = write_few(&quiet, table, None, 0);
    assert!(batches > 10);
    for fault in [Fault::LostCompletion, Fault::LateVerb] {
        for number in 1..=batches {
            let (cluster, table) = cluster(&format!("batch {number} is lost"), number, 1, 0);
            write_few(&cluster, table, Some(fault.clone()), number);
            let holder = cluster.admin(cluster.database.freeze_holder());
            assert_eq!(holder, Ok(None), "{fault:?} of {}", cluster.world.identity());
            assert_eq!(cluster.world.shadow_errors(), [""; 0], "{}", cluster.world.identity());
        }
    }
}

/// Runs a collector that loses a batch, or is dropped after a number of events.
fn collect(cluster: &Cluster, lost: Option<(Fault, u64)>, dropped_after_ns: Option<u64>) {
    let world = &cluster.world;
    let collector = cluster.database.elsewhere(world.endpoint(ORACLE).into_dyn());
    let env = collector.env().clone();
    if let Some((fault, number)) = lost {
        world.plan(&PlannedFault { when: When::Batch(world.batches() + number), fault });
    }
    world.block_on(&env, async {
        let is_wanted = Rc::new(Cell::new(true));
        let wanted = is_wanted.clone();
        let stop = env.clone();
        env.spawn(async move {
            stop.sleep_ns(1_000_000).await;
            wanted.set(false);
        });
        let collected = collector.collect_vectors(|| is_wanted.get());
        match dropped_after_ns {
            None => drop(collected.await),
            Some(after_ns) => {
                let mut collected = Box::pin(collected);
                let mut timer = Box::pin(env.sleep_ns(after_ns));
                std::future::poll_fn(|context| {
                    let _ = collected.as_mut().poll(context);
                    timer.as_mut().poll(context)
                })
                .await;
            }
        }
        env.sleep_ns(LONG_NS).await;
    });
}

#[test]
fn a_collector_that_loses_a_batch_or_is_dropped_releases_the_lock() {
    for copies in [0, 2] {
        let servers = 1 + copies as u16;
        for number in 1..=24 {
            for fault in [Fault::LostCompletion, Fault::LateVerb] {
                let (cluster, table) = cluster("the collector loses", number, servers, copies);
                collect(&cluster, Some((fault, number)), None);
                goes_on(&cluster, table);
            }
            let (cluster, table) = cluster("the collector is dropped", number, servers, copies);
            collect(&cluster, None, Some(700 * number));
            goes_on(&cluster, table);
        }
    }
}

/// A compute server that does not know the collector creates an index: it waits for the vectors of
/// the collector.
#[test]
fn an_index_is_created_by_a_server_that_does_not_know_the_collector() {
    for seed in 0..4 {
        let (cluster, table) = cluster("an unaware server", seed, 1, 0);
        let world = &cluster.world;
        let running = Rc::new(Cell::new(true));
        let collector = cluster.database.elsewhere(world.endpoint(ORACLE).into_dyn());
        let is_running = running.clone();
        world.spawn_on(&collector.env().clone(), async move {
            collector.collect_vectors(|| is_running.get()).await.expect("the server lives");
        });
        let database = cluster.compute(1);
        let env = database.env().clone();
        world.block_on(&env, async {
            database.refresh().await.expect("the servers answer");
            let mut lane = database.lane().await.expect("there are slots");
            assert_eq!(write(&mut lane, table, 7).await, Ok(Outcome::Committed));
            drop(lane);
            env.sleep_ns(100_000).await;
            let holder = database.freeze_holder().await.expect("the server answers");
            assert_eq!(holder.map(|holder| holder.slot()), Some(None), "the collector holds it");
            let design = IndexDesign { name: "a".to_owned(), ..index(IndexKind::Tree, false) };
            database.create_index("t", design).await.expect("it waits for the collector");
            running.set(false);
        });
        world.run_until_idle();
        cluster.check();
        goes_on(&cluster, table);
    }
}

/// Kills a lane while it freezes. Returns its compute server's number as a holder.
fn kill_while_freezing(cluster: &Cluster, table: TableId, point: &str) -> txn::FreezerId {
    let world = &cluster.world;
    let arrivals = world.reached().get(point).copied().unwrap_or(0);
    world.hold_at(point, arrivals + 1, 1_000_000);
    let victim = cluster.compute(1);
    let (env, id) = (victim.env().clone(), victim.freezer_id());
    world.spawn_on(&env, async move {
        victim.refresh().await.expect("the servers answer");
        let mut lane = victim.lane().await.expect("there are slots");
        for value in 0..100 {
            let _ = write(&mut lane, table, value).await;
        }
    });
    while world.reached().get(point).copied().unwrap_or(0) == arrivals {
        world.run_for(1_000);
    }
    world.kill(&env);
    world.run_for(10_000_000);
    id
}

#[test]
fn a_dead_holder_is_named_in_time_and_fenced_before_others_go_on() {
    for point in ["freeze::Locked", "freeze::VectorRead"] {
        let (cluster, table) = cluster(point, 5, 1, 0);
        let id = kill_while_freezing(&cluster, table, point);
        let (world, database) = (&cluster.world, cluster.compute(3));
        let env = database.env().clone();
        let other = cluster.compute(2).freezer_id();
        world.block_on(&env, async {
            database.refresh().await.expect("the servers answer");
            let holder = database.freeze_holder().await.expect("the server answers");
            let holder = holder.expect("the dead lane keeps it");
            assert_eq!(holder.server(), id);
            // A collector ends in time, and says who keeps the lock.
            let start_ns = env.now_ns();
            let collected = database.collect_vectors(|| true).await;
            assert_eq!(collected, Err(FreezeError::Held(holder)));
            let taken_ns = env.now_ns() - start_ns;
            assert!((9_000_000_000..12_000_000_000).contains(&taken_ns), "{taken_ns}");
            // So does a change of the catalog.
            let start_ns = env.now_ns();
            let design = IndexDesign { name: "a".to_owned(), ..index(IndexKind::Tree, false) };
            let created = database.create_index("t", design).await;
            let Err(CatalogError::Unreachable(reason)) = created else { panic!("{created:?}") };
            assert!(reason.contains("keeps the lock for freezing vectors"), "{reason}");
            assert!(reason.contains(&holder.to_string()), "{reason}");
            assert!(env.now_ns() - start_ns < LONG_NS);
            // Nobody else is taken for the dead one.
            assert_eq!(database.take_over_freezing(other).await, Ok(false));
            assert_eq!(database.freeze_holder().await, Ok(Some(holder)));
        });
        // Several may notice the end of its membership.
        let results = Rc::new(RefCell::new(Vec::new()));
        for number in 0..3 {
            let (database, results) = (cluster.compute(number), results.clone());
            world.spawn_on(&database.env().clone(), async move {
                let taken = database.take_over_freezing(id).await;
                results.borrow_mut().push(taken);
            });
        }
        world.run_until_idle();
        let taken = results.borrow().iter().filter(|result| **result == Ok(true)).count();
        assert_eq!((results.borrow().len(), taken), (3, 1), "{point}: {results:?}");
        goes_on(&cluster, table);
    }
}

/// A holder that stood still and was fenced meanwhile writes nothing when it goes on.
#[test]
fn a_fenced_holder_that_goes_on_freezes_nothing() {
    for seed in 0..8 {
        let (cluster, table) = cluster("a paused holder is fenced", seed, 1, 0);
        let world = &cluster.world;
        let point = ["freeze::Locked", "freeze::VectorRead"][seed as usize % 2];
        let victim = cluster.compute(1);
        let (env, id) = (victim.env().clone(), victim.freezer_id());
        let node = world.compute_node(1);
        let arrivals = world.reached().get(point).copied().unwrap_or(0);
        world.hold_at(point, arrivals + 1, LONG_NS);
        let ended = Rc::new(Cell::new(None));
        let end = ended.clone();
        world.spawn_on(&env, async move {
            victim.refresh().await.expect("the servers answer");
            let mut lane = victim.lane().await.expect("there are slots");
            end.set(Some(write(&mut lane, table, 99).await));
        });
        while world.reached().get(point).copied().unwrap_or(0) == arrivals {
            world.run_for(1_000);
        }
        world.inject(&Fault::Fence { node });
        let taken = cluster.admin(take_over(&cluster.database, id));
        assert_eq!(taken, Ok(true), "{}", world.identity());
        goes_on(&cluster, table);
        world.run_for(2 * LONG_NS);
        assert_ne!(ended.get(), Some(Ok(Outcome::Committed)), "{}", world.identity());
        goes_on(&cluster, table);
    }
}

async fn take_over(
    database: &Database<DynEnv>,
    id: txn::FreezerId,
) -> Result<bool, fabric::FabricError> {
    database.take_over_freezing(id).await
}

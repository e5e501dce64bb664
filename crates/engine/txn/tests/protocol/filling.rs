//! An index is created over a table whose read takes longer than E, while other compute servers
//! change its rows all the time.

use crate::catalog::{compare, write_into};
use crate::support::cluster::Cluster;
use crate::support::{STORAGES, index, table};
use fabric::{DynEnv, Env};
use layout::{IndexDesign, IndexKind, Storage};
use sim::{Carrier, SimConfig};
use std::cell::Cell;
use std::rc::Rc;
use txn::{Database, DatabaseConfig, Oracle};

/// Number of rows before the index; more are inserted meanwhile.
const ROWS: i32 = 600;
/// Number of groups, over which the index is.
const GROUPS: i64 = 100;
/// E in these tests.
const TIME_MAX_NS: u64 = 2_000_000;

/// Creates an index over a table whose read takes longer than E, while others change its rows.
fn fill(carrier: Carrier, seed: u64, storage: Storage, kind: IndexKind, is_fetched: bool) {
    let config = SimConfig::hostile(seed).named(format!("{kind:?} index over a large {storage:?}"));
    let oracle = if is_fetched { Oracle::Frozen } else { Oracle::DoubleCollect };
    let settings = DatabaseConfig {
        transaction_time_max_ns: TIME_MAX_NS,
        oracle,
        shares_slot: is_fetched,
        ..Default::default()
    };
    let cluster = Cluster::new(config.carried_by(carrier), 2, settings);
    let identity = cluster.world.identity();
    let created = cluster.admin(cluster.database.create_table(table("t", storage, Vec::new())));
    let table = created.expect("no other client runs");
    let mut lane = cluster.lane();
    for id in 0..ROWS {
        let (value, group) = (i64::from(id), i64::from(id) % GROUPS);
        let written = cluster.admin(write_into(&mut lane, table, id, value, group));
        assert!(written, "{identity}: no other client runs");
    }
    cluster.admin(lane.rest()).expect("the oracle answers");
    let made_at_ns = Rc::new(Cell::new(None));
    let homes: Vec<_> = (0..3).map(|number| cluster.compute(number)).collect();
    if is_fetched {
        fetch(&cluster, &homes, &made_at_ns);
    }
    let database = homes[0].clone();
    let (env, made) = (database.env().clone(), made_at_ns.clone());
    let start_ns = cluster.world.now_ns();
    cluster.world.spawn_on(&env, async move {
        let design = IndexDesign { name: "a".to_owned(), ..index(kind, false) };
        database.create_index("t", design).await.expect("no other client runs");
        made.set(Some(database.env().now_ns()));
    });
    for database in homes.into_iter().skip(1) {
        let made = made_at_ns.clone();
        let env = database.env().clone();
        cluster.world.spawn_on(&env, async move {
            database.refresh().await.expect("the servers answer");
            let mut lane = database.lane().await.expect("a lane");
            while made.get().is_none() {
                let draw = database.env().random();
                let id = (draw % (2 * ROWS as u64)) as i32;
                let value = (draw >> 32) as i64 & 0xffff;
                write_into(&mut lane, table, id, value, value % GROUPS).await;
            }
        });
    }
    assert_eq!(cluster.world.run_until_idle(), 0, "{identity}: tasks wait for ever");
    let taken_ns = made_at_ns.get().expect("it was created") - start_ns;
    assert!(taken_ns > 2 * TIME_MAX_NS, "{identity}: {taken_ns} ns are too few for this test");
    cluster.admin(cluster.database.refresh()).expect("the servers answer");
    for group in 0..GROUPS {
        cluster.admin(compare(&mut lane, &cluster.database, "a", group));
    }
    drop(lane);
    cluster.check();
}

#[test]
fn an_index_is_filled_for_longer_than_a_transaction_may_run() {
    for (seed, storage) in (0..).zip(STORAGES) {
        fill(Carrier::Card, seed, storage, IndexKind::Hash, false);
        fill(Carrier::Caller, seed, storage, IndexKind::Tree, false);
    }
}

/// A collector freezes vectors, and a task of each compute server fetches them, until the index
/// exists.
fn fetch(cluster: &Cluster, homes: &[Database<DynEnv>], made_at_ns: &Rc<Cell<Option<u64>>>) {
    homes.iter().for_each(Database::rely_on_collector);
    let oracle =
        cluster.database.elsewhere(cluster.world.service_endpoint(layout::NodeId(0)).into_dyn());
    let made = made_at_ns.clone();
    cluster.world.spawn_on(&oracle.env().clone(), async move {
        oracle.collect_vectors(|| made.get().is_none()).await.expect("the server lives");
    });
    for home in homes {
        let (home, made) = (home.clone(), made_at_ns.clone());
        cluster.world.spawn_on(&home.env().clone(), async move {
            home.fetch_vectors(|| made.get().is_none()).await.expect("the server lives");
        });
    }
}

/// The index has every row that was committed before, although fetched snapshots may be older than
/// the call that reads them.
#[test]
fn an_index_is_filled_under_fetched_vectors() {
    for (seed, storage) in (0..).zip(STORAGES) {
        fill(Carrier::Card, seed, storage, IndexKind::Hash, true);
        fill(Carrier::Caller, seed, storage, IndexKind::Tree, true);
    }
}

//! The caller drops its future, at each await. A commit that has begun goes on; everything else
//! ends without effect. No lock remains, the lane is usable, and no lane or change waits for it.

use crate::support::cluster::Cluster;
use crate::support::history::Cell;
use crate::support::twins::{Changes, Rows, Twins};
use crate::support::{index, table};
use fabric::{DynEnv, Env};
use layout::{IndexKind, PartRule, Storage};
use sim::{Carrier, SimConfig};
use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use txn::{Database, DatabaseConfig, Isolation, Lane, Oracle, Outcome};

/// Rows are 0 to below this; a third of them exist from the start.
const ID_END: i32 = 24;
/// A future that needs more polls than this hangs.
const POLLS_MAX: u32 = 5000;
/// Number of worlds per test and await.
const ROUNDS: u64 = 10;
/// Time for detached work to end.
const REST_NS: u64 = 50_000_000;
/// E is longer than a test observes, so that waiting for a lane at rest would show.
const TRANSACTION_TIME_MAX_NS: u64 = 10_000_000_000;

/// Polls `future` at most `polls` times, then drops it.
async fn drop_after<T>(polls: u32, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

fn cell(id: i32, round: i64) -> Cell {
    Cell { value: round * 1000 + i64::from(id), group: (i64::from(id) + round) % 5 }
}

/// The rows before the drop.
fn first_rows() -> Changes {
    (0..ID_END).step_by(3).map(|id| (id, Some(cell(id, 1)))).collect()
}

/// The changes of the dropped transaction: updates, inserts enough for growth and splits, a delete.
fn changes() -> Changes {
    let mut changes: Changes = (0..ID_END).map(|id| (id, Some(cell(id, 2)))).collect();
    changes.insert(3, None);
    changes
}

fn after(changes: &Changes, rows: &Changes) -> Rows {
    let mut all = rows.clone();
    all.extend(changes.iter().map(|(&id, &cell)| (id, cell)));
    all.into_iter().filter_map(|(id, cell)| Some((id, cell?))).collect()
}

struct Scene {
    cluster: Cluster,
    twins: Twins,
    /// The database of the compute server whose futures are dropped.
    database: Database<DynEnv>,
}

impl Scene {
    fn open(carrier: Carrier, seed: u64, name: &str, oracle: Oracle) -> Self {
        let config = SimConfig::hostile(seed).named(name).carried_by(carrier);
        let transaction_time_max_ns = TRANSACTION_TIME_MAX_NS;
        let database =
            DatabaseConfig { oracle, transaction_time_max_ns, lanes: 6, ..Default::default() };
        let cluster = Cluster::new(config, 1 + (seed % 2) as u16, database);
        let twins = Twins::create(&cluster);
        let database = cluster.compute(1);
        cluster.admin(database.refresh()).expect("the servers answer");
        let scene = Self { cluster, twins, database };
        let mut lane = scene.lane();
        scene.commit(&mut lane, &first_rows());
        scene
    }

    fn lane(&self) -> Lane<DynEnv> {
        let lane = self.cluster.world.block_on(self.database.env(), self.database.lane());
        lane.unwrap_or_else(|error| panic!("{}: {error}", self.cluster.world.identity()))
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.cluster.world.block_on(self.database.env(), future)
    }

    fn commit(&self, lane: &mut Lane<DynEnv>, changes: &Changes) {
        let identity = self.cluster.world.identity();
        self.run(async {
            for _ in 0..100 {
                match self.twins.change(lane, Isolation::Serializable, changes, || {}).await {
                    Outcome::Committed => return,
                    Outcome::Aborted(abort) if abort.is_retryable() => {}
                    other => panic!("{identity}: {other:?}"),
                }
            }
            panic!("{identity}: no other client runs, and no commit succeeds");
        });
    }

    fn read_all(&self, lane: &mut Lane<DynEnv>) -> Rows {
        let read = self.run(async {
            for _ in 0..100 {
                match self.twins.read_all(lane, ID_END).await {
                    Err(abort) if abort.is_retryable() => {}
                    other => return other,
                }
            }
            panic!("no other client runs, and no snapshot succeeds");
        });
        read.unwrap_or_else(|abort| panic!("{}: {abort}", self.cluster.world.identity()))
    }

    /// After the drop: detached work ends, everything works, no lock remains.
    fn aftermath(&self, lane: Option<&mut Lane<DynEnv>>, allowed: &[Rows]) {
        self.cluster.world.run_for(REST_NS);
        let identity = self.cluster.world.identity();
        let mut other = self.lane();
        let seen = self.read_all(&mut other);
        assert!(allowed.contains(&seen), "{identity}: half a transaction: {seen:?}");
        self.cluster.check();
        let again = [(1, Some(cell(1, 5))), (4, None), (6, Some(cell(6, 5)))];
        self.commit(&mut other, &Changes::from(again));
        if let Some(lane) = lane {
            self.commit(lane, &Changes::from([(2, Some(cell(2, 6))), (6, Some(cell(6, 6)))]));
            assert_eq!(self.read_all(&mut other)[&6], cell(6, 6), "{identity}");
            self.run(lane.rest()).expect("the oracle answers");
        }
        drop(other);
        self.cluster.check();
    }

    /// With no running transaction, neither collection nor a catalog change waits.
    fn nobody_is_waited_for(&self) {
        let world = &self.cluster.world;
        world.run_for(REST_NS);
        let start_ns = world.now_ns();
        let spec = table("later", Storage::Tree, vec![index(IndexKind::Hash, false)]);
        let made = self.cluster.admin(self.cluster.database.create_table(spec));
        made.unwrap_or_else(|error| panic!("{}: {error}", world.identity()));
        let taken_ns = world.now_ns() - start_ns;
        assert!(taken_ns < 1_000_000_000, "{}: it took {taken_ns} ns", world.identity());
    }
}

/// Calls `drop_at` with seeds and with 1, 2, ... polls until it returns that the future has
/// completed.
fn at_every_await(mut drop_at: impl FnMut(u64, u32) -> bool) {
    for round in 0..ROUNDS {
        let seed = |polls: u32| round * u64::from(POLLS_MAX) + u64::from(polls);
        let end = (1..POLLS_MAX).find(|&polls| drop_at(seed(polls), polls));
        assert!(end.is_some(), "the future does not come to its end");
    }
}

fn transactions(carrier: Carrier, oracle: Oracle) {
    let (mut whole, mut none) = (0, 0);
    at_every_await(|seed, polls| {
        let name = format!("transaction dropped at poll {polls}, {oracle:?}");
        let scene = Scene::open(carrier, seed, &name, oracle);
        let mut lane = scene.lane();
        let changes = changes();
        let isolation = [Isolation::Snapshot, Isolation::Serializable][polls as usize % 2];
        let change = scene.twins.change(&mut lane, isolation, &changes, || {});
        let outcome = scene.run(drop_after(polls, change));
        assert!(outcome.is_none_or(|outcome| outcome == Outcome::Committed), "{outcome:?}");
        scene.cluster.world.run_for(REST_NS);
        let before = after(&Changes::new(), &first_rows());
        let complete = after(&changes, &first_rows());
        // A lane whose commit was dropped refuses; a new lane works.
        let is_here = scene.run(lane.begin(Isolation::Snapshot)).is_ok();
        assert_eq!((lane.statistics().is_some(), lane.last_commit().is_some()), (is_here, is_here));
        assert!(lane.env().now_ns() >= REST_NS, "a lane knows its world, here or not");
        let mut reader = scene.lane();
        let seen = scene.read_all(&mut reader);
        drop(reader);
        whole += u32::from(seen == complete);
        none += u32::from(seen == before);
        assert!(outcome.is_none() || seen == complete, "{}", scene.cluster.world.identity());
        scene.aftermath(is_here.then_some(&mut lane), &[before, complete]);
        drop(lane);
        scene.nobody_is_waited_for();
        outcome.is_some()
    });
    assert!(whole > 1, "no commit went on alone");
    assert!(none > 1, "no transaction ended without effect");
}

#[test]
fn transactions_are_dropped() {
    transactions(Carrier::Card, Oracle::DoubleCollect);
}

#[test]
fn transactions_are_dropped_where_memory_is_coherent() {
    transactions(Carrier::Caller, Oracle::DoubleCollect);
}

#[test]
fn transactions_are_dropped_under_frozen_vectors() {
    transactions(Carrier::Card, Oracle::Frozen);
}

#[test]
fn reads_are_dropped() {
    at_every_await(|seed, polls| {
        let name = format!("reader dropped at poll {polls}");
        let scene = Scene::open(Carrier::Card, seed, &name, Oracle::DoubleCollect);
        let mut lane = scene.lane();
        let read = scene.run(drop_after(polls, scene.twins.read_all(&mut lane, ID_END)));
        let rows = after(&Changes::new(), &first_rows());
        scene.cluster.world.run_for(REST_NS);
        let is_here = scene.run(lane.begin(Isolation::Snapshot)).is_ok();
        scene.aftermath(is_here.then_some(&mut lane), std::slice::from_ref(&rows));
        drop(lane);
        scene.nobody_is_waited_for();
        read.is_some()
    });
}

#[test]
fn lanes_are_dropped_during_their_creation() {
    at_every_await(|seed, polls| {
        let name = format!("lane dropped at poll {polls}");
        let scene = Scene::open(Carrier::Card, seed, &name, Oracle::DoubleCollect);
        let home = scene.lane();
        let mut is_over = false;
        // Repeat more often than there are slots and lanes: unclaimed lanes must return to the
        // pool.
        for _ in 0..80 {
            let lane = scene.run(drop_after(polls, scene.database.lane()));
            is_over = lane.is_some();
            drop(lane);
            scene.cluster.world.run_for(REST_NS / 50);
        }
        drop(home);
        let rows = after(&Changes::new(), &first_rows());
        scene.aftermath(None, &[rows]);
        scene.nobody_is_waited_for();
        is_over
    });
}

#[test]
fn collections_are_dropped() {
    let mut is_over = false;
    at_every_await(|seed, polls| {
        let name = format!("collection dropped at poll {polls}");
        let scene = Scene::open(Carrier::Card, seed, &name, Oracle::DoubleCollect);
        let mut lane = scene.lane();
        scene.commit(&mut lane, &changes());
        let collected = scene.run(drop_after(polls, lane.collect_garbage()));
        is_over = collected.is_some();
        scene.cluster.world.run_for(REST_NS);
        let is_here = scene.run(lane.begin(Isolation::Snapshot)).is_ok();
        let rows = after(&changes(), &first_rows());
        scene.aftermath(is_here.then_some(&mut lane), &[rows]);
        drop(lane);
        scene.nobody_is_waited_for();
        is_over
    });
}

/// A catalog change runs to its end even if its future is dropped. `prepare` runs before and is not
/// dropped.
fn catalog_change<P: Future<Output = ()>, F: Future<Output = bool>>(
    name: &str,
    prepare: impl Fn(Database<DynEnv>) -> P,
    change: impl Fn(Database<DynEnv>) -> F,
    is_done: impl Fn(&Database<DynEnv>) -> bool,
) {
    at_every_await(|seed, polls| {
        let name = format!("{name} dropped at poll {polls}");
        let scene = Scene::open(Carrier::Card, seed, &name, Oracle::DoubleCollect);
        // Memory of unknown tables counts as the system's.
        let system_bytes = || {
            let usage = scene.run(scene.database.memory_usage()).expect("the servers answer");
            usage.iter().find(|table| table.name == "system").expect("the last").used_bytes
        };
        let before_bytes = system_bytes();
        scene.run(prepare(scene.database.clone()));
        let ended = scene.run(drop_after(polls, change(scene.database.clone())));
        assert!(ended != Some(false), "{}: the change failed", scene.cluster.world.identity());
        scene.cluster.world.run_for(2 * REST_NS);
        scene.run(scene.database.refresh()).expect("the servers answer");
        assert!(is_done(&scene.database), "{}: half done", scene.cluster.world.identity());
        // Memory of dropped tables is freed after another E.
        scene.cluster.world.run_for(2 * TRANSACTION_TIME_MAX_NS);
        assert_eq!(system_bytes(), before_bytes, "{}", scene.cluster.world.identity());
        scene.aftermath(None, &[after(&Changes::new(), &first_rows())]);
        scene.nobody_is_waited_for();
        ended.is_some()
    });
}

async fn nothing(_: Database<DynEnv>) {}

#[test]
fn creations_of_tables_are_dropped() {
    let create = |database: Database<_>| async move {
        let spec = table("new", Storage::HashInlined, vec![index(IndexKind::Tree, true)]);
        database.create_table(spec).await.is_ok()
    };
    catalog_change("creation of a table", nothing, create, |database| {
        database.table("new").is_some() && database.index("new", "by_group").is_some()
    });
}

#[test]
fn drops_of_tables_are_dropped() {
    let create = |database: Database<DynEnv>| async move {
        let spec = table("old", Storage::HashOutside, vec![index(IndexKind::Tree, false)]);
        let old = database.create_table(spec).await.expect("there is room");
        let mut lane = database.lane().await.expect("there are slots");
        for _ in 0..1000 {
            let rows = &first_rows();
            if Twins::change_one(&mut lane, old, rows).await == Outcome::Committed {
                return;
            }
        }
        panic!("no other client runs, and no commit succeeds");
    };
    let drop = |database: Database<_>| async move { database.drop_table("old").await.is_ok() };
    catalog_change("drop of a table", create, drop, |database| {
        database.table("old").is_none() && database.index("old", "by_group").is_none()
    });
}

/// Both parts are on one server, because some worlds have only one.
async fn in_parts(database: Database<DynEnv>) -> bool {
    let spec = table("parts", Storage::Tree, vec![index(IndexKind::Hash, false)]);
    let rule = PartRule::Ranges { smallest: 0, values: 10 };
    database.create_in_parts(spec, &[0, 0], rule).await.is_ok()
}

#[test]
fn creations_in_parts_are_dropped() {
    catalog_change("creation in parts", nothing, in_parts, |database| {
        database.table("parts").is_some() && database.table("parts.1").is_some()
    });
}

#[test]
fn drops_of_parts_are_dropped() {
    let create = |database: Database<_>| async move { assert!(in_parts(database).await) };
    let drop = |database: Database<_>| async move { database.drop_table("parts.1").await.is_ok() };
    catalog_change("drop of parts", create, drop, |database| {
        database.table("parts").is_none() && database.table("parts.1").is_none()
    });
}

fn more() -> layout::IndexDesign {
    layout::IndexDesign { name: "more".to_owned(), ..index(IndexKind::Hash, false) }
}

#[test]
fn creations_of_indexes_are_dropped() {
    let create =
        |database: Database<_>| async move { database.create_index("tree", more()).await.is_ok() };
    catalog_change("creation of an index", nothing, create, |database| {
        database.index("tree", "more").is_some()
    });
}

#[test]
fn drops_of_indexes_are_dropped() {
    let create = |database: Database<DynEnv>| async move {
        database.create_index("tree", more()).await.expect("there is room");
    };
    let drop =
        |database: Database<_>| async move { database.drop_index("tree", "more").await.is_ok() };
    catalog_change("drop of an index", create, drop, |database| {
        database.index("tree", "more").is_none()
    });
}

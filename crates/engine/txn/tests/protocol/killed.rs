//! A compute server dies at every failure point, and nobody recovers its locks: the others must
//! read everything, see its last transaction completely or not at all, and be refused only what its
//! locks or undecided writes block. The structural checks list its locks and find no damage.

use crate::random::Dice;
use crate::support::cluster::Cluster;
use crate::support::history::Cell;
use crate::support::twins::{Changes, GROUPS, NAMES, Rows, Twins};
use crate::support::{index, table};
use fabric::{Env, FailurePoint};
use index::hash::HashStep;
use index::tree::TreeStep;
use layout::{IndexKind, Storage};
use sim::{Carrier, SimConfig};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use txn::commit::CommitStep;
use txn::step::{ChangeStep, CollectStep};
use txn::{Database, DatabaseConfig, HeldLock, Isolation, Lane, LockKind, Outcome};

/// Number of worlds per kind of memory that sweep all points.
const SEEDS: u64 = 3;
/// The victim's rows have even numbers below this.
const ID_END: i32 = 288;
/// Survivors insert one in this number of the odd keys, which are free.
const FREE_STEP: usize = 7;
/// With at least this number of rows, the victim cannot lock all of a structure.
const ROWS_MANY: usize = 60;
/// Number of rows that one transaction inserts or deletes.
const CHUNK: usize = 12;
/// Time for which the victim is held at the point of its death.
pub(crate) const HOLD_NS: u64 = 10_000_000;
/// Maximal time of any operation of a survivor; a longer one counts as a hang.
const PATIENCE_NS: u64 = 20_000_000_000;

/// The victim's transactions, as its client knows them.
#[derive(Default)]
pub(crate) struct Diary {
    /// The rows of committed transactions.
    pub rows: Rows,
    /// The changes of the transaction without an outcome yet.
    pub pending: Option<Changes>,
    pub is_over: bool,
}

pub(crate) type Shared = Rc<RefCell<Diary>>;

/// Rows that one transaction inserts have one group, so that it does not lock all groups.
fn cell(id: i32, round: i64) -> Cell {
    let chunk = i64::from(id) / (2 * CHUNK as i64);
    Cell { value: round * 1000 + i64::from(id), group: (chunk + round) % GROUPS }
}

/// Commits changes, and records the request and the outcome in the diary.
async fn commit<E: Env>(lane: &mut Lane<E>, twins: Twins, diary: &Shared, changes: Changes) {
    for tried in 0.. {
        assert!(tried < 1000, "the victim is alone and does not get through");
        let isolation = [Isolation::Snapshot, Isolation::Serializable][changes.len() % 2];
        let ask = || diary.borrow_mut().pending = Some(changes.clone());
        let outcome = twins.change(lane, isolation, &changes, ask).await;
        let mut diary = diary.borrow_mut();
        diary.pending = None;
        match outcome {
            Outcome::Committed => {
                apply(&mut diary.rows, &changes);
                return;
            }
            Outcome::Aborted(abort) if abort.is_retryable() => {}
            other => panic!("{other:?}"),
        }
    }
}

fn apply(rows: &mut Rows, changes: &Changes) {
    for (&id, &cell) in changes {
        match cell {
            Some(cell) => rows.insert(id, cell),
            None => rows.remove(&id),
        };
    }
}

/// A life that passes every failure point.
pub(crate) async fn live<E: Env>(database: Database<E>, twins: Twins, diary: Shared) {
    let mut lane = database.lane().await.expect("there are slots");
    let mut other = database.lane().await.expect("there are slots");
    let ids: Vec<i32> = (0..ID_END).step_by(2).collect();
    for chunk in ids.chunks(CHUNK) {
        let changes = chunk.iter().map(|&id| (id, Some(cell(id, 1)))).collect();
        commit(&mut lane, twins, &diary, changes).await;
    }
    lose_a_race(&mut lane, &mut other, twins, &diary).await;
    for chunk in ids.chunks(3 * CHUNK) {
        let some = chunk.iter().step_by(3);
        commit(&mut lane, twins, &diary, some.map(|&id| (id, Some(cell(id, 2)))).collect()).await;
    }
    lane.rest().await.expect("the oracle answers");
    change_the_catalog(&database).await;
    // Deletes all rows but a few, from the left, so that leaves and inner nodes become empty.
    let doomed: Vec<i32> = ids.iter().copied().filter(|id| id % 96 != 14).collect();
    for chunk in doomed.chunks(CHUNK) {
        commit(&mut lane, twins, &diary, chunk.iter().map(|&id| (id, None)).collect()).await;
        lane.collect_garbage().await.expect("the servers answer");
    }
    for _ in 0..4 {
        lane.collect_garbage().await.expect("the servers answer");
    }
    let again = ids.iter().step_by(9).map(|&id| (id, Some(cell(id, 3)))).collect();
    commit(&mut lane, twins, &diary, again).await;
    diary.borrow_mut().is_over = true;
}

/// A commit that loses against another.
async fn lose_a_race<E: Env>(
    lane: &mut Lane<E>,
    other: &mut Lane<E>,
    twins: Twins,
    diary: &Shared,
) {
    let mut txn = lane.begin(Isolation::Snapshot).await.expect("begins");
    let changes = Changes::from([0, 2, 4].map(|id| (id, Some(cell(id, 7)))));
    twins.write(&mut txn, &changes).await.expect("no other client runs");
    commit(other, twins, diary, Changes::from([4, 6].map(|id| (id, Some(cell(id, 5)))))).await;
    diary.borrow_mut().pending = Some(changes);
    let outcome = txn.commit().await;
    assert!(matches!(outcome, Outcome::Aborted(_)), "{outcome:?}");
    diary.borrow_mut().pending = None;
}

async fn change_the_catalog<E: Env>(database: &Database<E>) {
    let spec = table("passing", Storage::Tree, vec![index(IndexKind::Hash, false)]);
    database.create_table(spec).await.expect("created");
    let mut design = index(IndexKind::Tree, false);
    design.name = "second".to_owned();
    database.create_index(NAMES[1], design).await.expect("created");
    database.drop_index(NAMES[1], "second").await.expect("dropped");
    database.drop_table("passing").await.expect("dropped");
}

/// All failure points.
fn all_points() -> BTreeSet<&'static str> {
    let commit = CommitStep::ALL.iter().map(|step| step.name());
    let hash = HashStep::ALL.iter().map(|step| step.name());
    let tree = TreeStep::ALL.iter().map(|step| step.name());
    let collect = CollectStep::ALL.iter().map(|step| step.name());
    let change = ChangeStep::ALL.iter().map(|step| step.name());
    commit.chain(hash).chain(tree).chain(collect).chain(change).collect()
}

/// A world with a victim.
pub(crate) struct Scene {
    pub cluster: Cluster,
    pub twins: Twins,
    pub diary: Shared,
    /// How often each point was reached before the victim started.
    before: BTreeMap<&'static str, u64>,
}

/// The identity of the victim.
pub(crate) const VICTIM: u64 = 77;
/// The identity of the survivor that recovers it.
pub(crate) const SURVIVOR: u64 = 88;

impl Scene {
    pub fn open(carrier: Carrier, seed: u64, name: &str, journals: bool) -> Self {
        let config = SimConfig::hostile(seed).named(format!("killed at {name}"));
        let config = SimConfig { carrier, time_limit_ns: 100 * PATIENCE_NS, ..config };
        let database = DatabaseConfig {
            transaction_time_max_ns: 20_000_000,
            journals,
            ..DatabaseConfig::default()
        };
        let cluster = Cluster::new(config, 1 + (seed % 2) as u16, database);
        let twins = Twins::create(&cluster);
        let before = cluster.world.reached();
        Self { cluster, twins, diary: Shared::default(), before }
    }

    pub fn identity(&self) -> String {
        self.cluster.world.identity()
    }

    /// Runs the victim; kills it when it is held at `point`.
    pub fn run(&self, point: Option<(&str, u64)>) {
        let world = &self.cluster.world;
        let victim = self.cluster.compute(1).as_member(VICTIM);
        let arrival = point.map(|(name, nth)| {
            let nth = nth + self.before.get(name).copied().unwrap_or(0);
            world.hold_at(name, nth, HOLD_NS);
            (name, nth)
        });
        let env = victim.env().clone();
        world.spawn_on(&env, live(victim, self.twins, self.diary.clone()));
        while !self.diary.borrow().is_over {
            world.run_for(HOLD_NS / 10);
            let reached = world.reached();
            if arrival.is_some_and(|(name, nth)| reached.get(name).is_some_and(|n| *n >= nth)) {
                world.kill(&env);
                return;
            }
        }
        assert_eq!(point, None, "{}: the victim never reached the point", self.identity());
    }

    /// Runs `future` for a survivor and checks its time.
    pub fn promptly<T>(&self, what: &str, future: impl Future<Output = T>) -> T {
        let start_ns = self.cluster.world.now_ns();
        let value = self.cluster.admin(future);
        let taken_ns = self.cluster.world.now_ns() - start_ns;
        assert!(taken_ns < PATIENCE_NS, "{}: {what} took {taken_ns} ns", self.identity());
        value
    }

    /// All rows, as a survivor reads them.
    pub fn read_all<E: Env>(&self, lane: &mut Lane<E>) -> Rows {
        let read = self.promptly("reading everything", async {
            for _ in 0..20 {
                match self.twins.read_all(lane, ID_END).await {
                    Ok(rows) => return Ok(rows),
                    Err(abort) if abort.is_retryable() => lane.env().yield_now().await,
                    Err(abort) => return Err(Some(abort)),
                }
            }
            Err(None)
        });
        read.unwrap_or_else(|abort| panic!("{}: not readable: {abort:?}", self.identity()))
    }

    /// Checks that the rows have all of the victim's last transaction, or nothing of it.
    pub fn check_contents(&self, seen: &Rows) {
        let diary = self.diary.borrow();
        let without = diary.rows.clone();
        let mut with = without.clone();
        apply(&mut with, diary.pending.as_ref().unwrap_or(&Changes::new()));
        let identity = self.identity();
        assert!(*seen == without || *seen == with, "{identity}: half a transaction: {seen:?}");
    }
}

/// The number of locks that the checks list in a table and its index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Held {
    pub rows: usize,
    /// Buckets and leaves.
    pub structures: usize,
}

impl Scene {
    /// The victim's remaining locks, per table; refuses damage.
    pub fn inspect(&self) -> [Held; 3] {
        NAMES.map(|name| {
            let is_named = |table: &str| table == name;
            let check = self.cluster.database.check_tables(&is_named);
            let report = self.promptly("the check", check);
            let report = report.unwrap_or_else(|error| panic!("{}: {error}", self.identity()));
            assert_eq!(report.errors, Vec::<String>::new(), "{}", self.identity());
            let is_of_table = |line: &String| line.starts_with(name);
            assert!(!report.lines.is_empty() && report.lines.iter().all(is_of_table), "{report:?}");
            assert!(report.locks.iter().all(|lock| lock.structure.starts_with(name)), "{report:?}");
            let is_row = |lock: &&HeldLock| lock.kind == LockKind::Row;
            let rows = report.locks.iter().filter(is_row).count();
            Held { rows, structures: report.locks.len() - rows }
        })
    }

    /// A survivor writes every row of every table in a transaction of its own, and new rows.
    pub fn write_around(&self, held: &[Held; 3], seen: &Rows) {
        let pending = self.diary.borrow().pending.clone().unwrap_or_default();
        let database = self.cluster.compute(2);
        self.admin_refresh(&database);
        let mut lane = self.promptly("a lane", database.lane()).expect("there are slots");
        for (number, held) in held.iter().enumerate() {
            let mut refused = 0;
            for (&id, &cell) in seen.iter().filter(|(id, _)| !pending.contains_key(id)) {
                let cell = Cell { value: cell.value + 1_000_000, ..cell };
                refused += usize::from(!self.write_one(&mut lane, number, id, cell));
            }
            let context = format!("{}: {}, {held:?}", self.identity(), NAMES[number]);
            assert!(refused <= held.rows, "{context}: {refused} rows cannot be updated");
            let new: Vec<i32> = (1..ID_END).step_by(2).step_by(FREE_STEP).collect();
            let write = |id: &&i32| !self.write_one(&mut lane, number, **id, cell(**id, 4));
            let refused = new.iter().filter(write).count();
            let may_be_refused = match held.structures {
                0 => 0,
                // All may belong in one bucket or leaf: of a small structure, or of an index that
                // is being filled.
                _ if seen.len() < ROWS_MANY || pending.is_empty() => new.len(),
                _ => new.len() - 1,
            };
            assert!(refused <= may_be_refused, "{context}: {refused} rows cannot be inserted");
        }
    }

    pub fn admin_refresh<E: Env>(&self, database: &Database<E>) {
        let refreshed = self.promptly("the catalog", database.refresh());
        refreshed.unwrap_or_else(|error| panic!("{}: {error}", self.identity()));
    }

    /// Writes one row of one table as a survivor; returns whether that succeeded.
    fn write_one<E: Env>(&self, lane: &mut Lane<E>, number: usize, id: i32, cell: Cell) -> bool {
        let table = self.twins.tables[number];
        let outcome = self.promptly("a write", async {
            let mut last = None;
            for _ in 0..3 {
                let changes = Changes::from([(id, Some(cell))]);
                let outcome = Twins::change_one(lane, table, &changes).await;
                if outcome == Outcome::Committed {
                    return outcome;
                }
                last = Some(outcome);
                lane.env().yield_now().await;
            }
            last.expect("it was tried")
        });
        let is_refused = matches!(outcome, Outcome::Aborted(abort) if abort.is_retryable());
        assert!(outcome == Outcome::Committed || is_refused, "{}: {outcome:?}", self.identity());
        outcome == Outcome::Committed
    }
}

/// Runs the victim without a death; returns how often it passes each point.
pub(crate) fn rehearse(carrier: Carrier, seed: u64, journals: bool) -> BTreeMap<&'static str, u64> {
    let scene = Scene::open(carrier, seed, "no point", journals);
    scene.run(None);
    scene.cluster.check();
    let mut lane = scene.cluster.lane();
    assert_eq!(scene.read_all(&mut lane), scene.diary.borrow().rows, "{}", scene.identity());
    let before = |name: &str| scene.before.get(name).copied().unwrap_or(0);
    let reached = scene.cluster.world.reached();
    reached.into_iter().map(|(name, count)| (name, count - before(name))).collect()
}

fn kill(carrier: Carrier, seed: u64, point: &str, nth: u64) -> [Held; 3] {
    let scene = Scene::open(carrier, seed, &format!("{point}, arrival {nth}"), false);
    scene.run(Some((point, nth)));
    let database = scene.cluster.compute(3);
    scene.admin_refresh(&database);
    let mut lane = scene.promptly("a lane", database.lane()).expect("there are slots");
    let seen = scene.read_all(&mut lane);
    scene.check_contents(&seen);
    // A handler on a memory server is held too, and goes on; the checks are for structures at rest.
    scene.cluster.world.run_for(HOLD_NS);
    let held = scene.inspect();
    scene.write_around(&held, &seen);
    scene.inspect();
    held
}

fn sweep(carrier: Carrier) {
    for seed in 0..SEEDS {
        let passed = rehearse(carrier, seed, false);
        let names: BTreeSet<&str> = passed.keys().copied().collect();
        assert_eq!(names, all_points(), "seed {seed}: the victim's life misses points");
        let mut dice = Dice(seed ^ 0xdead);
        for (point, count) in passed {
            assert!(count > 0, "seed {seed}: the victim never reaches {point}");
            let held = kill(carrier, seed, point, 1 + dice.below(count));
            let are_held =
                [CommitStep::LocksHeld, CommitStep::ReadsValidated, CommitStep::BuffersReady];
            if are_held.iter().any(|step| step.name() == point) {
                let is_listed = |held: &Held| held.rows + held.structures > 0;
                assert!(held.iter().all(is_listed), "seed {seed}, {point}: {held:?}");
            }
        }
    }
}

#[test]
fn survivors_continue_after_a_death() {
    sweep(Carrier::Card);
}

#[test]
fn survivors_continue_after_a_death_where_memory_is_coherent() {
    sweep(Carrier::Caller);
}

//! A compute server dies, at every failure point and at random moments, and a survivor recovers
//! it: its last transaction is there completely or not at all, and everybody can write its rows.

use crate::killed::{HOLD_NS, Held, SURVIVOR, Scene, VICTIM, live, rehearse};
use crate::random::Dice;
use crate::support::table;
use fabric::{Batch, Env, FabricError, FailurePoint};
use index::hash::HashStep;
use index::tree::TreeStep;
use layout::journal::{ENTRY, Entry, size_of};
use layout::{Storage, VersionWord};
use sim::{Carrier, Fault};
use std::collections::BTreeSet;
use txn::commit::CommitStep;
use txn::step::CollectStep;
use txn::{Database, Recovered, RecoveryError};

/// Number of worlds in which each step of the commit is the last one.
const SEEDS: u64 = 4;
/// Number of worlds in which each step of upkeep is the last one.
const UPKEEP_SEEDS: u64 = 3;
/// Number of worlds with a death at a random moment.
const RANDOM_SEEDS: u64 = 60;
/// Commits of a life, and the longest time from the number of one to its end.
const COMMITS: u64 = 40;
const COMMIT_NS_MAX: u64 = 60_000;
/// Precision with which the number of a commit is waited for.
const STEP_NS: u64 = 500;
/// The identity of a further survivor.
const OTHER_SURVIVOR: u64 = 99;

impl Scene {
    /// Fences the dead victim, and lets everything end that it has posted.
    fn fence(&self) {
        let world = &self.cluster.world;
        world.inject(&Fault::Fence { node: world.compute_node(1) });
        world.run_for(3 * HOLD_NS);
    }

    fn recover(&self) -> Result<Recovered, RecoveryError> {
        let survivor = self.cluster.compute(3).as_member(SURVIVOR);
        self.promptly("recovery", survivor.recover(&BTreeSet::from([VICTIM])))
    }

    /// Kills the victim some time after it has drawn the number of its `nth` commit.
    fn kill_after(&self, nth: u64, then_ns: u64) {
        let world = &self.cluster.world;
        let victim = self.cluster.compute(1).as_member(VICTIM);
        let env = victim.env().clone();
        world.spawn_on(&env, live(victim, self.twins, self.diary.clone()));
        let started = || world.reached().get(CommitStep::Started.name()).copied().unwrap_or(0);
        let before = started();
        while started() < before + nth && !self.diary.borrow().is_over {
            world.run_for(STEP_NS);
        }
        world.run_for(then_ns);
        world.kill(&env);
    }

    /// The locks of commits and those of upkeep that the checks list.
    fn locks<E: Env>(&self, database: &Database<E>) -> Locks {
        let report = self.promptly("the check", database.check());
        let report = report.unwrap_or_else(|error| panic!("{}: {error}", self.identity()));
        assert_eq!(report.errors, Vec::<String>::new(), "{}", self.identity());
        let mut batch = Batch::new();
        let reads: Vec<_> = report.locks.iter().map(|lock| batch.read(lock.word, 1)).collect();
        let batch = self.cluster.admin(database.env().execute(batch)).expect("the servers answer");
        let locks = reads.iter().map(|read| VersionWord::from_word(batch.word(read.at)));
        let of_commits: Vec<_> = locks.filter(|lock| lock.is_lock_of_commit()).collect();
        let vector = self.cluster.admin(database.vector()).expect("it is read");
        // The next owner of a slot must draw no number that a lock has.
        let is_covered = |lock: &VersionWord| lock.counter() <= vector[usize::from(lock.slot().0)];
        assert!(of_commits.iter().all(is_covered), "{}: {of_commits:?}", self.identity());
        Locks { of_commits: of_commits.len(), of_upkeep: reads.len() - of_commits.len() }
    }

    /// Checks a world whose victim was recovered: its last transaction is there or not, and
    /// everybody can write its rows. Returns the locks right after recovery.
    fn check_recovered(&self) -> Locks {
        let database = self.cluster.compute(2);
        self.admin_refresh(&database);
        let mut lane = self.promptly("a lane", database.lane()).expect("there are slots");
        let seen = self.read_all(&mut lane);
        self.check_contents(&seen);
        self.diary.borrow_mut().pending = None;
        let locks = self.locks(&database);
        self.write_around(&[Held::default(); 3], &seen);
        let released = self.promptly("releasing", database.release_stray_locks());
        released.unwrap_or_else(|error| panic!("{}: {error}", self.identity()));
        assert!(self.locks(&database).of_commits == 0, "{}: {locks:?}", self.identity());
        locks
    }
}

/// Locks in a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Locks {
    of_commits: usize,
    of_upkeep: usize,
}

/// Kills the victim at a point in every world, and recovers it. Nobody is stopped by its locks.
fn kill_and_recover(carrier: Carrier, seed: u64, point: &str, nth: u64) -> Recovered {
    let scene = Scene::open(carrier, seed, &format!("{point}, arrival {nth}, recovered"), true);
    scene.run(Some((point, nth)));
    scene.fence();
    let recovered = scene.recover();
    let recovered = recovered.unwrap_or_else(|error| panic!("{}: {error}", scene.identity()));
    let locks = scene.check_recovered();
    assert_eq!(locks, Locks { of_commits: 0, of_upkeep: 0 }, "{}", scene.identity());
    assert!(recovered.slots >= 2, "{}: {recovered:?}", scene.identity());
    recovered
}

fn sweep_commit(carrier: Carrier) {
    for seed in 0..SEEDS {
        let passed = rehearse(carrier, seed, true);
        let mut dice = Dice(seed ^ 0xdead);
        for step in CommitStep::ALL {
            let nth = 1 + dice.below(passed[step.name()]);
            let recovered = kill_and_recover(carrier, seed, step.name(), nth);
            let is_locked =
                [CommitStep::LocksHeld, CommitStep::ReadsValidated, CommitStep::BuffersReady];
            if is_locked.contains(step) {
                assert_eq!((recovered.released, recovered.completed), (1, 0), "{step:?}");
            }
            if *step == CommitStep::VersionsInstalled {
                assert_eq!((recovered.released, recovered.completed), (0, 1), "{step:?}");
            }
        }
    }
}

/// Gives the rows of the last commit that a journal names their words from before, as if a memory
/// server had lost what was written. Returns its slot; `None` if it has changed no row.
async fn lose_rows<E: Env>(database: &Database<E>) -> Result<Option<u16>, FabricError> {
    let env = database.env();
    let vector = database.vector().await.expect("it is read");
    for (at, words) in database.journals().await? {
        let mut batch = Batch::new();
        let read = batch.read(at, words as u32);
        batch = env.execute(batch).await?;
        let words = &batch.words(read)[ENTRY as usize..];
        let size = size_of(words).min(words.len() as u64) as usize;
        let Some(entry) = Entry::read(&words[..size]) else { continue };
        let (number, rows) = (entry.head.number, entry.rows().collect::<Vec<_>>());
        let is_open = number.counter() > vector[usize::from(number.slot().0)];
        if is_open && !rows.is_empty() {
            batch.reset();
            rows.into_iter().for_each(|(row, before)| batch.write_word(row, before));
            env.execute(batch).await?;
            return Ok(Some(number.slot().0));
        }
    }
    Ok(None)
}

/// A world in which the victim has died with rows that are lost, and its slot.
fn with_lost_rows() -> (Scene, u16) {
    let point = CommitStep::VersionsInstalled.name();
    let arrivals = rehearse(Carrier::Card, 0, true)[point];
    let lost = (1..=arrivals).find_map(|nth| {
        let scene = Scene::open(Carrier::Card, 0, "rows that are lost", true);
        scene.run(Some((point, nth)));
        scene.fence();
        let reader = scene.cluster.compute(2);
        // It learns of all slots when it takes one.
        let lane = scene.promptly("a lane", reader.lane()).expect("there are slots");
        let slot = scene.cluster.admin(lose_rows(&reader)).expect("the servers answer");
        drop(lane);
        slot.map(|slot| (scene, slot))
    });
    lost.expect("some commit changes a row")
}

#[test]
fn a_slot_whose_rows_are_lost_is_named_and_the_others_are_recovered() {
    let (scene, slot) = with_lost_rows();
    let lost = |slots| {
        let recovered = Recovered { slots, ..Recovered::default() };
        Err(RecoveryError::Lost { slots: vec![slot], recovered })
    };
    assert_eq!(scene.recover(), lost(1), "the victim's other lane is recovered");
    let survivor = scene.cluster.compute(3);
    let owners = scene.cluster.admin(survivor.slot_owners()).expect("the servers answer");
    assert!(!owners.contains(&VICTIM) && owners.contains(&SURVIVOR), "{owners:?}");
    assert_eq!(scene.recover(), lost(0), "it is named again");
    // Nobody waits for its lane.
    let made = survivor.create_table(table("passing", Storage::Tree, Vec::new()));
    scene.promptly("a new table", made).expect("created");
    let dropped = survivor.drop_table("passing");
    scene.promptly("the end of a table", dropped).expect("all lanes know that it is gone");
}

#[test]
fn commits_of_the_dead_are_decided() {
    sweep_commit(Carrier::Card);
}

#[test]
fn commits_of_the_dead_are_decided_where_memory_is_coherent() {
    sweep_commit(Carrier::Caller);
}

fn sweep_upkeep(carrier: Carrier) {
    let hash = HashStep::ALL.iter().map(|step| step.name());
    let tree = [
        TreeStep::LeafLocked,
        TreeStep::RightWritten,
        TreeStep::LeftRewritten,
        TreeStep::NeighboursLocked,
        TreeStep::RightTakenOver,
    ];
    let tree = tree.iter().map(|step| step.name());
    let collect = CollectStep::ALL.iter().map(|step| step.name());
    let points: Vec<&str> = hash.chain(tree).chain(collect).collect();
    for seed in 0..UPKEEP_SEEDS {
        let passed = rehearse(carrier, seed, true);
        let mut dice = Dice(seed ^ 0xdeed);
        for point in &points {
            kill_and_recover(carrier, seed, point, 1 + dice.below(passed[point]));
        }
    }
}

#[test]
fn upkeep_of_the_dead_is_completed_or_undone() {
    sweep_upkeep(Carrier::Card);
}

#[test]
fn upkeep_of_the_dead_is_completed_or_undone_where_memory_is_coherent() {
    sweep_upkeep(Carrier::Caller);
}

#[test]
fn a_death_at_any_moment_leaves_whole_transactions() {
    let mut met = (0, 0, 0);
    for seed in 0..RANDOM_SEEDS {
        let carrier = [Carrier::Card, Carrier::Caller][seed as usize % 2];
        let scene = Scene::open(carrier, seed, "a random moment, recovered", true);
        let mut dice = Dice(seed);
        scene.kill_after(1 + dice.below(COMMITS), dice.below(COMMIT_NS_MAX));
        scene.fence();
        let recovered = scene.recover();
        let recovered = recovered.unwrap_or_else(|error| panic!("{}: {error}", scene.identity()));
        let locks = scene.check_recovered();
        met.0 += recovered.completed;
        met.1 += recovered.released;
        met.2 += usize::from(locks.of_commits > 0);
        assert_eq!(locks.of_upkeep, 0, "{}", scene.identity());
    }
    let (completed, released, stray) = met;
    assert!(completed > 0 && released > 0 && stray > 0, "the worlds are tame: {met:?}");
}

#[test]
fn a_survivor_that_dies_is_recovered_by_another() {
    for seed in 0..SEEDS {
        let scene = Scene::open(Carrier::Card, seed, "a survivor dies", true);
        scene.run(Some((CommitStep::LocksHeld.name(), 3 + seed)));
        scene.fence();
        let world = &scene.cluster.world;
        let survivor = scene.cluster.compute(3).as_member(SURVIVOR);
        let env = survivor.env().clone();
        world.spawn_on(&env, async move {
            let _ = survivor.recover(&BTreeSet::from([VICTIM])).await;
        });
        world.run_for(5_000 * (1 + seed));
        world.kill(&env);
        world.inject(&Fault::Fence { node: world.compute_node(3) });
        world.run_for(3 * HOLD_NS);
        let other = scene.cluster.compute(2).as_member(OTHER_SURVIVOR);
        let owners = scene.promptly("the owners", other.slot_owners()).expect("readable");
        let dead: BTreeSet<u64> =
            owners.into_iter().filter(|owner| [VICTIM, SURVIVOR].contains(owner)).collect();
        let recovered = scene.promptly("recovery", other.recover(&dead));
        recovered.unwrap_or_else(|error| panic!("{}: {error}", scene.identity()));
        let locks = scene.check_recovered();
        assert_eq!(locks, Locks { of_commits: 0, of_upkeep: 0 }, "{}", scene.identity());
    }
}

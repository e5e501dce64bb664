//! A compute server dies with locks: its heartbeats stop, a memory server's detector evicts it, and
//! others write its rows. All of that takes less than 50 ms.

use crate::killed::{HOLD_NS, SURVIVOR, Scene, VICTIM, live};
use crate::support::history::Cell;
use crate::support::twins::{Changes, Twins};
use fabric::{Env, FailurePoint, Reply, Service, ServiceId};
use layout::NodeId;
use membership::detector::machine::{Machine, Rule, Step, Timing};
use sim::{Carrier, Endpoint, Fault};
use std::cell::Cell as StdCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use txn::Outcome;
use txn::commit::CommitStep;

const MS: u64 = 1_000_000;
/// As over RDMA.
const TIMING: Timing = Timing { lease_ns: 10 * MS };
/// A service that no other part of the engine has.
const HEARTBEAT: ServiceId = ServiceId(900);
/// Interval at which the memory server's detector looks.
const LOOK_NS: u64 = MS / 4;
/// Time for all memory servers to close the queue pairs of the dead.
const FENCE_NS: u64 = 5 * MS;
const WRITABLE_NS: u64 = 50 * MS;
const SEEDS: u64 = 6;

/// Counts the heartbeats of the victim.
#[derive(Default)]
struct Heartbeats(AtomicU64);

impl Service<Endpoint> for Heartbeats {
    fn handle<'a>(&'a self, _env: &'a Endpoint, _request: &'a [u8]) -> Reply<'a> {
        self.0.fetch_add(1, Relaxed);
        Box::pin(async { Ok(Vec::new()) })
    }
}

async fn beat<E: Env>(env: E) {
    loop {
        let sender = env.clone();
        env.spawn(async move {
            let _ = sender.call(NodeId(0), HEARTBEAT, Vec::new()).await;
        });
        env.sleep_ns(TIMING.heartbeat_ns()).await;
    }
}

/// Ends when the victim is evicted.
async fn observe(env: Endpoint, heartbeats: Arc<Heartbeats>, is_evicted: Rc<StdCell<bool>>) {
    let mut machine = Machine::new(TIMING, env.now_ns());
    machine.watch(VICTIM, Rule::Lease);
    let mut heard = 0;
    while !is_evicted.get() {
        machine.advance(env.now_ns());
        let count = heartbeats.0.load(Relaxed);
        if count > heard {
            heard = count;
            machine.heard(VICTIM);
        }
        machine.judge();
        let steps = machine.steps();
        is_evicted.set(steps.iter().any(|step| matches!(step, Step::Evict { .. })));
        env.sleep_ns(LOOK_NS).await;
    }
}

/// Kills the victim with its locks, and returns the time until its rows are written by others.
fn writable_after(carrier: Carrier, seed: u64, step: CommitStep) -> u64 {
    let scene = Scene::open(carrier, seed, "detected", true);
    let world = &scene.cluster.world;
    let heartbeats = Arc::<Heartbeats>::default();
    world.register(NodeId(0), HEARTBEAT, heartbeats.clone());
    let victim = scene.cluster.compute(1).as_member(VICTIM);
    let env = victim.env().clone();
    let nth = world.reached().get(step.name()).copied().unwrap_or(0) + 3 + seed;
    world.hold_at(step.name(), nth, HOLD_NS);
    world.spawn_on(&env, live(victim, scene.twins, scene.diary.clone()));
    world.spawn_on(&env, beat(env.clone()));
    let is_evicted = Rc::<StdCell<bool>>::default();
    let observer = world.service_endpoint(NodeId(0));
    world.spawn_on(&observer.clone(), observe(observer, heartbeats, is_evicted.clone()));
    while world.reached().get(step.name()).is_none_or(|&reached| reached < nth) {
        world.run_for(MS / 10);
    }
    assert!(!is_evicted.get(), "{}", scene.identity());
    let died_ns = world.now_ns();
    world.kill(&env);
    while !is_evicted.get() {
        world.run_for(MS / 10);
        assert!(world.now_ns() < died_ns + WRITABLE_NS, "{}", scene.identity());
    }
    world.inject(&Fault::Fence { node: world.compute_node(1) });
    world.run_for(FENCE_NS);
    let survivor = scene.cluster.compute(3).as_member(SURVIVOR);
    let recovered = scene.promptly("recovery", survivor.recover(&BTreeSet::from([VICTIM])));
    recovered.unwrap_or_else(|error| panic!("{}: {error}", scene.identity()));
    let database = scene.cluster.compute(2);
    scene.admin_refresh(&database);
    let mut lane = scene.promptly("a lane", database.lane()).expect("there are slots");
    let locked = scene.diary.borrow().pending.clone().expect("it was committing");
    for table in scene.twins.tables {
        for &id in locked.keys() {
            let changes = Changes::from([(id, Some(Cell { value: 5, group: 0 }))]);
            let written = Twins::change_one(&mut lane, table, &changes);
            let outcome = scene.promptly("a write", written);
            assert_eq!(outcome, Outcome::Committed, "{}: row {id}", scene.identity());
        }
    }
    world.now_ns() - died_ns
}

#[test]
fn rows_of_the_dead_are_writable_in_fifty_simulated_milliseconds() {
    let mut slowest_ns = 0;
    for carrier in [Carrier::Card, Carrier::Caller] {
        for step in [CommitStep::LocksHeld, CommitStep::VersionsInstalled] {
            let taken_ns = (0..SEEDS).map(|seed| writable_after(carrier, seed, step));
            slowest_ns = taken_ns.max().unwrap_or_default().max(slowest_ns);
        }
    }
    println!("all rows of the dead were written at most {slowest_ns} simulated ns after the death");
    assert!(slowest_ns < WRITABLE_NS, "{slowest_ns} ns");
}

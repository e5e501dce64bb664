//! The detector's state machine in simulated worlds: heartbeats are words in a memory server's
//! region, written one-sided, and the membership record is a word that observers swap.

use fabric::{Batch, Env, Fabric, Span};
use layout::{GlobalPtr, RegionId};
use membership::detector::machine::{Machine, Rule, Step, Timing};
use sim::{Endpoint, Fault, Interval, SimConfig, World};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A lease of 10 ms, as over RDMA.
const TIMING: Timing = Timing { lease_ns: 10 * MS };
const MS: u64 = 1_000_000;
const MEMBERS: u16 = 4;
const OBSERVERS: u16 = 2;
/// Observers look more often than members beat, so that they lose no time.
const LOOK_NS: u64 = MS / 4;
/// The record counts epochs above the bits of its members.
const EPOCH: u64 = 1 << 32;
const SEEDS: u64 = 40;

fn word(index: u64) -> GlobalPtr {
    GlobalPtr::new(RegionId(0), 4096 + 8 * index)
}

fn beat_word(member: u64) -> GlobalPtr {
    word(1 + member)
}

fn record_word() -> GlobalPtr {
    word(0)
}

/// The results of a world.
#[derive(Default)]
struct Diary {
    /// Members that observers have evicted, with the times.
    evicted: Vec<(u64, u64)>,
    /// Swaps that came too late.
    lost_swaps: u64,
    suspicions: u64,
}

struct Scene {
    world: World,
    members: Vec<Endpoint>,
    observers: Vec<Endpoint>,
    diary: Rc<RefCell<Diary>>,
}

impl Scene {
    fn start(config: SimConfig) -> Self {
        let compute_nodes = MEMBERS + OBSERVERS;
        let config = SimConfig { compute_nodes, ..config.with_servers(&[2048]) };
        let world = World::new(config);
        world.poke(record_word(), EPOCH | ((1 << MEMBERS) - 1));
        let endpoint = |index| world.endpoint(world.compute_node(index));
        let members: Vec<Endpoint> = (0..MEMBERS).map(endpoint).collect();
        let observers: Vec<Endpoint> = (MEMBERS..compute_nodes).map(endpoint).collect();
        let diary = Rc::<RefCell<Diary>>::default();
        for (member, env) in (0..).zip(&members) {
            world.spawn_on(env, beat(env.clone(), member));
        }
        for env in &observers {
            world.spawn_on(env, observe(env.clone(), diary.clone()));
        }
        Self { world, members, observers, diary }
    }

    /// The members of the record, as bits.
    fn record(&self) -> (u64, u64) {
        let record = self.world.peek(record_word());
        (record / EPOCH, record % EPOCH)
    }

    fn evicted(&self) -> Vec<(u64, u64)> {
        self.diary.borrow().evicted.clone()
    }
}

/// Writes heartbeats, each without waiting for the one before; ends when the record says that this
/// is no member any more.
async fn beat(env: Endpoint, member: u64) {
    for count in 1.. {
        let writer = env.clone();
        env.spawn(async move {
            let mut batch = Batch::new();
            batch.write_word(beat_word(member), count);
            // A lost heartbeat is what leases are long for.
            let _ = writer.execute(batch).await;
        });
        let mut batch = Batch::new();
        let span = batch.read(record_word(), 1);
        if let Ok(batch) = env.execute(batch).await
            && batch.word(span.at) & (1 << member) == 0
        {
            return;
        }
        env.sleep_ns(TIMING.heartbeat_ns()).await;
    }
}

async fn observe(env: Endpoint, diary: Rc<RefCell<Diary>>) {
    let mut machine = Machine::new(TIMING, env.now_ns());
    let mut heard: BTreeMap<u64, u64> = (0..u64::from(MEMBERS)).map(|member| (member, 0)).collect();
    heard.keys().for_each(|&member| machine.watch(member, Rule::Lease));
    loop {
        let seen = read(&env).await;
        machine.advance(env.now_ns());
        if let Some((record, beats)) = seen {
            machine.retain(|member| record & (1 << member) != 0);
            for (member, count) in beats {
                if count > heard[&member] {
                    heard.insert(member, count);
                    machine.heard(member);
                }
            }
        }
        machine.judge();
        for step in machine.steps() {
            match step {
                Step::Suspect { .. } => diary.borrow_mut().suspicions += 1,
                // The next look is the answer.
                Step::Probe { .. } | Step::Trust { .. } => {}
                Step::Evict { member, .. } => match evict(&env, member).await {
                    Some(true) => diary.borrow_mut().evicted.push((member, env.now_ns())),
                    Some(false) => diary.borrow_mut().lost_swaps += 1,
                    None => machine.undecided(member),
                },
            }
        }
        env.sleep_ns(LOOK_NS).await;
    }
}

/// The record, and the members' counts.
async fn read(env: &Endpoint) -> Option<(u64, Vec<(u64, u64)>)> {
    let mut batch = Batch::new();
    let record = batch.read(record_word(), 1);
    let beats: Vec<(u64, Span)> =
        (0..u64::from(MEMBERS)).map(|member| (member, batch.read(beat_word(member), 1))).collect();
    let batch = env.execute(batch).await.ok()?;
    let beats = beats.into_iter().map(|(member, span)| (member, batch.word(span.at)));
    Some((batch.word(record.at), beats.collect()))
}

/// Swaps the record for one without the member; false if somebody else has done so.
async fn evict(env: &Endpoint, member: u64) -> Option<bool> {
    loop {
        let (record, _) = read(env).await?;
        if record & (1 << member) == 0 {
            return Some(false);
        }
        let mut batch = Batch::new();
        let swap = batch.compare_and_swap(record_word(), record, (record & !(1 << member)) + EPOCH);
        if env.execute(batch).await.ok()?.swapped(swap) {
            return Some(true);
        }
    }
}

fn hostile(seed: u64, name: &str) -> SimConfig {
    SimConfig::hostile(seed).named(name)
}

#[test]
fn a_dead_member_is_evicted_once_within_a_lease_and_its_probe() {
    let (mut slowest_ns, mut lost_swaps) = (0, 0);
    for seed in 0..SEEDS {
        let scene = Scene::start(hostile(seed, "a member dies"));
        scene.world.run_for(30 * MS + 137_000 * seed);
        assert_eq!(scene.evicted(), [], "{}", scene.world.identity());
        let died_ns = scene.world.now_ns();
        scene.world.kill(&scene.members[1]);
        scene.world.run_for(50 * MS);
        let evicted = scene.evicted();
        let [(1, evicted_ns)] = evicted[..] else {
            panic!("{}: {evicted:?}", scene.world.identity());
        };
        assert_eq!(scene.record(), (2, 0b1101), "{}", scene.world.identity());
        slowest_ns = slowest_ns.max(evicted_ns - died_ns);
        lost_swaps += scene.diary.borrow().lost_swaps;
    }
    println!("from a death to the epoch without the dead: at most {slowest_ns} simulated ns");
    assert!(slowest_ns < TIMING.lease_ns + TIMING.probe_ns() + 2 * MS, "{slowest_ns} ns");
    assert!(lost_swaps > 0, "two observers never decide at once");
}

#[test]
fn nobody_is_evicted_for_late_and_lost_heartbeats_or_for_an_observers_pauses_and_clock() {
    let mut suspicions = 0;
    for seed in 0..SEEDS {
        let scene = Scene::start(hostile(seed, "trouble without a death"));
        let world = &scene.world;
        let server = layout::NodeId(0);
        for round in 0..20 {
            let member = world.compute_node((seed + round) as u16 % MEMBERS);
            let observer = world.compute_node(MEMBERS + (round % 2) as u16);
            // A heartbeat is lost, and the next one is late: less than a lease passes in all.
            let delay_ns = Interval::new(0, TIMING.lease_ns / 3);
            let lasts_ns = 5 * MS;
            world.inject(&Fault::LinkDelay { from: member, to: server, delay_ns, lasts_ns });
            world.inject(&Fault::ConnectionLoss { from: member, to: server });
            world.inject(&Fault::Pause { node: observer, lasts_ns: 5 * TIMING.lease_ns });
            world.run_for(2 * MS);
            let by_ns = TIMING.lease_ns * (1 + round);
            world.inject(&Fault::ClockJump { node: observer, by_ns });
            world.run_for(60 * MS);
        }
        assert_eq!(scene.evicted(), [], "{}", world.identity());
        assert_eq!(scene.record(), (1, 0b1111), "{}", world.identity());
        suspicions += scene.diary.borrow().suspicions;
        assert!(scene.observers.iter().all(|observer| !observer.is_killed()));
    }
    println!("{suspicions} suspicions, no eviction");
}

#[test]
fn a_member_that_is_paused_for_longer_is_evicted_and_finds_itself_so() {
    for seed in 0..SEEDS {
        let scene = Scene::start(hostile(seed, "a pause"));
        let world = &scene.world;
        world.run_for(30 * MS);
        let paused = Fault::Pause { node: world.compute_node(2), lasts_ns: 40 * MS };
        world.inject(&paused);
        world.run_for(39 * MS);
        let evicted = scene.evicted();
        assert!(matches!(evicted[..], [(2, _)]), "{}: {evicted:?}", world.identity());
        world.run_for(20 * MS);
        let last = world.peek(beat_word(2));
        world.run_for(50 * MS);
        assert_eq!(world.peek(beat_word(2)), last, "it has stopped: {}", world.identity());
        assert_eq!(scene.record(), (2, 0b1011), "{}", world.identity());
    }
}

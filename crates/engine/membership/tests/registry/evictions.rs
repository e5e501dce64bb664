//! Members that die or stand still, with real processes and heartbeats.

use crate::child::{Process, secret};
use crate::world::{PATIENCE, World, await_map, client, join, now, sleep_ms};
use layout::NodeId;
use membership::detector::{Evidence, Port};
use membership::{Addresses, ClusterMap, Detector, Eviction, Follower, Lease, Member, Registry};
use rustix::process::Signal;
use std::sync::Barrier;
use std::time::Duration;

/// A memory server with a detector, as far as a registry sees it.
struct Observer {
    registry: Registry,
    lease: Lease,
    detector: Detector,
    _follower: Follower,
}

impl Observer {
    fn start(world: &World, number: u16) -> Self {
        let registry = world.open();
        let port = Port::bind("127.0.0.1:0").expect("some port is free");
        let heartbeats = Some(port.address().expect("it is bound"));
        let addresses = Addresses { heartbeats, ..Addresses::default() };
        let lease = join(&registry, Member::memory_server(NodeId(number), 1 << 20, addresses));
        let map = registry.map().expect("it answers");
        let place = (Some(port), &map);
        let detector = Detector::start(&world.cluster, &secret(), &registry, &lease, place);
        let detector = detector.expect("a thread starts");
        let input = detector.input();
        let note = move |map: &ClusterMap| input.note(map);
        // Slow, so that only the detector's wake-ups are fast.
        let follower = registry.follow(Duration::from_secs(1), note).expect("a thread starts");
        detector.wake(follower.waker());
        Self { registry, lease, detector, _follower: follower }
    }

    fn sees(&self, number: u16) -> bool {
        let view = self.detector.view();
        let is_it = |one: &membership::detector::Sighting| {
            !one.is_memory_server && one.number == number && one.has_spoken
        };
        view.members().iter().any(is_it)
    }

    fn await_sight(&self, number: u16) {
        let deadline = now() + PATIENCE;
        while !self.sees(number) {
            assert!(now() < deadline, "no heartbeat of compute server {number}");
            sleep_ms(5);
        }
    }
}

fn identity(said: &str) -> u64 {
    said.strip_prefix("joined ").and_then(|id| id.parse().ok()).expect("it joined")
}

/// A compute process that sends heartbeats to these observers.
fn compute(world: &World, observers: &[Observer]) -> (Process, u64) {
    let mut process = Process::start(&world.path(), None);
    let identity = identity(&process.line());
    observers.iter().for_each(|observer| observer.await_sight(1));
    (process, identity)
}

pub fn a_killed_process_is_evicted_at_once(world: &World) {
    let observers = [Observer::start(world, 0)];
    let (mut process, identity) = compute(world, &observers);
    process.kill();
    let start = now();
    let registry = &observers[0].registry;
    await_map(registry, |map| map.member(identity).is_none());
    let took = start.elapsed();
    let kind = world.cluster.registry.kind;
    println!("{kind:?}: {took:?} from the death to the epoch without the dead");
    assert!(took < Duration::from_millis(500), "{took:?}");
}

pub fn a_suspended_process_is_evicted_after_its_lease_and_learns_why(world: &World) {
    let observers = [Observer::start(world, 0), Observer::start(world, 1)];
    let (mut process, identity) = compute(world, &observers);
    let before = observers[0].registry.map().expect("it answers");
    process.signal(Signal::STOP);
    let start = now();
    let after = await_map(&observers[0].registry, |map| map.member(identity).is_none());
    let (took, lease) = (start.elapsed(), world.cluster.detector_lease());
    assert!(took > lease && took < 10 * lease, "{took:?}");
    // Both observers decide; one swap wins.
    sleep_ms(lease.as_millis() as u64);
    assert_eq!(observers[0].registry.map().expect("it answers"), after);
    assert_eq!(after.epoch, before.epoch + 1);
    let evictions = |one: &Observer| one.detector.view().evictions();
    assert_eq!(observers.iter().map(evictions).sum::<u64>(), 1);
    let eviction = after.eviction(identity).expect("the record says why");
    assert_eq!((eviction.evidence, eviction.epoch), (Evidence::Silence, after.epoch));
    process.signal(Signal::CONT);
    let resumed = now();
    let said = process.line();
    println!("{:?} from the resumption to the loss: {said}", resumed.elapsed());
    assert_eq!(said, format!("lost: {eviction}"));
    assert!(said.contains("was evicted in epoch") && said.contains("no heartbeat came for"));
    assert!(resumed.elapsed() < Duration::from_secs(1), "{:?}", resumed.elapsed());
    assert!(observers.iter().all(|one| !one.lease.is_lost()));
}

pub fn a_suspended_memory_server_is_suspected_and_stays(world: &World) {
    let observer = Observer::start(world, 0);
    let mut process = Process::start(&world.path(), Some(1));
    let identity = identity(&process.line());
    let suspicions = || observer.detector.view().suspicions();
    let await_that = |is_it: &dyn Fn() -> bool| {
        let deadline = now() + PATIENCE;
        while !is_it() {
            assert!(now() < deadline, "{:?}", observer.detector.view());
            sleep_ms(5);
        }
    };
    let members = || observer.detector.view().members();
    await_that(&|| members().iter().any(|one| one.number == 1 && one.has_spoken));
    process.signal(Signal::STOP);
    await_that(&|| suspicions() == 1);
    sleep_ms(3 * world.cluster.detector_lease().as_millis() as u64);
    assert!(observer.registry.map().expect("it answers").member(identity).is_some());
    process.signal(Signal::CONT);
    await_that(&|| observer.detector.view().withdrawn() == 1);
    // Its death is another matter.
    process.kill();
    await_map(&observer.registry, |map| map.member(identity).is_none());
}

pub fn of_many_evictions_one_succeeds(world: &World) {
    let registry = world.open();
    let lease = join(&registry, client());
    let observer = join(&registry, Member::memory_server(NodeId(0), 1 << 20, Addresses::default()));
    let by = observer.member().identity;
    let before = registry.map().expect("it answers").epoch;
    let eviction = Eviction {
        identity: lease.member().identity,
        member: lease.member().to_string(),
        epoch: 0,
        by: "memory server 0".to_owned(),
        evidence: Evidence::Silence,
        silent_ms: 1250,
    };
    let barrier = Barrier::new(6);
    let outcomes: Vec<bool> = std::thread::scope(|scope| {
        let racers = [(); 6].map(|()| {
            scope.spawn(|| {
                let registry = world.open();
                barrier.wait();
                registry.evict(&eviction, by).expect("it answers")
            })
        });
        racers.into_iter().map(|racer| racer.join().expect("it does not panic")).collect()
    });
    assert_eq!(outcomes.iter().filter(|is_ours| **is_ours).count(), 1, "{outcomes:?}");
    let map = registry.map().expect("it answers");
    let recorded = Eviction { epoch: before + 1, ..eviction.clone() };
    assert_eq!((map.epoch, &map.evicted), (before + 1, &vec![recorded]));
    assert!(map.members.iter().all(|one| one.identity == by) && map.left.is_empty());
    // Without heartbeats it learns of that when it renews its lease.
    let deadline = now() + PATIENCE;
    while !lease.is_lost() {
        assert!(now() < deadline, "nobody told it");
        sleep_ms(10);
    }
    assert_eq!(lease.clock().eviction(), map.evicted.first());
    let successor = join(&registry, client());
    let members = [observer.member().clone(), successor.member().clone()];
    assert_eq!(registry.map().expect("it answers").members, members);
}

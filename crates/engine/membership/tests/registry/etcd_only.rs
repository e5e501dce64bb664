//! Failures of etcd, and of the network to it.

use crate::suite::root;
use crate::wire::Wire;
use crate::world::{
    PATIENCE, World, await_map, client, join, memory_server, now, refusal, sleep_ms,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use etcd_process::{free_port, pem};
use membership::cluster_file::{RegistryKind, TlsSettings};
use membership::{ClusterFile, Lease, Registry};
use rustix::process::Signal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Time bound of any single request to a registry that does not respond.
const REQUEST_BOUND: Duration = Duration::from_secs(6);

fn await_loss(lease: &Lease, within: Duration) {
    let start = now();
    while !lease.is_lost() {
        assert!(start.elapsed() < within, "after {within:?} nobody told it");
        sleep_ms(5);
    }
}

#[test]
fn a_killed_etcd_costs_the_lease_and_comes_back_with_the_epoch() {
    let Some(mut world) = World::with_etcd() else { return };
    let registry = world.open();
    let lease = join(&registry, memory_server(0));
    registry.bump_epoch().expect("it answers");
    let before = registry.map().expect("it answers");
    world.etcd().kill();
    await_loss(&lease, world.lease_time());
    let start = now();
    let sentence = refusal(registry.map());
    assert!(start.elapsed() < REQUEST_BOUND, "{:?}", start.elapsed());
    assert!(sentence.contains(&world.cluster.registry.endpoints[0]), "{sentence}");
    assert!(sentence.contains("cannot be reached") && sentence.contains("refused"), "{sentence}");
    let start = now();
    refusal(registry.join(client(), Duration::ZERO));
    refusal(registry.bump_epoch());
    assert!(start.elapsed() < 2 * REQUEST_BOUND, "{:?}", start.elapsed());
    world.etcd().restart();
    // A lost lease stays lost: others may have acted on it.
    let next = registry.join(memory_server(0), PATIENCE).expect("the old lease ends");
    assert!(lease.is_lost() && !next.is_lost());
    let after = registry.map().expect("it answers");
    assert_eq!(after.members, [next.member().clone()]);
    assert!(after.epoch > before.epoch, "{} after {}", after.epoch, before.epoch);
    drop(lease);
}

#[test]
fn a_short_absence_of_etcd_costs_nothing() {
    let Some(mut world) = World::with_etcd() else { return };
    world.cluster.lease_seconds = 6;
    let registry = world.open();
    let lease = join(&registry, memory_server(0));
    let epoch = Arc::new(AtomicU64::new(0));
    let told = epoch.clone();
    let _follower = registry
        .follow(Duration::from_millis(100), move |map| told.store(map.epoch, Ordering::SeqCst))
        .expect("a thread starts");
    world.etcd().kill();
    world.etcd().restart();
    let newest = registry.bump_epoch().expect("it answers");
    // Longer than the lease: it has been renewed.
    sleep_ms(7000);
    assert!(!lease.is_lost());
    assert_eq!(epoch.load(Ordering::SeqCst), newest, "followers go on");
    assert_eq!(registry.map().expect("it answers").members, [lease.member().clone()]);
}

#[test]
fn a_hanging_etcd_blocks_nobody() {
    let Some(mut world) = World::with_etcd() else { return };
    let registry = world.open();
    let lease = join(&registry, memory_server(0));
    world.etcd().signal(Signal::STOP);
    await_loss(&lease, world.lease_time());
    let start = now();
    let sentence = refusal(registry.map());
    assert!(sentence.contains("cannot be reached"), "{sentence}");
    let left = lease.leave();
    assert!(left.is_err());
    assert!(start.elapsed() < 3 * REQUEST_BOUND, "{:?}", start.elapsed());
}

/// The registry as seen through a faulty wire.
fn distant(world: &mut World) -> (Wire, Registry) {
    let wire = Wire::to(world.etcd());
    let mut cluster = world.cluster.clone();
    cluster.registry.endpoints = vec![format!("http://127.0.0.1:{}", wire.port)];
    (wire, Registry::open(&cluster).expect("it answers"))
}

#[test]
fn changes_whose_answer_is_lost_happen_once() {
    let Some(mut world) = World::with_etcd() else { return };
    let (wire, distant) = distant(&mut world);
    let registry = world.open();
    let lose_answer = || wire.lose_answer_to("/v3/kv/txn");
    lose_answer();
    let lease = join(&distant, memory_server(0));
    assert!(wire.has_lost_answer());
    let map = registry.map().expect("it answers");
    assert_eq!((map.epoch, &map.members[..]), (1, &[lease.member().clone()][..]));
    lose_answer();
    let root = root(&[&lease], 4096);
    assert_eq!(distant.set_root(&root).as_ref(), Ok(&root));
    assert!(wire.has_lost_answer());
    lose_answer();
    let epoch = distant.bump_epoch().expect("it answers");
    assert!(wire.has_lost_answer());
    assert_eq!(registry.map().expect("it answers").epoch, epoch);
    lose_answer();
    lease.leave().expect("it may leave");
    assert!(wire.has_lost_answer());
    let map = registry.map().expect("it answers");
    assert_eq!((map.epoch, map.members), (epoch + 1, Vec::new()));
}

#[test]
fn who_is_cut_off_knows_it_before_the_others() {
    let Some(mut world) = World::with_etcd() else { return };
    let (wire, distant) = distant(&mut world);
    let lease = join(&distant, memory_server(0));
    let others = world.open();
    let _other = join(&others, client());
    sleep_ms(500);
    assert!(!lease.is_lost());
    wire.cut();
    let identity = lease.member().identity;
    // The map is read before the lease is checked, so a map without the member requires a lost
    // lease.
    await_map(&others, |map| {
        let is_known_dead = map.member(identity).is_none();
        assert!(!is_known_dead || lease.is_lost(), "the others knew first");
        is_known_dead
    });
}

#[test]
fn an_entry_that_is_removed_costs_the_lease() {
    let Some(mut world) = World::with_etcd() else { return };
    let registry = world.open();
    let lease = join(&registry, memory_server(0));
    // Someone deletes keys under the cluster's prefix.
    let key = format!("{}/{}/memory-0", world.cluster.registry.prefix, world.cluster.id);
    let body = format!("{{\"key\":\"{}\"}}", BASE64.encode(key));
    let answer = world.etcd().post("/v3/kv/deleterange", &body);
    assert!(answer.contains("\"deleted\":\"1\""), "{answer}");
    // The next renewal notices: without it the lease would still last long.
    await_loss(&lease, world.lease_time() * 2 / 3);
    assert_eq!(registry.map().expect("it answers").members, []);
}

#[test]
fn an_etcd_that_is_not_there_is_named_with_its_address() {
    let mut cluster = World::file().cluster.clone();
    cluster.registry.kind = RegistryKind::Etcd;
    let endpoints: Vec<String> =
        (0..2).map(|_| format!("http://127.0.0.1:{}", free_port())).collect();
    cluster.registry.endpoints = endpoints.clone();
    let start = now();
    let sentence = refusal(Registry::open(&cluster).map(|_| ()));
    assert!(start.elapsed() < REQUEST_BOUND, "{:?}", start.elapsed());
    let words = format!("the registry at {}, {} cannot be reached", endpoints[0], endpoints[1]);
    assert!(sentence.starts_with(&words), "{sentence}");
    assert!(sentence.contains("`registry.endpoints`"), "{sentence}");
}

#[test]
fn one_of_several_endpoints_is_enough() {
    let Some(world) = World::with_etcd() else { return };
    let mut cluster = world.cluster.clone();
    cluster.registry.endpoints.insert(0, format!("http://127.0.0.1:{}", free_port()));
    let registry = Registry::open(&cluster).expect("one answers");
    let lease = join(&registry, memory_server(0));
    sleep_ms(2500);
    assert!(!lease.is_lost());
}

#[test]
fn two_clusters_share_an_etcd() {
    let Some(world) = World::with_etcd() else { return };
    let other = ClusterFile { id: membership::ClusterId::draw(), ..world.cluster.clone() };
    let (ours, theirs) = (world.open(), Registry::open(&other).expect("it answers"));
    let lease = join(&ours, memory_server(0));
    let their_lease = join(&theirs, memory_server(0));
    assert_eq!(ours.map().expect("it answers").members, [lease.member().clone()]);
    assert_eq!(theirs.map().expect("it answers").members, [their_lease.member().clone()]);
    assert_eq!(theirs.bump_epoch(), Ok(2));
    assert_eq!(ours.map().expect("it answers").epoch, 1);
}

#[test]
fn an_etcd_that_wants_certificates_is_reached_with_one_and_not_without() {
    let Some(world) = World::with_etcd_over_tls() else { return };
    let sentence = refusal(Registry::open(&world.cluster).map(|_| ()));
    assert!(sentence.contains("write `registry.tls`"), "{sentence}");
    let with = |ca: &str, certificate: &str| {
        let key = pem("member.key");
        let mut cluster = world.cluster.clone();
        cluster.tls = Some(TlsSettings { ca: pem(ca), certificate: pem(certificate), key });
        cluster
    };
    let registry = Registry::open(&with("ca.pem", "member.pem")).expect("it answers");
    let lease = join(&registry, memory_server(0));
    assert_eq!(registry.map().expect("it answers").members, [lease.member().clone()]);
    // The registry's own settings take precedence.
    let mut own = with("stranger.pem", "member.pem");
    own.registry.tls = with("ca.pem", "member.pem").tls;
    Registry::open(&own).expect("it answers");
    let sentence = refusal(Registry::open(&with("stranger.pem", "member.pem")).map(|_| ()));
    assert!(
        sentence.contains("cannot be reached") && sentence.contains("certificate"),
        "{sentence}"
    );
    let sentence = refusal(Registry::open(&with("none.pem", "member.pem")).map(|_| ()));
    assert!(sentence.contains("none.pem cannot be used: No such file"), "{sentence}");
    let sentence = refusal(Registry::open(&with("member.key", "member.pem")).map(|_| ()));
    assert!(sentence.contains("it contains no PEM certificate"), "{sentence}");
}

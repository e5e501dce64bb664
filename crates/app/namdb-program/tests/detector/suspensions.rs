//! Processes that stand still for longer than a lease (SIGSTOP), and continue.
#![allow(clippy::disallowed_methods, reason = "processes are hurt at moments of the real clock")]

use super::peer::{Counter, Peer, count_up};
use super::site::{Place, Site};
use membership::detector::Evidence;
use namdb::RecordTable;
use rustix::process::Signal;
use std::time::{Duration, Instant};

const LEASE: &str = "[detector]\nlease_ms = 500\n";

#[test]
fn a_suspended_compute_server_is_evicted_and_says_so_when_it_continues() {
    let Some(site) = Site::start(Place::Etcd, "tcp", LEASE) else { return };
    let mut compute = site.compute_server();
    let victim = site.map().compute_servers().next().expect("it has joined").identity;
    compute.signal(Signal::STOP);
    let start = Instant::now();
    let map = site.await_map("an eviction", |map| map.member(victim).is_none());
    println!("evicted {:?} after it was suspended", start.elapsed());
    let eviction = map.eviction(victim).expect("the record says why");
    assert_eq!(eviction.evidence, Evidence::Silence);
    // It is over when its process continues, whether or not anybody needs its number.
    compute.signal(Signal::CONT);
    let resumed = Instant::now();
    assert_eq!(compute.ended().code(), Some(4), "{}", compute.log());
    println!("ended {:?} after it continued", resumed.elapsed());
    let last = compute.events().pop().expect("it says why");
    let message = last["message"].as_str().expect("a text");
    assert!(message.contains(&eviction.to_string()), "{last}");
    assert!(message.contains("memory servers accept nothing from it any more"), "{last}");
    assert_eq!((&last["level"], &last["check"]), (&"error".into(), &"D20-detector".into()));
    let doctor = site.namdb("doctor");
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("warning  D20-detector"), "{doctor}");
    assert!(doctor.contains("`detector.lease_ms` (now 500)"), "{doctor}");
}

#[test]
fn a_suspended_program_learns_over_messages_that_it_was_evicted() {
    let Some(site) = Site::start(Place::Files, "tcp", LEASE) else { return };
    let mut peer = Peer::start(&site.file);
    let is_it = |one: &&membership::Member| one.pid == peer.id();
    let victim = site.map().compute_servers().find(is_it).expect("it has joined").identity;
    peer.signal(Signal::STOP);
    let map = site.await_map("an eviction", |map| map.member(victim).is_none());
    let eviction = map.eviction(victim).expect("the record says why").to_string();
    // Others can write its rows while it stands still.
    let db = namdb::connect(&site.file).expect("the cluster runs");
    let table = RecordTable::<Counter>::open(&db).expect("the peer has created it");
    let (mut session, start) = (db.session(), Instant::now());
    for number in 0..super::peer::ROWS {
        while let Err(error) = count_up(&mut session, table, number) {
            assert!(start.elapsed() < super::site::PATIENCE, "row {number}: {error}");
        }
    }
    peer.signal(Signal::CONT);
    let said = peer.line().expect("it says why");
    assert!(said.starts_with("lost: ") && said.contains(&eviction), "{said}");
    assert!(said.contains("no heartbeat came for"), "{said}");
}

#[test]
fn a_suspended_program_on_shared_memory_is_killed() {
    let Some(site) = Site::start(Place::Files, "shm", LEASE) else { return };
    let mut peer = Peer::start(&site.file);
    peer.signal(Signal::STOP);
    // It never continues: a fence of mapped memory is the end of the process.
    assert_eq!(peer.fatal_signal(), Some(Signal::KILL.as_raw()));
    let is_killed =
        |event: &serde_json::Value| event["message"] == "caller fenced: its process was killed";
    let start = Instant::now();
    while !site.memory.iter().any(|server| server.events().iter().any(is_killed)) {
        assert!(start.elapsed() < super::site::PATIENCE, "{}", site.memory[0].log());
    }
}

#[test]
fn a_suspended_memory_server_is_suspected_and_stays() {
    let Some(site) = Site::start(Place::Files, "tcp", LEASE) else { return };
    let before = site.map();
    let metric = |name| site.metric(&site.memory[0], name);
    site.memory[1].signal(Signal::STOP);
    let start = Instant::now();
    while metric("namdb_suspected_members") != 1.0 {
        assert!(start.elapsed() < super::site::PATIENCE, "nobody suspects it");
    }
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(site.map(), before);
    assert!(metric("namdb_heartbeat_age_seconds") > 2.0);
    let doctor = site.namdb("doctor");
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("problem  D20-detector"), "{doctor}");
    site.memory[1].signal(Signal::CONT);
    while metric("namdb_suspicions_withdrawn_total") != 1.0 {
        assert!(start.elapsed() < super::site::PATIENCE, "it is suspected for ever");
    }
    assert_eq!((metric("namdb_suspected_members"), site.map()), (0.0, before));
}

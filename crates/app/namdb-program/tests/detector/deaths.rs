//! Processes that are killed: how soon they are fenced, and their rows writable.
#![allow(clippy::disallowed_methods, reason = "processes are hurt at moments of the real clock")]

use super::peer::{Counter, Peer, ROWS, count_up};
use super::site::{PATIENCE, Place, Server, Site};
use namdb::RecordTable;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// From the death of a process until every memory server fences it.
const FENCED: Duration = Duration::from_millis(500);
/// From the death to the last write of its rows. The other tests of the gate run at the same time,
/// so an ordinary run only has to show that nobody waits for a lease in etcd.
const WRITABLE: Duration = Duration::from_millis(500);
const WRITABLE_IN_A_CROWD: Duration = Duration::from_secs(5);
/// Number of kills on each fabric.
const KILLS: u32 = 3;

/// Waits until every memory server knows this epoch, and fences the others at that moment. That the
/// fences are complete is shown by the tests of rows: recovery waits for them.
fn await_epoch(site: &Site, epoch: u64) {
    let start = Instant::now();
    for server in &site.memory {
        while site.metric(server, "namdb_cluster_epoch") < epoch as f64 {
            assert!(start.elapsed() < PATIENCE, "{}", server.log());
        }
    }
}

fn a_killed_compute_server_is_fenced(place: Place, fabric: &str) {
    let Some(site) = Site::start(place, fabric, "") else { return };
    let compute: Server = site.compute_server();
    let before = site.map();
    let victim = before.compute_servers().next().expect("it has joined").identity;
    compute.signal(Signal::KILL);
    let start = Instant::now();
    let after = site.await_map("an epoch without the dead", |map| map.member(victim).is_none());
    let decided = start.elapsed();
    await_epoch(&site, after.epoch);
    let fenced = start.elapsed();
    println!("{fabric}: decided {decided:?} and fenced {fenced:?} after the death");
    assert!(fenced < FENCED, "{fenced:?}");
    assert_eq!(after.epoch, before.epoch + 1, "one swap decides");
    let evictions = |server| site.metric(server, "namdb_evictions_total");
    if place == Place::Etcd {
        assert_eq!(site.memory.iter().map(evictions).sum::<f64>(), 1.0);
        let said = after.eviction(victim).expect("the record says why").to_string();
        assert!(said.contains("compute server 0") && said.contains("process has ended"), "{said}");
        let status = site.namdb("status");
        let status = String::from_utf8_lossy(&status.stdout).into_owned();
        assert!(status.contains(&said), "{status}");
    }
    // Nobody has to wait for the end of its lease to take its number.
    let start = Instant::now();
    let _next = site.compute_server();
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

#[test]
fn a_killed_compute_server_is_fenced_in_half_a_second_with_etcd() {
    a_killed_compute_server_is_fenced(Place::Etcd, "tcp");
}

#[test]
fn a_killed_compute_server_is_fenced_in_half_a_second_with_files() {
    a_killed_compute_server_is_fenced(Place::Files, "shm");
}

fn rows_of_the_killed_are_writable(fabric: &str) {
    let Some(site) = Site::start(Place::Etcd, fabric, "") else { return };
    let db = namdb::connect(&site.file).expect("the cluster runs");
    let table = RecordTable::<Counter>::open_or_create(&db, Default::default());
    let table = table.expect("it is new");
    let mut session = db.session();
    let mut slowest = Duration::ZERO;
    for _ in 0..KILLS {
        let mut peer = Peer::start(&site.file);
        std::thread::sleep(Duration::from_millis(100));
        peer.signal(Signal::KILL);
        let died = Instant::now();
        for number in 0..ROWS {
            while let Err(error) = count_up(&mut session, table, number) {
                assert!(died.elapsed() < PATIENCE, "row {number}: {error}");
            }
        }
        slowest = slowest.max(died.elapsed());
        assert_eq!(peer.fatal_signal(), Some(Signal::KILL.as_raw()));
    }
    println!("{fabric} with etcd: all rows written at most {slowest:?} after a death");
    let bound = match std::env::var_os("NAMDB_TEST_ALONE").is_some() {
        true => WRITABLE,
        false => WRITABLE_IN_A_CROWD,
    };
    assert!(slowest < bound, "{slowest:?}");
}

#[test]
fn rows_of_the_killed_are_writable_over_messages_with_etcd() {
    rows_of_the_killed_are_writable("tcp");
}

#[test]
fn rows_of_the_killed_are_writable_on_shared_memory_with_etcd() {
    rows_of_the_killed_are_writable("shm");
}

#[test]
fn a_killed_memory_server_is_noticed_at_once_with_etcd() {
    let Some(site) = Site::start(Place::Etcd, "tcp", "") else { return };
    let lost = site.map().memory_servers().nth(1).expect("there are two").identity;
    site.memory[1].signal(Signal::KILL);
    let start = Instant::now();
    site.await_map("an epoch without the dead", |map| map.member(lost).is_none());
    println!("decided {:?} after the death", start.elapsed());
    assert!(start.elapsed() < FENCED, "{:?}", start.elapsed());
}

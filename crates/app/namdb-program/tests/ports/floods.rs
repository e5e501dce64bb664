//! Silent connections beside members, and the log lines that they cause.

use crate::cluster::{Cluster, Door};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Silent connections that are held at each port: more than it has places for strangers.
const HELD: usize = 150;

/// Opens connections to a port and sends nothing; renews them all the time.
fn flood(door: &Door, is_over: &AtomicBool) -> usize {
    let (mut held, mut opened) = (VecDeque::new(), 0);
    while !is_over.load(Relaxed) {
        if let Ok(stream) = std::net::TcpStream::connect(&door.address) {
            held.push_back(stream);
            opened += 1;
        }
        if held.len() > HELD {
            held.pop_front();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    opened
}

/// Members connect from the address of the flood, and by an order, while all ports are flooded.
fn members_work_during_a_flood(is_encrypted: bool) {
    let cluster = Cluster::up("flood", is_encrypted);
    let (doors, is_over) = (cluster.doors(), AtomicBool::new(false));
    let start = Instant::now();
    let opened: usize = std::thread::scope(|scope| {
        let (doors, is_over) = (&doors, &is_over);
        let floods: Vec<_> =
            doors.iter().map(|door| scope.spawn(move || flood(door, is_over))).collect();
        std::thread::sleep(Duration::from_secs(1));
        let served = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..3 {
                cluster.serves_members();
            }
        }));
        is_over.store(true, Relaxed);
        let opened = floods.into_iter().map(|flood| flood.join().expect("it does not panic")).sum();
        served.expect("members are served");
        opened
    });
    let periods = start.elapsed().as_secs() as usize / 10 + 1;
    assert!(opened > 3 * HELD, "{opened} connections are no flood");
    for server in ["memory", "compute"] {
        let log = cluster.log(server);
        let lines = log.lines().filter(|line| line.contains("refused")).count();
        assert!(lines > 0 && lines <= 11 * periods, "{lines} lines in {periods} periods:\n{log}");
    }
    // The server logs the number of suppressed lines once their period is over.
    let suppressed = || cluster.log("memory").contains("suppressed=");
    let start = Instant::now();
    while !suppressed() {
        assert!(start.elapsed() < Duration::from_secs(20), "{}", cluster.log("memory"));
        std::thread::sleep(Duration::from_millis(200));
        cluster.serves_members();
    }
}

#[test]
fn members_work_during_a_flood_of_plain_ports() {
    members_work_during_a_flood(false);
}

#[test]
fn members_work_during_a_flood_of_encrypted_ports() {
    members_work_during_a_flood(true);
}

//! The log events of servers.
#![allow(clippy::disallowed_methods, reason = "processes are waited for by the real clock")]

use super::server::{Server, Site};
use super::support::{namdb, text};
use rustix::process::Signal;
use serde_json::Value;
use std::io::Write;
use std::net::TcpStream;

const BENCH: &str = "bench bank --records 100 --threads 1 --lanes 2 --seconds 0.8 --warm-up 0";

fn run_bench(site: &Site) {
    let bench = namdb(&format!("{BENCH} --cluster {}", site.file.display()));
    assert_eq!(bench.status.code(), Some(0), "{}", text(&bench.stderr));
}

/// The events in the life of a memory server, in order.
fn tells_its_life(fabric: &str) {
    let site = Site::new(&format!("life-{fabric}"), fabric, "lease_seconds = 2");
    let mut server = site.server("--log-format json");
    server.wait_for("database created");
    run_bench(&site);
    server.wait_for("epoch changed: a member has left");
    server.signal(Signal::TERM);
    assert!(server.ended().success());
    let events = server.events();
    for event in &events {
        let time = event["time"].as_str().expect("a time");
        assert!(time.len() == 27 && time.starts_with("20") && time.ends_with('Z'), "{time}");
        assert_eq!((&event["server"], &event["number"]), (&"memory".into(), &0.into()), "{event}");
        assert_eq!(event["cluster"], format!("life-{fabric}"), "{event}");
    }
    let position = |message: &str| {
        let found = events.iter().position(|event| {
            event["message"].as_str().is_some_and(|text| text.starts_with(message))
        });
        found.unwrap_or_else(|| panic!("no event {message} in {}", server.log()))
    };
    let messages = [
        "started",
        "port opened",
        "joined",
        "epoch changed: a member has joined",
        "caller connected",
        "caller gone",
        "epoch changed: a member has left",
        "stopping",
        "left the cluster",
    ];
    let places = messages.map(position);
    assert_eq!((places[0], places[8]), (0, events.len() - 1), "{}", server.log());
    let started = &events[0];
    assert_eq!(
        (&started["region_bytes"], &started["fabric"]),
        (&(64 << 20).into(), &fabric.into())
    );
    let caller = events[places[4]]["caller"].as_str().expect("an identity");
    assert!(caller.len() == 16 && caller != started["identity"], "{caller}");
    assert!(events[places[4]]["epoch"].as_u64() >= Some(2), "{}", events[places[4]]);
    assert!(events[places[4]]["peer"].is_string());
    let info = |event: &Value| event["level"] == "info";
    assert!(events.iter().all(info), "nothing went wrong: {}", server.log());
}

#[test]
fn a_server_of_messages_tells_its_life_as_json() {
    tells_its_life("tcp");
}

#[test]
fn a_server_of_shared_memory_tells_its_life_as_json() {
    tells_its_life("shm");
}

#[test]
fn a_compute_server_tells_its_life_as_json() {
    let site = Site::new("life-compute", "tcp", "lease_seconds = 2\n[[compute]]");
    let _memory = site.server("");
    let arguments = format!("compute-server --cluster {} --number 0", site.file.display());
    let log = site.folder.join("compute-events");
    let mut server = Server::start(&format!("{arguments} --log-format json"), &log);
    server.wait_for("joined");
    run_bench(&site);
    server.wait_for("run ends");
    server.signal(Signal::TERM);
    assert!(server.ended().success());
    let events = server.events();
    let messages: Vec<&str> = events.iter().filter_map(|event| event["message"].as_str()).collect();
    let life = ["started", "joined", "run begins", "run ends"];
    assert_eq!(messages[..4], life, "{}", server.log());
    assert!(
        messages[4].starts_with("stopping") && messages[5] == "left the cluster",
        "{messages:?}"
    );
    assert!(events.iter().all(|event| event["server"] == "compute"), "{}", server.log());
}

#[test]
fn who_is_refused_is_told_with_the_reason() {
    let site = Site::new("refused", "tcp", "");
    let mut server = site.server("--log-format json --log-level warn");
    let is_there = || namdb(&format!("status --json - --cluster {}", site.file.display()));
    let report: Value = loop {
        let output = is_there();
        if output.status.code() == Some(0) {
            break serde_json::from_str(&text(&output.stdout)).expect("it is JSON");
        }
    };
    let address = report["servers"][0]["address"].as_str().expect("an address");
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(&[b'x'; 128]).expect("it reads");
    let refused = server.wait_for("caller refused");
    assert_eq!(refused["level"], "warn");
    let reason = refused["reason"].as_str().expect("a reason");
    assert!(reason.contains("the caller does not speak the protocol of namdb"), "{refused}");
    assert_eq!(refused["peer"], stream.local_addr().expect("it has one").to_string());
    server.signal(Signal::TERM);
    server.ended();
    assert!(server.events().iter().all(|event| event["level"] != "info"), "{}", server.log());
}

#[test]
fn people_get_lines_that_begin_with_time_level_and_server() {
    let site = Site::new("lines", "shm", "");
    let server = site.server("");
    let mut log = server.log();
    while !log.contains("database created") {
        std::thread::sleep(std::time::Duration::from_millis(10));
        log = server.log();
    }
    let first = log.lines().next().expect("it says something");
    assert!(first.contains("Z INFO  memory server 0: started  version="), "{first}");
    assert!(first.contains(" region=\"64.0 MiB\" "), "{first}");
}

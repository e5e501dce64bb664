//! Servers that have no database yet, or have lost it: their behaviour and their health probes.
#![allow(clippy::disallowed_methods, reason = "processes are hurt at moments of the real clock")]

use super::server::{Server, Site};
use super::support::{get, namdb, text, token};
use membership::{ClusterFile, Registry};
use rustix::process::Signal;
use std::time::{Duration, Instant};

fn start(site: &Site, role: &str, number: u16) -> Server {
    let file = site.file.display();
    let command = format!("{role}-server --cluster {file} --number {number} --log-format json");
    Server::start(&command, &site.folder.join(format!("{role}-{number}")))
}

/// The control address, from this event.
fn control(server: &Server, event: &str) -> String {
    server.wait_for(event)["control"].as_str().expect("it tells").to_owned()
}

/// Waits until the probe's answer contains these words.
fn await_health(site: &Site, control: &str, words: &str) {
    let token = token(&site.file);
    let start = Instant::now();
    loop {
        let told = get(control, "/healthz", &token);
        if told.contains(words) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(5), "no `{words}` in {told}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A cluster whose file has two memory servers and a compute server.
fn site(name: &str) -> Site {
    Site::new(name, "tcp", "[[memory]]\nbytes = \"64 MiB\"\n[[compute]]")
}

/// A server that joined at once would change the epoch at every failed start.
#[test]
fn a_compute_server_joins_when_there_is_a_database() {
    let site = site("early");
    let _zero = start(&site, "memory", 0);
    let server = start(&site, "compute", 0);
    let control = control(&server, "started");
    await_health(&site, &control, "503 Service Unavailable");
    await_health(&site, &control, "not yet a member of its cluster");
    std::thread::sleep(Duration::from_millis(300));
    let cluster = ClusterFile::load(&site.file, &[]).expect("it was written");
    let registry = Registry::open(&cluster).expect("it is a folder");
    assert_eq!(registry.map().expect("it answers").compute_servers().count(), 0);
    let _one = start(&site, "memory", 1);
    server.wait_for("joined");
    await_health(&site, &control, "200 OK");
}

/// A process that joins but has nothing to do leaves at once, so that no member waits for its
/// lease.
#[test]
fn who_has_joined_for_nothing_leaves_in_order() {
    let site = Site::new("for-nothing", "tcp", "");
    let _zero = start(&site, "memory", 0);
    let bench = namdb(&format!("bench bank --compute-servers 1 --cluster {}", site.file.display()));
    assert!(text(&bench.stderr).contains("has 0 compute servers, not 1"), "{bench:?}");
    let cluster = ClusterFile::load(&site.file, &[]).expect("it was written");
    let registry = Registry::open(&cluster).expect("it is a folder");
    assert_eq!(registry.map().expect("it answers").left.len(), 1);
}

/// The part of a lost memory server cannot be restored: the others report it, execute no more
/// orders, and exit when no work is left.
#[test]
fn a_database_that_is_lost_is_told_of_and_worked_on_no_more() {
    let site = site("lost-database");
    let (zero, one) = (start(&site, "memory", 0), start(&site, "memory", 1));
    let mut compute = start(&site, "compute", 0);
    compute.wait_for("joined");
    let probes = [control(&zero, "port opened"), control(&compute, "started")];
    probes.iter().for_each(|control| await_health(&site, control, "200 OK"));
    one.signal(Signal::KILL);
    let sentence = "the database is lost with memory server 1";
    await_health(&site, &probes[0], sentence);
    await_health(&site, &probes[0], "503 Service Unavailable");
    assert_eq!(compute.ended().code(), Some(4), "{}", compute.log());
    let last = compute.events().pop().expect("it says why");
    assert_eq!(
        (&last["level"], &last["check"]),
        (&"error".into(), &"D09-members".into()),
        "{last}"
    );
    assert!(last["message"].as_str().is_some_and(|text| text.contains(sentence)), "{last}");
    let bench = namdb(&format!("bench bank --cluster {}", site.file.display()));
    assert!(text(&bench.stderr).contains(sentence), "{bench:?}");
}

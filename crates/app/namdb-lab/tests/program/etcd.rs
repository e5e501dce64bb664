//! Clusters with a real etcd as registry.
#![allow(clippy::disallowed_methods, reason = "processes are waited for by the real clock")]

use super::server::{Server, Site};
use super::support::{get, namdb, number, text, token};
use etcd_process::{Etcd, pem};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// A cluster of two memory servers with this etcd as registry.
fn cluster(etcd: &Etcd, name: &str, lease_seconds: u64) -> Site {
    let registry = format!("kind = \"etcd\"\nendpoints = [\"{}\"]", etcd.endpoint());
    let tls = match etcd.endpoint().starts_with("https") {
        true => format!(
            "[registry.tls]\nca = {:?}\ncertificate = {:?}\nkey = {:?}",
            pem("ca.pem"),
            pem("member.pem"),
            pem("member.key")
        ),
        false => String::new(),
    };
    let memory = "[[memory]]\nbytes = \"64 MiB\"";
    let lines = format!("lease_seconds = {lease_seconds}\n[registry]\n{registry}\n{tls}\n{memory}");
    Site::new(name, "tcp", &lines)
}

fn server(site: &Site, number: u16) -> Server {
    let file = site.file.display();
    let command = format!("memory-server --cluster {file} --number {number} --log-format json");
    Server::start(&command, &site.folder.join(format!("events-{number}")))
}

/// Two memory servers and a bank on them, from their start to the end of a run.
fn serves_a_bank(name: &str, is_encrypted: bool) {
    let etcd = if is_encrypted { Etcd::start_with_tls() } else { Etcd::start() };
    let Some(etcd) = etcd else { return };
    let site = cluster(&etcd, name, 3);
    let mut servers = [server(&site, 0), server(&site, 1)];
    let bench = "bench bank --records 100 --threads 1 --lanes 2 --seconds 0.2 --warm-up 0 --json -";
    let bench = namdb(&format!("{bench} --cluster {}", site.file.display()));
    assert_eq!(bench.status.code(), Some(0), "{}", text(&bench.stderr));
    let report: Value = serde_json::from_str(&text(&bench.stdout)).expect("it is JSON");
    assert_eq!(number(&report, "/servers"), 2.0, "{report:#}");
    for server in &mut servers {
        server.signal(Signal::TERM);
        assert!(server.ended().success(), "{}", server.log());
    }
}

#[test]
fn servers_that_meet_in_etcd_serve_a_bank() {
    serves_a_bank("met", false);
}

#[test]
fn servers_that_meet_in_an_etcd_that_wants_certificates_serve_a_bank() {
    serves_a_bank("met-encrypted", true);
}

/// A server whose lease is not renewed in time logs a warning, then the error, and exits.
#[test]
fn a_server_that_loses_its_lease_warns_before_and_ends() {
    let Some(etcd) = Etcd::start() else { return };
    let site = cluster(&etcd, "lost", 3);
    let mut server = server(&site, 0);
    server.wait_for("joined");
    etcd.signal(Signal::STOP);
    let warning = server.wait_for("lease nearly lost: the registry has not renewed it");
    assert_eq!(warning["level"], "warn");
    assert!(warning["left_ms"].as_u64() < Some(1000), "{warning}");
    assert_eq!(server.ended().code(), Some(4), "{}", server.log());
    let last = server.events().pop().expect("it says why");
    let message = last["message"].as_str().expect("a text");
    assert_eq!((&last["level"], &last["check"]), (&"error".into(), &"D12-etcd".into()), "{last}");
    assert!(message.contains("memory server 0 has lost its lease of 3 s"), "{last}");
    assert!(message.contains(&etcd.endpoint()), "{last}");
}

/// A compute server does the same, and its health probe fails before.
#[test]
fn a_compute_server_that_loses_its_lease_warns_before_and_ends() {
    let Some(etcd) = Etcd::start() else { return };
    let site = cluster(&etcd, "lost-compute", 3);
    site.write(&(std::fs::read_to_string(&site.file).expect("it is there") + "[[compute]]\n"));
    let _memory = [server(&site, 0), server(&site, 1)];
    let arguments = format!("compute-server --cluster {} --number 0", site.file.display());
    let log = site.folder.join("compute-events");
    let mut server = Server::start(&format!("{arguments} --log-format json"), &log);
    server.wait_for("joined");
    let control = server.wait_for("started")["control"].as_str().expect("it tells").to_owned();
    assert!(get(&control, "/healthz", &token(&site.file)).starts_with("HTTP/1.1 200 "));
    etcd.signal(Signal::STOP);
    server.wait_for("lease nearly lost: the registry has not renewed it");
    let ill = get(&control, "/healthz", &token(&site.file));
    assert!(ill.starts_with("HTTP/1.1 503 ") && ill.contains("the lease ends in"), "{ill}");
    assert_eq!(server.ended().code(), Some(4), "{}", server.log());
    let last = server.events().pop().expect("it says why");
    let message = last["message"].as_str().expect("a text");
    assert_eq!((&last["level"], &last["check"]), (&"error".into(), &"D12-etcd".into()), "{last}");
    assert!(message.contains("compute server 0 has lost its lease of 3 s"), "{last}");
}

/// A connection of one process to etcd that the test can block.
struct Way {
    endpoint: String,
    is_held: Arc<AtomicBool>,
}

impl Way {
    fn to(etcd: &Etcd) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("some port is free");
        let endpoint = format!("http://{}", listener.local_addr().expect("it is bound"));
        let there = ("127.0.0.1", etcd.port());
        let is_held = Arc::<AtomicBool>::default();
        let held = is_held.clone();
        std::thread::spawn(move || {
            for here in listener.incoming().map_while(Result::ok) {
                let there = TcpStream::connect(there).expect("etcd listens");
                let ends = [(&here, &there), (&there, &here)];
                for (from, to) in ends.map(|(a, b)| (a.try_clone(), b.try_clone())) {
                    let (from, to) = (from.expect("a socket"), to.expect("a socket"));
                    let held = held.clone();
                    std::thread::spawn(move || pass(from, to, &held));
                }
            }
        });
        Self { endpoint, is_held }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, is_held: &AtomicBool) {
    let mut bytes = [0; 4096];
    while let Ok(count) = from.read(&mut bytes) {
        while is_held.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        if count == 0 || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// A death changes the epoch, but a client that has not heard of it can continue.
#[test]
fn a_client_that_cannot_read_the_map_goes_on_when_somebody_else_dies() {
    let Some(etcd) = Etcd::start() else { return };
    let site = cluster(&etcd, "lags", 12);
    site.write(&(std::fs::read_to_string(&site.file).expect("it is there") + "[[compute]]\n"));
    let memory = [server(&site, 0), server(&site, 1)];
    let way = Way::to(&etcd);
    let bench = "bench bank --records 100 --threads 1 --lanes 2 --seconds 6 --warm-up 0 --compute-servers 0";
    let on = format!("--cluster {} --set registry.endpoints={}", site.file.display(), way.endpoint);
    let mut client = Server::start(&format!("{bench} {on}"), &site.folder.join("client"));
    memory[0].wait_for("caller connected");
    let file = site.file.display();
    let command = format!("compute-server --cluster {file} --number 0 --set lease_seconds=2");
    let log = site.folder.join("dies");
    let dies = Server::start(&format!("{command} --log-format json"), &log);
    dies.wait_for("joined");
    way.is_held.store(true, Relaxed);
    dies.signal(Signal::KILL);
    for server in &memory {
        let gone = server.wait_for("epoch changed: a member has died");
        assert_eq!(gone["level"], "warn");
        assert!(gone["member"].as_str().is_some_and(|name| name.contains("compute server 0")));
    }
    std::thread::sleep(Duration::from_millis(1500));
    way.is_held.store(false, Relaxed);
    assert_eq!(client.ended().code(), Some(0), "{}", client.log());
    memory[0].wait_for("epoch changed: a member has left");
    let refused =
        |server: &Server| server.events().iter().any(|it| it["message"] == "caller refused");
    assert!(!memory.iter().any(refused), "{}", memory[0].log());
}

/// If the registry is away for less than a lease, nothing is lost, and the server logs that it is
/// back.
#[test]
fn a_lease_that_is_renewed_after_all_is_told_of() {
    let Some(etcd) = Etcd::start() else { return };
    let site = cluster(&etcd, "away", 9);
    let server = server(&site, 0);
    server.wait_for("joined");
    etcd.signal(Signal::STOP);
    server.wait_for("lease nearly lost: the registry has not renewed it");
    etcd.signal(Signal::CONT);
    server.wait_until("lease renewed, or its loss", |event| {
        event["message"] == "lease renewed" || event["level"] == "error"
    });
    server.wait_for("lease renewed");
}

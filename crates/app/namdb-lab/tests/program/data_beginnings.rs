//! Memory servers with data and replicas as processes of their own: failures while the database
//! begins, and a real etcd that fails.
#![allow(clippy::disallowed_methods, reason = "processes are hurt at moments of the real clock")]

use super::counter::{Counted, Counter, count_up, design};
use super::server::{Server, Site};
use etcd_process::Etcd;
use layout::NodeId;
use membership::{Addresses, ClusterFile, Lease, Member, Registry, Role};
use namdb::RecordTable;
use rustix::process::Signal;
use std::net::TcpListener;
use std::time::{Duration, Instant};

const SERVERS: u16 = 3;
const ROWS: i64 = 50;
/// Maximal time for a server's number to be free.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time in which a server marks its image as old that does so too early.
const EARLY: Duration = Duration::from_millis(300);

/// A cluster of three memory servers with two replicas and data; `registry` is a part of its file.
fn site(name: &str, registry: &str) -> Site {
    let memory = "[[memory]]\nbytes = \"32 MiB\"\n";
    let lines = format!("lease_seconds = 3\nreplicas = 2\ndata = \"data\"\n{registry}\n{memory}");
    let site = Site::new(name, "tcp", &format!("{lines}{memory}"));
    let text = std::fs::read_to_string(&site.file).expect("it was written");
    site.write(&text.replace("64 MiB", "32 MiB"));
    site
}

fn in_etcd(etcd: &Etcd) -> String {
    format!("[registry]\nkind = \"etcd\"\nendpoints = [\"{}\"]", etcd.endpoint())
}

fn server(site: &Site, number: u16) -> Server {
    let file = site.file.display();
    let command = format!("memory-server --cluster {file} --number {number} --log-format json");
    Server::start(&command, &site.folder.join(format!("events-{number}")))
}

fn all(site: &Site) -> Vec<Server> {
    (0..SERVERS).map(|number| server(site, number)).collect()
}

/// Ends all of them at one moment.
fn end(mut servers: Vec<Server>) {
    servers.iter().for_each(|server| server.signal(Signal::TERM));
    for server in &mut servers {
        assert!(server.ended().success(), "{}", server.log());
    }
}

/// Creates the database, and counts every row up.
fn fill(site: &Site) -> Vec<Counted> {
    let (db, counted) = (namdb::connect(&site.file).expect("it runs"), Counted::rows(ROWS));
    let table = RecordTable::<Counter>::open_or_create(&db, design()).expect("it is new");
    let mut session = db.session();
    for (number, row) in (0..).zip(&counted) {
        let outcome = count_up(&mut session, table, number);
        row.note(&outcome);
        outcome.expect("nobody disturbs");
    }
    counted
}

/// Starts all servers again: everything that was counted is there.
fn all_is_there(site: &Site, counted: &[Counted]) {
    let servers = all(site);
    Counted::check_at(&site.file, counted, 0);
    end(servers);
}

fn has_image(site: &Site, number: u16) -> bool {
    site.folder.join(format!("data/memory-{number}/image")).exists()
}

/// A member that says what memory server 2 has on disk, and is silent from then on. Its listener
/// accepts connections.
fn silent_server(site: &Site) -> (Lease, TcpListener) {
    let file = ClusterFile::load(&site.file, &[]).expect("it was written");
    let real = server(site, 2);
    real.wait_for("joined");
    let registry = Registry::open(&file).expect("it answers");
    let map = registry.map().expect("it answers");
    let known = map.memory_server(NodeId(2)).expect("it has joined").clone();
    end(vec![real]);
    let listener = TcpListener::bind("127.0.0.1:0").expect("some port is free");
    let tcp = Some(listener.local_addr().expect("it is bound").to_string());
    let Role::Memory { region_bytes, .. } = known.role else { panic!("it has a region") };
    let addresses = Addresses { tcp, ..Addresses::default() };
    let member = Member::memory_server(NodeId(2), region_bytes, addresses);
    let member = Member { found: known.found, ..member };
    (registry.join(member, PATIENCE).expect("it has left"), listener)
}

/// The servers have read their images, and the database cannot become whole. Then `fail` ends all.
fn a_failure_loses_nothing(site: &Site, fail: impl FnOnce(&mut [Server])) {
    let servers = all(site);
    let counted = fill(site);
    end(servers);
    let (lease, _listener) = silent_server(site);
    let mut begun = [server(site, 0), server(site, 1)];
    begun.iter().for_each(|server| drop(server.wait_for("data read")));
    let start = Instant::now();
    while start.elapsed() < EARLY {
        assert!(has_image(site, 0) && has_image(site, 1), "nothing was acknowledged");
        std::thread::sleep(Duration::from_millis(5));
    }
    fail(&mut begun);
    drop(begun);
    // It may have been evicted.
    let _ = lease.leave();
    all_is_there(site, &counted);
}

#[test]
fn a_power_failure_while_the_database_begins_loses_nothing() {
    let site = site("begins", "");
    a_failure_loses_nothing(&site, |servers| {
        servers.iter().for_each(|server| server.signal(Signal::KILL));
    });
}

#[test]
fn the_silence_of_etcd_while_the_database_begins_loses_nothing() {
    let Some(etcd) = Etcd::start() else { return };
    let site = site("begins-silent", &in_etcd(&etcd));
    a_failure_loses_nothing(&site, |servers| {
        etcd.signal(Signal::STOP);
        servers.iter_mut().for_each(|server| assert_eq!(server.ended().code(), Some(4)));
        etcd.signal(Signal::CONT);
    });
}

#[test]
fn all_is_there_after_a_power_failure_with_etcd() {
    let Some(mut etcd) = Etcd::start() else { return };
    let site = site("power-etcd", &in_etcd(&etcd));
    let servers = all(&site);
    let counted = fill(&site);
    end(servers);
    etcd.kill();
    etcd.restart();
    all_is_there(&site, &counted);
    // Once more, with images of the second run.
    all_is_there(&site, &counted);
}

/// All keys are gone while the database lives: the servers lose their leases, and write.
#[test]
fn all_is_there_after_etcd_has_lost_everything() {
    let Some(etcd) = Etcd::start() else { return };
    let site = site("wiped-etcd", &in_etcd(&etcd));
    let mut servers = all(&site);
    let counted = fill(&site);
    // From the key of one zero byte on: all.
    let answer = etcd.post("/v3/kv/deleterange", r#"{"key":"AA==","range_end":"AA=="}"#);
    assert!(answer.contains("\"deleted\""), "{answer}");
    for server in &mut servers {
        assert!(!server.ended().success(), "its lease is gone: {}", server.log());
    }
    all_is_there(&site, &counted);
}

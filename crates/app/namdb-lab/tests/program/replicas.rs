//! Memory servers of a cluster with replicas that are killed, or stand still, while programs run.
#![allow(clippy::disallowed_methods, reason = "processes are hurt at moments of the real clock")]

use super::cluster::Cluster;
use super::counter::{Counted, Counter, count_up, design};
use super::support::{get, is_running, text, token};
use membership::detector::Evidence;
use membership::{ClusterFile, Registry};
use namdb::{Db, RecordTable, Session, TransactionError};
use namdb_program::servers::left_locks::LeftLocks;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const OPTIONS: &str = "--fabric tcp --memory-servers 3 --replicas 2 --memory 32M";
const THREADS: usize = 2;
const ROWS: i64 = 100;
/// Time of work before the death, and behind it.
const WORK: Duration = Duration::from_millis(500);
/// Time in which every thread must count up every row again.
const RECOVERY: Duration = Duration::from_secs(20);
/// Time from the end of a lease until every thread has counted up every row. It is less than half a
/// second, the probe included, on a machine at rest; other tests may take the processors for long.
const WRITABLE: Duration = Duration::from_secs(20);
/// Time in which a server that was evicted ends, after it goes on.
const END: Duration = Duration::from_secs(20);
/// Time in which a memory server that has returned must have its replicas.
const FILLED: Duration = Duration::from_secs(60);
/// A bit less than a promotion waits for a process that has not drained.
const DRAIN: Duration = Duration::from_secs(9);
/// The cluster's file, for a client; and the line that it writes after each transaction.
const FILE: &str = "NAMDB_TEST_REPLICAS_FILE";
const CLIENT_WORKS: &str = "counted";

/// Counts one row up after the other, until all have been counted up in a row after the death.
fn work(
    mut session: Session,
    table: RecordTable<Counter>,
    counted: &[Counted],
    died: &OnceLock<Instant>,
) {
    let (mut number, mut in_a_row) = (0, 0);
    while in_a_row < ROWS {
        let since = died.get().map(Instant::elapsed);
        let outcome = count_up(&mut session, table, number);
        counted[number as usize].note(&outcome);
        if let Err(error) = &outcome
            && !matches!(error, TransactionError::Unknown)
        {
            assert!(since.is_none_or(|since| since < RECOVERY), "{in_a_row} rows: {error}");
        }
        in_a_row = if since.is_some() && outcome.is_ok() { in_a_row + 1 } else { 0 };
        number = (number + 1) % ROWS;
    }
}

/// A program that counts up rows, and knows what they must be.
pub struct Load {
    db: Db,
    table: RecordTable<Counter>,
    counted: Vec<Counted>,
}

impl Load {
    pub fn new(cluster: &Cluster) -> Self {
        let db = namdb::connect(&cluster.file).expect("the cluster runs");
        let table = RecordTable::<Counter>::open_or_create(&db, design());
        let counted = Counted::rows(ROWS);
        Self { table: table.expect("it is new"), db, counted }
    }

    /// Leaves the cluster, and knows what the rows must be.
    pub fn leave(self) -> Left {
        Left(self.counted)
    }

    /// Counts up, before and after this signal to a process. Returns the time from the signal until
    /// every thread had counted up all rows in a row.
    pub fn run(&self, process: Pid, signal: Signal) -> Duration {
        self.run_hurt(&format!("{signal:?}"), || kill_process(process, signal).expect("it runs"))
    }

    pub fn run_hurt(&self, what: &str, hurt: impl FnOnce()) -> Duration {
        let (table, died) = (self.table, OnceLock::new());
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                let (session, counted, died) = (self.db.session(), &self.counted, &died);
                scope.spawn(move || work(session, table, counted, died));
            }
            std::thread::sleep(WORK);
            hurt();
            died.set(Instant::now()).expect("it is the only one");
        });
        let took = died.get().expect("it is set").elapsed();
        eprintln!("all rows were counted up {:.3} s after {what}", took.as_secs_f64());
        took
    }

    pub fn check(&self, cluster: &Cluster) {
        self.check_rows(cluster, 0);
    }

    /// Checks the rows from `first` on; nobody else has counted them up.
    fn check_rows(&self, cluster: &Cluster, first: usize) {
        Counted::check(cluster, &self.counted, first);
    }
}

/// The rows of a program that has left, as they must be.
pub struct Left(Vec<Counted>);

impl Left {
    /// Joins the cluster with the same rows.
    pub fn come_back(self, cluster: &Cluster) -> Load {
        let db = namdb::connect(&cluster.file).expect("the cluster runs");
        let table = RecordTable::<Counter>::open(&db).expect("it was made");
        Load { db, table, counted: self.0 }
    }
}

fn a_death_loses_nothing(number: usize, signal: Signal) {
    let cluster = Cluster::up(&format!("replicas-{number}-{signal:?}"), OPTIONS);
    let load = Load::new(&cluster);
    load.run(cluster.processes("memory")[number], signal);
    load.check(&cluster);
    check_status(&cluster, number);
    let file = ClusterFile::load(&cluster.file, &[]).expect("it was written");
    assert_eq!(LeftLocks::look(&file).expect("it answers"), Some(0));
}

/// The server stands still for longer than its lease: it is evicted, and ends when it goes on.
fn a_pause_loses_nothing(number: usize) {
    let cluster = Cluster::up(&format!("replicas-{number}-pause"), OPTIONS);
    let load = Load::new(&cluster);
    let file = ClusterFile::load(&cluster.file, &[]).expect("it was written");
    let process = cluster.processes("memory")[number];
    let took = load.run(process, Signal::STOP);
    assert!(took < file.detector_lease() + WRITABLE, "{took:?}");
    load.run(process, Signal::CONT);
    let resumed = Instant::now();
    while is_running(process) {
        assert!(resumed.elapsed() < END, "it was evicted and goes on: {}", cluster.log(number));
        std::thread::sleep(Duration::from_millis(10));
    }
    let log = cluster.log(number);
    assert!(log.contains("was evicted in epoch"), "{log}");
    assert!(log.contains("goes on with the replicas"), "{log}");
    load.check(&cluster);
    check_status(&cluster, number);
    assert_eq!(LeftLocks::look(&file).expect("it answers"), Some(0));
}

/// The status after the end of a memory server.
fn check_status(cluster: &Cluster, number: usize) {
    let status = cluster.run("status --json -");
    let status: Value = serde_json::from_str(&text(&status.stdout)).expect("it is JSON");
    assert_eq!(status["state"], "incomplete", "{status:#}");
    let moved = serde_json::json!([
        { "number": number, "server": "gone", "served_by": (number + 1) % 3, "replicas": 1 }
    ]);
    assert_eq!(status["regions"], moved, "{status:#}");
    check_metrics(cluster, &status);
}

/// Starts a memory server again, and waits until it has its replicas.
fn return_server(cluster: &Cluster, number: usize) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_namdb-lab"));
    command.args(["memory-server", "--number", &number.to_string(), "--cluster"]);
    command.arg(&cluster.file).stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = command.spawn().expect("the program was built");
    let begun = Instant::now();
    loop {
        let status = cluster.run("status --json -");
        let status: Value = serde_json::from_str(&text(&status.stdout)).expect("it is JSON");
        if status["state"] == "running" {
            assert_eq!(status["regions"], serde_json::json!([]), "{status:#}");
            eprintln!(
                "memory server {number} was filled in {:.3} s",
                begun.elapsed().as_secs_f64()
            );
            return server;
        }
        let ended = server.try_wait().expect("it is ours");
        assert!(ended.is_none() && begun.elapsed() < FILLED, "{ended:?}: {status:#}");
    }
}

/// Each server dies after the one before it has returned: in the end all data is on servers that
/// have been filled, while transactions ran.
#[test]
fn memory_servers_that_return_take_over_what_the_others_had() {
    let cluster = Cluster::up("replicas-returned", OPTIONS);
    let load = Load::new(&cluster);
    let mut returned = Vec::new();
    for number in [1, 2, 0] {
        let process = cluster.memory_server(number);
        load.run(process, Signal::KILL);
        load.run_hurt(&format!("the return of memory server {number}"), || {
            returned.push(return_server(&cluster, number));
        });
    }
    load.check(&cluster);
    let file = ClusterFile::load(&cluster.file, &[]).expect("it was written");
    assert_eq!(LeftLocks::look(&file).expect("it answers"), Some(0));
    drop(load);
    cluster.down();
    for mut server in returned {
        server.wait().expect("it has ended");
    }
}

/// The first memory server that lives counts the promotion, and locks; others do not.
fn check_metrics(cluster: &Cluster, status: &Value) {
    let servers = status["servers"].as_array().expect("a list");
    let memory = servers.iter().filter(|server| server["role"] == "memory");
    let addresses: Vec<&str> = memory.filter_map(|server| server["control"].as_str()).collect();
    let [first, other] = addresses[..] else { panic!("two live: {status:#}") };
    assert_eq!(cluster.metric(first, "namdb_promotions_total"), 1.0);
    assert!(cluster.metric(first, "namdb_promotion_seconds") > 0.0);
    assert_eq!(cluster.metric(first, "namdb_left_locks"), 0.0);
    assert_eq!(cluster.metric(other, "namdb_promotions_total"), 0.0);
    let page = get(other, "/metrics", &token(&cluster.file));
    assert!(!page.lines().any(|line| line.starts_with("namdb_left_locks ")), "{page}");
    for address in addresses {
        assert_eq!(cluster.metric(address, "namdb_closed_regions"), 0.0);
    }
}

#[test]
fn a_memory_server_that_dies_loses_nothing() {
    a_death_loses_nothing(1, Signal::KILL);
}

#[test]
fn the_first_memory_server_that_dies_loses_nothing() {
    a_death_loses_nothing(0, Signal::KILL);
}

#[test]
fn a_memory_server_that_leaves_loses_nothing() {
    a_death_loses_nothing(2, Signal::TERM);
}

#[test]
fn a_memory_server_that_stands_still_is_replaced_and_ends() {
    a_pause_loses_nothing(1);
}

#[test]
fn the_first_memory_server_that_stands_still_is_replaced_and_ends() {
    a_pause_loses_nothing(0);
}

/// The client's side, this program started again: counts one row up until it is killed. Does
/// nothing in an ordinary run of the tests.
#[test]
fn client() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let db = namdb::connect(file).expect("the cluster runs");
    let table = RecordTable::<Counter>::open(&db).expect("it was made");
    let mut session = db.session();
    loop {
        // Others write the row, too.
        let _ = count_up(&mut session, table, 0);
        println!("{CLIENT_WORKS}");
    }
}

/// A client that stands still cannot tell that it has drained. Its lease is too long to end it, so
/// the server that promotes waits for it, and then evicts it.
#[test]
fn a_promotion_waits_for_a_process_that_stands_still_and_then_evicts_it() {
    let cluster = Cluster::up_patiently("replicas-undrained", OPTIONS);
    let load = Load::new(&cluster);
    let mut command = Command::new(std::env::current_exe().expect("this test runs"));
    command.args(["--exact", "replicas::client", "--nocapture"]).env(FILE, &cluster.file);
    let mut client = command.stdout(Stdio::piped()).spawn().expect("a test starts again");
    let mut lines = BufReader::new(client.stdout.take().expect("a pipe")).lines();
    while lines.next().expect("it works").expect("it is text") != CLIENT_WORKS {}
    let process = Pid::from_child(&client);
    kill_process(process, Signal::STOP).expect("it runs");
    let took = load.run(cluster.processes("memory")[1], Signal::KILL);
    assert!(took > DRAIN, "nobody has waited for the client: {took:?}");
    let file = ClusterFile::load(&cluster.file, &[]).expect("it was written");
    let map = Registry::open(&file).and_then(|registry| registry.map()).expect("it answers");
    let evicted: Vec<Evidence> = map.evicted.iter().map(|eviction| eviction.evidence).collect();
    assert!(evicted.contains(&Evidence::Undrained), "{:?}", map.evicted);
    client.kill().expect("it is ours");
    client.wait().expect("it has ended");
    load.check_rows(&cluster, 1);
    assert_eq!(LeftLocks::look(&file).expect("it answers"), Some(0));
}

/// The server that promotes dies, too, some time after the other: the next one begins again.
#[test]
fn a_server_that_dies_while_it_promotes_is_followed_by_the_next() {
    for after_ms in [0, 5, 20, 60] {
        let name = format!("replicas-coordinator-{after_ms}");
        let cluster =
            Cluster::up(&name, "--fabric tcp --memory-servers 3 --replicas 3 --memory 32M");
        let load = Load::new(&cluster);
        let processes = cluster.processes("memory");
        load.run_hurt(&format!("two deaths, {after_ms} ms apart"), || {
            kill_process(processes[1], Signal::KILL).expect("it runs");
            std::thread::sleep(Duration::from_millis(after_ms));
            kill_process(processes[0], Signal::KILL).expect("it runs");
        });
        load.check(&cluster);
        let file = ClusterFile::load(&cluster.file, &[]).expect("it was written");
        assert_eq!(LeftLocks::look(&file).expect("it answers"), Some(0));
    }
}

//! Members in processes of their own, which may be killed: this test binary, started again.

use crate::world::{client, memory_server, sleep_ms};
use fabric::Secret;
use membership::{ClusterFile, Detector, Lease, Registry};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The role of the process, and its cluster file.
const ROLE: &str = "MEMBERSHIP_TEST_ROLE";
const FILE: &str = "MEMBERSHIP_TEST_FILE";
/// Prefix of its lines, among those of the test harness.
const MARK: &str = "child: ";

/// A process that joins the cluster.
pub struct Process {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Process {
    /// Starts a process that becomes a memory server with this number, or a compute server.
    pub fn start(cluster: &Path, number: Option<u16>) -> Self {
        let role = number.map_or("compute".to_owned(), |number| number.to_string());
        let mut child = Command::new(std::env::current_exe().expect("this test runs"))
            .args(["--exact", "child::process", "--nocapture"])
            .env(ROLE, role)
            .env(FILE, cluster)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a test starts again");
        let lines = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, lines }
    }

    /// Returns the next line that it prints.
    pub fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            let count = self.lines.read_line(&mut line).expect("it writes text");
            assert!(count > 0, "the process ended without a word");
            if let Some((_, said)) = line.trim_end().split_once(MARK) {
                return said.to_owned();
            }
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is ours");
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it is ours");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The secret of the tests' clusters.
pub fn secret() -> Secret {
    Secret::new([7; 32])
}

/// Joins, prints the result, sends heartbeats, and prints when the lease is lost and why. Does
/// nothing when run as a test.
#[test]
fn process() {
    let (Ok(role), Ok(file)) = (std::env::var(ROLE), std::env::var(FILE)) else { return };
    let cluster = ClusterFile::load(file.as_ref(), &[]).expect("a test wrote it");
    let member = match role.parse() {
        Ok(number) => memory_server(number),
        Err(_) => client(),
    };
    let identity = member.identity;
    let registry = Registry::open(&cluster).expect("the test has opened it");
    let lease = match registry.join(member, Duration::ZERO) {
        Ok(lease) => lease,
        Err(error) => return println!("{MARK}refused: {error}"),
    };
    let _detector = detector(&cluster, &registry, &lease);
    println!("{MARK}joined {identity}");
    while !lease.is_lost() {
        sleep_ms(1);
    }
    let clock = lease.clock();
    let why = clock.eviction().map(ToString::to_string).unwrap_or_default();
    println!("{MARK}lost: {why}");
}

fn detector(cluster: &ClusterFile, registry: &Registry, lease: &Lease) -> Detector {
    let map = registry.map().expect("it answers");
    Detector::start(cluster, &secret(), registry, lease, (None, &map)).expect("a socket")
}

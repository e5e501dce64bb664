//! A program that counts in a table: this test's binary, started again.
#![allow(clippy::disallowed_methods, reason = "processes are waited for by the real clock")]

use namdb::{Isolation, RecordTable, Retry, Session, TransactionError, record};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

const FILE: &str = "NAMDB_DETECTOR_TEST_FILE";
/// Begins the lines of the program, among those of the test harness.
const MARK: &str = "peer: ";
pub const ROWS: i64 = 50;

record! {
    pub struct Counter in "counter" {
        key { number: i64 }
        value: i64,
    }
}

/// Adds 1 to a row.
pub fn count_up(
    session: &mut Session,
    table: RecordTable<Counter>,
    number: i64,
) -> Result<(), TransactionError> {
    session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
        let value = txn.get(table, number)?.map_or(0, |counter| counter.value) + 1;
        txn.upsert(table, &Counter { number, value }).map(drop)
    })
}

/// A program that has joined the cluster and counts until it fails or is killed.
pub struct Peer {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts it, and waits until it counts.
    pub fn start(cluster: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this test runs"));
        command.args(["--exact", "peer::process", "--nocapture"]).env(FILE, cluster);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a test starts again");
        let lines = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut peer = Self { child, lines };
        assert_eq!(peer.line().as_deref(), Some("counts"));
        peer
    }

    /// Its next line; `None` if it has ended.
    pub fn line(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).expect("it writes text") == 0 {
                return None;
            }
            if let Some((_, said)) = line.trim_end().split_once(MARK) {
                return Some(said.to_owned());
            }
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// The signal that has ended it.
    pub fn fatal_signal(&mut self) -> Option<i32> {
        self.child.wait().expect("it was started here").signal()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program's side: does nothing in an ordinary run of the tests.
#[test]
fn process() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let db = namdb::connect(file).expect("the cluster runs");
    let table = RecordTable::<Counter>::open_or_create(&db, Default::default());
    let table = table.expect("it has these columns");
    let mut session = db.session();
    for number in 0.. {
        // Others write the same rows, so some transactions fail.
        if let Err(TransactionError::ClusterLost(why)) =
            count_up(&mut session, table, number % ROWS)
        {
            return say(&format!("lost: {why}"));
        }
        if number == ROWS {
            say("counts");
        }
    }
}

fn say(what: &str) {
    let line = format!("{MARK}{what}\n");
    std::io::stdout().write_all(line.as_bytes()).expect("the test reads");
}

//! Locks of a client that was killed in the middle of commits: where they are shown, and by which
//! words.
#![allow(clippy::disallowed_methods, reason = "processes are hurt at moments of the real clock")]

use super::cluster::Cluster;
use super::support::{namdb, text};
use membership::ClusterFile;
use namdb::{Isolation, RecordTable, Retry, Session, TransactionError, record};
use namdb_program::servers::left_locks::LeftLocks;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The cluster's file, for the client.
const FILE: &str = "NAMDB_TEST_LEFT_LOCKS_FILE";
const PATIENCE: Duration = Duration::from_secs(20);
/// Threads of the client, and the rows that they write.
const THREADS: u32 = 4;
const ROWS: i32 = 20;

record! {
    /// A row of the benchmark.
    struct Account in "account" {
        key { a_id: i32 }
        a_balance: i64,
    }
}

/// The client's side, this program started again: writes the benchmark's rows, as they are, until
/// it is killed. Does nothing in an ordinary run of the tests.
#[test]
fn client() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let db = namdb::connect(file).expect("the cluster runs");
    let start = Instant::now();
    let table = loop {
        match RecordTable::<Account>::open(&db) {
            Ok(table) => break table,
            Err(error) => assert!(start.elapsed() < PATIENCE, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let mut session = db.session();
            scope.spawn(move || {
                for round in 0.. {
                    // Others write these rows, too.
                    let _ = write(&mut session, table, (round + thread as i32) % ROWS);
                }
            });
        }
    });
}

fn write(
    session: &mut Session,
    table: RecordTable<Account>,
    a_id: i32,
) -> Result<(), TransactionError> {
    session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
        match txn.get(table, a_id)? {
            Some(account) => txn.upsert(table, &account).map(drop),
            None => Ok(()),
        }
    })
}

fn start_client(file: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this test runs"));
    command.args(["--exact", "left_locks::client"]).env(FILE, file);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a test starts again")
}

/// Stops the client at moments of its work until it holds locks, and kills it then.
fn kill_with_locks(file: &Path, mut client: Child) {
    let cluster = ClusterFile::load(file, &[]).expect("it was written");
    let process = Pid::from_child(&client);
    let start = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(200));
        kill_process(process, Signal::STOP).expect("it runs");
        let locks = LeftLocks::look(&cluster).expect("the memory server answers");
        if locks.expect("the tables are small") > 0 {
            break;
        }
        kill_process(process, Signal::CONT).expect("it is there");
        assert!(start.elapsed() < PATIENCE, "it never holds a lock when it is stopped");
    }
    client.kill().expect("it is there");
    client.wait().expect("it was started here");
}

fn locks_of_a_dead_client_are_shown(fabric: &str) {
    let options = format!("--fabric {fabric} --memory 64M --compute-servers 1");
    let cluster = Cluster::up(&format!("locks-{fabric}"), &options);
    let bench = format!("bench bank --records {ROWS} --seconds 6 --warm-up 0");
    let bench = format!("{bench} --cluster {}", cluster.file.display());
    let run = std::thread::spawn(move || namdb(&bench));
    let client = start_client(&cluster.file);
    std::thread::sleep(Duration::from_secs(1));
    kill_with_locks(&cluster.file, client);
    let ended = run.join().expect("it does not panic");
    let told = text(&ended.stdout) + &text(&ended.stderr);
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("locked by a process that has left or stands still"), "{told}");
    assert!(words.contains("LEFT LOCKED") && !words.contains("DAMAGED"), "{told}");
    let status = cluster.run("status --json -");
    let report: Value = serde_json::from_str(&text(&status.stdout)).expect("it is JSON");
    let left = report["left_locks"].as_u64().expect("a number");
    assert!(left > 0, "{report:#}");
    let servers = report["servers"].as_array().expect("a list");
    let memory = servers.iter().find(|server| server["role"] == "memory").expect("it runs");
    let control = memory["control"].as_str().expect("it has an address");
    let start = Instant::now();
    while cluster.metric(control, "namdb_left_locks") != left as f64 {
        assert!(start.elapsed() < PATIENCE, "the metric does not show {left} locks");
        std::thread::sleep(Duration::from_millis(200));
    }
    let doctor = cluster.run("doctor");
    let found = text(&doctor.stdout);
    assert_eq!(doctor.status.code(), Some(1), "{found}");
    assert!(found.contains("problem  D19-left-locks"), "{found}");
    assert!(found.contains("load the data again"), "{found}");
}

#[test]
fn locks_of_a_dead_client_are_shown_on_shared_memory() {
    locks_of_a_dead_client_are_shown("shm");
}

#[test]
fn locks_of_a_dead_client_are_shown_over_messages() {
    locks_of_a_dead_client_are_shown("tcp");
}

//! Locks of a client that stands still in the middle of commits are shown; when it is killed, it is
//! recovered, and nothing remains of it.
#![allow(clippy::disallowed_methods, reason = "processes are hurt at moments of the real clock")]

use super::cluster::Cluster;
use super::support::text;
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
/// Time in which a dead client is recovered.
const RECOVERED: Duration = Duration::from_secs(5);
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

/// Starts a benchmark of the rows that runs until it is interrupted.
fn start_bench(file: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_namdb-lab"));
    command.args(["bench", "bank", "--seconds", "600", "--warm-up", "0", "--records"]);
    command.arg(ROWS.to_string()).arg("--cluster").arg(file);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program was built")
}

/// Stops the client at moments of its work until it holds locks.
fn stop_with_locks(cluster: &ClusterFile, client: &Child) {
    let process = Pid::from_child(client);
    let start = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(200));
        kill_process(process, Signal::STOP).expect("it runs");
        let locks = LeftLocks::look(cluster).expect("the memory server answers");
        if locks.expect("the tables are small") > 0 {
            break;
        }
        kill_process(process, Signal::CONT).expect("it is there");
        assert!(start.elapsed() < PATIENCE, "it never holds a lock when it is stopped");
    }
}

fn status(cluster: &Cluster) -> Value {
    let status = cluster.run("status --json -");
    serde_json::from_str(&text(&status.stdout)).expect("it is JSON")
}

fn locks_are_shown(cluster: &Cluster) {
    let left = status(cluster)["left_locks"].as_u64().expect("a number");
    assert!(left > 0, "{:#}", status(cluster));
    let doctor = cluster.run("doctor");
    let found = text(&doctor.stdout);
    assert_eq!(doctor.status.code(), Some(1), "{found}");
    assert!(found.contains("problem  D19-left-locks"), "{found}");
    assert!(found.contains("load the data again"), "{found}");
}

/// Waits until the dead client is recovered; then nothing of it may remain.
fn nothing_remains(cluster: &Cluster) {
    let start = Instant::now();
    while status(cluster)["left_locks"] != 0 {
        assert!(start.elapsed() < RECOVERED, "{:#}", status(cluster));
    }
    let doctor = text(&cluster.run("doctor").stdout);
    assert!(!doctor.contains("problem  D19-left-locks"), "{doctor}");
}

fn locks_of_a_dead_client_are_released(fabric: &str) {
    let options = format!("--fabric {fabric} --memory 64M --compute-servers 1");
    let cluster = Cluster::up_patiently(&format!("locks-{fabric}"), &options);
    let bench = start_bench(&cluster.file);
    let mut client = start_client(&cluster.file);
    std::thread::sleep(Duration::from_secs(1));
    let file = ClusterFile::load(&cluster.file, &[]).expect("it was written");
    stop_with_locks(&file, &client);
    locks_are_shown(&cluster);
    client.kill().expect("it is there");
    client.wait().expect("it was started here");
    nothing_remains(&cluster);
    // Its checks find the locks that there are when it ends, so it ends now.
    kill_process(Pid::from_child(&bench), Signal::INT).expect("it runs");
    let ended = bench.wait_with_output().expect("it was started here");
    let told = text(&ended.stdout) + &text(&ended.stderr);
    assert!(ended.status.success() && told.contains("The database is consistent"), "{told}");
    // A benchmark that needs all 64 slots of the cluster.
    let all = "bench smallbank --records 100 --threads 1 --lanes 64 --seconds 0.3 --warm-up 0";
    let report = cluster.report(&format!("{all} --compute-servers 0"));
    let checks = report["checks"].as_array().expect("a list");
    assert!(checks.iter().all(|check| check["ok"] == true), "{report:#}");
    assert!(report["txn_per_s"].as_f64() > Some(0.0), "{report:#}");
}

#[test]
fn locks_of_a_dead_client_are_released_on_shared_memory() {
    locks_of_a_dead_client_are_released("shm");
}

#[test]
fn locks_of_a_dead_client_are_released_over_messages() {
    locks_of_a_dead_client_are_released("tcp");
}

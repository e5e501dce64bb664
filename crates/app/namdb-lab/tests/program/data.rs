//! Clusters whose memory servers write their memory when they end.
#![allow(clippy::disallowed_methods, reason = "the plug is pulled at moments of the real clock")]

use super::cluster::Cluster;
use super::counter::{Counted, Counter, count_up, design};
use super::support::{is_running, namdb, temporary, text};
use membership::ClusterFile;
use membership::cluster_file::ComputeSettings;
use namdb::{RecordTable, Session, TransactionError};
use namdb_program::servers::left_locks::LeftLocks;
use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const OPTIONS: &str = "--fabric tcp --memory-servers 3 --memory 32M";
const THREADS: u64 = 3;
pub const ROWS: i64 = 100;
/// How often the power fails.
const FAILURES: u64 = 4;
/// Maximal time for servers to end, and for recovery.
const PATIENCE: Duration = Duration::from_secs(20);

/// A folder of data, which is removed with its owner.
pub struct Data(pub PathBuf);

impl Data {
    pub fn new(name: &str) -> Self {
        Self(temporary(name))
    }

    fn cluster(&self, name: &str) -> Cluster {
        self.cluster_with(name, OPTIONS)
    }

    pub fn cluster_with(&self, name: &str, options: &str) -> Cluster {
        Cluster::up(name, &format!("{options} --data {}", self.0.display()))
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn up(cluster: &Cluster, options: &str) -> std::process::Output {
    namdb(&format!("cluster up --file {} {options}", cluster.file.display()))
}

pub fn down(cluster: &Cluster) -> String {
    let output = namdb(&format!("cluster down --file {}", cluster.file.display()));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stderr)
}

/// Counts rows up until the power has failed.
fn work(
    mut session: Session,
    table: RecordTable<Counter>,
    (first, counted): (i64, &[Counted]),
    has_failed: &AtomicBool,
) {
    for number in (0..ROWS).cycle().skip(first as usize) {
        let outcome = count_up(&mut session, table, number);
        counted[number as usize].note(&outcome);
        match outcome {
            Ok(()) | Err(TransactionError::Unknown) => {}
            Err(_) if has_failed.load(Relaxed) => return,
            Err(error) => panic!("the power has not failed yet: {error}"),
        }
    }
}

/// Stops all memory servers at one moment, as a host does whose power ends.
fn pull_the_plug(cluster: &Cluster) {
    end_all(&cluster.processes("memory"));
}

/// Ends these processes at one moment.
pub fn end_all(servers: &[Pid]) {
    for &server in servers {
        kill_process(server, Signal::TERM).expect("it runs");
    }
    let start = Instant::now();
    while servers.iter().any(|server| is_running(*server)) {
        assert!(start.elapsed() < PATIENCE, "the servers end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Counts rows up, pulls the plug meanwhile, and waits until all servers have ended.
pub fn fail_under_load(cluster: &Cluster, counted: &[Counted], failure: u64) {
    let db = namdb::connect(&cluster.file).expect("the cluster runs");
    let table = RecordTable::<Counter>::open_or_create(&db, design()).expect("it is usable");
    let has_failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let first = (thread * ROWS as u64 / THREADS) as i64;
            let (session, rows) = (db.session(), (first, counted));
            let has_failed = &has_failed;
            scope.spawn(move || work(session, table, rows, has_failed));
        }
        std::thread::sleep(Duration::from_millis(300 + 37 * failure));
        has_failed.store(true, Relaxed);
        pull_the_plug(cluster);
    });
    drop(db);
    down(cluster);
}

#[test]
fn acknowledged_rows_are_there_after_the_power_has_failed() {
    let data = Data::new("power-data");
    let cluster = data.cluster("power");
    let counted = Counted::rows(ROWS);
    for failure in 0..FAILURES {
        fail_under_load(&cluster, &counted, failure);
        let again = up(&cluster, "");
        assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
        Counted::check(&cluster, &counted, 0);
    }
    let (surely, perhaps) = Counted::sums(&counted);
    eprintln!("{surely} acknowledged, {perhaps} unknown");
    assert!(surely > 0);
    let file = ClusterFile::load(&cluster.file, &[]).expect("it was written");
    let start = Instant::now();
    while LeftLocks::look(&file).expect("it answers") != Some(0) {
        assert!(start.elapsed() < PATIENCE, "the dead are recovered");
        std::thread::sleep(Duration::from_millis(50));
    }
    Counted::check(&cluster, &counted, 0);
}

/// Counts the rows up once, in a process that leaves in order.
fn fill(cluster: &Cluster) {
    let db = namdb::connect(&cluster.file).expect("the cluster runs");
    let table = RecordTable::<Counter>::open_or_create(&db, design()).expect("it is usable");
    (0..ROWS).for_each(|row| count_up(&mut db.session(), table, row).expect("nobody disturbs"));
}

pub fn is_empty(cluster: &Cluster) -> bool {
    let db = namdb::connect(&cluster.file).expect("the cluster runs");
    RecordTable::<Counter>::open(&db).is_err()
}

#[test]
fn a_server_that_was_killed_has_no_data_and_says_so() {
    let data = Data::new("killed-data");
    let cluster = data.cluster("killed");
    fill(&cluster);
    let told = down(&cluster);
    assert!(told.contains(&format!("Its data is in {}", data.0.display())), "{told}");
    let refused = up(&cluster, "--accept-loss");
    assert!(text(&refused.stderr).contains("no data of cluster dev is lost"), "nothing is");
    assert_eq!(up(&cluster, "").status.code(), Some(0));
    assert!(!is_empty(&cluster));
    kill_process(cluster.processes("memory")[1], Signal::KILL).expect("it runs");
    let told = namdb(&format!("cluster down --file {}", cluster.file.display()));
    assert_eq!(told.status.code(), Some(2));
    let sentence = text(&told.stderr);
    assert!(sentence.contains("server 1 has ended without writing its data"), "{sentence}");
    let refused = up(&cluster, "");
    assert_eq!(refused.status.code(), Some(2));
    let sentence = text(&refused.stderr);
    assert!(sentence.contains("the data of memory server 1 is lost"), "{sentence}");
    assert!(sentence.contains("--accept-loss"), "{sentence}");
    assert_eq!(up(&cluster, "--accept-loss").status.code(), Some(0));
    assert!(is_empty(&cluster));
    assert!(data.0.join("memory-0/lost-1-image").exists(), "nothing is deleted");
}

#[test]
fn images_of_different_runs_are_no_database() {
    let data = Data::new("mixed-data");
    let cluster = data.cluster("mixed");
    let image = data.0.join("memory-2/image");
    fill(&cluster);
    down(&cluster);
    let old = std::fs::read(&image).expect("it was written");
    assert_eq!(up(&cluster, "").status.code(), Some(0));
    down(&cluster);
    std::fs::write(&image, old).expect("it is ours");
    let refused = up(&cluster, "");
    assert_eq!(refused.status.code(), Some(2));
    let sentence = text(&refused.stderr);
    assert!(sentence.contains("servers 0 and 2 have data of different runs"), "{sentence}");
    std::fs::write(&image, "no image").expect("it is ours");
    let refused = text(&up(&cluster, "").stderr);
    assert!(refused.contains("memory-2/image` is damaged at byte 0"), "{refused}");
    std::fs::remove_file(&image).expect("it is ours");
    let refused = text(&up(&cluster, "").stderr);
    assert!(
        refused.contains("memory server 0 has data, and memory server 2 has none"),
        "{refused}"
    );
    assert_eq!(up(&cluster, "--accept-loss").status.code(), Some(0));
    assert!(is_empty(&cluster));
    assert!(data.0.join("memory-0/lost-1-image").exists(), "nothing is deleted");
}

#[test]
fn a_start_that_fails_behind_the_database_loses_nothing() {
    let data = Data::new("behind-data");
    let cluster = data.cluster("behind");
    fill(&cluster);
    down(&cluster);
    let whole = std::fs::read_to_string(&cluster.file).expect("it was written");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("some port is free");
    let address = taken.local_addr().expect("it is bound");
    let mut with_compute = ClusterFile::load(&cluster.file, &[]).expect("it was written");
    let listen = address.to_string();
    with_compute.compute.push(ComputeSettings { listen, ..ComputeSettings::default() });
    std::fs::write(&cluster.file, with_compute.to_toml()).expect("it is ours");
    let refused = up(&cluster, "");
    assert_eq!(refused.status.code(), Some(2));
    let sentence = text(&refused.stderr);
    assert!(sentence.contains("compute server 0 did not start"), "{sentence}");
    std::fs::write(&cluster.file, whole).expect("it is ours");
    let again = up(&cluster, "");
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert!(!is_empty(&cluster));
}

#[test]
fn a_cluster_that_is_in_use_accepts_no_loss() {
    let data = Data::new("used-data");
    let cluster = data.cluster("used");
    let file = temporary("used-again.toml");
    let mut other = ClusterFile::load(&cluster.file, &[]).expect("it was written");
    other.id.0 ^= 1;
    other.directory = temporary("used-again");
    other.secret = file.with_extension("secret");
    std::fs::write(&file, other.to_toml()).expect("room for a file");
    let again = format!("cluster up --file {} --accept-loss", file.display());
    let refused = text(&namdb(&again).stderr);
    assert!(refused.contains("another process has it open"), "{refused}");
    assert!(data.0.join("memory-0/opened").exists());
    let _ = std::fs::remove_dir_all(other.directory);
    let _ = std::fs::remove_file(other.secret);
    let _ = std::fs::remove_file(file);
}

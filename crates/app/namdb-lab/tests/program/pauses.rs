//! A memory server of a `tcp` cluster that stands still for a while, as in a virtual machine that
//! is moved, while every process lives on.
#![allow(clippy::disallowed_methods, reason = "processes are hurt at moments of the real clock")]

use super::cluster::Cluster;
use super::counter::{Counter, count_up};
use membership::ClusterFile;
use namdb::{RecordTable, Session};
use namdb_program::servers::left_locks::LeftLocks;
use rustix::process::{Signal, kill_process};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Seconds of the pause; the nightly run sets more, so that the connections are lost, too.
const PAUSE: &str = "NAMDB_TEST_PAUSE_SECONDS";
/// Time of work before the pause.
const BEFORE: Duration = Duration::from_secs(1);
/// Time in which every thread must count up every row again without a failure.
const RECOVERY: Duration = Duration::from_secs(10);
const THREADS: usize = 4;
/// Rows, few enough that a lock that is left would be met.
const ROWS: i64 = 20;

/// Counts up one row after the other, until all have been counted up in a row after the pause.
///
/// During the pause transactions fail, and their outcome may be unknown. Commits per second before
/// and after it would tell more, but they change with all that runs beside this test.
fn work(mut session: Session, table: RecordTable<Counter>, resumed: &OnceLock<Instant>) {
    let (mut number, mut in_a_row) = (0, 0);
    while in_a_row < ROWS {
        let since = resumed.get().map(Instant::elapsed);
        assert!(since.is_none_or(|since| since < RECOVERY), "{in_a_row} rows in a row");
        let counted = count_up(&mut session, table, number);
        in_a_row = if since.is_some() && counted.is_ok() { in_a_row + 1 } else { 0 };
        number = (number + 1) % ROWS;
    }
}

/// Lets the memory server stand still for a while.
fn pause(cluster: &Cluster, pause: Duration) {
    let memory = cluster.processes("memory")[0];
    kill_process(memory, Signal::STOP).expect("it runs");
    std::thread::sleep(pause);
    kill_process(memory, Signal::CONT).expect("it is there");
}

#[test]
fn a_paused_memory_server_leaves_no_locks_and_work_goes_on() {
    let seconds = std::env::var(PAUSE).map_or(3, |pause| pause.parse().expect("a number"));
    let cluster = Cluster::up("pause", "--fabric tcp --memory 64M");
    let db = namdb::connect(&cluster.file).expect("the cluster runs");
    let table = RecordTable::<Counter>::open_or_create(&db, Default::default());
    let table = table.expect("it is new");
    let resumed = OnceLock::new();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let (session, resumed) = (db.session(), &resumed);
            scope.spawn(move || work(session, table, resumed));
        }
        std::thread::sleep(BEFORE);
        pause(&cluster, Duration::from_secs(seconds));
        resumed.set(Instant::now()).expect("it is the only pause");
    });
    let file = ClusterFile::load(&cluster.file, &[]).expect("it was written");
    assert_eq!(LeftLocks::look(&file).expect("it answers"), Some(0));
    let mut session = db.session();
    for number in 0..ROWS {
        count_up(&mut session, table, number).expect("no row is locked");
    }
}

//! A memory server of a `tcp` cluster that stands still for a while, as in a virtual machine that
//! is moved, while every process lives on.
#![allow(clippy::disallowed_methods, reason = "processes are hurt at moments of the real clock")]

use super::cluster::Cluster;
use membership::ClusterFile;
use namdb::{Isolation, RecordTable, Retry, Session, TransactionError, record};
use namdb_program::servers::left_locks::LeftLocks;
use rustix::process::{Signal, kill_process};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Seconds of the pause; the nightly run sets more, so that the connections are lost, too.
const PAUSE: &str = "NAMDB_TEST_PAUSE_SECONDS";
/// Time over which a throughput is measured.
const WINDOW: Duration = Duration::from_secs(1);
/// Time in which the throughput must come back.
const RECOVERY: Duration = Duration::from_secs(10);
const THREADS: i64 = 4;
/// Rows, few enough that a lock that is left would be met.
const ROWS: i64 = 20;

record! {
    struct Counter in "counter" {
        key { number: i64 }
        value: i64,
    }
}

fn count_up(
    session: &mut Session,
    table: RecordTable<Counter>,
    number: i64,
) -> Result<(), TransactionError> {
    session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
        let value = txn.get(table, number)?.map_or(0, |counter| counter.value) + 1;
        txn.upsert(table, &Counter { number, value }).map(drop)
    })
}

fn per_second(commits: &AtomicU64) -> f64 {
    let (start, before) = (Instant::now(), commits.load(Relaxed));
    std::thread::sleep(WINDOW);
    (commits.load(Relaxed) - before) as f64 / start.elapsed().as_secs_f64()
}

/// Lets the memory server stand still while others count; returns the commits per second before,
/// and those that were reached afterwards.
fn paused(cluster: &Cluster, pause: Duration, commits: &AtomicU64) -> (f64, f64) {
    let memory = cluster.processes("memory")[0];
    std::thread::sleep(WINDOW);
    let before = per_second(commits);
    kill_process(memory, Signal::STOP).expect("it runs");
    std::thread::sleep(pause);
    kill_process(memory, Signal::CONT).expect("it is there");
    let start = Instant::now();
    let mut after = 0.0;
    while after < before / 2.0 && start.elapsed() < RECOVERY {
        after = per_second(commits);
    }
    (before, after)
}

#[test]
fn a_paused_memory_server_leaves_no_locks_and_its_throughput_comes_back() {
    let pause = std::env::var(PAUSE).map_or(3, |pause| pause.parse().expect("a number"));
    let cluster = Cluster::up("pause", "--fabric tcp --memory 64M");
    let db = namdb::connect(&cluster.file).expect("the cluster runs");
    let table = RecordTable::<Counter>::open_or_create(&db, Default::default());
    let table = table.expect("it is new");
    let (is_over, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let (before, after) = std::thread::scope(|scope| {
        let (is_over, commits) = (&is_over, &commits);
        for thread in 0..THREADS {
            let mut session = db.session();
            scope.spawn(move || {
                for round in 0.. {
                    if is_over.load(Relaxed) {
                        return;
                    }
                    // During the pause transactions fail, and their outcome may be unknown.
                    let counted = count_up(&mut session, table, (round + thread) % ROWS);
                    commits.fetch_add(u64::from(counted.is_ok()), Relaxed);
                }
            });
        }
        let measured = paused(&cluster, Duration::from_secs(pause), commits);
        is_over.store(true, Relaxed);
        measured
    });
    assert!(before > 0.0 && after >= before / 2.0, "{after} commits per second, {before} before");
    let file = ClusterFile::load(&cluster.file, &[]).expect("it was written");
    assert_eq!(LeftLocks::look(&file).expect("it answers"), Some(0));
    let mut session = db.session();
    for number in 0..ROWS {
        count_up(&mut session, table, number).expect("no row is locked");
    }
}

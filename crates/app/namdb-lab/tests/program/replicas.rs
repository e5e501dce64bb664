//! Memory servers of a cluster with replicas that are killed while programs run.
#![allow(clippy::disallowed_methods, reason = "processes are hurt at moments of the real clock")]

use super::cluster::Cluster;
use super::counter::{Counter, count_up};
use super::support::text;
use layout::{PhysicalDesign, Storage};
use membership::ClusterFile;
use namdb::{Isolation, RecordTable, Retry, Session, TransactionError};
use namdb_program::servers::left_locks::LeftLocks;
use rustix::process::{Signal, kill_process};
use serde_json::Value;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const OPTIONS: &str = "--fabric tcp --memory-servers 3 --replicas 2 --memory 32M";
const THREADS: usize = 2;
const ROWS: i64 = 100;
/// Time of work before the death, and behind it.
const WORK: Duration = Duration::from_millis(500);
/// Time in which every thread must count up every row again.
const RECOVERY: Duration = Duration::from_secs(20);

/// A tree with inner nodes, which die with their server.
fn design() -> PhysicalDesign {
    PhysicalDesign { storage: Storage::Tree, node_bytes: 256, ..PhysicalDesign::default() }
}

/// How often a row was counted up, and how often it may have been.
#[derive(Default)]
struct Counted {
    surely: AtomicU64,
    perhaps: AtomicU64,
}

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
        let row = &counted[number as usize];
        match &outcome {
            Ok(()) => row.surely.fetch_add(1, Relaxed),
            Err(TransactionError::Unknown) => row.perhaps.fetch_add(1, Relaxed),
            Err(error) => {
                assert!(since.is_none_or(|since| since < RECOVERY), "{in_a_row} rows: {error}");
                0
            }
        };
        in_a_row = if since.is_some() && outcome.is_ok() { in_a_row + 1 } else { 0 };
        number = (number + 1) % ROWS;
    }
}

fn a_death_loses_nothing(number: usize, signal: Signal) {
    let cluster = Cluster::up(&format!("replicas-{number}-{signal:?}"), OPTIONS);
    let db = namdb::connect(&cluster.file).expect("the cluster runs");
    let table = RecordTable::<Counter>::open_or_create(&db, design());
    let table = table.expect("it is new");
    let counted: Vec<Counted> = (0..ROWS).map(|_| Counted::default()).collect();
    let died = OnceLock::new();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let (session, counted, died) = (db.session(), &counted, &died);
            scope.spawn(move || work(session, table, counted, died));
        }
        std::thread::sleep(WORK);
        kill_process(cluster.processes("memory")[number], signal).expect("it runs");
        died.set(Instant::now()).expect("it is the only death");
    });
    let seconds = died.get().expect("it is set").elapsed().as_secs_f64();
    eprintln!("all rows were counted up {seconds:.3} s after the death");
    let values = values(&cluster);
    for ((row, value), counted) in (0..).zip(values).zip(&counted) {
        let surely = counted.surely.load(Relaxed);
        let possible = surely..=surely + counted.perhaps.load(Relaxed);
        assert!(possible.contains(&value), "row {row} is {value}, {possible:?} were counted");
    }
    let status = cluster.run("status --json -");
    let status: Value = serde_json::from_str(&text(&status.stdout)).expect("it is JSON");
    assert_eq!(status["state"], "incomplete", "{status:#}");
    let moved = serde_json::json!([
        { "number": number, "served_by": (number + 1) % 3, "replicas": 1 }
    ]);
    assert_eq!(status["regions"], moved, "{status:#}");
    let again = cluster.run(&format!("memory-server --number {number}"));
    assert_eq!(again.status.code(), Some(2));
    let told = text(&again.stderr);
    assert!(told.contains("goes on with the replicas"), "{told}");
    let file = ClusterFile::load(&cluster.file, &[]).expect("it was written");
    assert_eq!(LeftLocks::look(&file).expect("it answers"), Some(0));
}

/// The values of all rows, as a program reads them that has just joined: through the tree, and
/// through the index.
fn values(cluster: &Cluster) -> Vec<u64> {
    let db = namdb::connect(&cluster.file).expect("the cluster runs");
    let table = RecordTable::<Counter>::open(&db).expect("it is there");
    let by_value = Counter::by_value(&db).expect("it is there");
    let read = db.session().transaction(Isolation::Snapshot, Retry::default(), |txn| {
        let mut values = Vec::new();
        for number in 0..ROWS {
            let row = txn.get(table, number)?.expect("it was counted up");
            let same = txn.index(by_value).get(row.value)?;
            assert!(same.contains(&row), "{row:?} is not among {same:?}");
            values.push(row.value as u64);
        }
        Ok::<_, TransactionError>(values)
    });
    read.expect("readable")
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

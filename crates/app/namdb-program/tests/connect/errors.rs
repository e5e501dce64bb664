//! Errors of a program whose cluster is not there, is full, or dies.
#![allow(clippy::disallowed_methods, reason = "errors have deadlines by the real clock")]

use super::cluster::Cluster;
use super::tables::{Counter, count_up};
use membership::ClusterFile;
use namdb::{Db, Isolation, OpenError, RecordTable, Retry, TransactionError};
use std::path::Path;
use std::time::{Duration, Instant};

/// No error takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

fn refused(file: &Path) -> String {
    let start = Instant::now();
    let error = namdb::connect(file).map(drop).expect_err("it cannot be joined");
    assert!(start.elapsed() < PATIENCE);
    assert!(matches!(error, OpenError::Connect { .. }));
    let sentence = error.to_string();
    let begin = format!("cannot join the cluster of {}: ", file.display());
    assert!(sentence.starts_with(&begin), "{sentence}");
    sentence
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let sentence = refused(Path::new("/nowhere/namdb.toml"));
    assert!(sentence.contains("`namdb cluster up` writes one"), "{sentence}");
}

#[test]
fn a_cluster_that_is_down_is_an_error_with_the_way_to_start_it() {
    let cluster = Cluster::up("down", "shm");
    cluster.down();
    let sentence = refused(&cluster.file);
    assert!(sentence.contains("is not running"), "{sentence}");
    assert!(sentence.contains("start it with `namdb cluster up`"), "{sentence}");
    cluster.start("");
    assert!(namdb::connect(&cluster.file).is_ok(), "it runs again");
}

/// A cluster has 64 slots. The transaction that finds none says so, and one that is retried when a
/// slot is free runs.
fn all_slots_are_taken(fabric: &str, programs: usize, sessions: usize) {
    let cluster = Cluster::up("full", fabric);
    let dbs: Vec<Db> =
        (0..programs).map(|_| namdb::connect(&cluster.file).expect("the cluster runs")).collect();
    let mut taken: Vec<_> = dbs.iter().flat_map(|db| (0..sessions).map(|_| db.session())).collect();
    let running = taken.iter_mut().map(|session| session.begin(Isolation::Snapshot));
    let running: Vec<_> = running.collect::<Result<_, _>>().expect("64 slots are there");
    let late = namdb::connect(&cluster.file).expect("joining takes no slot");
    let start = Instant::now();
    let error = late.session().begin(Isolation::Snapshot).map(drop).expect_err("no slot is free");
    assert!(start.elapsed() < PATIENCE);
    assert!(matches!(error, TransactionError::SlotsTaken { slots: 64, .. }), "{error}");
    assert!(error.to_string().contains("all 64 slots of the cluster are taken"), "{error}");
    drop(running);
    drop(taken);
    drop(dbs);
    late.session().begin(Isolation::Snapshot).map(drop).expect("slots are free again");
}

#[test]
fn a_cluster_in_shared_memory_whose_slots_are_taken_says_so() {
    all_slots_are_taken("shm", 4, 16);
}

#[test]
fn a_cluster_over_messages_whose_slots_are_taken_says_so() {
    all_slots_are_taken("tcp", 1, 64);
}

/// The entry of a member in the registry is its lease.
#[test]
fn a_lost_lease_is_reported() {
    let cluster = Cluster::up("lease", "tcp");
    let db = namdb::connect(&cluster.file).expect("the cluster runs");
    let counters = RecordTable::<Counter>::open_or_create(&db, Default::default());
    let counters = counters.expect("it is new");
    let mut session = db.session();
    count_up(&mut session, counters).expect("the cluster runs");
    let directory = ClusterFile::load(&cluster.file, &[]).expect("it is written").directory;
    std::fs::remove_file(directory.join("registry/compute-0")).expect("it is the first one");
    let start = Instant::now();
    let error = loop {
        match count_up(&mut session, counters) {
            // A commit that was under way when the servers refused this process may have an unknown
            // outcome.
            Ok(_) | Err(TransactionError::Unknown) => {
                assert!(start.elapsed() < PATIENCE, "nobody misses the lease");
            }
            Err(error) => break error,
        }
    };
    assert!(matches!(error, TransactionError::ClusterLost(_)), "{error:?}");
    assert!(error.to_string().contains("lost its lease of"), "{error}");
    drop((session, db));
    assert!(namdb::connect(&cluster.file).is_ok(), "it joins as a new member");
}

/// A memory server dies between two statements of a transaction.
fn a_memory_server_dies(fabric: &str) {
    let cluster = Cluster::up("death", fabric);
    let db = namdb::connect(&cluster.file).expect("the cluster runs");
    let counters = RecordTable::<Counter>::open_or_create(&db, Default::default());
    let counters = counters.expect("it is new");
    let mut session = db.session();
    count_up(&mut session, counters).expect("the cluster runs");
    let start = Instant::now();
    let mut name = 0;
    let died = session.transaction(Isolation::Serializable, Retry::default(), |txn| {
        txn.upsert(counters, &Counter { name: 7, value: 0 })?;
        if name == 0 {
            cluster.kill_memory_server(1);
        }
        // Half of the keys are on the dead memory server, until it is missed.
        while start.elapsed() < PATIENCE {
            name += 1;
            txn.get(counters, name)?;
        }
        namdb::Ok(())
    });
    let error = died.expect_err("the memory server is dead");
    assert!(start.elapsed() < PATIENCE);
    assert!(matches!(error, TransactionError::ClusterLost(_)), "{error:?}");
    let lost = "the database is lost with memory server 1, which stopped";
    assert!(error.to_string().contains(lost), "{error}");
    let start = Instant::now();
    let error = count_up(&mut session, counters).expect_err("the memory server is dead");
    assert!(start.elapsed() < Duration::from_secs(1), "it is known by now");
    assert!(error.to_string().contains(lost), "{error}");
    assert!(db.memory_usage().is_err());
    drop((session, db));
    let sentence = refused(&cluster.file);
    assert!(sentence.contains(lost), "{sentence}");
}

#[test]
fn a_memory_server_that_dies_in_shared_memory_is_reported() {
    a_memory_server_dies("shm");
}

#[test]
fn a_memory_server_that_dies_over_messages_is_reported() {
    a_memory_server_dies("tcp");
}

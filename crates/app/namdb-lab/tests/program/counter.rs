//! Rows that tests count up.

use super::cluster::Cluster;
use layout::{PhysicalDesign, Storage};
use namdb::{Isolation, RecordTable, Retry, Session, TransactionError, record};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

record! {
    pub struct Counter in "counter" {
        key { number: i64 }
        value: i64,
    }
    index by_value(value);
}

/// Counts one row up, in a transaction of its own.
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

/// A tree with inner nodes on a memory server.
pub fn design() -> PhysicalDesign {
    PhysicalDesign { storage: Storage::Tree, node_bytes: 256, ..PhysicalDesign::default() }
}

/// How often a row was counted up, and how often it may have been.
#[derive(Default)]
pub struct Counted {
    surely: AtomicU64,
    perhaps: AtomicU64,
}

impl Counted {
    /// Those of this many rows.
    pub fn rows(count: i64) -> Vec<Self> {
        (0..count).map(|_| Self::default()).collect()
    }

    /// Takes note of an attempt to count up.
    pub fn note(&self, outcome: &Result<(), TransactionError>) {
        match outcome {
            Ok(()) => drop(self.surely.fetch_add(1, Relaxed)),
            Err(TransactionError::Unknown) => drop(self.perhaps.fetch_add(1, Relaxed)),
            Err(_) => {}
        }
    }

    /// The sums over rows: counted up, and perhaps counted up.
    pub fn sums(rows: &[Self]) -> (u64, u64) {
        let sum = |of: fn(&Self) -> &AtomicU64| rows.iter().map(|row| of(row).load(Relaxed)).sum();
        (sum(|row| &row.surely), sum(|row| &row.perhaps))
    }

    /// Checks the rows from `first` on, as a program reads them that has just joined: through the
    /// tree, and through the index.
    pub fn check(cluster: &Cluster, rows: &[Self], first: usize) {
        Self::check_at(&cluster.file, rows, first);
    }

    /// Likewise, in the cluster of this file.
    pub fn check_at(file: &Path, rows: &[Self], first: usize) {
        let db = namdb::connect(file).expect("the cluster runs");
        let table = RecordTable::<Counter>::open(&db).expect("it is there");
        let by_value = Counter::by_value(&db).expect("it is there");
        let read = db.session().transaction(Isolation::Snapshot, Retry::default(), |txn| {
            for (number, counted) in (0..).zip(rows).skip(first) {
                let row = txn.get(table, number)?;
                let value = row.as_ref().map_or(0, |row| row.value);
                let surely = counted.surely.load(Relaxed);
                let possible = surely..=surely + counted.perhaps.load(Relaxed);
                let is_possible = possible.contains(&(value as u64));
                assert!(is_possible, "row {number} is {value}, {possible:?} were counted");
                let same = txn.index(by_value).get(value)?;
                let is_in = row.as_ref().is_none_or(|row| same.contains(row));
                assert!(is_in, "row {number} is not among {same:?}");
            }
            Ok::<_, TransactionError>(())
        });
        read.expect("readable");
    }
}

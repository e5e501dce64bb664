//! What the terminals have done to the table, counted where it was done.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The writes of one terminal. Only its own thread counts, so loads and stores suffice.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Tally {
    updates: AtomicU64,
    inserts: AtomicU64,
    updates_unknown: AtomicU64,
    inserts_unknown: AtomicU64,
}

impl Tally {
    /// Counts the writes of a transaction that committed, or that may have.
    #[inline]
    pub(super) fn add(&self, updates: u64, inserts: u64, is_known: bool) {
        let add = |counter: &AtomicU64, by| counter.store(counter.load(Relaxed) + by, Relaxed);
        match is_known {
            true => (add(&self.updates, updates), add(&self.inserts, inserts)),
            false => (add(&self.updates_unknown, updates), add(&self.inserts_unknown, inserts)),
        };
    }
}

/// The tallies of all terminals there have been.
#[derive(Clone, Debug, Default)]
pub(super) struct Tallies {
    all: Arc<Mutex<Vec<Arc<Tally>>>>,
}

/// The writes of all terminals: at least the committed, at most those and the unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Writes {
    pub(super) updates: RangeInclusive<u64>,
    pub(super) inserts: RangeInclusive<u64>,
}

impl Tallies {
    /// The tally of one more terminal.
    pub(super) fn open(&self) -> Arc<Tally> {
        let tally = Arc::new(Tally::default());
        self.all.lock().expect("no holder panics").push(tally.clone());
        tally
    }

    /// The sums, exact once the terminals have stopped.
    pub(super) fn sum(&self) -> Writes {
        let all = self.all.lock().expect("no holder panics");
        let sum = |field: fn(&Tally) -> &AtomicU64| -> u64 {
            all.iter().map(|tally| field(tally).load(Relaxed)).sum()
        };
        let (updates, inserts) = (sum(|tally| &tally.updates), sum(|tally| &tally.inserts));
        Writes {
            updates: updates..=updates + sum(|tally| &tally.updates_unknown),
            inserts: inserts..=inserts + sum(|tally| &tally.inserts_unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_writes_widen_the_range() {
        let tallies = Tallies::default();
        tallies.open().add(3, 1, true);
        let second = tallies.open();
        second.add(4, 0, true);
        second.add(2, 1, false);
        assert_eq!(tallies.sum(), Writes { updates: 7..=9, inserts: 1..=2 });
    }
}

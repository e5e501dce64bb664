//! Counts of the terminals' writes to the table.

use crate::error::WorkloadError;
use crate::testimony;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The writes of one terminal. Only the terminal's thread counts, so loads and stores suffice.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Tally {
    updates: AtomicU64,
    inserts: AtomicU64,
    updates_unknown: AtomicU64,
    inserts_unknown: AtomicU64,
}

impl Tally {
    /// Adds the writes of another process.
    pub(super) fn take(&self, writes: &Writes) {
        let Writes { updates, inserts } = writes;
        self.add(*updates.start(), *inserts.start(), true);
        let unknown = |range: &RangeInclusive<u64>| range.end().saturating_sub(*range.start());
        self.add(unknown(updates), unknown(inserts), false);
    }

    /// Counts the writes of a transaction that has committed, or may have.
    #[inline]
    pub(super) fn add(&self, updates: u64, inserts: u64, is_known: bool) {
        let add = |counter: &AtomicU64, by| counter.store(counter.load(Relaxed) + by, Relaxed);
        match is_known {
            true => (add(&self.updates, updates), add(&self.inserts, inserts)),
            false => (add(&self.updates_unknown, updates), add(&self.inserts_unknown, inserts)),
        };
    }
}

/// The tallies of all terminals so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Tallies {
    all: Arc<Mutex<Vec<Arc<Tally>>>>,
}

/// The writes of all terminals: at least the committed ones, at most those and the unknown ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Writes {
    pub(super) updates: RangeInclusive<u64>,
    pub(super) inserts: RangeInclusive<u64>,
}

impl Writes {
    /// As text for other processes: the least and the most updates, then inserts.
    pub(super) fn to_text(&self) -> String {
        let Self { updates, inserts } = self;
        testimony::write(&[updates.start(), updates.end(), inserts.start(), inserts.end()])
    }

    /// Parses the text of [`Writes::to_text`].
    pub(super) fn from_text(text: &str) -> Result<Self, WorkloadError> {
        let [updates, updates_most, inserts, inserts_most] = testimony::read(text)?;
        Ok(Self { updates: updates..=updates_most, inserts: inserts..=inserts_most })
    }
}

impl Tallies {
    /// Opens the tally of one more terminal.
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
        let writes = Writes { updates: 7..=9, inserts: 1..=2 };
        assert_eq!(tallies.sum(), writes);
        let others = Tallies::default();
        others.open().take(&Writes::from_text(&writes.to_text()).expect("it was written"));
        assert_eq!(others.sum(), writes);
    }
}

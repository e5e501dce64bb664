//! The cost of transactions of each type: round trips, verbs, bytes and time.

use fabric::Counts;
use workload::tpcc::{TRANSACTION_NAMES, TYPE_COUNT};
use workload::{Finished, TransactionResult};

/// The results of each type.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Kinds([Kind; TYPE_COUNT]);

/// Committed transactions of one type. The cost includes aborted attempts and the garbage
/// collection that the thread did in between.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Kind {
    moved: Counts,
    took_ns: Vec<u64>,
}

impl Kinds {
    /// Adds a transaction, unless it was rolled back or failed.
    pub fn add(&mut self, finished: &Finished, took_ns: u64, moved: Counts) {
        if finished.result == TransactionResult::Committed {
            self.0[finished.kind].add(took_ns, moved);
        }
    }

    /// All types with their names, in the order of the specification.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &Kind)> {
        TRANSACTION_NAMES.into_iter().zip(&self.0)
    }
}

impl Kind {
    /// Adds a committed transaction.
    pub fn add(&mut self, took_ns: u64, moved: Counts) {
        self.moved += moved;
        self.took_ns.push(took_ns);
    }

    /// The sum of their times.
    pub fn total_ns(&self) -> u64 {
        self.took_ns.iter().sum()
    }

    /// The mean time of one of them; 0 if there was none.
    pub fn mean_ns(&self) -> u64 {
        self.total_ns() / self.count().max(1) as u64
    }

    /// Number of committed transactions.
    pub fn count(&self) -> usize {
        self.took_ns.len()
    }

    /// Round trips, verbs and bytes of one transaction, on average.
    pub fn traffic(&self) -> [f64; 3] {
        let Counts { round_trips, verbs, bytes, .. } = self.moved;
        [round_trips, verbs, bytes].map(|all| all as f64 / self.count() as f64)
    }

    /// The given percentile of the latency in microseconds; `None` without transactions.
    pub fn latency_us(&self, percent: usize) -> Option<f64> {
        let mut sorted = self.took_ns.clone();
        sorted.sort_unstable();
        let at = (sorted.len() * percent / 100).min(sorted.len().checked_sub(1)?);
        Some(sorted[at] as f64 / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{AbortCounts, Whereabouts};

    #[test]
    fn committed_transactions_are_counted_by_type() {
        let finished = |kind, result| Finished {
            kind,
            result,
            retries: 0,
            skipped: 0,
            aborts: AbortCounts::default(),
            whereabouts: Whereabouts::default(),
            is_shipped: false,
        };
        let moved = Counts { round_trips: 7, verbs: 30, bytes: 4000, ..Counts::default() };
        let mut kinds = Kinds::default();
        for took_ns in [9000, 1000, 2000] {
            kinds.add(&finished(1, TransactionResult::Committed), took_ns, moved);
        }
        kinds.add(&finished(0, TransactionResult::RolledBack), 5000, moved);
        let of = |name| kinds.named().find(|named| named.0 == name).expect("it is a type").1;
        assert_eq!(of("payment").traffic(), [7.0, 30.0, 4000.0]);
        assert_eq!(
            [50, 99].map(|percent| of("payment").latency_us(percent)),
            [Some(2.0), Some(9.0)]
        );
        assert_eq!((of("new_order").count(), of("new_order").latency_us(50)), (0, None));
    }
}

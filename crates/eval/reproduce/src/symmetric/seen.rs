//! The results of a symmetric cluster.

use crate::busy::Busiest;
use crate::kinds::Kind;
use fabric::{Counts, Env};
use sim::Endpoint;
use std::collections::BTreeMap;
use txn::Abort;
use workload::{Finished, TransactionResult};

/// The results of the window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    window_ns: u64,
    /// For each type, the transactions that committed or failed by their own rules.
    kinds: BTreeMap<usize, Kind>,
    /// All of them together.
    all: Kind,
    committed: BTreeMap<usize, u64>,
    retries: u64,
    /// Transactions that neither committed nor failed by their own rules.
    given_up: u64,
    /// Number of aborted attempts, by type and by the reason's index in [`Abort::ALL`].
    aborts: BTreeMap<(usize, usize), u64>,
    /// The busiest stage of all machines; machine 0 is the oracle's.
    pub busiest: Busiest,
}

impl Seen {
    /// Committed transactions of all types per second.
    pub fn committed_per_s(&self) -> f64 {
        self.per_s(self.committed.values().sum())
    }

    /// Committed transactions of one type per second.
    pub fn kind_per_s(&self, kind: usize) -> f64 {
        self.per_s(self.committed(kind))
    }

    /// Number of committed transactions of one type.
    pub fn committed(&self, kind: usize) -> u64 {
        self.committed.get(&kind).copied().unwrap_or(0)
    }

    /// Ended transactions per second, including those that failed by their own rules.
    pub fn ended_per_s(&self) -> f64 {
        self.per_s(self.all.count() as u64)
    }

    /// Retries in percent of all attempts.
    pub fn abort_percent(&self) -> f64 {
        100.0 * self.retries as f64 / (self.retries + self.all.count() as u64).max(1) as f64
    }

    /// The type and the reason with the most aborted attempts, and their share in percent; `None`
    /// without aborts.
    pub fn most_aborts(&self) -> Option<(usize, Abort, f64)> {
        let all: u64 = self.aborts.values().sum();
        let (&(kind, reason), &count) = self.aborts.iter().max_by_key(|(_, count)| **count)?;
        Some((kind, Abort::ALL[reason], 100.0 * count as f64 / all as f64))
    }

    /// Number of aborted attempts, by type and reason.
    pub fn aborts(&self) -> impl Iterator<Item = (usize, Abort, u64)> {
        self.aborts.iter().map(|(&(kind, reason), &count)| (kind, Abort::ALL[reason], count))
    }

    /// Nanoseconds that were looked at.
    pub fn window_ns(&self) -> u64 {
        self.window_ns
    }

    /// Number of transactions that were given up: if there are any, for example because a memory
    /// server is full, the measurement is not valid.
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    pub fn all(&self) -> &Kind {
        &self.all
    }

    /// The cost of ended transactions of a type; `None` if there was none.
    pub fn kind(&self, kind: usize) -> Option<&Kind> {
        self.kinds.get(&kind)
    }

    /// The given percentile of the latency of a type, in microseconds.
    pub fn kind_us(&self, kind: usize, percent: usize) -> f64 {
        let of = self.kinds.get(&kind);
        of.and_then(|kind| kind.latency_us(percent)).unwrap_or(f64::NAN)
    }

    /// The same over all types.
    pub fn us(&self, percent: usize) -> f64 {
        self.all.latency_us(percent).unwrap_or(f64::NAN)
    }

    fn per_s(&self, count: u64) -> f64 {
        count as f64 * 1e9 / self.window_ns as f64
    }
}

/// Counts the transactions that end within a window.
pub(super) struct Watch {
    from_ns: u64,
    until_ns: u64,
    /// Transactions that ended before the window opened.
    early: u64,
    seen: Seen,
}

impl Watch {
    /// A window that opens `warm_ns` from now.
    pub fn new(now_ns: u64, warm_ns: u64, window_ns: u64) -> Self {
        let from_ns = now_ns + warm_ns;
        let seen = Seen { window_ns, ..Seen::default() };
        Self { from_ns, until_ns: from_ns + window_ns, early: 0, seen }
    }

    pub fn early(&self) -> u64 {
        self.early
    }

    /// Sets the length of the window, which has not ended yet.
    pub fn last(&mut self, window_ns: u64) {
        self.until_ns = self.from_ns + window_ns;
        self.seen.window_ns = window_ns;
    }

    /// Whether clients must not begin another transaction.
    pub fn is_over(&self, env: &Endpoint) -> bool {
        env.now_ns() >= self.until_ns
    }

    /// Adds a transaction that has ended.
    pub fn add(&mut self, now_ns: u64, finished: &Finished, took_ns: u64, moved: Counts) {
        if !(self.from_ns..self.until_ns).contains(&now_ns) {
            self.early += u64::from(now_ns < self.from_ns);
            return;
        }
        let seen = &mut self.seen;
        seen.retries += u64::from(finished.retries);
        for (reason, count) in finished.aborts.iter() {
            *seen.aborts.entry((finished.kind, reason.index())).or_default() += u64::from(count);
        }
        let is_committed = finished.result == TransactionResult::Committed;
        if is_committed || finished.result == TransactionResult::RolledBack {
            seen.kinds.entry(finished.kind).or_default().add(took_ns, moved);
            seen.all.add(took_ns, moved);
            *seen.committed.entry(finished.kind).or_default() += u64::from(is_committed);
        } else {
            seen.given_up += 1;
        }
    }

    /// Takes the results.
    pub fn take(&mut self) -> Seen {
        std::mem::take(&mut self.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{AbortCounts, Whereabouts};

    #[test]
    fn transactions_that_end_within_the_window_are_counted() {
        let mut watch = Watch::new(0, 100, 1000);
        let mut end = |now_ns, kind, result| {
            let mut aborts = AbortCounts::default();
            aborts.add(if kind == 2 { Abort::Contended } else { Abort::WriteConflict });
            let whereabouts = Whereabouts::default();
            let finished = Finished {
                kind,
                result,
                retries: 1,
                skipped: 0,
                aborts,
                whereabouts,
                is_shipped: false,
            };
            watch.add(now_ns, &finished, 50, Counts::default());
        };
        end(99, 0, TransactionResult::Committed);
        end(100, 0, TransactionResult::Committed);
        end(500, 2, TransactionResult::RolledBack);
        end(600, 2, TransactionResult::Unknown);
        end(1100, 0, TransactionResult::Committed);
        let seen = watch.take();
        assert_eq!((seen.committed_per_s(), seen.ended_per_s()), (1e6, 2e6));
        assert_eq!((seen.kind_per_s(0), seen.kind_per_s(2)), (1e6, 0.0));
        assert_eq!((seen.kind_us(2, 50), seen.us(99)), (0.05, 0.05));
        assert_eq!((seen.abort_percent(), seen.given_up()), (60.0, 1));
        assert_eq!(seen.most_aborts(), Some((2, Abort::Contended, 200.0 / 3.0)));
    }
}

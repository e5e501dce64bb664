//! Measurements of one thread over a span of time, and their sums over threads and spans.

use fabric::{Counts, Env};
use hdrhistogram::Histogram;
use txn::{Lane, LaneStatistics};
use workload::{Finished, RunTotals, TransactionResult};

/// Significant digits of latencies.
const DIGITS: u8 = 3;
/// Longer latencies count as this one, 100 seconds.
const LATENCY_NS_MAX: u64 = 100_000_000_000;

/// Measurements of one transaction type.
#[derive(Clone, Debug)]
pub struct KindWindow {
    /// Nanoseconds from drawing the transaction to its end, including all attempts, for
    /// transactions that committed or were rolled back by the workload's rules.
    pub latency_ns: Histogram<u32>,
    /// Verbs, bytes and round trips, including those for snapshots and excluding upkeep.
    pub counts: Counts,
    /// Round trips for snapshots, included in `counts`.
    pub snapshot_round_trips: u64,
}

impl Default for KindWindow {
    fn default() -> Self {
        let latency_ns =
            Histogram::new_with_bounds(1, LATENCY_NS_MAX, DIGITS).expect("the bounds are in order");
        Self { latency_ns, counts: Counts::default(), snapshot_round_trips: 0 }
    }
}

/// Measurements of one thread in a span of time.
#[derive(Clone, Debug)]
pub struct Window {
    /// Per transaction type.
    pub kinds: Vec<KindWindow>,
    /// Outcomes of the transactions.
    pub totals: RunTotals,
    /// Statistics of the lanes, summed over threads.
    pub statistics: LaneStatistics,
}

/// A lane's counters at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    counts: Counts,
    upkeep: Counts,
    snapshot_round_trips: u64,
    /// The lane's transactions with unknown outcome.
    pub unknown: u64,
}

/// Statistics of a lane. Workers wait for their commits, so the lane is always accessible.
#[inline]
pub fn statistics<E: Env>(lane: &Lane<E>) -> &LaneStatistics {
    lane.statistics().expect("the lane is here")
}

impl Reading {
    /// Reads a lane's counters.
    #[inline]
    pub fn of<E: Env>(lane: &Lane<E>) -> Self {
        Self::new(lane.env().counters().counts(), statistics(lane))
    }

    /// Combines a lane's statistics with its endpoint's `counts`.
    #[inline]
    fn new(counts: Counts, statistics: &LaneStatistics) -> Self {
        let upkeep = Counts {
            verbs: statistics.upkeep_verbs,
            bytes: statistics.upkeep_bytes,
            round_trips: statistics.upkeep_round_trips,
            calls: statistics.upkeep_calls,
            messages: statistics.upkeep_messages,
        };
        let LaneStatistics { snapshot_round_trips, unknown, .. } = *statistics;
        Self { counts, upkeep, snapshot_round_trips, unknown }
    }
}

impl Window {
    /// An empty window for a workload with this many types.
    pub fn new(kind_count: usize) -> Self {
        Self {
            kinds: (0..kind_count).map(|_| KindWindow::default()).collect(),
            totals: RunTotals::new(kind_count),
            statistics: LaneStatistics::default(),
        }
    }

    /// Adds a finished transaction.
    #[inline]
    pub fn add(&mut self, finished: &Finished, latency_ns: u64, before: &Reading, after: &Reading) {
        self.totals.add(finished);
        let kind = &mut self.kinds[finished.kind];
        if matches!(finished.result, TransactionResult::Committed | TransactionResult::RolledBack) {
            kind.latency_ns.saturating_record(latency_ns);
        }
        kind.counts += (after.counts - before.counts) - (after.upkeep - before.upkeep);
        kind.snapshot_round_trips += after.snapshot_round_trips - before.snapshot_round_trips;
    }

    /// Adds the window of another thread or of the next span.
    pub fn merge(&mut self, other: &Self) {
        self.totals.merge(&other.totals);
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.latency_ns.add(&theirs.latency_ns).expect("all have the same bounds");
            mine.counts += theirs.counts;
            mine.snapshot_round_trips += theirs.snapshot_round_trips;
        }
        merge_statistics(&mut self.statistics, &other.statistics);
    }

    /// Latencies of all types together.
    pub fn latency_ns(&self) -> Histogram<u32> {
        let mut all = KindWindow::default().latency_ns;
        for kind in &self.kinds {
            all.add(&kind.latency_ns).expect("all have the same bounds");
        }
        all
    }
}

/// Adds the difference between two readings of a lane's statistics.
pub fn add_statistics(sum: &mut LaneStatistics, before: &LaneStatistics, after: &LaneStatistics) {
    let mut difference = *after;
    for (aborts, earlier) in difference.aborts.iter_mut().zip(before.aborts) {
        *aborts -= earlier;
    }
    difference.commits -= before.commits;
    difference.unknown -= before.unknown;
    difference.snapshots -= before.snapshots;
    difference.snapshot_round_trips -= before.snapshot_round_trips;
    difference.snapshot_verbs -= before.snapshot_verbs;
    difference.old_version_reads -= before.old_version_reads;
    difference.versions_moved -= before.versions_moved;
    difference.buffers_given -= before.buffers_given;
    difference.buffers_collected -= before.buffers_collected;
    difference.values_collected -= before.values_collected;
    difference.entries_collected -= before.entries_collected;
    difference.upkeep_round_trips -= before.upkeep_round_trips;
    difference.upkeep_verbs -= before.upkeep_verbs;
    difference.upkeep_bytes -= before.upkeep_bytes;
    difference.upkeep_calls -= before.upkeep_calls;
    difference.upkeep_messages -= before.upkeep_messages;
    difference.buckets_split -= before.buckets_split;
    merge_statistics(sum, &difference);
}

fn merge_statistics(sum: &mut LaneStatistics, more: &LaneStatistics) {
    for (aborts, further) in sum.aborts.iter_mut().zip(more.aborts) {
        *aborts += further;
    }
    sum.commits += more.commits;
    sum.unknown += more.unknown;
    sum.snapshots += more.snapshots;
    sum.snapshot_round_trips += more.snapshot_round_trips;
    sum.snapshot_verbs += more.snapshot_verbs;
    sum.old_version_reads += more.old_version_reads;
    sum.versions_moved += more.versions_moved;
    sum.buffers_given += more.buffers_given;
    sum.buffers_collected += more.buffers_collected;
    sum.values_collected += more.values_collected;
    sum.entries_collected += more.entries_collected;
    sum.upkeep_round_trips += more.upkeep_round_trips;
    sum.upkeep_verbs += more.upkeep_verbs;
    sum.upkeep_bytes += more.upkeep_bytes;
    sum.upkeep_calls += more.upkeep_calls;
    sum.upkeep_messages += more.upkeep_messages;
    sum.buckets_split += more.buckets_split;
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{AbortCounts, Whereabouts};

    fn finished(kind: usize, result: TransactionResult) -> Finished {
        let (aborts, whereabouts) = (AbortCounts::default(), Whereabouts::default());
        Finished { kind, result, retries: 1, skipped: 0, aborts, whereabouts, is_shipped: false }
    }

    #[test]
    fn upkeep_is_not_the_transactions_and_windows_add_up() {
        let before = Reading::default();
        let counts = Counts { verbs: 10, bytes: 1000, round_trips: 5, calls: 2, messages: 8 };
        let statistics = LaneStatistics {
            snapshot_round_trips: 2,
            upkeep_verbs: 3,
            upkeep_bytes: 100,
            upkeep_round_trips: 1,
            upkeep_calls: 2,
            upkeep_messages: 3,
            ..LaneStatistics::default()
        };
        let after = Reading::new(counts, &statistics);
        let mut first = Window::new(2);
        first.add(&finished(1, TransactionResult::Committed), 5000, &before, &after);
        assert_eq!(
            first.kinds[1].counts,
            Counts { verbs: 7, bytes: 900, round_trips: 4, calls: 0, messages: 5 }
        );
        let mut second = Window::new(2);
        second.add(&finished(1, TransactionResult::RolledBack), 7000, &before, &after);
        add_statistics(&mut second.statistics, &LaneStatistics::default(), &statistics);
        first.merge(&second);
        assert_eq!(first.totals.committed(), 1);
        assert_eq!(first.kinds[1].snapshot_round_trips, 4);
        assert_eq!(first.statistics.upkeep_verbs, 3);
        assert_eq!((first.latency_ns().len(), first.latency_ns().max() / 100), (2, 70));
    }
}

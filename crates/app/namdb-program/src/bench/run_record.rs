//! Serialized results of a run, for sending them from the process that ran it to the one that
//! reports it.

use super::driver::{Elapsed, Run, Span};
use super::measure::{KindWindow, Window};
use fabric::Counts;
use serde::{Deserialize, Serialize};
use txn::LaneStatistics;
use workload::RunTotals;

/// The result of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    elapsed: Elapsed,
    kinds: Vec<KindRecord>,
    window_totals: RunTotals,
    statistics: LaneStatistics,
    buffers_in_use: u64,
    totals: RunTotals,
    is_interrupted: bool,
    is_out_of_memory: bool,
    is_unreachable: bool,
}

/// Measurements of one transaction type.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct KindRecord {
    /// Latencies with their frequencies.
    latency_ns: Vec<(u64, u32)>,
    verbs: u64,
    bytes: u64,
    round_trips: u64,
    calls: u64,
    messages: u64,
    snapshot_round_trips: u64,
}

impl RunRecord {
    /// Serializes a run.
    pub fn of(run: &Run) -> Self {
        let Span { elapsed, window, buffers_in_use } = &run.measured;
        Self {
            elapsed: *elapsed,
            kinds: window.kinds.iter().map(KindRecord::of).collect(),
            window_totals: window.totals.clone(),
            statistics: window.statistics,
            buffers_in_use: *buffers_in_use,
            totals: run.totals.clone(),
            is_interrupted: run.is_interrupted,
            is_out_of_memory: run.is_out_of_memory,
            is_unreachable: run.is_unreachable,
        }
    }

    /// Restores the run.
    pub fn into_run(self) -> Run {
        let kinds = self.kinds.into_iter().map(KindRecord::into_window).collect();
        let window = Window { kinds, totals: self.window_totals, statistics: self.statistics };
        let (elapsed, buffers_in_use) = (self.elapsed, self.buffers_in_use);
        Run {
            measured: Span { elapsed, window, buffers_in_use },
            totals: self.totals,
            is_interrupted: self.is_interrupted,
            is_out_of_memory: self.is_out_of_memory,
            is_unreachable: self.is_unreachable,
            lost: Vec::new(),
        }
    }
}

impl KindRecord {
    fn of(kind: &KindWindow) -> Self {
        let recorded = kind.latency_ns.iter_recorded();
        let latency_ns =
            recorded.map(|part| (part.value_iterated_to(), part.count_at_value())).collect();
        let Counts { verbs, bytes, round_trips, calls, messages } = kind.counts;
        let snapshot_round_trips = kind.snapshot_round_trips;
        Self { latency_ns, verbs, bytes, round_trips, calls, messages, snapshot_round_trips }
    }

    fn into_window(self) -> KindWindow {
        let Self { latency_ns, verbs, bytes, round_trips, calls, messages, .. } = self;
        let counts = Counts { verbs, bytes, round_trips, calls, messages };
        let mut window = KindWindow::default();
        for (latency_ns, count) in latency_ns {
            window.latency_ns.saturating_record_n(latency_ns, count);
        }
        (window.counts, window.snapshot_round_trips) = (counts, self.snapshot_round_trips);
        window
    }
}

/// Merges the parts of a run: sums, and the time of the slowest part.
pub fn merge(parts: &[Run]) -> Option<Run> {
    let (first, others) = parts.split_first()?;
    let mut whole = first.clone();
    for part in others {
        let Elapsed { seconds, cpu_seconds, kernel_seconds } = part.measured.elapsed;
        let elapsed = &mut whole.measured.elapsed;
        elapsed.seconds = elapsed.seconds.max(seconds);
        elapsed.cpu_seconds += cpu_seconds;
        elapsed.kernel_seconds += kernel_seconds;
        whole.measured.window.merge(&part.measured.window);
        whole.measured.buffers_in_use += part.measured.buffers_in_use;
        whole.totals.merge(&part.totals);
        whole.is_interrupted |= part.is_interrupted;
        whole.is_out_of_memory |= part.is_out_of_memory;
        whole.is_unreachable |= part.is_unreachable;
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::trial;

    /// A run with different figures.
    fn unlike(run: &Run) -> Run {
        let mut other = run.clone();
        // Other fractions may lose their last bit on the way.
        let seconds = run.measured.elapsed.seconds.ceil() + 0.5;
        other.measured.elapsed = Elapsed { seconds, cpu_seconds: 0.5, kernel_seconds: 0.25 };
        other.measured.buffers_in_use = 7;
        other.measured.window.statistics.commits = 19;
        let kind = &mut other.measured.window.kinds[0];
        kind.counts = Counts { verbs: 3, bytes: 5, round_trips: 7, calls: 11, messages: 13 };
        kind.snapshot_round_trips = 17;
        kind.latency_ns.saturating_record(1 << 30);
        other.is_out_of_memory = true;
        other
    }

    /// The reported figures as text.
    fn figures(run: &Run) -> String {
        let mut record = RunRecord::of(run);
        // A received histogram has the ranges of its values only.
        record.kinds.iter_mut().for_each(|kind| kind.latency_ns.sort_unstable());
        serde_json::to_string(&record).expect("JSON")
    }

    #[test]
    fn what_arrives_is_what_was_sent() {
        let (db, workload, _) = trial::loaded();
        let run = unlike(&trial::run(&db, &workload));
        let text = serde_json::to_string(&RunRecord::of(&run)).expect("JSON");
        let record: RunRecord = serde_json::from_str(&text).expect("it was written");
        assert_eq!(figures(&record.into_run()), figures(&run));
    }

    #[test]
    fn parts_are_summed_and_last_as_long_as_the_longest() {
        let (db, workload, _) = trial::loaded();
        let one = trial::run(&db, &workload);
        let other = unlike(&one);
        for parts in [[one.clone(), other.clone()], [other.clone(), one.clone()]] {
            let whole = merge(&parts).expect("there are two");
            assert!(whole.is_out_of_memory && !whole.is_interrupted && !whole.is_unreachable);
            assert_eq!(whole.totals.committed(), 2 * one.totals.committed());
            let (measured, [first, second]) =
                (&whole.measured, [&one, &other].map(|run| &run.measured));
            assert_eq!(measured.elapsed.seconds, second.elapsed.seconds);
            assert_eq!(measured.elapsed.cpu_seconds, first.elapsed.cpu_seconds + 0.5);
            assert_eq!(measured.elapsed.kernel_seconds, first.elapsed.kernel_seconds + 0.25);
            assert_eq!(measured.buffers_in_use, first.buffers_in_use + 7);
            let commits = |span: &Span| span.window.statistics.commits;
            assert_eq!(commits(measured), commits(first) + 19);
            let [kind, first, second] = [measured, first, second].map(|at| &at.window.kinds[0]);
            let added = Counts { verbs: 3, bytes: 5, round_trips: 7, calls: 11, messages: 13 };
            assert_eq!(kind.counts, first.counts + added);
            assert_eq!(kind.snapshot_round_trips, first.snapshot_round_trips + 17);
            assert_eq!(kind.latency_ns.len(), first.latency_ns.len() + second.latency_ns.len());
            assert_eq!(kind.latency_ns.max(), second.latency_ns.max());
        }
    }
}

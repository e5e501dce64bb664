//! A run as it travels from the process that ran it to the one that reports it.

use super::driver::{Elapsed, Run, Span};
use super::measure::{KindWindow, Window};
use fabric::Counts;
use serde::{Deserialize, Serialize};
use txn::LaneStatistics;
use workload::RunTotals;

/// What came of a run.
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

/// Transactions of one type.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct KindRecord {
    /// Latencies, and how many there were of each.
    latency_ns: Vec<(u64, u32)>,
    verbs: u64,
    bytes: u64,
    round_trips: u64,
    calls: u64,
    messages: u64,
    snapshot_round_trips: u64,
}

impl RunRecord {
    /// Of a run.
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

    /// The run.
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
        let mut window = KindWindow::new();
        for (latency_ns, count) in latency_ns {
            window.latency_ns.saturating_record_n(latency_ns, count);
        }
        (window.counts, window.snapshot_round_trips) = (counts, self.snapshot_round_trips);
        window
    }
}

/// Puts the parts of a run together: sums, and the time of the part that took longest.
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
    use crate::bench::driver::{self, RunPlan, Standing, Watcher};
    use crate::bench::part::Part;
    use crate::bench::trial;
    use std::sync::atomic::AtomicBool;

    struct Nobody;

    impl Watcher for Nobody {
        fn show(&mut self, _standing: &Standing) {}
        fn span(&mut self, _span: &Span) {}
    }

    #[test]
    fn what_arrives_is_what_was_sent_and_two_parts_are_their_sum() {
        let (db, workload, _) = trial::loaded();
        let plan = RunPlan {
            threads: 1,
            warm_up_s: 0.0,
            window_s: 0.05,
            windows: 1,
            seed: 1,
            rate: None,
            part: Part::WHOLE,
            telling: None,
        };
        let stop = AtomicBool::new(false);
        let run = driver::run(&db, &workload, &plan, &stop, &mut Nobody).expect("it only reads");
        let text = serde_json::to_string(&RunRecord::of(&run)).expect("JSON");
        let record: RunRecord = serde_json::from_str(&text).expect("it was written");
        let arrived = record.into_run();
        let whole = merge(&[run.clone(), arrived]).expect("there are two");
        let (one, both) = (run.measured.window.latency_ns(), whole.measured.window.latency_ns());
        assert!(!one.is_empty() && both.len() == 2 * one.len() && both.max() == one.max());
        assert_eq!(whole.totals.committed(), 2 * run.totals.committed());
        let verbs = |run: &Run| -> u64 {
            run.measured.window.kinds.iter().map(|kind| kind.counts.verbs).sum()
        };
        assert_eq!(verbs(&whole), 2 * verbs(&run));
        assert_eq!(
            whole.measured.window.statistics.commits,
            2 * run.measured.window.statistics.commits
        );
        let seconds = |run: &Run| run.measured.elapsed.seconds;
        assert!((seconds(&whole) - seconds(&run)).abs() < 1e-9);
    }
}

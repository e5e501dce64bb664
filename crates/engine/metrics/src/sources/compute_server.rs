//! A compute server's numbers, summed over its workers during a scrape.
//!
//! A worker counts in its lanes and tallies, and publishes the counts about once per second. In
//! between, a transaction only pays for recording its latency in the tally.

use crate::catalog;
use crate::clock;
use crate::definition::Definition;
use crate::latency::{LatencyHistogram, LatencyTally};
use crate::registry::Registry;
use fabric::Counts;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use txn::{Abort, LaneStatistics};

/// Definition of a number, and its accessor in `T`.
type Named<T> = (&'static Definition, fn(&T) -> u64);

const COUNTERS: [Named<LaneStatistics>; 11] = [
    (&catalog::COMMITS, |lane| lane.commits),
    (&catalog::UNKNOWN_OUTCOMES, |lane| lane.unknown),
    (&catalog::SNAPSHOTS, |lane| lane.snapshots),
    (&catalog::SNAPSHOT_ROUND_TRIPS, |lane| lane.snapshot_round_trips),
    (&catalog::OLD_VERSION_READS, |lane| lane.old_version_reads),
    (&catalog::MOVES, |lane| lane.versions_moved),
    (&catalog::BUFFERS_GIVEN, |lane| lane.buffers_given),
    (&catalog::BUFFERS_COLLECTED, |lane| lane.buffers_collected),
    (&catalog::VALUES_COLLECTED, |lane| lane.values_collected),
    (&catalog::ENTRIES_COLLECTED, |lane| lane.entries_collected),
    (&catalog::BUCKETS_SPLIT, |lane| lane.buckets_split),
];

/// The workers of a compute server. Clones share them.
#[derive(Clone)]
pub struct ComputeServer {
    start: Instant,
    handed: Arc<Mutex<Vec<PublishedCounts>>>,
    /// By transaction type.
    latencies: Vec<Arc<LatencyHistogram>>,
}

/// One worker's access. When it is dropped, its lanes no longer count as running, but its counts
/// remain.
pub struct Worker {
    server: ComputeServer,
    number: usize,
    tallies: Vec<LatencyTally>,
    /// Shared with the worker's entry in the registry.
    begun_ns: Arc<AtomicU64>,
}

/// The current counts of a lane.
pub struct LaneReading<'a> {
    /// Since the lane was opened.
    pub statistics: &'a LaneStatistics,
    /// Its endpoint's counts since then.
    pub counts: Counts,
    /// Staleness of its last snapshot: `txn::Snapshot::lag` against a vector read just now.
    pub snapshot_lag: u64,
}

/// The counts that a worker published last.
#[derive(Clone, Default)]
struct PublishedCounts {
    lanes: u64,
    counters: [u64; COUNTERS.len()],
    aborts: [u64; Abort::ALL.len()],
    all: Counts,
    upkeep: Counts,
    snapshot_lag: u64,
    /// Start of the worker's current transaction in nanoseconds since the server started; 0 if it
    /// runs none.
    begun_ns: Arc<AtomicU64>,
}

impl ComputeServer {
    /// Registers a server without workers for these transaction types.
    pub fn enter(registry: &Registry, transaction_types: &[&str]) -> Self {
        let latencies = transaction_types.iter().map(|_| Arc::default()).collect();
        let server = Self { start: clock::now(), handed: Arc::default(), latencies };
        for (name, histogram) in transaction_types.iter().zip(&server.latencies) {
            registry.add_latencies(&catalog::TRANSACTION_SECONDS, &[name], histogram);
        }
        for (place, (definition, _)) in COUNTERS.into_iter().enumerate() {
            server.add(registry, definition, &[], move |handed| handed.counters[place]);
        }
        for &abort in Abort::ALL {
            let reason = [abort.name()];
            server.add(registry, &catalog::ABORTS, &reason, move |handed| {
                handed.aborts[abort.index()]
            });
        }
        server.add(registry, &catalog::LANES, &[], |handed| handed.lanes);
        server.add(registry, &catalog::POSTED_CALLS, &[], |handed| handed.all.calls);
        let kinds: [Named<Counts>; 3] = [
            (&catalog::POSTED_VERBS, |counts| counts.verbs),
            (&catalog::POSTED_BYTES, |counts| counts.bytes),
            (&catalog::ROUND_TRIPS, |counts| counts.round_trips),
        ];
        for (definition, count) in kinds {
            let upkeep = move |handed: &PublishedCounts| count(&handed.upkeep);
            server.add(registry, definition, &["upkeep"], upkeep);
            // During upkeep, a lane may have updated one of the two counters before the other.
            let rest =
                move |handed: &PublishedCounts| count(&handed.all).saturating_sub(upkeep(handed));
            server.add(registry, definition, &["transactions"], rest);
        }
        server.enter_snapshots(registry);
        server
    }

    /// Adds a worker.
    pub fn worker(&self) -> Worker {
        let mut handed = self.lock();
        let begun_ns = Arc::<AtomicU64>::default();
        handed.push(PublishedCounts { begun_ns: begun_ns.clone(), ..PublishedCounts::default() });
        let tallies = vec![LatencyTally::default(); self.latencies.len()];
        Worker { server: self.clone(), number: handed.len() - 1, tallies, begun_ns }
    }

    fn add(
        &self,
        registry: &Registry,
        definition: &'static Definition,
        labels: &[&str],
        read: impl Fn(&PublishedCounts) -> u64 + Send + 'static,
    ) {
        let server = self.clone();
        registry.add(definition, labels, move || server.lock().iter().map(&read).sum::<u64>());
    }

    fn enter_snapshots(&self, registry: &Registry) {
        let server = self.clone();
        registry.add(&catalog::SNAPSHOT_AGE, &[], move || {
            let begun =
                |handed: &PublishedCounts| Some(handed.begun_ns.load(Relaxed)).filter(|&ns| ns > 0);
            let oldest_ns = server.lock().iter().filter_map(begun).min();
            let now_ns = server.since_start_ns(clock::now());
            oldest_ns.map_or(0.0, |begun_ns| now_ns.saturating_sub(begun_ns) as f64 / 1e9)
        });
        let server = self.clone();
        registry.add(&catalog::SNAPSHOT_LAG, &[], move || {
            server.lock().iter().map(|handed| handed.snapshot_lag).max().unwrap_or(0)
        });
    }

    fn since_start_ns(&self, moment: Instant) -> u64 {
        moment.saturating_duration_since(self.start).as_nanos() as u64
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PublishedCounts>> {
        self.handed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Worker {
    /// Records a transaction's latency by the position of its type. No other thread is involved.
    #[inline]
    pub fn record_ns(&mut self, transaction_type: usize, latency_ns: u64) {
        self.tallies[transaction_type].record_ns(latency_ns);
    }

    /// Records the begin of a transaction.
    #[inline]
    pub fn begins(&self, at: Instant) {
        self.begun_ns.store(self.server.since_start_ns(at).max(1), Relaxed);
    }

    /// Records that no transaction is running.
    pub fn rests(&self) {
        self.begun_ns.store(0, Relaxed);
    }

    /// Publishes the latencies since the last call, and the current totals of the worker's lanes.
    /// Lanes must not be left out later, since counters only grow.
    pub fn hand_over<'a>(&mut self, lanes: impl IntoIterator<Item = LaneReading<'a>>) {
        for (tally, histogram) in self.tallies.iter_mut().zip(&self.server.latencies) {
            histogram.take(tally);
        }
        let mut handed =
            PublishedCounts { begun_ns: self.begun_ns.clone(), ..PublishedCounts::default() };
        lanes.into_iter().for_each(|lane| handed.add(&lane));
        self.server.lock()[self.number] = handed;
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        for (tally, histogram) in self.tallies.iter_mut().zip(&self.server.latencies) {
            histogram.take(tally);
        }
        self.rests();
        let handed = &mut self.server.lock()[self.number];
        (handed.lanes, handed.snapshot_lag) = (0, 0);
    }
}

impl PublishedCounts {
    fn add(&mut self, lane: &LaneReading<'_>) {
        let LaneReading { statistics, counts, snapshot_lag } = lane;
        self.lanes += 1;
        for (sum, (_, read)) in self.counters.iter_mut().zip(COUNTERS) {
            *sum += read(statistics);
        }
        for (sum, count) in self.aborts.iter_mut().zip(statistics.aborts) {
            *sum += count;
        }
        self.all += *counts;
        self.upkeep += Counts {
            verbs: statistics.upkeep_verbs,
            bytes: statistics.upkeep_bytes,
            round_trips: statistics.upkeep_round_trips,
            calls: statistics.upkeep_calls,
            messages: statistics.upkeep_messages,
        };
        self.snapshot_lag = self.snapshot_lag.max(*snapshot_lag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn statistics(commits: u64, conflicts: u64) -> LaneStatistics {
        let mut statistics = LaneStatistics { commits, upkeep_verbs: 2, ..Default::default() };
        statistics.aborts[Abort::WriteConflict.index()] = conflicts;
        statistics
    }

    fn lane(statistics: &LaneStatistics) -> LaneReading<'_> {
        let counts = Counts { verbs: 10, bytes: 80, round_trips: 5, calls: 1, messages: 0 };
        LaneReading { statistics, counts, snapshot_lag: 0 }
    }

    fn value(registry: &Registry, sample: &str) -> f64 {
        let page = registry.text();
        let line = page.lines().find_map(|line| line.strip_prefix(&format!("{sample} ")));
        line.unwrap_or_else(|| panic!("{sample} is missing in\n{page}")).parse().expect("a number")
    }

    #[test]
    fn workers_add_up_and_what_they_did_stays_when_they_go() {
        let registry = Registry::new();
        let server = ComputeServer::enter(&registry, &["payment", "delivery"]);
        let (mut first, mut second) = (server.worker(), server.worker());
        let (one, other) = (statistics(3, 1), statistics(4, 0));
        first.record_ns(1, 2_000_000);
        first.hand_over([lane(&one), lane(&other)]);
        second.hand_over([lane(&one)]);
        let told = |sample: &str| value(&registry, sample);
        assert_eq!(told("namdb_commits_total"), 10.0);
        assert_eq!(told("namdb_aborts_total{reason=\"write_conflict\"}"), 2.0);
        assert_eq!(told("namdb_aborts_total{reason=\"user\"}"), 0.0, "all reasons are told");
        assert_eq!(told("namdb_posted_verbs_total{work=\"upkeep\"}"), 6.0);
        assert_eq!(told("namdb_posted_verbs_total{work=\"transactions\"}"), 24.0);
        assert_eq!(told("namdb_posted_calls_total"), 3.0);
        assert_eq!(told("namdb_lanes"), 3.0);
        assert_eq!(told("namdb_transaction_seconds_count{type=\"delivery\"}"), 1.0);
        assert_eq!(told("namdb_transaction_seconds_count{type=\"payment\"}"), 0.0);
        second.record_ns(0, 1);
        drop(second);
        assert_eq!((told("namdb_commits_total"), told("namdb_lanes")), (10.0, 2.0));
        assert_eq!(told("namdb_transaction_seconds_count{type=\"payment\"}"), 1.0);
        first.hand_over([lane(&one), lane(&other)]);
        assert_eq!(told("namdb_commits_total"), 10.0, "totals are handed over, not differences");
    }

    #[test]
    fn the_worst_snapshot_is_told() {
        let registry = Registry::new();
        let server = ComputeServer::enter(&registry, &[]);
        let mut worker = server.worker();
        let idle = statistics(0, 0);
        let told = |sample: &str| value(&registry, sample);
        assert_eq!(told("namdb_snapshot_age_seconds"), 0.0);
        worker.begins(server.start + Duration::from_millis(1));
        clock::sleep(Duration::from_millis(20));
        assert!((0.019..10.0).contains(&told("namdb_snapshot_age_seconds")));
        worker.rests();
        assert_eq!(told("namdb_snapshot_age_seconds"), 0.0);
        worker.begins(clock::now());
        let lanes = [7, 3].map(|snapshot_lag| LaneReading { snapshot_lag, ..lane(&idle) });
        worker.hand_over(lanes);
        assert_eq!(told("namdb_snapshot_lag_commits"), 7.0);
        drop(worker);
        assert_eq!(told("namdb_snapshot_age_seconds"), 0.0);
    }
}

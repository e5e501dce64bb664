//! What the workers of a run hand over to whoever looks at this process' metrics.

use super::measure::statistics;
use fabric::Env;
use metrics::Registry;
use metrics::sources::{ComputeServer, LaneReading, Worker};
use namdb::host::Moment;
use txn::{Database, Lane};
use workload::{append, bank, smallbank, tatp, tpcc, ycsb};

/// Between two times that a worker hands over.
const HAND_OVER_S: f64 = 1.0;

/// The numbers of all runs of this process.
pub struct Telling {
    server: ComputeServer,
    types: Vec<&'static str>,
}

/// The type of all transactions that no built-in workload has: procedures of a folder, whose names nobody knows beforehand.
const PROCEDURE: &str = "procedure";

/// What one worker tells.
pub struct Told {
    worker: Worker,
    /// Where the types of the worker's workload stand among all.
    places: Vec<usize>,
    handed: Moment,
}

impl Telling {
    /// Numbers that are entered into the registry, for whatever workload may come.
    pub fn enter(registry: &Registry) -> Self {
        let mut types = Vec::new();
        let all: [&[&str]; 6] = [
            &tpcc::TRANSACTION_NAMES,
            &smallbank::TYPES,
            &tatp::TYPES,
            ycsb::TYPES,
            &bank::TRANSACTION_NAMES,
            &append::TYPES,
        ];
        for name in all.into_iter().flatten() {
            if !types.contains(name) {
                types.push(name);
            }
        }
        types.push(PROCEDURE);
        Self { server: ComputeServer::enter(registry, &types), types }
    }

    /// Another worker, on a workload with these types of transactions.
    pub fn worker(&self, types: &[&str]) -> Told {
        let place = |name: &&str| {
            let found = self.types.iter().position(|known| known == name);
            found.unwrap_or(self.types.len() - 1)
        };
        let places = types.iter().map(place).collect();
        Told { worker: self.server.worker(), places, handed: Moment::now() }
    }
}

impl Told {
    /// A transaction ended now that took so long, and the next one begins.
    #[inline]
    pub fn record(&mut self, kind: usize, latency_ns: u64, now: Moment) {
        self.worker.record_ns(self.places[kind], latency_ns);
        self.worker.begins(now.instant());
    }

    /// A transaction begins.
    pub fn begin(&self, now: Moment) {
        self.worker.begins(now.instant());
    }

    /// No transaction is under way.
    pub fn rest(&self) {
        self.worker.rests();
    }

    /// Whether it is time to hand over.
    #[inline]
    pub fn is_due(&self, now: Moment) -> bool {
        now.since_ns(self.handed) as f64 >= HAND_OVER_S * 1e9
    }

    /// Hands over what the lane has done so far; reads the oracle's vector, to tell how stale the lane's last
    /// snapshot is.
    pub async fn hand_over<E: Env>(&mut self, database: &Database<E>, lane: &Lane<E>) {
        // A server that cannot be asked ends the run elsewhere, with a better sentence.
        let vector = database.vector().await.unwrap_or_default();
        let snapshot_lag = lane.snapshot().map_or(0, |snapshot| snapshot.lag(&vector));
        let counts = lane.env().counters().counts();
        let lane = LaneReading { statistics: statistics(lane), counts, snapshot_lag };
        self.worker.hand_over([lane]);
        self.handed = Moment::now();
    }
}

//! Metrics that the workers of a run update for this process's metrics endpoint.

use super::measure::statistics;
use fabric::Env;
use metrics::Registry;
use metrics::sources::{self, ComputeServer, DirectoryReading, LaneReading, Worker};
use namdb::Db;
use namdb::host::Moment;
use txn::{Database, Lane};
use workload::{append, bank, smallbank, tatp, tpcc, ycsb};

/// Interval at which a worker updates the metrics.
const UPDATE_S: f64 = 1.0;

/// Registers the counters of the database's directory, if it has one.
pub fn enter_directory(registry: &Registry, db: &Db) {
    let Some(counters) = db.directory_counters() else { return };
    sources::enter_directory(registry, move || {
        let told = counters.statistics();
        DirectoryReading {
            groups: told.groups,
            log_bytes: told.log_bytes,
            group_s: told.group_s,
            checkpoints: told.checkpoints,
            checkpoint_age_s: told.checkpoint_age_s,
        }
    });
}

/// Metrics of all runs in this process.
pub struct RunMetrics {
    server: ComputeServer,
    types: Vec<&'static str>,
    registry: Registry,
}

/// Transaction type of all workloads that are not built in: the names of a folder's procedures are
/// not known when metrics are registered.
const PROCEDURE: &str = "procedure";

/// One worker's metrics.
pub struct WorkerMetrics {
    worker: Worker,
    /// Positions of the workload's types in the list of all types.
    places: Vec<usize>,
    updated: Moment,
}

impl RunMetrics {
    /// Registers metrics for the transaction types of every workload.
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
        Self { server: ComputeServer::enter(registry, &types), types, registry: registry.clone() }
    }

    /// Registers the counters of the database's directory, if it has one.
    pub fn enter_directory(&self, db: &Db) {
        enter_directory(&self.registry, db);
    }

    /// Adds a worker for a workload with these transaction types.
    pub fn worker(&self, types: &[&str]) -> WorkerMetrics {
        let place = |name: &&str| {
            let found = self.types.iter().position(|known| known == name);
            found.unwrap_or(self.types.len() - 1)
        };
        let places = types.iter().map(place).collect();
        WorkerMetrics { worker: self.server.worker(), places, updated: Moment::now() }
    }
}

impl WorkerMetrics {
    /// Records a transaction that ends now after `latency_ns`; the next one begins.
    #[inline]
    pub fn record(&mut self, kind: usize, latency_ns: u64, now: Moment) {
        self.worker.record_ns(self.places[kind], latency_ns);
        self.worker.begins(now.instant());
    }

    /// Records the begin of a transaction.
    pub fn begin(&self, now: Moment) {
        self.worker.begins(now.instant());
    }

    /// Records that no transaction is running.
    pub fn rest(&self) {
        self.worker.rests();
    }

    /// Whether the update interval has passed.
    #[inline]
    pub fn is_due(&self, now: Moment) -> bool {
        now.since_ns(self.updated) as f64 >= UPDATE_S * 1e9
    }

    /// Updates the metrics from the lane's statistics. Reads the timestamp vector to compute the
    /// staleness of the lane's last snapshot.
    pub async fn update<E: Env>(&mut self, database: &Database<E>, lane: &Lane<E>) {
        // An unreachable server is reported elsewhere, with a better message.
        let vector = database.vector().await.unwrap_or_default();
        let snapshot_lag = lane.snapshot().map_or(0, |snapshot| snapshot.lag(&vector));
        let counts = lane.env().counters().counts();
        let lane = LaneReading { statistics: statistics(lane), counts, snapshot_lag };
        self.worker.hand_over([lane]);
        self.updated = Moment::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use namdb::{Config, KeyValueTable};

    #[test]
    fn a_directory_tells_its_groups_and_checkpoints() {
        let path = std::env::temp_dir().join(format!("namdb-metrics-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        let config = Config { server_bytes: 64 << 20, ..Config::default() };
        let db = namdb::open(Config { directory: Some(path.clone()), ..config }).expect("new");
        let registry = Registry::new();
        RunMetrics::enter(&registry).enter_directory(&db);
        let table = KeyValueTable::create(&db, "t", 8, 8, Default::default()).expect("new");
        let mut session = db.session();
        let mut rows = session.key_value().expect("the lane is free");
        rows.write(table, b"key", b"value").expect("it fits");
        rows.commit().expect("it commits");
        db.checkpoint().expect("the disk works");
        let page = registry.text();
        let number = |metric: &str| -> f64 {
            let mut values = page.lines().filter_map(|line| line.strip_prefix(metric));
            let value = values.next().unwrap_or_else(|| panic!("{metric} in {page}"));
            value.trim().parse().expect("it is a number")
        };
        assert!(number("namdb_log_groups_total ") > 0.0);
        assert!(number("namdb_log_bytes_total ") > 0.0);
        assert!(number("namdb_log_seconds_total ") > 0.0);
        assert!(number("namdb_checkpoints_total ") == 1.0);
        assert!(number("namdb_checkpoint_age_seconds ") >= 0.0);
        drop(session);
        db.close().expect("the disk works");
        // The registry does not keep the directory locked.
        let config = Config { server_bytes: 64 << 20, ..Config::default() };
        let config = Config { directory: Some(path.clone()), ..config };
        namdb::open(config).expect("it was closed").close().expect("the disk works");
        let _ = std::fs::remove_dir_all(&path);
    }
}

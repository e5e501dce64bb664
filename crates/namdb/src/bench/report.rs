//! What a run has to say, as data: put together here, drawn by `table`, written by `json`.

use super::LocalWorkload;
use super::driver::{Run, Span};
use super::load::Loaded;
use super::measure::{KindWindow, Window};
use super::text::counted;
use anyhow::{Context, Result};
use fabric::run_now;
use hdrhistogram::Histogram;
use namdb::{Db, Isolation, host};
use serde::Serialize;
use std::collections::BTreeMap;
use workload::CheckResult;
use workload::driver::KindTotals;

/// The report of a run. Rates are per second of the measured time, averages per transaction that ended.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The workload's name.
    pub workload: String,
    /// Its parameters, in words.
    pub parameters: String,
    /// The world below.
    pub fabric: &'static str,
    /// Isolation level.
    pub isolation: &'static str,
    /// How snapshots are taken.
    pub oracle: &'static str,
    /// Busy threads.
    pub threads: u32,
    /// Memory servers.
    pub servers: u16,
    /// Rows loaded, and how long that took.
    pub load: LoadReport,
    /// Measured seconds.
    pub seconds: f64,
    /// Processor seconds of the whole process in them.
    pub cpu_seconds: f64,
    /// Whether the user ended the run early.
    pub is_interrupted: bool,
    /// Committed transactions.
    pub committed: u64,
    /// Committed transactions per second.
    pub txn_per_s: f64,
    /// Committed new-orders per second, in TPC-C.
    pub new_order_per_s: Option<f64>,
    /// Transactions that ended as the workload's rules wanted, without effect.
    pub rolled_back: u64,
    /// Attempts beyond the first.
    pub retries: u64,
    /// Transactions given up after many attempts.
    pub given_up: u64,
    /// Transactions of unknown outcome.
    pub unknown: u64,
    /// By transaction type.
    pub per_type: BTreeMap<String, TypeReport>,
    /// The types in the workload's order.
    #[serde(skip)]
    pub type_order: Vec<String>,
    /// Aborted attempts by reason.
    pub aborts: BTreeMap<String, u64>,
    /// What the engine did beside.
    pub engine: EngineReport,
    /// Memory of the tables.
    pub memory: MemoryReport,
    /// The verdicts.
    pub checks: Vec<CheckReport>,
    /// Commit the program was built from.
    pub commit: &'static str,
    /// Seed of all randomness.
    pub seed: u64,
    /// Where it ran.
    pub machine: String,
}

/// What loading took.
#[derive(Clone, Debug, Serialize)]
pub struct LoadReport {
    /// Rows.
    pub rows: u64,
    /// Seconds.
    pub seconds: f64,
}

/// One type of transaction.
#[derive(Clone, Debug, Serialize)]
pub struct TypeReport {
    /// Committed.
    pub count: u64,
    /// Committed per second.
    pub per_s: f64,
    /// Rolled back by the workload's rules.
    pub rolled_back: u64,
    /// Attempts beyond the first.
    pub retries: u64,
    /// Parts that found nothing to do.
    pub skipped: u64,
    /// Median latency, all attempts included.
    pub p50_us: f64,
    /// 99 of 100 are faster.
    pub p99_us: f64,
    /// 999 of 1000 are faster.
    pub p999_us: f64,
    /// The slowest.
    pub max_us: f64,
    /// Verbs per transaction, retries included.
    pub verbs: f64,
    /// Bytes per transaction, retries included.
    pub bytes: f64,
    /// Round trips per transaction without those for snapshots.
    pub round_trips: f64,
    /// Round trips per transaction for snapshots.
    pub snapshot_round_trips: f64,
}

/// What the engine did beside running transactions.
#[derive(Clone, Debug, Serialize)]
pub struct EngineReport {
    /// Reads that had to look for an old version.
    pub old_version_reads: u64,
    /// Versions moved to the overflow region.
    pub versions_moved: u64,
    /// Version buffers collected.
    pub buffers_collected: u64,
    /// Tombstones and index entries collected.
    pub entries_collected: u64,
    /// Buckets split.
    pub buckets_split: u64,
}

/// Memory of the tables.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryReport {
    /// Rows times the bytes of their columns.
    pub raw_bytes: u64,
    /// Handed out: rows, indexes, old versions, free space in extents.
    pub used_bytes: u64,
    /// Memory the process occupies.
    pub process_bytes: u64,
    /// By table.
    pub per_table: BTreeMap<String, TableReport>,
}

/// Memory of one table.
#[derive(Clone, Debug, Serialize)]
pub struct TableReport {
    /// Rows.
    pub rows: u64,
    /// Rows times the bytes of its columns.
    pub raw_bytes: u64,
    /// Handed out for it.
    pub used_bytes: u64,
}

/// A verdict.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// What was checked.
    pub name: String,
    /// Whether it holds.
    pub ok: bool,
    /// How much was looked at, or what is wrong.
    pub detail: String,
}

impl From<CheckResult> for CheckReport {
    fn from(check: CheckResult) -> Self {
        Self { name: check.name.to_owned(), ok: check.ok, detail: check.detail }
    }
}

/// What a run was, apart from what came of it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The workload's parameters, in words.
    pub parameters: String,
    /// Isolation level.
    pub isolation: Isolation,
    /// Busy threads.
    pub threads: u32,
    /// Seed.
    pub seed: u64,
}

impl Report {
    /// Checks the database and puts the report together.
    pub fn new<W: LocalWorkload>(
        db: &Db,
        workload: &W,
        subject: &Subject,
        loaded: Loaded,
        run: &Run,
    ) -> Result<Self> {
        let checks = check(db, workload, run).context("cannot check the database")?;
        // After the checks: they catch up with the run, and leave a lane that has.
        let memory = memory(db, workload).context("cannot measure the memory")?;
        let Span { seconds, cpu_seconds, window } = &run.measured;
        let totals = |field: fn(&KindTotals) -> u64| -> u64 {
            (0..window.kinds.len()).map(|kind| field(&window.totals.kind(kind))).sum()
        };
        let per_s = |count: u64| count as f64 / seconds.max(1e-9);
        let names = workload.transaction_types();
        let new_order = names.iter().position(|&name| name == "new_order");
        let ran = |kind: &usize| !window.kinds[*kind].latency_ns.is_empty();
        let ran: Vec<usize> = (0..names.len()).filter(ran).collect();
        Ok(Self {
            workload: workload.name().to_owned(),
            parameters: subject.parameters.clone(),
            fabric: "local",
            isolation: subject.isolation.name(),
            oracle: db.config().oracle.name(),
            threads: subject.threads,
            servers: db.config().servers,
            load: LoadReport { rows: loaded.rows, seconds: loaded.seconds },
            seconds: *seconds,
            cpu_seconds: *cpu_seconds,
            is_interrupted: run.is_interrupted,
            committed: window.totals.committed(),
            txn_per_s: per_s(window.totals.committed()),
            new_order_per_s: new_order.map(|kind| per_s(window.totals.kind(kind).committed)),
            rolled_back: totals(|kind| kind.rolled_back),
            retries: totals(|kind| kind.retries),
            given_up: totals(|kind| kind.aborted),
            unknown: totals(|kind| kind.unknown),
            per_type: ran
                .iter()
                .map(|&kind| (names[kind].to_owned(), type_report(window, kind, *seconds)))
                .collect(),
            type_order: ran.iter().map(|&kind| names[kind].to_owned()).collect(),
            aborts: window
                .totals
                .aborts()
                .map(|(reason, count)| (reason.name().to_owned(), count))
                .collect(),
            engine: engine(window),
            memory,
            checks,
            commit: env!("NAMDB_COMMIT"),
            seed: subject.seed,
            machine: host::machine(),
        })
    }

    /// Whether every check holds.
    pub fn is_sound(&self) -> bool {
        self.checks.iter().all(|check| check.ok)
    }
}

fn type_report(window: &Window, kind: usize, seconds: f64) -> TypeReport {
    let totals = window.totals.kind(kind);
    let KindWindow { latency_ns, counts, snapshot_round_trips } = &window.kinds[kind];
    let ended = totals.committed + totals.rolled_back + totals.aborted + totals.unknown;
    let average = |sum: u64| sum as f64 / ended.max(1) as f64;
    TypeReport {
        count: totals.committed,
        per_s: totals.committed as f64 / seconds.max(1e-9),
        rolled_back: totals.rolled_back,
        retries: totals.retries,
        skipped: totals.skipped,
        p50_us: quantile_us(latency_ns, 0.5),
        p99_us: quantile_us(latency_ns, 0.99),
        p999_us: quantile_us(latency_ns, 0.999),
        max_us: latency_ns.max() as f64 / 1e3,
        verbs: average(counts.verbs),
        bytes: average(counts.bytes),
        round_trips: average(counts.round_trips - snapshot_round_trips),
        snapshot_round_trips: average(*snapshot_round_trips),
    }
}

/// A quantile of latencies, in microseconds.
pub fn quantile_us(latency_ns: &Histogram<u32>, quantile: f64) -> f64 {
    latency_ns.value_at_quantile(quantile) as f64 / 1e3
}

fn engine(window: &Window) -> EngineReport {
    let statistics = &window.statistics;
    EngineReport {
        old_version_reads: statistics.old_version_reads,
        versions_moved: statistics.versions_moved,
        buffers_collected: statistics.buffers_collected,
        entries_collected: statistics.entries_collected,
        buckets_split: statistics.buckets_split,
    }
}

fn memory<W: LocalWorkload>(db: &Db, workload: &W) -> Result<MemoryReport> {
    let mut per_table = BTreeMap::new();
    let used: BTreeMap<String, u64> =
        db.memory_usage()?.into_iter().map(|table| (table.name, table.used_bytes)).collect();
    let mut lane = run_now(db.handle().lane())?;
    for &name in workload.table_names() {
        let table = db.table(name).with_context(|| format!("there is no table {name}"))?;
        let mut rows = 0;
        let mut transaction = run_now(lane.begin(Isolation::Snapshot))
            .map_err(|abort| anyhow::anyhow!("no snapshot to count with: {abort}"))?;
        run_now(transaction.for_each(table, &mut |_| rows += 1))?;
        run_now(transaction.abort());
        let raw_bytes = rows * db.schema(table).raw_bytes();
        let used_bytes = used.get(name).copied().unwrap_or(0);
        per_table.insert(name.to_owned(), TableReport { rows, raw_bytes, used_bytes });
    }
    Ok(MemoryReport {
        raw_bytes: per_table.values().map(|table| table.raw_bytes).sum(),
        used_bytes: used.values().sum(),
        process_bytes: host::resident_bytes(),
        per_table,
    })
}

/// The workload's own checks, and those of every table's and index's structure.
pub fn check<W: LocalWorkload>(db: &Db, workload: &W, run: &Run) -> Result<Vec<CheckReport>> {
    let database = db.handle();
    let mut lane = run_now(database.lane())?;
    let results = run_now(workload.check(&database, &mut lane, &run.totals, false))?;
    drop(lane);
    let mut checks: Vec<CheckReport> = results.into_iter().map(CheckReport::from).collect();
    let structure = run_now(database.check())?;
    let wrong = structure.errors.first().or(structure.locked.first());
    checks.push(CheckReport {
        name: "every table and index is well formed, nothing is left locked".to_owned(),
        ok: wrong.is_none(),
        detail: match wrong {
            None => counted(structure.lines.len() as u64, "structure"),
            Some(wrong) => wrong.clone(),
        },
    });
    Ok(checks)
}

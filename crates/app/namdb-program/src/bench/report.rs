//! The report of a run as data, assembled here, drawn by `table` and written by `json`.

use super::checks::{BeforeRun, check_after_run};
use super::compute_servers::{Loss, Share};
use super::driver::{Elapsed, Run, Span};
use super::measure::{KindWindow, Window};
use super::site::{Facts, LOCAL, Site, SiteWorkload};
use crate::Verdict;
use hdrhistogram::Histogram;
use namdb::{DirectoryStatistics, Isolation, host};
use serde::Serialize;
use std::collections::BTreeMap;
use txn::Abort;
use workload::CheckResult;
use workload::driver::About;
use workload::driver::KindTotals;

/// A run that ended sooner has measured nothing.
const MEASURED_S_MIN: f64 = 0.001;

/// The report of a run. Rates are per second of the measured time, averages per finished
/// transaction.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the workload.
    pub workload: String,
    /// Parameters of the workload as text.
    pub parameters: String,
    /// Parameters of the workload by option name.
    pub options: serde_json::Value,
    /// Name of the fabric.
    pub fabric: &'static str,
    /// Isolation level.
    pub isolation: &'static str,
    /// How snapshots are taken.
    pub oracle: &'static str,
    /// Number of threads that run transactions.
    pub threads: u32,
    /// Number of lanes of all threads.
    pub lanes: u32,
    /// Limit on the transactions started per second.
    pub rate: Option<f64>,
    /// Number of memory servers.
    pub servers: u16,
    /// The compute servers that ran the transactions; empty if this process did.
    pub compute_servers: Vec<ComputeServerReport>,
    /// Compute servers that were lost during the run; their transactions are not counted.
    pub lost_compute_servers: Vec<Loss>,
    /// Rows loaded and the time it took.
    pub load: LoadReport,
    /// Measured seconds.
    pub seconds: f64,
    /// Processor time of the whole process in the measured time, in seconds.
    pub cpu_seconds: f64,
    /// The part of it spent in the kernel, mostly for the first touch of memory.
    pub kernel_seconds: f64,
    /// Whether the user ended the run early.
    pub is_interrupted: bool,
    /// Whether the run ended early because the memory servers were full.
    pub is_out_of_memory: bool,
    /// Whether the run ended early because a memory server became unreachable.
    pub is_unreachable: bool,
    /// Number of committed transactions.
    pub committed: u64,
    /// Committed transactions per second.
    pub txn_per_s: f64,
    /// Transactions per second that committed or were rolled back by the workload's rules.
    pub attempted_per_s: f64,
    /// Committed new-orders per second, in TPC-C.
    pub new_order_per_s: Option<f64>,
    /// Transactions rolled back by the workload's rules.
    pub rolled_back: u64,
    /// Committed transactions that found no row, if the workload counts them; they count as failed.
    pub found_nothing: Option<u64>,
    /// Transactions per second that committed and found a row.
    pub succeeded_per_s: f64,
    /// Percentage of transactions executed by the owners of their rows, if the design ships any.
    pub shipped_percent: Option<f64>,
    /// Percentage of transactions executed by a compute server that does not own their rows, among
    /// those whose arguments determine the owner; `None` unless such transactions are routed.
    pub remote_percent: Option<f64>,
    pub retries: u64,
    /// Transactions given up after the maximal number of attempts.
    pub given_up: u64,
    /// Transactions with unknown outcome.
    pub unknown: u64,
    /// Measurements per transaction type.
    pub per_type: BTreeMap<String, TypeReport>,
    /// The types in the workload's order.
    #[serde(skip)]
    pub type_order: Vec<String>,
    /// Aborted attempts per reason.
    pub aborts: BTreeMap<String, u64>,
    /// Work of the engine beside the transactions.
    pub engine: EngineReport,
    /// Memory of the tables.
    pub memory: MemoryReport,
    /// Writes to the directory, if the database has one.
    pub directory: Option<DirectoryReport>,
    /// Results of the checks.
    pub checks: Vec<CheckReport>,
    /// Checks and measurements that failed to run, as sentences.
    pub problems: Vec<String>,
    /// Commit from which the program was built.
    pub commit: &'static str,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The machine on which it ran.
    pub machine: String,
}

/// Result of the load.
#[derive(Clone, Debug, Serialize)]
pub struct LoadReport {
    pub rows: u64,
    /// Duration in seconds.
    pub seconds: f64,
}

/// Measurements of one transaction type.
#[derive(Clone, Debug, Serialize)]
pub struct TypeReport {
    /// Number of committed transactions.
    pub count: u64,
    /// Committed transactions per second.
    pub per_s: f64,
    /// Transactions rolled back by the workload's rules.
    pub rolled_back: u64,
    pub retries: u64,
    /// Transactions given up after the maximal number of attempts.
    pub given_up: u64,
    /// Transactions with unknown outcome.
    pub unknown: u64,
    /// Aborted attempts per reason.
    pub aborts: BTreeMap<String, u64>,
    /// Parts of transactions that found nothing to do.
    pub skipped: u64,
    /// Median latency, including all attempts.
    pub p50_us: f64,
    /// 99th percentile of the latency.
    pub p99_us: f64,
    /// 99.9th percentile of the latency.
    pub p999_us: f64,
    /// Maximal latency.
    pub max_us: f64,
    /// Verbs per transaction, including retries.
    pub verbs: f64,
    /// Bytes per transaction, including retries.
    pub bytes: f64,
    /// Requests per transaction to memory servers, each with one response; 0 if verbs need no
    /// messages.
    pub messages: f64,
    /// Round trips per transaction, excluding those for snapshots.
    pub round_trips: f64,
    /// Round trips per transaction for snapshots.
    pub snapshot_round_trips: f64,
    /// Calls per transaction, such as the one that ships it to the owner of its rows.
    pub calls: f64,
}

/// Result of one compute server.
#[derive(Clone, Debug, Serialize)]
pub struct ComputeServerReport {
    /// The compute server's number.
    pub number: u16,
    pub threads: u32,
    /// Measured seconds.
    pub seconds: f64,
    /// Processor time of the process in the measured time, in seconds.
    pub cpu_seconds: f64,
    /// Number of committed transactions.
    pub committed: u64,
    /// Committed transactions per second.
    pub txn_per_s: f64,
    /// 99th percentile of the latency.
    pub p99_us: f64,
}

impl ComputeServerReport {
    fn of(share: &Share) -> Self {
        let Span { elapsed, window, .. } = &share.run.measured;
        let committed = window.totals.committed();
        Self {
            number: share.number,
            threads: share.threads,
            seconds: elapsed.seconds,
            cpu_seconds: elapsed.cpu_seconds,
            committed,
            txn_per_s: committed as f64 / elapsed.seconds.max(1e-9),
            p99_us: quantile_us(&window.latency_ns(), 0.99),
        }
    }
}

/// Work of the engine beside the transactions.
#[derive(Clone, Debug, Serialize)]
pub struct EngineReport {
    /// Reads that had to search for an old version.
    pub old_version_reads: u64,
    /// Versions moved to the overflow list.
    pub versions_moved: u64,
    /// Version buffers given to rows.
    pub buffers_given: u64,
    /// Version buffers collected.
    pub buffers_collected: u64,
    /// Version buffers in use at the end.
    pub buffers_in_use: u64,
    /// Tombstones and index entries collected.
    pub entries_collected: u64,
    pub buckets_split: u64,
}

/// Memory of the tables.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MemoryReport {
    /// All tables after the run.
    #[serde(flatten)]
    pub now: TablesReport,
    /// Resident memory of the process.
    pub process_bytes: u64,
    /// All tables before the run.
    pub after_load: TablesReport,
}

/// Memory of all tables at one moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TablesReport {
    /// Rows times the bytes of their columns.
    pub raw_bytes: u64,
    /// Allocated memory: rows, indexes, old versions, free space in extents, and the catalog.
    pub used_bytes: u64,
    pub per_table: BTreeMap<String, TableReport>,
}

/// Memory of one table.
#[derive(Clone, Debug, Serialize)]
pub struct TableReport {
    pub rows: u64,
    /// Rows times the bytes of its columns.
    pub raw_bytes: u64,
    /// Memory allocated for it.
    pub used_bytes: u64,
    /// Number of parts, each on its own memory server; 1 if it is not partitioned.
    pub parts: u32,
    /// Number of memory servers that have all of it; 1 if it is not replicated.
    pub copies: u32,
}

/// Result of a check.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// The condition that was checked.
    pub name: String,
    /// Whether it checks how often transactions succeed, rather than data.
    pub is_rate: bool,
    /// Whether the data holds, but another process of the cluster has left locks or stands still.
    pub is_lock: bool,
    /// Whether the condition holds.
    pub ok: bool,
    /// How much was checked, or what is wrong.
    pub detail: String,
}

impl From<CheckResult> for CheckReport {
    fn from(check: CheckResult) -> Self {
        let is_rate = check.about == About::Rates;
        let (name, is_lock) = (check.name.to_owned(), false);
        Self { name, is_rate, is_lock, ok: check.ok, detail: check.detail }
    }
}

impl CheckReport {
    /// Whether the data is damaged.
    pub fn shows_damage(&self) -> bool {
        !self.ok && !self.is_rate && !self.is_lock
    }

    /// Whether calls did not succeed as often as expected.
    pub fn shows_rate(&self) -> bool {
        !self.ok && self.is_rate
    }

    /// Whether a process holds locks that has left or stands still.
    pub fn shows_lock(&self) -> bool {
        self.is_lock
    }
}

/// Parameters of a workload.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    /// As text.
    pub words: String,
    /// Effective values by option name.
    pub options: serde_json::Value,
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Parameters of the workload.
    pub parameters: Parameters,
    /// Isolation level.
    pub isolation: Isolation,
    /// Number of threads that run transactions.
    pub threads: u32,
    /// Limit on the transactions started per second.
    pub rate: Option<f64>,
    pub seed: u64,
}

/// Writes to the directory during the run, with its warm-up.
#[derive(Clone, Debug, Serialize)]
pub struct DirectoryReport {
    /// Groups of commits. Each is one sync.
    pub groups: u64,
    /// Committed transactions per group.
    pub txn_per_group: f64,
    /// Bytes of the redo log per committed transaction.
    pub log_bytes_per_txn: f64,
    /// Mean time of writing and syncing a group, in milliseconds.
    pub group_ms: f64,
    /// Checkpoints made.
    pub checkpoints: u64,
    /// Seconds since the last one was complete.
    pub checkpoint_age_s: Option<f64>,
}

impl DirectoryReport {
    fn of(
        after: Option<DirectoryStatistics>,
        before: Option<DirectoryStatistics>,
        run: &Run,
    ) -> Option<Self> {
        let (after, before) = (after?, before?);
        let groups = after.groups - before.groups;
        let committed = run.totals.committed().max(1) as f64;
        let per_group = |value: f64| value / groups.max(1) as f64;
        Some(Self {
            groups,
            txn_per_group: per_group(run.totals.committed() as f64),
            log_bytes_per_txn: (after.log_bytes - before.log_bytes) as f64 / committed,
            group_ms: per_group(1e3 * (after.group_s - before.group_s)),
            checkpoints: after.checkpoints - before.checkpoints,
            checkpoint_age_s: after.checkpoint_age_s,
        })
    }
}

impl Report {
    /// Checks the database and assembles the report. A check that cannot be run is reported in it,
    /// so that the measurements are not lost.
    pub fn new<S: Site, W: SiteWorkload<S>>(
        site: &S,
        workload: &W,
        subject: &Subject,
        before: BeforeRun,
        run: &Run,
        shares: &[Share],
    ) -> Self {
        let mut problems = before.problems;
        let (checks, now) =
            check_after_run(site, workload, run, (before.checks, &before.memory), &mut problems);
        let (process_bytes, facts) = (host::resident_bytes(), site.facts());
        let window = &run.measured.window;
        let Elapsed { seconds, cpu_seconds, kernel_seconds } = run.measured.elapsed;
        let totals = |field: fn(&KindTotals) -> u64| -> u64 {
            (0..window.kinds.len()).map(|kind| field(&window.totals.kind(kind))).sum()
        };
        let per_s = |count: u64| count as f64 / seconds.max(1e-9);
        let found_nothing = workload.skips_whole().then(|| totals(|kind| kind.skipped));
        let names = workload.transaction_types();
        let new_order = names.iter().position(|&name| name == "new_order");
        let has_ended = |kind: &usize| ended(&window.totals.kind(*kind)) > 0;
        let ran: Vec<usize> = (0..names.len()).filter(has_ended).collect();
        Self {
            workload: workload.name().to_owned(),
            parameters: subject.parameters.words.clone(),
            options: subject.parameters.options.clone(),
            fabric: facts.fabric,
            isolation: subject.isolation.name(),
            oracle: facts.oracle.name(),
            threads: subject.threads,
            lanes: lanes(facts, subject.threads, shares),
            rate: subject.rate,
            servers: facts.servers,
            compute_servers: shares.iter().map(ComputeServerReport::of).collect(),
            lost_compute_servers: run.lost.clone(),
            load: LoadReport { rows: before.loaded.rows, seconds: before.loaded.seconds },
            seconds,
            cpu_seconds,
            kernel_seconds,
            is_interrupted: run.is_interrupted,
            is_out_of_memory: run.is_out_of_memory,
            is_unreachable: run.is_unreachable,
            committed: window.totals.committed(),
            txn_per_s: per_s(window.totals.committed()),
            attempted_per_s: per_s(totals(|kind| kind.committed + kind.rolled_back)),
            new_order_per_s: new_order.map(|kind| per_s(window.totals.kind(kind).committed)),
            rolled_back: totals(|kind| kind.rolled_back),
            found_nothing,
            succeeded_per_s: per_s(window.totals.committed() - found_nothing.unwrap_or(0)),
            shipped_percent: workload.is_shipping(facts.servers.into()).then(|| shipped(window)),
            remote_percent: remote(totals(|kind| kind.home), totals(|kind| kind.elsewhere)),
            retries: totals(|kind| kind.retries),
            given_up: totals(|kind| kind.aborted),
            unknown: totals(|kind| kind.unknown),
            per_type: per_type(&ran, names, window, seconds),
            type_order: ran.iter().map(|&kind| names[kind].to_owned()).collect(),
            aborts: by_reason(window.totals.aborts()),
            engine: engine(&run.measured),
            directory: DirectoryReport::of(site.directory_statistics(), before.directory, run),
            memory: MemoryReport { now, process_bytes, after_load: before.memory },
            checks,
            problems,
            commit: env!("NAMDB_COMMIT"),
            seed: subject.seed,
            machine: host::machine(),
        }
    }

    /// Whether the run lasted long enough to measure anything.
    pub fn has_measured(&self) -> bool {
        self.seconds >= MEASURED_S_MIN
    }

    /// Whether verbs travelled in messages.
    pub fn has_messages(&self) -> bool {
        self.per_type.values().any(|kind| kind.messages > 0.0)
    }

    /// Whether memory servers and transactions were threads of this process.
    pub fn is_of_this_process(&self) -> bool {
        self.fabric == LOCAL
    }

    /// The verdict that determines the exit code.
    pub fn verdict(&self) -> Verdict {
        if self.checks.iter().any(CheckReport::shows_damage) {
            Verdict::Damaged
        } else if self.is_out_of_memory
            || self.is_unreachable
            || !self.lost_compute_servers.is_empty()
            || !self.problems.is_empty()
            || self.checks.iter().any(CheckReport::shows_lock)
        {
            Verdict::Incomplete
        } else if self.checks.iter().any(CheckReport::shows_rate) {
            Verdict::Unexpected
        } else {
            Verdict::Sound
        }
    }
}

fn by_reason(aborts: impl Iterator<Item = (Abort, u64)>) -> BTreeMap<String, u64> {
    aborts.map(|(reason, count)| (reason.name().to_owned(), count)).collect()
}

fn ended(totals: &KindTotals) -> u64 {
    totals.committed + totals.rolled_back + totals.aborted + totals.unknown
}

/// Percentage of transactions executed elsewhere; `None` if no transaction was routed.
fn remote(home: u64, elsewhere: u64) -> Option<f64> {
    let all = home + elsewhere;
    (all > 0).then(|| 100.0 * elsewhere as f64 / all as f64)
}

/// Percentage of transactions executed by the owners of their rows.
fn shipped(window: &Window) -> f64 {
    let kinds = (0..window.kinds.len()).map(|kind| window.totals.kind(kind));
    let count =
        |(shipped, all): (u64, u64), kind: KindTotals| (shipped + kind.shipped, all + ended(&kind));
    let (shipped, all) = kinds.fold((0, 0), count);
    100.0 * shipped as f64 / all.max(1) as f64
}

fn type_report(window: &Window, kind: usize, seconds: f64) -> TypeReport {
    let totals = window.totals.kind(kind);
    let KindWindow { latency_ns, counts, snapshot_round_trips } = &window.kinds[kind];
    let average = |sum: u64| sum as f64 / ended(&totals).max(1) as f64;
    TypeReport {
        count: totals.committed,
        per_s: totals.committed as f64 / seconds.max(1e-9),
        rolled_back: totals.rolled_back,
        retries: totals.retries,
        given_up: totals.aborted,
        unknown: totals.unknown,
        aborts: by_reason(window.totals.aborts_of(kind)),
        skipped: totals.skipped,
        p50_us: quantile_us(latency_ns, 0.5),
        p99_us: quantile_us(latency_ns, 0.99),
        p999_us: quantile_us(latency_ns, 0.999),
        max_us: latency_ns.max() as f64 / 1e3,
        verbs: average(counts.verbs),
        bytes: average(counts.bytes),
        messages: average(counts.messages),
        round_trips: average(counts.round_trips - snapshot_round_trips),
        snapshot_round_trips: average(*snapshot_round_trips),
        calls: average(counts.calls),
    }
}

/// A quantile of the latencies in microseconds.
pub fn quantile_us(latency_ns: &Histogram<u32>, quantile: f64) -> f64 {
    latency_ns.value_at_quantile(quantile) as f64 / 1e3
}

/// Number of lanes of all threads.
fn lanes(facts: Facts, threads: u32, shares: &[Share]) -> u32 {
    match shares {
        [] => threads * facts.lanes_per_thread,
        shares => shares.iter().map(|share| share.threads * share.lanes).sum(),
    }
}

fn per_type(
    ran: &[usize],
    names: &[&'static str],
    window: &Window,
    seconds: f64,
) -> BTreeMap<String, TypeReport> {
    let report = |&kind: &usize| (names[kind].to_owned(), type_report(window, kind, seconds));
    ran.iter().map(report).collect()
}

fn engine(measured: &Span) -> EngineReport {
    let statistics = &measured.window.statistics;
    EngineReport {
        old_version_reads: statistics.old_version_reads,
        versions_moved: statistics.versions_moved,
        buffers_given: statistics.buffers_given,
        buffers_collected: statistics.buffers_collected,
        buffers_in_use: measured.buffers_in_use,
        entries_collected: statistics.entries_collected,
        buckets_split: statistics.buckets_split,
    }
}

//! `namdb counts`: runs the same transactions every time, so that instructions can be counted.

use super::choice::Job;
use crate::Verdict;
use crate::bench::measure::{Reading, Window};
use crate::bench::progress::Progress;
use crate::bench::report::Parameters;
use crate::bench::text;
use crate::bench::worker_metrics::{RunMetrics, WorkerMetrics};
use crate::bench::world::{self, DirectoryPlan, WorldPlan};
use crate::bench::{AnyWorkload, LocalWorkload};
use crate::output;
use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use fabric::{LocalEnv, run_now};
use metrics::Registry;
use namdb::host::Moment;
use namdb::{Isolation, Oracle};
use serde::Serialize;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use txn::{Database, Lane};
use workload::smallbank::SmallBankConfig;
use workload::tatp::TatpConfig;
use workload::tpcc::{self, Scale};
use workload::ycsb::{Distribution, Mix, YcsbConfig};
use workload::{SmallBank, Tatp, Tpcc, TransactionResult, Ycsb};

const EXAMPLES: &str = "\
Examples:
  namdb counts --workload tpcc --transactions 1000
  valgrind --tool=callgrind namdb counts --workload point-read --transactions 20000

Prints one line of JSON with averages per transaction. Progress is shown on a terminal only; with \
2>/dev/null none of its instructions are counted.";

/// Arguments of `namdb counts`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct CountsArguments {
    /// Workload to run
    #[arg(long, value_enum)]
    workload: CountsWorkload,
    /// Number of transactions
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    transactions: u64,
}

/// Small databases that load quickly under an instrument that slows everything down fifty times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum CountsWorkload {
    /// TPC-C on one warehouse of a hundredth of the size
    Tpcc,
    /// The same, with metrics
    TpccMetrics,
    /// YCSB, half updates
    Ycsb,
    /// SmallBank
    Smallbank,
    /// TATP
    Tatp,
    /// Reads of single small records
    PointRead,
}

impl CountsWorkload {
    fn name(self) -> &'static str {
        match self {
            Self::Tpcc => "tpcc",
            Self::TpccMetrics => "tpcc-metrics",
            Self::Ycsb => "ycsb",
            Self::Smallbank => "smallbank",
            Self::Tatp => "tatp",
            Self::PointRead => "point-read",
        }
    }
}

const SEED: u64 = 1;
const MEMORY_BYTES: u64 = 1 << 30;
const RECORDS: u64 = 2_000;
/// Number of progress updates, independent of the number of transactions, so that their cost
/// cancels out when a run is compared with one of twice the length.
const SHOWN_COUNT: u64 = 100;

/// Transactions between two updates of the metrics. A real run has more of them per second, the
/// interval of its updates.
const UPDATE_EVERY: u64 = 1000;

/// The printed line.
#[derive(Serialize)]
struct CountsReport {
    workload: &'static str,
    transactions: u64,
    round_trips: f64,
    verbs: f64,
    bytes: f64,
    types: BTreeMap<&'static str, TypeCounts>,
}

/// Averages of one transaction type.
#[derive(Serialize)]
struct TypeCounts {
    count: u64,
    verbs: f64,
    bytes: f64,
    round_trips: f64,
}

/// Runs the workload and prints the line.
pub fn run(arguments: &CountsArguments) -> Result<Verdict> {
    let workload = arguments.workload;
    let run_metrics =
        (workload == CountsWorkload::TpccMetrics).then(|| RunMetrics::enter(&Registry::new()));
    let (name, transactions) = (workload.name(), arguments.transactions);
    let job = Count { name, transactions, run_metrics };
    let isolation = Isolation::Snapshot;
    let report = match workload {
        CountsWorkload::Tpcc | CountsWorkload::TpccMetrics => {
            let config = tpcc::Config { scale: Scale::SMALL, ..tpcc::Config::new(1) };
            job.run(Tpcc::new(config)?, Parameters::default())?
        }
        CountsWorkload::Smallbank => {
            let config = SmallBankConfig {
                customers: RECORDS,
                hot_customers: RECORDS / 25,
                hot_percent: 90,
                isolation,
            };
            job.run(SmallBank::new(config)?, Parameters::default())?
        }
        CountsWorkload::Tatp => {
            let config = TatpConfig { isolation, ..TatpConfig::new(RECORDS as u32) };
            job.run(Tatp::new(config)?, Parameters::default())?
        }
        CountsWorkload::Ycsb => {
            let config = YcsbConfig { records: RECORDS, isolation, ..YcsbConfig::default() };
            job.run(Ycsb::new(config)?, Parameters::default())?
        }
        CountsWorkload::PointRead => {
            let config = YcsbConfig {
                records: RECORDS,
                record_bytes: 100,
                mix: Mix::C,
                distribution: Distribution::Uniform,
                isolation,
                ..YcsbConfig::default()
            };
            job.run(Ycsb::new(config)?, Parameters::default())?
        }
    };
    output::print(&(serde_json::to_string(&report)? + "\n"))?;
    Ok(Verdict::Sound)
}

struct Count {
    name: &'static str,
    transactions: u64,
    run_metrics: Option<RunMetrics>,
}

impl Job for Count {
    type Output = CountsReport;

    fn run<W: AnyWorkload>(self, workload: W, parameters: Parameters) -> Result<CountsReport> {
        self.run_here(workload, parameters)
    }
}

impl Count {
    fn run_here<W: LocalWorkload>(
        self,
        workload: W,
        _parameters: Parameters,
    ) -> Result<CountsReport> {
        let plan = WorldPlan {
            servers: 1,
            memory_bytes: Some(MEMORY_BYTES),
            threads: 1,
            oracle: Oracle::DoubleCollect,
            seed: SEED,
            directory: DirectoryPlan::default(),
        };
        let db = world::open(&plan, workload.memory_bytes())?;
        let database = world::handle(&db);
        run_now(workload.create_tables(&database))?;
        let mut lane = run_now(database.lane())?;
        load(&workload, &database, &mut lane)?;
        let mut terminal = workload.terminal(&database, 0, 1, SEED)?;
        let types = workload.transaction_types();
        let mut counting = Counting {
            window: Window::new(types.len()),
            metrics: self.run_metrics.as_ref().map(|run_metrics| run_metrics.worker(types)),
            begin: Moment::now(),
        };
        let progress = Progress::begin_on_terminal("running", self.transactions);
        let stride = self.transactions.div_ceil(SHOWN_COUNT);
        for begin in (0..self.transactions).step_by(stride as usize) {
            let end = (begin + stride).min(self.transactions);
            run_some(&workload, &database, &mut lane, &mut terminal, begin..end, &mut counting)?;
            progress.show(end, &text::counted(end, "transaction"));
        }
        progress.finish(&text::counted(self.transactions, "transaction"));
        Ok(CountsReport::new(self.name, self.transactions, &counting.window, types))
    }
}

fn load<W: LocalWorkload>(
    workload: &W,
    database: &Database<LocalEnv>,
    lane: &mut Lane<LocalEnv>,
) -> Result<()> {
    let progress = Progress::begin_on_terminal("loading", workload.load_rows());
    let rows = Cell::new(0);
    let show = |inserted| {
        rows.set(rows.get() + inserted);
        progress.show(rows.get(), &text::counted(rows.get(), "row"));
    };
    run_now(workload.load_part(database, lane, 0, 1, &show))?;
    progress.finish(&text::counted(rows.get(), "row"));
    Ok(())
}

/// Results of the transactions so far.
struct Counting {
    window: Window,
    /// Metrics to update.
    metrics: Option<WorkerMetrics>,
    begin: Moment,
}

/// The counted part. It displays nothing, so that a transaction costs the same with and without a
/// terminal.
fn run_some<W: LocalWorkload>(
    workload: &W,
    database: &Database<LocalEnv>,
    lane: &mut Lane<LocalEnv>,
    terminal: &mut W::Terminal,
    transactions: Range<u64>,
    counting: &mut Counting,
) -> Result<()> {
    for number in transactions {
        let before = Reading::of(lane);
        let finished = run_now(workload.run_one(lane, terminal))?;
        let after = Reading::of(lane);
        ensure!(
            matches!(finished.result, TransactionResult::Committed | TransactionResult::RolledBack),
            "a transaction without concurrent ones ended as {:?}",
            finished.result
        );
        counting.window.add(&finished, 1, &before, &after);
        if let Some(metrics) = &mut counting.metrics {
            metrics.record(finished.kind, 1, counting.begin);
            if number % UPDATE_EVERY == 0 {
                run_now(metrics.update(database, lane));
            }
        }
    }
    Ok(())
}

impl CountsReport {
    fn new(
        workload: &'static str,
        transactions: u64,
        window: &Window,
        names: &[&'static str],
    ) -> Self {
        let mut sum = fabric::Counts::default();
        let mut types = BTreeMap::new();
        for (kind, &name) in window.kinds.iter().zip(names) {
            let count = kind.latency_ns.len();
            if count == 0 {
                continue;
            }
            sum += kind.counts;
            let average = |sum: u64| sum as f64 / count as f64;
            let counts = TypeCounts {
                count,
                verbs: average(kind.counts.verbs),
                bytes: average(kind.counts.bytes),
                round_trips: average(kind.counts.round_trips),
            };
            types.insert(name, counts);
        }
        let average = |sum: u64| sum as f64 / transactions as f64;
        Self {
            workload,
            transactions,
            round_trips: average(sum.round_trips),
            verbs: average(sum.verbs),
            bytes: average(sum.bytes),
            types,
        }
    }
}

//! `namdb demo`: runs a database in this process and proves that it stayed consistent.

use super::bench::Measure;
use super::choice::{Choice, PopulationName, TpccArguments};
use super::{DirectoryArguments, IsolationName, OracleName, WorldArguments, catch_interrupts};
use crate::Verdict;
use crate::bench::report::Report;
use crate::bench::{json, table, text, world};
use crate::output;
use anyhow::{Context, Result};
use clap::Args;
use fabric::run_now;
use namdb::{Isolation, Oracle};
use std::path::PathBuf;
use workload::Workload;
use workload::smallbank::write_skew::{self, Observation};
use workload::smallbank::{SmallBank, SmallBankConfig, Tables};

const EXAMPLES: &str = "\
Examples:
  namdb demo
  namdb demo --warehouses 8 --seconds 60 --threads 4
  namdb demo --data here                        the same, with the data in a directory";

/// Arguments of `namdb demo`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct DemoArguments {
    /// Duration of the run in seconds
    #[arg(long, default_value = "10", value_parser = super::parse_span, allow_negative_numbers = true)]
    seconds: f64,
    /// Warehouses, about 100 MB each
    #[arg(long, allow_negative_numbers = true, default_value_t = 2,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(workload::tpcc::WAREHOUSES_MAX)))]
    warehouses: u32,
    /// Number of threads that run transactions [default: one per processor]
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=i64::from(world::THREADS_MAX)))]
    threads: Option<u32>,
    /// Total memory of all servers, such as 4G [default: most of the available memory]
    #[arg(long, allow_negative_numbers = true, value_parser = text::parse_bytes)]
    memory: Option<u64>,
    #[command(flatten)]
    directory: DirectoryArguments,
    /// Also write the result as JSON; `-` is standard output, and the text then goes to standard
    /// error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Number of memory servers of the demo.
const SERVERS: u16 = 2;
/// Memory for the demonstration with three transactions.
const PLAY_BYTES: u64 = 64 << 20;

pub fn run(arguments: &DemoArguments) -> Result<Verdict> {
    if let Some(path) = &arguments.json {
        json::probe(path, &[])?;
    }
    catch_interrupts()?;
    let world = WorldArguments {
        threads: arguments.threads,
        servers: SERVERS,
        memory: arguments.memory,
        oracle: OracleName::DoubleCollect,
        isolation: IsolationName::Snapshot,
        seed: 1,
        directory: arguments.directory.clone(),
    };
    world.directory.check()?;
    let threads = text::counted(u64::from(world.thread_count()), "compute thread");
    let warehouses = text::counted(u64::from(arguments.warehouses), "warehouse");
    output::say(&format!(
        "namdb: {SERVERS} memory servers and {threads} in this process, TPC-C with\n\
         the full mix on {warehouses}.\n"
    ));
    let choice = Choice::Tpcc(TpccArguments {
        warehouses: Some(arguments.warehouses),
        distribution: None,
        population: PopulationName::Full,
    });
    let job = Measure {
        world: &world,
        seconds: arguments.seconds,
        warm_up_s: 1.0,
        rate: None,
        run_metrics: None,
        is_loaded: false,
        is_fresh: false,
    };
    let report = choice.run(Isolation::Snapshot, world.thread_count(), world.seed, job)?;
    output::say("");
    let play = play()?;
    let told = format!("{}\n{play}\n{}", table::draw(&report), epilogue(&report, &world.directory));
    json::deliver(&report, arguments.json.as_deref(), &told)?;
    Ok(report.verdict())
}

/// Shows SmallBank's write skew under both isolation levels in a few lines.
pub fn play() -> Result<String> {
    let [snapshot, serializable] = [Isolation::Snapshot, Isolation::Serializable]
        .map(|isolation| observe(isolation).context("cannot show the write skew"));
    Ok(tell(&snapshot?, &serializable?))
}

fn observe(isolation: Isolation) -> Result<Observation> {
    let config = namdb::Config {
        server_bytes: PLAY_BYTES,
        oracle: Oracle::DoubleCollect,
        lanes: 2,
        ..namdb::Config::default()
    };
    let db = namdb::open(config)?;
    let database = world::handle(&db);
    let bank = SmallBank::new(SmallBankConfig {
        customers: 2,
        hot_customers: 2,
        hot_percent: 0,
        isolation,
    })?;
    let mut slow = run_now(database.lane())?;
    let mut quick = run_now(database.lane())?;
    run_now(bank.create_tables(&database))?;
    run_now(bank.load_part(&database, &mut slow, 0, 1, &|_| ()))?;
    let tables = Tables::open(&database)?;
    Ok(run_now(write_skew::run(&mut slow, &mut quick, tables, 0, isolation))?)
}

fn tell(snapshot: &Observation, serializable: &Observation) -> String {
    let ending = |seen: &Observation| match (seen.is_serializable(), seen.was_prevented()) {
        (false, _) => "all three commit, although no serial order explains it",
        (true, true) => "the check aborts: a row that it read has changed",
        (true, false) => "a serial order explains the results",
    };
    format!(
        "  Isolation, shown on a customer with 4.00 in savings and 3.00 in checking\n  \
         {rule}\n    \
         a check over 5.00 reads both accounts: 7.00 cover it\n    \
         a withdrawal takes 4.00 from savings, and commits\n    \
         a statement reads both, a total of {seen}.00, and commits\n    \
         the check is charged without the penalty for an overdraft\n  \
         snapshot      {}\n  \
         serializable  {}\n",
        ending(snapshot),
        ending(serializable),
        rule = "-".repeat(76),
        seen = snapshot.balance_seen / 100,
    )
}

fn epilogue(report: &Report, directory: &DirectoryArguments) -> String {
    let rows: u64 = report.memory.now.per_table.values().map(|table| table.rows).sum();
    let fate = match &directory.data {
        None => "were in this process's memory and are gone".to_owned(),
        Some(data) => format!("are in {}", data.display()),
    };
    format!(
        "  The {} rows {fate}.\n\n  \
         Next:  namdb bench tpcc --help     run your own benchmark\n         \
         namdb trace tpcc            every verb of a transaction\n",
        text::grouped(rows)
    )
}

//! `namdb bench`: load, run, check, report.

use super::choice::{Choice, Job};
use super::memory_server::parse_setting;
use super::{WorldArguments, catch_interrupts, interruption, parse_rate, parse_span, parse_wait};
use crate::Verdict;
use crate::bench::driver::{self, Phase, Run, RunPlan, Span, Standing, Watcher};
use crate::bench::progress::Progress;
use crate::bench::report::{BeforeRun, Parameters, Report, Subject};
use crate::bench::site::{Seat, Site, SiteWorkload};
use crate::bench::{AnyWorkload, LocalWorkload, json, load, table, text, world};
use crate::servers::place::{self, Place};
use crate::servers::shm::ShmSite;
use crate::servers::{tcp, verbs};
use anyhow::{Context, Result};
use clap::Args;
use membership::FabricKind;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  namdb bench tpcc --threads 4 --warehouses 4 --seconds 30
  namdb bench tpcc --distribution 100           every new order touches another warehouse
  namdb bench ycsb --workload C --uniform --records 1000000 --record-bytes 100
  namdb bench ycsb --ops-per-txn 10 --read-share 0    transactions of ten updates
  namdb bench smallbank --isolation serializable --oracle frozen
  namdb bench bank --seconds 5 --json result.json
  namdb bench tpcc --rate 20000                 latency at a load that leaves the processors time
  namdb bench append --seconds 5 --history run.edn    record what clients see, and judge it

Progress goes to the error stream, the result to the output. Ctrl-C ends the run early and still \
reports. The exit code is 0 if every check holds, 1 if one fails, 2 if there is no result or it cannot be \
written, 3 if memory ran out or a check could not be run.";

/// Options of `bench`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchArguments {
    #[command(subcommand)]
    choice: Choice,
    #[command(flatten)]
    world: WorldArguments,
    /// Seconds to measure
    #[arg(long, global = true, default_value = "10", value_parser = parse_span, allow_negative_numbers = true)]
    seconds: f64,
    /// Seconds to run before measuring
    #[arg(long, global = true, default_value = "1", value_parser = parse_wait, allow_negative_numbers = true)]
    warm_up: f64,
    /// Most transactions per second that all threads together start [default: as many as they can]
    #[arg(long, global = true, value_name = "N", value_parser = parse_rate, allow_negative_numbers = true)]
    rate: Option<f64>,
    /// Also write the result as JSON; `-` is the output, and the text then goes to the error stream
    #[arg(long, global = true, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    abroad: AbroadArguments,
}

/// A run on the memory servers of a cluster.
#[derive(Args)]
#[command(next_help_heading = "Cluster")]
struct AbroadArguments {
    /// Run on the memory servers of the cluster with this file, not on some of this process
    #[arg(long, global = true, value_name = "FILE", conflicts_with_all = ["servers", "memory", "oracle"])]
    cluster: Option<PathBuf>,
    /// A setting in place of the file's
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = parse_setting, requires = "cluster")]
    set: Vec<(String, String)>,
    /// Transactions that each thread has under way where verbs take time
    #[arg(long, global = true, value_name = "N", requires = "cluster", default_value_t = 8,
          value_parser = clap::value_parser!(u32).range(1..=63))]
    lanes: u32,
    /// Drop tables that an earlier run has left
    #[arg(long, global = true, requires = "cluster")]
    fresh: bool,
}

/// Runs the benchmark.
pub fn run(arguments: &BenchArguments) -> Result<Verdict> {
    if let Some(path) = &arguments.json {
        json::probe(path)?;
    }
    catch_interrupts()?;
    let world = &arguments.world;
    let BenchArguments { seconds, warm_up: warm_up_s, rate, .. } = *arguments;
    let measure = Measure { world, seconds, warm_up_s, rate };
    let job = Deliver { measure, abroad: &arguments.abroad, json: arguments.json.as_deref() };
    arguments.choice.run(world.isolation.into(), world.thread_count(), world.seed, job)?
}

/// A run whose report is told as soon as it is there, before other files are written that were asked for.
struct Deliver<'a> {
    measure: Measure<'a>,
    abroad: &'a AbroadArguments,
    json: Option<&'a Path>,
}

impl Job for Deliver<'_> {
    type Output = Result<Verdict>;

    fn run<W: AnyWorkload>(self, workload: W, parameters: Parameters) -> Result<Result<Verdict>> {
        let report = match &self.abroad.cluster {
            None => self.measure.run(workload, parameters)?,
            Some(file) => {
                let place = Place::join(place::load(file, &self.abroad.set)?)?;
                self.run_abroad(place, &workload, parameters)?
            }
        };
        let delivered = json::deliver(&report, self.json, &table::draw(&report));
        Ok(delivered.map(|()| report.verdict()))
    }
}

impl Deliver<'_> {
    fn run_abroad<W: AnyWorkload>(
        &self,
        place: Place,
        workload: &W,
        parameters: Parameters,
    ) -> Result<Report> {
        let report = match place.cluster.fabric {
            FabricKind::Shm => {
                let site = ShmSite::open(&place)?;
                let report = self.run_at(&site, workload, parameters)?;
                site.leave()?;
                report
            }
            FabricKind::Tcp => {
                self.run_at(&tcp::site(&place, self.abroad.lanes)?, workload, parameters)?
            }
            FabricKind::Verbs => {
                self.run_at(&verbs::site(&place, self.abroad.lanes)?, workload, parameters)?
            }
        };
        place.leave()?;
        Ok(report)
    }

    fn run_at<S: Site, W: SiteWorkload<S>>(
        &self,
        site: &S,
        workload: &W,
        parameters: Parameters,
    ) -> Result<Report> {
        if self.abroad.fresh {
            drop_tables(site, workload)?;
        }
        self.measure.run_at(site, workload, parameters)
    }
}

/// Drops the workload's tables, if they are there.
fn drop_tables<S: Site, W: SiteWorkload<S>>(site: &S, workload: &W) -> Result<()> {
    let seat = site.seat()?;
    let database = seat.handle();
    seat.wait(database.refresh())?;
    for name in workload.table_names() {
        if database.table(name).is_some() {
            seat.wait(database.drop_table(name))
                .with_context(|| format!("cannot drop table {name}"))?;
        }
    }
    Ok(())
}

/// A run with one measured window.
pub struct Measure<'a> {
    /// Where it takes place.
    pub world: &'a WorldArguments,
    /// Seconds that count.
    pub seconds: f64,
    /// Seconds before.
    pub warm_up_s: f64,
    /// Most transactions per second.
    pub rate: Option<f64>,
}

impl Job for Measure<'_> {
    type Output = Report;

    fn run<W: AnyWorkload>(self, workload: W, parameters: Parameters) -> Result<Report> {
        self.run_here(workload, parameters)
    }
}

impl Measure<'_> {
    fn run_here<W: LocalWorkload>(&self, workload: W, parameters: Parameters) -> Result<Report> {
        let db = world::open(&self.world.plan(), workload.memory_bytes())?;
        self.run_at(&db, &workload, parameters)
    }

    fn run_at<S: Site, W: SiteWorkload<S>>(
        &self,
        site: &S,
        workload: &W,
        parameters: Parameters,
    ) -> Result<Report> {
        let threads = self.world.thread_count();
        let loaded = load::load(site, workload, threads, interruption())?;
        let plan = RunPlan {
            threads,
            warm_up_s: self.warm_up_s,
            window_s: self.seconds,
            windows: 1,
            seed: self.world.seed,
            rate: self.rate,
        };
        let before = BeforeRun::new(site, workload, loaded);
        let run = run_with_progress(site, workload, &plan)?;
        let isolation = self.world.isolation.into();
        let (rate, seed) = (self.rate, self.world.seed);
        let subject = Subject { parameters, isolation, threads, rate, seed };
        let progress = Progress::begin("checking", 1);
        let report = Report::new(site, workload, &subject, before, &run);
        progress.finish(&text::counted(report.checks.len() as u64, "check"));
        Ok(report)
    }
}

/// Runs the plan under a bar that tells rate and time left.
fn run_with_progress<S: Site, W: SiteWorkload<S>>(
    site: &S,
    workload: &W,
    plan: &RunPlan,
) -> Result<Run> {
    let total_s = plan.window_s * plan.windows as f64;
    let progress = Progress::begin("running", (total_s * 1e3) as u64);
    let run = driver::run(site, workload, plan, interruption(), &mut Bar(&progress))?;
    let transactions = text::counted(run.totals.committed(), "transaction");
    progress.finish(&format!("{transactions} committed, warm-up included"));
    Ok(run)
}

struct Bar<'a>(&'a Progress);

impl Watcher for Bar<'_> {
    fn show(&mut self, standing: &Standing) {
        let per_second = standing.transactions as f64 / standing.seconds.max(1e-3);
        let message = format!("{} transactions/s", text::rate(per_second));
        match standing.phase {
            Phase::WarmUp => self.0.announce(&format!("warming up, {message}")),
            Phase::TouchingMemory { percent } => {
                self.0.announce(&format!("touching memory, {percent} %"));
            }
            Phase::Measuring => self.0.show((standing.seconds * 1e3) as u64, &message),
        }
    }

    fn span(&mut self, _span: &Span) {}
}

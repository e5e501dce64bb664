//! `namdb bench`: load, run, check, report.

use super::choice::{Choice, CodeName, Job};
use super::memory_server::{CLUSTER_FILE, parse_setting};
use super::part_run::ordered_arguments;
use super::remote_calls::{RemoteCalls, parse_remote_calls};
use super::simulated::SimulatedArguments;
use super::{WorldArguments, catch_interrupts, interruption, parse_rate, parse_span, parse_wait};
use crate::Verdict;
use crate::bench::crew::{Crew, Share, Shares};
use crate::bench::driver::{self, Phase, Run, RunPlan, Span, Standing, Watcher};
use crate::bench::load::Loaded;
use crate::bench::look::BeforeRun;
use crate::bench::part::Part;
use crate::bench::progress::Progress;
use crate::bench::report::{Parameters, Report, Subject};
use crate::bench::site::{Seat, Site, SiteWorkload};
use crate::bench::telling::Telling;
use crate::bench::travel;
use crate::bench::{AnyWorkload, LocalWorkload, json, load, table, text, world};
use crate::lab::{self, Lab};
use crate::output;
use crate::servers::abroad::{self, Errand};
use crate::servers::health::Health;
use crate::servers::keys::keys;
use crate::servers::place::Place;
use anyhow::{Context, Result, ensure};
use clap::Args;
use membership::{ClusterFile, Member};
use metrics::Status;
use namdb::host;
use namdb::procedures::Code;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use txn::{CatalogError, SlotSupply};

/// Lanes of a thread of this process where verbs take time.
const LANES: u32 = 8;

/// What is said where --remote-calls changes nothing.
const NOWHERE_AT_HOME: &str = "  --remote-calls changes nothing: calls are at home on compute servers that own memory servers, and where the design \
                               partitions tables and tells by which argument (`by`) a procedure's rows are found";

const EXAMPLES: &str = "\
Examples:
  namdb bench tpcc --threads 4 --warehouses 4 --seconds 30
  namdb bench tpcc --distribution 100           every new order touches another warehouse
  namdb bench ycsb --workload C --uniform --records 1000000 --record-bytes 100
  namdb bench ycsb --ops-per-txn 10 --read-share 0    transactions of ten updates
  namdb bench smallbank --isolation serializable --oracle frozen
  namdb bench tatp --subscribers 1000000
  namdb bench bank --seconds 5 --json result.json
  namdb bench tpcc --rate 20000                 latency at a load that leaves the processors time
  namdb bench append --seconds 5 --history run.edn    record what clients see, and judge it
  namdb bench tpcc --cluster                    on the cluster of namdb.toml, by all its compute servers
  namdb bench tpcc --cluster prod.toml          on that of another file
  namdb bench workloads/tatp                    stored procedures of a folder, also of one of your own (docs/workload.md)
  namdb bench workloads/tatp --units 1 --profile connectx3-fdr --machines 4
                                                on a simulated cluster, stored and partitioned as its design says
  namdb bench mine --design tuned.json --cluster --remote-calls 30
                                                calls are made where their rows are, but for 30 of 100

Progress goes to the error stream, the result to the output. Ctrl-C ends the run early and still \
reports. The exit code is 0 if every check holds, 1 if one fails, 2 if there is no result or it cannot be \
written, 3 if memory ran out, a server was lost or a check could not be run, 4 if this process is a member of the cluster no more, 5 if all \
checks of data hold and transactions succeed more or less often than the workload says.";

/// Options of `bench`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchArguments {
    #[command(subcommand)]
    pub choice: Choice,
    #[command(flatten)]
    pub world: WorldArguments,
    /// Seconds to measure
    #[arg(long, global = true, default_value = "10", value_parser = parse_span, allow_negative_numbers = true)]
    pub seconds: f64,
    /// Seconds to run before measuring
    #[arg(long, global = true, default_value = "1", value_parser = parse_wait, allow_negative_numbers = true)]
    pub warm_up: f64,
    /// Most transactions per second that all threads together start [default: as many as they can]
    #[arg(long, global = true, value_name = "N", value_parser = parse_rate, allow_negative_numbers = true)]
    pub rate: Option<f64>,
    /// Also write the result as JSON; `-` is the output, and the text then goes to the error stream
    #[arg(long, global = true, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Tell metrics of this process at this address while it runs, such as 127.0.0.1:9100
    #[arg(long, global = true, value_name = "ADDRESS")]
    metrics: Option<String>,
    #[command(flatten)]
    pub abroad: AbroadArguments,
    #[command(flatten)]
    pub simulated: SimulatedArguments,
}

/// A run on the memory servers of a cluster.
#[derive(Args)]
#[command(next_help_heading = "Cluster")]
pub struct AbroadArguments {
    /// Run on the memory servers of a cluster, not of this process; FILE describes it [default: namdb.toml]
    #[arg(long, global = true, value_name = "FILE", num_args = 0..=1, default_missing_value = CLUSTER_FILE,
          conflicts_with_all = ["servers", "memory", "oracle"])]
    cluster: Option<PathBuf>,
    /// A setting in place of the file's
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = parse_setting, requires = "cluster")]
    set: Vec<(String, String)>,
    /// Compute servers that run the transactions, 0 for this process [default: all that are there]
    #[arg(long, global = true, value_name = "N", requires = "cluster", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(0..=1024))]
    compute_servers: Option<u16>,
    /// Transactions that each thread, or each simulated machine, has under way where verbs take time [default: 8, or as the
    /// compute server's section of the file says; 32 of a simulated machine]
    #[arg(long, global = true, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pub lanes: Option<u32>,
    /// Of a folder's calls whose arguments tell the place of their rows, how many in a hundred come to another compute server,
    /// or simulated machine, than that of their rows; `anywhere` if nobody looks where rows are [default: 10]
    #[arg(long, global = true, value_name = "PERCENT", allow_negative_numbers = true, value_parser = parse_remote_calls)]
    pub remote_calls: Option<RemoteCalls>,
    /// Drop tables that an earlier run has left
    #[arg(long, global = true, requires = "cluster")]
    fresh: bool,
    /// Go on with the tables that an earlier run with the same options has left, where no check counts what was
    /// done since the load (bank)
    #[arg(long, global = true, requires = "cluster", conflicts_with = "fresh")]
    loaded: bool,
}

/// Runs the benchmark, with generated code of these workloads beside that of the shipped ones.
pub fn run(mut arguments: BenchArguments, code: &[Code], lab: Option<&Lab>) -> Result<Verdict> {
    arguments.choice.link(code);
    let arguments = &arguments;
    if let Some(path) = &arguments.json {
        let read = arguments.choice.inputs();
        let read = read.iter().chain(&arguments.abroad.cluster).map(PathBuf::as_path);
        json::probe(path, &read.collect::<Vec<_>>())?;
    }
    let world = &arguments.world;
    let BenchArguments { abroad, simulated, .. } = arguments;
    let AbroadArguments { lanes, cluster, remote_calls, .. } = abroad;
    ensure!(
        remote_calls.is_none() || matches!(arguments.choice, Choice::Folder(_)),
        "--remote-calls is of the calls of a folder, whose design tells where rows are"
    );
    if simulated.is_simulated()? {
        return lab.map_or_else(lab::start, |lab| (lab.bench)(arguments));
    }
    ensure!(
        lanes.is_none() || cluster.is_some(),
        "--lanes belongs to --cluster or --profile: in one process nothing waits"
    );
    ensure!(
        remote_calls.is_none() || cluster.is_some(),
        "--remote-calls belongs to --cluster or --profile: in one process all rows are near"
    );
    catch_interrupts()?;
    let abroad = match &arguments.abroad.cluster {
        None => None,
        Some(file) => Some(Abroad::open(file, &arguments.abroad, world)?),
    };
    let threads = abroad.as_ref().map_or(world.thread_count(), |abroad| abroad.threads);
    let told = arguments.metrics.as_deref().map(tell).transpose()?;
    let BenchArguments { seconds, warm_up: warm_up_s, rate, .. } = *arguments;
    let telling = told.as_ref().map(|(telling, _)| telling);
    let is_loaded = arguments.abroad.loaded;
    let measure = Measure { world, seconds, warm_up_s, rate, telling, is_loaded };
    if let Choice::Folder(folder) = &arguments.choice
        && folder.postgres.is_some()
    {
        ensure!(
            abroad.is_none() && rate.is_none(),
            "--postgres compares full speed in this process; leave away --cluster and --rate"
        );
        return super::postgres::run(folder, measure, arguments.json.as_deref());
    }
    let job = Deliver { measure, abroad, json: arguments.json.as_deref() };
    arguments.choice.run(world.isolation.into(), threads, world.seed, job)?
}

/// Tells metrics of this process as long as the endpoint lasts.
fn tell(address: &str) -> Result<(Telling, metrics::Endpoint)> {
    let registry = metrics::Registry::new();
    let telling = Telling::enter(&registry);
    let endpoint = metrics::serve(address, &registry, || Status::healthy("{}".to_owned()))
        .with_context(|| format!("metrics cannot be told at {address}"))?;
    output::say(&format!("  metrics at http://{}/metrics", endpoint.address()));
    Ok((telling, endpoint))
}

/// A cluster, and who runs the transactions there.
struct Abroad<'a> {
    arguments: &'a AbroadArguments,
    place: Place,
    /// None if this process runs them.
    crew: Option<Crew>,
    /// Threads that run transactions, of all processes.
    threads: u32,
}

impl<'a> Abroad<'a> {
    fn open(file: &Path, arguments: &'a AbroadArguments, world: &WorldArguments) -> Result<Self> {
        let cluster = ClusterFile::load(file, &arguments.set)?;
        let health = Arc::new(Health::new(interruption()));
        let place = Place::join(cluster, Member::client(), &Arc::default(), &health)?;
        let crew = crew(&place, arguments.compute_servers)?;
        let threads =
            crew.as_ref().map_or(world.thread_count(), |crew| crew.threads(world.threads));
        Ok(Self { arguments, place, crew, threads })
    }
}

/// The compute servers of a cluster that take work, or so many of them; none if there is none, or none is wanted.
pub fn crew(place: &Place, wanted: Option<u16>) -> Result<Option<Crew>> {
    let servers: Vec<&Member> =
        place.map.compute_servers().filter(|member| member.addresses.work.is_some()).collect();
    let wanted = wanted.map_or(servers.len(), usize::from);
    let there = servers.get(..wanted).with_context(|| {
        format!(
            "the cluster has {}, not {wanted}; `namdb compute-server` starts one",
            text::counted(servers.len() as u64, "compute server")
        )
    })?;
    Ok(match there {
        [] => None,
        members => Some(Crew::gather(members, place.cluster.id, keys(&place.cluster)?)?),
    })
}

/// A run whose report is told as soon as it is there, before other files are written that were asked for.
struct Deliver<'a> {
    measure: Measure<'a>,
    abroad: Option<Abroad<'a>>,
    json: Option<&'a Path>,
}

impl Job for Deliver<'_> {
    type Output = Result<Verdict>;

    fn run<W: AnyWorkload>(
        self,
        mut workload: W,
        parameters: Parameters,
    ) -> Result<Result<Verdict>> {
        let Some(Abroad { arguments, place, crew, threads }) = self.abroad else {
            return Ok(deliver(&self.measure.run(workload, parameters)?, self.json));
        };
        let (measure, lanes) = (&self.measure, arguments.lanes.unwrap_or(LANES));
        if arguments.remote_calls.is_some()
            && (crew.is_none() || !abroad::has_homes(&place, &workload))
        {
            output::say(NOWHERE_AT_HOME);
        }
        let owned_lanes = owned_lanes(&place, &workload);
        let is_here = crew.is_none();
        let run = RunAbroad { measure, arguments, crew, threads, owned_lanes, parameters };
        let report = match is_here {
            true => abroad::run_at_home(&place, lanes, &mut workload, RemoteCalls::Anywhere, run),
            false => abroad::run(&place, lanes, &workload, run),
        };
        let delivered = report.map(|report| deliver(&report, self.json));
        // The report is told by now, or will not be for a better reason.
        if let Err(error) = place.leave() {
            output::say(&format!("namdb: the cluster was not left in order: {error:#}"));
        }
        delivered
    }
}

/// Lanes of compute servers for what is shipped to them, at most.
pub fn owned_lanes<W: AnyWorkload>(place: &Place, workload: &W) -> u32 {
    match abroad::is_shipping(place, workload) {
        true => place.cluster.compute.iter().map(|server| server.lanes).sum(),
        false => 0,
    }
}

/// Tells the report.
fn deliver(report: &Report, json: Option<&Path>) -> Result<Verdict> {
    json::deliver(report, json, &table::draw(report))?;
    Ok(report.verdict())
}

/// Drops old tables, loads, runs, checks.
struct RunAbroad<'a> {
    measure: &'a Measure<'a>,
    arguments: &'a AbroadArguments,
    crew: Option<Crew>,
    threads: u32,
    /// Lanes of compute servers for what is shipped to them, at most.
    owned_lanes: u32,
    parameters: Parameters,
}

impl<W> Errand<W> for RunAbroad<'_> {
    type Output = Report;

    fn run<S: Site>(self, site: &S, workload: &W) -> Result<Report>
    where
        W: SiteWorkload<S>,
    {
        let crew = self.crew.as_ref();
        ensure!(
            workload.name() != "append"
                || crew.is_none_or(|crew| crew.has_clock(&host::clock_name())),
            "list-append is judged by times, which the hosts of these compute servers count from different moments; \
             let it run on compute servers of this host, or with --compute-servers 0"
        );
        self.ensure_slots(site)?;
        if self.arguments.fresh {
            drop_tables(site, workload)?;
        }
        ensure!(
            !self.arguments.loaded || !workload.counts_from_load(),
            "the checks of {} count what was done since the load, which --loaded cannot know; run it with --fresh",
            workload.name()
        );
        let Some(crew) = crew else {
            return self.measure.run_at(site, workload, self.parameters);
        };
        let (threads, lanes) = (self.measure.world.threads, self.arguments.lanes);
        let ordered = ordered_arguments(CodeName::of(&self.parameters.options));
        self.measure.run_by(site, workload, self.parameters, |stop, watcher| {
            crew.run_despite_losses(&ordered, threads, lanes, stop, watcher)
        })
    }
}

impl RunAbroad<'_> {
    /// Sees to it, before anything is changed, that there is a slot of the vector for each lane of the run.
    fn ensure_slots<S: Site>(&self, site: &S) -> Result<()> {
        let world = self.measure.world;
        let (loaders, facts) = (world.thread_count(), site.facts());
        let wanted = match &self.crew {
            None => loaders.max(self.threads * facts.lanes_per_thread),
            Some(crew) => {
                let lanes = crew.lanes(world.threads, self.arguments.lanes);
                // Where memory is shared, this process keeps the lanes that it has loaded by.
                if facts.fabric == "shm" { loaders + lanes } else { loaders.max(lanes) }
            }
        };
        ensure_free_slots(
            site,
            wanted + self.owned_lanes,
            "--threads, --lanes or --compute-servers",
        )
    }
}

/// Sees to it that so many slots of the vector are free; if not, what to take fewer of.
pub fn ensure_free_slots<S: Site>(site: &S, wanted: u32, fewer: &str) -> Result<()> {
    let seat = site.seat()?;
    let SlotSupply { free, all } = seat.wait(seat.handle().slots())?;
    ensure!(
        wanted <= free,
        "the run takes {wanted} slots of the timestamp vector, one for each lane of all threads, and {free} of the \
         cluster's {all} are free; take fewer {fewer}"
    );
    Ok(())
}

/// Drops the workload's tables, if they are there.
pub fn drop_tables<S: Site, W: SiteWorkload<S>>(site: &S, workload: &W) -> Result<()> {
    let seat = site.seat()?;
    let database = seat.handle();
    seat.wait(database.refresh())?;
    // Not only what can be used: whoever died at making a table in parts has left some of them.
    match seat.wait(database.drop_tables(workload.table_names())) {
        // Whoever died at work never learns of it: the tables are gone all the same, their memory is free later.
        Ok(()) | Err(CatalogError::Unacknowledged) => Ok(()),
        Err(error) => Err(error).context("cannot drop the workload's tables"),
    }
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
    /// Whom workers tell what they do.
    pub telling: Option<&'a Telling>,
    /// Whether the tables are there.
    pub is_loaded: bool,
}

impl Job for Measure<'_> {
    type Output = Report;

    fn run<W: AnyWorkload>(self, workload: W, parameters: Parameters) -> Result<Report> {
        self.run_here(workload, parameters)
    }
}

impl Measure<'_> {
    fn run_here<W: LocalWorkload>(&self, workload: W, parameters: Parameters) -> Result<Report> {
        let db =
            world::open(&self.world.plan(), workload.memory_bytes_on(self.world.plan().servers))?;
        self.run_at(&db, &workload, parameters)
    }

    /// Makes and fills the tables, if they are not there.
    fn load<S: Site, W: SiteWorkload<S>>(&self, site: &S, workload: &W) -> Result<Loaded> {
        match self.is_loaded {
            true => Ok(Loaded::NOTHING),
            false => load::load(site, workload, self.world.thread_count(), interruption()),
        }
    }

    /// Loads, runs and checks in this process.
    fn run_at<S: Site, W: SiteWorkload<S>>(
        &self,
        site: &S,
        workload: &W,
        parameters: Parameters,
    ) -> Result<Report> {
        let threads = self.world.thread_count();
        let loaded = self.load(site, workload)?;
        let plan = RunPlan {
            threads,
            warm_up_s: self.warm_up_s,
            window_s: self.seconds,
            windows: 1,
            seed: self.world.seed,
            rate: self.rate,
            part: Part::WHOLE,
            telling: self.telling,
        };
        let before = BeforeRun::new(site, workload, loaded);
        let run = with_progress("running", plan.window_s, |stop, watcher| {
            let run = driver::run(site, workload, &plan, stop, watcher)?;
            let committed = run.totals.committed();
            Ok((run, committed))
        })?;
        Ok(self.report(site, workload, (parameters, threads), before, (&run, &[])))
    }

    /// Loads and checks in this process, and has `run_parts` run the transactions elsewhere.
    fn run_by<S: Site, W: SiteWorkload<S>>(
        &self,
        site: &S,
        workload: &W,
        parameters: Parameters,
        run_parts: impl FnOnce(&AtomicBool, &mut dyn Watcher) -> Result<Shares>,
    ) -> Result<Report> {
        let loaded = self.load(site, workload)?;
        let before = BeforeRun::new(site, workload, loaded);
        let (run, shares) = with_progress("running", self.seconds, |stop, watcher| {
            let shares = run_parts(stop, watcher)?;
            let runs: Vec<Run> = shares.done.iter().map(|share| share.run.clone()).collect();
            let mut run = travel::merge(&runs).context("no compute server ran anything")?;
            run.lost = shares.lost;
            let committed = run.totals.committed();
            Ok(((run, shares.done), committed))
        })?;
        for share in &shares {
            workload.hear(&share.testimony)?;
        }
        let threads = shares.iter().map(|share| share.threads).sum();
        Ok(self.report(site, workload, (parameters, threads), before, (&run, &shares)))
    }

    fn report<S: Site, W: SiteWorkload<S>>(
        &self,
        site: &S,
        workload: &W,
        (parameters, threads): (Parameters, u32),
        before: BeforeRun,
        (run, shares): (&Run, &[Share]),
    ) -> Report {
        let isolation = self.world.isolation.into();
        let (rate, seed) = (self.rate, self.world.seed);
        let subject = Subject { parameters, isolation, threads, rate, seed };
        Report::new(site, workload, &subject, before, run, shares)
    }
}

/// Runs something of so many seconds under a bar that tells rate and time left; it tells how many transactions
/// have committed.
pub fn with_progress<R>(
    name: &'static str,
    seconds: f64,
    run: impl FnOnce(&AtomicBool, &mut dyn Watcher) -> Result<(R, u64)>,
) -> Result<R> {
    let progress = Progress::begin(name, (seconds * 1e3) as u64);
    let (output, committed) = run(interruption(), &mut Bar(&progress))?;
    let transactions = text::counted(committed, "transaction");
    progress.finish(&format!("{transactions} committed, warm-up included"));
    Ok(output)
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

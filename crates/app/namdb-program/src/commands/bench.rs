//! `namdb bench`: loads, runs and checks a workload, and reports.

use super::choice::{Choice, CodeName, Job};
use super::memory_server::{CLUSTER_FILE, parse_setting};
use super::part_run::ordered_words;
use super::remote_calls::{RemoteCalls, parse_remote_calls};
use super::simulated::SimulatedArguments;
use super::{WorldArguments, catch_interrupts, interruption, parse_rate, parse_span, parse_wait};
use crate::Verdict;
use crate::bench::checks::BeforeRun;
use crate::bench::compute_servers::{ComputeServers, ServerResults, Share};
use crate::bench::driver::{self, Phase, Run, RunPlan, Span, Standing, Watcher};
use crate::bench::load::Loaded;
use crate::bench::part::Part;
use crate::bench::progress::Progress;
use crate::bench::report::{Parameters, Report, Subject};
use crate::bench::run_record;
use crate::bench::site::{Site, SiteSession, SiteWorkload};
use crate::bench::worker_metrics::RunMetrics;
use crate::bench::{AnyWorkload, LocalWorkload, json, load, table, text, world};
use crate::lab::{self, Lab};
use crate::output;
use crate::servers::cluster_client::ClusterClient;
use crate::servers::cluster_site::{self, SiteJob};
use crate::servers::health::Health;
use crate::servers::keys::keys;
use anyhow::{Context, Result, ensure};
use clap::Args;
use membership::{ClusterFile, Member};
use metrics::{Access, Status};
use namdb::host;
use namdb::procedures::Code;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use txn::{CatalogError, SlotSupply};

/// Lanes per thread of this process if verbs take time.
const LANES: u32 = 8;

/// Printed if --remote-calls has no effect.
const NOWHERE_AT_HOME: &str = "  --remote-calls has no effect: it needs compute servers that own memory servers, and a design that \
                               partitions tables and names the argument (`by`) that locates a procedure's rows";

const EXAMPLES: &str = "\
Examples:
  namdb bench tpcc --threads 4 --warehouses 4 --seconds 30
  namdb bench tpcc --distribution 100           every new order touches another warehouse
  namdb bench ycsb --workload C --uniform --records 1000000 --record-bytes 100
  namdb bench ycsb --ops-per-txn 10 --read-share 0    ten updates per transaction
  namdb bench smallbank --isolation serializable --oracle frozen
  namdb bench tatp --subscribers 1000000
  namdb bench bank --seconds 5 --json result.json
  namdb bench tpcc --rate 20000                 latency at a fixed load
  namdb bench append --seconds 5 --history run.edn    record a history and check its isolation
  namdb bench tpcc --cluster                    on all compute servers of namdb.toml's cluster
  namdb bench tpcc --cluster prod.toml          on another file's cluster
  namdb bench workloads/tatp                    stored procedures of a folder; write your own: docs/workload.md
  namdb bench workloads/tatp --units 1 --profile connectx3-fdr --machines 4
                                                on a simulated cluster with the folder's design
  namdb bench mine --design tuned.json --cluster --remote-calls 30
                                                70 of 100 calls come to the owner of their rows

Progress goes to standard error, the result to standard output. Ctrl-C ends the run early and still \
reports. Exit codes: 0 every check holds; 1 a check of data fails; 2 no result, or it cannot be \
written; 3 memory ran out, a server was lost, locks were left or a check could not be run; 4 this process has lost its lease \
in the cluster; 5 all checks of data hold, but transactions succeed more or less often than the workload says.";

/// Arguments of `namdb bench`.
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
    /// Maximal transactions per second that all threads together start [default: no limit]
    #[arg(long, global = true, value_name = "N", value_parser = parse_rate, allow_negative_numbers = true)]
    pub rate: Option<f64>,
    /// Also write the result as JSON; `-` is standard output, and the text then goes to standard
    /// error
    #[arg(long, global = true, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Expose Prometheus metrics at this address during the run, such as 127.0.0.1:9100
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub metrics: Option<String>,
    #[command(flatten)]
    pub cluster_run: ClusterRunArguments,
    #[command(flatten)]
    pub simulated: SimulatedArguments,
}

/// Arguments for a run on a cluster's memory servers.
#[derive(Args)]
#[command(next_help_heading = "Cluster")]
pub struct ClusterRunArguments {
    /// Run on the memory servers of the cluster that FILE describes [default: namdb.toml]
    #[arg(long, global = true, value_name = "FILE", num_args = 0..=1, default_missing_value = CLUSTER_FILE,
          conflicts_with_all = ["servers", "memory", "oracle"])]
    pub cluster: Option<PathBuf>,
    /// Override a setting of the file
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = parse_setting, requires = "cluster")]
    set: Vec<(String, String)>,
    /// Number of compute servers that run the transactions, 0 for this process [default: all]
    #[arg(long, global = true, value_name = "N", requires = "cluster", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(0..=1024))]
    compute_servers: Option<u16>,
    /// Concurrent transactions per thread if verbs take time, or per simulated machine [default: 8,
    /// or the compute server's setting; 32 per simulated machine]
    #[arg(long, global = true, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pub lanes: Option<u32>,
    /// Percentage of a folder's calls that come to another compute server (or simulated machine)
    /// than the one that owns their rows, if the arguments determine it; `anywhere`: ignore the
    /// owner [default: 10]
    #[arg(long, global = true, value_name = "PERCENT", allow_negative_numbers = true, value_parser = parse_remote_calls)]
    pub remote_calls: Option<RemoteCalls>,
    /// Drop the tables of an earlier run on the cluster or in the directory
    #[arg(long, global = true)]
    fresh: bool,
    /// Reuse the tables of an earlier run with the same options, for workloads whose checks do not
    /// count work since the load (not bank)
    #[arg(long, global = true, conflicts_with = "fresh")]
    loaded: bool,
}

/// Runs the benchmark. `code` is generated code in addition to that of the shipped workloads.
pub fn run(mut arguments: BenchArguments, code: &[Code], lab: Option<&Lab>) -> Result<Verdict> {
    arguments.choice.link(code);
    let arguments = &arguments;
    if let Some(path) = &arguments.json {
        let read = arguments.choice.inputs();
        let read = read.iter().chain(&arguments.cluster_run.cluster).map(PathBuf::as_path);
        json::probe(path, &read.collect::<Vec<_>>())?;
    }
    let world = &arguments.world;
    let BenchArguments { cluster_run, simulated, .. } = arguments;
    let ClusterRunArguments { lanes, cluster, remote_calls, .. } = cluster_run;
    ensure!(
        remote_calls.is_none() || matches!(arguments.choice, Choice::Folder(_)),
        "--remote-calls needs a workload folder, whose design determines the owners of rows"
    );
    if simulated.is_simulated()? {
        return lab.map_or_else(lab::start, |lab| (lab.bench)(arguments));
    }
    ensure!(
        lanes.is_none() || cluster.is_some(),
        "--lanes needs --cluster or --profile: in one process no verb waits"
    );
    ensure!(
        remote_calls.is_none() || cluster.is_some(),
        "--remote-calls needs --cluster or --profile: in one process all rows are local"
    );
    world.directory.check()?;
    ensure!(
        cluster.is_none() || world.directory.data.is_none(),
        "--data keeps a database of this process; a cluster's data is in its memory servers"
    );
    ensure!(
        cluster.is_some()
            || world.directory.data.is_some()
            || !(cluster_run.fresh || cluster_run.loaded),
        "--fresh and --loaded need tables of an earlier run: --cluster, or --data DIR"
    );
    catch_interrupts()?;
    let cluster_run = match &arguments.cluster_run.cluster {
        None => None,
        Some(file) => Some(ClusterRun::open(file, &arguments.cluster_run, world)?),
    };
    let threads =
        cluster_run.as_ref().map_or(world.thread_count(), |cluster_run| cluster_run.threads);
    let told = arguments.metrics.as_deref().map(tell).transpose()?;
    let BenchArguments { seconds, warm_up: warm_up_s, rate, .. } = *arguments;
    let run_metrics = told.as_ref().map(|(run_metrics, _)| run_metrics);
    let (is_loaded, is_fresh) = (arguments.cluster_run.loaded, arguments.cluster_run.fresh);
    let measure = Measure { world, seconds, warm_up_s, rate, run_metrics, is_loaded, is_fresh };
    if let Choice::Folder(folder) = &arguments.choice
        && folder.postgres.is_some()
    {
        ensure!(
            cluster_run.is_none() && rate.is_none(),
            "--postgres compares full speed in this process; omit --cluster and --rate"
        );
        return super::postgres::run(folder, measure, arguments.json.as_deref());
    }
    let job = Deliver { measure, cluster_run, json: arguments.json.as_deref() };
    arguments.choice.run(world.isolation.into(), threads, world.seed, job)?
}

/// Exposes this process's metrics until the endpoint is dropped.
fn tell(address: &str) -> Result<(RunMetrics, metrics::Endpoint)> {
    let registry = metrics::Registry::new();
    let run_metrics = RunMetrics::enter(&registry);
    let endpoint =
        metrics::serve(address, Access::Everybody, &registry, || Status::healthy("{}".to_owned()))
            .with_context(|| format!("cannot expose metrics at {address}"))?;
    output::say(&format!("  metrics at http://{}/metrics", endpoint.address()));
    Ok((run_metrics, endpoint))
}

/// A cluster and the processes that run the transactions on it.
struct ClusterRun<'a> {
    arguments: &'a ClusterRunArguments,
    client: ClusterClient,
    /// `None` if this process runs the transactions.
    compute_servers: Option<ComputeServers>,
    /// Threads that run transactions, of all processes.
    threads: u32,
}

impl<'a> ClusterRun<'a> {
    fn open(
        file: &Path,
        arguments: &'a ClusterRunArguments,
        world: &WorldArguments,
    ) -> Result<Self> {
        let cluster = ClusterFile::load(file, &arguments.set)?;
        let health = Arc::new(Health::new(interruption()));
        let client = ClusterClient::join(cluster, Member::client(), &Arc::default(), &health)?;
        let compute_servers = compute_servers(&client, arguments.compute_servers)?;
        let threads = compute_servers
            .as_ref()
            .map_or(world.thread_count(), |compute_servers| compute_servers.threads(world.threads));
        Ok(Self { arguments, client, compute_servers, threads })
    }
}

/// The compute servers of a cluster, or the first `wanted` of them; `None` if the cluster has none
/// or `wanted` is 0.
pub fn compute_servers(
    client: &ClusterClient,
    wanted: Option<u16>,
) -> Result<Option<ComputeServers>> {
    let servers: Vec<&Member> =
        client.map.compute_servers().filter(|member| member.addresses.work.is_some()).collect();
    let wanted = wanted.map_or(servers.len(), usize::from);
    let there = servers.get(..wanted).with_context(|| {
        format!(
            "the cluster has {}, not {wanted}; `namdb compute-server` starts one",
            text::counted(servers.len() as u64, "compute server")
        )
    })?;
    Ok(match there {
        [] => None,
        members => {
            let cluster = (client.cluster.id, client.secret.clone());
            Some(ComputeServers::gather(members, cluster, keys(&client.cluster)?)?)
        }
    })
}

/// A run whose report is printed as soon as it is complete, before other requested files are
/// written.
struct Deliver<'a> {
    measure: Measure<'a>,
    cluster_run: Option<ClusterRun<'a>>,
    json: Option<&'a Path>,
}

impl Job for Deliver<'_> {
    type Output = Result<Verdict>;

    fn run<W: AnyWorkload>(
        self,
        mut workload: W,
        parameters: Parameters,
    ) -> Result<Result<Verdict>> {
        let Some(ClusterRun { arguments, client, compute_servers, threads }) = self.cluster_run
        else {
            return Ok(deliver(&self.measure.run(workload, parameters)?, self.json));
        };
        let (measure, lanes) = (&self.measure, arguments.lanes.unwrap_or(LANES));
        if arguments.remote_calls.is_some()
            && (compute_servers.is_none() || !cluster_site::has_homes(&client, &workload))
        {
            output::say(NOWHERE_AT_HOME);
        }
        let owned_lanes = owned_lanes(&client, &workload);
        let is_here = compute_servers.is_none();
        let run =
            RunOnCluster { measure, arguments, compute_servers, threads, owned_lanes, parameters };
        let report = match is_here {
            true => {
                cluster_site::run_at_home(&client, lanes, &mut workload, RemoteCalls::Anywhere, run)
            }
            false => cluster_site::run(&client, lanes, &workload, run),
        };
        let delivered = report.map(|report| deliver(&report, self.json));
        // By now the report is printed, or a more important error is returned.
        if let Err(error) = client.leave() {
            output::say(&format!("namdb: cannot leave the cluster: {error:#}"));
        }
        delivered
    }
}

/// Maximal number of lanes that compute servers need for shipped calls.
pub fn owned_lanes<W: AnyWorkload>(client: &ClusterClient, workload: &W) -> u32 {
    match cluster_site::is_shipping(client, workload) {
        true => client.cluster.compute.iter().map(|server| server.lanes).sum(),
        false => 0,
    }
}

/// Writes and prints the report.
fn deliver(report: &Report, json: Option<&Path>) -> Result<Verdict> {
    json::deliver(report, json, &table::draw(report))?;
    Ok(report.verdict())
}

/// Drops old tables, loads, runs, checks.
struct RunOnCluster<'a> {
    measure: &'a Measure<'a>,
    arguments: &'a ClusterRunArguments,
    compute_servers: Option<ComputeServers>,
    threads: u32,
    /// Maximal number of lanes that compute servers need for shipped calls.
    owned_lanes: u32,
    parameters: Parameters,
}

impl<W> SiteJob<W> for RunOnCluster<'_> {
    type Output = Report;

    fn run<S: Site>(self, site: &S, workload: &W) -> Result<Report>
    where
        W: SiteWorkload<S>,
    {
        let compute_servers = self.compute_servers.as_ref();
        ensure!(
            workload.name() != "append"
                || compute_servers
                    .is_none_or(|compute_servers| compute_servers.has_clock(&host::clock_name())),
            "list-append needs times of one clock, but these compute servers run on several hosts; use compute servers \
             of one host, or --compute-servers 0"
        );
        self.ensure_slots(site)?;
        if self.arguments.fresh {
            drop_tables(site, workload)?;
        }
        ensure!(
            !self.arguments.loaded || !workload.counts_from_load(),
            "the checks of {} count all work since the load, which --loaded does not know; use --fresh",
            workload.name()
        );
        let Some(compute_servers) = compute_servers else {
            return self.measure.run_at(site, workload, self.parameters);
        };
        let (threads, lanes) = (self.measure.world.threads, self.arguments.lanes);
        let ordered = ordered_words(CodeName::of(&self.parameters.options))?;
        self.measure.run_by(site, workload, self.parameters, |stop, watcher| {
            compute_servers.run_despite_losses(&ordered, threads, lanes, stop, watcher)
        })
    }
}

impl RunOnCluster<'_> {
    /// Checks, before anything is changed, that the timestamp vector has a free slot for each lane
    /// of the run.
    fn ensure_slots<S: Site>(&self, site: &S) -> Result<()> {
        let world = self.measure.world;
        let (loaders, facts) = (world.thread_count(), site.facts());
        let wanted = match &self.compute_servers {
            None => loaders.max(self.threads * facts.lanes_per_thread),
            Some(compute_servers) => {
                let lanes = compute_servers.lanes(world.threads, self.arguments.lanes);
                // With shared memory, this process keeps the lanes used for loading.
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

/// Checks that `wanted` slots of the timestamp vector are free; otherwise `fewer` names the option
/// to reduce.
pub fn ensure_free_slots<S: Site>(site: &S, wanted: u32, fewer: &str) -> Result<()> {
    let session = site.session()?;
    let SlotSupply { free, all } = session.wait(session.handle().slots())?;
    ensure!(
        wanted <= free,
        "the run takes {wanted} slots of the timestamp vector, one for each lane of all threads, and {free} of the \
         cluster's {all} are free; take fewer {fewer}"
    );
    Ok(())
}

/// Drops the workload's tables, if they exist.
pub fn drop_tables<S: Site, W: SiteWorkload<S>>(site: &S, workload: &W) -> Result<()> {
    let session = site.session()?;
    let database = session.handle();
    session.wait(database.refresh())?;
    // Also drops unusable tables: a process that died while it created a partitioned table leaves
    // some of its parts.
    match session.wait(database.drop_tables(workload.table_names())) {
        // A process that died never acknowledges the drop; the tables are dropped all the same, and
        // a later change frees their memory.
        Ok(()) | Err(CatalogError::Unacknowledged) => Ok(()),
        Err(error) => Err(error).context("cannot drop the workload's tables"),
    }
}

/// A run with one measured window.
pub struct Measure<'a> {
    /// Options of the database.
    pub world: &'a WorldArguments,
    /// Measured seconds.
    pub seconds: f64,
    /// Seconds of warm-up.
    pub warm_up_s: f64,
    /// Limit on the transactions started per second.
    pub rate: Option<f64>,
    /// Metrics that workers update during the run.
    pub run_metrics: Option<&'a RunMetrics>,
    /// Whether the tables exist already.
    pub is_loaded: bool,
    /// Whether those of an earlier run are dropped first.
    pub is_fresh: bool,
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
        ensure!(
            !self.is_loaded || !workload.counts_from_load(),
            "the checks of {} count all work since the load, which --loaded does not know; use --fresh",
            workload.name()
        );
        if self.is_fresh {
            drop_tables(&db, &workload)?;
        }
        if let Some(run_metrics) = self.run_metrics {
            run_metrics.enter_directory(&db);
        }
        let report = self.run_at(&db, &workload, parameters)?;
        db.close().context("the directory could not be closed")?;
        Ok(report)
    }

    /// Creates and loads the tables unless they exist.
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
            run_metrics: self.run_metrics,
        };
        let before = BeforeRun::new(site, workload, loaded);
        let run = with_progress("running", plan.window_s, |stop, watcher| {
            let run = driver::run(site, workload, &plan, stop, watcher)?;
            let committed = run.totals.committed();
            Ok((run, committed))
        })?;
        Ok(self.report(site, workload, (parameters, threads), before, (&run, &[])))
    }

    /// Loads and checks in this process; `run_parts` runs the transactions elsewhere.
    fn run_by<S: Site, W: SiteWorkload<S>>(
        &self,
        site: &S,
        workload: &W,
        parameters: Parameters,
        run_parts: impl FnOnce(&AtomicBool, &mut dyn Watcher) -> Result<ServerResults>,
    ) -> Result<Report> {
        let loaded = self.load(site, workload)?;
        let before = BeforeRun::new(site, workload, loaded);
        let (run, shares) = with_progress("running", self.seconds, |stop, watcher| {
            let shares = run_parts(stop, watcher)?;
            let runs: Vec<Run> = shares.done.iter().map(|share| share.run.clone()).collect();
            let mut run = run_record::merge(&runs).context("no compute server ran anything")?;
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

/// Runs `body`, which takes about `seconds`, under a progress bar with the rate and the remaining
/// time. `body` reports the number of committed transactions.
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

//! Verifies a design on a real cluster: builds it as `namdb spade apply` does, and lets the compute
//! servers make calls as `namdb bench` does, first on all lanes and then on one lane alone.
//!
//! Decision: docs/decisions/0278-a-real-cluster-is-verified-by-its-compute-servers-under-load.md

use super::{Asked, WARM_UP_S};
use crate::Verdict;
use crate::bench::checks::BeforeRun;
use crate::bench::compute_servers::{ComputeServers, OrderedWords, Share};
use crate::bench::driver::Run;
use crate::bench::load;
use crate::bench::report::{Parameters, Report, Subject};
use crate::bench::site::{Site, SiteWorkload};
use crate::bench::world::THREADS_MAX;
use crate::bench::{run_record, text};
use crate::commands::bench::{
    compute_servers, drop_tables, ensure_free_slots, owned_lanes, with_progress,
};
use crate::commands::part_run::ordered_folder;
use crate::commands::{catch_interrupts, interruption};
use crate::output;
use crate::servers::cluster_client::ClusterClient;
use crate::servers::cluster_site::{self, SiteJob};
use crate::servers::health::Health;
use anyhow::{Context, Result, bail, ensure};
use folder_benchmark::{DesignOrigin, Stored};
use membership::{ClusterFile, FabricKind, Member};
use namdb::{Isolation, host};
use spade::tune::{DesignForecast, Options, Target, forecast};
use spade::verify::{Measured, MeasuredProcedure};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Concurrent transactions per loading thread if verbs take time.
const LANES: u32 = 8;
/// Time of one lane alone, relative to the time of all lanes.
const ALONE_SHARE: f64 = 0.3;
/// Minimal seconds of one lane alone: calls over a network take up to milliseconds.
const ALONE_S_MIN: f64 = 0.5;
/// Times of the runs of one lane alone, relative to the first, until one has calls of each kind.
const ALONE_TIMES: [f64; 3] = [1.0, 3.0, 9.0];
/// Seconds of warm-up of the lane alone, which fills its caches of row addresses.
const ALONE_WARM_UP_S: f64 = 0.2;
/// A note on every report.
const NO_STAGES: &str = "On a real cluster, the limiting stage of a machine cannot be observed.";

/// Builds and measures the design; also returns the forecast for that cluster.
pub(super) fn run(
    asked: &Asked<'_>,
    file: &Path,
    stored: Stored,
    first: &DesignForecast,
) -> Result<(DesignForecast, Measured)> {
    let cluster = ClusterFile::load(file, &asked.arguments.set)?;
    let (measured, name) = (&first.target.world.fabric, file.display());
    let fabric = cluster.fabric.name();
    ensure!(
        *measured == fabric,
        "the measurements are of {measured}, but the fabric of the cluster {name} is {fabric}; measure it with \
         `namdb spade measure --cluster {name}`, and give the file with --measurements"
    );
    ensure!(
        asked.options.replicas == 1,
        "a real cluster has one copy of each row; omit --replicas"
    );
    catch_interrupts()?;
    let health = Arc::new(Health::new(interruption()));
    let client = ClusterClient::join(cluster, Member::client(), &Arc::default(), &health)?;
    let verified = verify(asked, &client, &stored, first);
    if let Err(error) = client.leave() {
        output::say(&format!("namdb: cannot leave the cluster: {error:#}"));
    }
    verified
}

fn verify(
    asked: &Asked<'_>,
    client: &ClusterClient,
    stored: &Stored,
    first: &DesignForecast,
) -> Result<(DesignForecast, Measured)> {
    let compute_servers = compute_servers(client, None)?.with_context(|| {
        "the cluster has no compute server; `namdb compute-server` starts one".to_owned()
    })?;
    let shape = Shape::new(asked, client, &compute_servers, &first.target)?;
    let forecast = forecast(asked.read.input(), &shape.options, stored.design())
        .context("cannot forecast the design for this cluster")?;
    let owned_lanes = owned_lanes(client, stored);
    let errand =
        Verify { asked, compute_servers: &compute_servers, shape: &shape, stored, owned_lanes };
    let seen = cluster_site::run(client, LANES, stored, errand)?;
    seen.ensure_sound()?;
    let notes = notes(client, &compute_servers, &forecast.target, &seen);
    Ok((forecast, seen.measured(stored.procedure_names(), notes)))
}

/// The number of threads and lanes that make calls.
struct Shape {
    /// Options of the forecast.
    options: Options,
    /// Threads per compute server.
    threads: u32,
    /// Lanes per thread.
    lanes: u32,
}

impl Shape {
    /// As measured, or as requested: each compute server is a machine of the forecast. With shared
    /// memory, all of them together are one machine.
    fn new(
        asked: &Asked<'_>,
        client: &ClusterClient,
        compute_servers: &ComputeServers,
        target: &Target,
    ) -> Result<Self> {
        let (servers, options) = (compute_servers.members().len() as u32, asked.options.clone());
        if client.cluster.fabric == FabricKind::Shm {
            let threads = (target.threads / servers).max(1);
            let all = Some(threads * servers);
            let options = Options { threads: all, lanes: all, ..options };
            return Ok(Self { options, threads, lanes: 1 });
        }
        let machines = client.root.servers.len() as u32;
        ensure!(
            options.machines.is_none_or(|asked| asked == machines),
            "the cluster has {}, which are the machines of the forecast; omit --machines",
            text::counted(machines.into(), "memory server")
        );
        let threads = target.threads.max(1);
        let lanes = (target.lanes / threads).clamp(1, 64);
        let options = Options {
            machines: Some(machines),
            threads: Some(threads),
            lanes: Some(threads * lanes),
            ..options
        };
        Ok(Self { options, threads, lanes })
    }
}

/// Creates the tables, loads and measures.
struct Verify<'a> {
    asked: &'a Asked<'a>,
    compute_servers: &'a ComputeServers,
    shape: &'a Shape,
    stored: &'a Stored,
    owned_lanes: u32,
}

impl<W> SiteJob<W> for Verify<'_> {
    type Output = Seen;

    fn run<S: Site>(self, site: &S, workload: &W) -> Result<Seen>
    where
        W: SiteWorkload<S>,
    {
        let Self { asked, compute_servers, shape, owned_lanes, .. } = self;
        let loaders = (host::processor_count() as u32).min(THREADS_MAX);
        let lanes = compute_servers.lanes(Some(shape.threads), Some(shape.lanes));
        // With shared memory, this process keeps the lanes used for loading.
        let all = if site.facts().fabric == "shm" { loaders + lanes } else { loaders.max(lanes) };
        ensure_free_slots(site, all + owned_lanes, "--threads or --lanes")?;
        if asked.arguments.fresh {
            drop_tables(site, workload)?;
        }
        let loaded = load::load(site, workload, loaders, interruption())?;
        let before = BeforeRun::new(site, workload, loaded);
        let shares = self.all()?;
        let runs: Vec<Run> = shares.iter().map(|share| share.run.clone()).collect();
        let mut run = run_record::merge(&runs).context("no compute server ran anything")?;
        let alone = self.alone(lanes, &run)?;
        for alone in &alone {
            // The checks count all transactions.
            run.totals.merge(&alone.totals);
            run.is_out_of_memory |= alone.is_out_of_memory;
            run.is_unreachable |= alone.is_unreachable;
        }
        let (words, options) = ("a design to verify".to_owned(), serde_json::Value::Null);
        let subject = Subject {
            parameters: Parameters { words, options },
            isolation: Isolation::Snapshot,
            threads: compute_servers.threads(Some(shape.threads)),
            rate: None,
            seed: asked.arguments.seed,
        };
        let report = Report::new(site, workload, &subject, before, &run, &shares);
        Ok(Seen { report, run, alone: alone.into_iter().next_back() })
    }
}

impl Verify<'_> {
    /// Runs calls on all lanes.
    fn all(&self) -> Result<Vec<Share>> {
        let (seconds, shape) = (self.asked.arguments.seconds, self.shape);
        let ordered = self.ordered(seconds, WARM_UP_S)?;
        with_progress("running", seconds, |stop, watcher| {
            let (threads, lanes) = (Some(shape.threads), Some(shape.lanes));
            let shares = self.compute_servers.run(&ordered, threads, lanes, stop, watcher)?;
            let committed = shares.iter().map(|share| share.run.totals.committed()).sum();
            Ok((shares, committed))
        })
    }

    /// Runs one lane alone after all others, again and longer if it has not completed a call of
    /// each procedure that these have called; no run if the user has ended the first.
    fn alone(&self, workers: u32, all: &Run) -> Result<Vec<Run>> {
        let seconds = (ALONE_SHARE * self.asked.arguments.seconds).max(ALONE_S_MIN);
        let mut runs: Vec<Run> = Vec::new();
        for seconds in ALONE_TIMES.map(|times| times * seconds) {
            if runs.last().is_some_and(|alone| has_sample_of_each(alone, all))
                || interruption().load(Relaxed)
            {
                break;
            }
            let ordered = self.ordered(seconds, ALONE_WARM_UP_S)?;
            let share = with_progress("running alone", seconds, |stop, watcher| {
                let share = self.compute_servers.run_alone(&ordered, workers, stop, watcher)?;
                let committed = share.as_ref().map_or(0, |share| share.run.totals.committed());
                Ok((share, committed))
            })?;
            runs.extend(share.map(|share| share.run));
        }
        Ok(runs)
    }

    /// The compute servers' order, with arguments as for `namdb bench`.
    fn ordered(&self, seconds: f64, warm_up_s: f64) -> Result<OrderedWords> {
        let arguments = self.asked.arguments;
        let mut words = Vec::new();
        let remote_percent = 100.0 * self.asked.options.remote_calls;
        for (name, value) in [
            ("units", self.stored.units().to_string()),
            ("seed", arguments.seed.to_string()),
            ("seconds", seconds.to_string()),
            ("warm-up", warm_up_s.to_string()),
            ("remote-calls", remote_percent.to_string()),
        ] {
            words.push(format!("--{name}={value}"));
        }
        if arguments.plans {
            words.push("--code=plans".to_owned());
        }
        let design = match self.stored.origin() {
            DesignOrigin::File(design) => Some(design.as_path()),
            DesignOrigin::Default | DesignOrigin::Given => None,
        };
        ordered_folder(&arguments.question.folder, design, words)
    }
}

/// Whether a run has a sample of each procedure that has one in the other run.
fn has_sample_of_each(run: &Run, other: &Run) -> bool {
    let kinds = run.measured.window.kinds.iter().zip(&other.measured.window.kinds);
    kinds.into_iter().all(|(of, other)| !of.latency_ns.is_empty() || other.latency_ns.is_empty())
}

/// The measurements.
struct Seen {
    /// Of all lanes.
    report: Report,
    run: Run,
    /// Of one lane alone.
    alone: Option<Run>,
}

impl Seen {
    /// Rejects a run that says nothing about the design.
    fn ensure_sound(&self) -> Result<()> {
        let report = &self.report;
        match report.verdict() {
            Verdict::Sound | Verdict::Unexpected => {}
            Verdict::Damaged => bail!("a check failed after the run; `namdb bench` shows details"),
            Verdict::Incomplete if report.is_out_of_memory => bail!(
                "memory ran out after {:.1} s; increase `bytes` of the memory servers in the cluster's file, or use fewer \
                 --units or --seconds",
                report.seconds
            ),
            Verdict::Incomplete if report.is_unreachable => {
                bail!(
                    "a memory server, or an owner of rows, was lost after {:.1} s",
                    report.seconds
                )
            }
            Verdict::Incomplete => {
                bail!("the tables cannot be checked: {}", report.problems.join("; "))
            }
        }
        ensure!(report.has_measured(), "ended by the user before anything was measured");
        Ok(())
    }

    fn measured(&self, names: &[&str], notes: Vec<String>) -> Measured {
        let Self { report, run, alone } = self;
        let mean_ns = |run: &Run, kind: usize| {
            let latency_ns = &run.measured.window.kinds[kind].latency_ns;
            (!latency_ns.is_empty()).then(|| latency_ns.mean())
        };
        let procedures = names.iter().enumerate().map(|(kind, name)| {
            let of = report.per_type.get(*name);
            MeasuredProcedure {
                procedure: (*name).to_owned(),
                calls: of.map_or(0, |of| of.count + of.rolled_back),
                rolled_back: of.map_or(0, |of| of.rolled_back),
                loaded_ns: mean_ns(run, kind),
                alone_ns: alone.as_ref().and_then(|alone| mean_ns(alone, kind)),
                traffic: of.map(|of| [of.verbs, of.round_trips + of.snapshot_round_trips]),
            }
        });
        let procedures: Vec<MeasuredProcedure> = procedures.collect();
        let calls: u64 = procedures.iter().map(|of| of.calls).sum();
        let attempts = report.retries + calls;
        let alone_ns = alone.as_ref().map(|alone| alone.measured.window.latency_ns());
        Measured {
            place: report.fabric.to_owned(),
            calls_per_s: report.attempted_per_s,
            retries_percent: 100.0 * report.retries as f64 / attempts.max(1) as f64,
            busiest: None,
            alone_ns: alone_ns.filter(|all| !all.is_empty()).map(|all| all.mean()),
            procedures,
            calls,
            remote_percent: report.remote_percent,
            shipped_percent: report.shipped_percent,
            notes,
        }
    }
}

/// Differences between run and forecast, and what was not observed.
fn notes(
    client: &ClusterClient,
    compute_servers: &ComputeServers,
    target: &Target,
    seen: &Seen,
) -> Vec<String> {
    let mut notes = vec![NO_STAGES.to_owned()];
    let members = compute_servers.members();
    let count = text::counted(members.len() as u64, "compute server");
    if client.cluster.fabric == FabricKind::Shm {
        notes.push(format!(
            "Over shm all rows are local: the forecast is for one machine, whose {} the {count} share.",
            text::counted(target.threads.into(), "thread")
        ));
    } else {
        if members.len() != target.machines as usize {
            let machines = text::counted(target.machines.into(), "machine");
            notes.push(format!("{count} made calls, but the forecast is for {machines}."));
        }
        let mut hosts: BTreeMap<&str, u64> = BTreeMap::new();
        members.iter().for_each(|member| *hosts.entry(&member.host).or_default() += 1);
        for (host, count) in hosts.into_iter().filter(|(_, count)| *count > 1) {
            notes.push(format!(
                "{} share the processors of {host}, but the forecast assumes a host for each.",
                text::counted(count, "compute server")
            ));
        }
    }
    if seen.report.is_interrupted {
        notes.push(format!("Ended early by the user, after {:.1} s.", seen.report.seconds));
    }
    notes
}

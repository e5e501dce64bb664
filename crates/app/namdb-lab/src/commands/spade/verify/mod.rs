//! `namdb spade verify`: a design is built and measured, and stands beside its forecast.

mod cluster;

use super::question::{Question, Read};
use crate::bench::report::{Parameters, Report};
use crate::bench::{json, world};
use crate::commands::bench::Measure;
use crate::commands::choice::{Job, read_any};
use crate::commands::memory_server::{CLUSTER_FILE, parse_setting};
use crate::commands::simulated::Showing;
use crate::commands::{WorldArguments, catch_interrupts, parse_count, parse_span};
use crate::{Verdict, output};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use fabric::LocalEnv;
use folder_benchmark::{DesignOrigin, Stored};
use namdb::Isolation;
use namdb::host::Moment;
use namdb::procedures::Code;
use reproduce::verify::{self, Cluster};
use spade::tune::{DesignForecast, Options, forecast};
use spade::verify::{Measured, MeasuredProcedure, Verification};
use std::path::{Path, PathBuf};
use workload::Workload;

const EXAMPLES: &str = "\
Examples:
  namdb spade verify workloads/tatp --measurements m.json --design tatp.json --units 1
                                                  on the simulated cluster that was measured
  namdb spade verify mine --measurements m.json --machines 4 --json verified.json
  namdb spade verify mine --measurements local.json --seconds 10
                                                  in this process, if that was measured
  namdb spade verify mine --measurements tcp.json --cluster namdb.toml --fresh
                                                  on the cluster that was measured, by its compute servers

The design, or design.json of the folder, or else the default design, is forecast by the measurements. Then it is built: \
where they are of a simulated cluster, on one of as many machines, with its partitions, and with procedures that are shipped \
or carried out by verbs as it says; where they are of this process (local), here; where they are of a cluster over shm, tcp or verbs, on that one, as \
namdb spade apply makes it and namdb bench calls it. Its tables stay there; those that an earlier run has left are dropped with \
--fresh. Both stand beside each other, with the \
error of the forecast. docs/spade.md tells what is measured, and how.

The exit code is 0 if it was measured, 2 if it could not be.";

/// Seconds in this process before anything counts.
const WARM_UP_S: f64 = 1.0;

/// Options of `spade verify`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct VerifyArguments {
    #[command(flatten)]
    question: Question,
    /// The design [default: the folder's design.json, or else the default design]
    #[arg(long, value_name = "FILE")]
    design: Option<PathBuf>,
    /// Seconds to measure in this process, or on a cluster
    #[arg(long, default_value = "5", value_parser = parse_span, allow_negative_numbers = true)]
    seconds: f64,
    /// Seed of all randomness
    #[arg(long, default_value_t = 1, value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    seed: u64,
    /// Carry out procedures by the executor of plans, also where there is generated code
    #[arg(long)]
    plans: bool,
    /// For measurements of shm, tcp and verbs: the file of the cluster that was measured [default: namdb.toml]
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = CLUSTER_FILE)]
    cluster: Option<PathBuf>,
    /// A setting in place of the file's
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting, requires = "cluster")]
    set: Vec<(String, String)>,
    /// Drop tables that an earlier run has left in the cluster
    #[arg(long, requires = "cluster")]
    fresh: bool,
    /// Also write everything as JSON; `-` is the output, and the text then goes to the error stream
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs the command, with generated code of these workloads beside that of the shipped ones.
pub fn run(arguments: &VerifyArguments, code: &[Code]) -> Result<Verdict> {
    if let Some(path) = &arguments.json {
        let others = arguments.design.iter().chain(&arguments.cluster).map(PathBuf::as_path);
        let inputs: Vec<&Path> = arguments.question.inputs().into_iter().chain(others).collect();
        json::probe(path, &inputs)?;
    }
    let folder = &arguments.question.folder;
    let options = arguments.question.options();
    let read = arguments.question.read()?;
    let stored = read_any(
        folder,
        &folder_benchmark::Options {
            units: options.units,
            wants_plans: arguments.plans,
            linked: code,
            design: arguments.design.as_deref(),
            isolation: Isolation::Snapshot,
            seed: arguments.seed,
        },
    )?;
    let of = match stored.origin() {
        DesignOrigin::File(file) => file,
        _ => folder,
    };
    let forecast = forecast(read.input(), &options, stored.design())
        .with_context(|| format!("{} cannot be forecast", of.display()))?;
    let start = Moment::now();
    let (forecast, measured) = match (&arguments.cluster, &*forecast.target.world.fabric) {
        (Some(file), _) => {
            let asked = Asked { arguments, options: &options, read: &read };
            cluster::run(&asked, file, stored, &forecast)?
        }
        (None, "sim") => {
            let measured = simulated(&options, arguments.seed, &stored, &forecast)?;
            (forecast, measured)
        }
        (None, "local") => {
            let measured = here(arguments, stored, &forecast)?;
            (forecast, measured)
        }
        (None, other) => bail!(
            "the measurements are of a cluster over {other}; name its file with --cluster, so that the design is built and measured there"
        ),
    };
    ensure!(measured.calls > 0, "it ended before a call was counted: leave it more --seconds");
    output::say(&format!("  built and measured in {:.1} s", start.elapsed_s()));
    let verification = Verification::new(forecast, measured);
    json::deliver(&verification, arguments.json.as_deref(), &verification.text())?;
    Ok(Verdict::Sound)
}

/// What is to be verified.
struct Asked<'a> {
    arguments: &'a VerifyArguments,
    options: &'a Options,
    read: &'a Read,
}

fn simulated(
    options: &Options,
    seed: u64,
    stored: &Stored,
    forecast: &DesignForecast,
) -> Result<Measured> {
    let machines = u16::try_from(forecast.target.machines).unwrap_or(u16::MAX);
    let cluster = Cluster {
        profile: forecast.target.world.hardware.clone(),
        machines,
        lanes: forecast.target.lanes,
        replicas: options.replicas,
        remote_calls: options.remote_calls,
        seed,
    };
    world::ensure_simulated(stored.memory_bytes(machines))?;
    let showing = Showing::new(Workload::<LocalEnv>::load_rows(stored));
    let measured = verify::measure(stored, &cluster, &|phase| showing.show(phase))?;
    showing.finish("calls have ended");
    Ok(measured)
}

/// In this process, with as many threads as are forecast.
fn here(
    arguments: &VerifyArguments,
    stored: Stored,
    forecast: &DesignForecast,
) -> Result<Measured> {
    catch_interrupts()?;
    let world = WorldArguments::of_this_process(forecast.target.threads, arguments.seed);
    let (warm_up_s, rate, telling) = (WARM_UP_S, None, None);
    let seconds = arguments.seconds;
    let measure = Measure { world: &world, seconds, warm_up_s, rate, telling, is_loaded: false };
    let (words, options) = ("a design to verify".to_owned(), serde_json::Value::Null);
    let names = stored.procedure_names();
    let report = measure.run(stored, Parameters { words, options })?;
    ensure!(
        matches!(report.verdict(), Verdict::Sound | Verdict::Unexpected),
        "a check failed after the run; `namdb bench` tells more"
    );
    Ok(of_report(&report, names))
}

fn of_report(report: &Report, names: &[&str]) -> Measured {
    let procedures = names.iter().map(|name| {
        let of = report.per_type.get(*name);
        let calls = of.map_or(0, |of| of.count + of.rolled_back);
        let median_ns = of.filter(|_| calls > 0).map(|of| 1e3 * of.p50_us);
        MeasuredProcedure {
            procedure: (*name).to_owned(),
            calls,
            rolled_back: of.map_or(0, |of| of.rolled_back),
            loaded_ns: median_ns,
            // No call was made alone.
            alone_ns: None,
            traffic: of.filter(|_| calls > 0).map(|of| [of.verbs, of.round_trips]),
        }
    });
    let ended = report.attempted_per_s * report.seconds;
    let all = report.retries as f64 + ended;
    Measured {
        place: report.fabric.to_owned(),
        calls_per_s: report.attempted_per_s,
        retries_percent: 100.0 * report.retries as f64 / all.max(1.0),
        busiest: None,
        alone_ns: None,
        procedures: procedures.collect(),
        calls: ended as u64,
        remote_percent: None,
        shipped_percent: None,
        notes: Vec::new(),
    }
}

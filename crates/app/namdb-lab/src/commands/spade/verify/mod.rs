//! `namdb spade verify`: builds a design, measures it, and compares it with its forecast.

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
                                                  on the measured simulated cluster
  namdb spade verify mine --measurements m.json --machines 4 --json verified.json
  namdb spade verify mine --measurements local.json --seconds 10
                                                  in this process, if it was measured
  namdb spade verify mine --measurements tcp.json --cluster namdb.toml --fresh
                                                  on the measured cluster, by its compute servers

The design (or design.json of the folder, or the default design) is forecast from the measurements. Then it is built where \
they were taken: on a simulated cluster with as many machines, with the design's partitions and shipping; in this process \
(local); or on a cluster over shm, tcp or verbs, as `namdb spade apply` builds it and `namdb bench` calls it. On a cluster, the \
tables stay, and --fresh drops those of an earlier run. The report shows both, with the error of the forecast. docs/spade.md \
says what is measured, and how.

Exit codes: 0 measured; 2 not measured.";

/// Seconds of warm-up in this process.
const WARM_UP_S: f64 = 1.0;

/// Arguments of `namdb spade verify`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct VerifyArguments {
    #[command(flatten)]
    question: Question,
    /// The design [default: the folder's design.json, or the default design]
    #[arg(long, value_name = "FILE")]
    design: Option<PathBuf>,
    /// Seconds to measure in this process or on a cluster
    #[arg(long, default_value = "5", value_parser = parse_span, allow_negative_numbers = true)]
    seconds: f64,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1, value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    seed: u64,
    /// Execute procedures by the plan executor, even if generated code exists
    #[arg(long)]
    plans: bool,
    /// For measurements over shm, tcp and verbs: file of the measured cluster [default: namdb.toml]
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = CLUSTER_FILE)]
    cluster: Option<PathBuf>,
    /// Override a setting of the file
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting, requires = "cluster")]
    set: Vec<(String, String)>,
    /// Drop the tables of an earlier run in the cluster
    #[arg(long, requires = "cluster")]
    fresh: bool,
    /// Also write everything as JSON; `-` is standard output, and the text then goes to standard
    /// error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs the command. `code` is generated code in addition to that of the shipped workloads.
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
        .with_context(|| format!("cannot forecast {}", of.display()))?;
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
            "the measurements are of a cluster over {other}; give its file with --cluster, so that the design is built and measured there"
        ),
    };
    ensure!(measured.calls > 0, "no call was measured; increase --seconds");
    output::say(&format!("  built and measured in {:.1} s", start.elapsed_s()));
    let verification = Verification::new(forecast, measured);
    json::deliver(&verification, arguments.json.as_deref(), &verification.text())?;
    Ok(Verdict::Sound)
}

/// The design to verify, and the settings.
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
    showing.finish("the calls have ended");
    Ok(measured)
}

/// Measures in this process, with as many threads as forecast.
fn here(
    arguments: &VerifyArguments,
    stored: Stored,
    forecast: &DesignForecast,
) -> Result<Measured> {
    catch_interrupts()?;
    let world = WorldArguments::of_this_process(forecast.target.threads, arguments.seed);
    let (warm_up_s, rate, run_metrics) = (WARM_UP_S, None, None);
    let seconds = arguments.seconds;
    let measure = Measure {
        world: &world,
        seconds,
        warm_up_s,
        rate,
        run_metrics,
        is_loaded: false,
        is_fresh: false,
    };
    let (words, options) = ("a design to verify".to_owned(), serde_json::Value::Null);
    let names = stored.procedure_names();
    let report = measure.run(stored, Parameters { words, options })?;
    ensure!(
        matches!(report.verdict(), Verdict::Sound | Verdict::Unexpected),
        "a check failed after the run; `namdb bench` shows details"
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

//! `namdb spade verify`: a design is built and measured, and stands beside its forecast.

use super::super::bench::Measure;
use super::super::choice::Job;
use super::super::{WorldArguments, catch_interrupts, parse_count, parse_span, parse_units};
use super::question::{parse_percent, read_measurements};
use crate::bench::json;
use crate::bench::report::{Parameters, Report};
use crate::{Verdict, output};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use namdb::Isolation;
use namdb::host::Moment;
use procedure::node::Workload;
use reproduce::verify::{self, Cluster};
use spade::tune::{DesignForecast, Input, Options, REMOTE_CALLS, forecast};
use spade::verify::{Measured, MeasuredProcedure, Verification};
use sql::WorkloadFolder;
use std::path::PathBuf;
use stored::Stored;

const EXAMPLES: &str = "\
Examples:
  namdb spade verify workloads/tatp --measurements m.json --design tatp.json --units 1
                                                  on the simulated cluster that was measured
  namdb spade verify mine --measurements m.json --machines 4 --json verified.json
  namdb spade verify mine --measurements local.json --seconds 10
                                                  in this process, if that was measured

The design, or design.json of the folder, or else the default design, is forecast by the measurements. Then it is built: \
where they are of a simulated cluster, on one of as many machines, with its partitions, and with procedures that are shipped \
or carried out by verbs as it says; where they are of this process (local), here. Both stand beside each other, with the \
error of the forecast. docs/spade.md tells what is measured, and how.

The exit code is 0 if it was measured, 2 if it could not be.";

/// Seconds in this process before anything counts.
const WARM_UP_S: f64 = 1.0;

/// Options of `spade verify`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct VerifyArguments {
    /// The workload's folder
    folder: PathBuf,
    /// The design [default: the folder's design.json, or else the default design]
    #[arg(long, value_name = "FILE")]
    design: Option<PathBuf>,
    /// What was measured of the cluster
    #[arg(long, value_name = "FILE", default_value = "measurements.json")]
    measurements: PathBuf,
    /// The hardware, by its name in the measurements
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Machines [default: as workload.toml says]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    machines: Option<u32>,
    /// Units of scale [default: as workload.toml says]
    #[arg(long, value_name = "N", value_parser = parse_units, allow_negative_numbers = true)]
    units: Option<u64>,
    /// Calls in a hundred that come to another machine than that of their rows
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0 * REMOTE_CALLS, value_parser = parse_percent, allow_negative_numbers = true)]
    remote_calls: f64,
    /// Copies of each row
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8), allow_negative_numbers = true)]
    replicas: u32,
    /// Seconds to measure in this process
    #[arg(long, default_value = "5", value_parser = parse_span, allow_negative_numbers = true)]
    seconds: f64,
    /// Seed of all randomness
    #[arg(long, default_value_t = 1, value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    seed: u64,
    /// Carry out procedures by the executor of plans, also where there is generated code
    #[arg(long)]
    plans: bool,
    /// Also write everything as JSON; `-` is the output, and the text then goes to the error stream
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &VerifyArguments) -> Result<Verdict> {
    if let Some(path) = &arguments.json {
        json::probe(path)?;
    }
    let measurements = read_measurements(&arguments.measurements)?;
    let folder = WorkloadFolder::read(&arguments.folder)?;
    let workload = Workload::read(&arguments.folder)?;
    let stored = Stored::read_any(
        &arguments.folder,
        &stored::Options {
            units: arguments.units,
            wants_plans: arguments.plans,
            design: arguments.design.as_deref(),
            isolation: Isolation::Snapshot,
            seed: arguments.seed,
        },
    )?;
    let input = Input { folder: &folder, workload: &workload, measurements: &measurements };
    let options = Options {
        hardware: arguments.profile.clone(),
        machines: arguments.machines,
        units: arguments.units,
        remote_calls: arguments.remote_calls / 100.0,
        replicas: arguments.replicas,
        ..Options::default()
    };
    let forecast = forecast(input, &options, stored.design())
        .with_context(|| format!("{} cannot be forecast", arguments.folder.display()))?;
    let start = Moment::now();
    let measured = match &*forecast.world.fabric {
        "sim" => simulated(arguments, &stored, &forecast)?,
        "local" => here(arguments, stored, &forecast)?,
        other => bail!(
            "the measurements are of {other}; designs are built on simulated clusters and in this process (local). On a cluster, \
             `namdb bench {} --design FILE --cluster FILE` measures one",
            arguments.folder.display()
        ),
    };
    output::say(&format!("  built and measured in {:.1} s", start.elapsed_s()));
    let verification = Verification::new(forecast, measured);
    json::deliver(&verification, arguments.json.as_deref(), &verification.text())?;
    Ok(Verdict::Sound)
}

fn simulated(
    arguments: &VerifyArguments,
    stored: &Stored,
    forecast: &DesignForecast,
) -> Result<Measured> {
    let machines = u16::try_from(forecast.machines).unwrap_or(u16::MAX);
    let cluster = Cluster {
        profile: forecast.world.hardware.clone(),
        machines,
        lanes: forecast.world.lanes,
        replicas: arguments.replicas,
        remote_calls: arguments.remote_calls / 100.0,
        seed: arguments.seed,
    };
    Ok(verify::measure(stored, &cluster)?)
}

/// In this process, with as many threads as were measured.
fn here(
    arguments: &VerifyArguments,
    stored: Stored,
    forecast: &DesignForecast,
) -> Result<Measured> {
    catch_interrupts()?;
    let world = WorldArguments::of_this_process(forecast.world.threads, arguments.seed);
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
        // Threads wait for nothing here: what a call takes alone it takes beside others, but for memory and locks.
        let median_ns = of.filter(|_| calls > 0).map(|of| 1e3 * of.p50_us);
        MeasuredProcedure {
            procedure: (*name).to_owned(),
            calls,
            loaded_ns: median_ns,
            alone_ns: median_ns,
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
    }
}

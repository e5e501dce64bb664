//! `namdb spade tune`: how a workload is to be stored, partitioned and carried out on a measured cluster.

use crate::bench::json;
use crate::commands::parse_count;
use crate::{Verdict, output};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use namdb::host::Moment;
use procedure::node::Workload;
use spade::measurement::Measurements;
use spade::tune::{Goal, Input, Objective, Options, REMOTE_CALLS, tune};
use sql::WorkloadFolder;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  namdb spade tune workloads/tatp --measurements measurements.json      what to do, and why
  namdb spade tune mine --measurements m.json --out design.json         keep the design in a file
  namdb spade tune mine --measurements m.json --machines 50             what if there were 50 machines
  namdb spade tune mine --measurements m.json --profile connectx5-100g  or other cards, if they were measured
  namdb spade tune mine --measurements m.json --memory-budget 8GiB      with so much memory on each machine
  namdb spade tune mine --measurements m.json --all                     every rejected candidate with its reason
  namdb spade tune mine --measurements m.json --html report.html        a page with pictures

A workload is a folder with schema.sql, procedures.sql, workload.toml and plans (namdb spade plan); measurements are what \
namdb spade measure writes. Tables, indexes and procedures are decided together; * is what is chosen, 2 the next best. \
Each line has the forecast for the whole workload if only that were different.

Hardware, machines and units are those of workload.toml if nothing is said. docs/spade.md tells what the tuner sees, what it \
decides and what it cannot know. The exit code is 0 if there is a design, 2 if there is none.";

/// Options of `spade tune`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct TuneArguments {
    /// The workload's folder
    folder: PathBuf,
    /// What was measured of the cluster
    #[arg(long, value_name = "FILE", default_value = "measurements.json")]
    measurements: PathBuf,
    /// What is wanted
    #[arg(long, value_enum, default_value_t = Wanted::Throughput)]
    objective: Wanted,
    /// By what designs are compared: service times added up, or the paper's averages
    #[arg(long, value_enum, default_value_t = By::ServiceTimes)]
    model: By,
    /// Memory that tables and indexes may take on each machine: bytes, or with KiB, MiB, GiB or TiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory_budget: Option<u64>,
    /// The hardware, by its name in the measurements
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Machines: of several measured sizes of the cluster the nearest one counts
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    machines: Option<u32>,
    /// Units of scale
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    units: Option<u64>,
    /// Calls in a hundred that come to another machine than that of their rows
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0 * REMOTE_CALLS, value_parser = parse_percent, allow_negative_numbers = true)]
    remote_calls: f64,
    /// Copies of each row
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8), allow_negative_numbers = true)]
    replicas: u32,
    /// Show every rejected candidate
    #[arg(long)]
    all: bool,
    /// Write the design into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also write everything as a page with pictures
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write everything as JSON; `-` is the output, and the text then goes to the error stream
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Wanted {
    Throughput,
    Latency,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    ServiceTimes,
    WeightedAverages,
}

/// Runs the command.
pub fn run(arguments: &TuneArguments) -> Result<Verdict> {
    if let Some(path) = &arguments.json {
        json::probe(path)?;
    }
    let measurements = read_measurements(&arguments.measurements)?;
    let folder = WorkloadFolder::read(&arguments.folder)?;
    let workload = Workload::read(&arguments.folder)?;
    let input = Input { folder: &folder, workload: &workload, measurements: &measurements };
    let options = Options {
        objective: match arguments.objective {
            Wanted::Throughput => Objective::Throughput,
            Wanted::Latency => Objective::Latency,
        },
        goal: match arguments.model {
            By::ServiceTimes => Goal::ServiceTimes,
            By::WeightedAverages => Goal::WeightedAverages,
        },
        memory_budget: arguments.memory_budget,
        hardware: arguments.profile.clone(),
        machines: arguments.machines,
        units: arguments.units,
        remote_calls: arguments.remote_calls / 100.0,
        replicas: arguments.replicas,
    };
    let start = Moment::now();
    let tuning = tune(input, &options)
        .with_context(|| format!("{} cannot be tuned", arguments.folder.display()))?;
    output::say(&format!("  tuned in {:.2} s", start.elapsed_s()));
    if let Some(path) = &arguments.out {
        write(path, &tuning.design.json(), "the design")?;
    }
    if let Some(path) = &arguments.html {
        write(path, &tuning.html(), "the page")?;
    }
    json::deliver(&tuning, arguments.json.as_deref(), &tuning.text(arguments.all))?;
    Ok(Verdict::Sound)
}

/// Reads a file of measurements.
pub(super) fn read_measurements(path: &Path) -> Result<Measurements> {
    let name = path.display();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "there is no file {name}; measure the cluster with `namdb spade measure --file {name}`, or name another file with \
             --measurements"
        ),
        Err(error) => return Err(error).with_context(|| format!("cannot read {name}")),
    };
    Measurements::parse(&text).with_context(|| format!("{name} cannot be tuned by"))
}

fn write(path: &Path, text: &str, what: &str) -> Result<()> {
    let name = path.display();
    std::fs::write(path, text).with_context(|| format!("cannot write {name}"))?;
    output::say(&format!("  {what} is in {name}"));
    Ok(())
}

/// A number of bytes, with or without a unit.
fn parse_size(text: &str) -> Result<u64, String> {
    let units =
        [("TiB", 1_u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("", 1)];
    let text = text.trim();
    let found = units.into_iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)));
    let (number, size) = found.unwrap_or((text, 1));
    match number.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok((number * size as f64) as u64),
        _ => Err(format!("{text:?} is no amount of memory; examples: 64GiB, 512MiB, 1000000")),
    }
}

pub(super) fn parse_percent(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err(format!("{text:?} is no number from 0 to 100")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_memory_have_units() {
        assert_eq!(parse_size("64GiB"), Ok(64 << 30));
        assert_eq!(parse_size("1.5 KiB"), Ok(1536));
        assert_eq!(parse_size("1000"), Ok(1000));
        for wrong in ["", "GiB", "-1GiB", "8GB", "nan", "inf"] {
            let said = parse_size(wrong).expect_err(wrong);
            assert!(said.contains("is no amount of memory"), "{said}");
        }
    }

    #[test]
    fn percents_are_between_nothing_and_all() {
        assert_eq!(parse_percent("12.5"), Ok(12.5));
        for wrong in ["-1", "101", "ten", "NaN"] {
            assert!(parse_percent(wrong).is_err_and(|said| said.contains("0 to 100")), "{wrong}");
        }
    }
}

//! `namdb spade tune`: decides how to store, partition and execute a workload on a measured
//! cluster.

use super::question::Question;
use crate::bench::json;
use crate::{Verdict, output};
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use namdb::host::Moment;
use spade::design::{BYTES_MAX, Design};
use spade::tune::{Goal, Objective, Options, tune};
use sql::file::read_text;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  namdb spade tune workloads/tatp --measurements measurements.json      decisions and reasons
  namdb spade tune mine --measurements m.json --out design.json         write the design to a file
  namdb spade tune mine --measurements m.json --machines 50             for a cluster of 50 machines
  namdb spade tune mine --measurements m.json --profile connectx5-100g  for other cards, if measured
  namdb spade tune mine --measurements m.json --memory-budget 8GiB      with this memory per machine
  namdb spade tune mine --measurements m.json --all                     with every rejected candidate and the reason
  namdb spade tune mine --measurements m.json --html report.html        a page with plots

A workload is a folder with schema.sql, procedures.sql, workload.toml and plans (`namdb spade plan`); measurements come from \
`namdb spade measure`. Tables, indexes and procedures are decided together. * marks the chosen candidate, 2 the second best. \
Each line has the forecast for the whole workload with only that decision changed.

Hardware, machines and units are by default those of workload.toml. docs/spade/model.md says what the tuner considers, what it \
decides and what it cannot know. Only --force overwrites a design that was edited. Exit codes: 0 a design; 2 no design.";

/// Arguments of `namdb spade tune`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct TuneArguments {
    #[command(flatten)]
    question: Question,
    /// Objective of the tuning
    #[arg(long, value_enum, default_value_t = Wanted::Throughput)]
    objective: Wanted,
    /// Model for comparing designs: summed service times, or the paper's averages
    #[arg(long, value_enum, default_value_t = By::ServiceTimes)]
    model: By,
    /// Show every rejected candidate
    #[arg(long)]
    all: bool,
    /// Write the design to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite a design in that file even if it was edited
    #[arg(long, requires = "out")]
    force: bool,
    /// Also write everything as a page with plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write everything as JSON; `-` is standard output, and the text then goes to standard
    /// error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl TuneArguments {
    /// Rejects a file that is given twice, since the last output would overwrite the others, and
    /// any file but a page as the target of a page.
    fn check_files(&self) -> Result<()> {
        for (option, path) in [("--out", &self.out), ("--html", &self.html)] {
            let is_output = path.as_deref().is_some_and(json::is_output);
            ensure!(!is_output, "{option} needs a file; `-`, standard output, is for --json only");
        }
        if let Some(path) = &self.html {
            output::spare(path, "page", &["<!DOCTYPE html>"])?;
        }
        for path in [&self.out, &self.html].into_iter().flatten() {
            output::spare_inputs(path, &self.question.inputs())?;
        }
        let named = [("--out", &self.out), ("--html", &self.html), ("--json", &self.json)];
        for (at, (one, first)) in named.iter().enumerate() {
            let is_one = |one: &Path, other: &Path| one == other || output::is_same(one, other);
            let is_named = |path: &PathBuf| first.as_ref().is_some_and(|first| is_one(first, path));
            let other =
                named[at + 1..].iter().find(|(_, path)| path.as_ref().is_some_and(is_named));
            if let (Some((other, _)), Some(path)) = (other, first) {
                bail!("{one} and {other} both name {}; give each its own file", path.display());
            }
        }
        Ok(())
    }
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
    arguments.check_files()?;
    if let Some(path) = &arguments.json {
        json::probe(path, &arguments.question.inputs())?;
    }
    let read = arguments.question.read()?;
    let options = Options {
        objective: match arguments.objective {
            Wanted::Throughput => Objective::Throughput,
            Wanted::Latency => Objective::Latency,
        },
        goal: match arguments.model {
            By::ServiceTimes => Goal::ServiceTimes,
            By::WeightedAverages => Goal::WeightedAverages,
        },
        ..arguments.question.options()
    };
    let start = Moment::now();
    let tuning = tune(read.input(), &options)
        .with_context(|| format!("cannot tune {}", arguments.question.folder.display()))?;
    output::say(&format!("  tuned in {:.2} s", start.elapsed_s()));
    if let Some(path) = &arguments.out {
        let design = tuning.design.clone().sealed();
        if !arguments.force {
            spare_changes(path, &design)?;
        }
        write(path, &design.json(), "the design")?;
    }
    if let Some(path) = &arguments.html {
        write(path, &tuning.html(), "the page")?;
    }
    json::deliver(&tuning, arguments.json.as_deref(), &tuning.text(arguments.all))?;
    Ok(Verdict::Sound)
}

/// Refuses to overwrite a design that differs from what the tuner wrote.
fn spare_changes(path: &Path, design: &Design) -> Result<()> {
    let name = path.display();
    // Devices and pipes have nothing to lose and may have no end.
    if !path.is_file() {
        return Ok(());
    }
    let text = read_text(path, BYTES_MAX).unwrap_or_default();
    let advice = "choose another file with --out, or overwrite it with --force";
    match Design::parse(&text) {
        Ok(kept) if kept.is_as_sealed() || kept.clone().unsealed() == design.clone().unsealed() => {
            Ok(())
        }
        Ok(_) => {
            bail!(
                "the design in {name} was edited or not written by `spade tune`, so it is kept; {advice}"
            )
        }
        Err(_) => bail!("{name} exists and is not a design; {advice}"),
    }
}

fn write(path: &Path, text: &str, what: &str) -> Result<()> {
    output::replace(path, text.as_bytes())?;
    output::say(&format!("  {what} is in {}", path.display()));
    Ok(())
}

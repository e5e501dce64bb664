//! `namdb spade tune`: how a workload is to be stored, partitioned and carried out on a measured cluster.

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
decides and what it cannot know. A design in a file that was changed by hand is written over only with --force. The exit code is 0 if there is a design, 2 if there is none.";

/// Options of `spade tune`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct TuneArguments {
    #[command(flatten)]
    question: Question,
    /// What is wanted
    #[arg(long, value_enum, default_value_t = Wanted::Throughput)]
    objective: Wanted,
    /// By what designs are compared: service times added up, or the paper's averages
    #[arg(long, value_enum, default_value_t = By::ServiceTimes)]
    model: By,
    /// Show every rejected candidate
    #[arg(long)]
    all: bool,
    /// Write the design into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write over a design in that file even if it was changed by hand
    #[arg(long, requires = "out")]
    force: bool,
    /// Also write everything as a page with pictures
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write everything as JSON; `-` is the output, and the text then goes to the error stream
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl TuneArguments {
    /// What is written last would be all that is left of a file that is named twice; a page replaces a page and nothing else.
    fn check_files(&self) -> Result<()> {
        for (option, path) in [("--out", &self.out), ("--html", &self.html)] {
            let is_output = path.as_deref().is_some_and(json::is_output);
            ensure!(!is_output, "{option} names a file: `-`, the output, is for --json alone");
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
                bail!(
                    "{one} and {other} both name {}: give each a file of its own",
                    path.display()
                );
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
        .with_context(|| format!("{} cannot be tuned", arguments.question.folder.display()))?;
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

/// Refuses to write over a design that is not as tuning has written it.
fn spare_changes(path: &Path, design: &Design) -> Result<()> {
    let name = path.display();
    // Devices and pipes have nothing to lose, and may have no end.
    if !path.is_file() {
        return Ok(());
    }
    let text = read_text(path, BYTES_MAX).unwrap_or_default();
    let advice = "write to another file with --out, or over it with --force";
    match Design::parse(&text) {
        Ok(kept) if kept.is_as_sealed() || kept.clone().unsealed() == design.clone().unsealed() => {
            Ok(())
        }
        Ok(_) => {
            bail!(
                "the design in {name} was changed by hand, or made otherwise than by `spade tune`, and stays as it is; {advice}"
            )
        }
        Err(_) => bail!("{name} is there, and is no design; {advice}"),
    }
}

fn write(path: &Path, text: &str, what: &str) -> Result<()> {
    output::replace(path, text.as_bytes())?;
    output::say(&format!("  {what} is in {}", path.display()));
    Ok(())
}

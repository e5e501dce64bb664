//! `namdb reproduce`: the papers' evaluation on simulated hardware, with their numbers beside ours.

use super::parse_count;
use crate::Verdict;
use crate::bench::json;
use crate::bench::progress::Progress;
use crate::output;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use namdb::host::Moment;
use reproduce::{Compared, EXPERIMENTS, Experiment, Outcome, Run, find, picture, text};
use serde::Serialize;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  namdb reproduce list                  what there is, and which figure it repeats
  namdb reproduce queue-pairs           NAM-DB figure 9, into ./reproduction
  namdb reproduce all --quick           every experiment with few points, in a minute
  namdb reproduce oracle --seed 7 --out /tmp/seven

Each writes NAME.csv, NAME.svg and NAME.json, and prints what the paper's text prints, what came out, and the
error. Equal seeds write equal bytes of CSV and SVG.";

/// Options of `reproduce`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ReproduceArguments {
    /// An experiment, `all` of them, or `list`
    #[arg(value_name = "FIGURE")]
    what: String,
    /// Fewer points and shorter windows
    #[arg(long)]
    quick: bool,
    /// Seed of all randomness
    #[arg(long, value_parser = parse_count::<u64>, default_value_t = 1)]
    seed: u64,
    /// Where the files go
    #[arg(long, value_name = "FOLDER", default_value = "reproduction")]
    out: PathBuf,
}

/// What a run was made of.
#[derive(Serialize)]
struct Manifest<'a> {
    experiment: &'static str,
    figure: &'static str,
    commit: &'static str,
    seed: u64,
    is_quick: bool,
    profile: &'static str,
    parameters: BTreeMap<&'static str, &'a str>,
    compared: &'a [Compared],
    notes: &'a [String],
    /// Processor and everything else included.
    wall_time_s: f64,
}

/// Runs what is asked for.
pub fn run(arguments: &ReproduceArguments) -> Result<Verdict> {
    let experiments: Vec<&Experiment> = match arguments.what.as_str() {
        "list" => return list(),
        "all" => EXPERIMENTS.iter().collect(),
        name => vec![find(name).ok_or_else(|| {
            let names: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
            anyhow!("there is no experiment {name:?}; choose from all, list, {}", names.join(", "))
        })?],
    };
    let folder = &arguments.out;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for experiment in experiments {
        run_one(experiment, arguments)?;
    }
    Ok(Verdict::Sound)
}

fn list() -> Result<Verdict> {
    let lines = EXPERIMENTS.iter().map(|experiment| {
        format!("{:15} {:28} {}\n", experiment.name, experiment.figure, experiment.shows)
    });
    output::print(&lines.collect::<String>())?;
    Ok(Verdict::Sound)
}

fn run_one(experiment: &'static Experiment, arguments: &ReproduceArguments) -> Result<()> {
    let start = Moment::now();
    let shown = OnceCell::new();
    let mut progress = |done, total, what: &str| {
        shown.get_or_init(|| Progress::begin(experiment.name, total)).show(done, what);
    };
    let mut run = Run { seed: arguments.seed, is_quick: arguments.quick, progress: &mut progress };
    let outcome = (experiment.run)(&mut run);
    if let Some(shown) = shown.into_inner() {
        shown.finish(experiment.figure);
    }
    let manifest = Manifest {
        experiment: experiment.name,
        figure: experiment.figure,
        commit: env!("NAMDB_COMMIT"),
        seed: arguments.seed,
        is_quick: arguments.quick,
        profile: experiment.profile,
        parameters: outcome.parameters.iter().map(|(key, value)| (*key, value.as_str())).collect(),
        compared: &outcome.compared,
        notes: &outcome.notes,
        wall_time_s: start.elapsed_s(),
    };
    write(experiment, &outcome, &manifest, &arguments.out)?;
    let head = format!("{}: {}\n", experiment.figure, experiment.shows);
    output::print(&format!("{head}{}\n", text::comparison(&outcome)))
}

fn write(
    experiment: &Experiment,
    outcome: &Outcome,
    manifest: &Manifest<'_>,
    folder: &Path,
) -> Result<()> {
    let path = |ending: &str| folder.join(format!("{}.{ending}", experiment.name));
    let put = |ending: &str, text: &str| {
        let path = path(ending);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    put("csv", &text::csv(outcome))?;
    let picture = picture::svg(experiment, outcome);
    put("svg", &picture.map_err(|error| anyhow!("cannot draw {}: {error}", experiment.name))?)?;
    json::write(manifest, &path("json"))
}

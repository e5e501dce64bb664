//! `namdb reproduce`: the papers' evaluation on simulated hardware, with the published numbers
//! beside ours.

mod left;
mod report;

use super::parse_count;
use crate::Verdict;
use crate::bench::progress::Progress;
use crate::output;
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use left::RemainingTime;
use namdb::host::Moment;
use reproduce::{EXPERIMENTS, Experiment, Keep, MadeOf, Record, Run, find, picture, text};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  namdb reproduce list                  the experiments and the figures they reproduce
  namdb reproduce queue-pairs           NAM-DB figure 9, into ./reproduction
  namdb reproduce all --quick           every experiment with few points, in a minute or two
  namdb reproduce oracle --seed 7 --out /tmp/seven
  namdb reproduce locality --protocol as-published
                                        NAM-DB figure 6 with the protocol printed in the paper

  namdb reproduce all --report docs     all experiments, and docs/reproduction.md with tables and plots
  namdb reproduce oracle --report docs  rerun one experiment; the others stay as they are
  namdb reproduce report                rewrite docs/reproduction.md after a change of its texts
  namdb reproduce report --from reproduction
                                        the same from the results of earlier runs in ./reproduction

Each experiment writes NAME.csv, NAME.svg and NAME.json, and prints the published number, the measured one and the
error. Equal seeds write equal bytes of CSV, SVG and the document. spade-regret keeps its points in NAME.kept until it is
complete, so the same command continues an interrupted run.";

/// Arguments of `namdb reproduce`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ReproduceArguments {
    /// An experiment, `all`, `list` or `report`
    #[arg(value_name = "FIGURE")]
    what: String,
    /// Protocol in figures of NAM-DB: this database's, or the one printed in the paper
    #[arg(long, value_enum, default_value_t = Protocol::Ours)]
    protocol: Protocol,
    /// Use fewer points and shorter windows
    #[arg(long)]
    quick: bool,
    /// Seed of all random numbers
    #[arg(long, value_parser = parse_count::<u64>, default_value_t = 1)]
    seed: u64,
    /// Folder for the results
    #[arg(long, value_name = "FOLDER", default_value = "reproduction")]
    out: PathBuf,
    /// Also write FOLDER/reproduction.md, with its pages and plots in FOLDER/reproduction; `report`
    /// writes into `docs`
    #[arg(long, value_name = "FOLDER")]
    report: Option<PathBuf>,
    /// With `report`: copy the results in this folder into the document
    #[arg(long, value_name = "FOLDER")]
    from: Option<PathBuf>,
}

/// Values of `--protocol`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Protocol {
    /// This database's protocol, except in experiments whose name says as published
    Ours,
    /// The protocol printed in the paper, in figures that have it
    AsPublished,
}

/// Runs the command.
pub fn run(arguments: &ReproduceArguments) -> Result<Verdict> {
    if arguments.from.is_some() && arguments.what != "report" {
        bail!("--from needs `namdb reproduce report`");
    }
    let experiments = match arguments.what.as_str() {
        "list" => return list(),
        "report" => return write_again(arguments),
        _ => chosen(&arguments.what, arguments.protocol)?,
    };
    let folder = &arguments.out;
    make(folder)?;
    let mut left = RemainingTime::of(&experiments, arguments.quick);
    for experiment in &experiments {
        run_one(experiment, arguments, &left)?;
        left.one_less();
    }
    if let Some(documents) = &arguments.report {
        report::take_over(experiments.into_iter(), folder, documents)?;
        tell(&report::write(documents)?)?;
    }
    Ok(Verdict::Sound)
}

/// The experiments with this name, with this protocol.
fn chosen(name: &str, protocol: Protocol) -> Result<Vec<&'static Experiment>> {
    if name == "all" {
        let is_chosen = |one: &&'static Experiment| {
            protocol == Protocol::Ours || one.protocol == Some(reproduce::Protocol::AsPublished)
        };
        return Ok(EXPERIMENTS.iter().filter(is_chosen).collect());
    }
    let names = |of: fn(&&'static Experiment) -> bool| {
        let names = EXPERIMENTS.iter().filter(of).map(|experiment| experiment.name);
        names.collect::<Vec<_>>().join(", ")
    };
    let experiment = find(name).ok_or_else(|| {
        let names = names(|_| true);
        anyhow!("there is no experiment {name:?}; choose from all, list, report, {names}")
    })?;
    if protocol == Protocol::Ours {
        return Ok(vec![experiment]);
    }
    let printed = experiment.as_published().ok_or_else(|| {
        let names = names(|experiment| experiment.as_published().is_some());
        anyhow!("{name} has no variant with the published protocol; these have: {names}")
    })?;
    Ok(vec![printed])
}

fn write_again(arguments: &ReproduceArguments) -> Result<Verdict> {
    let documents = arguments.report.as_deref().unwrap_or(Path::new("docs"));
    if let Some(folder) = &arguments.from {
        let kept = |experiment: &&Experiment| report::file(folder, experiment).exists();
        let found: Vec<&Experiment> = EXPERIMENTS.iter().filter(kept).collect();
        if found.is_empty() {
            bail!("{} contains no NAME.json of an experiment", folder.display());
        }
        report::take_over(found.into_iter(), folder, documents)?;
    }
    tell(&report::write(documents)?)?;
    Ok(Verdict::Sound)
}

fn tell(written: &Path) -> Result<()> {
    output::print(&format!("{} is written\n", written.display()))
}

fn list() -> Result<Verdict> {
    let lines = EXPERIMENTS.iter().map(|experiment| {
        format!("{:15} {:28} {}\n", experiment.name, experiment.figure, experiment.shows)
    });
    output::print(&lines.collect::<String>())?;
    Ok(Verdict::Sound)
}

fn run_one(
    experiment: &'static Experiment,
    arguments: &ReproduceArguments,
    left: &RemainingTime,
) -> Result<()> {
    let start = Moment::now();
    let shown = OnceCell::new();
    let mut progress = |done, total, what: &str| {
        let progress = shown.get_or_init(|| Progress::begin(experiment.name, total));
        progress.show(done, &format!("{what}{}", left.sentence(done as f64 / total as f64)));
    };
    let kept = arguments.out.join(format!("{}.kept", experiment.name));
    let keep = Keep { file: kept.clone(), program: namdb_program::COMMIT.to_owned() };
    let mut run = Run {
        seed: arguments.seed,
        is_quick: arguments.quick,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        keep: Some(keep),
        progress: &mut progress,
    };
    let outcome = (experiment.run)(&mut run);
    if let Some(shown) = shown.into_inner() {
        shown.finish(experiment.figure);
    }
    let made_of = MadeOf {
        commit: namdb_program::COMMIT.to_owned(),
        seed: arguments.seed,
        is_quick: arguments.quick,
        wall_time_s: start.elapsed_s(),
    };
    let record = Record::new(experiment, made_of, outcome);
    let write = |ending: &str, text: &str| {
        put(&arguments.out.join(format!("{}.{ending}", experiment.name)), text)
    };
    write("csv", &text::csv(&record))?;
    write("svg", &drawn(&record)?)?;
    write("json", &record.json())?;
    if kept.exists() {
        std::fs::remove_file(&kept).with_context(|| format!("cannot remove {}", kept.display()))?;
    }
    let head = format!("{}: {}\n", experiment.figure, experiment.shows);
    output::print(&format!("{head}{}\n", text::comparison(&record)))
}

fn drawn(record: &Record) -> Result<String> {
    picture::svg(record).map_err(|error| anyhow!("cannot draw {}: {error}", record.experiment))
}

fn make(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create the folder {}", folder.display()))
}

fn put(path: &Path, text: &str) -> Result<()> {
    output::replace(path, text.as_bytes())
}

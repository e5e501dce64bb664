//! `cargo xtask mutate` and `cargo xtask reach`: mutants of the protocol's sources, which are bugs
//! that nobody chose, and the branches that simulated runs hardly take.
//!
//! A copy of the workspace has all mutants of `txn`, `index` and `memory` at once; a variable of
//! the environment turns one on. So there is one build, and a process per mutant. The sources of
//! the product contain no trace of it.
//!
//! ```text
//! walk ------> operators: what may change in an expression, a statement, a function
//!   |
//! edits, site: the changes of a text; the identity of each
//!   |
//! copy ------> compile: leaves out what the compiler refuses
//!   |
//! prepared --> profile: which worlds visit which site ---> reach: branches that runs hardly take
//!   |
//! campaign --> hunt -> child (crate portfolio): worlds until one fails; then test_programs
//!   |
//! results ---> report
//! ```
//!
//! Decision: docs/decisions/0307-mutants-of-the-sources-are-compiled-at-once.md
#![forbid(unsafe_code)]

mod campaign;
mod child;
mod choose;
mod compile;
mod copy;
mod edits;
mod equivalent;
mod hunt;
mod instrument;
mod operators;
mod prepared;
mod profile;
mod reach;
mod report;
mod results;
mod site;
mod test_programs;
mod walk;

use anyhow::{Context, Result, ensure};
use campaign::Campaign;
use choose::{Choice, choose};
use clap::{Parser, Subcommand};
use prepared::Prepared;
use profile::{Profile, Seeds};
use report::Score;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Seeds of each world in the profile that mutants are hunted by.
const PROFILE_SEEDS: u64 = 40;
/// The time of a world in that profile.
const PROFILE_SECONDS: f64 = 20.0;

const MUTATE_EXAMPLES: &str = "\
Examples:
  cargo xtask mutate --sample 100 --seconds 20       100 mutants, 20 s each
  cargo xtask mutate --sample 100 --seed 7           another 100
  cargo xtask mutate --only tree/split.rs            those of a file
  cargo xtask mutate --only rewrite_left --list      print those of a function
  cargo xtask mutate --resume results.jsonl          all; those in the file are not hunted again
  cargo xtask mutate --resume results.jsonl --again  the survivors in it once more";

const REACH_EXAMPLES: &str = "\
Examples:
  cargo xtask reach --runs 10000
  cargo xtask reach --runs 1000 --json";

/// Mutants of the protocol's sources, and the branches that runs reach
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    /// The folder for the copy, its program and results; by default `mutation` in cargo's target
    /// directory
    #[arg(long, global = true, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Number of concurrent processes; by default that of cores
    #[arg(long, global = true)]
    processes: Option<usize>,
    /// Print the report as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Hunt mutants of `txn`, `index` and `memory` in simulated worlds and tests
    #[command(after_help = MUTATE_EXAMPLES)]
    Mutate(Mutate),
    /// List the branches of `txn`, `index` and `memory` that simulated runs hardly take
    #[command(after_help = REACH_EXAMPLES)]
    Reach {
        /// Runs in all, the same number of each world
        #[arg(long, default_value_t = 1000)]
        runs: u64,
        #[arg(long, default_value_t = 0)]
        first_seed: u64,
    },
}

#[derive(clap::Args)]
struct Mutate {
    /// Only mutants whose file, function or text contains this; may be repeated
    #[arg(long, value_name = "FILE|FUNCTION")]
    only: Vec<String>,
    /// Time of each mutant in worlds, in seconds
    #[arg(long, default_value_t = 600.0)]
    seconds: f64,
    /// A sample of this many mutants
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// The seed of the sample
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Begin no further mutant after this many minutes
    #[arg(long)]
    minutes: Option<f64>,
    /// Do not run the tests of the crates for mutants that no world shows
    #[arg(long)]
    without_tests: bool,
    /// Take the results in this file as they are, and add those of other mutants; without it they
    /// are in results.jsonl of the folder
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Hunt the survivors in that file again, for example for longer
    #[arg(long, requires = "resume")]
    again: bool,
    /// Only worlds whose name contains this
    #[arg(long, value_name = "TEXT")]
    worlds: Option<String>,
    /// Fail if less than this percentage is caught
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    least: f64,
    /// Print the chosen mutants and hunt none
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    match start(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: &Arguments) -> Result<()> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."));
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => {
            let program = std::env::current_exe().context("this program has no path")?;
            let target =
                program.ancestors().nth(2).context("the program is in no target folder")?;
            target.join("mutation")
        }
    };
    let processes = match arguments.processes {
        Some(processes) => processes.max(1),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let prepared = Prepared::new(root, &folder)?;
    match &arguments.command {
        Command::Mutate(options) => mutate(&prepared, options, processes, arguments.json),
        Command::Reach { runs, first_seed } => {
            reach(&prepared, *runs, *first_seed, processes, arguments.json)
        }
    }
}

fn mutate(prepared: &Prepared, options: &Mutate, processes: usize, is_json: bool) -> Result<()> {
    let sites = &prepared.copy.sites;
    let equivalent = equivalent::read(sites)?;
    let choice = Choice { only: options.only.clone(), sample: options.sample, seed: options.seed };
    let chosen = choose(sites, &choice)?;
    if options.list {
        return chosen.iter().try_for_each(|site| print(&(site.describe() + "\n")));
    }
    let seeds = Seeds { first: 0, count: PROFILE_SEEDS, seconds: PROFILE_SECONDS };
    let mut profile = prepared.profile(seeds, processes)?;
    warn_of_failures(&profile);
    if let Some(text) = &options.worlds {
        profile.worlds.retain(|world| world.world.contains(text));
        ensure!(!profile.worlds.is_empty(), "no world's name contains {text:?}");
    }
    let campaign = Campaign {
        processes,
        seconds: options.seconds,
        limit: options.minutes.map(|minutes| Duration::from_secs_f64(60.0 * minutes)),
        with_tests: !options.without_tests,
        file: options.resume.clone().unwrap_or_else(|| prepared.folder.join("results.jsonl")),
        is_resumed: options.resume.is_some(),
        is_again: options.again,
    };
    let results = campaign::run(prepared, profile, equivalent, &chosen, &campaign)?;
    print(&if is_json { report::json(&results)? } else { report::text(&results) })?;
    let score = Score::of(&results).percent();
    let least = options.least;
    ensure!(score >= least, "{score:.1} % of the mutants are caught, and not {least} %");
    Ok(())
}

fn reach(
    prepared: &Prepared,
    runs: u64,
    first: u64,
    processes: usize,
    is_json: bool,
) -> Result<()> {
    let worlds = profile::worlds(&prepared.copy.folder, &prepared.portfolio)?;
    let count = runs.div_ceil(worlds.len() as u64);
    let seeds = Seeds { first, count, seconds: f64::MAX };
    let profile = prepared.profile(seeds, processes)?;
    let sites = &prepared.copy.sites;
    print(&if is_json { reach::json(sites, &profile)? } else { reach::text(sites, &profile) })?;
    let failures = profile.failures();
    ensure!(
        failures.is_empty(),
        "{} runs fail, although no mutant is on: {}",
        failures.len(),
        failures.join("; ")
    );
    Ok(())
}

fn warn_of_failures(profile: &Profile) {
    for failure in profile.failures() {
        eprintln!("mutation: a run fails, although no mutant is on: {failure}");
    }
}

fn print(text: &str) -> Result<()> {
    std::io::stdout().lock().write_all(text.as_bytes()).context("cannot write the report")
}

//! The process in which worlds run: it profiles them, hunts the mutant that is on, or runs one
//! seed.
#![forbid(unsafe_code)]

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use portfolio::instrumented::{begin_run, take_runs};
use portfolio::schedule::Schedule;
use portfolio::world::{World, worlds};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Runs simulated worlds for `cargo xtask mutate` and `cargo xtask reach`
#[derive(Parser)]
#[command(name = "portfolio")]
struct Arguments {
    /// The folder with scenarios
    #[arg(long, default_value = "scenarios")]
    scenarios: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the names of all worlds
    List,
    /// Run seeds of each world, and print in how many runs each site was visited
    Profile {
        #[arg(long, default_value_t = 0)]
        first_seed: u64,
        #[arg(long, default_value_t = 10)]
        seeds: u64,
        /// Stop a world after this time
        #[arg(long, default_value_t = 60.0)]
        seconds: f64,
        /// These worlds only
        worlds: Vec<String>,
    },
    /// Run worlds by a schedule until one fails
    Hunt {
        /// Lines `WORLD SHARE`
        #[arg(long)]
        schedule: PathBuf,
        #[arg(long)]
        seconds: f64,
    },
    /// Run one seed of a world
    Once { world: String, seed: u64 },
}

fn main() -> ExitCode {
    // Mutants panic by the hundred; each message is part of a result.
    std::panic::set_hook(Box::new(|_| {}));
    match start(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: &Arguments) -> Result<()> {
    let worlds = worlds(&arguments.scenarios)?;
    match &arguments.command {
        Command::List => worlds.iter().try_for_each(|world| say(&world.name)),
        Command::Profile { first_seed, seeds, seconds, worlds: names } => {
            let is_chosen = |world: &&World| names.is_empty() || names.contains(&world.name);
            let mut chosen = worlds.iter().filter(is_chosen);
            chosen.try_for_each(|world| profile(world, *first_seed, *seeds, *seconds))
        }
        Command::Hunt { schedule, seconds } => {
            let text = std::fs::read_to_string(schedule)
                .with_context(|| format!("cannot read {}", schedule.display()))?;
            hunt(&worlds, Schedule::read(&text)?, *seconds)
        }
        Command::Once { world, seed } => {
            say(&json!({ "failure": failure(named(&worlds, world)?, *seed) }).to_string())
        }
    }
}

fn named<'a>(worlds: &'a [World], name: &str) -> Result<&'a World> {
    let found = worlds.iter().find(|world| world.name == name);
    found.with_context(|| format!("there is no world {name:?}; `portfolio list` names all"))
}

/// The failure of a run; a panic that leaves the run is one.
fn failure(world: &World, seed: u64) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(|| world.run(seed))) {
        Ok(failure) => failure,
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            Some(format!("panic: {}", text.unwrap_or("without a text")))
        }
    }
}

/// Prints one line: the visits of all sites, and the failures.
fn profile(world: &World, first_seed: u64, seeds: u64, seconds: f64) -> Result<()> {
    let start = now();
    take_runs();
    let (mut runs, mut failures) = (0, BTreeMap::new());
    for seed in first_seed..first_seed + seeds {
        begin_run();
        if let Some(failure) = failure(world, seed) {
            failures.insert(seed, failure);
        }
        runs += 1;
        if start.elapsed().as_secs_f64() > seconds {
            break;
        }
    }
    let visited = take_runs();
    let sites = visited.iter().enumerate().filter(|&(_, &runs)| runs > 0);
    let sites: BTreeMap<usize, u32> = sites.map(|(site, &runs)| (site, runs)).collect();
    let line = json!({
        "world": world.name,
        "runs": runs,
        "seconds": start.elapsed().as_secs_f64(),
        "failures": failures,
        "sites": sites,
    });
    say(&line.to_string())
}

/// Runs worlds until one fails or the time is over, and says at the end which.
fn hunt(worlds: &[World], mut schedule: Schedule, seconds: f64) -> Result<()> {
    let start = now();
    let mut runs = 0;
    while start.elapsed().as_secs_f64() < seconds {
        runs += 1;
        let mut caught = Ok(false);
        schedule.step(|name, seed| {
            let begin = now();
            caught = turn(worlds, name, seed, runs);
            begin.elapsed().as_secs_f64()
        });
        if caught? {
            return Ok(());
        }
    }
    say(&json!({ "survived": true, "runs": runs }).to_string())
}

/// One run, and whether it fails. A line before it shows the parent progress.
fn turn(worlds: &[World], name: &str, seed: u64, runs: u64) -> Result<bool> {
    say(&json!({ "run": runs, "world": name, "seed": seed }).to_string())?;
    let Some(failure) = failure(named(worlds, name)?, seed) else { return Ok(false) };
    let caught = json!({ "caught": failure, "world": name, "seed": seed, "runs": runs });
    say(&caught.to_string())?;
    Ok(true)
}

/// Prints a line at once.
fn say(line: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).context("cannot write the result")
}

#[expect(clippy::disallowed_methods, reason = "tooling measures real time; there is no Env here")]
fn now() -> Instant {
    Instant::now()
}

//! The kill test: a process commits in several threads and is killed by SIGKILL; the parent then
//! opens the directory and compares it with what the process had reported.
//!
//! ```text
//! parent (rounds)                          child (child, work, caretaker)
//!   starts a child                  ->       opens the directory, loads
//!   notes each report (expected)    <-       8 workers commit, one thread changes the catalog
//!   kills it                                 and makes checkpoints
//!   opens the directory, compares (check)
//! ```
//!
//! Everything that a worker writes is a function of its number (plan), so that the parent computes
//! the whole database from one counter per worker. One round follows the other in the same
//! directory, at both levels of durability, and some start without a check in between.
//!
//! A kill leaves what was written but not synced. Lost writes belong to the simulator.
#![forbid(unsafe_code)]

mod caretaker;
mod check;
mod child;
mod expected;
mod pipe;
mod plan;
mod random;
mod report;
mod rounds;
mod tables;
mod work;

use anyhow::{Context, Result, ensure};
use child::Orders;
use clap::{Args, Parser, Subcommand};
use namdb::Durability;
use namdb::host::Moment;
use pipe::TASKS;
use rounds::{Options, Rounds};
use std::path::PathBuf;
use std::process::ExitCode;

/// Kills a process that commits, and checks what the next opening finds
#[derive(Parser)]
#[command(name = "kill-test", args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Role>,
    #[command(flatten)]
    parent: ParentArguments,
}

#[derive(Subcommand)]
enum Role {
    #[command(hide = true)]
    Child(ChildArguments),
}

#[derive(Args)]
struct ParentArguments {
    /// Number of kills
    #[arg(long, default_value_t = 20)]
    rounds: u64,
    /// Seed of transactions, and of the choice and the time of each kill; the threads' order and
    /// real time are not repeated
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The database's directory, which must not exist; it is removed after a success. Default: a
    /// new one among the temporary files
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Plant a bug: children report commits before they are on the disk, so the test must fail
    #[arg(long)]
    acknowledge_early: bool,
}

#[derive(Args)]
struct ChildArguments {
    directory: PathBuf,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    round: u64,
    #[arg(long, value_parser = child::level)]
    durability: Durability,
    #[arg(long)]
    first: u64,
    #[arg(long)]
    quiet_after_ms: Option<u64>,
    #[arg(long)]
    acknowledge_early: bool,
}

fn main() -> ExitCode {
    let Arguments { command, parent } = Arguments::parse();
    let outcome = match command {
        Some(Role::Child(arguments)) => run_child(arguments),
        None => run_parent(parent),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kill-test: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run_child(arguments: ChildArguments) -> Result<()> {
    let first = TASKS.into_iter().find(|task| *task as u64 == arguments.first);
    let ChildArguments { directory, seed, round, durability, quiet_after_ms, .. } = arguments;
    child::run(&Orders {
        directory,
        seed,
        round,
        durability,
        first: first.context("the first task is unknown")?,
        quiet_after_ms,
        acknowledges_early: arguments.acknowledge_early,
    })
}

fn run_parent(arguments: ParentArguments) -> Result<()> {
    let ParentArguments { rounds, seed, json, acknowledge_early, .. } = arguments;
    let name = format!("namdb-kill-test-{}", std::process::id());
    let directory = arguments.directory.unwrap_or_else(|| std::env::temp_dir().join(name));
    let shown = directory.display();
    ensure!(!directory.exists(), "`{shown}` exists already; name a directory that does not");
    let program = std::env::current_exe().context("cannot find this program")?;
    let acknowledges_early = acknowledge_early;
    let options =
        Options { program, directory: directory.clone(), rounds, seed, acknowledges_early };
    let start = Moment::now();
    let mut shown_at = start;
    let report = Rounds::new(options).run(|done| {
        let now = Moment::now();
        if now.since_ns(shown_at) > 1_000_000_000 {
            shown_at = now;
            let left_s = start.elapsed_s() * (rounds - done) as f64 / done as f64;
            eprintln!("kill-test: {done} of {rounds} rounds, about {left_s:.0} s left");
        }
    })?;
    std::fs::remove_dir_all(&directory).with_context(|| format!("cannot remove `{shown}`"))?;
    match json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => println!("{report}"),
    }
    Ok(())
}

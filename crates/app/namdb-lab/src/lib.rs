//! The program `namdb` with all its commands, including the simulator (`simulate`, `bench
//! --profile`), the evaluation of the papers (`reproduce`) and SPADE (`spade`).
//!
//! Programs that link generated code of their own workloads call [`run`] with it in `main`.
//!
//! Decision: docs/decisions/0292-the-laboratory-is-a-program-of-its-own.md
#![forbid(unsafe_code)]

mod commands;
mod report;

pub(crate) use namdb_program::{Verdict, bench, judgement, output, servers};

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use commands::{help, reproduce, simulate, simulated, spade};
use namdb::procedures::Code;
use namdb_program::Lab;
use std::process::ExitCode;

/// Runs the command named by this process's arguments and returns the exit code. `code` is
/// generated code in addition to that of the shipped workloads.
pub fn run(code: &[Code]) -> ExitCode {
    namdb_program::run(code, Some(&Lab { command, bench: simulated::bench }))
}

#[derive(Parser)]
#[command(name = "namdb", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The commands that `namdb_program` passes on.
#[derive(Subcommand)]
enum Command {
    /// Run scenarios with faults over many seeds in a simulated world
    Simulate(simulate::SimulateArguments),
    /// Reproduce the papers' evaluation on simulated hardware
    Reproduce(reproduce::ReproduceArguments),
    /// Turn SQL procedures into a physical design (SPADE)
    Spade(spade::SpadeArguments),
}

fn command(code: &[Code]) -> Result<Verdict> {
    let given = namdb_program::lab::with_help(std::env::args_os().collect());
    let mut command = help::laid_out(Arguments::command());
    let found = command.try_get_matches_from_mut(&given);
    let read = found.and_then(|found| Arguments::from_arg_matches(&found));
    match read.unwrap_or_else(|error| error.format(&mut command).exit()).command {
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Spade(arguments) => spade::run(&arguments, code),
    }
}

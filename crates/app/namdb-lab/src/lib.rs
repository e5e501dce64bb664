//! The program `namdb` with all its commands: also the simulator (`simulate`, `bench --profile`), the papers' evaluation
//! (`reproduce`) and SPADE (`spade`).
//!
//! Programs that link generated code of workloads of their own are this one, too: their `main` calls [`run`] with it.
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

/// Runs the command that this process's arguments name, with generated code of these workloads beside that of the shipped
/// ones; the result is the exit code.
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
    /// Run scenarios over many seeds in simulated worlds, with faults
    Simulate(simulate::SimulateArguments),
    /// Repeat the papers' evaluation on simulated hardware
    Reproduce(reproduce::ReproduceArguments),
    /// Make SQL procedures into a physical design
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

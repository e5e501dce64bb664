//! `cargo xtask mutate` and `cargo xtask reach`, in a separate program, because the tooling builds
//! without the parser of Rust.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use clap::Args;

use crate::process;
use crate::workspace;

const PROGRAM: &[&str] = &["run", "--quiet", "--package", "mutation", "--bin", "mutation", "--"];
/// Mutants of a nightly round. Its time ends earlier.
const NIGHTLY_MUTANTS: &str = "1000";
/// The time for each of them. Most that are ever caught are caught within a second.
const NIGHTLY_SECONDS: &str = "5";
/// The time of a round, without the build.
const NIGHTLY_MINUTES: &str = "5";
/// A round fails below this percentage of caught mutants: worlds or judges have become weaker.
const NIGHTLY_PERCENT_MIN: &str = "40";
/// Runs of a nightly round for the list of branches.
pub const NIGHTLY_RUNS: u64 = 20_000;

/// Arguments of that program; its `--help` lists them.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Options {
    /// --only, --seconds, --sample, --seed, --resume, --list, --runs, --first-seed, --json
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Runs the program.
pub fn run(root: &Path, command: &str, options: &Options) -> Result<()> {
    process::run(process::cargo(root, PROGRAM).arg(command).args(&options.arguments))
}

/// A sample of mutants, which the commit and the round draw. An interrupted round continues with
/// the mutants that it has not hunted.
pub fn nightly_mutants(root: &Path, commit: &str, rounds: u64) -> Result<()> {
    let short = &commit[..8];
    let seed = u64::from_str_radix(short, 16)?.wrapping_add(rounds);
    let results =
        workspace::target_directory(root)?.join(format!("mutation-{short}-{rounds}.jsonl"));
    let mut program = process::cargo(root, PROGRAM);
    program.args(["mutate", "--sample", NIGHTLY_MUTANTS, "--seed", &seed.to_string()]);
    program.args(["--seconds", NIGHTLY_SECONDS, "--minutes", NIGHTLY_MINUTES, "--without-tests"]);
    program.args(["--least", NIGHTLY_PERCENT_MIN, "--resume"]).arg(results);
    process::run(&mut program)
}

/// The branches that runs with new seeds hardly take.
pub fn nightly_reach(root: &Path, rounds: u64) -> Result<()> {
    let mut program = process::cargo(root, PROGRAM);
    let first = (rounds * NIGHTLY_RUNS).to_string();
    program.args(["reach", "--runs", &NIGHTLY_RUNS.to_string(), "--first-seed", &first]);
    process::run(&mut program)
}

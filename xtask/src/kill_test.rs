//! `cargo xtask kill-test`: kills a process that commits, by a separate program, because the
//! tooling builds without the product. It has the profile of the tests, which compile it anyway.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use clap::Args;

use crate::process;

const PROGRAM: &[&str] = &["run", "--quiet", "--package", "kill_test", "--bin", "kill-test", "--"];
/// Kills of one round of the nightly run: of a process with a directory, and of a cluster's client
/// on each of two fabrics.
pub const NIGHTLY_KILLS: u64 = 1_000;
const NIGHTLY_CLIENT_KILLS: u64 = 300;

/// Arguments of that program; its `--help` lists them.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Options {
    /// --rounds, --seed, --directory, --json, --acknowledge-early
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Runs the test.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    process::run(process::cargo(root, PROGRAM).args(&options.arguments))
}

/// Runs a round of the nightly run, with a seed of its own.
pub fn nightly(root: &Path, rounds_before: u64) -> Result<()> {
    let seed = (rounds_before + 1).to_string();
    let mut command = process::cargo(root, PROGRAM);
    command.args(["--rounds", &NIGHTLY_KILLS.to_string(), "--seed", &seed]);
    process::run(&mut command)?;
    let clients = ["test", "-p", "namdb-lab", "--test", "program", "kills::", "--", "--nocapture"];
    let mut command = process::cargo(root, &clients);
    command.env("NAMDB_TEST_KILLS", NIGHTLY_CLIENT_KILLS.to_string());
    process::run(command.env("NAMDB_TEST_KILLS_SEED", &seed))
}

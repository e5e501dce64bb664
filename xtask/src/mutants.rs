//! `cargo xtask mutants`: searches for worlds that detect planted bugs, in a separate program,
//! because the tooling builds without the product.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use clap::Args;

use crate::process;

const PROGRAM: &[&str] =
    &["run", "--release", "--quiet", "--package", "mutants", "--bin", "mutants", "--"];

/// Arguments of that program; its `--help` lists them.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Options {
    /// Names of mutants, --seeds, --minutes, --json, --keep, --seed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Runs the search.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    process::run(process::cargo(root, PROGRAM).args(&options.arguments))
}

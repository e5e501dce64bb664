//! `cargo xtask peers-durable`: measures durable updates of namdb beside other embedded databases.
//!
//! The program is a package outside the workspace, `bench/peers-durable`, with its own lock file,
//! so that the other databases burden no other build.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use clap::Args;

use crate::{process, workspace};

const MANIFEST: &str = "bench/peers-durable/Cargo.toml";

/// Arguments of that program; its `--help` lists them.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Options {
    /// Build without RocksDB, which compiles for long
    #[arg(long)]
    without_rocksdb: bool,
    /// --turns, --seconds, --sessions, --only, --directory, --json
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Builds the program and runs it.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let target = workspace::target_directory(root)?.join("peers");
    let mut command = process::cargo(root, &["run", "--release", "--quiet"]);
    command.args(["--manifest-path", MANIFEST]);
    command.arg("--target-dir").arg(target);
    if options.without_rocksdb {
        command.arg("--no-default-features");
    }
    process::run(command.arg("--").args(&options.arguments))
}

//! `namdb memory-server`: runs one memory server of a cluster in the foreground.

use super::{catch_interrupts_with, interruption};
use crate::Verdict;
use crate::servers::die_of_panics;
use crate::servers::log::{self, LogArguments};
use crate::servers::memory::MemoryServer;
use anyhow::Result;
use clap::Args;
use membership::ClusterFile;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  namdb memory-server --cluster prod.toml --number 0
  namdb memory-server --cluster prod.toml --number 2 --set memory.2.bytes='\"8 GiB\"'

Settings come from the file, then from the environment (NAMDB_CLUSTER_LEASE_SECONDS=5), then from --set. SIGTERM or \
Ctrl-C stops the server cleanly. It writes its data if the file says where (`data`); otherwise the data is lost.";

/// Arguments of `namdb memory-server`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct MemoryServerArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Number of this memory server in the file, from 0
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    number: u16,
    #[command(flatten)]
    log: LogArguments,
}

/// Default name of a cluster's file.
pub const CLUSTER_FILE: &str = "namdb.toml";

/// Arguments that select a cluster.
#[derive(Args, Clone, Debug)]
pub struct ClusterArguments {
    /// The cluster's file
    #[arg(long, value_name = "FILE", default_value = CLUSTER_FILE)]
    pub cluster: PathBuf,
    /// Override a setting of the file
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting)]
    pub set: Vec<(String, String)>,
}

/// Parses `key=value`.
pub fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| "a setting has the form KEY=VALUE, such as lease_seconds=5".to_owned())?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Runs the server until a signal stops it.
pub fn run(arguments: &MemoryServerArguments) -> Result<Verdict> {
    die_of_panics();
    let cluster = ClusterFile::load(&arguments.cluster.cluster, &arguments.cluster.set)?;
    log::start(&arguments.log, "memory", arguments.number, &cluster.name);
    catch_interrupts_with(|| {
        tracing::info!("stopping; a second signal exits at once, unless data is to be written")
    })?;
    MemoryServer::start(cluster, arguments.number, interruption())?.serve()?;
    Ok(Verdict::Sound)
}

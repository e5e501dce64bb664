//! `namdb compute-server`: runs one compute server of a cluster in the foreground.

use super::memory_server::ClusterArguments;
use super::part_run::carry_out;
use super::{catch_interrupts_with, interruption};
use crate::Verdict;
use crate::servers::compute::{ComputeServer, Work};
use crate::servers::die_of_panics;
use crate::servers::log::{self, LogArguments};
use anyhow::Result;
use clap::Args;
use membership::ClusterFile;
use namdb::procedures::Code;

const EXAMPLES: &str = "\
Examples:
  namdb compute-server --cluster prod.toml --number 0
  namdb compute-server --cluster prod.toml --number 1 --set compute.1.threads=4

It joins once all memory servers have joined, and waits for work: `namdb bench ... --cluster prod.toml` has all \
compute servers run its transactions. Over shm and tcp it also executes calls that others ship to it, as \
`namdb spade measure --cluster prod.toml` does. Settings come from the file, then from the environment \
(NAMDB_CLUSTER_COMPUTE_1_THREADS=4), then from --set. SIGTERM or Ctrl-C stops the server cleanly.";

/// Arguments of `namdb compute-server`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ComputeServerArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Number of this compute server in the file, from 0
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    number: u16,
    #[command(flatten)]
    log: LogArguments,
}

/// Runs the server until a signal stops it. `code` is generated code in addition to that of the
/// shipped workloads.
pub fn run(arguments: &ComputeServerArguments, code: &[Code]) -> Result<Verdict> {
    die_of_panics();
    let cluster = ClusterFile::load(&arguments.cluster.cluster, &arguments.cluster.set)?;
    log::start(&arguments.log, "compute", arguments.number, &cluster.name);
    catch_interrupts_with(|| tracing::info!("stopping; a second signal exits at once"))?;
    let linked = code.to_vec();
    let work: Box<Work> = Box::new(move |order, surroundings, stop, watcher| {
        carry_out(&linked, order, surroundings, stop, watcher)
    });
    ComputeServer::start(cluster, arguments.number, (work, code.to_vec()), interruption())?
        .serve()?;
    Ok(Verdict::Sound)
}

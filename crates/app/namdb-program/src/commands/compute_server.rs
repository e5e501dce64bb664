//! `namdb compute-server`: one compute server of a cluster, in the foreground.

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

It joins once all memory servers are there, and waits for work: `namdb bench ... --cluster prod.toml` has all compute \
servers that are there run its transactions. Over shm and tcp it also carries out operations that others ship to it, as \
`namdb spade measure --cluster prod.toml` does. Settings come from the file, then from the environment \
(NAMDB_CLUSTER_COMPUTE_1_THREADS=4), then from --set. SIGTERM or Ctrl-C ends the server in order.";

/// Options of `compute-server`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ComputeServerArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Which of the file's compute servers this is, from 0
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    number: u16,
    #[command(flatten)]
    log: LogArguments,
}

/// Runs the server until it is told to end, with generated code of these workloads beside that of the shipped ones.
pub fn run(arguments: &ComputeServerArguments, code: &[Code]) -> Result<Verdict> {
    die_of_panics();
    let cluster = ClusterFile::load(&arguments.cluster.cluster, &arguments.cluster.set)?;
    log::start(&arguments.log, "compute", arguments.number, &cluster.name);
    catch_interrupts_with(|| tracing::info!("stopping; a second signal ends it at once"))?;
    let linked = code.to_vec();
    let work: Box<Work> = Box::new(move |order, surroundings, stop, watcher| {
        carry_out(&linked, order, surroundings, stop, watcher)
    });
    ComputeServer::start(cluster, arguments.number, (work, code.to_vec()), interruption())?
        .serve()?;
    Ok(Verdict::Sound)
}

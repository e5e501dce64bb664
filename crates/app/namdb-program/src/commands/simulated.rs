//! `namdb bench ... --profile NAME`: the options of a run on a simulated cluster, which `namdb-lab` carries out.

use anyhow::{Result, bail};
use clap::Args;

/// Most machines: what fits into a few gigabytes.
pub const MACHINES_MAX: u16 = 50;

/// A simulated cluster.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Simulated cluster")]
pub struct SimulatedArguments {
    /// Run on a simulated cluster of machines with this hardware, such as connectx3-fdr: each has a memory server and
    /// computes, and time is virtual
    #[arg(long, global = true, value_name = "NAME",
          conflicts_with_all = ["cluster", "threads", "servers", "memory", "oracle", "rate", "metrics", "seconds", "warm_up"])]
    pub profile: Option<String>,
    /// Its machines [default: 4]
    #[arg(long, global = true, value_name = "N", requires = "profile", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(2..=i64::from(MACHINES_MAX)))]
    pub machines: Option<u16>,
    /// Copies of each row, which are modelled [default: 1]
    #[arg(long, global = true, value_name = "N", requires = "profile", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=8))]
    pub replicas: Option<u32>,
}

impl SimulatedArguments {
    /// Whether the run is one on a simulated cluster.
    ///
    /// # Errors
    /// Options of simulated clusters without a profile: clap does not check what options require that all of
    /// `bench` has.
    pub fn is_simulated(&self) -> Result<bool> {
        let alone = self.machines.map(|_| "--machines").or(self.replicas.map(|_| "--replicas"));
        match (&self.profile, alone) {
            (None, Some(option)) => bail!(
                "{option} belongs to --profile, a simulated cluster: a real one has what its file says"
            ),
            (profile, _) => Ok(profile.is_some()),
        }
    }
}

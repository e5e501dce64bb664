//! `namdb bench ... --profile NAME`: arguments of a run on a simulated cluster, which `namdb-lab`
//! executes.

use anyhow::{Result, bail};
use clap::Args;

/// Maximal number of machines, which need a few gigabytes.
pub const MACHINES_MAX: u16 = 50;

/// Arguments of a simulated cluster.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Simulated cluster")]
pub struct SimulatedArguments {
    /// Run on a simulated cluster of machines with this hardware, such as connectx3-fdr; each
    /// machine has a memory server and runs transactions, and time is virtual
    #[arg(long, global = true, value_name = "NAME",
          conflicts_with_all = ["cluster", "threads", "servers", "memory", "oracle", "rate", "metrics", "seconds", "warm_up"])]
    pub profile: Option<String>,
    /// Number of machines [default: 4]
    #[arg(long, global = true, value_name = "N", requires = "profile", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(2..=i64::from(MACHINES_MAX)))]
    pub machines: Option<u16>,
    /// Modelled copies of each row [default: 1]
    #[arg(long, global = true, value_name = "N", requires = "profile", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=8))]
    pub replicas: Option<u32>,
}

impl SimulatedArguments {
    /// Whether the run is on a simulated cluster.
    ///
    /// # Errors
    /// If options of simulated clusters are given without a profile. Clap does not check this for
    /// arguments shared by all subcommands of `bench`.
    pub fn is_simulated(&self) -> Result<bool> {
        let alone = self.machines.map(|_| "--machines").or(self.replicas.map(|_| "--replicas"));
        match (&self.profile, alone) {
            (None, Some(option)) => bail!(
                "{option} needs --profile (a simulated cluster); a real cluster is described by its file"
            ),
            (profile, _) => Ok(profile.is_some()),
        }
    }
}

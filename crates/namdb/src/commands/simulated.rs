//! `namdb bench ... --profile NAME`: a workload on a simulated cluster, in virtual time.

use super::choice::{Choice, Job};
use super::remote_calls::RemoteCalls;
use crate::Verdict;
use crate::bench::progress::Progress;
use crate::bench::report::Parameters;
use crate::bench::simulated::SimulatedReport;
use crate::bench::{AnyWorkload, json, text, world};
use anyhow::{Result, bail};
use clap::Args;
use fabric::LocalEnv;
use namdb::Isolation;
use reproduce::bench::{self, Phase};
use reproduce::verify::{Cluster, MACHINES_MAX};
use std::cell::RefCell;
use std::path::Path;
use workload::Workload;

/// Transactions that each machine has under way where nothing else is said: as many as `spade measure` has.
const LANES: u32 = 32;

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
    machines: Option<u16>,
    /// Copies of each row, which are modelled [default: 1]
    #[arg(long, global = true, value_name = "N", requires = "profile", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=8))]
    replicas: Option<u32>,
}

impl SimulatedArguments {
    /// The cluster that is asked for; none if the run is a real one.
    pub fn cluster(
        &self,
        lanes: Option<u32>,
        remote_calls: RemoteCalls,
        seed: u64,
    ) -> Result<Option<Cluster>> {
        let Some(profile) = self.profile.clone() else {
            // Options that all of `bench` has are not asked by clap what they require.
            let alone = self.machines.map(|_| "--machines").or(self.replicas.map(|_| "--replicas"));
            return match alone {
                None => Ok(None),
                Some(option) => bail!(
                    "{option} belongs to --profile, a simulated cluster: a real one has what its file says"
                ),
            };
        };
        let RemoteCalls::Share(remote_calls) = remote_calls else {
            bail!(
                "simulated clusters make calls at home but for a share; let --remote-calls be a number"
            )
        };
        Ok(Some(Cluster {
            profile,
            machines: self.machines.unwrap_or(4),
            lanes: lanes.unwrap_or(LANES),
            replicas: self.replicas.unwrap_or(1),
            remote_calls,
            seed,
        }))
    }
}

/// Runs the workload, and tells what has come of it.
pub fn run(
    choice: &Choice,
    isolation: Isolation,
    cluster: Cluster,
    json: Option<&Path>,
) -> Result<Verdict> {
    let (machines, seed) = (u32::from(cluster.machines), cluster.seed);
    let report = match choice {
        Choice::Folder(arguments) => {
            let (stored, parameters) = arguments.workload(isolation, seed)?;
            world::ensure_simulated(stored.memory_bytes(cluster.machines))?;
            let showing = Showing::new(Workload::<LocalEnv>::load_rows(&stored));
            let simulated = bench::folder(&stored, &cluster, &|phase| showing.show(phase))?;
            showing.finish("the tables are looked at");
            let name = Workload::<LocalEnv>::name(&stored);
            SimulatedReport::new(name, parameters, isolation, (cluster, simulated))
        }
        _ => choice.run(isolation, machines, seed, Simulate { isolation, cluster })??,
    };
    json::deliver(&report, json, &report.draw())?;
    Ok(report.verdict())
}

/// Runs any workload on a cluster.
struct Simulate {
    isolation: Isolation,
    cluster: Cluster,
}

impl Job for Simulate {
    type Output = Result<SimulatedReport>;

    fn run<W: AnyWorkload>(self, workload: W, parameters: Parameters) -> Result<Self::Output> {
        let Self { isolation, cluster } = self;
        let name = Workload::<LocalEnv>::name(&workload);
        world::ensure_simulated(Workload::<LocalEnv>::memory_bytes(&workload))?;
        let showing = Showing::new(Workload::<LocalEnv>::load_rows(&workload));
        let simulated = bench::spread(workload, &cluster, &|phase| showing.show(phase))?;
        showing.finish("the tables are looked at");
        Ok(Ok(SimulatedReport::new(name, parameters, isolation, (cluster, simulated))))
    }
}

/// The progress of the phases.
pub struct Showing {
    rows: u64,
    now: RefCell<(Progress, u64)>,
}

impl Showing {
    /// Before so many rows are loaded.
    pub fn new(rows: u64) -> Self {
        Self { rows, now: RefCell::new((Progress::begin("loading", rows), 0)) }
    }

    /// Tells of a phase.
    pub fn show(&self, phase: Phase) {
        let mut now = self.now.borrow_mut();
        match phase {
            Phase::Loading(rows) => {
                now.0.show(rows, "rows");
                now.1 = rows;
            }
            Phase::Running => {
                let done = text::counted(self.rows.max(now.1), "row");
                self.next(&mut now, "running", &done);
            }
            Phase::Checking => self.next(&mut now, "checking", "transactions have ended"),
        }
    }

    fn next(&self, now: &mut (Progress, u64), name: &'static str, done: &str) {
        let before = std::mem::replace(&mut now.0, Progress::begin(name, 1));
        before.finish(done);
    }

    /// Ends the last phase with a sentence of what was done.
    pub fn finish(self, done: &str) {
        self.now.into_inner().0.finish(done);
    }
}

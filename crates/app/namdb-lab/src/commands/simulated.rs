//! `namdb bench ... --profile NAME`: runs a workload on a simulated cluster, in virtual time.

use super::bench::BenchArguments;
use super::choice::{Choice, Job};
use super::remote_calls::RemoteCalls;
use crate::Verdict;
use crate::bench::progress::Progress;
use crate::bench::report::Parameters;
use crate::bench::{AnyWorkload, json, text, world};
use crate::report::SimulatedReport;
use anyhow::{Context, Result, bail};
use fabric::LocalEnv;
use namdb::Isolation;
use reproduce::bench::{self, Phase};
use reproduce::verify::Cluster;
use std::cell::RefCell;
use std::path::Path;
use workload::Workload;

const _: () = assert!(
    namdb_program::commands::simulated::MACHINES_MAX == reproduce::verify::MACHINES_MAX,
    "the arguments of `bench` exclude what no simulated cluster can have"
);

/// Default number of concurrent transactions per machine, as in `spade measure`.
const LANES: u32 = 32;

/// Runs `namdb bench` on a simulated cluster. It changes nothing outside the process, so Ctrl-C may
/// end it at once.
pub fn bench(arguments: &BenchArguments) -> Result<Verdict> {
    let isolation = arguments.world.isolation.into();
    run(&arguments.choice, isolation, cluster(arguments)?, arguments.json.as_deref())
}

/// The cluster described by the arguments.
fn cluster(arguments: &BenchArguments) -> Result<Cluster> {
    let RemoteCalls::Share(remote_calls) = arguments.cluster_run.remote_calls.unwrap_or_default()
    else {
        bail!("simulated clusters always route calls by owner; --remote-calls must be a number")
    };
    let simulated = &arguments.simulated;
    Ok(Cluster {
        profile: simulated.profile.clone().context("a simulated cluster has a profile")?,
        machines: simulated.machines.unwrap_or(4),
        lanes: arguments.cluster_run.lanes.unwrap_or(LANES),
        replicas: simulated.replicas.unwrap_or(1),
        remote_calls,
        seed: arguments.world.seed,
    })
}

/// Runs the workload and prints the report.
fn run(
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
            showing.finish("the tables are checked");
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
        showing.finish("the tables are checked");
        Ok(Ok(SimulatedReport::new(name, parameters, isolation, (cluster, simulated))))
    }
}

/// Progress of a run's phases.
pub struct Showing {
    rows: u64,
    now: RefCell<(Progress, u64)>,
}

impl Showing {
    /// Begins with the load of `rows` rows.
    pub fn new(rows: u64) -> Self {
        Self { rows, now: RefCell::new((Progress::begin("loading", rows), 0)) }
    }

    /// Updates the progress.
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

    /// Ends the last phase with a summary.
    pub fn finish(self, done: &str) {
        self.now.into_inner().0.finish(done);
    }
}

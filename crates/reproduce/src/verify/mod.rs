//! Designs of workload folders on simulated clusters: built there, loaded, and measured, to be put beside their forecasts.
//!
//! ```text
//! folder    a folder as a load of symmetric clusters
//! message   its calls as bytes, where they are shipped
//! small     the shipped workloads with few rows
//! cell      one of them on a cluster, with the tuner's design and those of its sweep
//! names     what these are called
//! study     all of them measured, shortly and at length
//! jobs      measurements by several threads at once
//! kept      measurements that are kept for a run that goes on
//! swept     what came out: regret, and errors of forecasts
//! ```

pub(crate) mod cell;
pub(crate) mod folder;
pub(crate) mod jobs;
pub(crate) mod kept;
mod message;
mod names;
pub(crate) mod small;
pub(crate) mod study;
pub(crate) mod swept;
#[cfg(test)]
mod tests;

use crate::bench::Phase;
use crate::symmetric::{self, Plan, Seen, Standing};
use folder::Folder;
use sim::Network;
use spade::verify::{Measured, MeasuredProcedure};
use stored::Stored;

/// Where these measurements are made.
pub const PLACE: &str = "simulated";

/// Most lanes of a machine that make calls: others, up to 64 with them, carry out what is shipped to it.
pub const LANES_MAX: u32 = 48;
/// Most machines.
pub const MACHINES_MAX: u16 = symmetric::MACHINES_MAX;
/// Queue pairs of a compute server to each memory server, as in crate `measure`.
const QUEUE_PAIRS: u32 = 8;
/// Most words of a simulated memory server.
const REGION_WORDS_MAX: u64 = u32::MAX as u64;
/// Calls of each lane before anything is measured.
const PRACTICE: u64 = 4;
/// Virtual time in which the cluster comes to its pace.
const WARM_NS: u64 = 60_000;
/// Calls that are measured where nothing else is said.
const COUNTED: Counted = Counted { calls: 8_000, alone: 400 };

/// A simulated cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct Cluster {
    /// The profile of its hardware.
    pub profile: String,
    /// Machines, each with a memory server and a compute server; one more has the oracle.
    pub machines: u16,
    /// Lanes of a machine that make calls.
    pub lanes: u32,
    /// Copies of each row; more than one are modelled.
    pub replicas: u32,
    /// Share of calls that come to another machine than that of their rows.
    pub remote_calls: f64,
    /// Everything random follows from it.
    pub seed: u64,
}

/// How many calls are measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// Of all lanes, about, if the window is not longer than its most.
    pub calls: u64,
    /// Of the lane that measures alone.
    pub alone: u64,
}

/// Why a design cannot be measured.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// There is no such profile.
    #[error(transparent)]
    Hardware(#[from] hardware::HardwareError),
    /// The cluster cannot be.
    #[error(
        "{machines} machines with {lanes} lanes each and {replicas} copies of each row: a cluster has 2 to {MACHINES_MAX} machines, 1 to {LANES_MAX} lanes, and at most as many copies as machines"
    )]
    Cluster {
        /// Machines asked for.
        machines: u16,
        /// Lanes of each.
        lanes: u32,
        /// Copies of each row.
        replicas: u32,
    },
    /// The memory of a machine cannot be simulated.
    #[error(
        "each of {machines} machines would need {} GiB of simulated memory for these tables, and has less than 32; make the workload          smaller, or take more machines",
        .bytes >> 30
    )]
    Memory {
        /// Machines asked for.
        machines: u16,
        /// What each would need.
        bytes: u64,
    },
}

/// Builds a folder's design on a simulated cluster, loads it, and measures its calls: first of one lane alone, then of all.
///
/// # Errors
/// See [`VerifyError`].
pub fn measure(
    stored: &Stored,
    cluster: &Cluster,
    progress: &dyn Fn(Phase),
) -> Result<Measured, VerifyError> {
    measure_counted(stored, cluster, COUNTED, progress)
}

/// The same, with so many calls.
pub(crate) fn measure_counted(
    stored: &Stored,
    cluster: &Cluster,
    counted: Counted,
    progress: &dyn Fn(Phase),
) -> Result<Measured, VerifyError> {
    let Cluster { machines, seed, remote_calls, .. } = *cluster;
    let Counted { calls, alone } = counted;
    let plan = cluster.plan(stored.memory_bytes(machines))?;
    let plan = Plan { calls_wanted: Some(calls), calls_alone: alone, ..plan };
    let folder = Folder::new(stored.clone(), machines, (seed, remote_calls));
    let mut standing = Standing::loaded(&plan, &folder, &|rows| progress(Phase::Loading(rows)));
    progress(Phase::Running);
    let (alone, all) = standing.look(&folder);
    Ok(measured(stored, &alone, &all))
}

impl Cluster {
    /// What is built and looked at of it, for tables that take so many bytes.
    pub(crate) fn plan(&self, bytes: u64) -> Result<Plan, VerifyError> {
        let Self { machines, lanes, replicas, seed, .. } = *self;
        let is_sound = (2..=MACHINES_MAX).contains(&machines)
            && (1..=LANES_MAX).contains(&lanes)
            && (1..=u32::from(machines)).contains(&replicas);
        if !is_sound {
            return Err(VerifyError::Cluster { machines, lanes, replicas });
        }
        let profile = hardware::profile(&self.profile)?;
        let server_words = server_words(bytes, machines);
        if server_words > REGION_WORDS_MAX {
            let bytes = server_words.saturating_mul(layout::WORD_BYTES);
            return Err(VerifyError::Memory { machines, bytes });
        }
        Ok(Plan {
            network: Network::of(&profile),
            processes: 1,
            clients: lanes,
            queue_pairs: QUEUE_PAIRS,
            replicas,
            vector_copies: 0,
            practice: PRACTICE,
            warm_ns: WARM_NS,
            calls_wanted: Some(COUNTED.calls),
            calls_alone: COUNTED.alone,
            server_words,
            ..Plan::new(seed, machines)
        })
    }
}

/// Words of each memory server: room for twice what the tables take, and for as much again, which copies have.
fn server_words(bytes: u64, machines: u16) -> u64 {
    let each = bytes.div_ceil(u64::from(machines)).saturating_mul(4) / layout::WORD_BYTES;
    each.checked_next_power_of_two().unwrap_or(u64::MAX).max(symmetric::SERVER_WORDS)
}

fn measured(stored: &Stored, alone: &Seen, loaded: &Seen) -> Measured {
    let mean_ns = |seen: &Seen, kind: usize| {
        let of = seen.kind(kind)?;
        Some(of.total_ns() as f64 / of.count() as f64)
    };
    let procedures = stored.procedure_names().iter().enumerate().map(|(number, name)| {
        let kind = loaded.kind(number);
        let calls = kind.map_or(0, |kind| kind.count() as u64);
        MeasuredProcedure {
            procedure: (*name).to_owned(),
            calls,
            rolled_back: calls.saturating_sub(loaded.committed(number)),
            loaded_ns: mean_ns(loaded, number),
            alone_ns: mean_ns(alone, number),
            traffic: kind.map(|kind| {
                let [round_trips, verbs, _] = kind.traffic();
                [verbs, round_trips]
            }),
        }
    });
    let all = alone.all();
    Measured {
        place: PLACE.to_owned(),
        calls_per_s: loaded.ended_per_s(),
        retries_percent: loaded.abort_percent(),
        busiest: Some((loaded.busiest.stage.to_owned(), loaded.busiest.share)),
        alone_ns: (all.count() > 0).then(|| all.total_ns() as f64 / all.count() as f64),
        procedures: procedures.collect(),
        calls: loaded.all().count() as u64,
        remote_percent: None,
        shipped_percent: None,
        notes: Vec::new(),
    }
}

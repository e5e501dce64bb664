//! Designs of workload folders on simulated clusters: built, loaded and measured there, for
//! comparison with their forecasts.
//!
//! ```text
//! folder    a folder as a load of symmetric clusters
//! message   its calls as bytes, for shipping
//! small     the shipped workloads with few rows
//! cell      a workload on a cluster, with the tuner's design and those of its sweep
//! names     the names of designs
//! study     measures all of them, first briefly and then at length
//! jobs      measurements by several threads
//! kept      stored measurements, for resumed runs
//! swept     the results: regret, and errors of forecasts
//! ```
//!
//! Decision: docs/decisions/0245-a-design-is-verified-by-the-code-that-runs-it.md

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
use folder_benchmark::Stored;
use sim::Network;
use spade::verify::{Measured, MeasuredProcedure};

/// Where these measurements are made.
pub const PLACE: &str = "simulated";

/// The largest number of a machine's lanes that make calls: the others, 64 in total, execute
/// shipped calls.
pub const LANES_MAX: u32 = 48;
/// Most machines.
pub const MACHINES_MAX: u16 = symmetric::MACHINES_MAX;
/// Queue pairs of a compute server to each memory server, as in the crate `microbench`.
const QUEUE_PAIRS: u32 = 8;
/// The largest number of words of a simulated memory server.
const REGION_WORDS_MAX: u64 = u32::MAX as u64;
/// Calls of each lane before the measurement.
const PRACTICE: u64 = 4;
/// Virtual time in which the cluster reaches a steady state.
const WARM_NS: u64 = 60_000;
/// The default number of measured calls.
const COUNTED: Counted = Counted { calls: 8_000, alone: 400 };

#[derive(Clone, PartialEq, Debug)]
pub struct Cluster {
    /// The profile of its hardware.
    pub profile: String,
    /// Number of machines, each with a memory server and a compute server; one more has the oracle.
    pub machines: u16,
    /// Number of a machine's lanes that make calls.
    pub lanes: u32,
    /// Copies of each row; further copies are modelled.
    pub replicas: u32,
    /// The share of calls that are made on another machine than that of their rows.
    pub remote_calls: f64,
    /// The seed of all randomness.
    pub seed: u64,
}

/// The number of measured calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// The approximate number of calls of all lanes, unless the window would be too long.
    pub calls: u64,
    /// The number of calls of the lone lane.
    pub alone: u64,
}

/// The reason why a design cannot be measured.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The profile does not exist.
    #[error(transparent)]
    Hardware(#[from] hardware::HardwareError),
    /// The cluster is impossible.
    #[error(
        "{machines} machines with {lanes} lanes each and {replicas} copies of each row: a cluster has 2 to {MACHINES_MAX} machines, 1 to {LANES_MAX} lanes, and at most as many copies as machines"
    )]
    Cluster { machines: u16, lanes: u32, replicas: u32 },
    /// The memory of a machine cannot be simulated.
    #[error(
        "each of {machines} machines would need {} GiB of simulated memory for these tables, and has less than 32; make the workload          smaller, or take more machines",
        .bytes >> 30
    )]
    Memory {
        machines: u16,
        /// The bytes that each would need.
        bytes: u64,
    },
}

/// Builds a folder's design on a simulated cluster, loads it, and measures its calls: first of one
/// lane alone, then of all.
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

/// The same, with this number of calls.
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
    /// The plan of the cluster and the measurement, for tables that take this many bytes.
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

/// Words of each memory server: room for twice the tables, and as much again for copies.
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

//! Clusters in virtual time: cards, links and cores of a profile, any number of machines [SPADE 5.2].
//!
//! ```text
//!   machine 0      machine 1 .. n
//!   +--------+     +-------------------------------------+
//!   | oracle |     | memory server: one table of its own |<--- verbs of others
//!   +--------+     | compute server: lanes, each with    |<--- calls of others
//!                  |   its own rows of the local table   |
//!                  |   and of tables of other machines   |
//!                  +-------------------------------------+
//! ```
//! All machines do the same, as FaRM's. A lane has rows of its own in each table that it works on, so that lanes meet in
//! stages of the hardware, and not in rows: contention is no cost of an operation.
//!
//! A world has one table on each machine, all of one design, and measures all points of that design one after the other.
//! Equal seeds give equal points: a run that goes on where another was ended measures a table's points from the first,
//! and they come out as before.
#![forbid(unsafe_code)]

mod cluster;
pub mod ground;
pub mod metered;
mod sample;
#[cfg(test)]
mod tests;
mod worker;

use cluster::Cluster;
use spade_format::measurement::{Effort, Parameters, Point, World};
use workload::WorkloadError;

/// The name of this fabric.
pub const FABRIC: &str = "sim";
/// Most machines: what fits into a few gigabytes.
pub const MACHINES_MAX: u16 = 200;
/// Most lanes of a machine. As many again, up to 64 together, carry out what others ship.
pub const LANES_MAX: u32 = 48;
/// Lanes of a machine where nothing else is said.
pub const LANES: u32 = 32;

/// How to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// How long.
    pub effort: Effort,
    /// Seed of all randomness.
    pub seed: u64,
}

/// A simulated cluster of machines with this profile.
///
/// # Errors
/// There is no such profile.
pub fn world(profile: &str, machines: u16, lanes: u32) -> Result<World, hardware::HardwareError> {
    let cores = hardware::profile(profile)?.core.cores;
    Ok(World {
        fabric: FABRIC.to_owned(),
        hardware: profile.to_owned(),
        machines,
        threads: cores as u32,
        lanes,
    })
}

/// Measures all points of one table, and hands over each as soon as it is there. It ends early when that says so.
///
/// # Errors
/// A point asks for what cannot be.
pub fn measure(
    plan: Plan,
    points: &[Parameters],
    take: &mut dyn FnMut(Point) -> bool,
) -> Result<(), WorkloadError> {
    let Some(first) = points.first() else { return Ok(()) };
    let mut cluster = Cluster::load(plan, first)?;
    for parameters in points {
        let measured = cluster.measure(parameters);
        let version = measure::version(plan.effort, plan.seed);
        if !take(Point { parameters: parameters.clone(), version, measured }) {
            break;
        }
    }
    Ok(())
}

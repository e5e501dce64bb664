//! Clusters in virtual time: cards, links and cores of a profile, any number of machines [SPADE
//! 5.2].
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
//! All machines do the same, as in FaRM's experiments. Each lane has rows of its own in each table
//! that it uses, so that lanes compete for hardware but not for rows: contention is not part of an
//! operation's cost.
//!
//! A world has one table on each machine, all of one design, and measures all points of that design
//! one after the other. Equal seeds give equal points: a continued run measures all points of an
//! interrupted table again, with the same results.
//!
//! Decision: docs/decisions/0196-a-resumed-simulated-table-is-measured-again-from-its-first.md
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
/// Maximum number of machines: the simulation then needs a few gigabytes.
pub const MACHINES_MAX: u16 = 200;
/// Maximum number of lanes per machine. As many again, at most 64 together, execute shipped
/// operations.
pub const LANES_MAX: u32 = 48;
/// Default number of lanes per machine.
pub const LANES: u32 = 32;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    pub effort: Effort,
    pub seed: u64,
}

/// Describes a simulated cluster of machines with this profile.
///
/// # Errors
/// The profile does not exist.
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

/// Measures all points of one table, and passes each to a callback, which may stop the measurement.
///
/// # Errors
/// A point is not possible.
pub fn measure(
    plan: Plan,
    points: &[Parameters],
    take: &mut dyn FnMut(Point) -> bool,
) -> Result<(), WorkloadError> {
    let Some(first) = points.first() else { return Ok(()) };
    let mut cluster = Cluster::load(plan, first)?;
    for parameters in points {
        let measured = cluster.measure(parameters);
        let version = microbench::version(plan.effort, plan.seed);
        if !take(Point { parameters: parameters.clone(), version, measured }) {
            break;
        }
    }
    Ok(())
}

//! Which of the measured clusters is tuned for.

use crate::measurement::{Measurements, Place, World};
use crate::tune::report::text::many;
use crate::tune::{Options, TuneError};
use sql::Load;
use std::collections::BTreeSet;

/// Bytes of a GiB.
const GIB: f64 = (1_u64 << 30) as f64;

/// A cluster to tune for.
#[derive(Clone, PartialEq, Debug)]
pub struct Chosen {
    /// What was measured.
    pub world: World,
    /// Machines that it is tuned for.
    pub machines: u32,
    /// Threads of each.
    pub threads: u32,
    /// Lanes of each.
    pub lanes: u32,
    /// Bytes that the design may take on each machine, if somebody says so.
    pub budget: Option<u64>,
    /// What was asked for and is not so, in sentences.
    pub dropped: Vec<String>,
}

/// Chooses the world that the options or the load name: of several sizes the nearest one.
///
/// # Errors
/// There is none, or it cannot be told which is meant.
pub fn choose(all: &Measurements, load: &Load, options: &Options) -> Result<Chosen, TuneError> {
    let worlds: BTreeSet<&World> =
        all.points().iter().map(|point| &point.parameters.world).collect();
    let hardware: BTreeSet<&str> = worlds.iter().map(|world| &*world.hardware).collect();
    if worlds.is_empty() {
        return Err(TuneError::NoMeasurements);
    }
    let known = || hardware.iter().map(|name| (*name).to_owned()).collect();
    let only = hardware.first().filter(|_| hardware.len() == 1);
    let said = load.machines.profile.as_ref();
    let hardware: &str = match (options.hardware.as_ref().or(said), only) {
        (Some(wanted), _) if hardware.contains(&**wanted) => wanted,
        // Who has measured one cluster alone means that one, whatever the folder was written for.
        (_, Some(only)) if options.hardware.is_none() => only,
        (Some(wanted), _) => {
            return Err(TuneError::NoSuchHardware { wanted: wanted.clone(), known: known() });
        }
        (None, _) => return Err(TuneError::WhichHardware { known: known() }),
    };
    let same = worlds.iter().filter(|world| world.hardware == hardware);
    // Who says nothing means the cluster that was measured, of several the largest.
    let largest = same.map(|world| u32::from(world.machines)).max().unwrap_or(1);
    let wanted = options.machines.or(load.machines.count).unwrap_or(largest).max(1);
    // Of worlds as near the one with more lanes, which is the one that is measured if nothing else is said.
    let near = |world: &&&World| {
        (
            u32::from(world.machines).abs_diff(wanted),
            u32::MAX - world.lanes,
            u32::MAX - world.threads,
        )
    };
    let world = worlds.iter().filter(|world| world.hardware == hardware).min_by_key(near);
    let world = (**world.ok_or(TuneError::NoMeasurements)?).clone();
    let is_of_world = |point: &&crate::measurement::Point| point.parameters.world == world;
    let mut points = all.points().iter().filter(is_of_world);
    let has_remote = points.any(|point| point.parameters.place == Place::OneSided);
    let machines = match (has_remote, options.machines) {
        (true, _) => wanted,
        (false, None | Some(1)) => 1,
        (false, Some(machines)) => {
            let world = format!("{} ({})", world.fabric, world.hardware);
            return Err(TuneError::OneMachine { world, machines });
        }
    };
    let said_count = load.machines.count.filter(|_| options.machines.is_none());
    let mut dropped = dropped(&worlds, &world, said_count.unwrap_or(machines), machines);
    if let Some(said) = said.filter(|said| options.hardware.is_none() && **said != world.hardware) {
        dropped.push(format!(
            "workload.toml says {said}, and only {} was measured: the design is for that",
            world.hardware
        ));
    }
    let threads = options.threads.unwrap_or(world.threads);
    let said_threads = load.machines.threads.filter(|said| *said != world.threads);
    if options.threads.is_none() {
        dropped.extend(said_threads.map(|said| other_threads(said, threads)));
    }
    let lanes = options.lanes.unwrap_or(world.lanes);
    if (threads, lanes) != (world.threads, world.lanes) {
        dropped.push(format!(
            "{} and {} on each machine were measured, and {threads} and {lanes} are asked for: what one operation takes is \
             taken to be the same",
            many(world.threads, "thread"),
            many(world.lanes, "lane")
        ));
    }
    let said = load.machines.memory_gib.map(|gib| (gib * GIB) as u64);
    let budget = options.memory_budget.or(said);
    Ok(Chosen { world, machines, threads, lanes, budget, dropped })
}

fn other_threads(said: u32, measured: u32) -> String {
    format!(
        "workload.toml says {} on each machine, and {measured} were measured: forecasts are of {measured}",
        many(said, "thread")
    )
}

/// What of the wishes does not hold of the world that is tuned for.
fn dropped(worlds: &BTreeSet<&World>, world: &World, wanted: u32, machines: u32) -> Vec<String> {
    let mut all = Vec::new();
    if machines != wanted {
        all.push(format!(
            "workload.toml says {wanted} machines, and {} was measured on one alone: the design is for one",
            world.fabric
        ));
    }
    let same = worlds.iter().filter(|other| other.hardware == world.hardware);
    let fabrics: BTreeSet<&str> = same.map(|other| &*other.fabric).collect();
    if fabrics.len() > 1 {
        let fabrics: Vec<&str> = fabrics.into_iter().collect();
        all.push(format!(
            "{} was measured by {}, of which {} is taken; keep each in a file of its own to choose",
            world.hardware,
            fabrics.join(", "),
            world.fabric
        ));
    }
    all
}

//! Selects the measured cluster to tune for.

use crate::measurement::{Measurements, Place, World};
use crate::tune::report::text::many;
use crate::tune::{Options, TuneError};
use sql::Load;
use std::collections::BTreeSet;

const GIB: f64 = (1_u64 << 30) as f64;

/// The cluster to tune for.
#[derive(Clone, PartialEq, Debug)]
pub struct SelectedCluster {
    /// The measured world.
    pub world: World,
    /// Machines of the design.
    pub machines: u32,
    /// Threads of each machine.
    pub threads: u32,
    /// Lanes of each machine.
    pub lanes: u32,
    /// Bytes allowed on each machine, if limited.
    pub budget: Option<u64>,
    /// Options and settings of the load that do not apply, as sentences for the report.
    pub dropped: Vec<String>,
}

/// Selects the world that the options or the load name; of several cluster sizes the nearest one.
///
/// # Errors
/// No world was measured, or the choice is ambiguous.
pub fn choose(
    all: &Measurements,
    load: &Load,
    options: &Options,
) -> Result<SelectedCluster, TuneError> {
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
        // If only one cluster was measured, use it, even if the folder names another.
        (_, Some(only)) if options.hardware.is_none() => only,
        (Some(wanted), _) => {
            return Err(TuneError::NoSuchHardware { wanted: wanted.clone(), known: known() });
        }
        (None, _) => return Err(TuneError::WhichHardware { known: known() }),
    };
    let same = worlds.iter().filter(|world| world.hardware == hardware);
    // The default is the largest cluster that was measured.
    let largest = same.map(|world| u32::from(world.machines)).max().unwrap_or(1);
    let wanted = options.machines.or(load.machines.count).unwrap_or(largest).max(1);
    // Of equally near worlds, take the one with most lanes, the default of the measurement.
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
            "workload.toml names profile {said}, but only {0} was measured; the design is for {0}",
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
        dropped.push(other_load(&world, threads, lanes));
    }
    let said = load.machines.memory_gib.map(|gib| (gib * GIB) as u64);
    let budget = options.memory_budget.or(said);
    Ok(SelectedCluster { world, machines, threads, lanes, budget, dropped })
}

fn other_load(measured: &World, threads: u32, lanes: u32) -> String {
    format!(
        "the measurements have {} and {} on each machine; forecasts for {threads} and {lanes} assume that \
         an operation costs the same",
        many(measured.threads, "thread"),
        many(measured.lanes, "lane")
    )
}

fn other_threads(said: u32, measured: u32) -> String {
    format!(
        "workload.toml says {} on each machine, but {measured} were measured; forecasts are for {measured}",
        many(said, "thread")
    )
}

/// Reports settings that do not apply to the selected world.
fn dropped(worlds: &BTreeSet<&World>, world: &World, wanted: u32, machines: u32) -> Vec<String> {
    let mut all = Vec::new();
    if machines != wanted {
        all.push(format!(
            "workload.toml says {wanted} machines, but {} was measured on one machine; the design is for one",
            world.fabric
        ));
    }
    let same = worlds.iter().filter(|other| other.hardware == world.hardware);
    let fabrics: BTreeSet<&str> = same.map(|other| &*other.fabric).collect();
    if fabrics.len() > 1 {
        let fabrics: Vec<&str> = fabrics.into_iter().collect();
        all.push(format!(
            "{} was measured on several fabrics ({}); the tuner uses {}; to choose another one, keep its measurements in a separate file",
            world.hardware,
            fabrics.join(", "),
            world.fabric
        ));
    }
    all
}

//! The common part of figures 4 and 5a for both protocols: the machines, and the numbers that the
//! text prints [ZB17 7, 7.1].

use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Outcome, Series};

/// Machines beside the one of the vector.
const MACHINES: [u16; 7] = [2, 4, 8, 16, 28, 40, 56];
const MACHINES_QUICK: [u16; 3] = [2, 4, 8];
/// Threads of a compute server that has a machine of its own; one that shares its machine has half
/// as many [ZB17 7.1].
const THREADS: u16 = 60;
/// Warehouses of each memory server [ZB17 7].
pub(super) const WAREHOUSES: u32 = 50;
/// Million new orders per second that the text prints, without and with locality.
pub(super) const PUBLISHED: [f64; 2] = [3.64, 6.5];
/// The number of machines of those numbers.
pub(super) const PUBLISHED_MACHINES: u16 = 56;
/// The names of the two.
pub(super) const NAMES: [&str; 2] = ["without locality", "with locality"];

/// Number of memory servers, of compute servers the same, and threads of each of the latter: with
/// locality every machine has one of either, without it half of the machines have a memory server
/// and half a compute server.
pub(super) fn servers_and_threads(machines: u16, is_local: bool) -> (u16, u16) {
    match is_local {
        true => (machines, THREADS / 2),
        false => (machines / 2, THREADS),
    }
}

/// The number of sizes.
pub(super) fn count(run: &Run<'_>) -> usize {
    run.quick_or(MACHINES_QUICK.len(), MACHINES.len())
}

/// The results of `seen` for all sizes, without or with locality.
pub(super) fn all<S>(
    run: &mut Run<'_>,
    steps: &mut Steps,
    is_local: bool,
    seen: impl Fn(&Run<'_>, u16, bool) -> S,
) -> Vec<(u16, S)> {
    let sizes: &[u16] = run.quick_or(&MACHINES_QUICK, &MACHINES);
    let mut points = Vec::new();
    for &machines in sizes {
        steps.next(run, &format!("{}, {machines} machines", NAMES[usize::from(is_local)]));
        points.push((machines, seen(run, machines, is_local)));
    }
    points
}

/// A curve of the results.
pub(super) fn curve<S>(points: &[(u16, S)], name: String, value: impl Fn(&S) -> f64) -> Series {
    let points = points.iter().map(|(machines, seen)| (f64::from(*machines), value(seen)));
    Series { name, points: points.collect(), is_published: false }
}

/// The printed point of one of the two.
pub(super) fn published(is_local: bool) -> Series {
    let place = usize::from(is_local);
    Series {
        name: format!("{}, as published", NAMES[place]),
        points: vec![(f64::from(PUBLISHED_MACHINES), PUBLISHED[place])],
        is_published: true,
    }
}

/// An outcome in microseconds, without published numbers.
pub(super) fn microseconds(
    parameters: Vec<(&'static str, String)>,
    series: Vec<Series>,
    notes: Vec<String>,
) -> Outcome {
    Outcome {
        parameters,
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title: "microseconds", is_logarithmic: false },
        tables: Vec::new(),
        series,
        compared: Vec::new(),
        notes,
    }
}

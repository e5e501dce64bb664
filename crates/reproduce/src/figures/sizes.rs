//! What figures 4 and 5a have in common, whichever protocol runs: the machines, and what the text prints of them
//! [ZB17 7, 7.1].

use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Outcome, Series};

/// Machines beside the one of the vector.
const MACHINES: [u16; 7] = [2, 4, 8, 16, 28, 40, 56];
const MACHINES_QUICK: [u16; 3] = [2, 4, 8];
/// Threads of a compute server that has its machine to itself; of one that shares it, half as many [ZB17 7.1].
const THREADS: u16 = 60;
/// Warehouses of each memory server [ZB17 7].
pub(super) const WAREHOUSES: u32 = 50;
/// Millions of new orders a second that the text prints, without locality and with.
pub(super) const PUBLISHED: [f64; 2] = [3.64, 6.5];
/// The number of machines that it prints them of.
pub(super) const PUBLISHED_MACHINES: u16 = 56;
/// What the two are called.
pub(super) const NAMES: [&str; 2] = ["without locality", "with locality"];

/// Memory servers, as many compute servers, and threads of each of those: with locality every machine has one of either,
/// without it half of them have the one and half the other.
pub(super) fn servers_and_threads(machines: u16, is_local: bool) -> (u16, u16) {
    match is_local {
        true => (machines, THREADS / 2),
        false => (machines / 2, THREADS),
    }
}

/// How many sizes there are.
pub(super) fn count(run: &Run<'_>) -> usize {
    run.quick_or(MACHINES_QUICK.len(), MACHINES.len())
}

/// What `seen` says of all sizes, without locality or with.
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

/// A curve of what was seen.
pub(super) fn curve<S>(points: &[(u16, S)], name: String, value: impl Fn(&S) -> f64) -> Series {
    let points = points.iter().map(|(machines, seen)| (f64::from(*machines), value(seen)));
    Series { name, points: points.collect(), is_published: false }
}

/// The point that the text prints of one of the two.
pub(super) fn published(is_local: bool) -> Series {
    let place = usize::from(is_local);
    Series {
        name: format!("{}, as published", NAMES[place]),
        points: vec![(f64::from(PUBLISHED_MACHINES), PUBLISHED[place])],
        is_published: true,
    }
}

/// An outcome in microseconds, of which nothing is printed.
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

//! The throughput at which lanes are busy all the time: there, what lanes reach that wait as long as they then have to is what they are taken
//! to make.

use super::pace::{Cluster, Pace, Part, Seen, seen};

/// Steps in which the throughput is found, at most, and how exactly: to more digits than are told.
const STEPS_MAX: u32 = 60;
const PRECISION: f64 = 1e-9;
/// Steps from a throughput that is known to one near it, at most.
const NEAR_STEPS_MAX: u32 = 6;
/// The share by which two throughputs differ that tell a slope.
const SLOPE_MIN: f64 = 1e-6;

/// Where lanes were found to be busy all the time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Start {
    /// Calls of a machine in a nanosecond.
    rate: f64,
    /// How much more of them there are beyond those that lanes reach, for each that there is more.
    slope: f64,
}

/// The pace of calls on a cluster, and where it was found; begun with that of nearly the same calls, if it is known.
pub fn pace(parts: &[Part<'_>], cluster: &Cluster, start: Option<Start>) -> (Pace, Start) {
    let near = start.and_then(|start| near(parts, cluster, start));
    near.unwrap_or_else(|| found(parts, cluster))
}

fn found(parts: &[Part<'_>], cluster: &Cluster) -> (Pace, Start) {
    let mut reached = seen(parts, cluster, 0.0);
    // Nobody is faster than lanes that wait for nothing, nor than the stage that is full first, unless that takes less of others' calls then.
    let most = cluster.lanes / reached.cycle_ns.max(f64::MIN_POSITIVE);
    let at = |end: f64| (end, beyond(&seen(parts, cluster, end), cluster, end));
    let full = at(most.min(1.0 / reached.fullest_ns.max(f64::MIN_POSITIVE)));
    let end = if full.1 < 0.0 { at(most) } else { full };
    let (mut low, mut high, mut last) = ((0.0, -most), end, end);
    let (mut was_low, mut slope) = (None, 0.0);
    for _ in 0..STEPS_MAX {
        if high.0 - low.0 <= PRECISION * high.0 {
            break;
        }
        // Where a straight line from end to end says [the variant of false position by Anderson and Bjorck].
        let rate = ((low.0 * high.1 - high.0 * low.1) / (high.1 - low.1)).min(high.0);
        let now = seen(parts, cluster, rate);
        let at = beyond(&now, cluster, rate);
        if (rate - last.0).abs() > SLOPE_MIN * rate {
            slope = (at - last.1) / (rate - last.0);
        }
        last = (rate, at);
        let is_low = at <= 0.0;
        // An end that stays counts less the next time.
        let (moves, stays) = if is_low { (&mut low, &mut high) } else { (&mut high, &mut low) };
        if was_low == Some(is_low) {
            let left = 1.0 - at / moves.1;
            stays.1 *= if left > 0.0 { left } else { 0.5 };
        }
        (*moves, was_low) = (last, Some(is_low));
        if is_low || at <= PRECISION * rate {
            (reached, low.0) = (now, rate);
        }
        if at.abs() <= PRECISION * rate {
            break;
        }
    }
    (paced(low.0, &reached), Start { rate: low.0, slope })
}

/// The same from where it was found for nearly the same calls [the secant method], if that leads anywhere soon.
fn near(parts: &[Part<'_>], cluster: &Cluster, start: Start) -> Option<(Pace, Start)> {
    let Start { mut rate, mut slope } = start;
    let mut last: Option<(f64, f64)> = None;
    for _ in 0..NEAR_STEPS_MAX {
        let now = seen(parts, cluster, rate);
        let at = beyond_both(&now, cluster, rate);
        if let Some((was, was_at)) = last {
            slope = (at - was_at) / (rate - was);
        }
        if !slope.is_finite() || slope <= 0.0 || at / slope >= rate {
            return None;
        }
        last = Some((rate, at));
        rate -= at / slope;
        if (at / slope).abs() <= PRECISION * rate {
            return Some((paced(rate, &now), Start { rate, slope }));
        }
    }
    None
}

fn paced(rate: f64, seen: &Seen) -> Pace {
    Pace { between_ns: 1.0 / rate.max(f64::MIN_POSITIVE), ..seen.pace }
}

/// By how much more calls a machine is taken to make than its lanes do where they wait as long as they then have to, and than its fullest
/// stage can serve.
fn beyond_each(seen: &Seen, cluster: &Cluster, rate: f64) -> (f64, f64) {
    let lanes = cluster.lanes / seen.cycle_ns.max(f64::MIN_POSITIVE);
    (rate - lanes, rate - 1.0 / seen.fullest_ns.max(f64::MIN_POSITIVE))
}

/// The greater of both, which has a bend and no jump: near its zero, straight lines lead there.
fn beyond_both(seen: &Seen, cluster: &Cluster, rate: f64) -> f64 {
    let (lanes, stages) = beyond_each(seen, cluster, rate);
    lanes.max(stages)
}

/// The same, with the lanes alone where no stage is full: from far away, straight lines between the ends keep to what is steep.
fn beyond(seen: &Seen, cluster: &Cluster, rate: f64) -> f64 {
    let (lanes, stages) = beyond_each(seen, cluster, rate);
    if stages < 0.0 { lanes } else { lanes.max(stages) }
}

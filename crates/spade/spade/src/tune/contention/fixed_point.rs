//! Finds the throughput at which all lanes are busy: the fixed point at which lanes, waiting as
//! long as that throughput implies, reach exactly that throughput.

use super::throughput::{CallClass, Cluster, State, Throughput, evaluate};

/// Maximal number of steps, and relative precision: more digits than reports show.
const STEPS_MAX: u32 = 60;
const PRECISION: f64 = 1e-9;
/// Number of steps by linear interpolation. If it has not converged by then, the function has a
/// bend or jump, and every second step bisects.
const LINES_MAX: u32 = 12;
/// Maximal number of steps from a known throughput nearby.
const NEAR_STEPS_MAX: u32 = 5;
/// Minimal relative distance of two throughputs for estimating the slope.
const SLOPE_MIN: f64 = 1e-6;

/// The result of a search, as the starting point of a similar one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Start {
    /// Calls of a machine per nanosecond.
    rate: f64,
    /// Derivative of [`Sample::both`].
    slope: f64,
}

/// Finds the throughput. `start` is the result for a similar load, if known.
pub fn find(
    parts: &[CallClass<'_>],
    cluster: &Cluster,
    start: Option<Start>,
) -> (Throughput, Start) {
    let mut ends = Bracket::default();
    let near = start.and_then(|start| near(parts, cluster, start, &mut ends));
    near.unwrap_or_else(|| between(parts, cluster, ends))
}

/// A bracket of the solution: the nearest known points below and above, if any, and the evaluation
/// of the lower one.
#[derive(Default)]
struct Bracket {
    low: Option<(Sample, State)>,
    high: Option<Sample>,
}

impl Bracket {
    /// Moves an end of the bracket to an evaluated point, if that is nearer.
    fn take(&mut self, point: Sample, seen: State) {
        if point.both > 0.0 {
            self.high = self.high.filter(|high| high.rate < point.rate).or(Some(point));
        } else {
            self.low = self.low.filter(|(low, _)| low.rate > point.rate).or(Some((point, seen)));
        }
    }

    /// Completes the bracket. The lower default is 0. The upper default is the throughput without
    /// waiting or that of the bottleneck stage, whichever is lower; retries of others may allow
    /// more.
    fn both(self, parts: &[CallClass<'_>], cluster: &Cluster) -> ((Sample, State), Sample) {
        if let (Some(low), Some(high)) = (self.low, self.high) {
            return (low, high);
        }
        let none = evaluate(parts, cluster, 0.0);
        let most = cluster.lanes / none.cycle_ns.max(f64::MIN_POSITIVE);
        let at = |rate: f64| Sample::of(&evaluate(parts, cluster, rate), cluster, rate);
        let low = self.low.unwrap_or((Sample { rate: 0.0, beyond: -most, both: -most }, none));
        let high = self.high.unwrap_or_else(|| {
            let full = at(most.min(1.0 / none.fullest_ns.max(f64::MIN_POSITIVE)));
            if full.beyond < 0.0 { at(most) } else { full }
        });
        (low, high)
    }
}

/// Searches between two ends.
fn between(parts: &[CallClass<'_>], cluster: &Cluster, ends: Bracket) -> (Throughput, Start) {
    let ((mut low, mut reached), mut high) = ends.both(parts, cluster);
    let (mut last, mut was_low, mut slope) = (high, None, 0.0);
    for step in 0..STEPS_MAX {
        if high.rate - low.rate <= PRECISION * high.rate {
            break;
        }
        let rate = if step > LINES_MAX && step % 2 == 0 {
            was_low = None;
            (low.rate + high.rate) / 2.0
        } else {
            // Interpolate linearly between the ends [variant of the false position method by
            // Anderson and Bjorck].
            let rise = high.beyond - low.beyond;
            ((low.rate * high.beyond - high.rate * low.beyond) / rise).min(high.rate)
        };
        let now = evaluate(parts, cluster, rate);
        let next = Sample::of(&now, cluster, rate);
        if (rate - last.rate).abs() > SLOPE_MIN * rate {
            slope = (next.both - last.both) / (rate - last.rate);
        }
        last = next;
        let is_low = next.beyond <= 0.0;
        // Reduce the weight of an end that did not move.
        let (moves, stays) = if is_low { (&mut low, &mut high) } else { (&mut high, &mut low) };
        if was_low == Some(is_low) {
            let left = 1.0 - next.beyond / moves.beyond;
            stays.beyond *= if left > 0.0 { left } else { 0.5 };
        }
        (*moves, was_low) = (next, Some(is_low));
        if is_low || next.beyond <= PRECISION * rate {
            (reached, low.rate) = (now, rate);
        }
        if next.beyond.abs() <= PRECISION * rate {
            break;
        }
    }
    (at_rate(low.rate, &reached), Start { rate: low.rate, slope })
}

/// Searches from the result for a similar load [secant method]. `None` if that does not converge
/// soon; evaluated points then narrow the bracket.
fn near(
    parts: &[CallClass<'_>],
    cluster: &Cluster,
    start: Start,
    ends: &mut Bracket,
) -> Option<(Throughput, Start)> {
    let Start { mut rate, mut slope } = start;
    let mut last: Option<Sample> = None;
    for _ in 0..NEAR_STEPS_MAX {
        let now = evaluate(parts, cluster, rate);
        let point = Sample::of(&now, cluster, rate);
        ends.take(point, now);
        if let Some(last) = last {
            slope = (point.both - last.both) / (rate - last.rate);
        }
        let step = point.both / slope;
        if !slope.is_finite() || slope <= 0.0 || step >= rate {
            return None;
        }
        last = Some(point);
        rate -= step;
        if step.abs() <= PRECISION * rate {
            return Some((at_rate(rate, &now), Start { rate, slope }));
        }
    }
    None
}

fn at_rate(rate: f64, seen: &State) -> Throughput {
    Throughput { between_ns: 1.0 / rate.max(f64::MIN_POSITIVE), ..seen.throughput }
}

/// A throughput, and by how much it exceeds what the cluster reaches with the waits that it
/// implies.
#[derive(Clone, Copy)]
struct Sample {
    rate: f64,
    /// Excess over what lanes reach if no stage is overloaded, otherwise over what lanes and the
    /// bottleneck allow. Far from the solution, this keeps interpolation on the steep part.
    beyond: f64,
    /// Excess over what lanes and the bottleneck allow. It has a bend but no jump, so that
    /// interpolation converges near its zero.
    both: f64,
}

impl Sample {
    fn of(seen: &State, cluster: &Cluster, rate: f64) -> Self {
        let lanes = rate - cluster.lanes / seen.cycle_ns.max(f64::MIN_POSITIVE);
        let stages = rate - 1.0 / seen.fullest_ns.max(f64::MIN_POSITIVE);
        let both = lanes.max(stages);
        Self { rate, beyond: if stages < 0.0 { lanes } else { both }, both }
    }
}

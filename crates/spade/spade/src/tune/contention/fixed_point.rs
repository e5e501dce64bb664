//! The throughput at which lanes are busy all the time: there, what lanes reach that wait as long as they then have to is what they are taken
//! to make.

use super::throughput::{Cluster, Pace, Part, Seen, seen};

/// Steps in which the throughput is found, at most, and how exactly: to more digits than are told.
const STEPS_MAX: u32 = 60;
const PRECISION: f64 = 1e-9;
/// Steps along lines alone. Who has not come near by then is at a bend or a jump, where these lead slowly: then every second step goes to the
/// middle.
const LINES_MAX: u32 = 12;
/// Steps from a throughput that is known to one near it, at most.
const NEAR_STEPS_MAX: u32 = 5;
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
    let mut ends = Ends::default();
    let near = start.and_then(|start| near(parts, cluster, start, &mut ends));
    near.unwrap_or_else(|| between(parts, cluster, ends))
}

/// Throughputs below and above the one that is sought, as far as any are known, with what was seen at the one below.
#[derive(Default)]
struct Ends {
    low: Option<(Point, Seen)>,
    high: Option<Point>,
}

impl Ends {
    /// Takes a throughput that has been looked at for an end, if it is nearer.
    fn take(&mut self, point: Point, seen: Seen) {
        if point.both > 0.0 {
            self.high = self.high.filter(|high| high.rate < point.rate).or(Some(point));
        } else {
            self.low = self.low.filter(|(low, _)| low.rate > point.rate).or(Some((point, seen)));
        }
    }

    /// Both: where one is not known, nobody is slower than nothing, nor faster than lanes that wait for nothing, nor than the stage that is full
    /// first, unless that takes less of others' calls then.
    fn both(self, parts: &[Part<'_>], cluster: &Cluster) -> ((Point, Seen), Point) {
        if let (Some(low), Some(high)) = (self.low, self.high) {
            return (low, high);
        }
        let none = seen(parts, cluster, 0.0);
        let most = cluster.lanes / none.cycle_ns.max(f64::MIN_POSITIVE);
        let at = |rate: f64| Point::of(&seen(parts, cluster, rate), cluster, rate);
        let low = self.low.unwrap_or((Point { rate: 0.0, beyond: -most, both: -most }, none));
        let high = self.high.unwrap_or_else(|| {
            let full = at(most.min(1.0 / none.fullest_ns.max(f64::MIN_POSITIVE)));
            if full.beyond < 0.0 { at(most) } else { full }
        });
        (low, high)
    }
}

/// Where it is between two ends.
fn between(parts: &[Part<'_>], cluster: &Cluster, ends: Ends) -> (Pace, Start) {
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
            // Where a straight line from end to end says [the variant of false position by Anderson and Bjorck].
            let rise = high.beyond - low.beyond;
            ((low.rate * high.beyond - high.rate * low.beyond) / rise).min(high.rate)
        };
        let now = seen(parts, cluster, rate);
        let next = Point::of(&now, cluster, rate);
        if (rate - last.rate).abs() > SLOPE_MIN * rate {
            slope = (next.both - last.both) / (rate - last.rate);
        }
        last = next;
        let is_low = next.beyond <= 0.0;
        // An end that stays counts less the next time.
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
    (paced(low.rate, &reached), Start { rate: low.rate, slope })
}

/// The same from where it was found for nearly the same calls [the secant method], if that leads there soon; what was looked at
/// are ends.
fn near(
    parts: &[Part<'_>],
    cluster: &Cluster,
    start: Start,
    ends: &mut Ends,
) -> Option<(Pace, Start)> {
    let Start { mut rate, mut slope } = start;
    let mut last: Option<Point> = None;
    for _ in 0..NEAR_STEPS_MAX {
        let now = seen(parts, cluster, rate);
        let point = Point::of(&now, cluster, rate);
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
            return Some((paced(rate, &now), Start { rate, slope }));
        }
    }
    None
}

fn paced(rate: f64, seen: &Seen) -> Pace {
    Pace { between_ns: 1.0 / rate.max(f64::MIN_POSITIVE), ..seen.pace }
}

/// A throughput, and by how much more calls that is than what is reached where lanes wait as long as they then have to.
#[derive(Clone, Copy)]
struct Point {
    rate: f64,
    /// Than lanes make, where no stage is full; else than both lanes and the fullest stage allow. From far away, straight lines between the
    /// ends keep to what is steep.
    beyond: f64,
    /// Than both allow. This has a bend, and no jump: near its zero, straight lines lead there.
    both: f64,
}

impl Point {
    fn of(seen: &Seen, cluster: &Cluster, rate: f64) -> Self {
        let lanes = rate - cluster.lanes / seen.cycle_ns.max(f64::MIN_POSITIVE);
        let stages = rate - 1.0 / seen.fullest_ns.max(f64::MIN_POSITIVE);
        let both = lanes.max(stages);
        Self { rate, beyond: if stages < 0.0 { lanes } else { both }, both }
    }
}

//! How far a forecast may be off because repetitions of the measurements were apart.
//!
//! Each measured point that a forecast goes by is taken to be off by as much as its repetitions were from their median, one point at a
//! time, and the forecast is made anew, from where it was. What several points change adds up in quadrature, since repetitions of one know nothing
//! of those of another. What one point changes wherever it is used adds up as it stands, and so does what cancels out where it is subtracted again.
//!
//! Decision: docs/decisions/0234-an-interval-shows-how-far-one-wrong-point-moves-a-forecast.md

use crate::measurement::rounded;
use crate::tune::cost::memo::Lines;
use crate::tune::model::{Model, Plan};
use crate::tune::report::tuning::Interval;

/// Figures with their intervals: least, middle, most of each. `figures` gives as many of every model.
pub fn intervals(model: &Model<'_>, figures: &dyn Fn(&Model<'_>) -> Vec<f64>) -> Vec<[f64; 3]> {
    let (middle, lines) = model.surface.recorded(|| figures(model));
    let mut squares = vec![0.0; middle.len()];
    for sway in model.surface.sways(&lines) {
        let surface = model.surface.swayed(sway);
        let off = figures(&model.swayed(&surface, sway));
        for (square, (off, middle)) in squares.iter_mut().zip(off.iter().zip(&middle)) {
            *square += (off - middle) * (off - middle);
        }
    }
    middle.into_iter().zip(squares).map(|(middle, square)| ends(middle, square)).collect()
}

/// Least, middle and most of a figure, by the sum of the squares of what points change.
fn ends(middle: f64, square: f64) -> [f64; 3] {
    let by = libm::sqrt(square);
    [(middle - by).max(0.0), middle, middle + by]
}

/// What the workload does with a plan, each with its interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Around {
    /// Transactions of the whole cluster per second.
    pub transactions_per_s: [f64; 3],
    /// Latency of a call in microseconds.
    pub latency_us: [f64; 3],
}

impl Around {
    /// The ends of both.
    pub fn interval(&self) -> Interval {
        let ends = |of: [f64; 3]| [rounded(of[0]), rounded(of[2])];
        Interval {
            transactions_per_s: ends(self.transactions_per_s),
            latency_us: ends(self.latency_us),
        }
    }
}

/// The intervals of several plans that are nearly alike. A point that a plan goes by together with the first one changes it by the same share as
/// that one; what only the plan itself goes by is found for it.
pub fn around(model: &Model<'_>, plans: &[&Plan]) -> Vec<Around> {
    let figures = |model: &Model<'_>, plan: &Plan| {
        let load = model.workload(plan).unwrap_or_default();
        [model.throughput(&load), load.cost.latency_ns / 1e3]
    };
    let found = plans.iter().map(|plan| model.surface.recorded(|| figures(model, plan)));
    let found: Vec<([f64; 2], Lines)> = found.collect();
    let Some((first, first_lines)) = found.first() else { return Vec::new() };
    let mut all = Lines::default();
    found.iter().for_each(|(_, lines)| all.put_all(lines));
    let mut squares = vec![[0.0; 2]; plans.len()];
    for sway in model.surface.sways(&all) {
        let surface = model.surface.swayed(sway);
        let off = model.swayed(&surface, sway);
        let goes_by = |lines: &Lines| sway.line().is_none_or(|line| lines.has(line));
        let shares = goes_by(first_lines).then(|| {
            let changed = figures(&off, plans[0]);
            [0, 1].map(|of| changed[of] / first[of].max(f64::MIN_POSITIVE) - 1.0)
        });
        for (at, (middle, _)) in found.iter().enumerate().filter(|(_, of)| goes_by(&of.1)) {
            let change = match shares {
                Some(shares) => [0, 1].map(|of| middle[of] * shares[of]),
                None => {
                    let changed = figures(&off, plans[at]);
                    [0, 1].map(|of| changed[of] - middle[of])
                }
            };
            squares[at].iter_mut().zip(change).for_each(|(square, by)| *square += by * by);
        }
    }
    let each = found.iter().zip(&squares).map(|((middle, _), squares)| Around {
        transactions_per_s: ends(middle[0], squares[0]),
        latency_us: ends(middle[1], squares[1]),
    });
    each.collect()
}

//! The interval of a forecast that follows from measurement noise.
//!
//! Each measured point on which a forecast depends is perturbed by its noise, one at a time, and
//! the forecast is computed again. Effects of different points are added in quadrature, since their
//! noise is independent. Within a forecast, the effects of one point add up or cancel out.
//!
//! Decision: docs/decisions/0234-an-interval-shows-how-far-one-wrong-point-moves-a-forecast.md

use crate::measurement::rounded;
use crate::tune::cost::memo::Lines;
use crate::tune::model::{Model, Plan};
use crate::tune::report::tuning::Interval;

/// Intervals of figures: minimum, expected value, maximum. `figures` returns the same number of
/// figures for every model.
pub fn intervals(model: &Model<'_>, figures: &dyn Fn(&Model<'_>) -> Vec<f64>) -> Vec<[f64; 3]> {
    let (middle, lines) = model.surface.recorded(|| figures(model));
    let mut squares = vec![0.0; middle.len()];
    for perturbation in model.surface.perturbations(&lines) {
        let surface = model.surface.perturbed(perturbation);
        let off = figures(&model.perturbed(&surface, perturbation));
        for (square, (off, middle)) in squares.iter_mut().zip(off.iter().zip(&middle)) {
            *square += (off - middle) * (off - middle);
        }
    }
    middle.into_iter().zip(squares).map(|(middle, square)| ends(middle, square)).collect()
}

/// The interval of a figure; `square` is the sum of the squared effects.
fn ends(middle: f64, square: f64) -> [f64; 3] {
    let by = libm::sqrt(square);
    [(middle - by).max(0.0), middle, middle + by]
}

/// Throughput and latency of a plan with intervals.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Intervals {
    /// Transactions per second of the whole cluster.
    pub transactions_per_s: [f64; 3],
    /// Latency of a call in microseconds.
    pub latency_us: [f64; 3],
}

impl Intervals {
    pub fn interval(&self) -> Interval {
        let ends = |of: [f64; 3]| [rounded(of[0]), rounded(of[2])];
        Interval {
            transactions_per_s: ends(self.transactions_per_s),
            latency_us: ends(self.latency_us),
        }
    }
}

/// Intervals of several similar plans. A point on which the first plan also depends is assumed to
/// change another plan by the same share; effects of other points are computed for the plan itself.
pub fn around(model: &Model<'_>, plans: &[&Plan]) -> Vec<Intervals> {
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
    for perturbation in model.surface.perturbations(&all) {
        let surface = model.surface.perturbed(perturbation);
        let off = model.perturbed(&surface, perturbation);
        let goes_by = |lines: &Lines| perturbation.line().is_none_or(|line| lines.has(line));
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
    let each = found.iter().zip(&squares).map(|((middle, _), squares)| Intervals {
        transactions_per_s: ends(middle[0], squares[0]),
        latency_us: ends(middle[1], squares[1]),
    });
    each.collect()
}

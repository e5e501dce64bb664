//! How far a forecast may be off because repetitions of the measurements were apart.
//!
//! Each measured point that a forecast goes by is taken to be off by as much as its repetitions were from their median, one point at a
//! time, and the forecast is made anew, from where it was. What several points change adds up in quadrature, since repetitions of one know nothing
//! of those of another. What one point changes wherever it is used adds up as it stands, and so does what cancels out where it is subtracted again.

use super::model::{Model, Plan};
use super::report::Interval;
use crate::measurement::rounded;

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
    let around = |(middle, square): (f64, f64)| {
        let by = libm::sqrt(square);
        [(middle - by).max(0.0), middle, middle + by]
    };
    middle.into_iter().zip(squares).map(around).collect()
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

/// The intervals of several plans, which are found together: most of what a point changes they have in common.
pub fn around(model: &Model<'_>, plans: &[&Plan]) -> Vec<Around> {
    let figures = |model: &Model<'_>| {
        let of = |plan: &&Plan| {
            let load = model.workload(plan).unwrap_or_default();
            [model.throughput(&load), load.cost.latency_ns / 1e3]
        };
        plans.iter().flat_map(of).collect()
    };
    let pair = |pair: &[[f64; 3]]| Around { transactions_per_s: pair[0], latency_us: pair[1] };
    intervals(model, &figures).chunks(2).map(pair).collect()
}

//! All designs of a workload on a cluster, with forecasts and measurements: regret, what screening
//! may have missed, and errors of forecasts.

use super::cell::{Candidate, Cell};
use super::kept::Rate;
use std::collections::BTreeMap;

/// Two designs differ if their measurements differ by more than this share.
pub(crate) const DIFFERS: f64 = 0.05;
/// A screened design is ruled out if being the best would need a deviation from screening of more
/// than this many standard deviations.
pub(crate) const DEVIATIONS: f64 = 3.0;

/// All designs of a workload on a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Swept {
    /// Workload and hardware.
    pub name: String,
    /// The designs with their forecasts, the tuner's first.
    pub candidates: Vec<Candidate>,
    /// The indexes of designs that were measured in full independently of screening.
    pub spread: Vec<usize>,
    /// Calls per second of each design by screening.
    pub screened: Vec<f64>,
    /// The full measurements, by design and seed.
    pub full: BTreeMap<usize, Vec<Rate>>,
    /// The measurements of the last round, with further seeds.
    pub last: BTreeMap<usize, Vec<Rate>>,
}

/// The calibration of screening.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screening {
    /// The ratio of screening to full measurements.
    pub scale: f64,
    /// The standard deviation of that ratio between designs, as a share.
    pub noise: f64,
}

impl Swept {
    /// A cell whose designs were screened, and some of them measured in full.
    pub fn new(
        cell: &Cell,
        spread: Vec<usize>,
        screened: BTreeMap<usize, Vec<Rate>>,
        full: BTreeMap<usize, Vec<Rate>>,
    ) -> Self {
        let screened = screened.values().map(|rates| mean_rate(rates)).collect();
        let candidates = cell.candidates.clone();
        Self { name: cell.name(), candidates, spread, screened, full, last: BTreeMap::new() }
    }

    /// Calibrates screening with the full measurements of designs that were not selected by
    /// screening.
    pub fn screening(&self) -> Screening {
        let ratio = |design: &usize| self.screened[*design] / mean_rate(&self.full[design]);
        let ratios: Vec<f64> = self.spread.iter().map(ratio).collect();
        let scale = mean(&ratios);
        let squares: f64 =
            ratios.iter().map(|ratio| (ratio / scale - 1.0) * (ratio / scale - 1.0)).sum();
        let freedom = (ratios.len() as f64 - 1.0).max(1.0);
        Screening { scale, noise: (squares / freedom).sqrt() }
    }

    /// The highest plausible rate of a screened design, in calls per second.
    fn at_most(&self, design: usize, screening: Screening) -> f64 {
        self.screened[design] / screening.scale * (1.0 + DEVIATIONS * screening.noise)
    }

    /// The best full measurement, in calls per second.
    fn best_in_full(&self) -> f64 {
        self.full.values().map(|rates| mean_rate(rates)).fold(0.0, f64::max)
    }

    /// Designs that were not measured in full and, by screening, may be better than the best of
    /// those that were.
    fn open(&self) -> Vec<usize> {
        let (screening, best) = (self.screening(), self.best_in_full());
        let is_open = |design: &usize| {
            !self.full.contains_key(design) && self.at_most(*design, screening) > best
        };
        let mut open: Vec<usize> = (0..self.candidates.len()).filter(is_open).collect();
        open.sort_by(|one, other| self.screened[*other].total_cmp(&self.screened[*one]));
        open
    }

    /// The first of those, by screening.
    pub fn near(&self, most: usize) -> Vec<usize> {
        let mut near = self.open();
        near.truncate(most);
        near
    }

    /// The number of designs that were left out although they may be the best, and their largest
    /// possible advantage, as a share of the best.
    pub fn left_out(&self) -> (usize, f64) {
        let (open, screening) = (self.open(), self.screening());
        let most = open.first().map(|design| self.at_most(*design, screening));
        (open.len(), most.map_or(0.0, |most| most / self.best_in_full() - 1.0))
    }

    /// The tuner's design, and the `most` best of the others by full measurements.
    pub fn top(&self, most: usize) -> Vec<usize> {
        let mut others: Vec<(usize, f64)> =
            self.full.iter().map(|(at, of)| (*at, mean_rate(of))).collect();
        others.retain(|(at, _)| *at != 0);
        others.sort_by(|one, other| other.1.total_cmp(&one.1));
        std::iter::once(0).chain(others.into_iter().map(|(at, _)| at).take(most)).collect()
    }

    /// The result of a design in the last round.
    pub fn at_last(&self, design: usize) -> f64 {
        mean_rate(&self.last[&design])
    }

    /// The design with the best throughput in the last round; the tuner's if none is better.
    pub fn best(&self) -> usize {
        let better = |one: usize, other: usize| match self.at_last(other) > self.at_last(one) {
            true => other,
            false => one,
        };
        self.last.keys().copied().fold(0, better)
    }

    /// The throughput that the tuner's design lacks, as a share of the best one's.
    pub fn regret(&self) -> f64 {
        1.0 - self.at_last(0) / self.at_last(self.best())
    }

    /// The standard error of the difference of two designs in the last round, as a share. Equal
    /// seeds have equal calls and data, so differences are computed seed by seed.
    pub fn regret_noise(&self) -> f64 {
        let (mut squares, mut freedom, mut seeds) = (0.0, 0.0, 1.0_f64);
        for rates in self.last.iter().filter(|(at, _)| **at != 0).map(|(_, rates)| rates) {
            let ratios =
                rates.iter().zip(&self.last[&0]).map(|(own, tuned)| own.per_s / tuned.per_s);
            let ratios: Vec<f64> = ratios.collect();
            let mean = mean(&ratios);
            squares += ratios.iter().map(|ratio| (ratio - mean) * (ratio - mean)).sum::<f64>();
            freedom += ratios.len() as f64 - 1.0;
            seeds = ratios.len() as f64;
        }
        if freedom > 0.0 { (squares / freedom / seeds).sqrt() } else { 0.0 }
    }

    /// The largest difference between seeds of a design that was measured in full independently of
    /// screening, as a share of its mean.
    pub fn seeds_differ(&self) -> f64 {
        let apart = |design: &usize| {
            let rates = self.full[design].iter().map(|rate| rate.per_s);
            let (least, most) = (rates.clone().fold(f64::MAX, f64::min), rates.fold(0.0, f64::max));
            (most - least) / mean_rate(&self.full[design])
        };
        self.spread.iter().map(apart).fold(0.0, f64::max)
    }

    /// Forecast and measurement of each design that was measured in full independently of
    /// screening.
    pub fn in_full(&self) -> Vec<(f64, f64)> {
        let of = |at: &usize| (self.candidates[*at].forecast_per_s, mean_rate(&self.full[at]));
        self.spread.iter().map(of).collect()
    }

    /// The same for all designs, by screening.
    pub fn by_screening(&self) -> Vec<(f64, f64)> {
        let scale = self.screening().scale;
        let pairs = self.candidates.iter().zip(&self.screened);
        pairs.map(|(of, screened)| (of.forecast_per_s, screened / scale)).collect()
    }
}

/// The error of each forecast, as a share of the measurement.
pub(crate) fn errors(points: &[(f64, f64)]) -> Vec<f64> {
    points.iter().map(|(forecast, measured)| (forecast / measured - 1.0).abs()).collect()
}

/// The number of pairs that are forecast in the right order, and of all pairs whose measurements
/// differ.
pub(crate) fn pairs(points: &[(f64, f64)]) -> (usize, usize) {
    let (mut right, mut all) = (0, 0);
    for (at, one) in points.iter().enumerate() {
        for other in &points[at + 1..] {
            let (less, more) = if one.1 < other.1 { (one, other) } else { (other, one) };
            if more.1 > less.1 * (1.0 + DIFFERS) {
                all += 1;
                right += usize::from(more.0 > less.0);
            }
        }
    }
    (right, all)
}

/// The mean over seeds, in calls per second.
pub(crate) fn mean_rate(rates: &[Rate]) -> f64 {
    mean(&rates.iter().map(|rate| rate.per_s).collect::<Vec<_>>())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The median; of an even number of values the higher one of the middle two.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spade::design::Design;

    fn rates(per_s: &[f64]) -> Vec<Rate> {
        let rate =
            |per_s: &f64| Rate { per_s: *per_s, retries_percent: 0.0, busiest: String::new() };
        per_s.iter().map(rate).collect()
    }

    fn swept(screened: &[f64]) -> Swept {
        let design = Design::new(String::new(), Vec::new(), Vec::new());
        let name = String::new();
        let candidate = Candidate { name, design, forecast_per_s: 1.0, bottleneck: "lanes" };
        Swept {
            name: String::new(),
            candidates: vec![candidate; screened.len()],
            spread: Vec::new(),
            screened: screened.to_vec(),
            full: BTreeMap::new(),
            last: BTreeMap::new(),
        }
    }

    #[test]
    fn errors_and_order_of_forecasts_are_counted() {
        let points = [(9.0, 9.0), (8.0, 10.0), (4.0, 5.0), (5.0, 5.1)];
        assert!((median(&errors(&points)) - 0.2).abs() < 1e-12);
        // 9 against 10 is forecast in the wrong order; 5 and 5.1 do not differ.
        assert_eq!(pairs(&points), (4, 5));
    }

    #[test]
    fn candidates_for_the_best_are_measured_in_full() {
        // Screening shows half of it, and deviates by 2 % where it can be compared.
        let mut swept = swept(&[49.0, 40.8, 48.0, 51.0, 46.0, 20.0, 50.0]);
        swept.spread = vec![0, 1];
        swept.full = BTreeMap::from([(0, rates(&[99.0, 101.0])), (1, rates(&[80.0]))]);
        let screening = swept.screening();
        assert!((screening.scale - 0.5).abs() < 1e-12, "{screening:?}");
        assert!((screening.noise - 0.0283).abs() < 1e-3, "{screening:?}");
        // Within 8.5 % of 100, the best first.
        assert_eq!(swept.near(9), [3, 6, 2]);
        assert_eq!(swept.near(1), [3]);
        let (count, most) = swept.left_out();
        assert!(count == 3 && (most - (1.02 * 1.0849 - 1.0)).abs() < 1e-3, "{most}");
        swept.full.extend([(3, rates(&[103.0])), (6, rates(&[101.0])), (2, rates(&[95.0]))]);
        assert_eq!(swept.left_out(), (0, 0.0), "46 is ruled out by now");
        assert_eq!(swept.top(2), [0, 3, 6]);
    }

    #[test]
    fn regret_is_what_further_seeds_say_and_its_noise_is_that_of_differences() {
        let mut swept = swept(&[1.0; 3]);
        // Seeds differ by a tenth, designs with the same seed by 1 to 3 %.
        swept.last = BTreeMap::from([
            (0, rates(&[90.0, 100.0])),
            (1, rates(&[91.8, 101.0])),
            (2, rates(&[92.7, 101.0])),
        ]);
        assert_eq!(swept.best(), 2);
        assert!((swept.regret() - (1.0 - 190.0 / 193.7)).abs() < 1e-12, "{}", swept.regret());
        // Ratios 1.02 and 1.01, 1.03 and 1.01.
        let squares = 2.0 * 0.005_f64.powi(2) + 2.0 * 0.01_f64.powi(2);
        assert!((swept.regret_noise() - (squares / 2.0 / 2.0).sqrt()).abs() < 1e-9);
        swept.last.retain(|at, _| *at == 0);
        assert_eq!((swept.best(), swept.regret(), swept.regret_noise()), (0, 0.0, 0.0));
    }
}

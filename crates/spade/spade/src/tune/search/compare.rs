//! Compares designs.
//!
//! ```text
//! 1  drop designs that another one beats: not worse in throughput, latency and memory, and better
//!    in one of them
//! 2  keep those whose throughput or latency is the best within `RESOLUTION`
//! 3  of these, keep those with the smallest sum of stage demands within `RESOLUTION`
//! 4  of these, keep those with the least memory within `RESOLUTION`
//! 5  of these, take the smallest stage demands, then the least memory, then the current design
//! ```
//! Figures are rounded as in reports before they are compared.
//!
//! Decision: docs/decisions/0254-designs-within-half-a-percent-of-the-fastest-are-equally.md

/// Forecasts within this relative distance count as equal. A slower call conflicts with fewer
/// others, so that small differences may have either sign; most measurement intervals are wider.
pub const RESOLUTION: f64 = 0.005;
/// Sums of stage demands within this relative distance are equal.
pub const STEP_MIN: f64 = 1e-9;
/// Weight of the sum of stage demands in a score.
const REST_WEIGHT: f64 = 1e-3;

/// The figures of a design.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figures {
    /// The objective, smaller is better: time between calls, or latency.
    pub first: f64,
    /// Sum of all stage demands.
    pub rest: f64,
    /// Calls or operations per second.
    pub rate: f64,
    pub latency_us: f64,
    pub bytes_each: u64,
}

impl Figures {
    /// One figure for ordering designs, smaller is better.
    pub fn score(&self) -> f64 {
        self.first + REST_WEIGHT * self.rest
    }

    /// Whether this design is worse in no figure and better in one.
    pub fn beats(&self, other: &Self) -> bool {
        let is_no_worse = self.rate >= other.rate
            && self.latency_us <= other.latency_us
            && self.bytes_each <= other.bytes_each;
        is_no_worse && !self.is_alike(other)
    }

    /// Whether all reported figures are equal.
    pub fn is_alike(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.rate, one.latency_us, one.bytes_each);
        of(self) == of(other)
    }
}

/// Positions of the designs that no other one beats.
pub fn unbeaten(all: &[Figures]) -> Vec<usize> {
    let is_beaten = |one: &Figures| all.iter().any(|other| other.beats(one));
    (0..all.len()).filter(|at| !is_beaten(&all[*at])).collect()
}

/// The position of the best design. `enough` maps the best objective to the limit up to which
/// others count as equal.
pub fn best(all: &[Figures], enough: impl FnOnce(f64) -> f64) -> Option<usize> {
    let mut left = unbeaten(all);
    let least = |left: &[usize], of: fn(&Figures) -> f64| {
        left.iter().map(|at| of(&all[*at])).fold(f64::INFINITY, f64::min)
    };
    let enough = enough(least(&left, |of| of.first));
    left.retain(|at| all[*at].first <= enough);
    let frugal = least(&left, |of| of.rest);
    left.retain(|at| all[*at].rest <= frugal + RESOLUTION * frugal.abs());
    let small = left.iter().map(|at| all[*at].bytes_each).min().unwrap_or_default();
    left.retain(|at| all[*at].bytes_each as f64 <= small as f64 * (1.0 + RESOLUTION));
    left.into_iter().reduce(|best, other| {
        let (own, new) = (&all[best], &all[other]);
        let step = STEP_MIN * own.rest.abs();
        let is_smaller = new.rest <= own.rest && new.bytes_each < own.bytes_each;
        if new.rest < own.rest - step || is_smaller { other } else { best }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Figures =
        Figures { first: 100.0, rest: 1_000.0, rate: 10.0, latency_us: 5.0, bytes_each: 64 };

    fn best_of(all: &[Figures]) -> Option<usize> {
        best(all, |fastest| fastest * (1.0 + RESOLUTION))
    }

    #[test]
    fn a_design_beats_another_if_it_is_better_in_one_figure_and_worse_in_none() {
        for better in [
            Figures { rate: 10.1, ..OWN },
            Figures { latency_us: 4.9, ..OWN },
            Figures { bytes_each: 63, ..OWN },
        ] {
            assert!(better.beats(&OWN) && !OWN.beats(&better));
        }
        let other = Figures { rate: 10.1, bytes_each: 65, ..OWN };
        assert!(!other.beats(&OWN) && !OWN.beats(&other) && !OWN.beats(&OWN));
        // A smaller sum of stage demands does not compensate for latency.
        let frugal = Figures { rest: 900.0, latency_us: 5.1, ..OWN };
        assert_eq!(best_of(&[frugal, OWN]), Some(1));
    }

    #[test]
    fn memory_decides_before_stages_that_differ_by_little() {
        const KIB: u64 = 1024;
        let own = Figures { bytes_each: 1_000 * KIB, ..OWN };
        let smaller = Figures { rest: 1_004.0, rate: 9.99, bytes_each: 990 * KIB, ..OWN };
        assert_eq!(best_of(&[own, smaller]), Some(1));
        let hardly = Figures { bytes_each: 996 * KIB, ..smaller };
        assert_eq!(best_of(&[own, hardly]), Some(0), "which is less than half a percent");
        let dear = Figures { rest: 1_006.0, ..smaller };
        assert_eq!(best_of(&[own, dear]), Some(0));
        let slow = Figures { first: 100.6, ..smaller };
        assert_eq!(best_of(&[own, slow]), Some(0));
        // Of equal designs, take the first.
        assert_eq!(best_of(&[own, own]), Some(0));
        assert_eq!(best_of(&[]), None);
    }
}

//! Which of several designs is better.
//!
//! ```text
//! 1  none is taken that another one beats: not worse in throughput, latency and memory, and better in one of them
//! 2  as fast as the fastest, or as soon as the soonest, but for what forecasts cannot tell apart
//! 3  of these those that take least of all stages together, but for as little
//! 4  of these those that take least memory of all that a machine needs, likewise
//! 5  of these that which takes least of all stages, of equals that which takes least memory, and then the one that there was before
//! ```
//! Figures are compared as they are told: with as many digits as a report has.
//!
//! Decision: docs/decisions/0254-designs-within-half-a-percent-of-the-fastest-are-equally.md

/// The share by which forecasts of equally fast designs may differ. Waits depend on each other: what makes a call slower lets it meet fewer others, so
/// that forecasts differ by a little which way ever; the interval of most measurements is wider.
pub const RESOLUTION: f64 = 0.005;
/// Of all stages together, differences below this share are none.
pub const STEP_MIN: f64 = 1e-9;
/// What all stages together count where designs are put in a row.
const REST_WEIGHT: f64 = 1e-3;

/// What designs are compared by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figures {
    /// What is wanted: time between two calls, or latency. The smaller, the better.
    pub first: f64,
    /// All stages together.
    pub rest: f64,
    /// Calls or operations per second.
    pub rate: f64,
    /// Latency in microseconds.
    pub latency_us: f64,
    /// Bytes on each machine.
    pub bytes_each: u64,
}

impl Figures {
    /// The smaller, the better, in one figure.
    pub fn score(&self) -> f64 {
        self.first + REST_WEIGHT * self.rest
    }

    /// Whether this one is worse in nothing, and better in something.
    pub fn beats(&self, other: &Self) -> bool {
        let is_no_worse = self.rate >= other.rate
            && self.latency_us <= other.latency_us
            && self.bytes_each <= other.bytes_each;
        is_no_worse && !self.is_alike(other)
    }

    /// Whether nothing that is told makes a difference.
    pub fn is_alike(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.rate, one.latency_us, one.bytes_each);
        of(self) == of(other)
    }
}

/// Of several designs those that no other one beats, by position.
pub fn unbeaten(all: &[Figures]) -> Vec<usize> {
    let is_beaten = |one: &Figures| all.iter().any(|other| other.beats(one));
    (0..all.len()).filter(|at| !is_beaten(&all[*at])).collect()
}

/// The position of the best; `enough` tells from what the fastest of them reaches up to where others are as fast.
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
    fn who_is_worse_in_nothing_and_better_in_one_thing_beats() {
        for better in [
            Figures { rate: 10.1, ..OWN },
            Figures { latency_us: 4.9, ..OWN },
            Figures { bytes_each: 63, ..OWN },
        ] {
            assert!(better.beats(&OWN) && !OWN.beats(&better));
        }
        let other = Figures { rate: 10.1, bytes_each: 65, ..OWN };
        assert!(!other.beats(&OWN) && !OWN.beats(&other) && !OWN.beats(&OWN));
        // Stages alone do not make up for it.
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
        // Of equals the first.
        assert_eq!(best_of(&[own, own]), Some(0));
        assert_eq!(best_of(&[]), None);
    }
}

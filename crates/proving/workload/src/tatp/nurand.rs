//! The skew of TATP: the choice of subscribers.

use crate::random::Random;

/// Number of draws that estimate how often two of them agree.
const SAMPLE: usize = 1 << 16;
/// The seed of those draws, which are the same in every run.
const SAMPLE_SEED: u64 = 29;

/// Numbers of subscribers, drawn as ((random(0, A) | random(1, P)) mod P) + 1 [TATP].
#[derive(Clone, Copy, Debug)]
pub struct Subscribers {
    count: u64,
    /// A, one less than a power of two.
    mask: u64,
}

impl Subscribers {
    pub fn new(count: u32) -> Self {
        let mask = match count {
            0..=1_000_000 => 65_535,
            1_000_001..=10_000_000 => 1_048_575,
            _ => 2_097_151,
        };
        Self { count: u64::from(count), mask }
    }

    #[inline]
    pub fn draw(&self, random: &mut Random) -> i32 {
        let word = random.word();
        // A is one less than a power of two, so its low bits are as good as a draw of their own;
        // the draw from 1 to P takes the upper half.
        let any = 1 + (((word >> 32) * self.count) >> 32);
        let mut drawn = (word & self.mask) | any;
        if drawn >= self.count {
            drawn %= self.count;
        }
        drawn as i32 + 1
    }

    /// The probability that two draws are the same subscriber: one in P without skew. It determines
    /// the randomness that remains in results about subscribers after any number of draws.
    pub fn agreement(&self) -> f64 {
        let mut random = Random::new(SAMPLE_SEED);
        let mut drawn: Vec<i32> = (0..SAMPLE).map(|_| self.draw(&mut random)).collect();
        drawn.sort_unstable();
        let equal = drawn.chunk_by(|one, other| one == other);
        let pairs: u64 = equal.map(|run| run.len() as u64 * (run.len() as u64 - 1)).sum();
        let sampled = pairs as f64 / (SAMPLE as f64 * (SAMPLE as f64 - 1.0));
        sampled.max(1.0 / self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of the sixteen low bits is set in three of four draws, so two draws agree in it in five
    /// of eight cases; the upper bits are as in a draw without skew.
    #[test]
    fn the_draws_are_in_range_and_as_skewed_as_the_specification_has_them() {
        let subscribers = Subscribers::new(1_000_000);
        let mut random = Random::new(5);
        let mut odd = 0_u32;
        for _ in 0..100_000 {
            let drawn = subscribers.draw(&mut random);
            assert!((1..=1_000_000).contains(&drawn));
            odd += u32::from((drawn - 1) % 2 == 1);
        }
        // Six standard deviations of a binomial with p = 3/4.
        assert!(odd.abs_diff(75_000) < 822, "{odd}");
        let expected = libm::pow(0.625, 16.0) * 65_536.0 / 1_000_000.0;
        let agreement = subscribers.agreement();
        assert!((agreement / expected - 1.0).abs() < 0.1, "{agreement} and {expected}");
    }

    #[test]
    fn every_subscriber_of_a_few_is_drawn() {
        for count in [1, 2, 7, 100] {
            let mut random = Random::new(6);
            let mut seen = vec![false; count as usize];
            for _ in 0..20_000 {
                seen[Subscribers::new(count).draw(&mut random) as usize - 1] = true;
            }
            assert!(seen.iter().all(|&seen| seen), "of {count}");
        }
    }
}

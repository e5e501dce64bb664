//! The world's random generator: small, fast, and the same on every machine.

use fabric::random::SplitMix64;

#[derive(Clone, Debug)]
pub(crate) struct Random(SplitMix64);

impl Random {
    /// A separate stream for each pair of seed and purpose.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(SplitMix64::new(seed ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03)));
        random.next();
        random
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0.draw()
    }

    /// A number from 0 to `most`, both inclusive.
    #[inline]
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        if most == 0 {
            return 0;
        }
        let wide = u128::from(self.next()) * (u128::from(most) + 1);
        (wide >> 64) as u64
    }

    /// True once in `count` times on average; never for 0.
    #[inline]
    pub(crate) fn one_in(&mut self, count: u32) -> bool {
        count != 0 && self.up_to(u64::from(count) - 1) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_a_range_comes_up_and_no_other() {
        let mut random = Random::new(1, 1);
        let mut seen = [0; 4];
        for _ in 0..1000 {
            seen[random.up_to(3) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| count > 150), "{seen:?}");
        assert!(!random.one_in(0) && random.one_in(1));
    }

    #[test]
    fn streams_of_one_seed_differ() {
        assert_ne!(Random::new(1, 1).next(), Random::new(1, 2).next());
        assert_eq!(Random::new(1, 1).next(), Random::new(1, 1).next());
    }
}

//! A random generator for sessions, independent of the world's.

use fabric::random::SplitMix64;

#[derive(Clone, Debug)]
pub struct Dice(SplitMix64);

impl Dice {
    /// The generator of stream `stream` of a seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut dice = Self(SplitMix64::new(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95)));
        dice.0.draw();
        dice
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "there is no number below zero");
        self.0.draw() % limit
    }

    /// True with a probability of `percent` percent.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

//! A generator of its own, so that what sessions do does not depend on the world's.

/// SplitMix64 [Steele, Lea, Flood 2014].
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The generator of stream `stream` of a seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut dice = Self(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        dice.next();
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "there is no number below zero");
        self.next() % limit
    }

    /// True `percent` times in a hundred.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

//! Random numbers that are a function of a seed.

/// The generator SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator for these numbers, such as a seed, a worker and a transaction.
    pub fn of(words: &[u64]) -> Self {
        let mut random = Self(0);
        for &word in words {
            random.0 = random.word() ^ word;
        }
        random
    }

    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.word() % end
    }

    /// Whether an event of this probability happens.
    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

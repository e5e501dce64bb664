//! Random numbers that are the same on every machine.
//!
//! SplitMix64 [Steele, Lea, Flood 2014], one addition and a mix, serves for occasional numbers and
//! for seeds; [`Random`] for many numbers, [`Zipf`] for skewed ones.

mod generator;
mod zipf;

pub use generator::{Items, Random};
pub use zipf::Zipf;

/// Increment of the state per number.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The generator with this state.
    pub const fn new(state: u64) -> Self {
        Self(state)
    }

    #[inline]
    pub fn draw(&mut self) -> u64 {
        let (state, number) = step(self.0);
        self.0 = state;
        number
    }
}

/// The next state and the number drawn with it, for callers that store the state elsewhere.
#[inline]
pub const fn step(state: u64) -> (u64, u64) {
    let state = state.wrapping_add(GAMMA);
    let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (state, mixed ^ mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_reference() {
        let mut random = SplitMix64::new(1_234_567);
        let numbers = [(); 3].map(|()| random.draw());
        let reference =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(numbers, reference);
    }
}

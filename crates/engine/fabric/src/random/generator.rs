//! Random numbers and texts, determined by a seed.

use super::{SplitMix64, step};

/// A generator: xoshiro256** [Blackman, Vigna 2018], seeded through SplitMix64 [Steele, Lea, Flood
/// 2014].
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

/// The items of a stream, with their common state computed once.
#[derive(Clone, Copy, Debug)]
pub struct Items(u64);

impl Items {
    /// The items of a stream of a seed.
    #[inline]
    pub fn new(seed: u64, stream: u32) -> Self {
        Self(step(seed ^ u64::from(stream).wrapping_mul(0xd6e8_feb8_6659_fd93)).1)
    }

    /// As [`Random::stream`], for this item.
    #[inline]
    pub fn item(self, item: u64) -> Random {
        Random::new(step(self.0 ^ item).1)
    }
}

const LETTERS_AND_DIGITS: &[u8; 62] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

impl Random {
    /// The generator of a seed.
    #[inline]
    pub fn new(seed: u64) -> Self {
        let mut seed = SplitMix64::new(seed);
        Self { state: std::array::from_fn(|_| seed.draw()) }
    }

    /// The generator of one of many independent streams of a seed, such as one row of one table. A
    /// row with its own stream is the same whichever process loads it.
    #[inline]
    pub fn stream(seed: u64, stream: u32, item: u64) -> Self {
        Items::new(seed, stream).item(item)
    }

    /// 64 random bits.
    #[inline]
    pub fn word(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ b << 17, d.rotate_left(45)];
        result
    }

    /// A number below `bound`, by multiplication: the bias is at most `bound` in 2^64.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0);
        ((u128::from(self.word()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    #[inline]
    pub fn uniform(&mut self, low: i64, high: i64) -> i64 {
        debug_assert!(low <= high);
        low + self.below((high - low) as u64 + 1) as i64
    }

    /// True with a probability of `percent` / 100.
    #[inline]
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }

    /// A uniform number in [0, 1) with 53 random bits.
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Fills `text` with letters and digits.
    #[inline]
    pub fn fill_alphanumeric(&mut self, text: &mut [u8]) {
        self.fill(text, LETTERS_AND_DIGITS);
    }

    #[inline]
    pub fn fill_numeric(&mut self, text: &mut [u8]) {
        self.fill(text, b"0123456789");
    }

    /// Four characters per random word: 16 bits each keep the bias under 0.1 percent.
    #[inline]
    pub fn fill(&mut self, text: &mut [u8], alphabet: &[u8]) {
        for chunk in text.chunks_mut(4) {
            let mut word = self.word();
            for byte in chunk {
                *byte = alphabet[((word & 0xffff) as usize * alphabet.len()) >> 16];
                word >>= 16;
            }
        }
    }

    /// Shuffles the elements [Fisher, Yates 1938].
    pub fn shuffle<T>(&mut self, elements: &mut [T]) {
        for last in (1..elements.len()).rev() {
            elements.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_numbers_and_streams_differ() {
        let first = |mut random: Random| random.word();
        assert_eq!(first(Random::stream(7, 1, 2)), first(Random::stream(7, 1, 2)));
        assert_ne!(first(Random::stream(7, 1, 2)), first(Random::stream(7, 1, 3)));
        assert_ne!(first(Random::stream(7, 1, 2)), first(Random::stream(7, 2, 2)));
        assert_ne!(first(Random::stream(7, 1, 2)), first(Random::stream(8, 1, 2)));
    }

    #[test]
    fn uniform_reaches_both_ends_evenly() {
        let mut random = Random::new(1);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[(random.uniform(-3, 3) + 3) as usize] += 1;
        }
        // Six standard deviations of a binomial with n = 70000, p = 1/7.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 560), "{counts:?}");
    }

    #[test]
    fn texts_use_the_whole_alphabet_and_nothing_else() {
        let mut random = Random::new(2);
        let mut text = [0; 10_001];
        random.fill_alphanumeric(&mut text);
        assert!(text.iter().all(u8::is_ascii_alphanumeric));
        assert!(LETTERS_AND_DIGITS.iter().all(|letter| text.contains(letter)));
        random.fill_numeric(&mut text);
        assert!(text.iter().all(u8::is_ascii_digit));
    }

    #[test]
    fn a_shuffle_is_a_permutation() {
        let mut numbers: Vec<u32> = (0..1000).collect();
        Random::new(3).shuffle(&mut numbers);
        assert_ne!(numbers[..8], [0, 1, 2, 3, 4, 5, 6, 7]);
        numbers.sort_unstable();
        assert!(numbers.iter().enumerate().all(|(index, &number)| index == number as usize));
    }
}

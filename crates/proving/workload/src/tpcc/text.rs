//! The texts of the population [TPC-C 4.3.2].

use crate::random::Random;

/// The longest text of any column.
pub const TEXT_BYTES_MAX: usize = 500;
/// The longest last name: three syllables of five letters.
pub const LAST_NAME_BYTES_MAX: usize = 16;

/// The syllables of last names [TPC-C 4.3.2.3].
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
/// The word in every tenth item's data [TPC-C 4.3.3.1].
pub const ORIGINAL: &[u8] = b"ORIGINAL";

/// A text on the stack.
#[derive(Clone, Copy)]
pub struct Text<const MAX: usize = TEXT_BYTES_MAX> {
    bytes: [u8; MAX],
    length: usize,
}

impl<const MAX: usize> Text<MAX> {
    pub const fn new() -> Self {
        Self { bytes: [0; MAX], length: 0 }
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Appends as much of `bytes` as fits.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        let count = bytes.len().min(MAX - self.length);
        self.bytes[self.length..self.length + count].copy_from_slice(&bytes[..count]);
        self.length += count;
    }

    /// Appends a number in decimal digits.
    pub fn push_number(&mut self, number: i64) {
        let mut digits = [0_u8; 20];
        let mut at = digits.len();
        let mut rest = number.unsigned_abs();
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            at -= 1;
            digits[at] = b'-';
        }
        self.push(&digits[at..]);
    }
}

impl<const MAX: usize> Default for Text<MAX> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const MAX: usize> std::fmt::Debug for Text<MAX> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&String::from_utf8_lossy(self.bytes()))
    }
}

/// A random a-string: letters and digits, with a length from `low` to `high` [TPC-C 4.3.2.2].
pub fn letters(random: &mut Random, low: usize, high: usize) -> Text {
    let mut text = Text::new();
    text.length = random.uniform(low as i64, high as i64) as usize;
    random.fill_alphanumeric(&mut text.bytes[..text.length]);
    text
}

/// A random n-string of exactly `length` digits [TPC-C 4.3.2.2].
pub fn digits(random: &mut Random, length: usize) -> Text {
    let mut text = Text::new();
    text.length = length;
    random.fill_numeric(&mut text.bytes[..length]);
    text
}

/// A zip code: four random digits and 11111 [TPC-C 4.3.2.7].
pub fn zip(random: &mut Random) -> Text {
    let mut text = digits(random, 4);
    text.push(b"11111");
    text
}

/// The data of an item or of its stock: an a-string [26 .. 50] that in a tenth of the rows contains
/// the word ORIGINAL at a random position [TPC-C 4.3.3.1].
pub fn item_data(random: &mut Random) -> Text {
    let mut text = letters(random, 26, 50);
    if random.percent(10) {
        let at = random.uniform(0, (text.length - ORIGINAL.len()) as i64) as usize;
        text.bytes[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
    text
}

/// Whether the data of an item or stock row contains the word ORIGINAL. Every new-order calls it
/// for every line, so it looks at one byte in eight [Horspool 1980].
#[inline]
pub fn is_original(data: &[u8]) -> bool {
    let mut end = ORIGINAL.len();
    while end <= data.len() {
        end += match data[end - 1] {
            b'L' if &data[end - ORIGINAL.len()..end] == ORIGINAL => return true,
            b'A' => 1,
            b'N' => 2,
            b'I' => 3,
            b'G' => 4,
            b'R' => 6,
            b'O' => 7,
            _ => 8,
        };
    }
    false
}

/// The last name of a number from 0 to 999: one syllable per digit [TPC-C 4.3.2.3].
#[inline]
pub fn last_name(number: i32) -> Text<LAST_NAME_BYTES_MAX> {
    debug_assert!((0..1000).contains(&number));
    let mut text = Text::new();
    for digit in [number / 100, number / 10 % 10, number % 10] {
        text.push(SYLLABLES[digit as usize].as_bytes());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_those_of_the_specification() {
        assert_eq!(last_name(0).bytes(), b"BARBARBAR");
        assert_eq!(last_name(371).bytes(), b"PRICALLYOUGHT");
        assert_eq!(last_name(40).bytes(), b"BARPRESBAR");
        assert_eq!(last_name(999).bytes(), b"EINGEINGEING");
        let mut names: Vec<Vec<u8>> = (0..1000).map(|n| last_name(n).bytes().to_vec()).collect();
        assert!(names.iter().all(|name| name.len() <= 15));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 1000);
    }

    #[test]
    fn strings_have_their_lengths_and_alphabets() {
        let mut random = Random::new(1);
        let mut lengths = [false; 9];
        for _ in 0..1000 {
            let text = letters(&mut random, 6, 8);
            lengths[text.bytes().len()] = true;
            assert!(text.bytes().iter().all(u8::is_ascii_alphanumeric));
            let number = digits(&mut random, 16);
            assert!(number.bytes().len() == 16 && number.bytes().iter().all(u8::is_ascii_digit));
            let zip = zip(&mut random);
            assert!(zip.bytes().len() == 9 && zip.bytes().ends_with(b"11111"));
        }
        assert_eq!(lengths, [false, false, false, false, false, false, true, true, true]);
    }

    #[test]
    fn a_tenth_of_all_data_is_original() {
        let mut random = Random::new(2);
        let texts = (0..100_000).map(|_| item_data(&mut random));
        let original = texts
            .inspect(|text| assert!((26..=50).contains(&text.bytes().len())))
            .filter(|text| is_original(text.bytes()))
            .count();
        // Six standard deviations of a binomial with n = 100000, p = 0.1.
        assert!(original.abs_diff(10_000) < 570, "{original} of 100000");
    }

    #[test]
    fn the_word_is_found_at_every_position() {
        for at in 0..=18 {
            let mut text = *b"xORIxLxAxNxxIGxRxORIGINAxL";
            assert!(!is_original(&text));
            text[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
            assert!(is_original(&text), "at {at}");
        }
        assert!(is_original(b"OORIGINAL") && is_original(b"ORIGORIGINAL"));
        assert!(!is_original(b"ORIGINA") && !is_original(b""));
    }

    #[test]
    fn numbers_become_digits() {
        let mut text = Text::<40>::new();
        [0, -7, 1234567, i64::MIN].into_iter().for_each(|number| text.push_number(number));
        assert_eq!(text.bytes(), b"0-71234567-9223372036854775808");
    }
}

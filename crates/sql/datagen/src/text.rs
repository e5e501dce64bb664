//! Draws texts.

use compact_str::{CompactString, format_compact};
use fabric::random::Random;
use sql::load::Alphabet;

/// The syllables of last names [TPC-C 4.3.2.3].
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

pub(crate) fn push_random(
    text: &mut CompactString,
    alphabet: Alphabet,
    count: usize,
    random: &mut Random,
) {
    let characters = match alphabet {
        Alphabet::Digits => &ALPHANUMERIC[..10],
        Alphabet::Letters => &ALPHANUMERIC[10..],
        Alphabet::Alphanumeric => ALPHANUMERIC,
    };
    let mut left = count;
    let mut piece = [0; 64];
    while left > 0 {
        let part = &mut piece[..left.min(64)];
        random.fill(part, characters);
        text.push_str(std::str::from_utf8(part).expect("alphabets are ASCII"));
        left -= part.len();
    }
}

/// Maximum width that is written without `format!`, which takes a thousand instructions.
const DIGITS_MAX: usize = 24;

/// A number in decimal, padded with zeros to `width` digits.
pub(crate) fn digits(number: i64, width: usize) -> CompactString {
    if number < 0 || width > DIGITS_MAX {
        return format_compact!("{number:0width$}");
    }
    let mut places = [b'0'; DIGITS_MAX];
    let (mut at, mut rest) = (DIGITS_MAX, number as u64);
    while rest > 0 {
        at -= 1;
        places[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let shown = &places[at.min(DIGITS_MAX - width.max(1))..];
    CompactString::new(std::str::from_utf8(shown).expect("digits are ASCII"))
}

/// The last name of a number: one syllable for each of its last three digits [TPC-C 4.3.2.3].
pub(crate) fn last_name(number: i64) -> CompactString {
    let number = number.rem_euclid(1000) as usize;
    [number / 100, number / 10 % 10, number % 10].iter().map(|digit| SYLLABLES[*digit]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_those_of_the_specification() {
        assert_eq!(
            [0, 371, 999, -1].map(last_name),
            ["BARBARBAR", "PRICALLYOUGHT", "EINGEINGEING", "EINGEINGEING"]
        );
    }

    #[test]
    fn numbers_have_their_width() {
        for number in [0, 7, 10, 999_999_999, i64::MAX, -5] {
            for width in [0, 1, 15, 20, 24, 25, 40] {
                assert_eq!(digits(number, width), format!("{number:0width$}"));
            }
        }
    }

    #[test]
    fn characters_are_of_their_alphabet() {
        let mut random = Random::new(1);
        let mut drawn = |alphabet| {
            let mut text = CompactString::default();
            push_random(&mut text, alphabet, 500, &mut random);
            assert_eq!(text.len(), 500);
            text
        };
        assert!(drawn(Alphabet::Digits).bytes().all(|byte| byte.is_ascii_digit()));
        assert!(drawn(Alphabet::Letters).bytes().all(|byte| byte.is_ascii_alphabetic()));
        let both = drawn(Alphabet::Alphanumeric);
        assert!(both.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert!(both.contains(|letter: char| letter.is_ascii_digit()));
    }
}

//! Texts of a known greatest length, which need no memory of their own.

use crate::stop::Stop;
use std::fmt;
use std::ops::Deref;

/// A text of at most `N` bytes.
#[derive(Clone, Copy)]
pub struct Text<const N: usize> {
    length: u16,
    bytes: [u8; N],
}

impl<const N: usize> Default for Text<N> {
    #[inline(always)]
    fn default() -> Self {
        Self { length: 0, bytes: [0; N] }
    }
}

impl<const N: usize> Text<N> {
    /// The text `bytes`; one that is longer deviates.
    #[inline(always)]
    pub fn new(bytes: &[u8]) -> Result<Self, Stop> {
        let mut text = Self::default();
        text.push(bytes)?;
        Ok(text)
    }

    /// The parts one behind the other.
    #[inline]
    pub fn of(parts: &[&[u8]]) -> Result<Self, Stop> {
        let mut text = Self::default();
        parts.iter().try_for_each(|part| text.push(part))?;
        Ok(text)
    }

    #[inline(always)]
    fn push(&mut self, part: &[u8]) -> Result<(), Stop> {
        let begin = usize::from(self.length);
        let place = self.bytes.get_mut(begin..begin + part.len()).ok_or(Stop::Deviates)?;
        place.copy_from_slice(part);
        self.length = u16::try_from(begin + part.len()).map_err(|_| Stop::Deviates)?;
        Ok(())
    }
}

impl<const N: usize> Deref for Text<N> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(self), formatter)
    }
}

/// Bytes that a 64-bit number takes as text, sign and point included, and a zero before the point.
pub const NUMBER_BYTES_MAX: usize = 22;

/// A number as text, with so many digits behind the point.
#[inline]
pub fn number(value: i64, scale: u8) -> Text<NUMBER_BYTES_MAX> {
    let mut digits = [0; NUMBER_BYTES_MAX];
    let (mut at, mut rest, mut count) = (NUMBER_BYTES_MAX, value.unsigned_abs(), 0);
    while rest > 0 || count <= scale {
        if count == scale && scale > 0 {
            at -= 1;
            digits[at] = b'.';
        }
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        count += 1;
    }
    if value < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    let mut text = Text { length: (NUMBER_BYTES_MAX - at) as u16, bytes: [0; NUMBER_BYTES_MAX] };
    text.bytes[..NUMBER_BYTES_MAX - at].copy_from_slice(&digits[at..]);
    text
}

/// The first `count` characters; of a negative number, all but the last.
#[inline]
pub fn left(text: &[u8], count: i64) -> Result<&[u8], Stop> {
    if !text.is_ascii() {
        return Err(Stop::Deviates);
    }
    let length = text.len() as i64;
    let count = if count < 0 { (length + count).max(0) } else { count.min(length) };
    Ok(&text[..count as usize])
}

/// A text that is stored as `character`: without the blanks at its end.
#[inline]
pub fn trimmed(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != b' ');
    &text[..end.map_or(0, |last| last + 1)]
}

/// A text of at most `length` characters, as it is stored: one that is longer deviates.
#[inline]
pub fn fitting(text: &[u8], length: usize) -> Result<&[u8], Stop> {
    if text.len() <= length { Ok(text) } else { Err(Stop::Deviates) }
}

/// Whether `text` has `part` in it: `LIKE '%part%'`.
#[inline]
pub fn contains(text: &[u8], part: &[u8]) -> bool {
    let Some((&first, rest)) = part.split_first() else { return true };
    let last = text.len().checked_sub(part.len());
    let Some(last) = last else { return false };
    let begins = |at: &usize| text[*at] == first;
    (0..=last).filter(begins).any(|at| &text[at + 1..at + part.len()] == rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_postgresql_writes_them() {
        let cases = [
            (0, 0, "0"),
            (-7, 0, "-7"),
            (5, 2, "0.05"),
            (-120, 2, "-1.20"),
            (1234, 2, "12.34"),
            (0, 3, "0.000"),
        ];
        for (value, scale, text) in cases {
            assert_eq!(&*number(value, scale), text.as_bytes());
        }
        assert_eq!(&*number(i64::MIN, 0), b"-9223372036854775808");
        assert_eq!(&*number(i64::MIN, 18), b"-9.223372036854775808");
    }

    #[test]
    fn texts_are_cut_trimmed_and_put_together() {
        let text = Text::<8>::of(&[b"ab", b"", b"cde"]).expect("fits");
        assert_eq!(&*text, b"abcde");
        assert!(matches!(Text::<4>::new(b"abcde"), Err(Stop::Deviates)));
        assert_eq!(left(b"abcde", 2).expect("ASCII"), b"ab");
        assert_eq!(left(b"abcde", -2).expect("ASCII"), b"abc");
        assert_eq!(left(b"abcde", -9).expect("ASCII"), b"");
        assert!(left("\u{e4}".as_bytes(), 1).is_err());
        assert_eq!((trimmed(b" a  "), trimmed(b"   ")), (&b" a"[..], &b""[..]));
    }

    #[test]
    fn parts_are_found_wherever_they_stand() {
        assert!(contains(b"an ORIGINAL part", b"ORIGINAL") && contains(b"ORIGINAL", b"ORIGINAL"));
        assert!(contains(b"ORIGINORIGINAL", b"ORIGINAL") && contains(b"x", b""));
        assert!(!contains(b"ORIGINA", b"ORIGINAL") && !contains(b"", b"x"));
    }
}

//! Texts of a known maximum length, without heap memory.
//!
//! Decision: docs/decisions/0274-a-text-of-unknown-length-has-128-bytes.md

use crate::stop::{Stop, known};
use layout::{RecordRef, Slot};
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
    /// Copies `bytes`; a longer text deviates.
    #[inline(always)]
    pub fn new(bytes: &[u8]) -> Result<Self, Stop> {
        let mut text = Self::default();
        text.push(bytes)?;
        Ok(text)
    }

    /// Overwrites this text with `bytes`; a longer text deviates. Creating a new text is slower: it
    /// is written in pieces, and moving it right after stalls on store forwarding.
    #[inline(always)]
    pub fn set(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.length = 0;
        self.push(bytes)
    }

    /// Concatenates the parts.
    #[inline]
    pub fn of(parts: &[&[u8]]) -> Result<Self, Stop> {
        let mut text = Self::default();
        parts.iter().try_for_each(|part| text.push(part))?;
        Ok(text)
    }

    #[inline(always)]
    fn push(&mut self, part: &[u8]) -> Result<(), Stop> {
        let begin = usize::from(self.length);
        let place = known(self.bytes.get_mut(begin..begin + part.len()))?;
        copy(place, part);
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

/// Copies a text. Most texts are short: two overlapping copies of fixed size avoid a call.
#[inline(always)]
pub(crate) fn copy(to: &mut [u8], from: &[u8]) {
    #[inline(always)]
    fn pieces<const N: usize>(to: &mut [u8], from: &[u8]) -> Option<()> {
        let (head, tail) = (*from.first_chunk::<N>()?, *from.last_chunk::<N>()?);
        *to.first_chunk_mut::<N>()? = head;
        *to.last_chunk_mut::<N>()? = tail;
        Some(())
    }
    let copied = match from.len() {
        2..4 => pieces::<2>(to, from),
        4..8 => pieces::<4>(to, from),
        8..16 => pieces::<8>(to, from),
        16..=32 => pieces::<16>(to, from),
        _ => None,
    };
    if copied.is_none() {
        to.copy_from_slice(from);
    }
}

/// Reads a text from a row's key.
#[inline]
pub fn of_key<const N: usize>(row: RecordRef<'_>, slot: Slot) -> Text<N> {
    let mut text = Text::default();
    text.length = row.copy_key_text(slot, &mut text.bytes) as u16;
    text
}

/// Sets a variable to the text `bytes`, see [`Text::set`].
#[inline(always)]
pub fn set<const N: usize>(variable: &mut Option<Text<N>>, bytes: &[u8]) -> Result<(), Stop> {
    variable.get_or_insert_default().set(bytes)
}

/// Maximum number of bytes in the text of a 64-bit number, with sign, decimal point and a zero
/// before the point.
pub const NUMBER_BYTES_MAX: usize = 22;

/// Prints a number with `scale` digits after the decimal point.
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

/// Returns the first `count` characters; if negative, all but the last `-count`.
#[inline]
pub fn left(text: &[u8], count: i64) -> Result<&[u8], Stop> {
    if !text.is_ascii() {
        return Err(Stop::Deviates);
    }
    let length = text.len() as i64;
    let count = if count < 0 { (length + count).max(0) } else { count.min(length) };
    Ok(&text[..count as usize])
}

/// Returns the last `count` characters; if negative, all but the first `-count`.
#[inline]
pub fn right(text: &[u8], count: i64) -> Result<&[u8], Stop> {
    if !text.is_ascii() {
        return Err(Stop::Deviates);
    }
    let length = text.len() as i64;
    let skipped = if count < 0 { count.saturating_neg() } else { length.saturating_sub(count) };
    Ok(&text[skipped.clamp(0, length) as usize..])
}

/// Returns the text from character `first` on, counted from 1.
#[inline]
pub fn from(text: &[u8], first: i64) -> Result<&[u8], Stop> {
    if !text.is_ascii() {
        return Err(Stop::Deviates);
    }
    Ok(&text[first.saturating_sub(1).clamp(0, text.len() as i64) as usize..])
}

/// Returns `count` characters from `first` on, counted from 1; positions before the first character
/// count, too. A negative `count` deviates.
#[inline]
pub fn part(text: &[u8], first: i64, count: i64) -> Result<&[u8], Stop> {
    let rest = from(text, first)?;
    let wanted = first.saturating_add(count).saturating_sub(first.max(1));
    match count < 0 {
        true => Err(Stop::Deviates),
        false => Ok(&rest[..wanted.clamp(0, rest.len() as i64) as usize]),
    }
}

/// Number of characters.
#[inline]
pub fn length(text: &[u8]) -> i64 {
    // Count all bytes except UTF-8 continuation bytes.
    text.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as i64
}

/// Returns the position of `part` in characters, counted from 1, or 0 if the text does not contain
/// it.
#[inline]
pub fn position(text: &[u8], part: &[u8]) -> i64 {
    let mut places = 0..=text.len().saturating_sub(part.len());
    match places.find(|&at| text[at..].starts_with(part)) {
        Some(at) => length(&text[..at]) + 1,
        None => 0,
    }
}

/// Removes leading characters that are in `set`, which is ASCII.
#[inline]
pub fn without_first<'a>(text: &'a [u8], set: &[u8]) -> &'a [u8] {
    let begin = text.iter().position(|byte| !set.contains(byte));
    &text[begin.unwrap_or(text.len())..]
}

/// Removes trailing characters that are in `set`, which is ASCII.
#[inline]
pub fn without_last<'a>(text: &'a [u8], set: &[u8]) -> &'a [u8] {
    let last = text.iter().rposition(|byte| !set.contains(byte));
    &text[..last.map_or(0, |last| last + 1)]
}

/// Removes leading and trailing characters that are in `set`, which is ASCII.
#[inline]
pub fn without_ends<'a>(text: &'a [u8], set: &[u8]) -> &'a [u8] {
    without_last(without_first(text, set), set)
}

/// Converts ASCII letters to lower case, as with the collation `C`.
#[inline]
pub fn lower<const N: usize>(text: &[u8]) -> Result<Text<N>, Stop> {
    let mut text = Text::new(text)?;
    text.bytes.make_ascii_lowercase();
    Ok(text)
}

/// Converts ASCII letters to upper case, as with the collation `C`.
#[inline]
pub fn upper<const N: usize>(text: &[u8]) -> Result<Text<N>, Stop> {
    let mut text = Text::new(text)?;
    text.bytes.make_ascii_uppercase();
    Ok(text)
}

/// Pads on the left to `N` characters, or truncates.
#[inline]
pub fn filled_left<const N: usize>(text: &[u8], fill: &[u8]) -> Result<Text<N>, Stop> {
    let filling = filling::<N>(text, fill)?;
    Text::of(&[&filling, left(text, N as i64)?])
}

/// Pads on the right to `N` characters, or truncates.
#[inline]
pub fn filled_right<const N: usize>(text: &[u8], fill: &[u8]) -> Result<Text<N>, Stop> {
    let filling = filling::<N>(text, fill)?;
    Text::of(&[left(text, N as i64)?, &filling])
}

/// Returns the padding that a text needs for `N` characters.
fn filling<const N: usize>(text: &[u8], fill: &[u8]) -> Result<Text<N>, Stop> {
    if !fill.is_ascii() {
        return Err(Stop::Deviates);
    }
    let mut filling = Text::default();
    let missing = if fill.is_empty() { 0 } else { N.saturating_sub(text.len()) };
    for (place, &byte) in filling.bytes.iter_mut().zip(fill.iter().cycle().take(missing)) {
        *place = byte;
        filling.length += 1;
    }
    Ok(filling)
}

/// Removes trailing blanks, as a `character` is stored.
#[inline]
pub fn trimmed(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != b' ');
    &text[..end.map_or(0, |last| last + 1)]
}

/// Checks that a text has at most `length` bytes; a longer one deviates.
#[inline]
pub fn fitting(text: &[u8], length: usize) -> Result<&[u8], Stop> {
    if text.len() <= length { Ok(text) } else { Err(Stop::Deviates) }
}

/// A substring to search for: `LIKE '%part%'`.
///
/// The search compares the text at the position of the part's last byte; the text's byte there says
/// how far to advance [Horspool 1980].
#[derive(Clone, Debug)]
pub struct Part<'a> {
    bytes: &'a [u8],
    /// For each byte: how far to advance if the text has it at the position of the part's last
    /// byte.
    steps: [u8; 256],
}

impl<'a> Part<'a> {
    /// Builds the table of steps, which takes longer than a search.
    pub const fn new(bytes: &'a [u8]) -> Self {
        // Only the last 255 bytes get steps of their own: a shorter step misses nothing.
        let length = if bytes.len() > 255 { 255 } else { bytes.len() };
        let mut steps = [if length == 0 { 1 } else { length as u8 }; 256];
        let mut at = bytes.len() - length;
        while at + 1 < bytes.len() {
            steps[bytes[at] as usize] = (bytes.len() - 1 - at) as u8;
            at += 1;
        }
        Self { bytes, steps }
    }

    /// Whether `text` contains the part.
    #[inline]
    pub fn is_in(&self, text: &[u8]) -> bool {
        let length = self.bytes.len();
        let Some(last) = length.checked_sub(1) else { return true };
        let mut at = last;
        while let Some(&byte) = text.get(at) {
            if byte == self.bytes[last] && text[at - last..at] == self.bytes[..last] {
                return true;
            }
            at += usize::from(self.steps[usize::from(byte)]);
        }
        false
    }
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
        let all: Vec<u8> = (b' '..b'~').collect();
        let (mut text, mut variable) = (Text::<40>::default(), None);
        for length in (0..=40).rev() {
            text.set(&all[..length]).expect("fits");
            assert_eq!(*text, all[..length]);
            set::<40>(&mut variable, &text).expect("fits");
            assert_eq!(variable.as_deref(), Some(&all[..length]));
        }
        assert!(matches!(text.set(&all[..41]), Err(Stop::Deviates)));
        assert_eq!(left(b"abcde", 2).expect("ASCII"), b"ab");
        assert_eq!(left(b"abcde", -2).expect("ASCII"), b"abc");
        assert_eq!(left(b"abcde", -9).expect("ASCII"), b"");
        assert!(left("\u{e4}".as_bytes(), 1).is_err());
        assert_eq!((trimmed(b" a  "), trimmed(b"   ")), (&b" a"[..], &b""[..]));
    }

    #[test]
    fn texts_are_taken_apart_as_by_postgresql() {
        let shown = |text: Result<&[u8], Stop>| {
            String::from_utf8(text.expect("ASCII").to_vec()).expect("it is ASCII")
        };
        assert_eq!(
            [-9, -2, 0, 2, 9].map(|count| shown(right(b"abcde", count))),
            ["", "cde", "", "de", "abcde"]
        );
        assert_eq!(
            [i64::MIN, 0, 1, 3, 9].map(|first| shown(from(b"abc", first))),
            ["abc", "abc", "abc", "c", ""]
        );
        let cut = |first, count| shown(part(b"abcde", first, count));
        assert_eq!([cut(2, 3), cut(0, 3), cut(-3, 2), cut(4, 9)], ["bcd", "ab", "", "de"]);
        assert_eq!(cut(i64::MAX, i64::MAX), "");
        assert!(part(b"abc", 1, -1).is_err() && from("\u{e4}".as_bytes(), 1).is_err());
        assert_eq!((length("\u{e4}b".as_bytes()), length(b"")), (2, 0));
        let place = |text: &str, part: &str| position(text.as_bytes(), part.as_bytes());
        assert_eq!([place("\u{e4}bc", "c"), place("ab", "x"), place("a", "")], [3, 0, 1]);
        assert_eq!((place("a", "abc"), place("", "")), (0, 1));
        assert_eq!(without_first(b"  a ", b" "), b"a ");
        assert_eq!(
            (without_last(b"xyx", b"x"), without_ends(b"xyx", b"xy")),
            (&b"xy"[..], &b""[..])
        );
        assert_eq!(&*upper::<4>(b"aB1").expect("fits"), b"AB1");
        assert_eq!(&*lower::<4>(b"aB1").expect("fits"), b"ab1");
        assert!(lower::<2>(b"aB1").is_err());
        assert_eq!(&*filled_left::<5>(b"12", b"xy").expect("fits"), b"xyx12");
        assert_eq!(&*filled_right::<5>(b"12", b" ").expect("fits"), b"12   ");
        assert_eq!(&*filled_left::<2>(b"123", b"0").expect("fits"), b"12");
        assert_eq!(&*filled_left::<4>(b"12", b"").expect("fits"), b"12");
    }

    #[test]
    fn parts_are_found_at_any_position() {
        let original = Part::new(b"ORIGINAL");
        assert!(original.is_in(b"an ORIGINAL part") && original.is_in(b"ORIGINAL"));
        assert!(original.is_in(b"ORIGINORIGINAL") && original.is_in(b"OORIGINALL"));
        assert!(
            !original.is_in(b"ORIGINA") && !original.is_in(b"") && !original.is_in(b"LANIGIRO")
        );
        assert!(Part::new(b"").is_in(b"x") && Part::new(b"").is_in(b""));
        assert!(Part::new(b"x").is_in(b"abx") && !Part::new(b"x").is_in(b"ab"));
    }

    #[test]
    fn parts_are_found_as_by_looking_everywhere() {
        // All texts over three letters up to a length, with repetitive parts.
        let texts = |length: u32| {
            (0..3_u32.pow(length)).map(move |n| -> Vec<u8> {
                (0..length).map(|digit| b'a' + (n / 3_u32.pow(digit) % 3) as u8).collect()
            })
        };
        for part in (1..=4).flat_map(texts) {
            let searched = Part::new(&part);
            for text in (0..=7).flat_map(texts) {
                let expected = text.windows(part.len()).any(|window| window == part);
                assert_eq!(searched.is_in(&text), expected, "{part:?} in {text:?}");
            }
        }
        let long = [&[b'a'; 300][..], b"b"].concat();
        let text = [&[b'a'; 400][..], b"bc"].concat();
        assert!(Part::new(&long).is_in(&text) && !Part::new(&long).is_in(&text[..400]));
        let spread = [&b"b"[..], &[b'a'; 299]].concat();
        assert!(Part::new(&spread).is_in(&[&[b'c'; 30][..], &spread].concat()));
    }
}

//! `bytea`: input, output and functions [PostgreSQL 15, `varlena.c` and `encode.c` in
//! `src/backend/utils/adt`].

use crate::error::{Error, Result, sqlstate};
use crate::text::check_count;
use compact_str::{CompactString, format_compact};
use std::fmt::Write;

/// Letters of base 64, in order of their values.
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Letters in a line of base 64.
const LINE: usize = 76;

fn refuse(what: String) -> Box<Error> {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, what)
}

/// Prints `\x` and hexadecimal digits.
pub fn text(bytes: &[u8]) -> CompactString {
    let mut text = CompactString::with_capacity(2 + 2 * bytes.len());
    text.push_str("\\x");
    append_digits(bytes, &mut text);
    text
}

/// Prints bytes as characters, with escapes.
pub fn escaped(bytes: &[u8]) -> CompactString {
    let mut text = CompactString::default();
    for &byte in bytes {
        match byte {
            b'\\' => text.push_str("\\\\"),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format_compact!("\\{byte:03o}")),
        }
    }
    text
}

fn append_digits(bytes: &[u8], text: &mut CompactString) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// Parses hexadecimal digits after `\x`, or characters with octal escapes.
///
/// # Errors
/// 22023 or 22P02 if the text has neither form.
pub fn parse(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(digits) => of_digits(digits),
        None => of_escapes(text),
    }
}

fn of_digits(digits: &str) -> Result<Vec<u8>> {
    let mut values = Vec::with_capacity(digits.len() / 2);
    let mut high = None;
    for letter in digits.chars().filter(|letter| !matches!(letter, ' ' | '\n' | '\t' | '\r')) {
        let digit = letter.to_digit(16).map(|digit| digit as u8);
        let what = || refuse(format!("invalid hexadecimal digit: \"{letter}\""));
        let digit = digit.ok_or_else(what)?;
        match high.take() {
            None => high = Some(digit),
            Some(high) => values.push(high << 4 | digit),
        }
    }
    match high {
        None => Ok(values),
        Some(_) => Err(refuse("invalid hexadecimal data: odd number of digits".to_owned())),
    }
}

fn of_escapes(text: &str) -> Result<Vec<u8>> {
    let mut result = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let octal = |byte: u8, most: u8| (b'0'..=most).contains(&byte).then(|| byte - b'0');
        let (value, taken) = match (byte, behind) {
            (b'\\', [b'\\', ..]) => (b'\\', 2),
            (b'\\', [a, b, c, ..]) => match (octal(*a, b'3'), octal(*b, b'7'), octal(*c, b'7')) {
                (Some(a), Some(b), Some(c)) => (a << 6 | b << 3 | c, 4),
                _ => return Err(Error::invalid_text_plain("bytea")),
            },
            (b'\\', _) => return Err(Error::invalid_text_plain("bytea")),
            (byte, _) => (byte, 1),
        };
        result.push(value);
        rest = &rest[taken..];
    }
    Ok(result)
}

pub fn concatenate(left: &[u8], right: &[u8]) -> Vec<u8> {
    [left, right].concat()
}

/// Returns the bytes from position `start` on, counted from 1.
pub fn substring_from(bytes: &[u8], start: i64) -> &[u8] {
    &bytes[bytes.len().min((start - 1).max(0) as usize)..]
}

/// Returns `count` bytes from position `start` on, as [`crate::text::substring`].
///
/// # Errors
/// 22011 if `count` is negative.
pub fn substring(bytes: &[u8], start: i64, count: i64) -> Result<&[u8]> {
    check_count(count)?;
    let wanted = (start + count - start.max(1)).max(0) as usize;
    let rest = substring_from(bytes, start);
    Ok(&rest[..rest.len().min(wanted)])
}

/// `encode`: bytes as text.
///
/// # Errors
/// 22023 if there is no such encoding.
pub fn encode(bytes: &[u8], encoding: &str) -> Result<CompactString> {
    let mut text = CompactString::default();
    match &*encoding.to_ascii_lowercase() {
        "hex" => append_digits(bytes, &mut text),
        "base64" => append_base64(bytes, &mut text),
        "escape" => append_escapes(bytes, &mut text),
        _ => return Err(unknown(encoding)),
    }
    Ok(text)
}

/// `decode`: the bytes of a text.
///
/// # Errors
/// 22023 or 22P02 if there is no such encoding, or the text has another.
pub fn decode(text: &str, encoding: &str) -> Result<Vec<u8>> {
    match &*encoding.to_ascii_lowercase() {
        "hex" => of_digits(text),
        "base64" => of_base64(text),
        "escape" => of_escapes(text),
        _ => Err(unknown(encoding)),
    }
}

fn unknown(encoding: &str) -> Box<Error> {
    refuse(format!("unrecognized encoding: \"{encoding}\""))
}

/// A zero byte and those above 127 as octal escapes.
fn append_escapes(bytes: &[u8], text: &mut CompactString) {
    for &byte in bytes {
        match byte {
            b'\\' => text.push_str("\\\\"),
            // Writing to a string cannot fail.
            0 | 128.. => drop(write!(text, "\\{byte:03o}")),
            byte => text.push(char::from(byte)),
        }
    }
}

fn append_base64(bytes: &[u8], text: &mut CompactString) {
    for (at, group) in bytes.chunks(3).enumerate() {
        if at > 0 && (4 * at).is_multiple_of(LINE) {
            text.push('\n');
        }
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = BASE64[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(char::from(if place <= group.len() { letter } else { b'=' }));
        }
    }
    // PostgreSQL ends a full line even if nothing follows it.
    if !bytes.is_empty() && bytes.len().is_multiple_of(LINE / 4 * 3) {
        text.push('\n');
    }
}

fn of_base64(text: &str) -> Result<Vec<u8>> {
    let (mut bits, mut count, mut padding) = (0_u32, 0_usize, 0_usize);
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for letter in text.chars().filter(|letter| !matches!(letter, ' ' | '\n' | '\t' | '\r')) {
        let value = BASE64.iter().position(|own| char::from(*own) == letter);
        let value = match value {
            Some(value) if padding == 0 => value as u32,
            None if letter == '=' && count >= 2 => {
                padding += 1;
                0
            }
            None if letter == '=' => {
                return Err(refuse("unexpected \"=\" while decoding base64 sequence".to_owned()));
            }
            _ => {
                let what = "invalid symbol \"%\" found while decoding base64 sequence";
                return Err(refuse(what.replace('%', &letter.to_string())));
            }
        };
        bits = bits << 6 | value;
        count += 1;
        if count == 4 {
            let group = bits.to_be_bytes();
            bytes.extend_from_slice(&group[1..4 - padding.min(2)]);
            (bits, count) = (0, 0);
        }
    }
    match count {
        0 => Ok(bytes),
        _ => Err(refuse("invalid base64 end sequence".to_owned())
            .hint("Input data is missing padding, is truncated, or is otherwise corrupted.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_lead_back() {
        for length in [0, 1, 2, 3, 56, 57, 58, 200] {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 37) as u8).collect();
            for encoding in ["hex", "base64", "escape"] {
                let text = encode(&bytes, encoding).expect("it is an encoding");
                assert_eq!(decode(&text, encoding), Ok(bytes.clone()), "{encoding} {length}");
            }
            assert_eq!(parse(&text(&bytes)), Ok(bytes));
        }
        assert!(encode(b"", "utf8").is_err() && decode("a", "base64").is_err());
    }

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!(substring(b"abcd", 0, 3), Ok(b"ab".as_slice()));
        assert_eq!(substring(b"abcd", 3, i64::from(i32::MAX)), Ok(b"cd".as_slice()));
        assert_eq!(substring_from(b"abcd", 9), b"");
        assert!(substring(b"abcd", 1, -1).is_err());
    }
}

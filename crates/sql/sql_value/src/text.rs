//! Text functions. Only ASCII letters have upper and lower case, as with the collation `C`.
//!
//! Decision: docs/decisions/0172-text-is-bytes-letters-are-ascii.md

use crate::error::{Error, Result, sqlstate};
use compact_str::CompactString;

/// Largest value that PostgreSQL can represent, in bytes (`MaxAllocSize`).
pub(crate) const BYTES_MAX: usize = 0x3fff_ffff;

/// Number of characters.
#[inline]
pub fn length(text: &str) -> i64 {
    if text.is_ascii() { text.len() as i64 } else { text.chars().count() as i64 }
}

/// Returns the byte offset of character number `at`, or the length of the text.
fn offset(text: &str, at: usize) -> usize {
    if text.is_ascii() {
        return at.min(text.len());
    }
    text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte)
}

#[inline]
pub fn first(text: &str, count: usize) -> &str {
    if text.len() <= count {
        return text;
    }
    &text[..offset(text, count)]
}

/// Returns the first `count` characters; if negative, all but the last `-count`.
pub fn left(text: &str, count: i64) -> &str {
    let count = if count < 0 { (length(text) + count).max(0) } else { count };
    first(text, count as usize)
}

/// Returns the last `count` characters; if negative, all but the first `-count`.
pub fn right(text: &str, count: i64) -> &str {
    let skipped = if count < 0 { -count } else { (length(text) - count).max(0) };
    &text[offset(text, skipped as usize)..]
}

/// Returns the text from character `start` on, counted from 1.
pub fn substring_from(text: &str, start: i64) -> &str {
    &text[offset(text, (start - 1).max(0) as usize)..]
}

/// Returns `count` characters from `start` on, counted from 1; positions before the first character
/// count, too.
///
/// # Errors
/// 22011 if `count` is negative.
pub fn substring(text: &str, start: i64, count: i64) -> Result<&str> {
    check_count(count)?;
    let end = start + count;
    if end > i64::from(i32::MAX) {
        return Ok(substring_from(text, start));
    }
    let wanted = (end - start.max(1)).max(0);
    Ok(first(substring_from(text, start), wanted as usize))
}

/// Refuses a negative length of a part.
pub(crate) fn check_count(count: i64) -> Result<()> {
    if count < 0 {
        let message = "negative substring length not allowed";
        return Err(Error::new(sqlstate::SUBSTRING_ERROR, message));
    }
    Ok(())
}

pub fn lower(text: &str) -> CompactString {
    let mut result = CompactString::new(text);
    result.make_ascii_lowercase();
    result
}

pub fn upper(text: &str) -> CompactString {
    let mut result = CompactString::new(text);
    result.make_ascii_uppercase();
    result
}

#[inline]
pub fn concatenate(left: &str, right: &str) -> CompactString {
    let mut result = CompactString::with_capacity(left.len() + right.len());
    result.push_str(left);
    result.push_str(right);
    result
}

#[cold]
pub(crate) fn too_large() -> Box<Error> {
    Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "requested length too large")
}

/// Returns the padding that extends the text to `wanted` characters, or the text truncated.
fn padding<'t>(
    text: &'t str,
    wanted: i64,
    fill: &str,
) -> Result<std::result::Result<CompactString, &'t str>> {
    let wanted = wanted.max(0) as usize;
    let present = length(text) as usize;
    if wanted <= present {
        return Ok(Err(first(text, wanted)));
    }
    if fill.is_empty() {
        return Ok(Err(text));
    }
    // A character has at most four bytes.
    if wanted > BYTES_MAX / 4 {
        return Err(too_large());
    }
    Ok(Ok(fill.chars().cycle().take(wanted - present).collect()))
}

/// Pads on the left to `wanted` characters, or truncates.
///
/// # Errors
/// 54000 if the result is too long.
pub fn pad_left(text: &str, wanted: i64, fill: &str) -> Result<CompactString> {
    Ok(match padding(text, wanted, fill)? {
        Ok(filling) => concatenate(&filling, text),
        Err(cut) => cut.into(),
    })
}

/// Pads on the right to `wanted` characters, or truncates.
///
/// # Errors
/// 54000 if the result is too long.
pub fn pad_right(text: &str, wanted: i64, fill: &str) -> Result<CompactString> {
    Ok(match padding(text, wanted, fill)? {
        Ok(filling) => concatenate(text, &filling),
        Err(cut) => cut.into(),
    })
}

/// Removes leading characters that are in `set`.
pub fn trim_left<'t>(text: &'t str, set: &str) -> &'t str {
    text.trim_start_matches(|letter| set.contains(letter))
}

/// Removes trailing characters that are in `set`.
pub fn trim_right<'t>(text: &'t str, set: &str) -> &'t str {
    text.trim_end_matches(|letter| set.contains(letter))
}

/// Returns the position of `part`, counted from 1, or 0 if the text does not contain it.
pub fn position(text: &str, part: &str) -> i64 {
    text.find(part).map_or(0, |byte| length(&text[..byte]) + 1)
}

/// The field at a number, between separators; a negative number counts from the end.
///
/// # Errors
/// 22023 if the number is 0.
pub fn split_part<'t>(text: &'t str, separator: &str, at: i64) -> Result<&'t str> {
    if at == 0 {
        let message = "field position must not be zero";
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    if separator.is_empty() {
        return Ok(if at.abs() == 1 { text } else { "" });
    }
    let place = match at {
        1.. => Some(at as usize - 1),
        _ => text.split(separator).count().checked_sub(at.unsigned_abs() as usize),
    };
    Ok(place.and_then(|place| text.split(separator).nth(place)).unwrap_or_default())
}

/// Begins each word with a capital; the other letters are small.
pub fn capitals(text: &str) -> CompactString {
    let mut is_inside = false;
    let letter = |letter: char| {
        let own = match is_inside {
            true => letter.to_ascii_lowercase(),
            false => letter.to_ascii_uppercase(),
        };
        is_inside = letter.is_ascii_alphanumeric();
        own
    };
    text.chars().map(letter).collect()
}

/// Replaces each character of `from` by the one at the same place of `to`, or by nothing.
pub fn translate(text: &str, from: &str, to: &str) -> CompactString {
    let replaced = |letter: char| match from.chars().position(|own| own == letter) {
        Some(place) => to.chars().nth(place),
        None => Some(letter),
    };
    text.chars().filter_map(replaced).collect()
}

pub fn replace(text: &str, part: &str, with: &str) -> CompactString {
    if part.is_empty() {
        return text.into();
    }
    text.replace(part, with).into()
}

/// Repeats the text.
///
/// # Errors
/// 54000 if the result is too long.
pub fn repeat(text: &str, count: i64) -> Result<CompactString> {
    let count = count.max(0) as usize;
    if text.len().checked_mul(count).is_none_or(|bytes| bytes > BYTES_MAX - 4) {
        return Err(too_large());
    }
    Ok(text.repeat(count).into())
}

pub fn reverse(text: &str) -> CompactString {
    text.chars().rev().collect()
}

/// Returns the character with this code point.
///
/// # Errors
/// 22023 if the number is negative, 54000 if it is not a character.
pub fn character(number: i64) -> Result<CompactString> {
    let refuse = |message: String| Err(Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
    match u32::try_from(number) {
        Err(_) => {
            let message = "character number must be positive";
            Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message))
        }
        Ok(0) => refuse("null character not permitted".to_owned()),
        Ok(number) if number > 0x10_ffff => {
            refuse(format!("requested character too large for encoding: {number}"))
        }
        Ok(number) => match char::from_u32(number) {
            Some(letter) => Ok(CompactString::from_iter([letter])),
            None => refuse(format!("requested character not valid for encoding: {number}")),
        },
    }
}

/// Returns the code point of the first character; 0 if the text is empty.
pub fn code(text: &str) -> i64 {
    text.chars().next().map_or(0, |letter| i64::from(u32::from(letter)))
}

/// Casts to `character varying(length)`.
///
/// # Errors
/// 22001 if more than blanks would be cut and the cast is implicit.
#[inline]
pub fn fit_varchar(text: &str, length: u32, explicit: bool) -> Result<&str> {
    fit(text, length, explicit, "character varying")
}

/// Casts to `character(length)`, without trailing blanks.
///
/// # Errors
/// 22001 if more than blanks would be cut and the cast is implicit.
#[inline]
pub fn fit_char(text: &str, length: u32, explicit: bool) -> Result<&str> {
    Ok(fit(text, length, explicit, "character")?.trim_end_matches(' '))
}

/// Pads with blanks to `wanted` characters, as `character(length)` is printed.
pub fn filled(text: &str, wanted: u32) -> CompactString {
    let missing = (i64::from(wanted) - length(text)).max(0) as usize;
    let mut result = CompactString::with_capacity(text.len() + missing);
    result.push_str(text);
    result.extend(std::iter::repeat_n(' ', missing));
    result
}

#[inline]
fn fit<'t>(text: &'t str, length: u32, explicit: bool, name: &str) -> Result<&'t str> {
    let cut = first(text, length as usize);
    if explicit || cut.len() == text.len() || text[cut.len()..].bytes().all(|byte| byte == b' ') {
        return Ok(cut);
    }
    Err(too_long(name, length))
}

#[cold]
pub(crate) fn too_long(name: &str, length: u32) -> Box<Error> {
    let message = format!("value too long for type {name}({length})");
    Error::new(sqlstate::STRING_DATA_RIGHT_TRUNCATION, message)
}

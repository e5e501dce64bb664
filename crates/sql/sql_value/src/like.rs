//! `LIKE` and `ILIKE`.
//!
//! Decision: docs/decisions/0172-text-is-bytes-letters-are-ascii.md

use crate::error::{Error, Result, sqlstate};
use compact_str::CompactString;

/// A pattern with `%` only at its ends, which is matched much faster than a general pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Simple {
    /// `text`
    Is(CompactString),
    /// `text%`
    Begins(CompactString),
    /// `%text`
    Ends(CompactString),
    /// `%text%`
    Contains(CompactString),
}

impl Simple {
    /// Returns the pattern if it is one of these.
    pub fn of(pattern: &str) -> Option<Self> {
        let (open, rest) = match pattern.strip_prefix('%') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let (text, follows) = match rest.strip_suffix('%') {
            Some(text) => (text, true),
            None => (rest, false),
        };
        if text.contains(['%', '_', '\\']) {
            return None;
        }
        let text = CompactString::new(text);
        Some(match (open, follows) {
            (false, false) => Self::Is(text),
            (false, true) => Self::Begins(text),
            (true, false) => Self::Ends(text),
            (true, true) => Self::Contains(text),
        })
    }

    #[inline]
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Self::Is(wanted) => text == wanted,
            Self::Begins(wanted) => text.starts_with(wanted.as_str()),
            Self::Ends(wanted) => text.ends_with(wanted.as_str()),
            Self::Contains(wanted) => contains(text, wanted),
        }
    }
}

/// Longest text that is searched byte by byte; building a faster searcher takes longer than
/// searching this.
const SHORT_BYTES: usize = 256;

/// Whether `text` contains `wanted`.
fn contains(text: &str, wanted: &str) -> bool {
    let (bytes, sought) = (text.as_bytes(), wanted.as_bytes());
    if sought.is_empty() || bytes.len() > SHORT_BYTES {
        return text.contains(wanted);
    }
    bytes.windows(sought.len()).any(|part| part[0] == sought[0] && part == sought)
}

/// Whether `text` matches `pattern`: `%` matches any characters, `_` one character, and a backslash
/// escapes the next one. `ignores_case` folds ASCII letters only.
///
/// # Errors
/// 22025 if the pattern ends in a backslash and matching reaches it.
pub fn matches(text: &str, pattern: &str, ignores_case: bool) -> Result<bool> {
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let (mut at, mut next) = (0, 0);
    // Where to resume after a mismatch: after the last `%`, which then matches one more character.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if at == text.len() {
            return Ok(is_rest_empty(&pattern[next..]));
        }
        match pattern.get(next) {
            Some(b'%') => {
                next += 1;
                if next == pattern.len() {
                    return Ok(true);
                }
                retry = Some((at, next));
                continue;
            }
            Some(b'_') => {
                (at, next) = (after_character(text, at), next + 1);
                continue;
            }
            Some(&byte) => {
                let (wanted, length) = match (byte, pattern.get(next + 1)) {
                    (b'\\', Some(&escaped)) => (escaped, 2),
                    (b'\\', None) => return Err(ends_early()),
                    _ => (byte, 1),
                };
                if is_same(text[at], wanted, ignores_case) {
                    (at, next) = (at + 1, next + length);
                    continue;
                }
            }
            None => {}
        }
        let Some((begin, behind)) = retry else {
            return Ok(false);
        };
        at = after_character(text, begin);
        next = behind;
        retry = Some((at, behind));
    }
}

fn is_rest_empty(pattern: &[u8]) -> bool {
    pattern.iter().all(|byte| *byte == b'%')
}

fn is_same(left: u8, right: u8, ignores_case: bool) -> bool {
    if ignores_case { left.eq_ignore_ascii_case(&right) } else { left == right }
}

/// Returns the end of the character that begins at `at`.
fn after_character(text: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while text.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
        end += 1;
    }
    end
}

#[cold]
fn ends_early() -> Box<Error> {
    let message = "LIKE pattern must not end with escape character";
    Error::new(sqlstate::INVALID_ESCAPE_SEQUENCE, message)
}

//! `to_char` of numbers, with the formats supported in procedures: `FM`, `0` and `9`.

use crate::error::{Error, Result, sqlstate};
use compact_str::CompactString;

/// Formats an integer: one digit for each `0` and `9`, with leading zeros from the first `0` on,
/// one character for the sign, and `#` for each digit if the number has too many. `FM` omits
/// blanks.
///
/// # Errors
/// 0A000 if the format contains anything else.
pub fn number(number: i64, format: &str) -> Result<CompactString> {
    let (fills, places) = match format.strip_prefix("FM") {
        Some(places) => (false, places),
        None => (true, format),
    };
    if places.is_empty() || !places.bytes().all(|byte| matches!(byte, b'0' | b'9')) {
        let message = format!("the format \"{format}\" has more than FM, 0 and 9");
        return Err(Error::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    let digits = number.unsigned_abs().to_string();
    let sign = if number < 0 { "-" } else { "" };
    let zeros_from = places.find('0').unwrap_or(places.len() - 1);
    let shown = if digits.len() > places.len() {
        "#".repeat(places.len())
    } else {
        let least = if places.contains('0') { places.len() - zeros_from } else { 1 };
        format!("{digits:0>least$}")
    };
    let width = if fills { places.len() + 1 } else { 0 };
    Ok(CompactString::from(format!("{:>width$}", format!("{sign}{shown}"))))
}

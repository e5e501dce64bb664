//! `to_char` of numbers, with the patterns `FM`, `0`, `9`, `.` and `,`.

use crate::error::{Error, Result, sqlstate};
use crate::numeric;
use crate::value::Decimal;
use compact_str::CompactString;

/// The positions of digits in a format.
struct Pattern<'f> {
    fills: bool,
    /// Before the point.
    whole: &'f str,
    /// Behind it, if there is one.
    fraction: Option<&'f str>,
}

/// Formats a number: one digit for each `0` and `9`, with leading zeros from the first `0` on, one
/// character for the sign, and `#` for each digit if the number has too many. `FM` omits blanks,
/// and zeros at the end for which the format has no `0`.
///
/// # Errors
/// 0A000 if the format contains anything else.
pub fn number(number: Decimal, format: &str) -> Result<CompactString> {
    let pattern = pattern(format)?;
    let places = pattern.fraction.map_or(0, str::len);
    let rounded = numeric::round(number, places as i32)?;
    let text = numeric::text(numeric::abs(rounded));
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.trim_start_matches('0');
    let room = pattern.whole.bytes().filter(|byte| *byte != b',').count();
    let mut shown = " ".to_owned();
    if whole.len() > room {
        shown.extend(pattern.whole.chars().map(|place| if place == ',' { ',' } else { '#' }));
        shown.extend(pattern.fraction.map(|_| '.'));
        shown.push_str(&"#".repeat(places));
    } else {
        let shows_zero = pattern.fraction.is_none();
        shown.push_str(&whole_digits(whole, pattern.whole, room, shows_zero));
        if let Some(places) = pattern.fraction {
            shown.push('.');
            shown.push_str(fraction);
            if !pattern.fills {
                let kept = places.rfind('0').map_or(0, |last| last + 1);
                let end = shown.len() - (fraction.len() - kept.min(fraction.len()));
                let behind = shown[end..].trim_end_matches('0').len();
                shown.truncate(end + behind);
            }
        }
    }
    let first = shown.find(|place| place != ' ').unwrap_or(shown.len());
    if rounded.units < 0 {
        shown.replace_range(first - 1..first, "-");
    }
    Ok(CompactString::from(if pattern.fills { &shown } else { shown.trim_start() }))
}

fn pattern(format: &str) -> Result<Pattern<'_>> {
    let (fills, places) = match format.strip_prefix("FM") {
        Some(places) => (false, places),
        None => (true, format),
    };
    let (whole, fraction) = match places.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (places, None),
    };
    let is_digit = |byte: u8| matches!(byte, b'0' | b'9');
    let is_known = whole.bytes().all(|byte| is_digit(byte) || byte == b',')
        && fraction.is_none_or(|fraction| fraction.bytes().all(is_digit))
        && places.bytes().any(is_digit);
    if !is_known {
        let message = format!("the format \"{format}\" has more than FM, 0, 9, point and comma");
        return Err(Error::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(Pattern { fills, whole, fraction })
}

/// The digits before the point, with a blank in each place that has none.
fn whole_digits(digits: &str, places: &str, room: usize, shows_zero: bool) -> String {
    let mut shown = String::new();
    let (mut at, mut has_zero) = (0, false);
    for place in places.chars() {
        let began = has_zero || at > room - digits.len();
        if place == ',' {
            shown.push(if began { ',' } else { ' ' });
            continue;
        }
        has_zero |= place == '0';
        let digit = at.checked_sub(room - digits.len()).and_then(|at| digits.chars().nth(at));
        let is_last = at + 1 == room && digits.is_empty() && shows_zero;
        shown.push(digit.unwrap_or(if has_zero || is_last { '0' } else { ' ' }));
        at += 1;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As PostgreSQL prints them.
    #[test]
    fn numbers_fill_their_places() {
        for (value, format, expected) in [
            ("12.5", "9999.99", "   12.50"),
            ("-0.5", "9999.99", "    -.50"),
            ("0", "9999.99", "     .00"),
            ("0.1", "0.9", " 0.1"),
            ("1234567", "9,999,999", " 1,234,567"),
            ("12", "9,999", "    12"),
            ("12", "0,000", " 0,012"),
            ("1.50", "FM99.99", "1.5"),
            ("1", "FM99.99", "1."),
            ("1", "FM99.90", "1.00"),
            ("12345.678", "999.99", " ###.##"),
            ("99.996", "99.99", " ##.##"),
            ("0", "999", "   0"),
            ("-7", "000", "-007"),
            ("-7", "FM999", "-7"),
            ("485", "099", " 485"),
        ] {
            let value = numeric::parse(value).expect("it is a number");
            assert_eq!(number(value, format).expect("it is known"), expected, "{format}");
        }
        assert!(number(Decimal::from_int(1), "S999").is_err());
        assert!(number(Decimal::from_int(1), "FM").is_err());
    }
}

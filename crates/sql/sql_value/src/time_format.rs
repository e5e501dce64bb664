//! `to_char` of timestamps.

use crate::error::{Error, Result, sqlstate};
use crate::timestamp::{self, Fields};
use compact_str::CompactString;

/// Microseconds.
const SECOND: i64 = 1_000_000;

/// A part of a timestamp.
#[derive(Clone, Copy)]
enum Part {
    /// Number of digits.
    Year(usize),
    Month,
    Day,
    Hour,
    HalfDayHour,
    Minute,
    Second,
    SecondOfDay,
    Milliseconds,
    Microseconds,
    Quarter,
    DayOfYear,
}

/// The patterns, those before others with which they begin.
const PARTS: [(&str, Part); 15] = [
    ("YYYY", Part::Year(4)),
    ("YY", Part::Year(2)),
    ("MM", Part::Month),
    ("DDD", Part::DayOfYear),
    ("DD", Part::Day),
    ("HH24", Part::Hour),
    ("HH12", Part::HalfDayHour),
    ("HH", Part::HalfDayHour),
    ("MI", Part::Minute),
    ("SSSSS", Part::SecondOfDay),
    ("SSSS", Part::SecondOfDay),
    ("SS", Part::Second),
    ("MS", Part::Milliseconds),
    ("US", Part::Microseconds),
    ("Q", Part::Quarter),
];

impl Part {
    /// Its number, and its number of digits.
    fn number(self, fields: &Fields) -> (i64, usize) {
        let (hours, in_second) = (fields.time / (3_600 * SECOND), fields.time % SECOND);
        let days = timestamp::days_of(fields.year, fields.month, fields.day);
        match self {
            Self::Year(2) => (fields.year.rem_euclid(100), 2),
            Self::Year(digits) => (fields.year, digits),
            Self::Month => (fields.month, 2),
            Self::Day => (fields.day, 2),
            Self::Hour => (hours, 2),
            Self::HalfDayHour => ((hours + 11) % 12 + 1, 2),
            Self::Minute => (fields.time / (60 * SECOND) % 60, 2),
            Self::Second => (fields.time / SECOND % 60, 2),
            Self::SecondOfDay => (fields.time / SECOND, 1),
            Self::Milliseconds => (in_second / 1_000, 3),
            Self::Microseconds => (in_second, 6),
            Self::Quarter => ((fields.month - 1) / 3 + 1, 1),
            Self::DayOfYear => (days - timestamp::days_of(fields.year, 1, 1) + 1, 3),
        }
    }
}

/// Formats a timestamp. Signs and texts between double quotes stay; `FM` omits the zeros before the
/// next number.
///
/// # Errors
/// 0A000 if the format has other patterns.
pub fn time(time: i64, format: &str) -> Result<Option<CompactString>> {
    if timestamp::is_infinite(time) {
        return Ok(None);
    }
    let (fields, mut rest) = (Fields::of(time), format);
    if fields.year < 1 {
        return Err(unsupported(format));
    }
    let mut shown = String::new();
    let mut fills = true;
    while let Some(first) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix("FM") {
            (fills, rest) = (false, behind);
        } else if let Some((word, part)) = PARTS.iter().find(|(word, _)| rest.starts_with(word)) {
            let (number, digits) = part.number(&fields);
            let width = if fills { digits } else { 0 };
            shown.push_str(&format!("{number:0width$}"));
            (fills, rest) = (true, &rest[word.len()..]);
        } else if first == '"' {
            let (text, behind) = rest[1..].split_once('"').unwrap_or((&rest[1..], ""));
            shown.push_str(text);
            rest = behind;
        } else if first.is_alphanumeric() {
            return Err(unsupported(format));
        } else {
            shown.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    Ok(Some(CompactString::from(shown)))
}

#[cold]
fn unsupported(format: &str) -> Box<Error> {
    let message = format!("the format \"{format}\" of a time is not supported");
    let hint = "Patterns are YYYY, YY, Q, MM, DD, DDD, HH24, HH12, MI, SS, SSSS, MS, US and FM, and \
                years are those after Christ.";
    Error::new(sqlstate::FEATURE_NOT_SUPPORTED, message).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-12-01 15:04:05.006007.
    fn moment() -> i64 {
        let days = timestamp::days_of(2026, 12, 1);
        ((days * 24 + 15) * 60 + 4) * 60 * SECOND + 5 * SECOND + 6_007
    }

    #[test]
    fn patterns_are_those_of_postgresql() {
        for (format, expected) in [
            ("YYYYMMDDHH24MISS", "20261201150405"),
            ("YYYY-MM-DD\"T\"HH24:MI:SS.US", "2026-12-01T15:04:05.006007"),
            ("FMMM/FMDD/YY HH12:MI", "12/1/26 03:04"),
            ("Q DDD MS", "4 335 006"),
            ("SSSS SSSSS SSSSSSS", "54245 54245 5424505"),
        ] {
            let shown = time(moment(), format).expect("it is known");
            assert_eq!(shown.as_deref(), Some(expected));
        }
        assert_eq!(time(i64::MAX, "YYYY").expect("it is known"), None);
        assert!(time(moment(), "Month").is_err());
        let before_christ = timestamp::days_of(-5, 2, 3) * 24 * 3_600 * SECOND;
        assert!(time(before_christ, "YYYY").is_err());
    }
}

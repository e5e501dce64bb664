//! `time`: microseconds since midnight, 24:00 included [PostgreSQL 15,
//! `src/backend/utils/adt/date.c`].

use crate::error::{Error, Result, sqlstate};
use crate::timestamp::{self, DAY, HOUR, SECOND, seconds_text};
use crate::value::{Decimal, Interval, Value};
use compact_str::{CompactString, format_compact};

const TYPE: &str = "time without time zone";

/// Whether it is a time of a day.
pub fn is_valid(time: i64) -> bool {
    (0..=DAY).contains(&time)
}

/// `time + interval`: months and days do not count, and the sum stays within the day.
pub fn add(time: i64, interval: Interval) -> i64 {
    (time + interval.microseconds % DAY).rem_euclid(DAY)
}

/// `time - interval`.
pub fn subtract_interval(time: i64, interval: Interval) -> i64 {
    (time - interval.microseconds % DAY).rem_euclid(DAY)
}

/// `left - right`.
pub fn subtract(left: i64, right: i64) -> Interval {
    to_interval(left - right)
}

/// The interval since midnight.
pub fn to_interval(time: i64) -> Interval {
    Interval { months: 0, days: 0, microseconds: time }
}

/// The time of day of an interval; months and days do not count.
pub fn of_interval(interval: Interval) -> i64 {
    interval.microseconds.rem_euclid(DAY)
}

/// The time of day of a timestamp; null for an infinite one.
pub fn of_timestamp(time: i64) -> Value {
    match timestamp::is_infinite(time) {
        true => Value::Null,
        false => Value::Timestamp(time.rem_euclid(DAY)),
    }
}

/// Prints a time of day as PostgreSQL does.
pub fn text(time: i64) -> CompactString {
    let (hours, rest) = (time / HOUR, time % HOUR);
    let (minutes, seconds) = (rest / (60 * SECOND), seconds_text(rest % (60 * SECOND)));
    format_compact!("{hours:02}:{minutes:02}:{seconds}")
}

/// Returns a field of a time of day.
///
/// # Errors
/// 0A000 if times of day do not have the field.
pub fn extract(unit: &str, time: i64) -> Result<Decimal> {
    Ok(match unit {
        "hour" => Decimal::from_int(time / HOUR),
        "minute" => Decimal::from_int(time / (60 * SECOND) % 60),
        "second" => Decimal::new(i128::from(time % (60 * SECOND)), 6),
        "epoch" => Decimal::new(i128::from(time), 6),
        unit => {
            let message = format!("unit \"{unit}\" not supported for type {TYPE}");
            return Err(Error::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stay_within_the_day() {
        let hours = |hours: i64| Interval { months: 1, days: 2, microseconds: hours * HOUR };
        assert_eq!(add(23 * HOUR, hours(2)), HOUR);
        assert_eq!(add(DAY, hours(0)), 0);
        assert_eq!(subtract_interval(HOUR, hours(2)), 23 * HOUR);
        let longest = Interval { months: 0, days: 0, microseconds: i64::MIN };
        assert!(is_valid(add(0, longest)) && is_valid(subtract_interval(DAY, longest)));
        assert_eq!(of_interval(hours(-1)), 23 * HOUR);
        assert_eq!(text(DAY), "24:00:00");
        assert_eq!(text(HOUR + 1500), "01:00:00.0015");
    }
}

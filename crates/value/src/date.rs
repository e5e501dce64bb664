//! `date` [PostgreSQL 15, `src/backend/utils/adt/date.c`].

use crate::error::{Error, Result, sqlstate};
use crate::timestamp::{self, DAY};
use crate::value::Decimal;
use compact_str::{CompactString, format_compact};

/// Behind every other day.
pub const INFINITY: i32 = i32::MAX;
/// Before every other day.
pub const MINUS_INFINITY: i32 = i32::MIN;

/// The first day that PostgreSQL has (4714-11-24 BC).
const FIRST: i64 = -2_451_545;
/// The day behind its last one.
const END: i64 = 2_147_483_494 - 2_451_545;
/// The first day that has no time.
const TIMESTAMP_END: i32 = 109_203_528 - 2_451_545;

/// Whether it is before or behind all others.
pub fn is_infinite(days: i32) -> bool {
    days == INFINITY || days == MINUS_INFINITY
}

/// A number of days since 2000-01-01 as a date.
pub(crate) fn of_days(days: i64) -> Option<i32> {
    i32::try_from(days).ok().filter(|_| (FIRST..END).contains(&days))
}

/// `days + count`
///
/// # Errors
/// 22008 if the result is no date.
pub fn add_days(days: i32, count: i64) -> Result<i32> {
    if is_infinite(days) {
        return Ok(days);
    }
    of_days(i64::from(days) + count).ok_or_else(|| Error::time_out_of_range("date"))
}

/// Days from the right to the left one.
///
/// # Errors
/// 22008 if one is infinite.
pub fn subtract(left: i32, right: i32) -> Result<i64> {
    if is_infinite(left) || is_infinite(right) {
        let message = "cannot subtract infinite dates";
        return Err(Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, message));
    }
    Ok(i64::from(left) - i64::from(right))
}

/// The beginning of the day.
///
/// # Errors
/// 22008 if it is beyond the last time.
pub fn to_timestamp(days: i32) -> Result<i64> {
    match days {
        INFINITY => Ok(timestamp::INFINITY),
        MINUS_INFINITY => Ok(timestamp::MINUS_INFINITY),
        days if days >= TIMESTAMP_END => {
            let message = "date out of range for timestamp";
            Err(Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, message))
        }
        days => Ok(i64::from(days) * DAY),
    }
}

/// The day as text.
pub fn text(days: i32) -> CompactString {
    match days {
        INFINITY => CompactString::const_new("infinity"),
        MINUS_INFINITY => CompactString::const_new("-infinity"),
        days => {
            let (year, month, day) = timestamp::date_of(days.into());
            let date = timestamp::date_text(year, month, day);
            format_compact!("{date}{}", timestamp::era(year))
        }
    }
}

/// A field of the day, none of infinite ones.
///
/// # Errors
/// 0A000 if days have no such field, 22003 for the seconds of an infinite day, which our decimals cannot hold.
pub fn extract(unit: &str, days: i32) -> Result<Option<Decimal>> {
    if matches!(unit, "hour" | "minute" | "second") {
        let message = format!("unit \"{unit}\" not supported for type date");
        return Err(Error::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    if is_infinite(days) {
        return timestamp::extract(unit, timestamp::INFINITY, "date");
    }
    let days = i64::from(days);
    let number = match unit {
        "epoch" => Some((days + timestamp::EPOCH_DAYS) * (DAY / timestamp::SECOND)),
        unit => timestamp::date_field(unit, days),
    };
    Ok(number.map(Decimal::from_int))
}

//! `date` [PostgreSQL 15, `src/backend/utils/adt/date.c`].

use crate::error::{Error, Result, sqlstate};
use crate::timestamp::{self, DAY};
use crate::value::Decimal;
use compact_str::{CompactString, format_compact};

pub const INFINITY: i32 = i32::MAX;
pub const MINUS_INFINITY: i32 = i32::MIN;

/// First day that PostgreSQL supports (4714-11-24 BC).
const FIRST: i64 = -2_451_545;
/// The day after the last one that PostgreSQL supports.
const END: i64 = 2_147_483_494 - 2_451_545;
/// First day that is out of range for a timestamp.
const TIMESTAMP_END: i32 = 109_203_528 - 2_451_545;

pub fn is_infinite(days: i32) -> bool {
    days == INFINITY || days == MINUS_INFINITY
}

/// Returns days since 2000-01-01 as a date, if they are in range.
pub(crate) fn of_days(days: i64) -> Option<i32> {
    i32::try_from(days).ok().filter(|_| (FIRST..END).contains(&days))
}

/// `days + count`
///
/// # Errors
/// 22008 if the result is out of range.
pub fn add_days(days: i32, count: i64) -> Result<i32> {
    if is_infinite(days) {
        return Ok(days);
    }
    of_days(i64::from(days) + count).ok_or_else(|| Error::time_out_of_range("date"))
}

/// `left - right`, in days.
///
/// # Errors
/// 22008 if a date is infinite.
pub fn subtract(left: i32, right: i32) -> Result<i64> {
    if is_infinite(left) || is_infinite(right) {
        let message = "cannot subtract infinite dates";
        return Err(Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, message));
    }
    Ok(i64::from(left) - i64::from(right))
}

/// Returns midnight at the beginning of the day.
///
/// # Errors
/// 22008 if it is out of range for a timestamp.
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

/// Returns a field of the date; `None` for an infinite date, except for year and epoch.
///
/// # Errors
/// 0A000 if dates do not have the field, 22003 for year and epoch of an infinite date, since our
/// decimals have no infinity.
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

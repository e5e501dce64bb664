//! Timestamps and the calendar [PostgreSQL 15, `src/backend/utils/adt/timestamp.c` and
//! `datetime.c`].
//!
//! Timestamps with a zone are times of UTC. Functions of the calendar compute with the local time
//! of the session's zone, see [`crate::zone`].
//!
//! Decisions:
//! - docs/decisions/0173-the-zone-is-utc-and-relative-time-words-are-refused.md
//! - docs/decisions/0345-values-are-written-in-the-style-of-a-session.md

use crate::error::{Error, Result, sqlstate};
use crate::value::{Decimal, Interval};
use crate::zone;
use compact_str::{CompactString, format_compact};

/// Microseconds per second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds per hour.
pub const HOUR: i64 = 3600 * SECOND;
/// Microseconds per day.
pub const DAY: i64 = 24 * HOUR;
pub const INFINITY: i64 = i64::MAX;
pub const MINUS_INFINITY: i64 = i64::MIN;

/// The type's name in errors.
const ZONED: &str = "timestamp with time zone";

/// First time that PostgreSQL supports (4714-11-24 BC).
const FIRST: i64 = -211_813_488_000_000_000;
/// End of the range that PostgreSQL supports, exclusive.
const END: i64 = 9_223_371_331_200_000_000;
/// Days from 1970-01-01 to 2000-01-01.
pub(crate) const EPOCH_DAYS: i64 = 10_957;

/// Calendar fields of a timestamp. The year 1 BC is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fields {
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day of the month, from 1.
    pub day: i64,
    /// Microseconds since the day began.
    pub time: i64,
}

/// Returns days since 2000-01-01 in the proleptic Gregorian calendar.
pub fn days_of(year: i64, month: i64, day: i64) -> i64 {
    // Count years from March on, so that a leap day is the last day of its year, in cycles of 400
    // years.
    let shifted = year - i64::from(month <= 2);
    let cycle = shifted.div_euclid(400);
    let of_cycle = shifted.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = of_cycle * 365 + of_cycle / 4 - of_cycle / 100 + of_year;
    cycle * 146_097 + days - 719_468 - EPOCH_DAYS
}

/// Returns year, month and day of a number of days since 2000-01-01.
pub fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH_DAYS + 719_468;
    let cycle = days.div_euclid(146_097);
    let of_cycle = days.rem_euclid(146_097);
    let year_of_cycle = (of_cycle - of_cycle / 1460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (cycle * 400 + year_of_cycle + i64::from(month <= 2), month, day)
}

pub fn month_days(year: i64, month: i64) -> i64 {
    days_of(year + month / 12, month % 12 + 1, 1) - days_of(year, month, 1)
}

impl Fields {
    /// Returns the fields of a finite timestamp.
    pub fn of(time: i64) -> Self {
        let (year, month, day) = date_of(time.div_euclid(DAY));
        Self { year, month, day, time: time.rem_euclid(DAY) }
    }

    /// Returns the timestamp, if it is in range.
    pub fn timestamp(self) -> Option<i64> {
        let days = days_of(self.year, self.month, self.day);
        days.checked_mul(DAY)?.checked_add(self.time).filter(|time| is_valid(*time))
    }
}

/// Whether PostgreSQL supports the timestamp; infinite ones count.
pub fn is_valid(time: i64) -> bool {
    (FIRST..END).contains(&time) || is_infinite(time)
}

#[inline]
pub fn is_infinite(time: i64) -> bool {
    time == INFINITY || time == MINUS_INFINITY
}

/// Rounds to `digits` digits after the second, half away from zero.
///
/// # Errors
/// 22008 if the result is out of range.
pub fn rounded(time: i64, digits: u8) -> Result<i64> {
    let unit = 10_i64.pow(6_u32.saturating_sub(digits.into()));
    if is_infinite(time) || unit == 1 {
        return Ok(time);
    }
    let half = if time < 0 { -unit / 2 } else { unit / 2 };
    let rounded = time.saturating_add(half) / unit * unit;
    if is_valid(rounded) { Ok(rounded) } else { Err(out_of_range()) }
}

/// Returns the day; an infinite date for an infinite timestamp.
pub fn to_date(time: i64) -> i32 {
    match time {
        INFINITY => i32::MAX,
        MINUS_INFINITY => i32::MIN,
        time => time.div_euclid(DAY) as i32,
    }
}

fn out_of_range() -> Box<Error> {
    Error::time_out_of_range("timestamp")
}

/// `time + interval`: adds months first, then days, then microseconds.
///
/// # Errors
/// 22008 if the result is out of range.
pub fn add(time: i64, interval: Interval) -> Result<i64> {
    if is_infinite(time) {
        return Ok(time);
    }
    let mut fields = Fields::of(time);
    if interval.months != 0 {
        let months = fields.year * 12 + fields.month - 1 + i64::from(interval.months);
        (fields.year, fields.month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        fields.day = fields.day.min(month_days(fields.year, fields.month));
    }
    let moved = fields.timestamp().ok_or_else(out_of_range)?;
    let moved = i64::from(interval.days).checked_mul(DAY).and_then(|days| moved.checked_add(days));
    let moved = moved.filter(|moved| is_valid(*moved)).ok_or_else(out_of_range)?;
    let moved = moved.checked_add(interval.microseconds);
    moved.filter(|moved| is_valid(*moved) && !is_infinite(*moved)).ok_or_else(out_of_range)
}

/// `time - interval`.
///
/// # Errors
/// 22008 if the result is out of range.
pub fn subtract_interval(time: i64, interval: Interval) -> Result<i64> {
    add(time, crate::interval::negate(interval)?)
}

/// `left - right` in days and microseconds.
///
/// # Errors
/// 22008 if a timestamp is infinite.
pub fn subtract(left: i64, right: i64) -> Result<Interval> {
    if is_infinite(left) || is_infinite(right) {
        let message = "cannot subtract infinite timestamps";
        return Err(Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, message));
    }
    // In PostgreSQL 15, spans of more than 292 thousand years wrap around, too.
    let span = left.wrapping_sub(right);
    Ok(Interval { months: 0, days: (span / DAY) as i32, microseconds: span % DAY })
}

/// Prints a date as PostgreSQL does; [`era`] adds the suffix of years BC.
pub(crate) fn date_text(year: i64, month: i64, day: i64) -> CompactString {
    let shown = if year > 0 { year } else { 1 - year };
    format_compact!("{shown:04}-{month:02}-{day:02}")
}

/// Returns the suffix of years before the year 1.
pub(crate) fn era(year: i64) -> &'static str {
    if year > 0 { "" } else { " BC" }
}

/// Prints seconds with as few fractional digits as needed.
pub(crate) fn seconds_text(microseconds: i64) -> CompactString {
    let (seconds, fraction) = (microseconds / SECOND, microseconds % SECOND);
    if fraction == 0 {
        return format_compact!("{seconds:02}");
    }
    let mut text = format_compact!("{seconds:02}.{fraction:06}");
    text.truncate(text.trim_end_matches('0').len());
    text
}

/// An offset from Greenwich, with minutes and seconds if there are some.
fn offset_text(offset: i64) -> CompactString {
    let sign = if offset < 0 { '-' } else { '+' };
    let seconds = offset.abs() / SECOND;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (minutes, seconds) {
        (0, 0) => format_compact!("{sign}{hours:02}"),
        (_, 0) => format_compact!("{sign}{hours:02}:{minutes:02}"),
        _ => format_compact!("{sign}{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// Prints the timestamp, with the session's zone if `zoned`.
pub fn text(time: i64, zoned: bool) -> CompactString {
    match time {
        INFINITY => return CompactString::const_new("infinity"),
        MINUS_INFINITY => return CompactString::const_new("-infinity"),
        _ => {}
    }
    let offset = if zoned { zone::offset(time) } else { 0 };
    let fields = Fields::of(time.saturating_add(offset));
    let zone = if zoned { offset_text(offset) } else { CompactString::default() };
    let (hours, rest) = (fields.time / HOUR, fields.time % HOUR);
    let seconds = seconds_text(rest % (60 * SECOND));
    let date = date_text(fields.year, fields.month, fields.day);
    let minutes = rest / (60 * SECOND);
    format_compact!("{date} {hours:02}:{minutes:02}:{seconds}{zone}{}", era(fields.year))
}

/// Returns a field of the timestamp; `None` for an infinite one, except for year and epoch.
///
/// # Errors
/// 22023 if timestamps do not have the field, 22003 for year and epoch of an infinite timestamp,
/// since our decimals have no infinity.
pub fn extract(unit: &str, time: i64, type_name: &str) -> Result<Option<Decimal>> {
    if is_infinite(time) {
        return match unit {
            "epoch" | "year" => {
                let message = "value overflows numeric format";
                Err(Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message))
            }
            _ => Ok(None),
        };
    }
    let fields = Fields::of(time);
    let of_day = |unit: i64| fields.time / unit;
    Ok(Some(match unit {
        "hour" => Decimal::from_int(of_day(HOUR)),
        "minute" => Decimal::from_int(of_day(60 * SECOND) % 60),
        "second" => Decimal::new(i128::from(fields.time % (60 * SECOND)), 6),
        "epoch" => Decimal::new(i128::from(time) + i128::from(EPOCH_DAYS * DAY), 6),
        unit => match date_field(unit, time.div_euclid(DAY)) {
            Some(number) => Decimal::from_int(number),
            None => return Err(unknown_unit(unit, type_name)),
        },
    }))
}

/// As [`extract`], of the local time of a timestamp with a zone.
///
/// # Errors
/// As [`extract`].
pub fn extract_zoned(unit: &str, time: i64) -> Result<Option<Decimal>> {
    let offset = || zone::offset(time) / SECOND;
    match unit {
        "timezone" | "timezone_hour" | "timezone_minute" if is_infinite(time) => Ok(None),
        "timezone" => Ok(Some(Decimal::from_int(offset()))),
        "timezone_hour" => Ok(Some(Decimal::from_int(offset() / 3600))),
        "timezone_minute" => Ok(Some(Decimal::from_int(offset() / 60 % 60))),
        "epoch" => extract(unit, time, ZONED),
        unit => extract(unit, zone::to_local(time)?, ZONED),
    }
}

/// As [`trunc`], to a unit of the session's zone.
///
/// # Errors
/// As [`trunc`].
pub fn trunc_zoned(unit: &str, time: i64) -> Result<i64> {
    let local = zone::to_local(time)?;
    let cut = trunc(unit, local, ZONED)?;
    match cut % DAY == 0 && !is_infinite(time) {
        true => zone::to_utc(cut),
        // Within an hour that occurs twice, the time stays in its half.
        false => Ok(time - (local - cut)),
    }
}

/// `time + interval`, where days and months are those of the session's zone.
///
/// # Errors
/// 22008 if the result is out of range.
pub fn add_zoned(time: i64, interval: Interval) -> Result<i64> {
    if interval.months == 0 && interval.days == 0 {
        return add(time, interval);
    }
    let local = add(zone::to_local(time)?, Interval { microseconds: 0, ..interval })?;
    add(zone::to_utc(local)?, Interval { months: 0, days: 0, ..interval })
}

/// Returns a field of a day.
pub(crate) fn date_field(unit: &str, days: i64) -> Option<i64> {
    let (year, month, day) = date_of(days);
    // 2000-01-01 was a Saturday.
    let weekday = (days + 6).rem_euclid(7);
    Some(match unit {
        "year" if year > 0 => year,
        "year" => year - 1,
        "quarter" => (month - 1) / 3 + 1,
        "month" => month,
        "day" => day,
        "dow" => weekday,
        "isodow" if weekday == 0 => 7,
        "isodow" => weekday,
        "doy" => days - days_of(year, 1, 1) + 1,
        _ => return None,
    })
}

#[cold]
fn unknown_unit(unit: &str, type_name: &str) -> Box<Error> {
    let message = format!("unit \"{unit}\" not recognized for type {type_name}");
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// Truncates to a unit.
///
/// # Errors
/// 22023 if `unit` is not a unit of time.
pub fn trunc(unit: &str, time: i64, type_name: &str) -> Result<i64> {
    // PostgreSQL does not check the unit of infinite timestamps.
    if is_infinite(time) {
        return Ok(time);
    }
    let lower = unit.to_ascii_lowercase();
    let Fields { year, month, .. } = Fields::of(time);
    let cut = |unit: i64| time - time.rem_euclid(unit);
    let at = |year: i64, month: i64| {
        Fields { year, month, day: 1, time: 0 }.timestamp().ok_or_else(out_of_range)
    };
    let result = match &*lower {
        "microsecond" | "microseconds" | "us" | "usec" | "usecs" | "useconds" | "usecond" => time,
        "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" | "mseconds" | "msecond" => {
            cut(1000)
        }
        "second" | "seconds" | "s" | "sec" | "secs" => cut(SECOND),
        "minute" | "minutes" | "m" | "min" | "mins" => cut(60 * SECOND),
        "hour" | "hours" | "h" | "hr" | "hrs" => cut(HOUR),
        "day" | "days" | "d" => cut(DAY),
        // 2000-01-03 was a Monday.
        "week" | "weeks" | "w" => time - (time - 2 * DAY).rem_euclid(7 * DAY),
        "month" | "months" | "mon" | "mons" => at(year, month)?,
        "quarter" | "qtr" => at(year, (month - 1) / 3 * 3 + 1)?,
        "year" | "years" | "y" | "yr" | "yrs" => at(year, 1)?,
        "decade" | "decades" | "dec" | "decs" => at(year.div_euclid(10) * 10, 1)?,
        "century" | "centuries" | "c" | "cent" => at((year - 1).div_euclid(100) * 100 + 1, 1)?,
        "millennium" | "millennia" | "mil" | "mils" => {
            at((year - 1).div_euclid(1000) * 1000 + 1, 1)?
        }
        _ => return Err(unknown_unit(&lower, type_name)),
    };
    Ok(result)
}

//! `interval` [PostgreSQL 15, `src/backend/utils/adt/timestamp.c`].

use crate::error::{Error, Result, sqlstate};
use crate::timestamp::{DAY, HOUR, SECOND, seconds_text};
use crate::value::{Decimal, Interval};
use compact_str::{CompactString, format_compact};

/// Days per month, when months are converted to days.
const MONTH_DAYS: f64 = 30.0;
/// Seconds per day, when days are converted to seconds.
const DAY_SECONDS: f64 = 86_400.0;

fn out_of_range() -> Box<Error> {
    Error::time_out_of_range("interval")
}

fn checked(months: Option<i32>, days: Option<i32>, microseconds: Option<i64>) -> Result<Interval> {
    match (months, days, microseconds) {
        (Some(months), Some(days), Some(microseconds)) => {
            Ok(Interval { months, days, microseconds })
        }
        _ => Err(out_of_range()),
    }
}

/// `left + right`, part by part.
pub fn add(left: Interval, right: Interval) -> Result<Interval> {
    checked(
        left.months.checked_add(right.months),
        left.days.checked_add(right.days),
        left.microseconds.checked_add(right.microseconds),
    )
}

/// `left - right`, part by part.
pub fn subtract(left: Interval, right: Interval) -> Result<Interval> {
    checked(
        left.months.checked_sub(right.months),
        left.days.checked_sub(right.days),
        left.microseconds.checked_sub(right.microseconds),
    )
}

/// `-interval`, part by part.
pub fn negate(interval: Interval) -> Result<Interval> {
    checked(
        interval.months.checked_neg(),
        interval.days.checked_neg(),
        interval.microseconds.checked_neg(),
    )
}

/// `interval * factor`. Fractions of months become days (30 per month), fractions of days become
/// time (24 hours per day).
pub fn multiply(interval: Interval, factor: f64) -> Result<Interval> {
    scaled(interval, |part| part * factor)
}

/// `interval / divisor`.
///
/// # Errors
/// 22012 if the divisor is zero.
pub fn divide(interval: Interval, divisor: f64) -> Result<Interval> {
    if divisor == 0.0 {
        return Err(Error::division_by_zero());
    }
    scaled(interval, |part| part / divisor)
}

/// Rounds seconds to whole microseconds (`TSROUND`).
fn rounded(seconds: f64) -> f64 {
    (seconds * 1e6).round_ties_even() / 1e6
}

fn scaled(interval: Interval, scale: impl Fn(f64) -> f64) -> Result<Interval> {
    let whole = |number: f64| {
        let fits = number >= f64::from(i32::MIN) && number <= f64::from(i32::MAX);
        if fits { Ok(number as i32) } else { Err(out_of_range()) }
    };
    let (months, days) = (scale(interval.months.into()), scale(interval.days.into()));
    let mut result = Interval { months: whole(months)?, days: whole(days)?, microseconds: 0 };
    let rest_days = rounded((months - f64::from(result.months)) * MONTH_DAYS);
    let rest = days - f64::from(result.days) + rest_days - rest_days.trunc();
    let mut seconds = rounded(rest * DAY_SECONDS);
    let more = |days: i32, count: f64| days.checked_add(count as i32).ok_or_else(out_of_range);
    if seconds.abs() >= DAY_SECONDS {
        let extra = (seconds / DAY_SECONDS).trunc();
        result.days = more(result.days, extra)?;
        seconds -= extra * DAY_SECONDS;
    }
    result.days = more(result.days, rest_days)?;
    let microseconds =
        (scale(interval.microseconds as f64) + seconds * SECOND as f64).round_ties_even();
    let fits = microseconds >= i64::MIN as f64 && microseconds < -(i64::MIN as f64);
    result.microseconds = if fits { microseconds as i64 } else { return Err(out_of_range()) };
    Ok(result)
}

/// Prints the interval in the style `postgres`.
pub fn text(interval: Interval) -> CompactString {
    let mut text = CompactString::default();
    let mut before_negative = false;
    let (years, months) = (interval.months / 12, interval.months % 12);
    for (count, unit) in [(years, "year"), (months, "mon"), (interval.days, "day")] {
        if count == 0 {
            continue;
        }
        let space = if text.is_empty() { "" } else { " " };
        let sign = if before_negative && count > 0 { "+" } else { "" };
        let plural = if count == 1 { "" } else { "s" };
        text.push_str(&format_compact!("{space}{sign}{count} {unit}{plural}"));
        before_negative = count < 0;
    }
    let time = interval.microseconds;
    if time == 0 && !text.is_empty() {
        return text;
    }
    let space = if text.is_empty() { "" } else { " " };
    let sign = match (time < 0, before_negative) {
        (true, _) => "-",
        (false, true) => "+",
        (false, false) => "",
    };
    let time = time.unsigned_abs();
    let (hours, rest) = (time / HOUR as u64, (time % HOUR as u64) as i64);
    let seconds = seconds_text(rest % (60 * SECOND));
    let minutes = rest / (60 * SECOND);
    text.push_str(&format_compact!("{space}{sign}{hours:02}:{minutes:02}:{seconds}"));
    text
}

/// Returns a field of the interval.
///
/// # Errors
/// 0A000 if intervals do not have the field.
pub fn extract(unit: &str, interval: Interval) -> Result<Decimal> {
    let (months, time) = (i64::from(interval.months), interval.microseconds);
    Ok(match unit {
        "year" => Decimal::from_int(months / 12),
        "quarter" => Decimal::from_int(months % 12 / 3 + 1),
        "month" => Decimal::from_int(months % 12),
        "day" => Decimal::from_int(interval.days.into()),
        "hour" => Decimal::from_int(time / HOUR),
        "minute" => Decimal::from_int(time % HOUR / (60 * SECOND)),
        "second" => Decimal::new(i128::from(time % (60 * SECOND)), 6),
        "epoch" => {
            // A year counts as 365.25 days here.
            let quarter_days = 1461 * (months / 12) + 120 * (months % 12);
            let quarters = i128::from(quarter_days) + 4 * i128::from(interval.days);
            Decimal::new(quarters * i128::from(DAY / 4) + i128::from(time), 6)
        }
        unit => {
            let message = format!("unit \"{unit}\" not supported for type interval");
            return Err(Error::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
    })
}

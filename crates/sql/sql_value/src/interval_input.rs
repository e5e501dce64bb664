//! Parses intervals: `1 year 2 mons -3 days 04:05:06.7`, `1.5 hours`, `2 weeks ago`.

use crate::error::{Error, Result, sqlstate};
use crate::time_input::fraction_of;
use crate::timestamp::{DAY, HOUR, SECOND};
use crate::value::Interval;

/// A unit as a multiple of months, days or microseconds.
#[derive(Clone, Copy)]
enum Unit {
    Months(i64),
    Days(i64),
    Microseconds(i64),
}

/// Parses an interval.
///
/// # Errors
/// 22007 if the text is not an interval, 22015 if it is out of range.
pub fn interval(text: &str) -> Result<Interval> {
    let invalid = || {
        let message = format!("invalid input syntax for type interval: \"{text}\"");
        Error::new(sqlstate::INVALID_DATETIME_FORMAT, message)
    };
    let too_large = || {
        let message = format!("interval field value out of range: \"{text}\"");
        Error::new(sqlstate::INTERVAL_FIELD_OVERFLOW, message)
    };
    let lower = text.trim().to_ascii_lowercase();
    let mut rest = lower.strip_prefix('@').unwrap_or(&lower).trim_start();
    let backwards = rest.strip_suffix("ago");
    rest = backwards.unwrap_or(rest).trim_end();
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut parts = Parts::default();
    while !rest.is_empty() {
        rest = parts.take(rest).ok_or_else(invalid)?.trim_start();
    }
    let sign = if backwards.is_some() { -1 } else { 1 };
    let months = i32::try_from(parts.months * sign);
    let days = i32::try_from(parts.days * sign);
    match (months, days, i64::try_from(parts.microseconds * sign)) {
        (Ok(months), Ok(days), Ok(microseconds)) => Ok(Interval { months, days, microseconds }),
        _ => Err(too_large()),
    }
}

#[derive(Default)]
struct Parts {
    months: i128,
    days: i128,
    microseconds: i128,
}

impl Parts {
    /// Parses a number with its unit, or a time, at the beginning, and returns the rest.
    fn take<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let negative = text.starts_with('-');
        let sign = if negative { -1 } else { 1 };
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text).trim_start();
        let (whole, rest) = split(unsigned, |c| c.is_ascii_digit());
        if whole.len() > 18 {
            return None;
        }
        if let Some(behind) = rest.strip_prefix(':') {
            return self.take_time(whole.parse().ok()?, behind, sign);
        }
        if let Some(behind) = rest.strip_prefix('-').filter(|_| !whole.is_empty()) {
            let (months, rest) = split(behind, |c| c.is_ascii_digit());
            let months: i128 = months.parse().ok()?;
            let years: i128 = whole.parse().ok()?;
            self.months += i128::from(sign) * (years * 12 + months);
            return (months < 12).then_some(rest);
        }
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(behind) => split(behind, |c| c.is_ascii_digit()),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (name, rest) = split(rest.trim_start(), |c| c.is_ascii_alphabetic());
        let unit = unit(name)?;
        let whole = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        self.add(unit, whole, fraction, sign);
        Some(rest)
    }

    /// Parses the rest of `4:05` or `4:05:06.7`; the hours are already parsed.
    fn take_time<'t>(&mut self, hours: i128, text: &'t str, sign: i64) -> Option<&'t str> {
        let (minutes, rest) = split(text, |c| c.is_ascii_digit());
        let minutes: i128 = minutes.parse().ok()?;
        let (seconds, fraction, rest) = match rest.strip_prefix(':') {
            None => (0, 0, rest),
            Some(behind) => {
                let (seconds, rest) = split(behind, |c| c.is_ascii_digit());
                let (fraction, rest) = match rest.strip_prefix('.') {
                    Some(behind) => split(behind, |c| c.is_ascii_digit()),
                    None => ("0", rest),
                };
                (seconds.parse::<i128>().ok()?, fraction_of(fraction), rest)
            }
        };
        if minutes > 59 || seconds > 59 {
            return None;
        }
        let time = hours * i128::from(HOUR) + (minutes * 60 + seconds) * i128::from(SECOND);
        self.microseconds += i128::from(sign) * (time + i128::from(fraction));
        Some(rest)
    }

    /// Adds a number of units. A fraction of months becomes days (30 per month), a fraction of days
    /// becomes microseconds.
    fn add(&mut self, unit: Unit, whole: i128, fraction: &str, sign: i64) {
        let sign = i128::from(sign);
        let fraction: f64 = format!("0.{fraction}0").parse().unwrap_or(0.0);
        match unit {
            Unit::Months(1) => {
                self.months += sign * whole;
                self.add_days(fraction * 30.0, sign);
            }
            Unit::Months(months) => {
                let rest = (fraction * months as f64).round_ties_even() as i128;
                self.months += sign * (whole * i128::from(months) + rest);
            }
            Unit::Days(days) => {
                self.days += sign * whole * i128::from(days);
                self.add_days(fraction * days as f64, sign);
            }
            Unit::Microseconds(unit) => {
                let rest = (fraction * unit as f64).round_ties_even() as i128;
                self.microseconds += sign * (whole * i128::from(unit) + rest);
            }
        }
    }

    fn add_days(&mut self, days: f64, sign: i128) {
        self.days += sign * days.trunc() as i128;
        let rest = ((days - days.trunc()) * DAY as f64).round_ties_even();
        self.microseconds += sign * rest as i128;
    }
}

/// Splits the text after the leading characters of a kind.
fn split(text: &str, kind: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|letter| !kind(letter)).unwrap_or(text.len()))
}

/// Returns the unit of a name; seconds if the name is empty.
fn unit(name: &str) -> Option<Unit> {
    Some(match name {
        "microsecond" | "microseconds" | "us" | "usec" | "usecs" | "useconds" | "usecond" => {
            Unit::Microseconds(1)
        }
        "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" | "mseconds" | "msecond" => {
            Unit::Microseconds(1000)
        }
        "" | "second" | "seconds" | "s" | "sec" | "secs" => Unit::Microseconds(SECOND),
        "minute" | "minutes" | "m" | "min" | "mins" => Unit::Microseconds(60 * SECOND),
        "hour" | "hours" | "h" | "hr" | "hrs" => Unit::Microseconds(HOUR),
        "day" | "days" | "d" => Unit::Days(1),
        "week" | "weeks" | "w" => Unit::Days(7),
        "month" | "months" | "mon" | "mons" => Unit::Months(1),
        "year" | "years" | "y" | "yr" | "yrs" => Unit::Months(12),
        "decade" | "decades" | "dec" | "decs" => Unit::Months(120),
        "century" | "centuries" | "c" | "cent" => Unit::Months(1200),
        "millennium" | "millennia" | "mil" | "mils" => Unit::Months(12_000),
        _ => return None,
    })
}

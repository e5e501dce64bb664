//! Parses dates and times.
//!
//! The accepted formats are those that ISO 8601 and PostgreSQL itself write, with PostgreSQL's
//! special values: `2024-02-29`, `2024-02-29 13:00:05.5+02`, `20240229T130005`, `infinity`,
//! `epoch`. Names of months, other orders of the fields, abbreviations of zones, and words such as
//! `now` are refused as if they were not dates.
//!
//! Decision: docs/decisions/0173-the-zone-is-utc-and-relative-time-words-are-refused.md

use crate::date;
use crate::error::{Error, Result, sqlstate};
use crate::timestamp::{self, DAY, EPOCH_DAYS, Fields, HOUR, SECOND, days_of, month_days};
use crate::zone::{self, Zone};

/// Most digits of a time without colons: `130506`.
const TIME_DIGITS_MAX: usize = 6;

/// Why the text is not a time.
enum Fault {
    /// The syntax is wrong.
    Syntax,
    /// A field is out of range.
    Field,
    /// Month or day is out of range.
    MonthOrDay,
    Zone,
    UnknownZone,
}

type Parsed<T> = std::result::Result<T, Fault>;

impl Fault {
    fn error(self, text: &str, type_name: &str) -> Box<Error> {
        let out_of_range = || {
            let message = format!("date/time field value out of range: \"{text}\"");
            Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, message)
        };
        match self {
            Self::Syntax => {
                let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
                Error::new(sqlstate::INVALID_DATETIME_FORMAT, message)
            }
            Self::Field => out_of_range(),
            Self::MonthOrDay => {
                out_of_range().hint("Perhaps you need a different \"datestyle\" setting.")
            }
            Self::UnknownZone => {
                let name = text.trim().rsplit(' ').next().unwrap_or_default().to_lowercase();
                let message = format!("time zone \"{name}\" not recognized");
                Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
            }
            Self::Zone => {
                let message = format!("time zone displacement out of range: \"{text}\"");
                Error::new("22009", message)
            }
        }
    }
}

/// The zone behind a time.
enum WrittenZone {
    None,
    /// Microseconds east of UTC.
    Offset(i64),
    Named(Zone),
}

enum Written {
    Infinity,
    MinusInfinity,
    Epoch,
    /// `time` is that of the day, if it is written.
    Time {
        fields: Fields,
        time: Option<i64>,
        zone: WrittenZone,
    },
}

/// Parses a date; a time after it is ignored.
///
/// # Errors
/// 22007 if the text is not a date, 22008 if a field is out of range.
pub fn date(text: &str) -> Result<i32> {
    match written(text).map_err(|fault| fault.error(text, "date"))? {
        Written::Infinity => Ok(date::INFINITY),
        Written::MinusInfinity => Ok(date::MINUS_INFINITY),
        Written::Epoch => Ok(-(EPOCH_DAYS as i32)),
        Written::Time { fields, time, .. } => {
            // A time of 24:00 has made it the next day.
            let more = i64::from(time == Some(DAY));
            let days = days_of(fields.year, fields.month, fields.day) - more;
            date::of_days(days).ok_or_else(|| {
                let message = format!("date out of range: \"{text}\"");
                Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, message)
            })
        }
    }
}

/// Parses a timestamp. A zone is applied if `zoned`, and ignored otherwise.
///
/// # Errors
/// 22007 if the text is not a time, 22008 if a field is out of range.
pub fn timestamp(text: &str, zoned: bool) -> Result<i64> {
    let type_name = if zoned { "timestamp with time zone" } else { "timestamp" };
    match written(text).map_err(|fault| fault.error(text, type_name))? {
        Written::Infinity => Ok(timestamp::INFINITY),
        Written::MinusInfinity => Ok(timestamp::MINUS_INFINITY),
        Written::Epoch => Ok(-EPOCH_DAYS * DAY),
        Written::Time { fields, zone, .. } => {
            let time = fields.timestamp().and_then(|time| match zone {
                _ if !zoned => Some(time),
                WrittenZone::None => zone::to_utc(time).ok(),
                WrittenZone::Named(zone) => zone.to_utc(time).ok(),
                WrittenZone::Offset(zone) => {
                    time.checked_sub(zone).filter(|time| timestamp::is_valid(*time))
                }
            });
            time.ok_or_else(|| {
                let message = format!("timestamp out of range: \"{text}\"");
                Error::new(sqlstate::DATETIME_FIELD_OVERFLOW, message)
            })
        }
    }
}

/// Parses a time of day. A date before it and a zone behind it are ignored.
///
/// # Errors
/// 22007 if the text is not a time, 22008 if a field is out of range.
pub fn time_of_day(text: &str) -> Result<i64> {
    let lower = text.trim().to_ascii_lowercase();
    let found = match (&*lower, date_part(&lower)) {
        ("allballs", _) => Ok(0),
        // Digits without separators may be a time: `130506`.
        (lower, Ok((.., rest))) if lower.len() > TIME_DIGITS_MAX => match written(lower) {
            // PostgreSQL takes this letter in front of a time alone.
            Ok(_) if rest.starts_with('t') => Err(Fault::Syntax),
            Ok(Written::Time { time, .. }) => time.ok_or(Fault::Syntax),
            Ok(_) => Err(Fault::Syntax),
            Err(fault) => Err(fault),
        },
        (lower, _) => clock(lower.strip_prefix('t').unwrap_or(lower)).map(|(time, _)| time),
    };
    found.map_err(|fault| fault.error(text, "time"))
}

fn written(text: &str) -> Parsed<Written> {
    let lower = text.trim().to_ascii_lowercase();
    match &*lower {
        "infinity" | "+infinity" => return Ok(Written::Infinity),
        "-infinity" => return Ok(Written::MinusInfinity),
        "epoch" => return Ok(Written::Epoch),
        _ => {}
    }
    let (rest, before_christ) = match lower.strip_suffix("bc") {
        Some(rest) => (rest.trim_end(), true),
        None => (lower.strip_suffix("ad").map_or(&*lower, str::trim_end), false),
    };
    let (year_digits, month, day, rest) = date_part(rest)?;
    let year: i64 = year_digits.parse().map_err(|_| Fault::Field)?;
    if year == 0 || year > 10_000_000 {
        return Err(Fault::Field);
    }
    let year = if before_christ { 1 - year } else { year };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return Err(Fault::MonthOrDay);
    }
    if day > month_days(year, month) {
        return Err(Fault::Field);
    }
    let (written, zone) = time_part(rest)?;
    let time = written.unwrap_or(0);
    let mut fields = Fields { year, month, day, time: time % DAY };
    if time >= DAY {
        // 24:00 is the beginning of the next day.
        (fields.year, fields.month, fields.day) = timestamp::date_of(days_of(year, month, day) + 1);
    }
    Ok(Written::Time { fields, time: written, zone })
}

/// Returns the leading digits, and the rest.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

fn number(text: &str) -> Parsed<(i64, &str)> {
    let (found, rest) = digits(text);
    match found.len() {
        1..=9 => Ok((found.parse().map_err(|_| Fault::Syntax)?, rest)),
        _ => Err(Fault::Syntax),
    }
}

/// Parses `2024-02-29`, `2024/2/29` or `20240229`, and returns the rest.
fn date_part(text: &str) -> Parsed<(&str, i64, i64, &str)> {
    let (year, rest) = digits(text);
    let separator = rest.chars().next().filter(|c| matches!(c, '-' | '/' | '.'));
    let Some(separator) = separator else {
        let plain = (year.len() == 8).then(|| (year[..4].trim(), &year[4..6], &year[6..]));
        let (year, month, day) = plain.ok_or(Fault::Syntax)?;
        return Ok((year, number(month)?.0, number(day)?.0, rest));
    };
    if year.len() < 3 {
        // A first number this short would be a day or month.
        return Err(Fault::Syntax);
    }
    let (month, rest) = number(&rest[1..])?;
    let rest = rest.strip_prefix(separator).ok_or(Fault::Syntax)?;
    let (day, rest) = number(rest)?;
    Ok((year, month, day, rest))
}

/// Returns microseconds of the day if they are written, and of the zone.
fn time_part(text: &str) -> Parsed<(Option<i64>, WrittenZone)> {
    let trimmed = text.trim_start();
    if trimmed.is_empty() {
        return Ok((None, WrittenZone::None));
    }
    let marked = trimmed.strip_prefix('t');
    if marked.is_none() && trimmed.len() == text.len() && !trimmed.starts_with(['+', 'z']) {
        return Err(Fault::Syntax);
    }
    let trimmed = marked.unwrap_or(trimmed);
    if marked.is_none() && !trimmed.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok((None, zone_part(trimmed)?));
    }
    clock(trimmed).map(|(time, zone)| (Some(time), zone))
}

/// Returns microseconds of the day, and of the zone behind it.
fn clock(trimmed: &str) -> Parsed<(i64, WrittenZone)> {
    let (hours, minutes, seconds, rest) = clock_part(trimmed)?;
    let rest = rest.trim_start();
    let half = |word| {
        let behind = rest.strip_prefix(word)?;
        // Names of zones may begin with these letters.
        (!behind.starts_with(|letter: char| letter.is_ascii_alphabetic())).then_some(behind)
    };
    let (hours, rest) = match (half("am"), half("pm")) {
        (None, None) => (hours, rest),
        _ if hours > 12 => return Err(Fault::Field),
        (Some(rest), _) => (hours % 12, rest),
        (_, Some(rest)) => (hours % 12 + 12, rest),
    };
    let time = hours * HOUR + minutes * 60 * SECOND + seconds;
    if minutes > 59 || seconds > 60 * SECOND || time > DAY {
        return Err(Fault::Field);
    }
    Ok((time, zone_part(rest.trim_start())?))
}

/// Parses hours, minutes and microseconds of `13:05`, `13:05:06.7`, `1305` or `130506.7`, and
/// returns the rest.
fn clock_part(text: &str) -> Parsed<(i64, i64, i64, &str)> {
    let (found, rest) = digits(text);
    if !rest.starts_with(':') {
        let pair = |at: usize| Ok(number(found.get(at..at + 2).ok_or(Fault::Syntax)?)?.0);
        return match found.len() {
            4 => Ok((pair(0)?, pair(2)?, 0, rest)),
            6 => {
                let (seconds, rest) = seconds_part(&text[4..])?;
                Ok((pair(0)?, pair(2)?, seconds, rest))
            }
            _ => Err(Fault::Syntax),
        };
    }
    let (hours, rest) = number(text)?;
    let (minutes, rest) = number(&rest[1..])?;
    match rest.strip_prefix(':') {
        Some(rest) => seconds_part(rest).map(|(seconds, rest)| (hours, minutes, seconds, rest)),
        None => Ok((hours, minutes, 0, rest)),
    }
}

/// Parses seconds with a fraction, in microseconds.
fn seconds_part(text: &str) -> Parsed<(i64, &str)> {
    let (seconds, rest) = number(text)?;
    let Some(fraction) = rest.strip_prefix('.') else {
        return Ok((seconds * SECOND, rest));
    };
    let (found, rest) = digits(fraction);
    Ok((seconds * SECOND + fraction_of(found), rest))
}

/// Returns the digits of a fraction as millionths, rounded like a float, as PostgreSQL does.
pub(crate) fn fraction_of(digits: &str) -> i64 {
    let fraction: f64 = format!("0.{digits}").parse().unwrap_or(0.0);
    (fraction * SECOND as f64).round_ties_even() as i64
}

/// Parses `z`, `utc`, `+02`, `-05:30`, `+0530` or the name of a zone.
fn zone_part(text: &str) -> Parsed<WrittenZone> {
    let negative = match text.as_bytes().first() {
        None => return Ok(WrittenZone::None),
        Some(b'+') => false,
        Some(b'-') => true,
        _ if matches!(text, "z" | "utc" | "gmt" | "zulu" | "ut") => {
            return Ok(WrittenZone::Offset(0));
        }
        // Names without a slash could be words of other formats.
        _ if !text.contains('/') => return Err(Fault::Syntax),
        _ => return Zone::named(text).map(WrittenZone::Named).ok_or(Fault::UnknownZone),
    };
    let (found, mut rest) = digits(&text[1..]);
    let (hours, mut minutes) = match found.len() {
        1 | 2 => (number(found)?.0, 0),
        3 | 4 => {
            let (hours, minutes) = found.split_at(found.len() - 2);
            (number(hours)?.0, number(minutes)?.0)
        }
        _ => return Err(Fault::Syntax),
    };
    let mut seconds = 0;
    if let Some(behind) = rest.strip_prefix(':') {
        (minutes, rest) = number(behind)?;
        if let Some(behind) = rest.strip_prefix(':') {
            (seconds, rest) = number(behind)?;
        }
    }
    if !rest.is_empty() {
        return Err(Fault::Syntax);
    }
    if hours > 15 || minutes > 59 || seconds > 59 {
        return Err(Fault::Zone);
    }
    let zone = hours * HOUR + (minutes * 60 + seconds) * SECOND;
    Ok(WrittenZone::Offset(if negative { -zone } else { zone }))
}

//! Time zones: names of the zone database, and offsets in the form of POSIX.
//!
//! A session's zone is a part of its [`crate::style`]; without one it is UTC.
//!
//! Decision: docs/decisions/0345-values-are-written-in-the-style-of-a-session.md

use crate::error::{Error, Result, sqlstate};
use crate::style;
use crate::timestamp::{self, DAY, EPOCH_DAYS, Fields, SECOND};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

/// Microseconds of 400 years, after which the calendar is the same again.
const CYCLE: i64 = 146_097 * DAY;
/// 400 years after 2000. Later times have the rules of the time in the cycle that begins here.
const LATE: i64 = CYCLE;

/// A time zone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Zone {
    name: String,
    rules: TimeZone,
}

impl Zone {
    /// The zone with this name; the case of letters does not matter. `UTC+2` is two hours west of
    /// Greenwich, and so is `+2`, as in POSIX.
    pub fn named(name: &str) -> Option<Self> {
        if let Ok(rules) = TimeZone::get(name) {
            let own = rules.iana_name().unwrap_or(name).to_owned();
            return Some(Self { name: own, rules });
        }
        let upper = name.to_uppercase();
        // The letters in front of the offset do not matter.
        let behind = match upper.starts_with('<') {
            true => upper.split_once('>')?.1,
            false => upper.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()),
        };
        let posix = format!("<zone>{behind}");
        let rules = TimeZone::posix(&posix).ok()?;
        Some(Self { name: upper, rules })
    }

    /// The zone that is this number of seconds east of Greenwich; `None` if it is too far.
    pub fn east(seconds: i64) -> Option<Self> {
        let (hours, minutes, rest) = (seconds / 3600, seconds.abs() / 60 % 60, seconds.abs() % 60);
        if seconds.abs() > 167 * 3600 {
            return None;
        }
        let mut shown = format!("{:02}", hours.abs());
        if minutes != 0 || rest != 0 {
            shown += &format!(":{minutes:02}");
        }
        if rest != 0 {
            shown += &format!(":{rest:02}");
        }
        let (east, west) = if seconds < 0 { ('-', '+') } else { ('+', '-') };
        let name = format!("<{east}{shown}>{west}{shown}");
        Self::named(&name)
    }

    /// The name, as `SHOW TimeZone` prints it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Microseconds east of Greenwich at a time of UTC.
    pub fn offset(&self, time: i64) -> i64 {
        let time = if time > LATE { LATE + (time - LATE) % CYCLE } else { time };
        let unix = time.div_euclid(SECOND) + EPOCH_DAYS * DAY / SECOND;
        let unix = unix.max(Timestamp::MIN.as_second());
        let moment = Timestamp::from_second(unix).unwrap_or(Timestamp::MIN);
        i64::from(self.rules.to_offset(moment).seconds()) * SECOND
    }

    /// The offset of a local time. Of a time that occurs twice, PostgreSQL takes the second one,
    /// and where clocks jump forward, the offset before.
    fn offset_of_local(&self, time: i64) -> i64 {
        let offset = match civil(time).map(|local| self.rules.to_ambiguous_timestamp(local)) {
            None => return self.offset(time),
            Some(ambiguous) => match ambiguous.offset() {
                AmbiguousOffset::Unambiguous { offset } => offset,
                AmbiguousOffset::Gap { before, .. } => before,
                AmbiguousOffset::Fold { after, .. } => after,
            },
        };
        i64::from(offset.seconds()) * SECOND
    }

    /// The local time of a time of UTC.
    ///
    /// # Errors
    /// 22008 if the result is out of range.
    pub fn to_local(&self, time: i64) -> Result<i64> {
        moved(time, self.offset(time))
    }

    /// The time of UTC of a local time.
    ///
    /// # Errors
    /// 22008 if the result is out of range.
    pub fn to_utc(&self, local: i64) -> Result<i64> {
        moved(local, -self.offset_of_local(local))
    }
}

fn moved(time: i64, by: i64) -> Result<i64> {
    if timestamp::is_infinite(time) {
        return Ok(time);
    }
    let moved = time.checked_add(by).filter(|moved| timestamp::is_valid(*moved));
    moved.ok_or_else(|| Error::time_out_of_range("timestamp"))
}

/// The time for the zone's rules; `None` if it is before all rules.
fn civil(time: i64) -> Option<DateTime> {
    let time = if time > LATE { LATE + (time - LATE) % CYCLE } else { time };
    let Fields { year, month, day, time } = Fields::of(time);
    let seconds = time / SECOND;
    let year = i16::try_from(year).ok()?;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let nanoseconds = (time % SECOND * 1000) as i32;
    let parts = (month as i8, day as i8, hour as i8, minute as i8, second as i8);
    DateTime::new(year, parts.0, parts.1, parts.2, parts.3, parts.4, nanoseconds).ok()
}

/// The local time of the session.
///
/// # Errors
/// 22008 if the result is out of range.
pub fn to_local(time: i64) -> Result<i64> {
    style::with(|style| style.zone.as_ref().map(|zone| zone.to_local(time))).unwrap_or(Ok(time))
}

/// The time of UTC of a local time of the session.
///
/// # Errors
/// 22008 if the result is out of range.
pub fn to_utc(local: i64) -> Result<i64> {
    style::with(|style| style.zone.as_ref().map(|zone| zone.to_utc(local))).unwrap_or(Ok(local))
}

/// Microseconds east of Greenwich of the session's zone at a time.
pub fn offset(time: i64) -> i64 {
    style::with(|style| style.zone.as_ref().map(|zone| zone.offset(time))).unwrap_or(0)
}

/// The zone of `AT TIME ZONE`.
///
/// # Errors
/// 22023 if there is no such zone.
pub fn find(name: &str) -> Result<Zone> {
    Zone::named(name).ok_or_else(|| {
        let message = format!("time zone \"{name}\" not recognized");
        Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timestamp::HOUR;

    #[test]
    fn names_are_shown_as_postgresql_shows_them() {
        let shown = |name| Zone::named(name).map(|zone| zone.name().to_owned());
        assert_eq!(shown("europe/berlin").as_deref(), Some("Europe/Berlin"));
        assert_eq!(shown("utc+2").as_deref(), Some("UTC+2"));
        assert_eq!(shown("Nowhere/Town"), None);
        assert_eq!(Zone::east(7200).map(|zone| zone.name), Some("<+02>-02".to_owned()));
        assert_eq!(Zone::east(-19_800).map(|zone| zone.name), Some("<-05:30>+05:30".to_owned()));
        assert_eq!(Zone::named("+02").expect("it is an offset").offset(0), -2 * HOUR);
    }

    #[test]
    fn clocks_jump() {
        let berlin = Zone::named("Europe/Berlin").expect("it is in the database");
        let at = |month, day, time| {
            Fields { year: 2024, month, day, time }.timestamp().expect("it is in range")
        };
        let half_past_two = 2 * HOUR + HOUR / 2;
        // 02:30 does not occur on 31 March, and twice on 27 October.
        let offset = |local| local - berlin.to_utc(local).expect("it is in range");
        assert_eq!(offset(at(3, 31, half_past_two)), HOUR);
        assert_eq!(offset(at(10, 27, half_past_two)), HOUR);
        assert_eq!(offset(at(7, 1, half_past_two)), 2 * HOUR);
        assert_eq!(berlin.to_local(timestamp::INFINITY), Ok(timestamp::INFINITY));
    }
}

//! Dates and points in time.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Days from 1970-01-01 to 2000-01-01.
const EPOCH_DAYS: i64 = 10_957;
const DAY_SECONDS: i64 = 24 * 60 * 60;
const SECOND_MICROSECONDS: i64 = 1_000_000;
const DAY_MICROSECONDS: i64 = DAY_SECONDS * SECOND_MICROSECONDS;

/// A date of the Gregorian calendar, as days since 2000-01-01.
///
/// The feature `time` converts from and to the types of the crate [time](https://docs.rs/time).
///
/// ```
/// use namdb::Date;
///
/// let date = Date::from_ymd(2026, 2, 28).expect("a day of that month");
/// assert_eq!(Date(date.0 + 1).to_string(), "2026-03-01");
/// assert_eq!("2026-02-28".parse(), Ok(date));
/// assert_eq!(Date::from_ymd(2026, 2, 29), None);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i32);

impl Date {
    /// The date of this year, month (1 to 12) and day (1 to 31); `None` if there is no such day, or
    /// it does not fit.
    /// [`Date`] has an example.
    pub fn from_ymd(year: i32, month: u8, day: u8) -> Option<Self> {
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        let days = days_of(i64::from(year), i64::from(month), i64::from(day));
        let date = Self(i32::try_from(days).ok()?);
        // The 30th of February is another day.
        (date.year_month_day() == (year, month, day)).then_some(date)
    }

    /// Year, month and day.
    ///
    /// ```
    /// let date: namdb::Date = "2026-02-28".parse()?;
    /// assert_eq!(date.year_month_day(), (2026, 2, 28));
    /// # Ok::<(), namdb::calendar::ParseTimeError>(())
    /// ```
    pub fn year_month_day(self) -> (i32, u8, u8) {
        // Counted from 0000-03-01, leap days are the last days of their years.
        let days = i64::from(self.0) + EPOCH_DAYS + 719_468;
        let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        (year as i32, month as u8, day as u8)
    }
}

/// Days from 2000-01-01 to a day of a month.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468 - EPOCH_DAYS
}

impl fmt::Debug for Date {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for Date {
    /// As ISO 8601: `2026-02-28`; years beyond four digits have a sign.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.year_month_day();
        let text = match year {
            0..=9999 => format!("{year:04}-{month:02}-{day:02}"),
            _ => format!("{year:+05}-{month:02}-{day:02}"),
        };
        formatter.pad(&text)
    }
}

/// Why a text is no date or point in time.
///
/// ```
/// let refused = "2026-02-30".parse::<namdb::Date>().expect_err("there is no such day");
/// assert!(refused.to_string().contains("2026-02-30"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{text:?} is not a {wanted}, or is out of range")]
#[non_exhaustive]
pub struct ParseTimeError {
    /// The text's first characters.
    pub text: String,
    /// The wanted form, with an example.
    pub wanted: &'static str,
}

impl ParseTimeError {
    fn new(text: &str, wanted: &'static str) -> Self {
        Self { text: text.chars().take(40).collect(), wanted }
    }
}

impl FromStr for Date {
    type Err = ParseTimeError;

    /// Reads what [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<Self, ParseTimeError> {
        parse_date(text).ok_or_else(|| ParseTimeError::new(text, "date such as 2026-02-28"))
    }
}

fn parse_date(text: &str) -> Option<Date> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let mut parts = digits.split('-');
    let year: i32 = number(parts.next()?, 4..=7)?;
    let (month, day) = (number(parts.next()?, 2..=2)?, number(parts.next()?, 2..=2)?);
    if parts.next().is_some() {
        return None;
    }
    Date::from_ymd(sign * year, month, day)
}

/// A number with this number of digits, without a sign.
fn number<T: FromStr>(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<T> {
    let fits = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| fits)
}

/// A point in time, as microseconds since 2000-01-01 00:00 UTC.
///
/// It converts from and to [`SystemTime`], and with the feature `time` from and to
/// `time::OffsetDateTime`.
///
/// ```
/// use namdb::Timestamp;
///
/// let noon: Timestamp = "2026-02-28 12:00:00Z".parse()?;
/// assert_eq!(Timestamp(noon.0 + 1_500_000).to_string(), "2026-02-28 12:00:01.5Z");
/// # Ok::<(), namdb::calendar::ParseTimeError>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The date in UTC, and the microseconds since its midnight.
    ///
    /// ```
    /// let noon: namdb::Timestamp = "2026-02-28 12:00:00Z".parse()?;
    /// let (date, microseconds) = noon.date_and_microseconds();
    /// assert_eq!((date.to_string().as_str(), microseconds), ("2026-02-28", 12 * 3_600_000_000));
    /// # Ok::<(), namdb::calendar::ParseTimeError>(())
    /// ```
    pub fn date_and_microseconds(self) -> (Date, i64) {
        let days = self.0.div_euclid(DAY_MICROSECONDS);
        (Date(days as i32), self.0.rem_euclid(DAY_MICROSECONDS))
    }

    /// The point in time this long after midnight UTC; `None` if it does not fit.
    ///
    /// ```
    /// use namdb::{Date, Timestamp};
    ///
    /// let start = Timestamp::from_date_and_microseconds(Date(0), 1_500_000);
    /// assert_eq!(start.map(|time| time.to_string()).as_deref(), Some("2000-01-01 00:00:01.5Z"));
    /// ```
    pub fn from_date_and_microseconds(date: Date, microseconds: i64) -> Option<Self> {
        // The first day that has some points in time begins before them.
        let midnight = i128::from(date.0) * i128::from(DAY_MICROSECONDS);
        i64::try_from(midnight + i128::from(microseconds)).ok().map(Self)
    }

    /// Microseconds since 1970.
    pub(crate) fn unix_microseconds(self) -> i128 {
        i128::from(self.0) + i128::from(EPOCH_DAYS * DAY_MICROSECONDS)
    }

    pub(crate) fn from_unix_microseconds(microseconds: i128) -> Option<Self> {
        let since_2000 = microseconds - i128::from(EPOCH_DAYS * DAY_MICROSECONDS);
        i64::try_from(since_2000).ok().map(Self)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for Timestamp {
    /// As `2026-02-28 12:00:01.5Z`, with as many digits of the second as it needs.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, microseconds) = self.date_and_microseconds();
        let (seconds, rest) =
            (microseconds / SECOND_MICROSECONDS, microseconds % SECOND_MICROSECONDS);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let fraction = match rest {
            0 => String::new(),
            _ => format!(".{rest:06}").trim_end_matches('0').to_owned(),
        };
        formatter.pad(&format!("{date} {hour:02}:{minute:02}:{second:02}{fraction}Z"))
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimeError;

    /// Reads what [`Display`](fmt::Display) writes, also with a `T` for the blank. The time is in
    /// UTC, so it ends with `Z`.
    fn from_str(text: &str) -> Result<Self, ParseTimeError> {
        let wanted = "point in time such as 2026-02-28 12:00:01.5Z";
        parse_timestamp(text).ok_or_else(|| ParseTimeError::new(text, wanted))
    }
}

fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let (date, time) = text.strip_suffix('Z')?.split_once([' ', 'T'])?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = time.split(':').map(|part| number::<i64>(part, 2..=2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let digits: i64 = number(fraction, 1..=6)?;
    let microseconds = digits * 10_i64.pow(6 - fraction.len() as u32);
    let seconds = (hour * 60 + minute) * 60 + second;
    let since_midnight = seconds * SECOND_MICROSECONDS + microseconds;
    Timestamp::from_date_and_microseconds(parse_date(date)?, since_midnight)
}

/// A point in time is too far away for the other type.
///
/// ```
/// use namdb::{Timestamp, calendar::TimeOutOfRange};
/// use std::time::{Duration, UNIX_EPOCH};
///
/// let far = UNIX_EPOCH + Duration::from_secs(u64::MAX >> 4);
/// assert_eq!(Timestamp::try_from(far), Err(TimeOutOfRange));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the point in time is out of the type's range")]
pub struct TimeOutOfRange;

impl TryFrom<SystemTime> for Timestamp {
    type Error = TimeOutOfRange;

    /// Cuts off what is below a microsecond.
    fn try_from(time: SystemTime) -> Result<Self, TimeOutOfRange> {
        let microseconds = match time.duration_since(UNIX_EPOCH) {
            Ok(after) => after.as_micros() as i128,
            Err(before) => -(before.duration().as_nanos().div_ceil(1000) as i128),
        };
        Self::from_unix_microseconds(microseconds).ok_or(TimeOutOfRange)
    }
}

impl TryFrom<Timestamp> for SystemTime {
    type Error = TimeOutOfRange;

    fn try_from(time: Timestamp) -> Result<Self, TimeOutOfRange> {
        let microseconds = time.unix_microseconds();
        let distance = u64::try_from(microseconds.unsigned_abs()).map_err(|_| TimeOutOfRange)?;
        let distance = Duration::from_micros(distance);
        let time = match microseconds < 0 {
            true => UNIX_EPOCH.checked_sub(distance),
            false => UNIX_EPOCH.checked_add(distance),
        };
        time.ok_or(TimeOutOfRange)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let known = [
            (0, "2000-01-01"),
            (-1, "1999-12-31"),
            (59, "2000-02-29"),
            (60, "2000-03-01"),
            (-10_957, "1970-01-01"),
            (-36_524, "1900-01-01"),
            (-730_485, "0000-01-01"),
            (-730_486, "-0001-12-31"),
            (2_921_940, "+10000-01-01"),
        ];
        for (days, text) in known {
            assert_eq!((Date(days).to_string(), text.parse()), (text.to_owned(), Ok(Date(days))));
        }
        for days in [i32::MIN, i32::MAX, -146_097, 146_097].into_iter().chain(-800_000..-797_000) {
            let (year, month, day) = Date(days).year_month_day();
            assert_eq!(Date::from_ymd(year, month, day), Some(Date(days)));
            assert_eq!(Date(days).to_string().parse(), Ok(Date(days)));
        }
    }

    #[test]
    fn days_that_are_none_are_refused() {
        let days = [(2026, 2, 29), (1900, 2, 29), (2026, 4, 31), (2026, 0, 1), (2026, 13, 1)];
        for (year, month, day) in days.into_iter().chain([(2026, 1, 0), (i32::MAX, 1, 1)]) {
            assert_eq!(Date::from_ymd(year, month, day), None);
        }
        for text in ["", "2026", "2026-1-1", "2026-01-01-01", "26-01-01", "2026-01-+1", "\u{e9}"] {
            let refused = text.parse::<Date>().expect_err("it is no date").to_string();
            assert!(refused.contains("is not a date such as 2026-02-28"), "{refused}");
        }
    }

    #[test]
    fn points_in_time_are_those_of_the_clock() {
        let known = [
            (0, "2000-01-01 00:00:00Z"),
            (-1, "1999-12-31 23:59:59.999999Z"),
            (1_500_000, "2000-01-01 00:00:01.5Z"),
            (-946_684_800_000_000, "1970-01-01 00:00:00Z"),
        ];
        for (microseconds, text) in known {
            let time = Timestamp(microseconds);
            assert_eq!((time.to_string(), text.parse()), (text.to_owned(), Ok(time)));
            let system = SystemTime::try_from(time).expect("the clock has it");
            assert_eq!(Timestamp::try_from(system), Ok(time));
        }
        for time in [Timestamp(i64::MIN), Timestamp(i64::MAX)] {
            assert_eq!(time.to_string().parse(), Ok(time));
        }
        let before = UNIX_EPOCH - Duration::from_nanos(1);
        assert_eq!(
            Timestamp::try_from(before),
            "1969-12-31T23:59:59.999999Z".parse().map_err(|_| TimeOutOfRange)
        );
        for text in
            ["2000-01-01", "2000-01-01 00:00:00", "2000-01-01 24:00:00Z", "2000-01-01 00:00Z"]
        {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }
}

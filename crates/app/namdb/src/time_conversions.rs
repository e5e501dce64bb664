//! Conversions from and to the types of the crate `time`.

use crate::calendar::{Date, TimeOutOfRange, Timestamp};

impl From<time::Date> for Date {
    fn from(date: time::Date) -> Self {
        let day = Self::from_ymd(date.year(), date.month().into(), date.day());
        day.expect("years of the crate time have at most six digits")
    }
}

impl TryFrom<Date> for time::Date {
    type Error = TimeOutOfRange;

    fn try_from(date: Date) -> Result<Self, TimeOutOfRange> {
        let (year, month, day) = date.year_month_day();
        let month = time::Month::try_from(month).map_err(|_| TimeOutOfRange)?;
        Self::from_calendar_date(year, month, day).map_err(|_| TimeOutOfRange)
    }
}

impl TryFrom<time::OffsetDateTime> for Timestamp {
    type Error = TimeOutOfRange;

    /// Cuts off what is below a microsecond, and keeps the point in time but not the offset.
    fn try_from(time: time::OffsetDateTime) -> Result<Self, TimeOutOfRange> {
        let microseconds = time.unix_timestamp_nanos().div_euclid(1000);
        Self::from_unix_microseconds(microseconds).ok_or(TimeOutOfRange)
    }
}

impl TryFrom<Timestamp> for time::OffsetDateTime {
    type Error = TimeOutOfRange;

    /// The point in time in UTC.
    fn try_from(time: Timestamp) -> Result<Self, TimeOutOfRange> {
        let nanoseconds = time.unix_microseconds() * 1000;
        Self::from_unix_timestamp_nanos(nanoseconds).map_err(|_| TimeOutOfRange)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_the_same_days() {
        let day = time::Date::from_calendar_date(2026, time::Month::November, 28);
        let day = day.expect("it is in the calendar");
        assert_eq!(Date::from(day).to_string(), "2026-11-28");
        assert_eq!(time::Date::try_from(Date::from(day)), Ok(day));
        assert_eq!(Date::from(time::Date::MIN).to_string(), time::Date::MIN.to_string());
        assert_eq!(time::Date::try_from(Date(i32::MAX)), Err(TimeOutOfRange));
    }

    #[test]
    fn times_are_the_same_points() {
        let time: Timestamp = "1969-12-31 23:59:59.5Z".parse().expect("it is a time");
        let other = time::OffsetDateTime::try_from(time).expect("it has this time");
        assert_eq!(other, time::OffsetDateTime::UNIX_EPOCH - time::Duration::milliseconds(500));
        let east = other.to_offset(time::UtcOffset::from_hms(2, 0, 0).expect("an offset"));
        assert_eq!(Timestamp::try_from(east), Ok(time));
        let below = other + time::Duration::nanoseconds(999);
        assert_eq!(Timestamp::try_from(below), Ok(time));
        assert_eq!(time::OffsetDateTime::try_from(Timestamp(i64::MAX)), Err(TimeOutOfRange));
    }
}

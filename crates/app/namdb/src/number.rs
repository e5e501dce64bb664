//! Decimal numbers, dates and points in time.

/// A decimal number with `SCALE` digits after the decimal point, as an integer of its smallest
/// unit: with a scale of 2, 12.34 is `Decimal(1234)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal<const SCALE: u8>(pub i64);

/// A date, as days since 2000-01-01.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i32);

/// A point in time, as microseconds since 2000-01-01 00:00 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl<const SCALE: u8> From<i64> for Decimal<SCALE> {
    fn from(units: i64) -> Self {
        Self(units)
    }
}

impl From<i32> for Date {
    fn from(days: i32) -> Self {
        Self(days)
    }
}

impl From<i64> for Timestamp {
    fn from(microseconds: i64) -> Self {
        Self(microseconds)
    }
}

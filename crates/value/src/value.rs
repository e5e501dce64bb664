//! A value of SQL.

use compact_str::CompactString;
use std::rc::Rc;

/// A value. Its type is known from where it stands; only what operations need of it stands in the value itself.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Null, of any type.
    Null,
    /// `boolean`.
    Bool(bool),
    /// `smallint`, `integer` and `bigint`.
    Int(i64),
    /// `numeric`.
    Numeric(Decimal),
    /// `double precision`.
    Float(f64),
    /// `text`, `character varying`, and `character` without the blanks at its end.
    Text(CompactString),
    /// `bytea`.
    Bytes(Rc<[u8]>),
    /// `date`, in days since 1970-01-01.
    Date(i32),
    /// `timestamp` with and without time zone, in microseconds since 1970-01-01. The session's zone is UTC.
    Timestamp(i64),
    /// `interval`.
    Interval(Interval),
    /// An array of one dimension; positions count from 1.
    Array(Rc<[Value]>),
    /// A row.
    Row(Rc<[Value]>),
}

/// A decimal: `units` times ten to the power of minus `scale`. 38 digits at most, PostgreSQL has more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decimal {
    /// The digits, with the sign.
    pub units: i128,
    /// Digits behind the point that are shown, as PostgreSQL's display scale.
    pub scale: u8,
}

/// A span of time; its parts are not converted into each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interval {
    /// Months.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub microseconds: i64,
}

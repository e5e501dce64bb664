//! SQL values.
//!
//! Decision: docs/decisions/0205-values-have-32-bytes-and-a-stop-one-word.md

use crate::json::Json;
use compact_str::CompactString;
use std::sync::Arc;

/// A value. Its type is known from the expression or column; the value stores only what operations
/// need.
///
/// The tag is a whole word. It costs no space, since decimals and texts already take three words.
/// With a one-byte tag the bytes beside it would belong to the value for some variants, so that
/// every copy would be made of overlapping pieces, and a later load of a whole word would stall on
/// store forwarding.
#[derive(Clone, PartialEq, Debug)]
#[repr(u64)]
pub enum Value {
    Null,
    /// `boolean`.
    Bool(bool),
    /// `smallint`, `integer` and `bigint`.
    Int(i64),
    Numeric(Decimal),
    /// `double precision`, and `real`, see [`crate::real`].
    Float(f64),
    /// `text`, `character varying`, and `character` without its trailing blanks.
    Text(CompactString),
    /// `bytea`.
    Bytes(Arc<[u8]>),
    Uuid([u8; 16]),
    /// `jsonb`. A `json` is a text.
    Json(Arc<Json>),
    /// `date`, in days since 2000-01-01, as in rows. The largest and smallest numbers are the
    /// infinite dates.
    Date(i32),
    /// `timestamp` with and without time zone, in microseconds since 2000-01-01, as in rows. The
    /// session's zone is UTC. The largest and smallest numbers are the infinite timestamps.
    Timestamp(i64),
    Interval(Interval),
    /// An array of one dimension; positions count from 1.
    Array(Arc<[Value]>),
    Row(Arc<[Value]>),
}

/// A decimal: `units` * 10^-`scale`. It has at most 38 digits; PostgreSQL has more.
///
/// Aligned to 8 bytes, since values are moved more often than they are computed with: a value takes
/// 32 bytes this way, and 48 otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(Rust, packed(8))]
pub struct Decimal {
    /// The digits, with the sign.
    pub units: i128,
    /// Digits after the decimal point, PostgreSQL's display scale.
    pub scale: u8,
}

/// A span of time; months, days and microseconds are not converted into each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interval {
    pub months: i32,
    pub days: i32,
    pub microseconds: i64,
}

const _: () = assert!(size_of::<Value>() == 32 && size_of::<Option<Value>>() == 32);

impl Value {
    pub fn text(text: &str) -> Self {
        Self::Text(CompactString::new(text))
    }

    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether it owns no heap memory, so that dropping it does nothing.
    #[inline]
    fn is_plain(&self) -> bool {
        match self {
            Self::Text(text) => !text.is_heap_allocated(),
            Self::Bytes(_) | Self::Json(_) | Self::Array(_) | Self::Row(_) => false,
            _ => true,
        }
    }

    /// Replaces this value. Most values own no heap memory; checking that inline is faster than a
    /// call of the drop function.
    #[inline]
    pub fn put(&mut self, value: Self) {
        if !self.is_plain() {
            *self = value;
            return;
        }
        // Write numbers field by field, as they were computed: loading a whole value right after
        // would stall on store forwarding.
        let old = match value {
            Self::Int(number) => std::mem::replace(self, Self::Int(number)),
            Self::Numeric(number) => std::mem::replace(self, Self::Numeric(number)),
            value => std::mem::replace(self, value),
        };
        std::mem::forget(old);
    }

    /// Appends it to a list, writing numbers field by field as [`Value::put`] does.
    #[inline]
    pub fn append_to(self, list: &mut Vec<Self>) {
        match self {
            Self::Int(number) => list.push(Self::Int(number)),
            Self::Numeric(number) => list.push(Self::Numeric(number)),
            Self::Timestamp(time) => list.push(Self::Timestamp(time)),
            Self::Null => list.push(Self::Null),
            value => list.push(value),
        }
    }

    /// Whether it is true; null is not.
    #[inline]
    pub fn is_true(&self) -> bool {
        matches!(self, Self::Bool(true))
    }

    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    #[inline]
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    #[inline]
    pub fn as_numeric(&self) -> Option<Decimal> {
        match self {
            Self::Numeric(number) => Some(*number),
            _ => None,
        }
    }

    #[inline]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<Decimal> for Value {
    fn from(number: Decimal) -> Self {
        Self::Numeric(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<Json> for Value {
    fn from(json: Json) -> Self {
        Self::Json(Arc::new(json))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<CompactString> for Value {
    fn from(text: CompactString) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

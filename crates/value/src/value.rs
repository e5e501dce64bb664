//! A value of SQL.

use compact_str::CompactString;
use std::sync::Arc;

/// A value. Its type is known from where it stands; only what operations need of it stands in the value itself.
///
/// Its kind takes a word, which costs nothing, since decimals and texts have three: of a kind in one byte those beside it belong
/// to the value for some kinds, are copied in pieces that overlap for all, and are waited for by whoever reads them as a word.
#[derive(Clone, PartialEq, Debug)]
#[repr(u64)]
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
    Bytes(Arc<[u8]>),
    /// `date`, in days since 2000-01-01, as in rows. The greatest and least numbers are the infinite dates.
    Date(i32),
    /// `timestamp` with and without time zone, in microseconds since 2000-01-01, as in rows. The session's zone is UTC. The
    /// greatest and least numbers are the infinite times.
    Timestamp(i64),
    /// `interval`.
    Interval(Interval),
    /// An array of one dimension; positions count from 1.
    Array(Arc<[Value]>),
    /// A row.
    Row(Arc<[Value]>),
}

/// A decimal: `units` times ten to the power of minus `scale`. 38 digits at most, PostgreSQL has more.
///
/// Aligned as a word is, since values are moved more often than anything else is done with them: a value has 32 bytes so,
/// and 48 otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(Rust, packed(8))]
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

const _: () = assert!(size_of::<Value>() == 32 && size_of::<Option<Value>>() == 32);

impl Value {
    /// A text.
    pub fn text(text: &str) -> Self {
        Self::Text(CompactString::new(text))
    }

    /// Whether it is null.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether it has no memory of its own, so that nothing has to be done when it goes.
    #[inline]
    fn is_plain(&self) -> bool {
        match self {
            Self::Text(text) => !text.is_heap_allocated(),
            Self::Bytes(_) | Self::Array(_) | Self::Row(_) => false,
            _ => true,
        }
    }

    /// Puts another value in its place. Most have no memory of their own: to see that here is faster than to have a function
    /// drop them.
    #[inline]
    pub fn put(&mut self, value: Self) {
        if !self.is_plain() {
            *self = value;
            return;
        }
        // Numbers piece by piece, as they were made: one that is moved as a whole is waited for.
        let old = match value {
            Self::Int(number) => std::mem::replace(self, Self::Int(number)),
            Self::Numeric(number) => std::mem::replace(self, Self::Numeric(number)),
            value => std::mem::replace(self, value),
        };
        std::mem::forget(old);
    }

    /// Appends it to a list, as [`Value::put`] puts it in a place.
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

    /// The truth value, if it is one.
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The integer, if it is one.
    #[inline]
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The decimal, if it is one.
    #[inline]
    pub fn as_numeric(&self) -> Option<Decimal> {
        match self {
            Self::Numeric(number) => Some(*number),
            _ => None,
        }
    }

    /// The text, if it is one.
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

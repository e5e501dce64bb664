//! Columns: their types, how long a value may be, and values as dynamic code passes them around.

use serde::{Deserialize, Serialize};

/// Text and bytes with a larger maximal length are kept out of line, behind a pointer and a length.
pub const INLINE_LENGTH_MAX: u32 = 1024;
/// Largest maximal length of a column.
pub const COLUMN_LENGTH_MAX: u32 = 1024 * 1024;

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ColumnType {
    /// Two-byte integer.
    Int2,
    /// Four-byte integer.
    Int4,
    /// Eight-byte integer.
    Int8,
    /// Truth value.
    Bool,
    /// Eight-byte float.
    Float8,
    /// Exact decimal, kept as an eight-byte integer of units of 10^-scale.
    Decimal {
        /// Digits after the point.
        scale: u8,
    },
    /// Text of at most this many bytes, blanks at the end not significant.
    Char(u32),
    /// Text of at most this many bytes.
    Varchar(u32),
    /// Bytes, at most this many.
    Bytes(u32),
    /// Days since 2000-01-01.
    Date,
    /// Microseconds since 2000-01-01 00:00 UTC.
    Timestamp,
}

impl ColumnType {
    /// Bytes of a fixed-width value, or `None` for text and bytes.
    pub const fn fixed_bytes(self) -> Option<u32> {
        match self {
            Self::Bool => Some(1),
            Self::Int2 => Some(2),
            Self::Int4 | Self::Date => Some(4),
            Self::Int8 | Self::Float8 | Self::Decimal { .. } | Self::Timestamp => Some(8),
            Self::Char(_) | Self::Varchar(_) | Self::Bytes(_) => None,
        }
    }

    /// The maximal length of text and bytes, 0 for other types.
    pub const fn length_max(self) -> u32 {
        match self {
            Self::Char(length) | Self::Varchar(length) | Self::Bytes(length) => length,
            _ => 0,
        }
    }

    /// Bytes of the value as a user counts them: maximal length for text.
    pub const fn raw_bytes(self) -> u32 {
        match self.fixed_bytes() {
            Some(bytes) => bytes,
            None => self.length_max(),
        }
    }

    pub(crate) const fn is_out_of_line(self) -> bool {
        self.length_max() > INLINE_LENGTH_MAX
    }
}

/// A column of a table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Column {
    /// The column's name, unique in its table.
    pub name: String,
    /// Its type.
    pub column_type: ColumnType,
    /// Whether it may be null.
    pub nullable: bool,
}

impl Column {
    /// A column that is never null.
    pub fn new(name: &str, column_type: ColumnType) -> Self {
        Self { name: name.to_owned(), column_type, nullable: false }
    }

    /// A column that may be null.
    pub fn nullable(name: &str, column_type: ColumnType) -> Self {
        Self { nullable: true, ..Self::new(name, column_type) }
    }
}

/// A value of a column, as dynamic code passes it around.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// SQL's null.
    Null,
    /// Any integer, date (days), timestamp (microseconds), decimal (scaled), or 0/1 for bool.
    Int(i64),
    /// A float.
    Float(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

/// Whether `value` fits a signed integer of `bytes` bytes.
pub(crate) fn int_fits(value: i64, bytes: u32) -> bool {
    let unused = 64 - 8 * bytes;
    value << unused >> unused == value
}

//! Columns: their types and maximal lengths, and values for dynamic code.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Text and bytes with a larger maximal length are stored out of line, behind a pointer and a
/// length; those of a column with [`Column::in_row`] only if they are longer than that.
pub const INLINE_LENGTH_MAX: u32 = 1024;
/// Upper bound on the maximal length of a column.
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
    /// Exact decimal, stored as an eight-byte integer in units of 10^-scale.
    Decimal {
        /// Digits after the point.
        scale: u8,
    },
    /// Text of at most this many bytes; trailing blanks are not significant.
    Char(u32),
    /// Text of at most this many bytes.
    Varchar(u32),
    /// At most this many bytes.
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

    /// Bytes of a value without encoding: for text and bytes the maximal length.
    pub const fn raw_bytes(self) -> u32 {
        match self.fixed_bytes() {
            Some(bytes) => bytes,
            None => self.length_max(),
        }
    }
}

/// A column of a table.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The column's name, unique in its table.
    pub name: String,
    pub column_type: ColumnType,
    /// Whether it may be null.
    pub nullable: bool,
    /// Of text and bytes outside the key: values of up to this many bytes are stored in the row,
    /// longer ones out of line. The room is rounded up to whole words, at least 4. `None`: the
    /// maximal length alone decides, see [`INLINE_LENGTH_MAX`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_row: Option<u8>,
    /// In place of `in_row`: room for exactly this many bytes, at any byte of the row. At least
    /// the 24 bytes of a reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packed: Option<u16>,
}

/// Without the room in the row where there is none: the fingerprints of generated code are made of
/// this text.
impl fmt::Debug for Column {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut column = formatter.debug_struct("Column");
        column.field("name", &self.name);
        column.field("column_type", &self.column_type);
        column.field("nullable", &self.nullable);
        if let Some(bytes) = self.in_row {
            column.field("in_row", &bytes);
        }
        if let Some(bytes) = self.packed {
            column.field("packed", &bytes);
        }
        column.finish()
    }
}

impl Column {
    /// A column that is never null.
    pub fn new(name: &str, column_type: ColumnType) -> Self {
        Self { name: name.to_owned(), column_type, nullable: false, in_row: None, packed: None }
    }

    /// A column that may be null.
    pub fn nullable(name: &str, column_type: ColumnType) -> Self {
        Self { nullable: true, ..Self::new(name, column_type) }
    }

    /// The same column with room for short values in the row: see [`Column::in_row`].
    #[must_use]
    pub fn with_in_row(self, bytes: u8) -> Self {
        Self { in_row: Some(bytes), ..self }
    }

    /// The same column with room for exactly this many bytes in the row: see [`Column::packed`].
    #[must_use]
    pub fn with_packed(self, bytes: u16) -> Self {
        Self { packed: Some(bytes), ..self }
    }

    /// The room for short values that was declared, if any.
    pub fn room(&self) -> Option<u32> {
        self.packed.map(u32::from).or(self.in_row.map(u32::from))
    }

    /// Whether the row has a cell that refers to a value out of line.
    pub(crate) fn is_out_of_line(&self) -> bool {
        self.room().is_some() || self.column_type.length_max() > INLINE_LENGTH_MAX
    }
}

/// A column's value for dynamic code.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    Null,
    /// Any integer, date (days), timestamp (microseconds), decimal (scaled), or 0/1 for bool.
    Int(i64),
    Float(f64),
    Text(String),
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

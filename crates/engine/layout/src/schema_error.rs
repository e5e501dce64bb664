//! Why a schema, a row or a key is refused.

use crate::column::{COLUMN_LENGTH_MAX, INLINE_LENGTH_MAX};
use crate::key::KEY_WORDS_MAX;
use crate::schema::{COLUMNS_MAX, NAME_BYTES_MAX, PACKED_ROOM, PAYLOAD_BYTES_MAX};

/// Why a schema or a row was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Too many columns, or none.
    #[error("table {table} has {count} columns; a table has 1 to {COLUMNS_MAX}")]
    ColumnCount { table: String, count: usize },
    /// A name is empty, too long, or has control characters.
    #[error(
        "the name {name:?} of {what} has {bytes} bytes; a name has 1 to {NAME_BYTES_MAX}, and no control characters"
    )]
    Name {
        /// The kind of object, with its article.
        what: &'static str,
        /// The beginning of the name.
        name: String,
        bytes: usize,
    },
    /// Two columns share a name.
    #[error("table {table} names column {column} twice")]
    DuplicateColumn { table: String, column: String },
    /// The key has no columns, or one that does not exist.
    #[error(
        "a key of table {table} must name at least one of its columns, each once, none out of line"
    )]
    KeyColumns { table: String },
    /// The encoded key is too long.
    #[error(
        "a key of table {table} takes {bytes} bytes; at most {} fit, so shorten its text columns",
        KEY_WORDS_MAX * 8
    )]
    KeyTooLong { table: String, bytes: u32 },
    /// The payload is too long.
    #[error(
        "a row of table {table} takes {bytes} bytes; at most {PAYLOAD_BYTES_MAX} fit, so give long columns a maximal length over {INLINE_LENGTH_MAX} to keep them out of line"
    )]
    RowTooLong { table: String, bytes: u32 },
    /// A column's maximal length is out of range.
    #[error(
        "column {column} of table {table} has maximal length {length}; 1 to {COLUMN_LENGTH_MAX} is allowed"
    )]
    ColumnLength { table: String, column: String, length: u32 },
    /// The room for short values of a column is out of range.
    #[error(
        "column {column} of table {table}: in_row is {bytes}; 1 to less than the maximal length, here {length}, is allowed for text and bytes"
    )]
    InRow { table: String, column: String, bytes: u32, length: u32 },
    /// The packed room for short values of a column is out of range.
    #[error(
        "column {column} of table {table}: packed is {bytes}; {} to {} is allowed",
        PACKED_ROOM.start(),
        PACKED_ROOM.end()
    )]
    Packed { table: String, column: String, bytes: u16 },
    /// A value does not fit its column.
    #[error("column {column} of table {table} cannot hold this value: {reason}")]
    Value { table: String, column: String, reason: String },
    /// A row or key has the wrong number of values.
    #[error("table {table} needs {expected} values here, {found} were given")]
    ValueCount {
        table: String,
        /// Number of values required.
        expected: usize,
        /// Number of values given.
        found: usize,
    },
    /// A key was built from other columns than those of its table or index.
    #[error(
        "a key of {owner} has {expected} words, this one has {found}: it is built from all key columns in order, each as wide as its type"
    )]
    KeyWords {
        owner: String,
        /// Words required.
        expected: u32,
        /// Words given.
        found: u32,
    },
    /// A key was built from columns with other types than those of its table or index.
    #[error(
        "a key of {owner} takes {expected} bytes, this one was built of {found}: each column is as wide as its type"
    )]
    KeyBytes {
        owner: String,
        /// Bytes required.
        expected: u32,
        /// Bytes given.
        found: u32,
    },
}

//! Why a schema, a row or a key is refused, in one sentence each.

use crate::column::{COLUMN_LENGTH_MAX, INLINE_LENGTH_MAX};
use crate::key::KEY_WORDS_MAX;
use crate::schema::{COLUMNS_MAX, NAME_BYTES_MAX, PAYLOAD_BYTES_MAX};

/// Why a schema or a row was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Too many columns, or none.
    #[error("table {table} has {count} columns; a table has 1 to {COLUMNS_MAX}")]
    ColumnCount {
        /// Table name.
        table: String,
        /// Columns given.
        count: usize,
    },
    /// A name is empty, very long, or has characters that are not shown.
    #[error(
        "the name {name:?} of {what} has {bytes} bytes; a name has 1 to {NAME_BYTES_MAX}, and no control characters"
    )]
    Name {
        /// What it names, with its article.
        what: &'static str,
        /// Its beginning.
        name: String,
        /// Its bytes.
        bytes: usize,
    },
    /// Two columns share a name.
    #[error("table {table} names column {column} twice")]
    DuplicateColumn {
        /// Table name.
        table: String,
        /// The name.
        column: String,
    },
    /// The key names a column that is not there, or none.
    #[error(
        "a key of table {table} must name at least one of its columns, each once, none out of line"
    )]
    KeyColumns {
        /// Table name.
        table: String,
    },
    /// The encoded key is too long.
    #[error(
        "a key of table {table} takes {bytes} bytes; at most {} fit, so shorten its text columns",
        KEY_WORDS_MAX * 8
    )]
    KeyTooLong {
        /// Table name.
        table: String,
        /// Bytes needed.
        bytes: u32,
    },
    /// The payload is too long.
    #[error(
        "a row of table {table} takes {bytes} bytes; at most {PAYLOAD_BYTES_MAX} fit, so give long columns a maximal length over {INLINE_LENGTH_MAX} to keep them out of line"
    )]
    RowTooLong {
        /// Table name.
        table: String,
        /// Bytes needed.
        bytes: u32,
    },
    /// A column's maximal length is absurd.
    #[error(
        "column {column} of table {table} has maximal length {length}; 1 to {COLUMN_LENGTH_MAX} is allowed"
    )]
    ColumnLength {
        /// Table name.
        table: String,
        /// Column name.
        column: String,
        /// Length given.
        length: u32,
    },
    /// A value does not fit its column.
    #[error("column {column} of table {table} cannot hold this value: {reason}")]
    Value {
        /// Table name.
        table: String,
        /// Column name.
        column: String,
        /// What is wrong.
        reason: String,
    },
    /// A row or key has the wrong number of values.
    #[error("table {table} wants {expected} values here, {found} were given")]
    ValueCount {
        /// Table name.
        table: String,
        /// Values wanted.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// A key was built from other columns than those of the table or index that it is used with.
    #[error(
        "a key of {owner} has {expected} words, this one has {found}: it is built from all key columns in order, each as wide as its type"
    )]
    KeyWords {
        /// The table or index.
        owner: String,
        /// Words wanted.
        expected: u32,
        /// Words given.
        found: u32,
    },
    /// A key was built from columns of other types than those of the table or index that it is used with.
    #[error(
        "a key of {owner} takes {expected} bytes, this one was built of {found}: each column is as wide as its type"
    )]
    KeyBytes {
        /// The table or index.
        owner: String,
        /// Bytes wanted.
        expected: u32,
        /// Bytes given.
        found: u32,
    },
}

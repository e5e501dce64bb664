//! The reason why a file is not a history that can be judged: one sentence, with the position.

use std::fmt;

/// A file that is not a history, with the position of the error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// The column, in bytes from 1.
    pub column: usize,
    pub what: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}: {}", self.line, self.column, self.what)
    }
}

impl std::error::Error for ParseError {}

/// A history that was read, but cannot be judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HistoryError {
    /// Two writes of one value to one key: a read of it would not determine its writer.
    ValueTwice {
        /// The key, as in the file.
        key: String,
        value: i64,
        /// The lines of the two transactions.
        lines: (u32, u32),
    },
}

impl fmt::Display for HistoryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::ValueTwice { key, value, lines: (first, second) } = self;
        write!(
            formatter,
            "lines {first} and {second} both write {value} to key {key}; \
             every write to a key needs a unique value, because reads identify their writer by it"
        )
    }
}

impl std::error::Error for HistoryError {}

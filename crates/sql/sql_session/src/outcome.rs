//! Results of statements.

use crate::error::Severity;
use crate::session::OpenQuery;
use sql::SqlType;
use sql::procedure::Level;
use sql_value::Value;

/// A column of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnDescription {
    pub name: String,
    pub sql_type: SqlType,
    /// The number of the table that the column is of, and the column's number from 1; zeros if it
    /// is computed.
    pub table: u32,
    pub attribute: i16,
}

impl ColumnDescription {
    /// See [`crate::oid::of_type`].
    pub fn type_oid(&self) -> u32 {
        crate::oid::of_type(&self.sql_type)
    }

    /// See [`crate::oid::length`].
    pub fn type_length(&self) -> i16 {
        crate::oid::length(&self.sql_type)
    }

    /// See [`crate::oid::modifier`].
    pub fn type_modifier(&self) -> i32 {
        crate::oid::modifier(&self.sql_type)
    }
}

/// Rows of equal width.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RowSet {
    width: usize,
    count: usize,
    values: Vec<Value>,
}

impl RowSet {
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it does not have the width of the others.
    pub fn push(&mut self, row: impl IntoIterator<Item = Value>) {
        self.values.extend(row);
        self.count += 1;
        assert_eq!(self.values.len(), self.count * self.width, "rows have equal widths");
    }

    /// A row.
    ///
    /// # Panics
    /// If `at` is out of bounds.
    pub fn row(&self, at: usize) -> &[Value] {
        &self.values[at * self.width..(at + 1) * self.width]
    }

    /// The values of a column.
    pub(crate) fn column_mut(&mut self, at: usize) -> impl Iterator<Item = &mut Value> {
        self.values.iter_mut().skip(at).step_by(self.width.max(1))
    }

    pub fn iter(&self) -> impl Iterator<Item = &[Value]> {
        (0..self.count).map(|at| self.row(at))
    }
}

/// A message that is not an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    pub severity: Severity,
    pub sqlstate: String,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
}

impl From<interpreter::Notice> for Notice {
    fn from(notice: interpreter::Notice) -> Self {
        let severity = match notice.level {
            Level::Debug => Severity::Debug,
            Level::Log => Severity::Log,
            Level::Info => Severity::Info,
            Level::Warning => Severity::Warning,
            Level::Notice | Level::Exception => Severity::Notice,
        };
        let sqlstate = if severity == Severity::Warning { "01000" } else { "00000" }.to_owned();
        Self { severity, sqlstate, message: notice.message, detail: None, hint: None }
    }
}

/// The result of a statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// The text has no statement.
    Empty,
    /// Rows, with the command tag, such as `SELECT 3`. Their columns are those of
    /// [`Prepared::columns`](crate::Prepared::columns).
    Rows { rows: RowSet, tag: String },
    /// The first rows of a query; [`SqlSession::fetch`](crate::SqlSession::fetch) returns the
    /// others. Only [`SqlSession::open`](crate::SqlSession::open) returns this.
    Part { rows: RowSet, open: OpenQuery },
    /// The command tag only, such as `INSERT 0 3`.
    Done { tag: String },
    /// The client now sends data, see [`SqlSession::copy_data`](crate::SqlSession::copy_data).
    CopyIn(CopyFormat),
    /// Data for the client, see [`SqlSession::copy_out`](crate::SqlSession::copy_out).
    CopyOut(CopyFormat),
}

/// The format of data to copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyFormat {
    pub direction: CopyDirection,
    pub columns: usize,
    /// Whether the format is PostgreSQL's binary one.
    pub is_binary: bool,
}

/// Where copied data goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyDirection {
    /// From the client into a table.
    In,
    /// From a table or query to the client.
    Out,
}

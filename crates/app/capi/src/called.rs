//! A call: what its functions do, and the memory that they keep for C to read.
//!
//! Decision: docs/decisions/0221-the-outcome-of-a-call-is-a-value-and-misuse-is-an-error.md

use crate::failure::{Failure, c_text};
use namdb::procedures::{Argument, Call, CallFailure, Rows};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::rc::Rc;

/// The outcome of a call, `namdb_outcome` of the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Outcome {
    /// The call has not been executed.
    NotMade = 0,
    /// The transaction committed.
    Committed = 1,
    /// The transaction had no effect, because the engine aborted it.
    Aborted = 2,
    /// The transaction had no effect, because of an SQL error.
    Refused = 3,
    /// It is unknown whether the transaction took effect.
    Unknown = 4,
}

/// A call, and the texts that C may read.
pub struct Called {
    call: Call,
    /// Set while a call of the session runs. If it is set when a call begins, an earlier call has
    /// panicked.
    is_running: Rc<Cell<bool>>,
    outcome: Outcome,
    sqlstate: CString,
    reason: CString,
    is_contention: bool,
    columns: Vec<CString>,
    types: Vec<CString>,
    /// Values that were read as text since the call was executed.
    texts: BTreeMap<(usize, usize), CString>,
}

impl Called {
    /// Creates a call that has not been executed.
    pub fn new(call: Call, is_running: Rc<Cell<bool>>) -> Self {
        let columns = &call.signature().columns;
        Self {
            columns: columns.iter().map(|column| c_text(&column.name)).collect(),
            types: columns.iter().map(|column| c_text(&column.sql_type.name())).collect(),
            call,
            is_running,
            outcome: Outcome::NotMade,
            sqlstate: CString::default(),
            reason: CString::default(),
            is_contention: false,
            texts: BTreeMap::new(),
        }
    }

    /// The library's call.
    pub fn call(&mut self) -> &mut Call {
        &mut self.call
    }

    /// Binds a value to a parameter.
    pub fn bind(&mut self, position: i32, value: Argument) -> Result<(), Failure> {
        let count = self.call.signature().parameters.len();
        let position = usize::try_from(position).map_err(|_| {
            Failure::new(format!(
                "there is no parameter at position {position}: positions count from 0 to {}, and namdb_parameter returns -1 for an \
                 unknown name",
                count.saturating_sub(1)
            ))
        })?;
        self.call.bind(position, value)?;
        Ok(())
    }

    /// Executes the call; the error says why it did not commit.
    pub fn execute(&mut self) -> Result<(), Failure> {
        self.texts.clear();
        (self.sqlstate, self.reason) = (CString::default(), CString::default());
        (self.outcome, self.is_contention) = (Outcome::NotMade, false);
        if self.is_running.replace(true) {
            return Err(Failure::new(
                "an earlier call of this session has failed inside namdb; close the session and open another one",
            ));
        }
        // After a panic the outcome is unknown.
        self.outcome = Outcome::Unknown;
        let ended = self.call.execute().map(drop);
        self.is_running.set(false);
        match ended {
            Ok(()) => {
                self.outcome = Outcome::Committed;
                Ok(())
            }
            Err(failure) => {
                self.note(&failure);
                Err(failure.into())
            }
        }
    }

    fn note(&mut self, failure: &CallFailure) {
        self.outcome = match failure {
            CallFailure::Aborted { reason, .. } => {
                self.reason = c_text(reason.name());
                self.is_contention = reason.is_retryable();
                Outcome::Aborted
            }
            CallFailure::Refused { sqlstate, .. } => {
                self.sqlstate = c_text(sqlstate);
                Outcome::Refused
            }
            CallFailure::Unknown => Outcome::Unknown,
            CallFailure::Statement(_) => {
                self.reason = c_text("statement");
                Outcome::Aborted
            }
            _ => Outcome::NotMade,
        };
    }

    /// The outcome of the last execution.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The SQLSTATE if the outcome is `Refused`, else empty.
    pub fn sqlstate(&self) -> &CStr {
        &self.sqlstate
    }

    /// The name of the abort reason if the outcome is `Aborted`, else empty.
    pub fn reason(&self) -> &CStr {
        &self.reason
    }

    /// Whether the last execution was aborted because of contention.
    pub fn is_contention(&self) -> bool {
        self.is_contention
    }

    /// Number of retries of the last execution.
    pub fn retries(&self) -> u32 {
        self.call.retries()
    }

    /// The rows of the last execution.
    pub fn rows(&self) -> Rows<'_> {
        self.call.rows()
    }

    /// The name of a column; `None` if there is no such column.
    pub fn column_name(&self, column: i32) -> Option<&CStr> {
        self.columns.get(usize::try_from(column).ok()?).map(CString::as_c_str)
    }

    /// The type of a column; `None` if there is no such column.
    pub fn column_type(&self, column: i32) -> Option<&CStr> {
        self.types.get(usize::try_from(column).ok()?).map(CString::as_c_str)
    }

    /// Returns a value as text, which is kept until the next execution; `None` if it is null.
    pub fn text(&mut self, row: usize, column: i32) -> Result<Option<&CStr>, Failure> {
        let column = column_position(column)?;
        let Some(text) = self.call.rows().text(row, column)? else { return Ok(None) };
        let text = c_text(&text);
        let kept = self.texts.entry((row, column)).or_insert(text);
        Ok(Some(kept))
    }
}

/// Converts the position of a column from C.
pub fn column_position(column: i32) -> Result<usize, Failure> {
    usize::try_from(column).map_err(|_| {
        Failure::new(format!(
            "there is no column {column}: positions count from 0, and namdb_column returns -1 for an unknown name"
        ))
    })
}

/// Converts a position for C.
pub fn position(found: usize) -> i32 {
    i32::try_from(found).expect("there are fewer parameters and columns")
}

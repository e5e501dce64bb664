//! A call: what its functions do, and what they keep for C to read.

use crate::failure::{Failure, c_text};
use namdb::procedures::{Argument, Call, CallFailure, Rows};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::rc::Rc;

/// How a call ended, as `namdb_outcome` has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Outcome {
    /// It was not made.
    NotMade = 0,
    /// It committed.
    Committed = 1,
    /// Nothing of it took effect, for a reason of the engine.
    Aborted = 2,
    /// Nothing of it took effect, for a reason of its data.
    Refused = 3,
    /// Nobody knows.
    Unknown = 4,
}

/// A call, and what C may read of it.
pub struct Called {
    call: Call,
    /// Set while a call of the session runs: who finds it set knows that one has panicked.
    is_running: Rc<Cell<bool>>,
    outcome: Outcome,
    sqlstate: CString,
    reason: CString,
    is_contention: bool,
    columns: Vec<CString>,
    types: Vec<CString>,
    /// Values that were read as texts since the call was made.
    texts: BTreeMap<(usize, usize), CString>,
}

impl Called {
    /// A call that is not made yet.
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

    /// The call.
    pub fn call(&mut self) -> &mut Call {
        &mut self.call
    }

    /// Binds a value.
    pub fn bind(&mut self, position: i32, value: Argument) -> Result<(), Failure> {
        let count = self.call.signature().parameters.len();
        let position = usize::try_from(position).map_err(|_| {
            Failure::new(format!(
                "there is no parameter at position {position}: they are counted from 0 to {}, and namdb_parameter gives -1 for a name \
                 that there is not",
                count.saturating_sub(1)
            ))
        })?;
        self.call.bind(position, value)?;
        Ok(())
    }

    /// Makes the call; a sentence says why it did not commit.
    pub fn execute(&mut self) -> Result<(), Failure> {
        self.texts.clear();
        (self.sqlstate, self.reason) = (CString::default(), CString::default());
        (self.outcome, self.is_contention) = (Outcome::NotMade, false);
        if self.is_running.replace(true) {
            return Err(Failure::new(
                "an earlier call of this session has failed inside namdb; close the session and open another one",
            ));
        }
        // After a panic nobody knows what became of it.
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

    /// How it ended.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The code of the error that it was refused with; empty if it was not.
    pub fn sqlstate(&self) -> &CStr {
        &self.sqlstate
    }

    /// The name of the reason that it was aborted for; empty if it was not.
    pub fn reason(&self) -> &CStr {
        &self.reason
    }

    /// Whether that was contention.
    pub fn is_contention(&self) -> bool {
        self.is_contention
    }

    /// Attempts beyond the first.
    pub fn retries(&self) -> u32 {
        self.call.retries()
    }

    /// Its rows.
    pub fn rows(&self) -> Rows<'_> {
        self.call.rows()
    }

    /// The name of a column.
    pub fn column_name(&self, column: i32) -> Option<&CStr> {
        self.columns.get(usize::try_from(column).ok()?).map(CString::as_c_str)
    }

    /// The type of a column.
    pub fn column_type(&self, column: i32) -> Option<&CStr> {
        self.types.get(usize::try_from(column).ok()?).map(CString::as_c_str)
    }

    /// A value as text, which stays until the call is made again; none if it is null.
    pub fn text(&mut self, row: usize, column: i32) -> Result<Option<&CStr>, Failure> {
        let column = column_position(column)?;
        let Some(text) = self.call.rows().text(row, column)? else { return Ok(None) };
        let text = c_text(&text);
        let kept = self.texts.entry((row, column)).or_insert(text);
        Ok(Some(kept))
    }
}

/// A column as the library counts it.
pub fn column_position(column: i32) -> Result<usize, Failure> {
    usize::try_from(column).map_err(|_| {
        Failure::new(format!(
            "there is no column {column}: they are counted from 0, and namdb_column gives -1 for a name that there is not"
        ))
    })
}

/// A position as C has it.
pub fn position(found: usize) -> i32 {
    i32::try_from(found).expect("there are fewer parameters and columns")
}

//! The values that an expression reads during evaluation.
//!
//! Decisions:
//! - docs/decisions/0174-evaluation-of-an-expression-does-not-wait.md
//! - docs/decisions/0205-values-have-32-bytes-and-a-stop-one-word.md

use crate::error::{Error, Result};
use crate::value::{Decimal, Value};
use sql::expression::ColumnRef;
use sql::function::Function;

/// The source of all values that an expression does not contain itself.
pub trait Scope {
    /// A variable of the procedure, by its position. A record variable is a row, or null before the
    /// first assignment.
    fn variable(&self, variable: usize) -> &Value;

    /// A column of a row; [`ColumnRef`] and the current plan say which.
    ///
    /// # Errors
    ///
    /// The stored bytes are not a value of the column's type.
    fn column(&self, column: ColumnRef) -> Result<Value>;

    /// An integer column; `None` if it is null. Implementations may read the row directly, which is
    /// faster.
    #[inline]
    fn int_column(&self, column: ColumnRef) -> Option<i64> {
        self.column(column).ok()?.as_int()
    }

    /// A decimal column; `None` if it is null. Implementations may read the row directly, which is
    /// faster.
    #[inline]
    fn numeric_column(&self, column: ColumnRef) -> Option<Decimal> {
        self.column(column).ok()?.as_numeric()
    }

    /// The current element of the array that a plan iterates over.
    fn element(&self) -> &Value;

    /// The first column of a sub plan's rows. `None` if the sub plan has not been executed for this
    /// row: evaluation then ends with [`Stop::Needs`], and the caller executes the plan and
    /// evaluates again. A plan under `EXISTS` may return one row only, and a scalar plan two.
    fn sub_plan(&self, plan: usize) -> Option<&[Value]>;

    /// The result of an aggregate of the current group, by its position in the list that
    /// [`crate::Formula::of_group`] filled.
    fn aggregate(&self, aggregate: usize) -> &Value;

    /// Start of the transaction, in microseconds since 2000-01-01 UTC.
    fn now(&self) -> i64;

    /// Current time, in microseconds since 2000-01-01 UTC.
    fn clock(&self) -> i64;

    /// A random number in [0, 1).
    fn random(&self) -> f64;

    /// Calls a function of sequences, or one that draws unpredictable bytes.
    ///
    /// # Errors
    ///
    /// That of the function. Only SQL sessions have such functions.
    fn sequence(&self, function: Function, _arguments: &[Value]) -> Result<Value> {
        Err(Error::new("0A000", format!("{} is not supported here", function.name())))
    }
}

/// Why an evaluation stopped.
#[derive(Clone, PartialEq, Debug)]
pub enum Stop {
    /// PostgreSQL raises this error, too.
    Error(Box<Error>),
    /// The sub plan with this number must be executed first, see [`Scope::sub_plan`].
    Needs(usize),
}

impl From<Box<Error>> for Stop {
    fn from(error: Box<Error>) -> Self {
        Self::Error(error)
    }
}

impl From<Box<Error>> for Box<Stop> {
    #[cold]
    fn from(error: Box<Error>) -> Self {
        Self::new(Stop::Error(error))
    }
}

/// A scope with a clock and nothing else, for constants and column defaults.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing {
    /// Start of the transaction, and current time.
    pub now: i64,
}

impl Scope for Nothing {
    fn variable(&self, _variable: usize) -> &Value {
        &Value::Null
    }

    fn column(&self, _column: ColumnRef) -> Result<Value> {
        Ok(Value::Null)
    }

    fn element(&self) -> &Value {
        &Value::Null
    }

    fn sub_plan(&self, _plan: usize) -> Option<&[Value]> {
        None
    }

    fn aggregate(&self, _aggregate: usize) -> &Value {
        &Value::Null
    }

    fn now(&self) -> i64 {
        self.now
    }

    fn clock(&self) -> i64 {
        self.now
    }

    fn random(&self) -> f64 {
        0.0
    }
}

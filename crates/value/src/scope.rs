//! What an expression is evaluated over.

use crate::error::{Error, Result};
use crate::value::{Decimal, Value};
use sql::expression::ColumnRef;

/// Where the values come from that an expression does not have in itself.
pub trait Scope {
    /// A variable of the procedure, by its position. That of a record is a row, or null as long as it has none.
    fn variable(&self, variable: usize) -> &Value;

    /// A column of a row; see [`ColumnRef`] and the plan at hand for which.
    ///
    /// # Errors
    ///
    /// What stands there is no value of the column's type.
    fn column(&self, column: ColumnRef) -> Result<Value>;

    /// A column of an integer type, none if it is null. Reading it from the row directly is faster.
    #[inline]
    fn int_column(&self, column: ColumnRef) -> Option<i64> {
        self.column(column).ok()?.as_int()
    }

    /// A decimal column, none if it is null. Reading it from the row directly is faster.
    #[inline]
    fn numeric_column(&self, column: ColumnRef) -> Option<Decimal> {
        self.column(column).ok()?.as_numeric()
    }

    /// The element at hand of an array that a plan goes through.
    fn element(&self) -> &Value;

    /// The first column of the rows of a sub plan, or none if it has not been carried out for this row yet; evaluation then
    /// ends with [`Stop::Needs`], the caller carries it out, and evaluates again. A plan that is only asked whether it has
    /// rows may deliver one, and one that is a value, two.
    fn sub_plan(&self, plan: usize) -> Option<&[Value]>;

    /// The result of an aggregate of the group at hand, by its position in what [`crate::Formula::of_group`] collected.
    fn aggregate(&self, aggregate: usize) -> &Value;

    /// When the transaction began, in microseconds since 2000-01-01 UTC.
    fn now(&self) -> i64;

    /// The present moment, in microseconds since 2000-01-01 UTC.
    fn clock(&self) -> i64;

    /// A number from 0 to 1, 1 left out.
    fn random(&self) -> f64;
}

/// Why an evaluation has no result.
#[derive(Clone, PartialEq, Debug)]
pub enum Stop {
    /// The error that PostgreSQL gives, too.
    Error(Box<Error>),
    /// The rows of a sub plan are wanted, see [`Scope::sub_plan`].
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

/// A scope without anything: of constants, and of defaults of columns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing {
    /// When the transaction began, and the present moment.
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

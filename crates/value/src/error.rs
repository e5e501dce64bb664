//! Errors as PostgreSQL reports them: a code, and sentences that are its own.

use std::borrow::Cow;
use std::fmt;

/// What an expression gives, or why it gives nothing. The error is boxed, so that a result travels in registers.
pub type Result<T> = std::result::Result<T, Box<Error>>;

/// An error with PostgreSQL's code and words [PostgreSQL 15, appendix A].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Five letters and digits.
    pub sqlstate: Cow<'static, str>,
    /// What is wrong.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

/// Codes of errors that expressions have.
pub mod sqlstate {
    /// A division by zero.
    pub const DIVISION_BY_ZERO: &str = "22012";
    /// A number beyond its type.
    pub const NUMERIC_VALUE_OUT_OF_RANGE: &str = "22003";
    /// Text longer than its type.
    pub const STRING_DATA_RIGHT_TRUNCATION: &str = "22001";
    /// Text that cannot be read as a value of a type.
    pub const INVALID_TEXT_REPRESENTATION: &str = "22P02";
    /// Text that cannot be read as a date or time.
    pub const INVALID_DATETIME_FORMAT: &str = "22007";
    /// A date or time beyond its type.
    pub const DATETIME_FIELD_OVERFLOW: &str = "22008";
    /// An interval beyond its type.
    pub const INTERVAL_FIELD_OVERFLOW: &str = "22015";
    /// An argument that a function does not take.
    pub const INVALID_PARAMETER_VALUE: &str = "22023";
    /// A negative length of a part of a text.
    pub const SUBSTRING_ERROR: &str = "22011";
    /// A pattern that ends in the middle of an escape.
    pub const INVALID_ESCAPE_SEQUENCE: &str = "22025";
    /// A value longer than PostgreSQL can make.
    pub const PROGRAM_LIMIT_EXCEEDED: &str = "54000";
    /// Something that is not supported.
    pub const FEATURE_NOT_SUPPORTED: &str = "0A000";
    /// More than one row where one is wanted.
    pub const CARDINALITY_VIOLATION: &str = "21000";
    /// Null in a column that refuses it.
    pub const NOT_NULL_VIOLATION: &str = "23502";
    /// A plan that does not fit its procedure.
    pub const INTERNAL_ERROR: &str = "XX000";
}

impl Error {
    /// An error without detail and hint.
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> Box<Self> {
        let message = message.into();
        Box::new(Self { sqlstate: sqlstate.into(), message, detail: None, hint: None })
    }

    /// The same with more about it.
    #[must_use]
    pub fn detail(mut self: Box<Self>, detail: impl Into<String>) -> Box<Self> {
        self.detail = Some(detail.into());
        self
    }

    /// The same with what to do.
    #[must_use]
    pub fn hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }

    /// Something divided by nothing.
    #[cold]
    pub fn division_by_zero() -> Box<Self> {
        Self::new(sqlstate::DIVISION_BY_ZERO, "division by zero")
    }

    /// A number beyond the type that is named.
    #[cold]
    pub fn out_of_range(type_name: &str) -> Box<Self> {
        Self::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("{type_name} out of range"))
    }

    /// A date, time or interval beyond the type that is named.
    #[cold]
    pub fn time_out_of_range(type_name: &str) -> Box<Self> {
        Self::new(sqlstate::DATETIME_FIELD_OVERFLOW, format!("{type_name} out of range"))
    }

    /// Text that is no value of a type.
    #[cold]
    pub fn invalid_text(type_name: &str, text: &str) -> Box<Self> {
        let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
        Self::new(sqlstate::INVALID_TEXT_REPRESENTATION, message)
    }

    /// Text that is no value of a type, and is not shown.
    #[cold]
    pub fn invalid_text_plain(type_name: &str) -> Box<Self> {
        let message = format!("invalid input syntax for type {type_name}");
        Self::new(sqlstate::INVALID_TEXT_REPRESENTATION, message)
    }

    /// A plan that does not fit its procedure, or an expression without a plan: a mistake of ours.
    #[cold]
    pub fn internal(message: impl Into<String>) -> Box<Self> {
        Self::new(sqlstate::INTERNAL_ERROR, message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.sqlstate, self.message)?;
        for more in self.detail.iter().chain(&self.hint) {
            write!(formatter, "; {more}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

//! Errors of the server itself, and results.

use crate::message::reader::Malformed;
pub use sql_session::{Severity, SqlError};

/// The result of serving a message.
pub type Result<T> = std::result::Result<T, SqlError>;

/// SQLSTATEs of the server itself.
pub mod sqlstate {
    pub const PROTOCOL_VIOLATION: &str = "08P01";
    pub const FEATURE_NOT_SUPPORTED: &str = "0A000";
    pub const INVALID_TEXT: &str = "22P02";
    pub const INVALID_BINARY: &str = "22P03";
    pub const BAD_COPY: &str = "22P04";
    pub const NUMERIC_OUT_OF_RANGE: &str = "22003";
    pub const INVALID_PARAMETER_VALUE: &str = "22023";
    pub const FAILED_TRANSACTION: &str = "25P02";
    pub const INVALID_STATEMENT_NAME: &str = "26000";
    pub const INVALID_AUTHORIZATION: &str = "28000";
    pub const INVALID_CURSOR_NAME: &str = "34000";
    pub const DUPLICATE_CURSOR: &str = "42P03";
    pub const DUPLICATE_STATEMENT: &str = "42P05";
    pub const INDETERMINATE_TYPE: &str = "42P18";
    pub const TOO_MANY_CONNECTIONS: &str = "53300";
    pub const PROGRAM_LIMIT: &str = "54000";
    pub const QUERY_CANCELED: &str = "57014";
    pub const ADMIN_SHUTDOWN: &str = "57P01";
    pub const CANNOT_CONNECT_NOW: &str = "57P03";
    pub const INTERNAL: &str = "XX000";
}

/// An error that ends the statement.
#[cold]
pub fn error(sqlstate: &'static str, message: impl Into<String>) -> SqlError {
    SqlError::new(sqlstate, message)
}

/// An error that ends the connection.
#[cold]
pub fn fatal(sqlstate: &'static str, message: impl Into<String>) -> SqlError {
    let mut error = SqlError::new(sqlstate, message);
    error.severity = Severity::Fatal;
    error
}

/// An error with a hint.
#[cold]
pub fn error_with_hint(sqlstate: &'static str, message: impl Into<String>, hint: &str) -> SqlError {
    SqlError::new(sqlstate, message).hint(hint)
}

/// The severity with this name; those that PostgreSQL may add count as errors.
pub fn severity_of(name: &str) -> Severity {
    use Severity::{Debug, Fatal, Info, Log, Notice, Warning};
    let severities = [Fatal, Warning, Notice, Info, Debug, Log];
    severities.into_iter().find(|severity| severity.name() == name).unwrap_or(Severity::Error)
}

impl From<Malformed> for SqlError {
    fn from(malformed: Malformed) -> Self {
        error(malformed.sqlstate(), malformed.to_string())
    }
}

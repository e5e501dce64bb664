//! Errors and notices as PostgreSQL reports them.

use interpreter::StatementError;
use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, DerefMut};
use txn::{Abort, CatalogError, TxnError, UniqueViolation};

/// The severity of an error or notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The statement has failed.
    Error,
    /// The session must end.
    Fatal,
    Warning,
    Notice,
    Info,
    Debug,
    Log,
}

impl Severity {
    /// The word of PostgreSQL's protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
            Self::Warning => "WARNING",
            Self::Notice => "NOTICE",
            Self::Info => "INFO",
            Self::Debug => "DEBUG",
            Self::Log => "LOG",
        }
    }
}

/// An error with PostgreSQL's fields, see [`ErrorFields`]. It is small, since results carry it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SqlError {
    fields: Box<ErrorFields>,
}

/// The fields of an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorFields {
    pub severity: Severity,
    /// Five characters.
    pub sqlstate: Cow<'static, str>,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    /// The character of the statement's text at which the error is, from 1.
    pub position: Option<u32>,
    /// That of `table`, unless it is `public`.
    pub schema: Option<String>,
    pub table: Option<String>,
    pub column: Option<String>,
    pub constraint: Option<String>,
}

impl SqlError {
    pub fn new(sqlstate: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        let fields = ErrorFields {
            severity: Severity::Error,
            sqlstate: sqlstate.into(),
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            schema: None,
            table: None,
            column: None,
            constraint: None,
        };
        Self { fields: Box::new(fields) }
    }

    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn at(mut self, position: u32) -> Self {
        self.position = Some(position);
        self
    }

    /// The same as an error of an expression, for handlers in routines.
    pub(crate) fn as_value(&self) -> sql_value::Error {
        sql_value::Error {
            sqlstate: self.sqlstate.clone(),
            message: self.message.clone(),
            detail: self.detail.clone(),
            hint: self.hint.clone(),
        }
    }

    /// A bug of ours.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new("XX000", message)
    }

    /// SQL that PostgreSQL accepts and namdb does not.
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new("0A000", message)
    }
}

impl Deref for SqlError {
    type Target = ErrorFields;

    fn deref(&self) -> &ErrorFields {
        &self.fields
    }
}

impl DerefMut for SqlError {
    fn deref_mut(&mut self) -> &mut ErrorFields {
        &mut self.fields
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {} (SQLSTATE {})", self.severity.name(), self.message, self.sqlstate)
    }
}

impl std::error::Error for SqlError {}

impl From<StatementError> for SqlError {
    fn from(error: StatementError) -> Self {
        match error {
            StatementError::Sql(error) => Self::from(*error),
            StatementError::Engine(error) => engine_error(&error),
            StatementError::Again => {
                Self::new("40001", "could not serialize access due to concurrent update")
            }
        }
    }
}

impl From<sql_value::Error> for SqlError {
    fn from(error: sql_value::Error) -> Self {
        let names = error.names();
        let sql_value::Error { sqlstate, message, detail, hint } = error;
        let is_fatal = sqlstate == "25P04";
        let mut found = Self::new(sqlstate, message);
        if is_fatal {
            found.severity = Severity::Fatal;
        }
        (found.detail, found.hint) = (detail, hint);
        (found.constraint, found.column, found.table) =
            (names.constraint, names.column, names.table);
        found
    }
}

/// The error of a statement or commit that the engine has refused.
pub(crate) fn engine_error(error: &TxnError) -> SqlError {
    match error {
        TxnError::Abort(abort) => abort_error(*abort),
        TxnError::DuplicateKey { .. } => SqlError::new("23505", error.to_string()),
        TxnError::Catalog(error) => catalog_error(error),
        TxnError::Schema(error) => SqlError::new("22000", error.to_string()),
        TxnError::OutOfMemory(_) => SqlError::new("53200", error.to_string()),
        TxnError::TooLarge(_) => SqlError::new("54000", error.to_string()),
        _ => SqlError::new("XX001", error.to_string()),
    }
}

/// The error of a transaction that the engine has aborted.
pub(crate) fn abort_error(abort: Abort) -> SqlError {
    let reason = abort.to_string();
    match abort {
        Abort::WriteConflict | Abort::InsertConflict | Abort::Contended => {
            SqlError::new("40001", "could not serialize access due to concurrent update")
                .detail(reason)
        }
        Abort::ReadValidation => {
            let message =
                "could not serialize access due to read/write dependencies among transactions";
            SqlError::new("40001", message).detail(reason)
        }
        Abort::SnapshotTooOld => SqlError::new("72000", "snapshot too old").detail(reason),
        Abort::OutOfMemory => SqlError::new("53200", "out of memory").detail(reason),
        Abort::TooLarge => SqlError::new("54000", "the transaction is too large").detail(reason),
        Abort::UniqueViolation => {
            SqlError::new("23505", "duplicate key value violates unique constraint")
        }
        Abort::Unreachable => SqlError::new("57P03", reason),
        Abort::Damaged => SqlError::new("XX001", reason),
        _ => SqlError::new("40001", "could not serialize access").detail(reason),
    }
}

/// The error of a commit that found another row with the same key.
pub(crate) fn unique_error(violation: &UniqueViolation) -> SqlError {
    let index = &violation.index;
    let message = format!("duplicate key value violates unique constraint \"{index}\"");
    let mut error = SqlError::new("23505", message);
    error.detail = Some(format!("The key is {}.", violation.key));
    error.constraint = Some(index.clone());
    error
}

/// The error of a change of the engine's catalog.
pub(crate) fn catalog_error(error: &CatalogError) -> SqlError {
    match error {
        CatalogError::Exists(_) => SqlError::new("42P07", error.to_string()),
        CatalogError::NoTable(_) | CatalogError::NoIndex(_) => {
            SqlError::new("42P01", error.to_string())
        }
        CatalogError::Design { .. } | CatalogError::Schema(_) | CatalogError::WrongKind(_) => {
            SqlError::unsupported(error.to_string())
        }
        CatalogError::Duplicate(violation) => {
            let message = format!("could not create unique index \"{}\"", violation.index);
            let detail = format!("Key {} is duplicated.", violation.key);
            SqlError::new("23505", message).detail(detail)
        }
        CatalogError::Limit(_) => SqlError::new("54000", error.to_string()),
        CatalogError::OutOfMemory(_) => SqlError::new("53200", error.to_string()),
        CatalogError::Unacknowledged => SqlError::new("55P03", error.to_string()),
        CatalogError::Directory(_) => SqlError::new("58030", error.to_string()),
        CatalogError::Unreachable(_) => SqlError::new("57P03", error.to_string()),
        _ => SqlError::new("XX000", error.to_string()),
    }
}

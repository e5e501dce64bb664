//! Errors of calls, and of opening a workload.

use sql_value::Error;
use txn::{Abort, CatalogError, TxnError};

/// Why a call has no result.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The procedure ended with an SQL error, as it would in PostgreSQL; it had no effect.
    #[error("{0}")]
    Sql(Box<Error>),
    /// The transaction had no effect, and retries were exhausted or pointless.
    #[error("transaction aborted: {0}")]
    Aborted(Abort),
    /// The commit failed after the point of no return: it may or may not have taken effect.
    #[error("it is unknown whether the transaction took effect")]
    Unknown,
    /// The engine refused a statement, and a retry would not help.
    #[error(transparent)]
    Engine(TxnError),
}

/// Why the procedures of a workload cannot be opened on a database.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The database lacks something that a procedure needs.
    #[error("the database has no {what}; create the schema first")]
    Missing {
        /// The table or index.
        what: String,
    },
    /// The database stores a table in another way than its definition says.
    #[error(
        "the database has no table {table} with these columns, types and key; create the schema first"
    )]
    Different { table: String },
    /// The physical design of a table does not support a statement.
    #[error("procedure {procedure}, statement {statement}: {reason}")]
    Design {
        procedure: String,
        /// Number of the statement in its procedure, from 1.
        statement: usize,
        reason: String,
    },
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

#[derive(Debug)]
pub(crate) enum Failure {
    Sql(Box<Error>),
    /// An error of the engine, boxed so that results are returned in registers.
    Txn(Box<TxnError>),
    /// The statement waits for a row's lock, or has locked a row that may have changed since its
    /// snapshot: it must run again.
    Again,
}

impl From<Box<Error>> for Failure {
    fn from(error: Box<Error>) -> Self {
        Self::Sql(error)
    }
}

impl From<TxnError> for Failure {
    #[cold]
    fn from(error: TxnError) -> Self {
        Self::Txn(Box::new(error))
    }
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

#[cold]
pub(crate) fn error(sqlstate: &'static str, message: String, detail: String) -> Failure {
    Failure::Sql(Error::new(sqlstate, message).detail(detail))
}

#[cold]
pub(crate) fn plain(sqlstate: &'static str, message: impl Into<String>) -> Failure {
    Failure::Sql(Error::new(sqlstate, message))
}

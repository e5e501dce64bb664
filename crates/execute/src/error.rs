//! How calls fail, and what they are refused for.

use txn::{Abort, CatalogError, TxnError};
use value::Error;

/// Why a call has no result.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The procedure ended with an error, as it would in PostgreSQL; nothing of it took effect.
    #[error("{0}")]
    Sql(Box<Error>),
    /// The transaction had no effect, and further attempts were used up or could not help.
    #[error("transaction aborted: {0}")]
    Aborted(Abort),
    /// The commit failed behind the point of no return: nobody may assume either way.
    #[error("it is not known whether the transaction took effect")]
    Unknown,
    /// The engine refused a statement, which no other attempt changes.
    #[error(transparent)]
    Engine(TxnError),
}

/// Why procedures cannot be carried out on a database.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Something that a procedure needs is not there.
    #[error("the database has no {what}; create the schema first")]
    Missing {
        /// The table or index.
        what: String,
    },
    /// A table is stored so that a statement cannot go over it.
    #[error("procedure {procedure}, statement {statement}: {reason}")]
    Design {
        /// The procedure.
        procedure: String,
        /// The statement's number in it, from 1.
        statement: usize,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The catalog refused.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// Why a statement ended.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of SQL.
    Sql(Box<Error>),
    /// The engine's. Boxed, so that results travel in registers.
    Txn(Box<TxnError>),
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

/// An error with a code, a message and a detail.
#[cold]
pub(crate) fn error(sqlstate: &'static str, message: String, detail: String) -> Failure {
    Failure::Sql(Error::new(sqlstate, message).detail(detail))
}

/// An error with a code and a message.
#[cold]
pub(crate) fn plain(sqlstate: &'static str, message: impl Into<String>) -> Failure {
    Failure::Sql(Error::new(sqlstate, message))
}

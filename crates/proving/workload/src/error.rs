//! Errors that end a run, as opposed to a transaction.

use txn::{Abort, CatalogError, LaneError, TxnError};

/// The reason why loading, running or checking a workload had to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// An invalid configuration.
    #[error("{0}")]
    Configuration(String),
    /// A table or index could not be created.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The database granted no lane.
    #[error(transparent)]
    Lane(#[from] LaneError),
    #[error(transparent)]
    Schema(#[from] layout::SchemaError),
    /// A statement failed for a reason that a retry does not remove, such as full memory.
    #[error(transparent)]
    Statement(TxnError),
    /// The transaction was aborted. [`crate::Attempts`] retries it.
    #[error("the transaction was aborted: {}", .0.name())]
    Aborted(Abort),
    /// The tables of the workload do not exist.
    #[error("there is no table or index {0}; create and load the workload first")]
    NoTable(&'static str),
    /// A row is missing that every loaded database has, so data was lost or never loaded.
    #[error("table {table} lacks a row that every loaded database has")]
    MissingRow { table: &'static str },
    /// A snapshot showed something impossible.
    #[error("a snapshot was inconsistent: {0}")]
    Inconsistent(String),
    /// The [`crate::Workload::testimony`] of another process cannot be parsed.
    #[error("cannot parse the data that another process sent for the checks: {0}")]
    Testimony(String),
    /// A transaction of the load or of a check ended with unknown outcome.
    #[error("the outcome of {0} is unknown")]
    Unknown(&'static str),
}

impl WorkloadError {
    /// Whether the error is full memory on the servers.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::Aborted(reason) => *reason == Abort::OutOfMemory,
            Self::Statement(TxnError::Catalog(error)) => {
                matches!(**error, CatalogError::OutOfMemory(_))
            }
            Self::Statement(error) => matches!(error, TxnError::OutOfMemory(_)),
            Self::Catalog(error) => matches!(error, CatalogError::OutOfMemory(_)),
            _ => false,
        }
    }
}

impl From<TxnError> for WorkloadError {
    fn from(error: TxnError) -> Self {
        match error {
            TxnError::Abort(abort) => Self::Aborted(abort),
            other => Self::Statement(other),
        }
    }
}

impl From<Abort> for WorkloadError {
    fn from(abort: Abort) -> Self {
        Self::Aborted(abort)
    }
}

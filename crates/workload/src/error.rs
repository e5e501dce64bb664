//! What ends a run, as opposed to a transaction.

use txn::{Abort, CatalogError, LaneError, TxnError};

/// Why loading, running or checking a workload had to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// The configuration asks for something that cannot be.
    #[error("{0}")]
    Configuration(String),
    /// A table or index could not be created.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A lane could not be had.
    #[error(transparent)]
    Lane(#[from] LaneError),
    /// A schema was refused.
    #[error(transparent)]
    Schema(#[from] layout::SchemaError),
    /// A statement failed for a reason that trying again does not mend, such as full memory.
    #[error(transparent)]
    Statement(TxnError),
    /// The transaction was aborted. [`crate::Attempts`] turns these into another attempt.
    #[error("the transaction was aborted: {}", .0.name())]
    Aborted(Abort),
    /// The tables of the workload are not there.
    #[error("there is no table or index {0}; create and load the workload first")]
    NoTable(&'static str),
    /// A row is missing that a loaded database always has, so data was lost or never loaded.
    #[error("table {table} lacks a row that every loaded database has")]
    MissingRow {
        /// The table.
        table: &'static str,
    },
    /// A snapshot showed something that no consistent snapshot shows.
    #[error("a snapshot was inconsistent: {0}")]
    Inconsistent(String),
    /// Another process has left what is no testimony of this workload.
    #[error("what another process has left to the checks cannot be read: {0}")]
    Testimony(String),
    /// A transaction of the load or of a check ended in a way that leaves its effect open.
    #[error("{0} ended without a known outcome")]
    Unknown(&'static str),
}

impl WorkloadError {
    /// Whether the memory servers were full.
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

//! Errors of the catalog.

use crate::snapshot::freezer::FreezeError;
use crate::write::unique::UniqueViolation;
use fabric::CallError;
use index::{Damage, IndexError};
use layout::SchemaError;
use memory::AllocateError;

/// Reasons why a catalog operation failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    #[error("{0} exists already")]
    Exists(String),
    #[error("there is no table {0}")]
    NoTable(String),
    #[error("there is no index {0}")]
    NoIndex(String),
    /// The operation needs another kind of storage or index.
    #[error("{0}")]
    WrongKind(&'static str),
    /// A design value is out of range.
    #[error("table {table}: {reason}")]
    Design {
        table: String,
        /// The wrong value and the allowed ones.
        reason: String,
    },
    #[error("{0}")]
    Limit(String),
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error("{0}")]
    OutOfMemory(String),
    /// A memory server did not answer.
    #[error("the catalog cannot be reached: {0}")]
    Unreachable(String),
    /// Some lanes did not acknowledge a change in time.
    #[error(
        "some transactions that began before the change run for longer than the maximal transaction time; end them"
    )]
    Unacknowledged,
    /// Rows share a key of the unique index to be created.
    #[error("index {} cannot be unique: table {} holds several rows with {}", .0.index, .0.table, .0.key)]
    Duplicate(UniqueViolation),
    /// The change could not be written to the database's directory.
    #[error("{0}")]
    Directory(String),
    /// A definition in the catalog cannot be decoded.
    #[error("the catalog is damaged: {0}")]
    Damaged(String),
    /// The memory of a table or index has impossible content.
    #[error("remote memory is damaged: {0}")]
    MemoryDamaged(Damage),
}

impl From<FreezeError> for CatalogError {
    fn from(error: FreezeError) -> Self {
        Self::Unreachable(error.to_string())
    }
}

impl From<CallError> for CatalogError {
    fn from(error: CallError) -> Self {
        Self::Unreachable(error.to_string())
    }
}

impl From<fabric::FabricError> for CatalogError {
    fn from(error: fabric::FabricError) -> Self {
        Self::Unreachable(error.to_string())
    }
}

impl From<AllocateError> for CatalogError {
    fn from(error: AllocateError) -> Self {
        match error {
            AllocateError::Call(error) => error.into(),
            other => Self::OutOfMemory(other.to_string()),
        }
    }
}

impl From<IndexError> for CatalogError {
    fn from(error: IndexError) -> Self {
        match error {
            IndexError::OutOfMemory(sentence) => Self::OutOfMemory(sentence),
            IndexError::Damaged(damage) => Self::MemoryDamaged(damage),
            other => Self::Unreachable(other.to_string()),
        }
    }
}

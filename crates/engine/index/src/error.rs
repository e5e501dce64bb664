//! Errors of index operations.

use crate::damage::Damage;
use fabric::{CallError, FabricError};

/// Why an index operation failed. It leaves nothing half done that readers could notice.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Another transaction holds the lock or changed what was read: abort and retry.
    #[error("another transaction changes the same part of the index")]
    Conflict,
    /// All retries failed.
    #[error("the index is too contended")]
    Contended,
    #[error(transparent)]
    Fabric(#[from] FabricError),
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("{0}")]
    OutOfMemory(String),
    /// Remote memory has impossible contents: it is damaged.
    #[error("remote memory is damaged: {0}")]
    Damaged(Damage),
}

impl From<Damage> for IndexError {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

impl From<memory::AllocateError> for IndexError {
    fn from(error: memory::AllocateError) -> Self {
        match error {
            memory::AllocateError::Call(error) => Self::Call(error),
            other => Self::OutOfMemory(other.to_string()),
        }
    }
}

//! What can go wrong in an index operation.

use crate::damage::Damage;
use fabric::{CallError, FabricError};

/// Why an index operation did not succeed. Nothing of it remains half done that readers could notice.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Somebody else holds the lock or changed what was read: abort and try again.
    #[error("another transaction changes the same part of the index")]
    Conflict,
    /// A bounded number of retries was not enough.
    #[error("the index is too contended")]
    Contended,
    /// Verbs failed.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// A call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Memory servers are full.
    #[error("{0}")]
    OutOfMemory(String),
    /// What was read cannot be: memory is damaged.
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

//! What can go wrong on the way to remote memory.

use crate::service::ServiceId;
use layout::{GlobalPtr, NodeId};

/// A batch that did not complete. Its verbs may have happened, may still happen, or never will.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FabricError {
    /// The address is in no region, or the access leaves its region.
    #[error("{words} words at {at:?} are not inside a region")]
    OutOfRange {
        /// First word.
        at: GlobalPtr,
        /// Number of words.
        words: u32,
    },
    /// The server cannot be reached, or its answer was lost.
    #[error("{0} cannot be reached")]
    Unreachable(NodeId),
    /// The network's device cannot be given memory for the words of this batch. Nothing has happened.
    #[error(
        "no memory can be registered for the {bytes} bytes of a batch; `ulimit -l` is the limit of locked memory"
    )]
    NoRoom {
        /// What the batch needs.
        bytes: u64,
    },
}

/// A call that was not answered with a result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The node offers no such service.
    #[error("{} offers no service {}", .0, .1.0)]
    NoSuchService(NodeId, ServiceId),
    /// The node cannot be reached, or its answer was lost.
    #[error("{0} cannot be reached")]
    Unreachable(NodeId),
    /// The request or the answer could not be read.
    #[error("malformed message for {0}")]
    Malformed(&'static str),
    /// The service refused.
    #[error("{0}")]
    Refused(String),
}

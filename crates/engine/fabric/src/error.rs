//! Errors of verbs and calls.

use crate::service::ServiceId;
use layout::{GlobalPtr, NodeId};

/// A batch that did not complete. Each of its verbs may have happened, may still happen, or may
/// never happen.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FabricError {
    /// The address is in no region, or the access leaves its region.
    #[error("{words} words at {at:?} are not inside a region")]
    OutOfRange { at: GlobalPtr, words: u32 },
    /// The server is unreachable, or its answer was lost.
    #[error("{0} cannot be reached")]
    Unreachable(NodeId),
    /// The RDMA device cannot register memory for the words of this batch. Nothing has happened.
    #[error(
        "cannot register memory for the {bytes} bytes of a batch; raise the limit of locked memory, `ulimit -l`"
    )]
    NoRoom { bytes: u64 },
    /// The server has no memory for the journal of a batch of upkeep. Nothing has happened.
    #[error(
        "a memory server has no {bytes} bytes for the journal of a lane's upkeep; give it more memory"
    )]
    NoJournal { bytes: u64 },
}

/// A call that returned no result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The node does not offer this service.
    #[error("{} offers no service {}", .0, .1.0)]
    NoSuchService(NodeId, ServiceId),
    /// The node is unreachable, or its answer was lost.
    #[error("{0} cannot be reached")]
    Unreachable(NodeId),
    /// The request or the answer could not be decoded.
    #[error("malformed message for {0}")]
    Malformed(&'static str),
    #[error("{0}")]
    Refused(String),
}

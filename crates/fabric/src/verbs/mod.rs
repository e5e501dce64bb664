//! Back end `verbs`: memory servers reached by RDMA, through reliable connections.

mod error;
mod place;

pub use crate::raw::verbs::{
    Action, Completion, CompletionQueue, Connect, Device, DeviceLimits, Endpoint, Piece, PortState,
    QueuePair, QueueSizes, Registered, Request, device_names,
};
pub use error::VerbsError;
pub use place::{Choice, Place};

//! Back end `verbs`: memory servers over RDMA, through reliable connections, and compute servers
//! with services.
//!
//! Batches become requests to the card, which copies and swaps words without either side's
//! processor; calls are messages. A server's own services access their region through its card as
//! well, since only the card makes its atomics atomic. `docs/assumptions.md` says how each promise
//! is kept.

mod callers;
mod connections;
mod desk;
mod error;
mod flaw;
mod flight;
mod guest;
mod handshake;
mod line;
mod members;
mod message;
mod place;
mod port;
mod running;
mod search;
mod share;
mod slab;
mod slots;
mod staging;
mod transport;

pub use crate::raw::verbs::{
    Action, Completion, CompletionQueue, Connect, Device, DeviceLimits, Endpoint, Piece, PortState,
    QueuePair, QueueSizes, Registered, Request, device_names,
};
pub use callers::{FenceError, VerbsCallers};
pub use connections::VerbsConfig;
pub use error::VerbsError;
pub use flaw::{FLAW_ADVICE, flaw};
pub use place::{Choice, Place};
pub use port::{VerbsPort, VerbsServer};
pub use share::VerbsShare;
pub use transport::VerbsTransport;

//! Back end `verbs`: memory servers reached by RDMA, through reliable connections, and compute servers that take calls.
//!
//! Batches become requests to the card, which copies words and swaps them without either side's processor;
//! calls are messages. A server's own services reach their region through its card as well, since nothing
//! but the card makes its atomics atomic. `docs/assumptions.md` says how each promise is kept.

mod callers;
mod connections;
mod desk;
mod error;
mod flaw;
mod flight;
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

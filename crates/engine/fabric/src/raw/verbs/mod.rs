//! The only `unsafe` code of the fabric `verbs`: a safe wrapper around libibverbs.
//!
//! # Safety rules
//! 1. Every object holds the objects it was made from, and is destroyed before them: queue pairs
//!    before queues and memory, these before their device.
//! 2. A card accesses registered memory at any time, so memory is accessed as atomic words only,
//!    here as in every region, and outlives all queue pairs that may use it.
//! 3. A request names local memory by an offset into registered memory that the queue pair holds,
//!    and is checked against its size before it is posted. There is no other way to name memory.
//! 4. The library may be called from any thread; functions that take `&mut` do so for our own
//!    bookkeeping.

mod abi;
mod completion;
mod device;
mod library;
mod queue_pair;
mod registered;

pub use completion::{Completion, CompletionQueue};
pub use device::{Device, DeviceLimits, PortState, device_names};
pub use queue_pair::{Action, Connect, Endpoint, Piece, QueuePair, QueueSizes, Request};
pub use registered::Registered;

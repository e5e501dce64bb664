//! The only `unsafe` below the fabric `verbs`: libibverbs, and what of it is safe to use.
//!
//! # Safety rules
//! 1. Every object holds what it was made from, and is destroyed before it: queue pairs before queues and memory,
//!    these before their device.
//! 2. A card reads and writes registered memory whenever it likes, so that memory is accessed as atomic words
//!    only, here as in every region, and lives until no queue pair that was told of it does.
//! 3. A request names this side's memory by its place in the registered memory that the queue pair
//!    holds, and is checked against its size before it is posted. There is no other way to name memory.
//! 4. The library may be called from any thread; what takes `&mut` here does so for our own bookkeeping.

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

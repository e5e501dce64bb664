//! Resources of compute servers that execute shipped operations [SPADE 4.2].
//!
//! Handlers run on the thread that serves the calls, and use that thread's lanes.
//!
//! ```text
//! seats  resources of handlers, kept per thread
//! lanes  a thread's lanes, up to a maximum
//! ```
#![forbid(unsafe_code)]

mod lanes;
pub mod seats;

pub use lanes::{Lanes, database};
pub use seats::Ownership;

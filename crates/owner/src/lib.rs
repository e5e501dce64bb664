//! What compute servers work with that carry out what others ship to them [SPADE 4.2].
//!
//! Handlers of calls run where calls are served, and work with lanes of that thread.
//!
//! ```text
//! seats  what handlers work with, kept for each thread
//! lanes  a thread's lanes, so many at most
//! ```
#![forbid(unsafe_code)]

mod lanes;
pub mod seats;

pub use lanes::{Lanes, database};
pub use seats::Ownership;

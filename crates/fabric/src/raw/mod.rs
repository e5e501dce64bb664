//! The only `unsafe` of the engine: mapped memory as a slice of atomic words, prefetch hints, and RDMA.
//!
//! # Safety rules
//! 1. A region is mapped once, zeroed, and unmapped only when the last world that holds it is gone.
//! 2. Nobody ever makes a `&mut` or a plain `&[u8]` into a region: all access goes through `AtomicU64`.
//! 3. Addresses come from the network or from remote words, so every access is checked against the
//!    region's size here, in [`Memory::words`], before a reference is made.
//! 4. Prefetch hints never fault and carry no data.
//! 5. Copies go through assembly that moves each aligned word whole, so that racing is defined.

mod copy;
mod memory;
mod prefetch;
pub mod verbs;

pub use copy::{load_words, store_words};
pub use memory::Memory;
pub use prefetch::prefetch_words;

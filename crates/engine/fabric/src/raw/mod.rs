//! The only `unsafe` of the engine: mapped memory as a slice of atomic words, prefetch hints, and
//! RDMA.
//!
//! # Safety rules
//! 1. A region is mapped once, zeroed, and unmapped only when the last world that holds it is
//!    dropped.
//! 2. No code ever makes a `&mut` or a plain `&[u8]` into a region: all access goes through
//!    `AtomicU64`.
//! 3. Addresses come from the network or from remote words, so every access is checked against the
//!    region's size here, in [`Regions::words`], before a reference is made.
//! 4. Prefetch hints never fault and carry no data.
//! 5. Copies use assembly that moves each aligned word whole, so that races are defined.
//! 6. A word with a half that threads sleep on, [`Memory::half`], is never accessed as a whole.
//! 7. Files are mapped only if no process can truncate them: touching a mapping is always valid,
//!    whatever other processes do.

mod copy;
mod memory;
mod prefetch;
mod regions;
pub mod verbs;
mod window;

pub use copy::{load_words, store_words};
pub use memory::Memory;
pub use prefetch::prefetch_words;
pub use regions::Regions;
pub use window::HUGE_PAGE_BYTES;

//! Extents: large pieces of a region that a memory server allocates on call [ZB17 §5.3].
//!
//! | file | idea |
//! |---|---|
//! | `extents.rs` | which extents of a region are allocated, and to which label |
//! | `pieces.rs` | the free memory: freed pieces, and fresh memory above a mark |
//! | `reserve.rs` | memory that only updates and deletes get |
//! | `list.rs` | with replicas, the extents in the region itself, for another server |
//! | `service.rs` | the server's side of the calls |
//! | `call.rs` | the callers' side |
//!
//! Decision: docs/decisions/0042-tables-and-indexes-have-memory-labels-of-their-own.md

mod call;
mod extents;
mod list;
mod pieces;
mod reserve;
mod service;

pub use call::{allocate_extent, allocate_extent_for, free_extent, free_label, populate, usage};
pub use extents::Extents;
pub use list::listed_end;
pub use reserve::Need;
pub use service::ExtentService;

use fabric::{CallError, ServiceId};

/// The service that allocates and frees extents.
pub const EXTENT_SERVICE: ServiceId = ServiceId(1);
/// The kinds of its requests, the first number of each.
const ALLOCATE: u64 = 1;
const FREE: u64 = 2;
const USAGE: u64 = 3;
const FREE_LABEL: u64 = 4;
const POPULATE: u64 = 5;

/// The use of memory: a table's number, or 0 for the system itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Label(pub u64);

/// Bytes allocated for one label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    pub label: Label,
    pub bytes: u64,
}

/// Why no extent was allocated.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AllocateError {
    /// No memory server has room.
    #[error(
        "memory servers are full: {wanted_bytes} bytes were wanted, the fullest has {free_bytes} of {region_bytes} bytes left; give the servers more memory or drop tables"
    )]
    Full { wanted_bytes: u64, free_bytes: u64, region_bytes: u64 },
    /// The call to the memory server failed.
    #[error(transparent)]
    Call(#[from] CallError),
}

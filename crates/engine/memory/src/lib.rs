//! Memory servers, and a typed client for each of their services.
//!
//! A memory server is passive: verbs read and write its memory without its processor. Calls are few
//! and rare: allocate extents ([`extent`]), move old versions out of full buffers ([`mover`]),
//! store a shard of the catalog ([`catalog`]), answer whether the dead are fenced ([`fence`]).
//! Compute servers sub-allocate their extents ([`pool`]), so that most transactions need no call
//! for memory.
#![forbid(unsafe_code)]

pub mod catalog;
pub mod extent;
pub mod fence;
pub mod handlers;
pub mod message;
pub mod mover;
pub mod pool;
pub mod shared;

pub use catalog::{CATALOG_SERVICE, CatalogService};
pub use extent::{AllocateError, EXTENT_SERVICE, ExtentService, Extents, Label, Need, Usage};
pub use fence::{FENCE_SERVICE, FenceService, FencedEpoch};
pub use handlers::Handlers;
pub use mover::{MOVER_SERVICE, MoveRequest, MoverCounts, MoverService};
pub use pool::Pool;
pub use shared::{PieceKind, Purpose, SharedPieces};

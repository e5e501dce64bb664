//! Memory servers, and the typed client side of each thing they do.
//!
//! A memory server is passive: its memory is read and written by verbs it does not see. What it does on
//! call is little and rare: hand out extents ([`extent`]), move old versions out of full buffers
//! ([`mover`]), keep its shard of the catalog ([`catalog`]). Compute servers sub-allocate what they were
//! handed ([`pool`]), so that no transaction waits for an allocation of its own.
#![forbid(unsafe_code)]

pub mod catalog;
pub mod extent;
pub mod message;
pub mod mover;
pub mod pool;

pub use catalog::{CATALOG_SERVICE, CatalogService};
pub use extent::{AllocateError, EXTENT_SERVICE, ExtentService, Extents, Label, Usage};
pub use mover::{MOVER_SERVICE, MoveRequest, MoverCounts, MoverService};
pub use pool::Pool;

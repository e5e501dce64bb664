//! The disk seam: files of one database directory.
//!
//! ```text
//! users: redo log, checkpoints     Directory, File    names, typed errors, the end after a
//!                                      |              failed sync
//!                                      v
//!                                  trait Disk         one operation, one system call
//!                                  /        \
//!                           RealDisk        simulated disk of `sim`: loses what is not synced
//! ```
//!
//! Rules that users rely on, and that both back ends keep:
//! - A write is durable when a later [`File::sync`] of that file succeeded. Until then any subset
//!   of its sectors may survive a crash, in any order with other writes.
//! - A new, renamed or removed name is durable when a later [`Directory::sync`] succeeded. A synced
//!   file whose name is not durable can be missing after a crash.
//! - A sector of [`SECTOR_BYTES`] is written whole or not at all. Rewriting synced bytes unchanged
//!   therefore never harms them.
//! - A failed sync is final: the operating system may have dropped the data and forgotten the
//!   error, so that a second sync would wrongly succeed. From then on every operation on the
//!   directory and its files is refused, reads included, because they could return what the disk
//!   does not hold.
//!
//! Read [`disk`] for the operations, [`directory`] for the rules, [`error`] for the messages.
//!
//! Decision: docs/decisions/0295-a-failed-sync-ends-the-directory.md
#![forbid(unsafe_code)]

pub mod directory;
pub mod disk;
pub mod error;
pub mod planted;
pub mod real;
#[cfg(test)]
mod tests;

pub use directory::{Directory, File};
pub use disk::{Disk, Entry, Failure, FailureKind};
pub use error::{DiskError, ErrorKind, Operation};
pub use planted::PlantedBug;
pub use real::RealDisk;

/// Bytes that a disk writes whole or not at all.
pub const SECTOR_BYTES: u64 = 512;

//! Hash tables over remote memory [ZB17 §5.2]: buckets of H slots, chained overflow blocks, linear
//! growth.
//!
//! A table is a root block, which lists segments of buckets, and the buckets. Compute servers keep
//! a copy of the root, the [`Directory`]; a bucket's split level shows whether the copy is
//! outdated, so a miss is never concluded from an old directory.

mod check;
mod create;
mod grow;
mod locate;
#[cfg(test)]
mod tests;

pub use check::{HashReport, check};
pub use create::{create, read_directory};
pub use grow::{Growth, HashStep, grow};
pub use locate::{Directory, Locator, Place};

use layout::{BucketLayout, GlobalPtr};

/// Largest number of segments of a table; it stops growing there.
pub const SEGMENTS_MAX: u64 = 4096;
/// Planned number of segments of a new table.
const SEGMENTS_PLANNED: u64 = 64;

/// The root block of a hash table.
///
/// ```text
/// word | field    | written by                | meaning
///    0 | magic    | creator                   | MAGIC
///    1 | state    | write, under the grow lock| level in the high byte, next bucket to split below
///    2 | grow     | compare-and-swap, write   | lock for splitting a bucket
///    3 | segments | write, under the grow lock| number of segments
///    4 | segment  | write, under the grow lock| address of each segment
/// ```
pub mod root {
    /// "namdb" and a hash mark.
    pub const MAGIC: u64 = u64::from_be_bytes(*b"namdbHSH");
    pub const STATE: u64 = 1;
    /// Word of the grow lock.
    pub const GROW: u64 = 2;
    /// Word of the segment count.
    pub const COUNT: u64 = 3;
    /// Word of the first segment's address.
    pub const SEGMENT: u64 = 4;
    pub const WORDS: u64 = SEGMENT + super::SEGMENTS_MAX;
}

/// A hash table: the address of its root, and the shape of its parts.
#[derive(Clone, PartialEq, Debug)]
pub struct HashTable {
    pub root: GlobalPtr,
    /// Shape of buckets and overflow blocks.
    pub layout: BucketLayout,
    /// Whether slots hold rows; otherwise pointers and keys.
    pub rows: bool,
    pub initial_buckets: u64,
    /// Buckets of a segment, as a power of two.
    pub segment_shift: u32,
    /// How keys select their bucket.
    pub locator: Locator,
}

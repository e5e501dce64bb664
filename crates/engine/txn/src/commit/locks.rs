//! The locks of a commit.

use crate::read::access::AccessId;
use crate::write::LeafSeenId;
use crate::write::write_set::BucketInsertId;
use fabric::{Span, Swap};
use std::ops::Range;

/// A row to be locked: its access, the swap, and the state of its version buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowLock {
    pub access: AccessId,
    pub swap: Swap,
    /// The chain word: read after the swap, or that of the image where the swap proves it.
    pub chain: Span,
    pub next: NextSlot,
    /// The next slot must be read under the lock: the chain word is not that of the image, or the
    /// slot is on another server.
    pub must_read: bool,
}

/// The state of the version buffer's slot that receives the displaced version.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NextSlot {
    /// The row has no buffer.
    NoBuffer,
    /// No snapshot needs the version in the slot.
    Free,
    /// The words read from it: moved flag, version, successor.
    Read(Span),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BucketLock {
    pub insert: BucketInsertId,
    pub swap: Swap,
}

/// A leaf to be locked, with the range of its inserts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafLock {
    pub seen: LeafSeenId,
    first: u32,
    count: u32,
    pub swap: Option<Swap>,
    /// The rewrite counter, read after the swap.
    pub version: Span,
    /// The leaf as batch 2 writes it.
    pub written: Span,
}

impl LeafLock {
    /// A leaf with these inserts.
    pub fn of(seen: LeafSeenId, inserts: Range<usize>) -> Self {
        let (first, count) = (inserts.start as u32, inserts.len() as u32);
        let (version, written) = (Span::default(), Span::default());
        Self { seen, first, count, swap: None, version, written }
    }

    /// A leaf that is locked without an insert.
    pub fn bare(seen: LeafSeenId) -> Self {
        Self::of(seen, 0..0)
    }

    /// The inserts into the leaf.
    pub fn inserts(&self) -> Range<usize> {
        let first = self.first as usize;
        first..first + self.count as usize
    }

    /// Whether the leaf has inserts.
    pub fn is_written(&self) -> bool {
        self.count > 0
    }
}

/// Everything that batch 1 locks.
#[derive(Default)]
pub(crate) struct Locks {
    pub rows: Vec<RowLock>,
    pub buckets: Vec<BucketLock>,
    pub leaves: Vec<LeafLock>,
}

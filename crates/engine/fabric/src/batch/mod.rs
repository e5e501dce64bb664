//! A batch: verbs that are posted together, and the arena that holds their words.
//!
//! | file | operations |
//! |---|---|
//! | `arena.rs` | take, read and write words of the arena |
//! | `post.rs` | add verbs |
//! | `order.rs` | find writes that need a fence before them |
//! | `verb_list.rs` | put together writes that are posted later |
//! | `proved.rs` | remove writes that need not be repeated |
//!
//! Decision: docs/decisions/0001-one-batch-and-one-arena-per-transaction.md

mod arena;
mod order;
mod post;
mod proved;
mod verb_list;

pub use arena::{ARENA_WORDS_MAX, Span};
pub use post::Swap;
pub use verb_list::VerbList;

use crate::replicas::ReplicaOrder;
use crate::verb::Verb;

/// Verbs that are posted together, and the words they read and write.
///
/// The arena outlives a single round trip: a transaction uses one batch from begin to end, so that
/// a row is copied once on its way in and once on its way out. The batch moves into
/// [`crate::Fabric::execute`] and comes back from it; a caller that drops the future in between
/// leaves the buffers to the fabric.
#[derive(Clone)]
pub struct Batch(Box<Body>);

#[derive(Clone)]
struct Body {
    verbs: Vec<Verb>,
    bytes: u64,
    fences: u32,
    /// Lookups in buckets of several slots.
    choices: u32,
    /// Reads of rows that continue where the previous one ended.
    continued: u32,
    replica_order: ReplicaOrder,
    arena: Vec<u64>,
    used: usize,
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

impl Batch {
    /// An empty batch; its arena grows on demand.
    pub fn new() -> Self {
        let (verbs, arena) = (Vec::new(), Vec::new());
        Self(Box::new(Body {
            verbs,
            bytes: 0,
            fences: 0,
            choices: 0,
            continued: 0,
            replica_order: ReplicaOrder::default(),
            arena,
            used: 0,
        }))
    }

    /// Clears verbs and arena for the next transaction.
    #[inline]
    pub fn reset(&mut self) {
        self.clear_verbs();
        self.0.used = 0;
    }

    /// Clears the verbs and keeps the arena.
    #[inline]
    pub fn clear_verbs(&mut self) {
        self.0.verbs.clear();
        self.0.bytes = 0;
        self.0.fences = 0;
        self.0.choices = 0;
        self.0.continued = 0;
        self.0.replica_order = ReplicaOrder::default();
    }

    /// Replaces this batch by a copy of another one: its verbs, and the words in use. Room for both
    /// is kept.
    pub fn copy_from(&mut self, other: &Self) {
        let (body, other) = (&mut *self.0, &*other.0);
        body.verbs.clone_from(&other.verbs);
        (body.bytes, body.fences) = (other.bytes, other.fences);
        (body.choices, body.continued) = (other.choices, other.continued);
        body.replica_order = other.replica_order;
        body.used = other.used;
        if body.used > body.arena.len() {
            self.grow();
        }
        self.0.arena[..other.used].copy_from_slice(&other.arena[..other.used]);
    }

    /// The verbs in posting order.
    #[inline]
    pub fn verbs(&self) -> &[Verb] {
        &self.0.verbs
    }

    /// Number of verbs; a read that continues the previous one is not counted.
    #[inline]
    pub fn verb_count(&self) -> u64 {
        self.0.verbs.len() as u64 - u64::from(self.0.continued)
    }

    /// Whether the batch has no verbs.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.verbs.is_empty()
    }

    /// Bytes that the verbs move.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Number of verbs that search a bucket of several slots.
    #[inline]
    pub fn choice_count(&self) -> u32 {
        self.0.choices
    }

    /// Round trips of the batch: one, and one more per fence.
    #[inline]
    pub fn round_trips(&self) -> u64 {
        1 + u64::from(self.0.fences)
    }

    /// When the replicas of what it writes are written.
    #[inline]
    pub fn replica_order(&self) -> ReplicaOrder {
        self.0.replica_order
    }

    /// Chooses when the replicas of what it writes are written, until its verbs are cleared.
    #[inline]
    pub fn set_replica_order(&mut self, order: ReplicaOrder) {
        self.0.replica_order = order;
    }

    /// Replaces the verbs; they use the same arena.
    pub(crate) fn replace_verbs(&mut self, verbs: Vec<Verb>) {
        self.0.bytes = verbs.iter().map(Verb::bytes).sum();
        self.0.fences = verbs.iter().filter(|verb| **verb == Verb::Fence).count() as u32;
        self.0.verbs = verbs;
    }

    /// Verbs and arena together, for back ends that execute them.
    #[inline]
    pub fn parts_mut(&mut self) -> (&[Verb], &mut [u64]) {
        let body = &mut *self.0;
        (&body.verbs, &mut body.arena[..body.used])
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(&self.0.verbs).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::SlotGeometry;
    use layout::row::Cover;
    use layout::{GlobalPtr, RegionId};

    fn ptr(offset: u64) -> GlobalPtr {
        GlobalPtr::new(RegionId(0), offset)
    }

    #[test]
    fn a_copy_has_the_verbs_and_the_words_in_use_and_keeps_its_room() {
        let mut batch = Batch::new();
        let read = batch.read(ptr(512), 2);
        let span = batch.put(&[7, 8]);
        batch.write(ptr(64), span);
        batch.fence();
        batch.read_row(ptr(640), 4, Cover::AllButLink);
        batch.read_row(ptr(672), 4, Cover::AllButLink);
        let (key_words, key_at, tag) = (2, 1, 5);
        let geometry = SlotGeometry { slots: 2, key_words, key_at, tag, slot_words: 8, rows: true };
        batch.find_slot(ptr(1024), geometry, span);
        let mut copy = Batch::new();
        copy.reserve(100_000);
        let room = copy.0.arena.len();
        copy.copy_from(&batch);
        let totals = |batch: &Batch| {
            (batch.bytes(), batch.round_trips(), batch.verb_count(), batch.choice_count())
        };
        assert_eq!((copy.verbs(), totals(&copy)), (batch.verbs(), totals(&batch)));
        assert_eq!(copy.arena(), batch.arena());
        assert_eq!((copy.words(span), copy.words(read)), (&[7, 8][..], batch.words(read)));
        assert_eq!(copy.0.arena.len(), room);
        let mut first = Batch::new();
        first.copy_from(&batch);
        assert_eq!(first.arena(), batch.arena());
    }
}

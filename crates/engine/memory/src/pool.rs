//! Sub-allocation on the compute server: pieces of a few words from its extents.
//!
//! Decisions:
//! - docs/decisions/0013-a-row-gets-its-version-buffer-with-its-first-update.md
//! - docs/decisions/0027-freed-memory-is-reused-for-the-same-purpose-and-shape-only.md
//! - docs/decisions/0056-a-version-buffer-in-the-pool-has-an-empty-list.md

use crate::extent::{AllocateError, Label, allocate_extent};
use fabric::Env;
use layout::{GlobalPtr, NodeId, WORD_BYTES};
use std::collections::BTreeMap;

/// Bytes of a pool's first extent; each next one is twice as large, up to the limit.
const EXTENT_BYTES_MIN: u64 = 64 * 1024;
/// Bytes of the largest extent, unless a piece needs a larger one.
const EXTENT_BYTES_MAX: u64 = 4 << 20;
/// Pieces freed last that an assertion compares with one that is freed now.
const FREED_LOOKED_AT: usize = 64;

/// Memory for one purpose of one table. A freed piece is only reused for the same purpose and size,
/// so that readers that still have its address find the same shape there and notice by key, version
/// or fences that it was reused.
pub struct Pool {
    label: Label,
    nodes: Vec<NodeId>,
    next_node: usize,
    extent_bytes: u64,
    bump: GlobalPtr,
    bump_words: u64,
    free: BTreeMap<u32, Vec<GlobalPtr>>,
    /// The size used last, whose free list is kept at hand.
    recent: (u32, Vec<GlobalPtr>),
}

impl Pool {
    /// An empty pool that allocates its extents from `nodes` in turn.
    pub fn new(label: Label, nodes: Vec<NodeId>) -> Self {
        assert!(!nodes.is_empty());
        Self {
            label,
            nodes,
            next_node: 0,
            extent_bytes: EXTENT_BYTES_MIN,
            bump: GlobalPtr::NULL,
            bump_words: 0,
            free: BTreeMap::new(),
            recent: (0, Vec::new()),
        }
    }

    /// The use of its memory.
    pub fn label(&self) -> Label {
        self.label
    }

    /// Allocates `words` words, not zeroed if they were used before.
    #[inline]
    pub async fn allocate<E: Env>(
        &mut self,
        env: &E,
        words: u32,
    ) -> Result<GlobalPtr, AllocateError> {
        if let Some(ptr) = self.take(words) {
            return Ok(ptr);
        }
        self.refill(env, words).await?;
        Ok(self.take(words).expect("an extent was just added for it"))
    }

    /// Allocates `words` words, if the pool has them without a new extent.
    #[inline]
    pub fn take(&mut self, words: u32) -> Option<GlobalPtr> {
        assert!(words > 0);
        self.select(words);
        if let Some(ptr) = self.recent.1.pop() {
            return Some(ptr);
        }
        if self.bump_words < u64::from(words) {
            return None;
        }
        let ptr = self.bump;
        self.bump = ptr.add_words(u64::from(words));
        self.bump_words -= u64::from(words);
        Some(ptr)
    }

    /// Frees a piece of `words` words.
    #[inline]
    pub fn free(&mut self, ptr: GlobalPtr, words: u32) {
        debug_assert!(!ptr.is_null() && words > 0);
        self.select(words);
        debug_assert!(!self.was_just_freed(ptr), "a piece is freed once");
        self.recent.1.push(ptr);
    }

    /// Whether a piece is among those of its size that were freed last. For assertions.
    fn was_just_freed(&self, ptr: GlobalPtr) -> bool {
        self.recent.1.iter().rev().take(FREED_LOOKED_AT).any(|other| *other == ptr)
    }

    #[inline]
    fn select(&mut self, words: u32) {
        if self.recent.0 != words {
            self.select_other(words);
        }
    }

    #[cold]
    fn select_other(&mut self, words: u32) {
        let list = self.free.remove(&words).unwrap_or_default();
        let (old_words, old_list) = std::mem::replace(&mut self.recent, (words, list));
        self.free.insert(old_words, old_list);
    }

    #[cold]
    async fn refill<E: Env>(&mut self, env: &E, words: u32) -> Result<(), AllocateError> {
        let bytes = self.extent_bytes.max(u64::from(words) * WORD_BYTES);
        let mut last_error = None;
        for _ in 0..self.nodes.len() {
            let node = self.nodes[self.next_node];
            self.next_node = (self.next_node + 1) % self.nodes.len();
            match allocate_extent(env, node, bytes, self.label).await {
                Ok(ptr) => {
                    self.bump = ptr;
                    self.bump_words = bytes / WORD_BYTES;
                    self.extent_bytes = (self.extent_bytes * 2).min(EXTENT_BYTES_MAX);
                    return Ok(());
                }
                Err(error) => last_error = Some(error),
            }
        }
        Err(last_error.expect("a pool has at least one node"))
    }

    /// Number of pieces in the free lists.
    pub fn free_count(&self) -> usize {
        self.recent.1.len() + self.free.values().map(Vec::len).sum::<usize>()
    }
}

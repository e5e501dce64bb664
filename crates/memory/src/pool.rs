//! Sub-allocation on the compute server: pieces of a few words out of extents it holds.

use crate::extent::{AllocateError, Label, allocate_extent};
use fabric::Env;
use layout::{GlobalPtr, NodeId, WORD_BYTES};
use std::collections::BTreeMap;

/// Bytes of the first extent a pool asks for; the next ones double up to the largest.
const EXTENT_BYTES_MIN: u64 = 64 * 1024;
/// Bytes of the largest extent a pool asks for on its own.
const EXTENT_BYTES_MAX: u64 = 4 << 20;
/// Pieces freed last that an assertion compares with one that is freed now.
const FREED_LOOKED_AT: usize = 64;

/// Pieces of memory for one purpose of one table. A freed piece is only ever reused for the same purpose
/// and size, so that readers who still hold its address find the same shape there and recognise by key,
/// version or fences that it is no longer theirs.
pub struct Pool {
    label: Label,
    nodes: Vec<NodeId>,
    next_node: usize,
    extent_bytes: u64,
    bump: GlobalPtr,
    bump_words: u64,
    free: BTreeMap<u32, Vec<GlobalPtr>>,
    /// The size asked for last, whose free list is kept at hand.
    recent: (u32, Vec<GlobalPtr>),
}

impl Pool {
    /// An empty pool that takes its extents from `nodes` in turn.
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

    /// What its memory is used for.
    pub fn label(&self) -> Label {
        self.label
    }

    /// A piece of `words` words, not zeroed if it was used before.
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

    /// A piece of `words` words, if the pool has one without asking for an extent.
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

    /// Takes a piece of `words` words back.
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

    /// Pieces in the free lists.
    pub fn free_count(&self) -> usize {
        self.recent.1.len() + self.free.values().map(Vec::len).sum::<usize>()
    }
}

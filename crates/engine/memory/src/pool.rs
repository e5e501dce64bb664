//! Sub-allocation on the compute server: pieces of a few words from its extents.
//!
//! Decisions:
//! - docs/decisions/0013-a-row-gets-its-version-buffer-with-its-first-update.md
//! - docs/decisions/0027-freed-memory-is-reused-for-the-same-purpose-and-shape-only.md
//! - docs/decisions/0056-a-version-buffer-in-the-pool-has-an-empty-list.md

use crate::extent::{AllocateError, Label, allocate_extent};
use crate::shared::{PieceKind, Purpose, SharedPieces};
use fabric::{Env, Note};
use layout::{GlobalPtr, NodeId, WORD_BYTES, region};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of a pool's first extent; each next one is twice as large, up to the limit.
const EXTENT_BYTES_MIN: u64 = 64 * 1024;
/// Bytes of the largest extent, unless a piece needs a larger one.
const EXTENT_BYTES_MAX: u64 = 4 << 20;
/// Pieces freed last that an assertion compares with one that is freed now.
const FREED_LOOKED_AT: usize = 64;

/// Most bytes of free pieces of one size that a sharing pool keeps once memory has run short. When
/// it has more, it gives half of them to the other lanes.
const FREE_BYTES_MAX: u64 = 64 * 1024;
/// While memory is plentiful, a pool keeps this many times more, so that lanes seldom meet at the
/// shared pieces.
const PLENTY_FACTOR: usize = 16;
/// Free pieces of one size that a sharing pool keeps, however large they are.
const FREE_COUNT_MIN: u64 = 8;

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
    /// The size used last, with its free list.
    recent: (u32, Vec<GlobalPtr>),
    /// Most pieces in that list.
    recent_max: usize,
    /// The list for surplus pieces, and the purpose under which they are filed.
    shared: Option<(Arc<SharedPieces>, Purpose)>,
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
            recent_max: usize::MAX,
            shared: None,
        }
    }

    /// A pool that shares its free pieces with others for the same purpose of the same table.
    pub fn sharing(self, pieces: Arc<SharedPieces>, purpose: Purpose) -> Self {
        Self { shared: Some((pieces, purpose)), ..self }
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
        if let Some(ptr) = self.take(env, words) {
            return Ok(ptr);
        }
        self.take_shared(words);
        if self.recent.1.is_empty() {
            self.refill(env, words).await?;
        }
        Ok(self.take(env, words).expect("a piece or an extent was just added"))
    }

    /// Allocates `words` words, if the pool has them without a new extent.
    #[inline]
    pub fn take<E: Env>(&mut self, env: &E, words: u32) -> Option<GlobalPtr> {
        let ptr = self.take_unnoted(words)?;
        env.note(|| Note::Allocates { at: ptr, words });
        Some(ptr)
    }

    #[inline]
    fn take_unnoted(&mut self, words: u32) -> Option<GlobalPtr> {
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
    pub fn free<E: Env>(&mut self, env: &E, ptr: GlobalPtr, words: u32) {
        debug_assert!(!ptr.is_null() && words > 0);
        env.note(|| Note::Frees { at: ptr, words });
        self.select(words);
        debug_assert!(!self.was_just_freed(ptr), "a piece is freed once");
        if self.recent.1.len() >= self.recent_max && self.has_surplus() {
            self.share_recent();
        }
        self.recent.1.push(ptr);
    }

    /// The kind of the size allocated last, if the pool shares its pieces.
    fn recent_kind(&self) -> Option<(&SharedPieces, PieceKind)> {
        let (pieces, purpose) = self.shared.as_ref()?;
        let server = (self.nodes.len() == 1).then(|| self.nodes[0]);
        let kind = PieceKind { label: self.label, purpose: *purpose, server, words: self.recent.0 };
        Some((pieces, kind))
    }

    /// Whether a pool with `recent_max` free pieces of the recent size should give some away.
    #[inline]
    fn has_surplus(&self) -> bool {
        let is_short = self.shared.as_ref().is_some_and(|(pieces, _)| pieces.is_short());
        is_short || self.recent.1.len() >= PLENTY_FACTOR * self.recent_max
    }

    /// Gives the older half of the free pieces of the recent size to other lanes.
    #[cold]
    fn share_recent(&mut self) {
        let half = self.recent.1.len().div_ceil(2);
        let given: Vec<GlobalPtr> = self.recent.1.drain(..half).collect();
        let (pieces, kind) = self.recent_kind().expect("a limit is set where pieces are shared");
        pieces.give(kind, given.into_iter());
    }

    /// Takes pieces that other lanes gave.
    #[cold]
    fn take_shared(&mut self, words: u32) {
        self.select(words);
        let mut taken = std::mem::take(&mut self.recent.1);
        if let Some((pieces, kind)) = self.recent_kind() {
            pieces.take(kind, self.recent_max / 2, &mut taken);
        }
        self.recent.1 = taken;
    }

    /// Whether `ptr` is among the pieces of its size that were freed last. For assertions.
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
        if self.shared.is_some() {
            let fitting = FREE_BYTES_MAX / (u64::from(words) * WORD_BYTES);
            self.recent_max = fitting.max(FREE_COUNT_MIN) as usize;
        }
    }

    #[cold]
    async fn refill<E: Env>(&mut self, env: &E, words: u32) -> Result<(), AllocateError> {
        let mut last_error = None;
        for _ in 0..self.nodes.len() {
            let node = self.nodes[self.next_node];
            self.next_node = (self.next_node + 1) % self.nodes.len();
            match self.refill_from(env, node, u64::from(words) * WORD_BYTES).await {
                Ok(()) => return Ok(()),
                Err(error) => last_error = Some(error),
            }
        }
        let error = last_error.expect("a pool has at least one node");
        if let (AllocateError::Full { .. }, Some((pieces, _))) = (&error, &self.shared) {
            pieces.note_short();
        }
        Err(error)
    }

    /// Takes an extent from `node`: a smaller one if the next size no longer fits.
    async fn refill_from<E: Env>(
        &mut self,
        env: &E,
        node: NodeId,
        least_bytes: u64,
    ) -> Result<(), AllocateError> {
        let mut bytes = self.extent_bytes.max(least_bytes);
        loop {
            match allocate_extent(env, node, bytes, self.label).await {
                Ok(ptr) => {
                    self.bump = ptr;
                    self.bump_words = bytes / WORD_BYTES;
                    self.extent_bytes = (self.extent_bytes * 2).min(EXTENT_BYTES_MAX);
                    return Ok(());
                }
                // Other lanes may take the rest meanwhile, so each round requests at most half of
                // the previous one.
                Err(AllocateError::Full { free_bytes, .. })
                    if bytes > least_bytes && free_bytes >= least_bytes =>
                {
                    let left_bytes = free_bytes / region::HEADER_BYTES * region::HEADER_BYTES;
                    bytes = left_bytes.min(bytes / 2).max(least_bytes);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Number of pieces in the free lists.
    pub fn free_count(&self) -> usize {
        self.recent.1.len() + self.free.values().map(Vec::len).sum::<usize>()
    }
}

//! Leaves: each is read once by a transaction, from where the lane remembers it or from where the memory
//! server says that it is.

use super::{Pending, Step};
use crate::abort::TxnError;
use crate::lane::LaneInner;
use crate::write::{LeafSeen, Owner};
use fabric::{Batch, Env, Mutant, Span};
use index::tree::{LeafRead, LeafView, PostedLeaf, Tree};
use layout::Key;

/// Leaves seen last among which one is looked for. One that is not found is read again, so that a scan of many
/// leaves does not look through all of them for each.
const LEAVES_SEARCHED_MAX: usize = 64;

impl<E: Env> LaneInner<E> {
    /// Posts the read of the leaf that covers `key`, unless this transaction has read it or is about to.
    #[inline]
    pub(super) fn post_leaf(
        &mut self,
        owner: Owner,
        tree: &Tree,
        key: Span,
        pending: &[Pending],
    ) -> Step {
        let mut batch = self.batch.take().unwrap_or_default();
        if let Some(seen) = self.seen_leaf_in(&batch, owner, tree, batch.words(key)) {
            self.batch = Some(batch);
            return Step::Seen(seen as u32);
        }
        let cached = self.leaf_cache(owner).find(batch.words(key));
        let posted = cached.map(|place| {
            let same = |other: &Pending| match other.step {
                Step::Leaf(Some(posted)) if posted.ptr == place.ptr => Some(posted),
                _ => None,
            };
            let known = pending.iter().rev().find_map(same);
            known.unwrap_or_else(|| {
                self.env.prefetch(place.ptr, tree.layout.words());
                index::tree::post_leaf_at(&mut batch, tree, place)
            })
        });
        self.batch = Some(batch);
        Step::Leaf(posted)
    }

    /// The leaf of this transaction that covers `key`, if it has read one.
    #[inline]
    pub(crate) fn seen_leaf(&self, owner: Owner, key: &[u64]) -> Option<usize> {
        let batch = self.batch.as_ref()?;
        self.seen_leaf_in(batch, owner, &self.tree(owner), key)
    }

    #[inline(always)]
    pub(crate) fn seen_leaf_in(
        &self,
        batch: &Batch,
        owner: Owner,
        tree: &Tree,
        key: &[u64],
    ) -> Option<usize> {
        let covers = |seen: &LeafSeen| {
            seen.owner == owner
                && (!seen.is_kept || self.env.mutant(Mutant::ReadTrustKeptLeaf))
                && LeafView::new(tree.layout, batch.words(seen.span)).covers(key)
        };
        let first = self.leaves_seen.len().saturating_sub(LEAVES_SEARCHED_MAX);
        let found = self.leaves_seen[first..].iter().rposition(covers);
        found.map(|position| first + position)
    }

    /// A leaf that covers `key`, read now or earlier in this transaction. No verbs may be posted.
    pub(crate) async fn leaf_for(&mut self, owner: Owner, key: &Key) -> Result<usize, TxnError> {
        if let Some(seen) = self.seen_leaf(owner, key.words()) {
            return Ok(seen);
        }
        let tree = self.tree(owner);
        let mut batch = self.batch.take().unwrap_or_default();
        batch.clear_verbs();
        let posted = index::tree::post_leaf(&mut batch, &tree, self.leaf_cache(owner), key.words());
        self.batch = Some(batch);
        if let Some(posted) = posted {
            self.execute().await?;
            let batch = self.batch.as_ref().expect("the batch came back");
            if let Some(read) = index::tree::accept_leaf(batch, &tree, posted, key.words()) {
                return Ok(self.note_leaf(owner, &read));
            }
        }
        let span = self.batch().put(key.words());
        Box::pin(self.find_leaf(owner, span)).await
    }

    /// The leaf that was hoped to cover the access's key, if it does.
    #[inline]
    pub(super) fn accept_posted(
        &mut self,
        access: u32,
        posted: Option<PostedLeaf>,
    ) -> Option<usize> {
        let entry = self.accesses[access as usize];
        let owner = Owner::Table(entry.table);
        let key = Span { at: entry.key_at, words: self.info(entry.table).row.key_words };
        let tree = self.tree(owner);
        let batch = self.batch.as_ref().expect("the batch came back");
        let read = index::tree::accept_leaf(batch, &tree, posted?, batch.words(key))?;
        // Leaves of a round trip are mostly noted in the order of the arena, so that earlier ones need no look. One
        // that is noted twice does no harm: both notes are of the same words.
        let last = self.leaves_seen.iter().rposition(|seen| seen.span.at <= read.span.at);
        let known = last.filter(|&last| self.leaves_seen[last].span == read.span);
        Some(known.unwrap_or_else(|| self.note_leaf(owner, &read)))
    }

    /// Asks the memory server for the leaf: the cache was empty or wrong. The verbs that are posted but
    /// not yet executed stay posted.
    #[cold]
    pub(crate) async fn find_leaf(&mut self, owner: Owner, key: Span) -> Result<usize, TxnError> {
        let tree = self.tree(owner);
        let words = Key::from_words(self.batch().words(key));
        let own = Batch::new();
        let env = self.env.clone();
        let cache = self.leaf_cache(owner);
        let (own, read) = index::tree::find_leaf(&env, own, &tree, cache, words.words()).await?;
        let span = self.batch().put(own.words(read.span));
        Ok(self.note_leaf(owner, &LeafRead { span, ..read }))
    }

    /// Remembers a leaf that was read; answers where.
    pub(crate) fn note_leaf(&mut self, owner: Owner, read: &LeafRead) -> usize {
        let LeafRead { ptr, span, insert } = *read;
        self.leaves_seen.push(LeafSeen { owner, leaf: ptr, span, insert, is_kept: false, near: 0 });
        self.leaves_seen.len() - 1
    }
}

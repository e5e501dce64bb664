//! Leaves of trees: a transaction reads each once, at the address in the leaf cache or at the one
//! that the memory server returns.

use super::{Pending, Step};
use crate::abort::TxnError;
use crate::lane::LaneInner;
use crate::read::access::AccessId;
use crate::write::{LeafSeen, LeafSeenId, Owner};
use fabric::{Batch, Env, Mutant, Span};
use index::tree::{LeafRead, LeafView, PostedLeaf, Tree};
use layout::Key;

/// Number of leaves that a search covers, beginning with the one read last. A leaf that is not
/// found is read again. The bound keeps a scan of many leaves from searching all of them for each.
const LEAVES_SEARCHED_MAX: usize = 64;

impl<E: Env> LaneInner<E> {
    /// Posts the read of the leaf that covers `key`, unless this transaction has read it or has
    /// posted its read.
    #[inline]
    pub(super) fn post_leaf(
        &mut self,
        owner: Owner,
        tree: &Tree,
        key: Span,
        pending: &[Pending],
    ) -> Step {
        if let Some(seen) = self.seen_leaf_in(owner, tree, self.txn.batch.words(key)) {
            return Step::Seen(seen);
        }
        let batch = &mut *self.txn.batch;
        let cached = self.open.leaf_cache(owner).find(batch.words(key));
        let posted = cached.map(|place| {
            let same = |other: &Pending| match other.step {
                Step::Leaf(Some(posted)) if posted.ptr == place.ptr => Some(posted),
                _ => None,
            };
            let known = pending.iter().rev().find_map(same);
            known.unwrap_or_else(|| {
                self.env.prefetch(place.ptr, tree.layout.words());
                index::tree::post_leaf_at(batch, tree, place)
            })
        });
        Step::Leaf(posted)
    }

    /// The leaf that covers `key`, if this transaction has read it.
    #[inline]
    pub(crate) fn seen_leaf(&self, owner: Owner, key: &[u64]) -> Option<LeafSeenId> {
        if self.txn.batch.is_lost() {
            return None;
        }
        self.seen_leaf_in(owner, &self.open.tree(owner), key)
    }

    #[inline(always)]
    pub(crate) fn seen_leaf_in(
        &self,
        owner: Owner,
        tree: &Tree,
        key: &[u64],
    ) -> Option<LeafSeenId> {
        let batch = &*self.txn.batch;
        let covers = |seen: &LeafSeen| {
            seen.owner == owner
                && (!seen.is_kept || self.env.mutant(Mutant::ReadTrustKeptLeaf))
                && LeafView::new(tree.layout, batch.words(seen.span)).covers(key)
        };
        let leaves: &[LeafSeen] = &self.txn.leaves_seen;
        let fresh = self.txn.fresh_leaves as usize;
        let first = leaves.len().saturating_sub(LEAVES_SEARCHED_MAX).max(fresh.min(leaves.len()));
        let found = leaves[first..].iter().rposition(covers);
        found.map(|position| LeafSeenId::new((first + position) as u32))
    }

    /// The leaf that covers `key`, read now or earlier in this transaction. The batch must have no
    /// verbs.
    pub(crate) async fn leaf_for(
        &mut self,
        owner: Owner,
        key: &Key,
    ) -> Result<LeafSeenId, TxnError> {
        if let Some(seen) = self.seen_leaf(owner, key.words()) {
            return Ok(seen);
        }
        let tree = self.open.tree(owner);
        let batch = &mut *self.txn.batch;
        batch.clear_verbs();
        let cache = self.open.leaf_cache(owner);
        let posted = index::tree::post_leaf(batch, &tree, cache, key.words());
        if let Some(posted) = posted {
            self.execute().await?;
            let batch = &*self.txn.batch;
            if let Some(read) = index::tree::accept_leaf(batch, &tree, posted, key.words()) {
                return Ok(self.txn.note_leaf(owner, &read));
            }
        }
        let span = self.txn.batch.put(key.words());
        Box::pin(self.find_leaf(owner, span)).await
    }

    /// The posted leaf, if it covers the access's key.
    #[inline]
    pub(super) fn accept_posted(
        &mut self,
        access: AccessId,
        posted: Option<PostedLeaf>,
    ) -> Option<LeafSeenId> {
        let entry = self.txn.accesses[access];
        let owner = Owner::Table(entry.table);
        let key = Span { at: entry.key_at, words: self.open.info(entry.table).row.key_words };
        let tree = self.open.tree(owner);
        let batch = &*self.txn.batch;
        let read = index::tree::accept_leaf(batch, &tree, posted?, batch.words(key))?;
        // Leaves of a round trip are mostly added in the order of the arena, so that a leaf that is
        // already in the list is near its end. A leaf that is added twice does no harm: both
        // elements have the same words.
        let last = self.txn.leaves_seen.iter().rposition(|seen| seen.span.at <= read.span.at);
        let last = last.map(|last| LeafSeenId::new(last as u32));
        let known = last.filter(|&last| self.txn.leaves_seen[last].span == read.span);
        Some(known.unwrap_or_else(|| self.txn.note_leaf(owner, &read)))
    }

    /// Finds the leaf by a call to the memory server, after the cache had no address or a wrong
    /// one. Verbs that are posted but not executed stay posted.
    #[cold]
    pub(crate) async fn find_leaf(
        &mut self,
        owner: Owner,
        key: Span,
    ) -> Result<LeafSeenId, TxnError> {
        let tree = self.open.tree(owner);
        let words = Key::from_words(self.txn.batch.words(key));
        let own = Batch::new();
        let env = self.env.clone();
        let cache = self.open.leaf_cache(owner);
        let (own, read) = index::tree::find_leaf(&env, own, &tree, cache, words.words()).await?;
        let span = self.txn.batch.put(own.words(read.span));
        Ok(self.txn.note_leaf(owner, &LeafRead { span, ..read }))
    }
}

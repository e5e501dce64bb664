//! Batched removal of tombstones from trees: all of them take each step together, so that ten take
//! as many round trips as one. Over a network that is most of the cost of upkeep.
//!
//! Decision: docs/decisions/0153-tombstones-of-trees-are-removed-together.md

use crate::catalog::TableId;
use crate::collect::Retired;
use crate::collect::removal::{Removal, TombstoneLock, post_tombstone_lock};
use crate::lane::LaneInner;
use crate::step::CollectStep;
use crate::write::Owner;
use fabric::{Batch, Env, FabricError, Mutant};
use index::tree::{LeafLock, LeafRead, LockResult, PostedLeaf};
use layout::{GlobalPtr, Key, VersionWord};

/// Maximal number of tombstones that are removed together.
pub(crate) const SWEPT_MAX: usize = 32;

#[derive(Clone, Copy)]
pub(crate) struct Tombstone {
    pub retired: Retired,
    pub key: Key,
}

/// The leaves of tombstones, as read.
struct Swept {
    batch: Batch,
    leaves: Vec<SweptLeaf>,
    /// Tombstones whose leaves were not found through the leaf cache.
    others: Vec<Tombstone>,
}

/// A leaf from which entries are removed.
struct SweptLeaf {
    table: TableId,
    leaf: LeafRead,
    /// Number of its entries before the removal.
    count: usize,
    lock: Option<LeafLock>,
    /// Sorted by position.
    entries: Vec<SweptEntry>,
}

struct SweptEntry {
    position: u32,
    key: Key,
    retired: Retired,
    lock: Option<TombstoneLock>,
    removal: Removal,
    /// The version buffer of the removed tombstone, or null.
    buffer: GlobalPtr,
}

impl SweptLeaf {
    fn owner(&self) -> Owner {
        Owner::Table(self.table)
    }

    /// The positions of the entries to remove.
    fn removed(&self) -> Vec<u32> {
        self.done().map(|entry| entry.position).collect()
    }

    /// The entries to remove.
    fn done(&self) -> impl Iterator<Item = &SweptEntry> {
        self.entries.iter().filter(|entry| entry.removal == Removal::Done)
    }
}

impl<E: Env> LaneInner<E> {
    /// Removes tombstones of trees and their entries; those in use are queued for another round.
    pub(crate) async fn sweep_tombstones(
        &mut self,
        tombstones: &[Tombstone],
    ) -> Result<(), FabricError> {
        let Swept { batch, mut leaves, others } = self.read_swept(tombstones).await?;
        let timestamp = self.identity.upkeep_timestamp();
        let batch = self.lock_swept_leaves(batch, &mut leaves, timestamp).await?;
        self.env.reach(CollectStep::EntryLocked).await;
        let batch = self.lock_swept_rows(batch, &mut leaves, timestamp).await?;
        self.env.reach(CollectStep::TombstoneLocked).await;
        let batch = self.write_swept(batch, &leaves, timestamp).await?;
        self.env.reach(CollectStep::EntryRemoved).await;
        self.scratch.batch = Some(batch);
        for leaf in &leaves {
            for entry in &leaf.entries {
                self.note_removal(entry.removal, &entry.retired);
            }
            if leaf.removed().len() == leaf.count {
                self.absorb_neighbour(leaf.owner(), &leaf.entries[0].key).await;
            }
        }
        for Tombstone { retired, key } in others {
            self.collect_tombstone(&retired, &key).await?;
        }
        Ok(())
    }

    /// Reads leaves through the leaf cache. Returns them, and the tombstones whose leaves were not
    /// found.
    async fn read_swept(&mut self, tombstones: &[Tombstone]) -> Result<Swept, FabricError> {
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.reset();
        let mut posted: Vec<PostedLeaf> = Vec::new();
        let mut places = Vec::with_capacity(tombstones.len());
        for Tombstone { retired, key } in tombstones {
            let owner = Owner::Table(retired.table);
            let tree = self.open.tree(owner);
            places.push(self.open.leaf_cache(owner).find(key.words()).map(|place| {
                let known = posted.iter().position(|posted| posted.ptr == place.ptr);
                known.unwrap_or_else(|| {
                    posted.push(index::tree::post_leaf_at(&mut batch, &tree, place));
                    posted.len() - 1
                })
            }));
        }
        if !batch.is_empty() {
            batch = self.env.execute(batch).await?;
        }
        let mut leaves: Vec<SweptLeaf> = Vec::with_capacity(posted.len());
        let mut others = Vec::new();
        for (&tombstone, place) in tombstones.iter().zip(places) {
            let Tombstone { retired, key } = &tombstone;
            let posted = place.map(|place| posted[place]);
            let entry = posted.and_then(|posted| self.swept_entry(&batch, retired, key, posted));
            let Some((leaf, entry)) = entry else {
                others.push(tombstone);
                continue;
            };
            let is_same = |other: &SweptEntry| other.retired.row == retired.row;
            let is_repeated = leaves.iter().flat_map(|leaf| &leaf.entries).any(is_same);
            if is_repeated && !self.env.mutant(Mutant::CollectLockRowTwice) {
                // If the batch of locks is lost and repeated, a swap that finds its own lock has
                // succeeded the first time: no two swaps may be on one row.
                self.garbage.retired.push_back(*retired);
                continue;
            }
            match leaves.iter_mut().find(|known| known.leaf.ptr == leaf.ptr) {
                Some(known) => known.entries.push(entry),
                None => leaves.push(SweptLeaf {
                    table: retired.table,
                    leaf,
                    count: leaf.view(&batch, &self.open.tree(Owner::Table(retired.table))).count()
                        as usize,
                    lock: None,
                    entries: vec![entry],
                }),
            }
        }
        Ok(Swept { batch, leaves, others })
    }

    /// The entry of a tombstone in the posted leaf, if the leaf covers its key and is not locked.
    fn swept_entry(
        &self,
        batch: &Batch,
        retired: &Retired,
        key: &Key,
        posted: PostedLeaf,
    ) -> Option<(LeafRead, SweptEntry)> {
        let tree = self.open.tree(Owner::Table(retired.table));
        let leaf = index::tree::accept_leaf(batch, &tree, posted, key.words())?;
        let position = leaf.view(batch, &tree).search(key.words()).ok()?;
        let entry = SweptEntry {
            position,
            key: *key,
            retired: *retired,
            lock: None,
            removal: Removal::Busy,
            buffer: GlobalPtr::NULL,
        };
        (!leaf.insert.is_locked()).then_some((leaf, entry))
    }

    /// Locks all leaves; unlocks those that were changed since they were read.
    async fn lock_swept_leaves(
        &mut self,
        mut batch: Batch,
        leaves: &mut [SweptLeaf],
        timestamp: VersionWord,
    ) -> Result<Batch, FabricError> {
        batch.clear_verbs();
        for swept in leaves.iter_mut() {
            self.open.evict_leaf(swept.owner(), swept.leaf.ptr);
            swept.entries.sort_unstable_by_key(|entry| entry.position);
            let tree = self.open.tree(swept.owner());
            swept.lock = Some(index::tree::post_lock(&mut batch, &tree, &swept.leaf, timestamp));
        }
        batch = self.env.execute(batch).await?;
        batch.clear_verbs();
        for swept in leaves {
            let result = swept.lock.as_ref().map(|lock| self.leaf_lock_result(&batch, lock));
            if result == Some(LockResult::Held) {
                continue;
            }
            if result == Some(LockResult::Outdated) {
                batch.write_word(swept.leaf.ptr, timestamp.word());
            }
            swept.lock = None;
        }
        if batch.is_empty() {
            return Ok(batch);
        }
        self.env.execute(batch).await
    }

    /// Locks the rows of all entries in locked leaves.
    async fn lock_swept_rows(
        &mut self,
        mut batch: Batch,
        leaves: &mut [SweptLeaf],
        timestamp: VersionWord,
    ) -> Result<Batch, FabricError> {
        batch.clear_verbs();
        for entry in held(leaves) {
            let Retired { row, successor, .. } = entry.retired;
            entry.lock = Some(post_tombstone_lock(&mut batch, row, successor, timestamp));
        }
        if batch.is_empty() {
            return Ok(batch);
        }
        batch = self.env.execute(batch).await?;
        for entry in held(leaves) {
            let lock = entry.lock.expect("it was posted above");
            (entry.removal, entry.buffer) = self.decide_tombstone(&batch, lock);
            if !entry.buffer.is_null() {
                self.empty_buffer(entry.retired.table, entry.buffer).await?;
            }
        }
        Ok(batch)
    }

    /// Writes the locked leaves without the removed entries, marks the rows, and unlocks the
    /// leaves.
    async fn write_swept(
        &mut self,
        mut batch: Batch,
        leaves: &[SweptLeaf],
        timestamp: VersionWord,
    ) -> Result<Batch, FabricError> {
        batch.clear_verbs();
        let unstamped = self.env.mutant(Mutant::CollectSkipLeafStamp);
        let stamp = if unstamped { 0 } else { self.garbage.horizon.stamp() };
        for swept in leaves.iter().filter(|swept| swept.lock.is_some()) {
            let LeafRead { ptr, insert, .. } = swept.leaf;
            let removed = swept.removed();
            if removed.is_empty() {
                batch.write_word(ptr, insert.word());
                continue;
            }
            let tree = self.open.tree(swept.owner());
            index::tree::write_leaf_without(&mut batch, &tree, &swept.leaf, &removed, stamp);
            for entry in swept.done() {
                self.mark_tombstone_row(&mut batch, swept.owner(), &entry.retired);
            }
            batch.write_word(ptr, timestamp.word());
        }
        if batch.is_empty() {
            return Ok(batch);
        }
        batch = self.env.execute(batch).await?;
        for swept in leaves.iter().filter(|swept| swept.lock.is_some()) {
            for entry in swept.done() {
                self.free_tombstone(swept.owner(), &entry.retired, entry.buffer);
            }
        }
        Ok(batch)
    }
}

/// The entries of locked leaves.
fn held(leaves: &mut [SweptLeaf]) -> impl Iterator<Item = &mut SweptEntry> {
    let held = leaves.iter_mut().filter(|swept| swept.lock.is_some());
    held.flat_map(|swept| swept.entries.iter_mut())
}

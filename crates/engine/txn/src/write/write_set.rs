//! The write set of a transaction: rows, buckets, leaves and entries that its commit locks and
//! installs.

use crate::abort::{Abort, TxnError};
use crate::catalog::IndexId;
use crate::commit::{Locks, PlacedValue};
use crate::lane::ids::{Id, List};
use crate::read::access::AccessId;
use crate::write::secondary::Entry;
use crate::write::{BucketSeen, LeafSeen, LeafSeenId, Owner};
use fabric::{Env, Mutant, Span};
use layout::{BucketLayout, GlobalPtr, Key, bucket};
use std::collections::HashMap;

/// Number of buckets from which on a map finds one.
const BUCKETS_SEARCHED_MAX: usize = 32;

/// A bucket into which the transaction inserts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BucketInsert {
    pub bucket: GlobalPtr,
    /// The expected value of its insert word.
    pub insert: u64,
    /// The block that receives the next entry.
    pub block: InsertBlockId,
    /// The last block of its chain.
    pub last: GlobalPtr,
    pub owner: Owner,
}

pub(crate) type BucketInsertId = Id<BucketInsert>;

/// A block of a bucket's chain into which the transaction inserts entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InsertBlock {
    /// The bucket of the chain.
    pub bucket: GlobalPtr,
    pub block: GlobalPtr,
    /// Its number of slots.
    pub slots: u32,
    /// Its tags with all entries of the transaction.
    pub tags: u64,
    /// For a new block: the block that will link to it.
    pub linked_from: GlobalPtr,
    pub owner: Owner,
}

impl InsertBlock {
    /// Whether the commit writes it, or the link to it, on another server than its bucket.
    pub fn is_far(&self) -> bool {
        let is_far = |at: GlobalPtr| !at.is_null() && at.region() != self.bucket.region();
        is_far(self.block) || is_far(self.linked_from)
    }
}

pub(crate) type InsertBlockId = Id<InsertBlock>;

/// A slot of a block that the transaction fills.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct InsertSlot(u32);

impl InsertSlot {
    fn new(block: InsertBlockId, slot: u32) -> Self {
        assert!(slot < bucket::SLOTS_MAX, "a block has fewer slots");
        Self(block.position() * bucket::SLOTS_MAX + slot)
    }

    fn block(self) -> InsertBlockId {
        InsertBlockId::new(self.0 / bucket::SLOTS_MAX)
    }

    fn slot(self) -> u32 {
        self.0 % bucket::SLOTS_MAX
    }
}

/// An entry that the transaction adds to a secondary hash index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EntryInsert {
    pub index: IndexId,
    pub key: Key,
    /// The access of its row.
    pub access: AccessId,
    /// Its slot.
    pub slot: InsertSlot,
}

/// An entry that the transaction adds to a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LeafInsert {
    pub owner: Owner,
    pub seen: LeafSeenId,
    /// The entry's key, in the arena.
    pub key: Span,
    /// The access of its row.
    pub access: AccessId,
}

/// An index and the columns of a unique key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct UniqueKey {
    pub index: IndexId,
    pub key: Key,
}

/// The write set of a transaction. Everything in it is local until the commit.
#[derive(Default)]
pub(crate) struct WriteSet {
    /// The accesses with writes, in order.
    pub rows: Vec<AccessId>,
    pub bucket_inserts: List<BucketInsert>,
    /// Where they are in the list, if they are many. A rollback may leave elements that are not.
    bucket_places: HashMap<GlobalPtr, BucketInsertId>,
    pub insert_blocks: List<InsertBlock>,
    pub leaf_inserts: Vec<LeafInsert>,
    /// Number of leaves that were read up to the last one of an insert.
    pub leaves_needed: u32,
    pub entry_inserts: Vec<EntryInsert>,
    /// The long values that the commit stores.
    pub placed: Vec<PlacedValue>,
    /// One element for each chain that got a new block: its table or index needs one more bucket.
    pub wants_growth: Vec<Owner>,
    /// Whether upkeep follows the running commit.
    pub is_upkeep_due: bool,
    pub locks: Locks,
    /// Leaves that the commit locks without an insert.
    pub bare_leaves: Vec<LeafSeenId>,
    /// Accesses that are written, not deleted, and of a table with indexes.
    pub indexed: Vec<AccessId>,
    /// The entries that these accesses need.
    pub entries: Vec<Entry>,
    pub unique_keys: Vec<UniqueKey>,
    /// The entries of the leaf that is being installed.
    pub leaf_entries: Vec<index::tree::LeafEntry>,
}

impl WriteSet {
    pub fn new() -> Self {
        Self { rows: Vec::with_capacity(64), ..Self::default() }
    }

    #[inline]
    pub fn reset(&mut self) {
        self.rows.clear();
        self.bucket_inserts.clear();
        if !self.bucket_places.is_empty() {
            self.bucket_places = HashMap::new();
        }
        self.insert_blocks.clear();
        self.leaf_inserts.clear();
        self.leaves_needed = 0;
        self.entry_inserts.clear();
        self.wants_growth.clear();
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The bucket's element in the write set. Two keys of a bucket may have been looked up at
    /// different times: one swap proves both absent only if both lookups found the same insert
    /// word.
    pub fn bucket_insert<E: Env>(
        &mut self,
        env: &E,
        seen: &BucketSeen,
    ) -> Result<BucketInsertId, TxnError> {
        if let Some(known) = self.known_bucket(seen.bucket) {
            let is_same = self.bucket_inserts[known].insert == seen.insert;
            if !is_same && !env.mutant(Mutant::WriteMixBucketReadings) {
                return Err(Abort::InsertConflict.into());
            }
            return Ok(known);
        }
        let block = self.insert_blocks.add(InsertBlock {
            bucket: seen.bucket,
            block: seen.room.block,
            slots: seen.room.slots,
            tags: seen.room.tags,
            linked_from: GlobalPtr::NULL,
            owner: seen.owner,
        });
        let BucketSeen { bucket, insert, last, owner, .. } = *seen;
        let added = self.bucket_inserts.add(BucketInsert { bucket, insert, block, last, owner });
        if self.bucket_inserts.len() > BUCKETS_SEARCHED_MAX {
            self.bucket_places.insert(bucket, added);
        }
        Ok(added)
    }

    /// Finds a bucket into which the transaction inserts.
    fn known_bucket(&self, bucket: GlobalPtr) -> Option<BucketInsertId> {
        let is_it = |insert: &BucketInsert| insert.bucket == bucket;
        let searched = self.bucket_inserts.len().min(BUCKETS_SEARCHED_MAX);
        if let Some(at) = self.bucket_inserts.iter().take(searched).position(is_it) {
            return Some(BucketInsertId::new(at as u32));
        }
        let known = *self.bucket_places.get(&bucket)?;
        self.bucket_inserts.get(known.position() as usize).filter(|one| is_it(one)).map(|_| known)
    }

    /// Adds an entry for a leaf that was read.
    pub fn add_leaf_insert<E: Env>(
        &mut self,
        env: &E,
        leaves_seen: &List<LeafSeen>,
        insert: LeafInsert,
    ) -> Result<(), TxnError> {
        let is_locked = leaves_seen[insert.seen].insert.is_locked();
        if is_locked && !env.mutant(Mutant::WriteStealLeafLock) {
            return Err(Abort::InsertConflict.into());
        }
        self.leaves_needed = self.leaves_needed.max(insert.seen.position() + 1);
        self.leaf_inserts.push(insert);
        Ok(())
    }

    /// Takes an empty slot of a bucket's current block, if there is one.
    pub fn take_empty_slot(&mut self, bucket: BucketInsertId, tag_hash: u64) -> Option<InsertSlot> {
        let current = self.bucket_inserts[bucket].block;
        let block = &mut self.insert_blocks[current];
        let slot = bucket::empty_slot(block.slots, block.tags)?;
        let tag = bucket::tag(block.slots, tag_hash);
        block.tags = bucket::with_tag(block.slots, block.tags, slot, tag);
        Some(InsertSlot::new(current, slot))
    }

    /// Links a new block behind the last one of a bucket.
    pub fn chain_block(
        &mut self,
        bucket: BucketInsertId,
        block: GlobalPtr,
        slots: u32,
    ) -> InsertBlock {
        let insert = &mut self.bucket_inserts[bucket];
        let linked_from = std::mem::replace(&mut insert.last, block);
        let BucketInsert { bucket, owner, .. } = *insert;
        self.wants_growth.push(owner);
        InsertBlock { bucket, block, slots, tags: 0, linked_from, owner }
    }

    /// Makes `block` the current block of a bucket.
    pub fn fill_block(&mut self, bucket: BucketInsertId, block: InsertBlock) {
        self.bucket_inserts[bucket].block = self.insert_blocks.add(block);
    }

    /// The block of a slot.
    pub fn block_of(&self, slot: InsertSlot) -> GlobalPtr {
        self.insert_blocks[slot.block()].block
    }

    /// The address of a slot that was taken.
    #[inline]
    pub fn address_of(&self, slot: InsertSlot, layout: &BucketLayout) -> GlobalPtr {
        debug_assert!(slot.slot() < self.insert_blocks[slot.block()].slots);
        self.block_of(slot).add_words(u64::from(layout.slot(slot.slot())))
    }

    /// Adds a leaf that is locked without an insert.
    pub fn add_bare_leaf<E: Env>(&mut self, env: &E, seen: LeafSeenId) {
        if !env.mutant(Mutant::CommitSkipUniqueLock) {
            self.bare_leaves.push(seen);
        }
    }
}

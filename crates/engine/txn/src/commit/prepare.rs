//! Preparation before batch 1: memory for new rows and values, room in buckets and leaves, index
//! entries.
//!
//! Decision: docs/decisions/0017-a-new-key-for-a-row-locks-its-leaf-or-bucket-even.md

use super::LeafLock;
use crate::abort::{Abort, TxnError};
use crate::catalog::Primary;
use crate::commit::witness::LeafWitness;
use crate::lane::{LaneInner, LeavesOf};
use crate::read::ARENA_WORDS_MAX;
use crate::read::access::{AccessId, KeyPlace, State};
use crate::recovery::LockedWord;
use crate::write::secondary::CHAIN_BLOCKS_MAX;
use crate::write::write_set::{BucketInsertId, InsertBlock, InsertSlot, LeafInsert};
use crate::write::{LeafSeen, LeafSeenId};
use fabric::{Batch, Env, Mutant};
use index::tree::{LeafRead, LeafView, Tree};
use layout::{GlobalPtr, Key, VersionWord, bucket};
use std::collections::HashMap;
use std::ops::Range;

/// Number of locked leaves from which on a map finds one.
const LEAVES_SEARCHED_MAX: usize = 32;

/// Words that the preparation may take; the arena ends at 2 GiB.
const COMMIT_WORDS_MAX: usize = 3 * ARENA_WORDS_MAX;

/// The abort reason of a commit whose preparation failed.
fn abort_of(error: TxnError) -> Abort {
    error.abort().unwrap_or(match error {
        TxnError::TooLarge(_) => Abort::TooLarge,
        _ => Abort::CatalogChanged,
    })
}

impl<E: Env> LaneInner<E> {
    /// Finds room for everything that the commit writes, and draws its timestamp. Others can see
    /// only the empty room.
    pub(super) async fn prepare(&mut self) -> Result<VersionWord, Abort> {
        if self.open.catalog.has_copies {
            Box::pin(self.write_to_copies()).await.map_err(abort_of)?;
        }
        if self.writes.rows.iter().any(|&access| self.txn.accesses[access].is_old)
            && !self.env.mutant(Mutant::CommitSkipSnapshotCheck)
        {
            return Err(Abort::WriteConflict);
        }
        self.prepare_all().await.map_err(abort_of)?;
        let timestamp = self.identity.next_timestamp(self.writes.rows.len());
        if !self.txn.stage.is_empty() {
            self.place_values(timestamp).await?;
        }
        Ok(timestamp)
    }

    async fn prepare_all(&mut self) -> Result<(), TxnError> {
        self.writes.locks.leaves.clear();
        self.writes.bare_leaves.clear();
        self.writes.indexed.clear();
        for index in 0..self.writes.rows.len() {
            let access = self.writes.rows[index];
            let entry = self.txn.accesses[access];
            debug_assert!(entry.is_written(), "every access of the write set has a write");
            if !self.open.info(entry.table).indexes.is_empty() && entry.state != State::Deleted {
                self.writes.indexed.push(access);
            }
            if entry.is_new() {
                self.prepare_new_row(access).await?;
            }
        }
        if !self.writes.indexed.is_empty() {
            self.prepare_index_entries().await?;
        }
        if !self.writes.leaf_inserts.is_empty() {
            self.prepare_leaves().await?;
        }
        self.lock_bare_leaves()?;
        self.check_arena()
    }

    /// Checks that there is room for what the commit reads and writes.
    pub(crate) fn check_arena(&self) -> Result<(), TxnError> {
        match self.txn.batch.arena_words() <= COMMIT_WORDS_MAX {
            true => Ok(()),
            false => Err(TxnError::TooLarge(
                "its rows and the leaves of their entries take more than 1.5 GiB; use several transactions",
            )),
        }
    }

    /// Allocates memory for a row outside its bucket, or takes a slot for an inlined row.
    async fn prepare_new_row(&mut self, access: AccessId) -> Result<(), TxnError> {
        let entry = self.txn.accesses[access];
        let info = self.open.info(entry.table);
        let words = info.row.words();
        let key = self.txn.key(access, info.row.key_words);
        let is_inlined = matches!(&info.primary, Primary::Hash(hash) if hash.rows);
        let tag_hash = match &info.primary {
            Primary::Hash(hash) => Some(hash.locator.hash(self.txn.batch.words(key)).1),
            Primary::Tree(_) => None,
        };
        if !is_inlined {
            let pool = &mut self.open.table_mut(entry.table).pool;
            let row = match pool.take(&self.env, words) {
                Some(row) => row,
                None => pool.allocate(&self.env, words).await?,
            };
            self.txn.accesses[access].row = row;
        }
        if let Some(tag_hash) = tag_hash {
            let slot = self.take_slot(entry.place.bucket_insert(), tag_hash).await?;
            self.txn.accesses[access].place = KeyPlace::Slot(slot);
        }
        Ok(())
    }

    /// Takes an empty slot of a bucket; chains a new block if all slots are taken.
    pub(crate) async fn take_slot(
        &mut self,
        bucket: BucketInsertId,
        tag_hash: u64,
    ) -> Result<InsertSlot, TxnError> {
        loop {
            if let Some(slot) = self.writes.take_empty_slot(bucket, tag_hash) {
                return Ok(slot);
            }
            let next = self.next_block(bucket).await?;
            self.writes.fill_block(bucket, next);
        }
    }

    /// Finds the next block of the chain with an empty slot, or chains a new one. Every change of
    /// the chain also changes the bucket's insert word, which the commit locks: if the chain
    /// changes meanwhile, the lock fails.
    #[cold]
    async fn next_block(&mut self, bucket: BucketInsertId) -> Result<InsertBlock, TxnError> {
        let insert = self.writes.bucket_inserts[bucket];
        let slots = self.open.hash_table(insert.owner).layout.overflow_slots;
        let mut block = self.writes.insert_blocks[insert.block].block;
        let mut batch = Batch::new();
        for _ in 0..CHAIN_BLOCKS_MAX {
            if block == insert.last {
                return self.new_block(bucket).await;
            }
            batch.reset();
            let link = batch.read(block.add_words(u64::from(bucket::LINK)), 1);
            batch = self.env.execute(batch).await?;
            block = GlobalPtr::from_word(batch.word(link.at));
            if block.is_null() {
                // A split has moved the rest of the chain.
                return Err(Abort::InsertConflict.into());
            }
            batch.reset();
            let tags = batch.read(block.add_words(u64::from(bucket::TAGS)), 1);
            batch = self.env.execute(batch).await?;
            let tags = batch.word(tags.at);
            if bucket::empty_slot(slots, tags).is_some() {
                let (bucket, linked_from, owner) = (insert.bucket, GlobalPtr::NULL, insert.owner);
                return Ok(InsertBlock { bucket, block, slots, tags, linked_from, owner });
            }
        }
        // The insert word guards a link to the last block, too.
        self.new_block(bucket).await
    }

    /// Chains a new block to the last one of a bucket.
    async fn new_block(&mut self, bucket: BucketInsertId) -> Result<InsertBlock, TxnError> {
        let owner = self.writes.bucket_inserts[bucket].owner;
        let layout = self.open.hash_table(owner).layout;
        let (slots, words) = (layout.overflow_slots, layout.overflow_words());
        let pool = self.open.blocks_of(owner).expect("a table is opened when it is first named");
        let block = pool.allocate(&self.env, words).await?;
        self.zero_block(block, words).await?;
        Ok(self.writes.chain_block(bucket, block, slots))
    }

    /// Zeroes a block from the pool, which is private until a link leads to it.
    async fn zero_block(&mut self, block: GlobalPtr, words: u32) -> Result<(), TxnError> {
        let mut batch = Batch::new();
        let zeros = batch.reserve(words);
        batch.words_mut(zeros).fill(0);
        batch.write(block, zeros);
        self.env.execute(batch).await?;
        Ok(())
    }

    /// Groups the entries by leaf, and splits leaves that have too little room.
    async fn prepare_leaves(&mut self) -> Result<(), TxnError> {
        let batch = &*self.txn.batch;
        self.writes.leaf_inserts.sort_unstable_by(|one, other| {
            let keys = || batch.words(one.key).cmp(batch.words(other.key));
            one.owner.cmp(&other.owner).then_with(keys)
        });
        let mut first = 0;
        while first < self.writes.leaf_inserts.len() {
            let insert = self.writes.leaf_inserts[first];
            let leaf = self.txn.leaves_seen[insert.seen].leaf;
            let same = |other: &&LeafInsert| {
                other.owner == insert.owner && self.txn.leaves_seen[other.seen].leaf == leaf
            };
            let count = self.writes.leaf_inserts[first..].iter().take_while(same).count();
            let inserts = first..first + count;
            let mut seen = self.writes.leaf_inserts[inserts.clone()].iter().map(|other| other.seen);
            if !seen.all(|other| self.is_same_reading(other, insert.seen)) {
                return Err(Abort::InsertConflict.into());
            }
            self.prepare_leaf(inserts).await?;
            first += count;
        }
        Ok(())
    }

    /// Whether one lock proves both readings of a leaf current.
    fn is_same_reading(&self, one: LeafSeenId, other: LeafSeenId) -> bool {
        let insert = |seen| self.txn.leaves_seen[seen].insert;
        (insert(one) == insert(other) && self.txn.leaf_version(one) == self.txn.leaf_version(other))
            || self.env.mutant(Mutant::CommitMixLeafReadings)
    }

    /// Adds the leaf of these inserts to the locks; splits it first if it has too little room.
    async fn prepare_leaf(&mut self, inserts: Range<usize>) -> Result<(), TxnError> {
        let insert = self.writes.leaf_inserts[inserts.start];
        let seen = self.txn.leaves_seen[insert.seen];
        let tree = self.open.tree(seen.owner);
        let used = LeafView::new(tree.layout, self.txn.batch.words(seen.span)).count();
        if used as usize + inserts.len() <= tree.layout.entries as usize {
            self.writes.locks.leaves.push(LeafLock::of(insert.seen, inserts));
            return Ok(());
        }
        let leaves = self.split_leaf(&seen, &tree, inserts.clone()).await?;
        self.renew_witnesses(&seen, &leaves, &tree);
        let Range { start: mut first, end } = inserts;
        for read in leaves {
            let view = LeafView::new(tree.layout, self.txn.batch.words(read.span));
            let here = |insert: &&LeafInsert| view.covers(self.txn.batch.words(insert.key));
            let share = self.writes.leaf_inserts[first..end].iter().take_while(here).count();
            let part = self.txn.note_leaf(seen.owner, &read);
            for insert in &mut self.writes.leaf_inserts[first..first + share] {
                insert.seen = part;
            }
            if share > 0 {
                self.writes.locks.leaves.push(LeafLock::of(part, first..first + share));
            }
            first += share;
        }
        assert!(first == end, "the parts of a leaf cover all of its keys");
        Ok(())
    }

    /// Splits a leaf until its parts have room for these inserts; returns the parts.
    async fn split_leaf(
        &mut self,
        seen: &LeafSeen,
        tree: &Tree,
        inserts: Range<usize>,
    ) -> Result<Vec<LeafRead>, TxnError> {
        let key = |insert: &LeafInsert| Key::from_words(self.txn.batch.words(insert.key));
        let keys: Vec<Key> = self.writes.leaf_inserts[inserts].iter().map(key).collect();
        self.note_stray(LockedWord::Structure(seen.leaf), seen.insert.word());
        self.open.evict_leaf(seen.owner, seen.leaf);
        // A split takes several round trips, and short commits must not wait for its timestamp.
        let timestamp = self.identity.upkeep_timestamp();
        let mut batch = self.txn.batch.take();
        batch.clear_verbs();
        let leaf = LeafRead { ptr: seen.leaf, span: seen.span, insert: seen.insert };
        let env = self.env_for_upkeep();
        let leaves = self.open.leaves_of(seen.owner);
        let LeavesOf { cache, pool } = leaves.expect("a table is opened when it is first named");
        let made = index::tree::make_room(&env, batch, tree, cache, pool, leaf, &keys, timestamp);
        let (batch, leaves) = made.await?;
        self.txn.batch.put_back(batch);
        Ok(leaves)
    }

    /// Replaces the witnesses of a leaf by its parts: our own split has proved that the leaf was
    /// still as it was read.
    fn renew_witnesses(&mut self, seen: &LeafSeen, parts: &[LeafRead], tree: &Tree) {
        let batch = &*self.txn.batch;
        let version = batch.word(seen.span.at + layout::leaf::VERSION);
        if !self.witnesses.remove_leaf(seen.leaf, version) {
            return;
        }
        for part in parts {
            let version = part.view(batch, tree).version();
            let (leaf, insert) = (part.ptr, part.insert.word());
            self.witnesses.add_leaf(LeafWitness { leaf, insert, version });
        }
    }

    /// Adds the leaves without inserts to the locks, unless an insert already locks them.
    fn lock_bare_leaves(&mut self) -> Result<(), TxnError> {
        let leaf = |seen: LeafSeenId| self.txn.leaves_seen[seen].leaf;
        let locks = &mut self.writes.locks.leaves;
        let is_searched = locks.len() + self.writes.bare_leaves.len() <= LEAVES_SEARCHED_MAX;
        let mut places: HashMap<GlobalPtr, LeafSeenId> = match is_searched {
            true => HashMap::new(),
            false => locks.iter().map(|lock| (leaf(lock.seen), lock.seen)).collect(),
        };
        for number in 0..self.writes.bare_leaves.len() {
            let seen = self.writes.bare_leaves[number];
            let locks = &mut self.writes.locks.leaves;
            let leaf = |seen: LeafSeenId| self.txn.leaves_seen[seen].leaf;
            let known = match is_searched {
                true => locks.iter().map(|lock| lock.seen).find(|&one| leaf(one) == leaf(seen)),
                false => places.get(&leaf(seen)).copied(),
            };
            match known {
                None => {
                    locks.push(LeafLock::bare(seen));
                    if !is_searched {
                        places.insert(leaf(seen), seen);
                    }
                }
                Some(known) if self.is_same_reading(known, seen) => {}
                Some(_) => return Err(Abort::InsertConflict.into()),
            }
        }
        Ok(())
    }
}

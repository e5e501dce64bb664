//! What has to be ready before batch 1: memory for new rows, room in buckets and leaves, index entries.

use super::LeafLock;
use crate::abort::{Abort, TxnError};
use crate::access::State;
use crate::catalog::Primary;
use crate::lane::{LaneInner, blocks_of, leaves_of};
use crate::write::{InsertBlock, LeafInsert, LeafSeen, LeafWitness, Owner};
use fabric::{Env, Mutant, Span};
use index::tree::LeafRead;
use layout::row::{ChainWord, LINK};
use layout::{GlobalPtr, Key, bucket};

/// How a commit ends that could not be prepared.
fn abort_of(error: TxnError) -> Abort {
    error.abort().unwrap_or(match error {
        TxnError::TooLarge(_) => Abort::TooLarge,
        _ => Abort::CatalogChanged,
    })
}

impl<E: Env> LaneInner<E> {
    /// Nothing here is visible to others but empty room.
    pub(super) async fn prepare(&mut self) -> Result<(), Abort> {
        if self.catalog.has_copies {
            Box::pin(self.write_to_copies()).await.map_err(abort_of)?;
        }
        if self.written.iter().any(|&access| self.accesses[access as usize].is_old)
            && !self.env.mutant(Mutant::CommitSkipSnapshotCheck)
        {
            return Err(Abort::WriteConflict);
        }
        self.prepare_all().await.map_err(abort_of)
    }

    async fn prepare_all(&mut self) -> Result<(), TxnError> {
        if self.written.len() > crate::write::WRITES_MAX {
            return Err(TxnError::TooLarge(
                "it writes more than 65,536 rows; use several transactions",
            ));
        }
        self.scratch.locks.leaves.clear();
        self.scratch.bare_leaves.clear();
        self.scratch.indexed.clear();
        for index in 0..self.written.len() {
            let access = self.written[index];
            let entry = self.accesses[access as usize];
            if !self.info(entry.table).indexes.is_empty() && entry.state != State::Deleted {
                self.scratch.indexed.push(access);
            }
            if entry.is_new() {
                self.prepare_new_row(access).await?;
            }
        }
        if !self.scratch.indexed.is_empty() {
            self.prepare_index_entries().await?;
        }
        if !self.leaf_inserts.is_empty() {
            self.prepare_leaves().await?;
        }
        self.lock_bare_leaves()?;
        Ok(())
    }

    /// Outside rows get their memory; inlined rows a slot that will be free for them.
    async fn prepare_new_row(&mut self, access: u32) -> Result<(), TxnError> {
        let entry = self.accesses[access as usize];
        let info = self.info(entry.table);
        let words = info.row.words();
        let key = Span { at: entry.key_at, words: info.row.key_words };
        let is_inlined = matches!(&info.primary, Primary::Hash(hash) if hash.rows);
        let batch = self.batch.as_ref().expect("the batch is here");
        let tag_hash = match &info.primary {
            Primary::Hash(hash) => Some(hash.locator.hash(batch.words(key)).1),
            Primary::Tree(_) => None,
        };
        if !is_inlined {
            let pool = &mut self.tables[entry.table as usize].as_mut().expect("it is open").pool;
            let row = match pool.take(words) {
                Some(row) => row,
                None => pool.allocate(&self.env, words).await?,
            };
            self.accesses[access as usize].row = row;
        }
        if let Some(tag_hash) = tag_hash {
            let place = self.take_slot(Owner::Table(entry.table), entry.place, tag_hash).await?;
            self.accesses[access as usize].place = place;
        }
        Ok(())
    }

    /// Takes an empty slot of a bucket; chains a new block when the last one is full. Answers block and
    /// slot as one number.
    pub(crate) async fn take_slot(
        &mut self,
        owner: Owner,
        bucket: u32,
        tag_hash: u64,
    ) -> Result<u32, TxnError> {
        let current = self.bucket_inserts[bucket as usize].block;
        let block = &mut self.insert_blocks[current as usize];
        if let Some(slot) = bucket::empty_slot(block.slots, block.tags) {
            let tag = bucket::tag(block.slots, tag_hash);
            block.tags = bucket::with_tag(block.slots, block.tags, slot, tag);
            return Ok(current * bucket::SLOTS_MAX + slot);
        }
        let linked_from = block.block;
        let layout = self.hash_table(owner).layout;
        let (slots, words) = (layout.overflow_slots, layout.overflow_words());
        let pool = blocks_of(&mut self.tables, &mut self.indexes, owner).expect("it is open");
        let block = pool.allocate(&self.env, words).await?;
        self.zero_block(block, words).await?;
        let tags = bucket::with_tag(slots, 0, 0, bucket::tag(slots, tag_hash));
        let bucket_ptr = self.bucket_inserts[bucket as usize].bucket;
        let chained = InsertBlock { bucket: bucket_ptr, block, slots, tags, linked_from, owner };
        self.insert_blocks.push(chained);
        let current = self.insert_blocks.len() as u32 - 1;
        self.bucket_inserts[bucket as usize].block = current;
        self.wants_growth.push(owner);
        Ok(current * bucket::SLOTS_MAX)
    }

    /// A block out of the pool is private until a link leads to it; it starts empty.
    async fn zero_block(&mut self, block: GlobalPtr, words: u32) -> Result<(), TxnError> {
        let mut batch = fabric::Batch::new();
        let zeros = batch.reserve(words);
        batch.words_mut(zeros).fill(0);
        batch.write(block, zeros);
        self.env.execute(batch).await?;
        Ok(())
    }

    /// Groups the entries by leaf, and makes room where a leaf has too little.
    async fn prepare_leaves(&mut self) -> Result<(), TxnError> {
        let batch = self.batch.as_ref().expect("the batch is here");
        self.leaf_inserts.sort_unstable_by(|one, other| {
            let keys = || batch.words(one.key).cmp(batch.words(other.key));
            one.owner.cmp(&other.owner).then_with(keys)
        });
        let mut first = 0;
        while first < self.leaf_inserts.len() {
            let insert = self.leaf_inserts[first];
            let leaf = self.leaves_seen[insert.seen as usize].leaf;
            let same = |other: &LeafInsert| {
                other.owner == insert.owner && self.leaves_seen[other.seen as usize].leaf == leaf
            };
            let count = self.leaf_inserts[first..].iter().take_while(|other| same(other)).count();
            let inserts = &self.leaf_inserts[first..first + count];
            if !inserts.iter().all(|other| self.is_same_reading(other.seen, insert.seen)) {
                return Err(Abort::InsertConflict.into());
            }
            self.prepare_leaf(first, count).await?;
            first += count;
        }
        Ok(())
    }

    /// Whether one lock proves both readings of a leaf current.
    fn is_same_reading(&self, one: u32, other: u32) -> bool {
        let version = |seen: &LeafSeen| {
            self.batch
                .as_ref()
                .expect("the batch is here")
                .word(seen.span.at + layout::leaf::VERSION)
        };
        let (one, other) = (&self.leaves_seen[one as usize], &self.leaves_seen[other as usize]);
        (one.insert == other.insert && version(one) == version(other))
            || self.env.mutant(Mutant::CommitMixLeafReadings)
    }

    async fn prepare_leaf(&mut self, first: usize, count: usize) -> Result<(), TxnError> {
        let insert = self.leaf_inserts[first];
        let seen = self.leaves_seen[insert.seen as usize];
        let tree = self.tree(seen.owner);
        let batch = self.batch.as_ref().expect("the batch is here");
        let used = index::tree::LeafView::new(tree.layout, batch.words(seen.span)).count();
        if used as usize + count <= tree.layout.entries as usize {
            self.lock_leaf(insert.seen, first, count);
            return Ok(());
        }
        let inserts = &self.leaf_inserts[first..first + count];
        let key = |insert: &LeafInsert| Key::from_words(batch.words(insert.key));
        let keys: Vec<Key> = inserts.iter().map(key).collect();
        self.forget_leaf(seen.owner, seen.leaf);
        // A split takes several round trips, for which short commits need not wait.
        let timestamp = self.upkeep_timestamp();
        let mut batch = self.batch.take().unwrap_or_default();
        batch.clear_verbs();
        let leaf = LeafRead { ptr: seen.leaf, span: seen.span, insert: seen.insert };
        let (cache, pool) =
            leaves_of(&mut self.tables, &mut self.indexes, seen.owner).expect("it is open");
        let made =
            index::tree::make_room(&self.env, batch, &tree, cache, pool, leaf, &keys, timestamp);
        let (batch, leaves) = made.await?;
        self.batch = Some(batch);
        self.renew_witnesses(&seen, &leaves, &tree);
        let mut first = first;
        let end = first + count;
        for read in leaves {
            let batch = self.batch.as_ref().expect("the batch came back");
            let view = index::tree::LeafView::new(tree.layout, batch.words(read.span));
            let here = |insert: &&LeafInsert| view.covers(batch.words(insert.key));
            let share = self.leaf_inserts[first..end].iter().take_while(here).count();
            let position = self.note_leaf(seen.owner, &read) as u32;
            for insert in &mut self.leaf_inserts[first..first + share] {
                insert.seen = position;
            }
            self.lock_leaf(position, first, share);
            first += share;
        }
        assert!(first == end, "the parts of a leaf cover all of its keys");
        Ok(())
    }

    /// An own split has proved that the leaf was still as it was read: its parts bear witness from now on.
    fn renew_witnesses(&mut self, seen: &LeafSeen, parts: &[LeafRead], tree: &index::tree::Tree) {
        let version = self.batch().word(seen.span.at + layout::leaf::VERSION);
        let before = self.leaf_witnesses.len();
        self.leaf_witnesses
            .retain(|witness| witness.leaf != seen.leaf || witness.version != version);
        if self.leaf_witnesses.len() == before {
            return;
        }
        let batch = self.batch.as_ref().expect("the batch is here");
        for part in parts {
            let version = part.view(batch, tree).version();
            let (leaf, insert) = (part.ptr, part.insert.word());
            self.leaf_witnesses.push(LeafWitness { leaf, insert, version });
        }
    }

    /// Notes that a leaf is locked though nothing goes into it.
    pub(crate) fn note_bare_leaf_lock(&mut self, seen: u32) {
        if !self.env.mutant(Mutant::CommitSkipUniqueLock) {
            self.scratch.bare_leaves.push(seen);
        }
    }

    /// Adds the leaves that are only locked, unless something goes into them anyway.
    fn lock_bare_leaves(&mut self) -> Result<(), TxnError> {
        for number in 0..self.scratch.bare_leaves.len() {
            let seen = self.scratch.bare_leaves[number];
            let leaf = |seen: u32| self.leaves_seen[seen as usize].leaf;
            let known = self.scratch.locks.leaves.iter().find(|lock| leaf(lock.seen) == leaf(seen));
            match known {
                None => self.scratch.locks.leaves.push(LeafLock::bare(seen)),
                Some(known) if self.is_same_reading(known.seen, seen) => {}
                Some(_) => return Err(Abort::InsertConflict.into()),
            }
        }
        Ok(())
    }

    fn lock_leaf(&mut self, seen: u32, first: usize, count: usize) {
        if count > 0 {
            let (first, count) = (first as u32, count as u32);
            self.scratch.locks.leaves.push(LeafLock {
                seen,
                first,
                count,
                swap: None,
                version: Span::default(),
            });
        }
    }

    /// Rows, values and overflow blocks that were to be new and are not: their memory is free again.
    pub(super) fn free_private_memory(&mut self) {
        if !self.placed.is_empty() {
            self.free_placed_values();
        }
        for number in 0..self.insert_blocks.len() {
            let InsertBlock { block, linked_from, owner, .. } = self.insert_blocks[number];
            if !linked_from.is_null() {
                let words = self.hash_table(owner).layout.overflow_words();
                let pool = blocks_of(&mut self.tables, &mut self.indexes, owner);
                pool.expect("it is open").free(block, words);
            }
        }
        self.free_new_buffers();
        for index in 0..self.written.len() {
            let access = &mut self.accesses[self.written[index] as usize];
            if !access.is_new() || access.row.is_null() || access.state == State::Absent {
                continue;
            }
            let (table, row) = (access.table, std::mem::take(&mut access.row));
            let info = self.info(table).clone();
            if !matches!(&info.primary, Primary::Hash(hash) if hash.rows) {
                let pool = &mut self.tables[table as usize].as_mut().expect("it is open").pool;
                pool.free(row, info.row.words());
            }
        }
    }

    /// Version buffers that rows were to get and did not.
    fn free_new_buffers(&mut self) {
        for index in 0..self.written.len() {
            let entry = &mut self.accesses[self.written[index] as usize];
            if !std::mem::take(&mut entry.has_new_buffer) {
                continue;
            }
            let (table, image) = (entry.table, entry.image);
            let chain = ChainWord::from_word(self.batch().word(image.at + LINK));
            self.free_buffer(table, chain.buffer());
        }
    }
}

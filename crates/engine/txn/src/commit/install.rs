//! Batch 2: displaced versions to their buffers, payloads, headers; new rows, entries, insert
//! words.
//!
//! Decisions:
//! - docs/decisions/0006-the-lock-is-not-the-version.md
//! - docs/decisions/0011-version-buffers-are-on-the-rows-server.md
//! - docs/decisions/0045-one-verb-installs-a-row.md
//! - docs/decisions/0049-a-leaf-changes-in-place-in-the-arena.md
//! - docs/decisions/0059-an-insert-word-goes-last-behind-a-fence-if-its-chain.md
//! - docs/decisions/0149-one-write-installs-a-row-where-memory-is-not-coherent.md

use super::{LeafLock, NextSlot, RowLock};
use crate::abort::Abort;
use crate::catalog::Primary;
use crate::lane::LaneInner;
use crate::read::access::{Access, AccessId, State};
use crate::write::Owner;
use crate::write::write_set::InsertBlock;
use fabric::{Batch, Env, FabricError, Mutant, ReplicaOrder, Span};
use index::tree::LeafRead;
use layout::bucket;
use layout::row::{BufferLayout, ChainWord, Cover, HEADER, KEY, LINK, MOVED_FLAG, VERSION};
use layout::{GlobalPtr, Key, VersionWord};
use memory::MoveRequest;

impl<E: Env> LaneInner<E> {
    /// Ensures that the next slot of every row's version buffer may be overwritten: it is empty,
    /// moved, or has a version that no snapshot needs. Gives a buffer to rows without one. This is
    /// the last chance to abort.
    #[inline]
    pub(super) async fn free_buffer_slots(&mut self) -> Result<(), Abort> {
        let mut refreshed = false;
        for index in 0..self.writes.locks.rows.len() {
            let RowLock { access, next, .. } = self.writes.locks.rows[index];
            let slot = match next {
                NextSlot::NoBuffer => {
                    // Batch 2 may be put together already, with the buffer.
                    if !self.txn.accesses[access].has_new_buffer {
                        self.give_buffer(access).await?;
                    }
                    continue;
                }
                NextSlot::Free => continue,
                NextSlot::Read(slot) if self.is_buffer_slot_free(slot) => continue,
                NextSlot::Read(slot) => slot,
            };
            if !refreshed {
                refreshed = true;
                match self.identity.shared_slot {
                    None => self.advance_horizon().await?,
                    // Others wait for this commit's number, so the lane advances the horizon only
                    // after commits.
                    Some(_) => self.adopt_shared_horizon(),
                }
            }
            if !self.is_buffer_slot_free(slot) {
                self.move_buffer_slot(access).await?;
            }
        }
        Ok(())
    }

    #[inline]
    fn is_buffer_slot_free(&self, slot: Span) -> bool {
        let batch = &*self.txn.batch;
        let flag = batch.word(slot.at);
        let version = VersionWord::from_word(batch.word(slot.at + VERSION));
        let successor = VersionWord::from_word(batch.word(slot.at + LINK));
        version.is_none()
            || flag == MOVED_FLAG
            || self.garbage.horizon.covers(successor)
            || self.env.mutant(Mutant::CommitOverwriteNeededSlot)
    }

    /// Takes a version buffer from the pool of the row's server, so that batch 2 can write the
    /// buffer before the pointer to it; stores it in the chain word of the image.
    #[inline]
    pub(super) async fn give_buffer(&mut self, access: AccessId) -> Result<(), Abort> {
        let Access { table, row, image, .. } = self.txn.accesses[access];
        let words = self.open.info(table).buffer.words();
        let server = row.region().server();
        let lane_table = self.open.table_mut(table);
        let pool = lane_table.buffers_on(server);
        let buffer = match pool.take(&self.env, words) {
            Some(buffer) => buffer,
            None => self.find_buffer(access, server).await?,
        };
        let chain = ChainWord::new(buffer, 0);
        self.txn.batch.set_word(image.at + LINK, chain.word());
        self.txn.accesses[access].has_new_buffer = true;
        Ok(())
    }

    /// Calls the version mover for a row, which this commit has locked.
    #[cold]
    async fn move_buffer_slot(&mut self, access: AccessId) -> Result<(), Abort> {
        let Access { table, image, .. } = self.txn.accesses[access];
        let chain = ChainWord::from_word(self.txn.batch.word(image.at + LINK));
        let info = self.open.info(table);
        let request = MoveRequest {
            buffer: chain.buffer(),
            layout: info.buffer,
            slot: chain.next(),
            label: info.label,
            horizon: self.garbage.horizon.counters().to_vec(),
        };
        let moved = memory::mover::move_version(&self.env, &request).await;
        self.statistics.versions_moved += 1;
        moved.map(drop).map_err(|_| Abort::VersionBufferFull)
    }

    /// Writes everything. Batch 2 was set aside before batch 1 where the lane has a journal, and
    /// where verbs take time.
    #[inline]
    pub(super) async fn install_new_versions(
        &mut self,
        timestamp: VersionWord,
    ) -> Result<(), FabricError> {
        let mut batch = self.txn.batch.take();
        if self.sets_installs_aside() {
            batch.resume(&mut self.scratch.installs);
        } else {
            batch.clear_verbs();
            self.post_installs(&mut batch, timestamp);
        }
        // Nobody locks a row before its version is published. Buckets and leaves are free at once.
        if self.writes.bucket_inserts.is_empty() && self.writes.locks.leaves.is_empty() {
            batch.set_replica_order(ReplicaOrder::Beside);
        }
        self.txn.batch.put_back(batch);
        self.execute().await
    }

    /// Puts batch 2 together, in an order that the fabric's contract guarantees within a server.
    #[inline]
    pub(super) fn post_installs(&mut self, batch: &mut Batch, timestamp: VersionWord) {
        let rows = std::mem::take(&mut self.writes.rows);
        let mut leaves = std::mem::take(&mut self.writes.locks.leaves);
        if self.env.mutant(Mutant::CommitUnlockBucketFirst) {
            for insert in self.writes.bucket_inserts.iter() {
                batch.write_word(insert.bucket, timestamp.word());
            }
        }
        if !self.writes.placed.is_empty() {
            self.install_values(batch);
        }
        if !self.env.is_coherent() {
            for &access in &rows {
                self.fill_new_buffer(batch, access, timestamp);
            }
        }
        self.save_far(batch, &rows, timestamp);
        for &access in &rows {
            if !self.txn.accesses[access].is_new() {
                self.install_row(batch, access, timestamp);
            }
        }
        for &access in &rows {
            if self.txn.accesses[access].is_new() {
                self.install_new_row(batch, access, timestamp);
            }
        }
        self.install_blocks(batch, timestamp);
        for lock in &mut leaves {
            self.install_leaf(batch, lock, timestamp);
        }
        if self.env.mutant(Mutant::CommitPublishWithInstall) {
            let slot = self.shared.oracle_layout.slot(self.shared.oracle, self.identity.slot);
            batch.write_word(slot, timestamp.counter());
        }
        (self.writes.rows, self.writes.locks.leaves) = (rows, leaves);
    }

    /// Writes a row's new buffer with the displaced version, where memory is not coherent: the
    /// whole buffer is private until the chain leads to it, and adjacent buffers are one write.
    #[inline]
    fn fill_new_buffer(&mut self, batch: &mut Batch, access: AccessId, timestamp: VersionWord) {
        let entry = self.txn.accesses[access];
        if !entry.has_new_buffer {
            return;
        }
        let shape = self.open.info(entry.table).buffer;
        let is_deleted = entry.state == State::Deleted;
        let version = if is_deleted { timestamp.deleted() } else { timestamp };
        let chain = ChainWord::from_word(batch.word(entry.image.at + LINK));
        debug_assert!(chain.next() == 0);
        let buffer = batch.reserve(shape.words());
        batch.words_mut(buffer).fill(0);
        let slot = Span { at: buffer.at + shape.slot(0), words: shape.row.words() };
        let image = Span { at: entry.image.at + VERSION, words: entry.image.words - VERSION };
        batch.shift(image, slot.at + VERSION);
        batch.set_word(slot.at + LINK, version.word());
        close_image(batch, slot, Cover::All);
        batch.write_unseen(chain.buffer(), buffer);
    }

    /// Writes the displaced versions of rows whose buffers are on other servers, since a split has
    /// moved them: writes to two servers are not ordered, and a reader that sees the new version
    /// must find the displaced one.
    #[inline]
    fn save_far(&mut self, batch: &mut Batch, rows: &[AccessId], timestamp: VersionWord) {
        let mut is_any = false;
        // Where verbs complete at once, all of them are ordered.
        for &access in rows.iter().filter(|_| !E::IMMEDIATE) {
            let entry = self.txn.accesses[access];
            if entry.is_new() {
                continue;
            }
            let chain = ChainWord::from_word(batch.word(entry.image.at + LINK));
            if !chain.is_far_from(entry.row) {
                continue;
            }
            is_any = true;
            let slot = self.open.info(entry.table).buffer.next_slot(chain);
            let is_deleted = entry.state == State::Deleted;
            let version = if is_deleted { timestamp.deleted() } else { timestamp };
            let displaced = batch.duplicate(entry.image);
            batch.set_word(displaced.at + HEADER, 0);
            batch.set_word(displaced.at + LINK, version.word());
            match self.env.is_coherent() {
                true => batch.install_row(slot, displaced, KEY, Cover::All),
                false => batch.install_row_at_once(slot, displaced, KEY, Cover::All),
            }
        }
        if is_any && !self.env.mutant(Mutant::CommitUnfencedBuffer) {
            batch.fence();
        }
    }

    /// Writes three things in this order: the displaced version to its buffer, the chain word, the
    /// payload with its version and the header.
    ///
    /// Where memory is not coherent the last is one write, whose words arrive in any order. That is
    /// safe: a commit that locks the row expects a version that its snapshot covers, and that
    /// version was complete before the snapshot; and a split moves a row only in such a version. A
    /// changed chain word is written first: a reader that sees the new version with the old chain
    /// would miss the older versions.
    #[inline]
    fn install_row(&mut self, batch: &mut Batch, access: AccessId, timestamp: VersionWord) {
        let entry = self.txn.accesses[access];
        let shape = self.open.info(entry.table).buffer;
        debug_assert!(!entry.row.is_null() && !entry.is_new(), "the row exists and is locked");
        let is_deleted = entry.state == State::Deleted;
        let version = if is_deleted { timestamp.deleted() } else { timestamp };
        let chain = ChainWord::from_word(batch.word(entry.image.at + LINK));
        debug_assert!(!chain.buffer().is_null(), "a row without a buffer was given one");
        debug_assert!(chain.next() < shape.slots, "the chain names a slot of the buffer");
        let slot = shape.next_slot(chain);
        // If it is on another server, the displaced version is written already.
        let is_saved = !E::IMMEDIATE && chain.is_far_from(entry.row);
        let is_coherent = self.env.is_coherent();
        if entry.has_new_buffer && is_coherent {
            clear_buffer(batch, chain.buffer(), &shape);
        }
        // A deletion keeps the payload; copy its image before the link becomes the successor.
        let fresh = if is_deleted { batch.duplicate(entry.image) } else { entry.fresh };
        let after = ChainWord::new(chain.buffer(), shape.after(chain.next()));
        debug_assert!(has_same_key(batch, entry.image, fresh, shape.row.key_words));
        batch.set_word(fresh.at + HEADER, version.word());
        batch.set_word(fresh.at + VERSION, version.word());
        batch.set_word(fresh.at + LINK, after.word());
        // Batch 1 and the next attempt at batch 2 need the chain that was read.
        let is_aside = self.sets_installs_aside();
        let old = if is_aside { batch.duplicate(entry.image) } else { entry.image };
        batch.set_word(old.at + HEADER, 0);
        batch.set_word(old.at + LINK, version.word());
        let first = if is_deleted { shape.row.words() } else { shape.row.payload() };
        if self.env.mutant(Mutant::CommitPayloadBeforeOldVersion) {
            batch.write_row(entry.row, fresh, first, Cover::AllButLink);
        }
        let is_new_chain = (entry.has_new_buffer || after != chain)
            && !self.env.mutant(Mutant::CommitChainWithRow);
        if is_coherent {
            if !is_saved {
                batch.install_row(slot, old, KEY, Cover::All);
            }
            batch.install_row(entry.row, fresh, first, Cover::AllButLink);
        } else {
            if !entry.has_new_buffer && !is_saved {
                batch.install_row_at_once(slot, old, KEY, Cover::All);
            }
            if is_new_chain {
                batch.write_word(entry.row.add_words(u64::from(LINK)), after.word());
            }
            batch.install_row_at_once(entry.row, fresh, first, Cover::AllButLink);
        }
        self.txn.accesses[access].buffer = chain.buffer();
    }

    /// Writes a new row: in a free slot of its bucket, or in private memory behind an entry.
    #[inline]
    fn install_new_row(&mut self, batch: &mut Batch, access: AccessId, timestamp: VersionWord) {
        let entry = self.txn.accesses[access];
        let is_deleted = entry.state == State::Deleted;
        let version = if is_deleted { timestamp.deleted() } else { timestamp };
        batch.set_word(entry.fresh.at + HEADER, version.word());
        batch.set_word(entry.fresh.at + VERSION, version.word());
        batch.set_word(entry.fresh.at + LINK, 0);
        let (layout, is_inlined) = match &self.open.info(entry.table).primary {
            Primary::Hash(hash) => (hash.layout, hash.rows),
            Primary::Tree(_) => {
                write_private(batch, entry.row, entry.fresh, self.env.is_coherent());
                return;
            }
        };
        let slot = self.writes.address_of(entry.place.slot(), &layout);
        if is_inlined {
            // An empty slot has no chain, and no commit locks its row before the bucket is
            // unlocked.
            batch.install_row_at_once(slot, entry.fresh, KEY, Cover::AllButLink);
            self.txn.accesses[access].row = slot;
        } else {
            write_private(batch, entry.row, entry.fresh, self.env.is_coherent());
            let key = Span { at: entry.fresh.at + KEY, words: layout.key_words };
            let key = Key::from_words(batch.words(key));
            write_pointer(batch, slot, entry.row, &key);
        }
    }

    /// Writes the tags of the filled blocks, links to new blocks, then the insert words.
    #[inline]
    fn install_blocks(&mut self, batch: &mut Batch, timestamp: VersionWord) {
        for entry in &self.writes.entry_inserts {
            let layout = self.open.hash_table(Owner::Index(entry.index)).layout;
            let slot = self.writes.address_of(entry.slot, &layout);
            let row = self.index_row(entry.access);
            write_pointer(batch, slot, row, &entry.key);
        }
        for block in &self.writes.insert_blocks {
            batch.write_word(block.block.add_words(u64::from(bucket::TAGS)), block.tags);
            if !block.linked_from.is_null() {
                let link = block.linked_from.add_words(u64::from(bucket::LINK));
                batch.write_word(link, block.block.word());
            }
        }
        // Writes to two servers are not ordered: the insert word must not be unlocked before the
        // writes that it guards.
        if self.writes.insert_blocks.iter().any(InsertBlock::is_far)
            && !self.env.mutant(Mutant::CommitUnfencedBlock)
        {
            batch.fence();
        }
        for insert in self.writes.bucket_inserts.iter() {
            batch.write_word(insert.bucket, timestamp.word());
        }
    }

    /// Writes the leaf with all its new entries, then its insert word.
    #[inline]
    fn install_leaf(&mut self, batch: &mut Batch, lock: &mut LeafLock, timestamp: VersionWord) {
        let seen = self.txn.leaves_seen[lock.seen];
        if self.env.mutant(Mutant::CommitUnlockLeafFirst) {
            batch.write_word(seen.leaf, timestamp.word());
        }
        if lock.is_written() {
            let tree = self.open.tree(seen.owner);
            let mut entries = std::mem::take(&mut self.writes.leaf_entries);
            entries.clear();
            for insert in &self.writes.leaf_inserts[lock.inserts()] {
                let row = match seen.owner {
                    Owner::Table(_) => self.txn.accesses[insert.access].row,
                    Owner::Index(_) => self.index_row(insert.access),
                };
                entries.push((insert.key, row.word()));
            }
            // Batch 1 proves the leaf as it was read.
            let is_aside = self.sets_installs_aside();
            lock.written = if is_aside { batch.duplicate(seen.span) } else { seen.span };
            let leaf = LeafRead { ptr: seen.leaf, span: lock.written, insert: seen.insert };
            index::tree::write_leaf_with(batch, &tree, &leaf, &entries);
            self.writes.leaf_entries = entries;
        }
        batch.write_word(seen.leaf, timestamp.word());
    }
}

/// Whether two images are of the same row. For assertions.
fn has_same_key(batch: &Batch, one: Span, other: Span, words: u32) -> bool {
    let key = |image: Span| batch.words(Span { at: image.at + KEY, words });
    key(one) == key(other)
}

/// Writes a slot that leads to a row: pointer and key.
#[inline]
fn write_pointer(batch: &mut Batch, slot: GlobalPtr, row: GlobalPtr, key: &Key) {
    let span = batch.reserve(1 + key.words().len() as u32);
    let words = batch.words_mut(span);
    words[0] = row.word();
    words[1..].copy_from_slice(key.words());
    batch.write(slot, span);
}

/// Writes private memory, which is invisible until the entry that leads to it is written.
#[inline]
fn write_private(batch: &mut Batch, row: GlobalPtr, fresh: Span, is_coherent: bool) {
    if !is_coherent {
        close_image(batch, fresh, Cover::AllButLink);
    }
    batch.write_unseen(row, fresh);
}

/// Writes the checksum behind an image.
#[inline]
fn close_image(batch: &mut Batch, row: Span, cover: Cover) {
    let body = Span { at: row.at + VERSION, words: row.words - 2 };
    let sum = layout::row::checksum(batch.words(body), cover);
    batch.set_word(row.at + row.words - 1, sum);
}

/// Empties the other slots of a buffer from the pool, which still have versions of its last row: a
/// slot without a version is empty. The buffer's overflow list is already empty.
#[inline]
fn clear_buffer(batch: &mut Batch, buffer: GlobalPtr, shape: &BufferLayout) {
    for index in 1..shape.slots {
        let slot = buffer.add_words(u64::from(shape.slot(index)));
        batch.write_word(slot.add_words(u64::from(VERSION)), 0);
    }
}

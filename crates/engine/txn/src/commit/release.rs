//! Aborts: releases the locks of batch 1, and frees the memory that the commit allocated.

use super::{BucketLock, CommitStep};
use crate::abort::{Abort, Outcome};
use crate::catalog::Primary;
use crate::lane::LaneInner;
use crate::read::access::State;
use crate::write::write_set::InsertBlock;
use fabric::{Env, Mutant};
use layout::VersionWord;
use layout::row::{ChainWord, LINK};

impl<E: Env> LaneInner<E> {
    /// Ends a commit that holds no lock.
    pub(super) fn abort_unlocked(&mut self, abort: Abort) -> Outcome {
        self.free_private_memory();
        Outcome::Aborted(abort)
    }

    /// Releases the locks of batch 1. Rows get their old version back. Insert words get the
    /// commit's own timestamp, because a word that others swap must never have an old value again.
    pub(super) async fn release(&mut self, timestamp: VersionWord, abort: Abort) -> Outcome {
        if self.txn.batch.is_lost() {
            // The results of the swaps were lost with the batch: the locks may be held. No write
            // was installed, and none will be.
            self.release_later(timestamp);
            return Outcome::Aborted(abort);
        }
        self.post_releases(timestamp);
        let is_empty = self.txn.batch.is_empty();
        self.free_private_memory();
        if self.env.mutant(Mutant::CommitNumberReused) {
            self.identity.counter -= 1;
        }
        if !is_empty && self.execute().await.is_err() {
            // The locks may still be held.
            self.release_later(timestamp);
            return Outcome::Unknown;
        }
        self.env.reach(CommitStep::LocksReleased).await;
        Outcome::Aborted(abort)
    }

    fn post_releases(&mut self, timestamp: VersionWord) {
        let Self { env, txn, writes, .. } = self;
        let batch = &mut *txn.batch;
        batch.clear_verbs();
        for lock in &writes.locks.rows {
            if batch.swapped(lock.swap) || env.mutant(Mutant::CommitReleaseUnheld) {
                let access = &txn.accesses[lock.access];
                debug_assert!(!access.version.is_locked(), "a release unlocks");
                batch.write_word(access.row, access.version.word());
            }
        }
        for &BucketLock { insert, swap } in &writes.locks.buckets {
            if batch.swapped(swap) {
                batch.write_word(writes.bucket_inserts[insert].bucket, timestamp.word());
            }
        }
        for lock in &writes.locks.leaves {
            if lock.swap.is_some_and(|swap| batch.swapped(swap)) {
                batch.write_word(txn.leaves_seen[lock.seen].leaf, timestamp.word());
            }
        }
    }

    /// Frees the memory of new rows, values and overflow blocks.
    fn free_private_memory(&mut self) {
        if !self.writes.placed.is_empty() {
            self.free_placed_values();
        }
        for &InsertBlock { block, linked_from, owner, .. } in self.writes.insert_blocks.iter() {
            if !linked_from.is_null() {
                let words = self.open.hash_table(owner).layout.overflow_words();
                let pool = self.open.blocks_of(owner);
                let pool = pool.expect("a table is opened when it is first named");
                pool.free(&self.env, block, words);
            }
        }
        self.free_new_buffers();
        for &written in &self.writes.rows {
            let access = &mut self.txn.accesses[written];
            if !access.is_new() || access.row.is_null() || access.state == State::Absent {
                continue;
            }
            let (table, row) = (access.table, std::mem::take(&mut access.row));
            let info = self.open.info(table);
            if !matches!(&info.primary, Primary::Hash(hash) if hash.rows) {
                let words = info.row.words();
                self.open.table_mut(table).pool.free(&self.env, row, words);
            }
        }
    }

    /// Frees the new version buffers.
    fn free_new_buffers(&mut self) {
        for index in 0..self.writes.rows.len() {
            let entry = &mut self.txn.accesses[self.writes.rows[index]];
            if !std::mem::take(&mut entry.has_new_buffer) {
                continue;
            }
            let (table, image) = (entry.table, entry.image);
            let chain = ChainWord::from_word(self.txn.batch.word(image.at + LINK));
            self.free_buffer(table, chain.buffer());
        }
    }
}

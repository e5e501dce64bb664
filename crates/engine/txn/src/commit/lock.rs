//! Batch 1: one swap per row, bucket and leaf; each successful swap is a lock. Later copies of rows
//! follow in a batch of their own, after the first copy.
//!
//! Decisions:
//! - docs/decisions/0006-the-lock-is-not-the-version.md
//! - docs/decisions/0015-the-swap-expects-what-was-read.md
//! - docs/decisions/0016-insert-words-prove-absence.md
//! - docs/decisions/0018-the-leafs-rewrite-counter-is-read-again-behind-the-lock.md
//! - docs/decisions/0150-what-a-swap-proves-is-not-read-again.md

use super::{BucketLock, Locks, NextSlot, RowLock};
use crate::abort::Abort;
use crate::lane::ids::Id;
use crate::lane::{LaneInner, RunningTransaction};
use crate::read::access::Access;
use crate::recovery::LockedWord;
use crate::write::Owner;
use fabric::{Batch, Env, FabricError, Mutant, ReplicaOrder, Span};
use layout::row::{ChainWord, LINK};
use layout::{VersionWord, leaf};

/// Words read of a version buffer's slot: moved flag, version, successor.
const SLOT_HEAD_WORDS: u32 = 3;

impl<E: Env> LaneInner<E> {
    /// Locks the write set: first committer wins. The snapshot covers every version that a swap
    /// expects, so the swap fails for a row that was changed after the snapshot.
    #[inline]
    pub(super) async fn lock_write_set(&mut self, timestamp: VersionWord) -> Result<(), Abort> {
        self.writes.locks.rows.clear();
        self.writes.locks.buckets.clear();
        if !E::IMMEDIATE {
            self.set_installs_aside(timestamp).await?;
        } else if self.journal.is_some() {
            Box::pin(self.set_installs_aside(timestamp)).await?;
        }
        match self.writes_copies() {
            false => self.lock_matching(timestamp, true, |_, _| true).await?,
            true => Box::pin(self.lock_copies(timestamp)).await?,
        }
        if !self.env.mutant(Mutant::CommitChainBeforeLock) {
            self.adopt_chains(timestamp).await?;
        }
        Ok(())
    }

    /// Locks first copies, and everything that is not a copy; then the other copies. Only the owner
    /// of the first copy's lock competes for those.
    async fn lock_copies(&mut self, timestamp: VersionWord) -> Result<(), Abort> {
        self.lock_matching(timestamp, true, |lane, owner| !lane.open.is_later_copy(owner)).await?;
        self.lock_matching(timestamp, false, |lane, owner| lane.open.is_later_copy(owner)).await
    }

    /// Locks the wanted part of the write set. The journal is written with the first part.
    #[inline]
    async fn lock_matching(
        &mut self,
        timestamp: VersionWord,
        is_first: bool,
        is_wanted: impl Fn(&Self, Owner) -> bool,
    ) -> Result<(), Abort> {
        let mut locks = std::mem::take(&mut self.writes.locks);
        self.post_locks(&mut locks, timestamp, is_first, is_wanted);
        self.writes.locks = locks;
        let done = self.execute().await;
        done.map_err(|error| self.note_lost(&error))?;
        self.check_locks_held().inspect_err(|_| self.note_stray_locks())
    }

    /// Notes the stray locks that made a swap fail.
    #[cold]
    fn note_stray_locks(&mut self) {
        if !self.sets_installs_aside() {
            return;
        }
        let (batch, locks) = (&*self.txn.batch, &self.writes.locks);
        let rows = locks.rows.iter();
        let rows =
            rows.map(|lock| (LockedWord::Row(self.txn.accesses[lock.access].row), lock.swap));
        let buckets = locks.buckets.iter().map(|lock| {
            (LockedWord::Structure(self.writes.bucket_inserts[lock.insert].bucket), lock.swap)
        });
        let leaves = locks.leaves.iter().filter_map(|lock| {
            Some((LockedWord::Structure(self.txn.leaves_seen[lock.seen].leaf), lock.swap?))
        });
        let all = rows.chain(buckets).chain(leaves);
        let found: Vec<(LockedWord, u64)> =
            all.map(|(met, swap)| (met, batch.found(swap))).collect();
        found.into_iter().for_each(|(met, word)| self.note_stray(met, word));
    }

    /// The locks may be held although the batch failed. A server that refuses an address is not
    /// paused: the lane has read wrong words, and must decide nothing by them.
    #[cold]
    fn note_lost(&mut self, error: &FabricError) -> Abort {
        match error {
            FabricError::OutOfRange { .. } => self.identity.poison(),
            _ => self.identity.is_poisoned = true,
        }
        Abort::Unreachable
    }

    /// Adopts the chain words as they are under the locks. Where rows give their buffers back, a
    /// successful swap of the version does not prove that the chain read with it is current:
    /// collection may have detached the buffer in between and restored the same header. A changed
    /// chain costs one more round trip.
    #[inline]
    async fn adopt_chains(&mut self, timestamp: VersionWord) -> Result<(), Abort> {
        let has_changed = self.has_changed_chain()?;
        if !has_changed && !self.writes.locks.rows.iter().any(|lock| lock.must_read) {
            return Ok(());
        }
        if has_changed && self.sets_installs_aside() {
            Box::pin(self.set_installs_aside(timestamp)).await?;
        }
        let mut batch = self.txn.batch.take();
        batch.clear_verbs();
        for lock in &mut self.writes.locks.rows {
            let access = &self.txn.accesses[lock.access];
            let chain = ChainWord::from_word(batch.word(access.image.at + LINK));
            if std::mem::take(&mut lock.must_read) && !access.has_new_buffer {
                let slot = self.open.info(access.table).buffer.next_slot(chain);
                lock.next = NextSlot::Read(batch.read(slot, SLOT_HEAD_WORDS));
            }
        }
        if has_changed {
            batch.set_replica_order(ReplicaOrder::Beside);
            self.post_journal(&mut batch);
        }
        let is_empty = batch.is_empty();
        self.txn.batch.put_back(batch);
        if is_empty {
            return Ok(());
        }
        let done = self.execute().await;
        done.map_err(|error| self.note_lost(&error))
    }

    /// Takes over the chain words that were read under the locks, and notes which slots must be
    /// read. Returns whether a chain word is not that of the image.
    #[inline]
    fn has_changed_chain(&mut self) -> Result<bool, Abort> {
        let RunningTransaction { batch, accesses, .. } = &mut self.txn;
        let mut has_changed = false;
        for lock in &mut self.writes.locks.rows {
            let access = &accesses[lock.access];
            let (link, word) = (access.image.at + LINK, batch.word(lock.chain.at));
            let chain = ChainWord::from_word(word);
            // A row whose image had no buffer was given one, and its chain word is that of batch 2.
            let known = if access.has_new_buffer { 0 } else { batch.word(link) };
            if lock.chain.at == link || known == word {
                // A slot on another server may have been read before the swap.
                lock.must_read = !E::IMMEDIATE
                    && matches!(lock.next, NextSlot::Read(_))
                    && chain.is_far_from(access.row);
                continue;
            }
            if access.has_new_buffer {
                return Err(Abort::WriteConflict);
            }
            batch.set_word(link, word);
            (lock.next, lock.must_read) = (NextSlot::NoBuffer, !chain.buffer().is_null());
            has_changed = true;
        }
        Ok(has_changed)
    }

    #[inline]
    fn post_locks(
        &mut self,
        locks: &mut Locks,
        timestamp: VersionWord,
        is_first: bool,
        is_wanted: impl Fn(&Self, Owner) -> bool,
    ) {
        let locked = timestamp.locked().word();
        let mut batch = self.txn.batch.take();
        batch.clear_verbs();
        batch.set_replica_order(ReplicaOrder::Beside);
        if is_first {
            // Ahead of the swaps: on its own server no lock is held without its entry.
            self.post_journal(&mut batch);
        }
        for &number in &self.writes.rows {
            let access = &self.txn.accesses[number];
            debug_assert!(access.is_written() && !access.is_old, "the write set is prepared");
            if access.is_new() || !is_wanted(self, Owner::Table(access.table)) {
                continue;
            }
            let swap = batch.compare_and_swap(access.row, access.version.word(), locked);
            let chain = self.post_chain(&mut batch, access);
            let next = self.post_next_slot(&mut batch, access);
            locks.rows.push(RowLock { access: number, swap, chain, next, must_read: false });
        }
        for (number, insert) in self.writes.bucket_inserts.iter().enumerate() {
            if !is_wanted(self, insert.owner) {
                continue;
            }
            let skipped = self.env.mutant(Mutant::CommitSkipInsertWord);
            let desired = if skipped { insert.insert } else { locked };
            let swap = batch.compare_and_swap(insert.bucket, insert.insert, desired);
            locks.buckets.push(BucketLock { insert: Id::new(number as u32), swap });
        }
        for lock in &mut locks.leaves {
            let seen = &self.txn.leaves_seen[lock.seen];
            if !is_wanted(self, seen.owner) {
                continue;
            }
            lock.swap = Some(batch.compare_and_swap(seen.leaf, seen.insert.word(), locked));
            // The insert word may have been read later than the entries. With the lock held, the
            // rewrite counter shows whether the entries are still as they were read. A kept leaf
            // has both from the same moment.
            lock.version = match seen.is_kept {
                true => Span { at: seen.span.at + leaf::VERSION, words: 1 },
                false => batch.read(seen.leaf.add_words(u64::from(leaf::VERSION)), 1),
            };
        }
        self.txn.batch.put_back(batch);
    }

    /// Reads the chain word under the lock, unless the swap proves it. Where rows keep their
    /// buffers, only a commit that installs a version changes the chain word, and the expected
    /// version was completely installed before the snapshot that covers it: so if the swap finds
    /// this version, the chain read with it is current. A tombstone's buffer is collected in any
    /// case, so its chain is read.
    #[inline]
    fn post_chain(&self, batch: &mut Batch, access: &Access) -> Span {
        let is_row = !access.version.is_deleted() || self.env.mutant(Mutant::CommitTrustOldChain);
        let stays = self.open.info(access.table).design.keeps_versions && is_row;
        match stays {
            true => Span { at: access.image.at + LINK, words: 1 },
            false => batch.read(access.row.add_words(u64::from(LINK)), 1),
        }
    }

    /// Reads the next slot of the row's buffer, if necessary. The row's version or an earlier one
    /// displaced the version in that slot: if the horizon covers the row's version, no snapshot
    /// needs the slot, and it need not be read.
    #[inline]
    fn post_next_slot(&self, batch: &mut Batch, access: &Access) -> NextSlot {
        let chain = ChainWord::from_word(batch.word(access.image.at + LINK));
        if chain.buffer().is_null() || access.has_new_buffer {
            return NextSlot::NoBuffer;
        }
        let is_early = self.env.mutant(Mutant::CommitFreeSlotEarly);
        if self.garbage.horizon.covers(access.version) || (is_early && self.is_next(access.version))
        {
            return NextSlot::Free;
        }
        let slot = self.open.info(access.table).buffer.next_slot(chain);
        NextSlot::Read(batch.read(slot, SLOT_HEAD_WORDS))
    }

    /// Whether the number before this version's is covered by the horizon. For a mutant.
    #[cold]
    fn is_next(&self, version: VersionWord) -> bool {
        let before = version.counter().saturating_sub(1);
        self.garbage.horizon.covers(VersionWord::new(version.slot(), before))
    }

    #[inline]
    fn check_locks_held(&self) -> Result<(), Abort> {
        let batch = &*self.txn.batch;
        let locks = &self.writes.locks;
        let rows = locks.rows.iter().all(|lock| batch.swapped(lock.swap));
        if !rows && !self.env.mutant(Mutant::CommitSkipRowLocks) {
            return Err(Abort::WriteConflict);
        }
        let skip = self.env.mutant(Mutant::CommitSkipInsertWord);
        let buckets = skip || locks.buckets.iter().all(|lock| batch.swapped(lock.swap));
        let leaves = locks.leaves.iter().all(|lock| {
            // No swap: a later copy, which is locked in the next batch.
            let Some(swap) = lock.swap else { return true };
            let read = self.txn.leaves_seen[lock.seen].span.at + leaf::VERSION;
            let unchanged = batch.words(lock.version) == [batch.word(read)]
                || self.env.mutant(Mutant::CommitSkipLeafVersion);
            let is_held = batch.swapped(swap) || self.env.mutant(Mutant::CommitSkipLeafLock);
            unchanged && is_held
        });
        if buckets && leaves { Ok(()) } else { Err(Abort::InsertConflict) }
    }
}

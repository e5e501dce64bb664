//! Batch 1: one swap per row, bucket and leaf; what held is locked. Copies of rows come behind the first copy, in a batch of
//! their own.

use super::{Locks, Ring, RowLock};
use crate::abort::Abort;
use crate::access::Access;
use crate::lane::LaneInner;
use crate::write::Owner;
use fabric::{Batch, Env, Mutant, Span};
use layout::row::{ChainWord, LINK};
use layout::{VersionWord, leaf};

/// Words read of a version buffer's slot: moved flag, version, successor.
const RING_WORDS: u32 = 3;

impl<E: Env> LaneInner<E> {
    /// Locks the write set: first committer wins. Every version expected here is covered by the snapshot,
    /// so a row that was changed after it does not match.
    #[inline]
    pub(super) async fn lock_write_set(&mut self, timestamp: VersionWord) -> Result<(), Abort> {
        self.scratch.locks.rows.clear();
        self.scratch.locks.buckets.clear();
        match self.writes_copies() {
            false => self.lock_those(timestamp, |_, _| true).await?,
            true => Box::pin(self.lock_copies(timestamp)).await?,
        }
        if !self.env.mutant(Mutant::CommitChainBeforeLock) {
            self.adopt_chains().await?;
        }
        Ok(())
    }

    /// What is no copy, and first copies; then the others, for which nobody competes who has not locked the first.
    async fn lock_copies(&mut self, timestamp: VersionWord) -> Result<(), Abort> {
        self.lock_those(timestamp, |lane, owner| !lane.is_later_copy(owner)).await?;
        self.lock_those(timestamp, |lane, owner| lane.is_later_copy(owner)).await
    }

    #[inline]
    async fn lock_those(
        &mut self,
        timestamp: VersionWord,
        is_wanted: impl Fn(&Self, Owner) -> bool,
    ) -> Result<(), Abort> {
        let mut locks = std::mem::take(&mut self.scratch.locks);
        self.post_locks(&mut locks, timestamp, is_wanted);
        self.post_journal(timestamp);
        self.scratch.locks = locks;
        self.execute().await.map_err(|_| {
            self.is_lost = true;
            Abort::Unreachable
        })?;
        self.all_held()
    }

    /// Takes over the chains as they are under the locks. Where rows give their buffers back, the version that a swap
    /// finds does not vouch for the chain that was read with it: collection may have detached the buffer in between, and
    /// put the same header back. A chain that leads elsewhere means one more round trip.
    #[inline]
    async fn adopt_chains(&mut self) -> Result<(), Abort> {
        let mut batch = self.batch.take().unwrap_or_default();
        batch.clear_verbs();
        for lock in &mut self.scratch.locks.rows {
            let access = &self.accesses[lock.access as usize];
            let (link, chain) = (access.image.at + LINK, batch.word(lock.chain.at));
            if batch.word(link) == chain {
                continue;
            }
            batch.set_word(link, chain);
            lock.ring = Ring::Missing;
            let chain = ChainWord::from_word(chain);
            if !chain.buffer().is_null() {
                let table = self.catalog.tables[access.table as usize].as_ref();
                let shape = table.expect("accesses name tables of the lane's catalog").buffer;
                let slot = chain.buffer().add_words(u64::from(shape.slot(chain.next())));
                lock.ring = Ring::Read(batch.read(slot, RING_WORDS));
            }
        }
        let is_complete = batch.is_empty();
        self.batch = Some(batch);
        if is_complete {
            return Ok(());
        }
        self.execute().await.map_err(|_| Abort::Unreachable)
    }

    #[inline]
    fn post_locks(
        &mut self,
        locks: &mut Locks,
        timestamp: VersionWord,
        is_wanted: impl Fn(&Self, Owner) -> bool,
    ) {
        let locked = timestamp.locked().word();
        let mut batch = self.batch.take().unwrap_or_default();
        batch.clear_verbs();
        for &number in &self.written {
            let access = &self.accesses[number as usize];
            if access.is_new() || !is_wanted(self, Owner::Table(access.table)) {
                continue;
            }
            let swap = batch.compare_and_swap(access.row, access.version.word(), locked);
            let chain = self.post_chain(&mut batch, access);
            let ring = self.post_ring(&mut batch, access);
            locks.rows.push(RowLock { access: number, swap, chain, ring });
        }
        for (number, insert) in self.bucket_inserts.iter().enumerate() {
            if !is_wanted(self, insert.owner) {
                continue;
            }
            let skipped = self.env.mutant(Mutant::CommitSkipInsertWord);
            let desired = if skipped { insert.insert } else { locked };
            let swap = batch.compare_and_swap(insert.bucket, insert.insert, desired);
            locks.buckets.push((number as u32, swap));
        }
        for lock in &mut locks.leaves {
            let seen = &self.leaves_seen[lock.seen as usize];
            if !is_wanted(self, seen.owner) {
                continue;
            }
            lock.swap = Some(batch.compare_and_swap(seen.leaf, seen.insert.word(), locked));
            // The insert word may have been read later than the entries; with the lock held, the rewrite
            // counter tells whether they are still what was read. Of a kept leaf both are of one moment.
            lock.version = match seen.is_kept {
                true => Span { at: seen.span.at + leaf::VERSION, words: 1 },
                false => batch.read(seen.leaf.add_words(u64::from(leaf::VERSION)), 1),
            };
        }
        self.batch = Some(batch);
    }

    /// The chain word under the lock. Where rows keep their buffers nobody changes it but who installs a version, and
    /// the version that is expected here was installed, all of it, before the snapshot that covers it was taken: so the
    /// chain that was read with it is the one, if the swap finds it. A tombstone's buffer goes all the same.
    #[inline]
    fn post_chain(&self, batch: &mut Batch, access: &Access) -> Span {
        let is_row = !access.version.is_deleted() || self.env.mutant(Mutant::CommitTrustOldChain);
        let stays = self.info(access.table).design.keeps_versions && is_row;
        match stays {
            true => Span { at: access.image.at + LINK, words: 1 },
            false => batch.read(access.row.add_words(u64::from(LINK)), 1),
        }
    }

    /// The next slot of the row's buffer. What it holds was displaced by the row's version or before it: if everybody
    /// sees that version, nobody needs the slot, and it need not be read.
    #[inline]
    fn post_ring(&self, batch: &mut Batch, access: &Access) -> Ring {
        let chain = ChainWord::from_word(batch.word(access.image.at + LINK));
        if chain.buffer().is_null() {
            return Ring::Missing;
        }
        let is_early = self.env.mutant(Mutant::CommitFreeSlotEarly);
        if self.horizon.covers(access.version) || (is_early && self.is_next(access.version)) {
            return Ring::Free;
        }
        let shape = self.info(access.table).buffer;
        let slot = chain.buffer().add_words(u64::from(shape.slot(chain.next())));
        Ring::Read(batch.read(slot, RING_WORDS))
    }

    /// Whether the version before this one of its slot is the last that the horizon covers. For a mutant.
    #[cold]
    fn is_next(&self, version: VersionWord) -> bool {
        let before = version.counter().saturating_sub(1);
        self.horizon.covers(VersionWord::new(version.slot(), before))
    }

    #[inline]
    fn all_held(&self) -> Result<(), Abort> {
        let batch = self.batch.as_ref().expect("the batch came back");
        let locks = &self.scratch.locks;
        let rows = locks.rows.iter().all(|lock| batch.swapped(lock.swap));
        if !rows && !self.env.mutant(Mutant::CommitSkipRowLocks) {
            return Err(Abort::WriteConflict);
        }
        let skip = self.env.mutant(Mutant::CommitSkipInsertWord);
        let buckets = skip || locks.buckets.iter().all(|&(_, swap)| batch.swapped(swap));
        let leaves = locks.leaves.iter().all(|lock| {
            // Without a swap it is another copy's, whose turn comes.
            let Some(swap) = lock.swap else { return true };
            let read = self.leaves_seen[lock.seen as usize].span.at + leaf::VERSION;
            let unchanged = batch.words(lock.version) == [batch.word(read)]
                || self.env.mutant(Mutant::CommitSkipLeafVersion);
            let is_held = batch.swapped(swap) || self.env.mutant(Mutant::CommitSkipLeafLock);
            unchanged && is_held
        });
        if buckets && leaves { Ok(()) } else { Err(Abort::InsertConflict) }
    }
}

//! Commit: lock, validate, install, publish [ZB17 §3.1 listing 1, §4.1, §6.1].

mod install;
mod lock;
mod prepare;
mod publish;
mod step;
mod validate;
mod values;

pub use step::CommitStep;
pub use values::PlacedValue;

use crate::abort::{Abort, Outcome};
use crate::detach::away_from_home;
use crate::lane::LaneInner;
use fabric::{Env, FabricError, Mutant, Span, Swap};
use layout::VersionWord;

/// A row to be locked: its access, the swap, and what the next slot of its version buffer holds.
#[derive(Clone, Copy, Debug)]
pub struct RowLock {
    access: u32,
    swap: Swap,
    /// The chain word, read after the swap, or that of the image where the swap vouches for it.
    chain: Span,
    ring: Ring,
}

/// What is known of the next slot of a row's version buffer.
#[derive(Clone, Copy, Debug)]
enum Ring {
    /// The row has no buffer.
    Missing,
    /// Nobody needs what the slot holds.
    Free,
    /// What was read of it: moved flag, version, successor.
    Read(Span),
}

/// A leaf to be locked, with the range of leaf inserts that go into it.
#[derive(Clone, Copy, Debug)]
pub struct LeafLock {
    pub(crate) seen: u32,
    first: u32,
    count: u32,
    swap: Option<Swap>,
    /// The rewrite counter, read after the swap.
    version: Span,
}

impl LeafLock {
    /// Whether something goes into the leaf.
    pub(crate) fn is_written(&self) -> bool {
        self.count > 0
    }

    /// A leaf that is locked though nothing goes into it.
    fn bare(seen: u32) -> Self {
        Self { seen, first: 0, count: 0, swap: None, version: Span::default() }
    }
}

/// Everything that batch 1 swaps.
#[derive(Default)]
pub struct Locks {
    rows: Vec<RowLock>,
    /// By position among the buckets that are inserted into.
    buckets: Vec<(u32, Swap)>,
    pub(crate) leaves: Vec<LeafLock>,
}

impl<E: Env> LaneInner<E> {
    /// Commits a transaction that has only read and need not validate that, as [`Self::commit`] does, without a future;
    /// none for all others.
    #[inline(always)]
    pub(crate) fn commit_at_once(&mut self) -> Option<Outcome> {
        if self.serializable || !self.written.is_empty() || self.over().is_some() {
            return None;
        }
        self.is_unfinished = false;
        self.statistics.commits += 1;
        Some(Outcome::Committed)
    }

    /// Commits the transaction that the lane holds.
    ///
    /// We deviate from listing 1: the payload is written before the header, in batches whose order the
    /// contract grants; the new version is announced in the lane's own slot, after every install has
    /// completed, instead of a list that the oracle scans.
    #[inline]
    pub(crate) async fn commit(&mut self) -> Outcome {
        let outcome = match self.over() {
            Some(abort) => Outcome::Aborted(abort),
            None if self.written.is_empty() => self.commit_read_only().await,
            None => self.commit_writes().await,
        };
        match outcome {
            Outcome::Committed => {
                self.is_unfinished = false;
                self.statistics.commits += 1;
            }
            Outcome::Aborted(abort) => {
                if !self.is_lost {
                    self.end_number();
                }
                self.forget_leaves();
                if abort == Abort::VersionBufferFull && self.shared_slot.is_some() {
                    // A commit advances no horizon while others wait for its number; one that fails is tried again.
                    let _ = self.advance_horizon().await;
                }
                self.statistics.aborts[abort.index()] += 1;
            }
            Outcome::Unknown => self.statistics.unknown += 1,
        }
        outcome
    }

    /// Reads need no commit under snapshot isolation. A serializable reader of several rows validates
    /// after its last read: then all of them were current at one moment.
    async fn commit_read_only(&mut self) -> Outcome {
        let is_single =
            self.witnesses.len() + self.leaf_witnesses.len() <= 1 && self.read_count <= 1;
        let is_skipped = is_single || self.env.mutant(Mutant::CommitSkipReaders);
        if !self.serializable || is_skipped {
            return Outcome::Committed;
        }
        match self.validate_reads(VersionWord::NONE).await {
            Ok(()) => Outcome::Committed,
            Err(abort) => Outcome::Aborted(abort),
        }
    }

    #[inline]
    async fn commit_writes(&mut self) -> Outcome {
        if let Err(abort) = self.prepare().await {
            self.free_private_memory();
            return Outcome::Aborted(abort);
        }
        let timestamp = self.next_timestamp();
        if !self.stage.is_empty()
            && let Err(abort) = self.place_values(timestamp).await
        {
            self.free_private_memory();
            return Outcome::Aborted(abort);
        }
        if self.env.mutant(Mutant::CommitValidateBeforeLocks)
            && self.serializable
            && let Err(abort) = self.validate_reads(timestamp).await
        {
            return Outcome::Aborted(abort);
        }
        self.env.reach(CommitStep::Started).await;
        if let Err(abort) = self.lock_write_set(timestamp).await {
            return self.release(timestamp, abort).await;
        }
        self.env.reach(CommitStep::LocksHeld).await;
        if self.serializable
            && !self.env.mutant(Mutant::CommitValidateBeforeLocks)
            && !self.env.mutant(Mutant::CommitSkipValidation)
            && let Err(abort) = self.validate_reads(timestamp).await
        {
            return self.release(timestamp, abort).await;
        }
        self.env.reach(CommitStep::ReadsValidated).await;
        self.env.reach(CommitStep::JournalWritten).await;
        if let Err(abort) = self.free_ring_slots().await {
            return self.release(timestamp, abort).await;
        }
        if self.env.mutant(Mutant::CommitPublishBeforeInstall)
            && self.publish(timestamp).await.is_err()
        {
            return Outcome::Unknown;
        }
        if self.env.mutant(Mutant::CommitUnlockBeforeInstall) && self.unlock_rows().await.is_err() {
            return self.lose();
        }
        // Point of no return: from here a failure means `Unknown`, never `Aborted`.
        if self.install_new_versions(timestamp).await.is_err() {
            return self.lose();
        }
        self.env.reach(CommitStep::VersionsInstalled).await;
        if self.publish(timestamp).await.is_err() {
            return self.lose();
        }
        self.env.reach(CommitStep::TimestampPublished).await;
        self.retire_write_set(timestamp);
        self.keep_leaves(timestamp);
        self.keep_up().await;
        Outcome::Committed
    }

    /// The place of the write-set journal: once journals exist, f+1 servers get it with batch 1, so that it
    /// stands when `JournalWritten` is reached.
    #[inline]
    fn post_journal(&mut self, _timestamp: VersionWord) {}

    /// After an unknown outcome the lane's number is not decided: it takes no transaction any more.
    fn lose(&mut self) -> Outcome {
        if !self.env.mutant(Mutant::LaneReusedAfterUnknown) {
            self.lose_number();
        }
        Outcome::Unknown
    }

    /// Gives the rows back before anything is installed. For a mutant.
    #[cold]
    async fn unlock_rows(&mut self) -> Result<(), FabricError> {
        let mut batch = self.batch.take().unwrap_or_default();
        batch.clear_verbs();
        for lock in &self.scratch.locks.rows {
            let access = &self.accesses[lock.access as usize];
            batch.write_word(access.row, access.version.word());
        }
        self.batch = Some(batch);
        self.execute().await
    }

    /// Gives back what batch 1 took. Rows get their version again; insert words the own timestamp, since
    /// an old value must never come back to a word that others swap.
    async fn release(&mut self, timestamp: VersionWord, abort: Abort) -> Outcome {
        let Some(mut batch) = self.batch.take() else {
            // What became of the swaps was lost with the batch: the locks may be held, and only recovery
            // can tell. No write was installed, and none will be.
            self.lose_number();
            return Outcome::Aborted(abort);
        };
        let locks = std::mem::take(&mut self.scratch.locks);
        batch.clear_verbs();
        for lock in &locks.rows {
            if batch.swapped(lock.swap) || self.env.mutant(Mutant::CommitReleaseUnheld) {
                let access = &self.accesses[lock.access as usize];
                batch.write_word(access.row, access.version.word());
            }
        }
        for &(insert, swap) in &locks.buckets {
            if batch.swapped(swap) {
                let bucket = self.bucket_inserts[insert as usize].bucket;
                batch.write_word(bucket, timestamp.word());
            }
        }
        for lock in &locks.leaves {
            if lock.swap.is_some_and(|swap| batch.swapped(swap)) {
                batch.write_word(self.leaves_seen[lock.seen as usize].leaf, timestamp.word());
            }
        }
        let is_empty = batch.is_empty();
        self.batch = Some(batch);
        self.scratch.locks = locks;
        self.free_private_memory();
        if self.env.mutant(Mutant::CommitNumberReused) {
            self.counter -= 1;
        }
        if !is_empty && self.execute().await.is_err() {
            // The locks may still be held; only recovery can tell.
            self.lose_number();
            return Outcome::Unknown;
        }
        self.env.reach(CommitStep::LocksReleased).await;
        Outcome::Aborted(abort)
    }
}

/// Runs a commit in a task of its own, so that dropping the caller's future does not stop it.
pub(crate) async fn commit_detached<E: Env>(home: &mut Option<Box<LaneInner<E>>>) -> Outcome {
    let done = away_from_home(home, async |inner: &mut LaneInner<E>| inner.commit().await).await;
    done.expect("a running transaction has its lane")
}

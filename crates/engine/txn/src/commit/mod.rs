//! Commit: lock, validate, install, publish [ZB17 §3.1 listing 1, §4.1, §6.1].
//!
//! Read the listing here first, then [`prepare`], [`lock`], [`validate`], [`redo`], [`install`],
//! [`publish`], and [`release`] for commits that abort. [`locks`] has the bookkeeping, [`mutated`]
//! the listing with its phases in a wrong order.
//!
//! Decisions:
//! - docs/decisions/0003-commits-are-detached-tasks-wherever-verbs-do-not-complete-at.md
//! - docs/decisions/0020-a-commit-has-three-outcomes.md

pub(crate) mod witness;

mod install;
mod lock;
mod locks;
mod mutated;
mod prepare;
mod publish;
mod redo;
mod release;
mod step;
mod validate;
mod values;

pub(crate) use locks::{BucketLock, LeafLock, Locks, NextSlot, RowLock};
pub use step::CommitStep;
pub(crate) use values::PlacedValue;

use crate::abort::{Abort, Outcome};
use crate::detach::run_lane_detached;
use crate::lane::LaneInner;
use fabric::Env;
use layout::VersionWord;

impl<E: Env> LaneInner<E> {
    /// Commits the write set.
    ///
    /// We deviate from listing 1: the payload is written before the header, in batches whose order
    /// the fabric's contract guarantees; and after every install has completed, the commit
    /// publishes by a write to the lane's own slot, instead of an entry in a list that the oracle
    /// scans.
    #[inline]
    async fn commit_writes(&mut self) -> Outcome {
        let timestamp = match self.prepare().await {
            Ok(timestamp) => timestamp,
            Err(abort) => return self.abort_unlocked(abort),
        };
        if let Some(reordered) = self.reordered_by_mutant(timestamp) {
            return reordered.await;
        }
        self.env.reach(CommitStep::Started).await;
        if let Err(abort) = self.lock_write_set(timestamp).await {
            return self.release(timestamp, abort).await;
        }
        self.env.reach(CommitStep::LocksHeld).await;
        if self.txn.serializable
            && let Err(abort) = self.validate_reads(timestamp).await
        {
            return self.release(timestamp, abort).await;
        }
        self.env.reach(CommitStep::ReadsValidated).await;
        if let Err(abort) = self.free_buffer_slots().await {
            return self.release(timestamp, abort).await;
        }
        self.env.reach(CommitStep::BuffersReady).await;
        // Point of no return: from here a failure means `Unknown`, never `Aborted`.
        self.append_redo(timestamp);
        if self.install_new_versions(timestamp).await.is_err() {
            return self.end_unknown();
        }
        self.env.reach(CommitStep::VersionsInstalled).await;
        if self.publish(timestamp).await.is_err() {
            return self.end_unknown();
        }
        self.env.reach(CommitStep::TimestampPublished).await;
        self.enqueue_garbage(timestamp);
        self.cache_written_leaves(timestamp);
        self.split_and_collect().await;
        Outcome::Committed
    }

    /// Commits the lane's transaction.
    #[inline]
    pub(crate) async fn commit(&mut self) -> Outcome {
        let outcome = match self.txn.doomed_by {
            Some(abort) => Outcome::Aborted(abort),
            None if self.writes.is_empty() => self.commit_read_only().await,
            None => self.commit_writes().await,
        };
        match outcome {
            Outcome::Committed => {
                self.identity.is_unfinished = false;
                self.statistics.commits += 1;
            }
            Outcome::Aborted(abort) => {
                if !self.identity.is_poisoned {
                    self.identity.finish_number();
                }
                self.evict_leaves_of_inserts();
                if abort == Abort::VersionBufferFull && self.identity.shared_slot.is_some() {
                    // A commit cannot advance the horizon while others wait for its number, so do
                    // it now. If this fails, the next commit tries again.
                    let _ = self.advance_horizon().await;
                }
                if abort == Abort::OutOfMemory && !self.identity.is_poisoned {
                    self.collect_after_shortage().await;
                }
                if let Some(entry) = self.garbage.rowless.take() {
                    self.remove_rowless(entry).await;
                }
                self.statistics.aborts[abort.index()] += 1;
            }
            Outcome::Unknown => self.statistics.unknown += 1,
        }
        outcome
    }

    /// Like [`Self::commit`], without a future, for a transaction that has only read and need not
    /// validate; `None` for all others.
    #[inline(always)]
    pub(crate) fn commit_at_once(&mut self) -> Option<Outcome> {
        if self.txn.serializable || !self.writes.is_empty() || self.txn.doomed_by.is_some() {
            return None;
        }
        self.identity.is_unfinished = false;
        self.statistics.commits += 1;
        Some(Outcome::Committed)
    }

    /// Reads need no commit under snapshot isolation. A serializable reader of several rows
    /// validates after its last read: then all of them were current at one moment.
    async fn commit_read_only(&mut self) -> Outcome {
        let is_single = self.witnesses.count() <= 1 && self.txn.read_count <= 1;
        if !self.txn.serializable || is_single || self.skips_readers() {
            return Outcome::Committed;
        }
        match self.validate_reads(VersionWord::NONE).await {
            Ok(()) => Outcome::Committed,
            Err(abort) => Outcome::Aborted(abort),
        }
    }

    /// Ends a commit with unknown outcome. Its number may or may not be visible, so no later number
    /// may be published: the lane runs no further transaction.
    fn end_unknown(&mut self) -> Outcome {
        if !self.may_go_on_after_unknown() {
            self.identity.poison();
        }
        Outcome::Unknown
    }
}

/// Runs a commit in a task of its own, so that it runs to its end even if the caller drops its
/// future.
pub(crate) async fn commit_detached<E: Env>(owned: &mut Option<Box<LaneInner<E>>>) -> Outcome {
    let done =
        run_lane_detached(owned, async |inner: &mut LaneInner<E>| inner.commit().await).await;
    done.expect("a running transaction has its lane")
}

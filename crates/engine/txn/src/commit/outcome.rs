//! The outcome of a commit, and what follows from it for the lane.
//!
//! A *doomed* transaction has failed an operation and can only abort. A *poisoned* lane has a
//! number whose outcome is unknown, and runs no further transaction until a task has decided it
//! ([`super::undecided`]); a number that cannot be decided poisons its lane for good.

use crate::abort::{Abort, Outcome};
use crate::detach::run_lane_detached;
use crate::lane::LaneInner;
use fabric::Env;
use layout::VersionWord;

impl<E: Env> LaneInner<E> {
    /// Commits the lane's transaction.
    #[inline]
    pub(crate) async fn commit(&mut self) -> Outcome {
        let holder = self.shared.begin_work(&self.env);
        let outcome = match self.txn.doomed_by {
            Some(abort) => Outcome::Aborted(abort),
            None if self.writes.is_empty() => self.commit_read_only().await,
            None if holder.is_err() => Outcome::Aborted(Abort::Unreachable),
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
                if let Some(entry) = self.garbage.rowless.take()
                    && !self.identity.is_poisoned
                {
                    self.insist(async |lane: &mut Self| lane.remove_rowless(entry).await).await;
                }
                self.statistics.aborts[abort.index()] += 1;
            }
            Outcome::Unknown => self.statistics.unknown += 1,
        }
        // The task that decides an unknown outcome still needs its tables.
        if outcome != Outcome::Unknown {
            self.end_resumed();
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
        // A single read is current at its own moment.
        let is_single = self.witnesses.count() <= 1 && self.txn.read_count <= 1;
        if !self.txn.serializable || is_single || self.skips_readers() {
            return Outcome::Committed;
        }
        match self.validate_reads(VersionWord::NONE).await {
            Ok(()) => Outcome::Committed,
            Err(abort) => Outcome::Aborted(abort),
        }
    }

    /// Ends a commit with unknown outcome whose phases a mutant has reordered, so that no task can
    /// decide it. Its number may or may not be visible, so no later number may be published: the
    /// lane runs no further transaction.
    pub(super) fn end_unknown(&mut self) -> Outcome {
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

//! Commit: lock, validate, install, publish [ZB17 §3.1 listing 1, §4.1, §6.1].
//!
//! Read the listing here first, then [`prepare`], [`mod@journal`], [`lock`], [`validate`],
//! [`redo`], [`install`], [`publish`], and [`release`] for commits that abort. [`outcome`] calls
//! the listing and has what follows from its outcome, [`undecided`] decides unknown ones, [`locks`]
//! has the bookkeeping, [`mutated`] the phases in a wrong order.
//!
//! Decisions:
//! - docs/decisions/0003-commits-are-detached-tasks-wherever-verbs-do-not-complete-at.md
//! - docs/decisions/0020-a-commit-has-three-outcomes.md

pub(crate) mod witness;

mod install;
mod journal;
mod lock;
mod locks;
mod mutated;
mod outcome;
mod prepare;
mod publish;
mod redo;
mod release;
mod step;
mod undecided;
mod validate;
mod values;

pub(crate) use locks::{BucketLock, LeafLock, Locks, NextSlot, RowLock};
pub(crate) use outcome::commit_detached;
pub use step::CommitStep;
pub(crate) use undecided::{Decisions, Delay, Resolution, Undecided};
pub(crate) use values::PlacedValue;

use crate::abort::Outcome;
use crate::lane::LaneInner;
use fabric::Env;

impl<E: Env> LaneInner<E> {
    /// Commits the write set.
    ///
    /// We deviate from listing 1, which writes the header before the payload and reports to a list
    /// that the oracle scans. We write the payload first, in an order that the fabric's contract
    /// guarantees, and publish by one write to the lane's own slot of the timestamp vector.
    ///
    /// `reach` marks a failure point for the simulator, and does nothing in production.
    #[inline]
    async fn commit_writes(&mut self) -> Outcome {
        let timestamp = match self.prepare().await {
            Ok(timestamp) => timestamp,
            Err(abort) => return self.abort_unlocked(abort),
        };
        // Simulator only: a planted bug reorders the phases.
        if let Some(reordered) = self.reordered_by_mutant(timestamp) {
            return reordered.await;
        }
        self.env.reach(CommitStep::Started).await;
        if let Err(abort) = self.lock_write_set(timestamp).await {
            return self.release(timestamp, abort).await;
        }
        self.env.reach(CommitStep::LocksHeld).await;
        if (self.txn.serializable || !self.witnesses.is_empty())
            && let Err(abort) = self.validate_reads(timestamp).await
        {
            return self.release(timestamp, abort).await;
        }
        self.env.reach(CommitStep::ReadsValidated).await;
        if let Err(abort) = self.free_buffer_slots().await {
            return self.release(timestamp, abort).await;
        }
        self.env.reach(CommitStep::BuffersReady).await;
        // Point of no return: the redo entry is written, and from here a failure means `Unknown`,
        // never `Aborted`.
        self.append_redo(timestamp);
        self.note_writes(timestamp);
        if self.install_new_versions(timestamp).await.is_err() {
            self.install_later(timestamp);
            return Outcome::Unknown;
        }
        self.env.reach(CommitStep::VersionsInstalled).await;
        if self.publish(timestamp).await.is_err() {
            self.publish_later_on(timestamp);
            return Outcome::Unknown;
        }
        self.env.reach(CommitStep::TimestampPublished).await;
        self.enqueue_garbage(timestamp);
        self.cache_written_leaves(timestamp);
        self.split_and_collect().await;
        Outcome::Committed
    }
}

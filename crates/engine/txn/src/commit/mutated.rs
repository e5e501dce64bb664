//! The commit with its phases in a wrong order: planted bugs, in simulated worlds only.

use super::CommitStep;
use crate::abort::Outcome;
use crate::lane::LaneInner;
use fabric::{Env, FabricError, Mutant};
use layout::VersionWord;
use std::pin::Pin;

pub(super) type Reordered<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;

impl<E: Env> LaneInner<E> {
    /// The commit with its phases in another order, if a mutant demands that. In the local world
    /// the compiler knows that this is `None`: a second caller of the steps of
    /// [`Self::commit_writes`] would keep them from being inlined there.
    #[inline(always)]
    pub(super) fn reordered_by_mutant(&mut self, timestamp: VersionWord) -> Option<Reordered<'_>> {
        if E::IMMEDIATE || !self.reorders_phases() {
            return None;
        }
        Some(Box::pin(self.commit_reordered(timestamp)))
    }

    /// Whether a mutant changes the order of the phases.
    #[inline(always)]
    fn reorders_phases(&self) -> bool {
        self.env.mutant(Mutant::CommitValidateBeforeLocks)
            || self.env.mutant(Mutant::CommitSkipValidation)
            || self.env.mutant(Mutant::CommitPublishBeforeInstall)
            || self.env.mutant(Mutant::CommitUnlockBeforeInstall)
            || self.env.mutant(Mutant::RedoBeforeLocks)
            || self.env.mutant(Mutant::RedoAfterPublish)
    }

    /// Whether serializable transactions that only read commit without validation. For a mutant.
    #[inline(always)]
    pub(super) fn skips_readers(&self) -> bool {
        self.env.mutant(Mutant::CommitSkipReaders)
    }

    /// Whether the lane goes on after an unknown outcome. For a mutant.
    #[inline(always)]
    pub(super) fn may_go_on_after_unknown(&self) -> bool {
        self.env.mutant(Mutant::LaneReusedAfterUnknown)
    }

    /// The listing of [`Self::commit_writes`] with the phases in the mutants' order.
    #[cold]
    async fn commit_reordered(&mut self, timestamp: VersionWord) -> Outcome {
        let validates_early = self.env.mutant(Mutant::CommitValidateBeforeLocks);
        let validates_late = !validates_early && !self.env.mutant(Mutant::CommitSkipValidation);
        if validates_early
            && self.txn.serializable
            && let Err(abort) = self.validate_reads(timestamp).await
        {
            return Outcome::Aborted(abort);
        }
        self.env.reach(CommitStep::Started).await;
        if self.env.mutant(Mutant::RedoBeforeLocks) {
            self.append_redo(timestamp);
        }
        if let Err(abort) = self.lock_write_set(timestamp).await {
            return self.release(timestamp, abort).await;
        }
        self.env.reach(CommitStep::LocksHeld).await;
        if validates_late
            && self.txn.serializable
            && let Err(abort) = self.validate_reads(timestamp).await
        {
            return self.release(timestamp, abort).await;
        }
        self.env.reach(CommitStep::ReadsValidated).await;
        if let Err(abort) = self.free_buffer_slots().await {
            return self.release(timestamp, abort).await;
        }
        self.env.reach(CommitStep::BuffersReady).await;
        if !self.env.mutant(Mutant::RedoBeforeLocks) && !self.env.mutant(Mutant::RedoAfterPublish) {
            self.append_redo(timestamp);
        }
        if self.env.mutant(Mutant::CommitPublishBeforeInstall)
            && self.publish(timestamp).await.is_err()
        {
            return Outcome::Unknown;
        }
        if self.env.mutant(Mutant::CommitUnlockBeforeInstall) && self.unlock_rows().await.is_err() {
            return self.end_unknown();
        }
        self.note_writes(timestamp);
        if self.install_new_versions(timestamp).await.is_err() {
            return self.end_unknown();
        }
        self.env.reach(CommitStep::VersionsInstalled).await;
        if self.publish(timestamp).await.is_err() {
            return self.end_unknown();
        }
        self.env.reach(CommitStep::TimestampPublished).await;
        if self.env.mutant(Mutant::RedoAfterPublish) {
            self.append_redo(timestamp);
        }
        self.enqueue_garbage(timestamp);
        self.cache_written_leaves(timestamp);
        self.split_and_collect().await;
        Outcome::Committed
    }

    /// Unlocks the rows before anything is installed.
    async fn unlock_rows(&mut self) -> Result<(), FabricError> {
        self.txn.batch.clear_verbs();
        for lock in &self.writes.locks.rows {
            let access = &self.txn.accesses[lock.access];
            self.txn.batch.write_word(access.row, access.version.word());
        }
        self.execute().await
    }
}

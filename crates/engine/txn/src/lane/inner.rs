//! The owned part of a lane, and what a transaction begins with.
//!
//! Decisions:
//! - docs/decisions/0001-one-batch-and-one-arena-per-transaction.md
//! - docs/decisions/0043-a-drop-waits-for-upkeep.md
//! - docs/decisions/0046-immediate-worlds-execute-without-a-future.md

use super::identity::LaneIdentity;
use super::open::OpenCatalog;
use super::running::RunningTransaction;
use crate::abort::{Abort, TxnError};
use crate::collect::GarbageQueue;
use crate::commit::witness::Witnesses;
use crate::database::Shared;
use crate::operations::Operations;
use crate::snapshot::Snapshot;
use crate::snapshot::slot::LanePlace;
use crate::statistics::LaneStatistics;
use crate::write::write_set::WriteSet;
use fabric::{Batch, Env};
use layout::GlobalPtr;
use layout::oracle::{LANE_ACKNOWLEDGED, LANE_ACTIVE};
use std::sync::Arc;

/// The owned part of a lane: what a commit that nobody waits for any more still needs.
pub(crate) struct LaneInner<E: Env> {
    pub env: E,
    pub operations: &'static Operations<E>,
    pub shared: Arc<Shared<E>>,
    /// Slot and numbers.
    pub identity: LaneIdentity,
    /// The catalog, and what the lane keeps of tables and indexes.
    pub open: OpenCatalog,
    /// What the running transaction sees.
    pub snapshot: Snapshot,
    /// What it has read.
    pub txn: RunningTransaction,
    /// What it writes.
    pub writes: WriteSet,
    /// What must not change before it commits, if it is serializable.
    pub witnesses: Witnesses,
    /// What earlier transactions have superseded.
    pub garbage: GarbageQueue,
    pub statistics: LaneStatistics,
    pub scratch: Scratch,
}

/// Lists that protocol steps fill and empty, kept so that they need no memory of their own each
/// time.
#[derive(Default)]
pub(crate) struct Scratch {
    pub pending: Vec<crate::read::Pending>,
    /// Accesses of a statement, in the order of its keys.
    pub located: Vec<crate::read::access::AccessId>,
    pub inserting: Vec<crate::read::access::AccessId>,
    /// Collected-up-to words that are being raised.
    pub raising: Vec<crate::collect::Raise>,
    pub looking: crate::read::scan::Looking,
    pub cursors: Vec<crate::read::cursor::Cursor>,
    pub round: crate::read::cursor::Round,
    /// For upkeep, whose verbs are not the transaction's.
    pub batch: Option<Batch>,
}

impl<E: Env> LaneInner<E> {
    pub(crate) fn new(env: E, shared: Arc<Shared<E>>, place: LanePlace) -> Self {
        // Lanes begin far apart, so that they do not take each other's row ids for their own.
        let first = ((u32::from(place.slot.0) << 16) | place.number).wrapping_mul(0x9e37_79b9);
        Self {
            env,
            operations: shared.operations,
            shared,
            identity: LaneIdentity::new(place),
            open: OpenCatalog::default(),
            snapshot: Snapshot::default(),
            txn: RunningTransaction::new(first),
            writes: WriteSet::new(),
            witnesses: Witnesses::default(),
            garbage: GarbageQueue::default(),
            statistics: LaneStatistics::default(),
            scratch: Scratch::default(),
        }
    }

    /// Withdraws the announcement, if there is one.
    pub(crate) async fn rest(&mut self) -> Result<(), Abort> {
        if !self.identity.is_announced {
            return Ok(());
        }
        let shared_slot = self.identity.shared_slot.clone();
        let is_fetched = || self.shared.fetched.is_running();
        let rested = shared_slot.as_deref().map(|slot| slot.rest(self.identity.number, is_fetched));
        let (word, value) = match rested {
            Some(Ok(None)) => {
                self.identity.is_announced = false;
                return Ok(());
            }
            Some(Ok(Some(epoch))) => (LANE_ACKNOWLEDGED, epoch),
            None | Some(Err(_)) => (LANE_ACTIVE, 0),
        };
        let word = self.lane_word(word);
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.reset();
        batch.write_word(word, value);
        let batch = self.env.execute(batch).await.map_err(|_| Abort::Unreachable)?;
        self.scratch.batch = Some(batch);
        self.identity.is_announced = false;
        Ok(())
    }

    /// Forgets the last transaction, takes a snapshot, and notices catalog changes.
    #[inline]
    pub(crate) async fn begin(&mut self) -> Result<(), Abort> {
        if self.identity.is_out_of_use() {
            return Err(Abort::Unreachable);
        }
        if self.needs_new_slot() {
            self.take_new_slot().await?;
        }
        self.identity.wants_newer = self.identity.is_unfinished;
        self.identity.is_unfinished = true;
        self.reset();
        self.identity.is_announced = true;
        self.take_snapshot().await
    }

    /// Forgets the last transaction.
    #[inline]
    pub(crate) fn reset(&mut self) {
        if !self.txn.stage.is_empty() {
            self.txn.stage.clear();
            self.writes.placed.clear();
        }
        self.txn.reset();
        self.writes.reset();
        self.witnesses.reset();
    }

    /// A statement begins.
    ///
    /// # Errors
    /// If an earlier statement has ended with an abort, or its future was dropped: what it learned
    /// may be half of an answer, and its verbs may have taken along what the transaction had read.
    #[inline(always)]
    pub fn begin_statement(&mut self) -> Result<&mut Self, Abort> {
        if let Some(abort) = self.txn.doomed_by {
            return Err(abort);
        }
        if !E::IMMEDIATE {
            // Until the statement ends: its future may be dropped.
            self.txn.doomed_by = Some(Abort::Unreachable);
        }
        Ok(self)
    }

    /// The statement that began last has ended.
    #[inline(always)]
    pub fn end_statement<T>(&mut self, ended: Result<T, TxnError>) -> Result<T, TxnError> {
        match &ended {
            // Where nothing waits, no future is dropped half way.
            Ok(_) if E::IMMEDIATE => {}
            Ok(_) => self.txn.doomed_by = None,
            Err(error) => self.txn.fail_statement(error),
        }
        ended
    }

    /// Posts the batch and waits: one round trip. If it fails, the arena is gone with it.
    ///
    /// Where verbs are carried out at once they are so here, so that the future is no more than
    /// their result.
    #[inline(always)]
    pub fn execute(&mut self) -> impl Future<Output = Result<(), fabric::FabricError>> + '_ {
        let done = match E::IMMEDIATE {
            true => self.txn.batch.execute_now(&self.env),
            false => Ok(()),
        };
        async move {
            if E::IMMEDIATE {
                return done;
            }
            self.txn.batch.execute(&self.env).await
        }
    }

    /// As [`Self::execute`] where verbs are carried out at once; `None`, and nothing done,
    /// everywhere else. For steps that most transactions go through: even a future that is ready
    /// must be made, polled and dropped.
    #[inline(always)]
    pub fn execute_at_once(&mut self) -> Option<Result<(), fabric::FabricError>> {
        E::IMMEDIATE.then(|| self.txn.batch.execute_now(&self.env))
    }

    /// One of the words beside the vector that the owner of the slot announces by.
    #[inline]
    pub fn lane_word(&self, word: u32) -> GlobalPtr {
        let lane = self.shared.oracle_layout.lane(self.shared.oracle, self.identity.slot);
        lane.add_words(u64::from(word))
    }
}

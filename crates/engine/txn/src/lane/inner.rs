//! The owned part of a lane, with the state of its transaction.
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
use crate::parked::Resumed;
use crate::recovery::{LaneJournal, LockedWord};
use crate::snapshot::Snapshot;
use crate::snapshot::slot::LanePlace;
use crate::statistics::LaneStatistics;
use crate::write::write_set::WriteSet;
use fabric::{Batch, Env, VerbList};
use layout::GlobalPtr;
use layout::oracle::{LANE_ACKNOWLEDGED, LANE_ACTIVE};
use std::sync::Arc;

/// The owned part of a lane: everything that a commit still needs after the caller has dropped it.
pub(crate) struct LaneInner<E: Env> {
    pub env: E,
    pub operations: &'static Operations<E>,
    pub shared: Arc<Shared<E>>,
    pub identity: LaneIdentity,
    /// The catalog, and the lane's state of each table and index.
    pub open: OpenCatalog,
    pub snapshot: Snapshot,
    /// The read set and the batch.
    pub txn: RunningTransaction,
    pub writes: WriteSet,
    /// The words that must not change before a serializable transaction commits.
    pub witnesses: Witnesses,
    /// The garbage of earlier transactions.
    pub garbage: GarbageQueue,
    pub statistics: LaneStatistics,
    /// The lane's buffer of the redo log, if the database has one.
    pub redo: Option<redo_log::Lane>,
    /// The lane's journal, if the database keeps journals.
    pub journal: Option<Box<LaneJournal>>,
    /// Whether the last upkeep was undone, because a memory server has died.
    pub is_upkeep_undone: bool,
    pub scratch: Scratch,
    /// Set while it runs a transaction that was parked.
    pub resumed: Option<Box<Resumed<E>>>,
}

/// Reusable lists of protocol steps, which thus allocate no memory each time.
#[derive(Default)]
pub(crate) struct Scratch {
    pub pending: Vec<crate::read::Pending>,
    /// Accesses of a statement, in the order of its keys.
    pub located: Vec<crate::read::access::AccessId>,
    pub inserting: Vec<crate::read::access::AccessId>,
    /// The collected-up-to words that are being raised.
    pub raising: Vec<crate::collect::Raise>,
    pub looking: crate::read::scan::LookupScratch,
    pub cursors: Vec<crate::read::cursor::Cursor>,
    pub round: crate::read::cursor::Round,
    /// The keys of the rows that a visit of a table has shown, for the shadow history.
    pub shown: Vec<layout::Key>,
    /// The after-image that is being appended to the redo log.
    pub image: Vec<u8>,
    /// Batch 2 of the commit, where it is put together before batch 1.
    pub installs: VerbList,
    /// The entry of the lane's journal about this commit.
    pub entry: Vec<u64>,
    /// Stray locks that the lane has met, each with the word as found.
    pub strays: Vec<(LockedWord, u64)>,
    /// The batch of upkeep, whose verbs do not belong to the transaction.
    pub batch: Option<Batch>,
}

impl<E: Env> LaneInner<E> {
    pub(crate) fn new(env: E, shared: Arc<Shared<E>>, place: LanePlace) -> Self {
        // Lanes begin far apart, so that no lane accepts another lane's row id as its own.
        let first = ((u32::from(place.slot.0) << 16) | place.number).wrapping_mul(0x9e37_79b9);
        let redo = shared.redo.get().map(redo_log::Lanes::add);
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
            redo,
            journal: None,
            is_upkeep_undone: false,
            scratch: Scratch::default(),
            resumed: None,
        }
    }

    /// Withdraws the announcement, if there is one.
    pub(crate) async fn rest(&mut self) -> Result<(), Abort> {
        self.end_resumed();
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

    /// Resets the last transaction, takes a snapshot, and detects catalog changes.
    #[inline]
    pub(crate) async fn begin(&mut self) -> Result<(), Abort> {
        if self.identity.is_unusable() && !self.identity.revive() {
            return Err(Abort::Unreachable);
        }
        // A promotion of the oracle must know everybody's announcement.
        let _holder = self.shared.begin_work(&self.env).map_err(|_| Abort::Unreachable)?;
        if self.needs_new_slot() {
            self.take_new_slot().await?;
        }
        if !self.scratch.strays.is_empty() {
            Box::pin(self.release_strays()).await;
        }
        self.end_resumed();
        self.identity.wants_newer = self.identity.is_unfinished;
        self.identity.is_unfinished = true;
        self.reset();
        self.identity.is_announced = true;
        self.take_snapshot().await
    }

    /// Resets the state of the last transaction.
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

    /// Begins a statement.
    ///
    /// # Errors
    ///
    /// If an earlier statement aborted, or its future was dropped: its accesses may be incomplete,
    /// and its lost batch may have held the rows that the transaction had read.
    #[inline(always)]
    pub fn begin_statement(&mut self) -> Result<&mut Self, Abort> {
        if let Some(abort) = self.txn.doomed_by {
            return Err(abort);
        }
        if !E::IMMEDIATE {
            // Holds until the statement ends: its future may be dropped.
            self.txn.doomed_by = Some(Abort::Unreachable);
        }
        Ok(self)
    }

    /// Ends the statement that began last.
    #[inline(always)]
    pub fn end_statement<T>(&mut self, ended: Result<T, TxnError>) -> Result<T, TxnError> {
        match &ended {
            // Where verbs complete at once, no future is dropped half way.
            Ok(_) if E::IMMEDIATE => {}
            Ok(_) => self.txn.doomed_by = None,
            Err(error) => self.txn.fail_statement(error),
        }
        ended
    }

    /// Posts the batch and waits: one round trip. If it fails, the arena is lost with it.
    ///
    /// Where verbs complete at once, they execute here and not in the future, which is then no more
    /// than their result.
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

    /// Like [`Self::execute`] where verbs complete at once. Everywhere else returns `None` and does
    /// nothing. Meant for steps that most transactions take: even a ready future must be made,
    /// polled and dropped.
    #[inline(always)]
    pub fn execute_at_once(&mut self) -> Option<Result<(), fabric::FabricError>> {
        E::IMMEDIATE.then(|| self.txn.batch.execute_now(&self.env))
    }

    /// A word of the slot's announcement beside the vector.
    #[inline]
    pub fn lane_word(&self, word: u32) -> GlobalPtr {
        let lane = self.shared.oracle_layout.lane(self.shared.oracle, self.identity.slot);
        lane.add_words(u64::from(word))
    }
}

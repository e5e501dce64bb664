//! The owned part of a lane, and what a transaction begins with.

use super::number::COUNTER_LIMIT;
use super::open::{LaneIndex, LaneTable};
use crate::abort::{Abort, TxnError};
use crate::access::{Access, AccessMap};
use crate::catalog::Catalog;
use crate::collect::{Horizon, Retired};
use crate::database::Shared;
use crate::displaced::DisplacedBuffer;
use crate::shared_slot::SharedSlot;
use crate::slot::LanePlace;
use crate::snapshot::Snapshot;
use crate::statistics::LaneStatistics;
use crate::unique::UniqueViolation;
use crate::write::{
    BucketInsert, BucketSeen, EntryInsert, InsertBlock, LeafInsert, LeafSeen, LeafWitness, Owner,
};
use fabric::{Batch, Env, Mutant, Span};
use layout::oracle::{LANE_ACKNOWLEDGED, LANE_ACTIVE};
use layout::{GlobalPtr, Key, SlotId, VersionWord};
use std::collections::VecDeque;
use std::sync::Arc;

/// The owned part of a lane: what a commit that nobody waits for any more still needs.
pub(crate) struct LaneInner<E: Env> {
    pub env: E,
    pub shared: Arc<Shared<E>>,
    pub slot: SlotId,
    /// Which of the lanes beside a shared slot this is.
    pub number: u32,
    /// Where numbers come from, if not from `counter` alone.
    pub shared_slot: Option<Arc<SharedSlot>>,
    /// The last number used, committed or not.
    pub counter: u64,
    /// The last number whose commit was published.
    pub committed: VersionWord,
    /// The last number used, if it is not over: only where numbers are shared.
    pub drawn: Option<VersionWord>,
    /// The lane's announcement stands: horizons and catalog changes wait for it.
    pub is_announced: bool,
    /// A commit's outcome is unknown: the lane takes no more transactions.
    pub is_lost: bool,
    /// A transaction has begun and not committed; if the next one begins so, the last one failed.
    pub is_unfinished: bool,
    /// The last transaction failed, perhaps for its snapshot's age: a frozen vector has to be newer.
    pub wants_newer: bool,
    pub catalog: Arc<Catalog>,
    /// By position in the catalog. A table that the lane has not opened costs a word: lanes of large clusters open few
    /// of many.
    pub tables: Vec<Option<Box<LaneTable>>>,
    pub indexes: Vec<Option<Box<LaneIndex>>>,
    pub snapshot: Snapshot,
    pub horizon: Horizon,
    pub retired: VecDeque<Retired>,
    /// Version buffers that wait for a horizon.
    pub displaced: VecDeque<DisplacedBuffer>,
    pub statistics: LaneStatistics,
    /// Why the transaction cannot go on, if it cannot: see [`Self::begin_statement`].
    over: Option<Abort>,
    /// The transaction's batch; away while it executes.
    pub batch: Option<Batch>,
    pub accesses: Vec<Access>,
    pub map: AccessMap,
    /// Accesses that are written, in order.
    pub written: Vec<u32>,
    /// Values out of line that the transaction has set.
    pub stage: layout::LongStage,
    /// Where the commit stores them.
    pub placed: Vec<crate::commit::PlacedValue>,
    pub buckets_seen: Vec<BucketSeen>,
    pub bucket_inserts: Vec<BucketInsert>,
    pub insert_blocks: Vec<InsertBlock>,
    pub leaf_inserts: Vec<LeafInsert>,
    pub entry_inserts: Vec<EntryInsert>,
    /// One entry for each chain that became longer: whose it is wants one more bucket.
    pub wants_growth: Vec<Owner>,
    /// Whether upkeep follows the commit that runs.
    pub is_upkeep_due: bool,
    pub leaves_seen: Vec<LeafSeen>,
    /// Words that must not change before a serializable commit, with what they held.
    pub witnesses: Vec<(GlobalPtr, u64)>,
    /// Leaves whose entries must not change before a serializable commit.
    pub leaf_witnesses: Vec<LeafWitness>,
    /// Rows read one by one; a single one needs no validation.
    pub read_count: u32,
    /// Tells the row ids of one transaction from those of others.
    pub transaction: u32,
    pub serializable: bool,
    /// The index whose entries the transaction adds for rows that it does not change.
    pub filling: Option<u32>,
    /// What the last unique violation was about; later transactions leave it.
    pub last_unique_violation: Option<Box<UniqueViolation>>,
    pub scratch: Scratch,
}

/// Lists that protocol steps fill and empty, kept so that they need no memory of their own each time.
#[derive(Default)]
pub(crate) struct Scratch {
    pub pending: Vec<crate::read::Pending>,
    pub spans: Vec<Span>,
    pub inserting: Vec<u32>,
    /// Collected-up-to words that are being raised, with what they may hold.
    pub raising: Vec<(GlobalPtr, u64)>,
    pub looking: crate::scan::Looking,
    pub locks: crate::commit::Locks,
    /// Accesses that are written, not deleted, and of a table with indexes.
    pub indexed: Vec<u32>,
    pub entries: Vec<crate::secondary::Entry>,
    /// Indexed columns of those that are unique, by index.
    pub unique_keys: Vec<(u32, Key)>,
    pub leaf_entries: Vec<index::tree::LeafEntry>,
    pub cursors: Vec<crate::cursor::Cursor>,
    pub round: crate::cursor::Round,
    /// For upkeep, whose verbs are not the transaction's.
    pub batch: Option<Batch>,
    /// Leaves that are locked though nothing goes into them.
    pub bare_leaves: Vec<u32>,
}

impl<E: Env> LaneInner<E> {
    pub(crate) fn new(env: E, shared: Arc<Shared<E>>, place: LanePlace) -> Self {
        let LanePlace { slot, number, counter, shared_slot } = place;
        // Lanes begin far apart, so that they do not take each other's row ids for their own.
        let transaction = ((u32::from(slot.0) << 16) | number).wrapping_mul(0x9e37_79b9);
        Self {
            env,
            shared,
            slot,
            number,
            shared_slot,
            counter,
            committed: VersionWord::new(slot, counter),
            drawn: None,
            is_announced: false,
            is_lost: false,
            is_unfinished: false,
            wants_newer: false,
            catalog: Arc::default(),
            tables: Vec::new(),
            indexes: Vec::new(),
            snapshot: Snapshot::default(),
            horizon: Horizon::default(),
            retired: VecDeque::new(),
            displaced: VecDeque::new(),
            statistics: LaneStatistics::default(),
            over: None,
            batch: Some(Batch::new()),
            accesses: Vec::with_capacity(256),
            map: AccessMap::default(),
            written: Vec::with_capacity(64),
            stage: layout::LongStage::default(),
            placed: Vec::new(),
            buckets_seen: Vec::new(),
            bucket_inserts: Vec::new(),
            insert_blocks: Vec::new(),
            leaf_inserts: Vec::new(),
            entry_inserts: Vec::new(),
            wants_growth: Vec::new(),
            is_upkeep_due: false,
            leaves_seen: Vec::new(),
            witnesses: Vec::new(),
            leaf_witnesses: Vec::new(),
            read_count: 0,
            transaction,
            serializable: false,
            filling: None,
            last_unique_violation: None,
            scratch: Scratch::default(),
        }
    }

    /// Withdraws the announcement, if it stands.
    pub(crate) async fn rest(&mut self) -> Result<(), Abort> {
        if !self.is_announced {
            return Ok(());
        }
        let shared_slot = self.shared_slot.clone();
        let is_fetched = || self.shared.fetched.is_running();
        let rested = shared_slot.as_deref().map(|slot| slot.rest(self.number, is_fetched));
        let (word, value) = match rested {
            Some(Ok(None)) => {
                self.is_announced = false;
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
        self.is_announced = false;
        Ok(())
    }

    /// Forgets the last transaction, takes a snapshot, and takes note of catalog changes.
    #[inline]
    pub(super) async fn begin(&mut self) -> Result<(), Abort> {
        if self.is_lost || self.shared_slot.as_ref().is_some_and(|slot| slot.is_lost()) {
            return Err(Abort::Unreachable);
        }
        let drawn = |slot: &Arc<SharedSlot>| slot.has_drawn(COUNTER_LIMIT);
        let is_used_up =
            self.counter >= COUNTER_LIMIT || self.shared_slot.as_ref().is_some_and(drawn);
        if is_used_up && !self.env.mutant(Mutant::LanePassLastNumber) {
            self.take_new_slot().await?;
        }
        self.wants_newer = self.is_unfinished;
        self.is_unfinished = true;
        self.reset();
        self.is_announced = true;
        self.take_snapshot().await
    }

    #[inline]
    pub(crate) fn reset(&mut self) {
        self.over = None;
        self.batch().reset();
        self.accesses.clear();
        self.map.clear();
        self.written.clear();
        if !self.stage.is_empty() {
            self.stage.clear();
            self.placed.clear();
        }
        self.buckets_seen.clear();
        self.bucket_inserts.clear();
        self.insert_blocks.clear();
        self.leaf_inserts.clear();
        self.entry_inserts.clear();
        self.wants_growth.clear();
        self.leaves_seen.clear();
        self.witnesses.clear();
        self.leaf_witnesses.clear();
        self.read_count = 0;
        self.transaction = self.transaction.wrapping_add(1);
        self.filling = None;
    }

    /// Why the transaction is over before its commit, if it is.
    #[inline(always)]
    pub fn over(&self) -> Option<Abort> {
        self.over
    }

    /// A statement begins.
    ///
    /// # Errors
    /// If one before has ended with an abort, or nobody has waited for its end: what it had learned by then may be half of
    /// what its answer would have said, and its verbs may have taken along what the transaction had read.
    #[inline(always)]
    pub fn begin_statement(&mut self) -> Result<&mut Self, Abort> {
        if let Some(abort) = self.over {
            return Err(abort);
        }
        if !E::IMMEDIATE {
            // Unless it comes to its end.
            self.over = Some(Abort::Unreachable);
        }
        Ok(self)
    }

    /// The statement that began last has ended.
    #[inline(always)]
    pub fn end_statement<T>(&mut self, ended: Result<T, TxnError>) -> Result<T, TxnError> {
        match &ended {
            // Where nothing waits, none is left at its half.
            Ok(_) if E::IMMEDIATE => {}
            Ok(_) => self.over = None,
            Err(error) => self.fail_statement(error),
        }
        ended
    }

    #[cold]
    fn fail_statement(&mut self, error: &TxnError) {
        self.over = error.abort();
        if self.over.is_none() {
            // Only the statement has failed. It may have noted rows that it did not come to look for.
            self.accesses.iter_mut().for_each(Access::forget_if_unsettled);
        }
    }

    /// The transaction's batch.
    #[inline]
    pub fn batch(&mut self) -> &mut Batch {
        self.batch.get_or_insert_with(Batch::new)
    }

    /// Posts the batch and waits: one round trip. If it fails, the arena is gone with it.
    ///
    /// Where verbs are carried out at once they are so here, so that the future is no more than their result.
    #[inline(always)]
    pub fn execute(&mut self) -> impl Future<Output = Result<(), fabric::FabricError>> + '_ {
        let done = match E::IMMEDIATE {
            true => self.env.execute_now(self.batch.get_or_insert_with(Batch::new)),
            false => Ok(()),
        };
        async move {
            if E::IMMEDIATE {
                return done;
            }
            let batch = self.batch.take().unwrap_or_default();
            self.batch = Some(self.env.execute(batch).await?);
            Ok(())
        }
    }

    /// As [`Self::execute`] where verbs are carried out at once; none, and nothing done, everywhere else. For steps that most
    /// transactions go through: a future, however ready it is, has to be made, asked and dropped.
    #[inline(always)]
    pub fn execute_at_once(&mut self) -> Option<Result<(), fabric::FabricError>> {
        E::IMMEDIATE.then(|| self.env.execute_now(self.batch.get_or_insert_with(Batch::new)))
    }

    /// One of the words beside the vector that the owner of the slot announces by.
    #[inline]
    pub fn lane_word(&self, word: u32) -> GlobalPtr {
        let lane = self.shared.oracle_layout.lane(self.shared.oracle, self.slot);
        lane.add_words(u64::from(word))
    }
}

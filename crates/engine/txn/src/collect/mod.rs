//! Garbage collection [ZB17 §5.3], done by the lanes that made the garbage, a little after each
//! commit.
//!
//! What a commit has superseded (version buffers, tombstones, index entries) waits in the lane's
//! list until a *horizon* covers the successor: a snapshot that every transaction now running
//! covers too, or that is older than the maximal transaction time E. We deviate from the paper,
//! which waits for E always: lanes announce a stamp when they begin, so that a busy system keeps
//! milliseconds of garbage, not E of it. E remains the bound: a lane that announces an older stamp
//! for longer is not waited for.
//!
//! Safety does not rest on announcements. Before anything is collected, the collected-up-to word of
//! every region is raised to the horizon's stamp; a reader that misses something and has a smaller
//! stamp learns that its snapshot is too old.
//!
//! To read it: [`retired`] (what is listed), [`horizon`] (when it may go), and here the rounds;
//! then [`crate::collect::removal`] and [`crate::collect::sweep`] for entries,
//! [`crate::collect::displaced`] for version buffers.
//!
//! Decisions:
//! - docs/decisions/0024-lanes-collect-their-own-garbage.md
//! - docs/decisions/0060-collection-also-looks-at-the-rows-lock.md

pub(crate) mod displaced;
pub(crate) mod removal;
pub(crate) mod sweep;

mod horizon;
mod retired;

pub use horizon::Horizon;
pub(crate) use horizon::{Raise, SharedHorizon};
pub(crate) use retired::{Garbage, GarbageQueue, Retired};

use crate::abort::Abort;
use crate::catalog::{IndexId, Primary, Secondary};
use crate::collect::removal::Removal;
use crate::collect::sweep::{SWEPT_MAX, Tombstone};
use crate::lane::{LaneInner, LeavesOf};
use crate::write::Owner;
use fabric::{Env, FabricError, Mutant};
use index::IndexError;
use index::hash::Growth;
use layout::oracle::LANE_WORKING;
use layout::{GlobalPtr, Key, VersionWord};

/// Commits between two rounds of collection.
const COMMITS_PER_ROUND: u64 = 16;
/// Version buffers waiting from which on every commit makes a round: large transactions leave more
/// than the usual rounds can take.
const BACKLOG_MAX: usize = 4096;
/// Most pieces of garbage looked at in one round.
const GARBAGE_PER_ROUND: usize = 512;
/// Most buckets split after one commit.
const SPLITS_PER_COMMIT: usize = 1024;

impl<E: Env> LaneInner<E> {
    /// Upkeep after a commit: bucket splits that are due, and every few commits a round of
    /// collection.
    #[inline]
    pub(crate) async fn split_and_collect(&mut self) {
        if self.writes.is_upkeep_due {
            self.split_and_collect_now().await;
        }
    }

    /// Decides whether the commit that is about to end has upkeep after it.
    #[inline]
    pub(crate) fn decide_upkeep(&mut self) -> bool {
        let is_time = self.statistics.commits.is_multiple_of(COMMITS_PER_ROUND);
        self.writes.is_upkeep_due = is_time
            || !self.writes.wants_growth.is_empty()
            || self.garbage.displaced.len() > BACKLOG_MAX
            || self.statistics.commits < self.garbage.short_until;
        self.writes.is_upkeep_due
    }

    async fn split_and_collect_now(&mut self) {
        let before = self.env.counters().counts();
        self.writes.wants_growth.truncate(SPLITS_PER_COMMIT);
        while let Some(owner) = self.writes.wants_growth.pop() {
            // A table that cannot grow now asks again with its next overflow block.
            let _ = self.grow(owner).await;
        }
        if !self.garbage.is_empty() {
            // Collection that fails is tried again with the next round; nothing is lost by waiting.
            let _ = self.collect_round().await;
        } else if self.identity.shared_slot.is_some() {
            // Rows that keep their old versions need a horizon, too: one that fails is tried again.
            let _ = self.advance_horizon().await;
        }
        // If it cannot be said that the upkeep is over, changes of the catalog wait for it no
        // longer than E.
        let _ = self.end_upkeep().await;
        let cost = self.env.counters().counts() - before;
        self.statistics.upkeep_round_trips += cost.round_trips;
        self.statistics.upkeep_verbs += cost.verbs;
        self.statistics.upkeep_bytes += cost.bytes;
        self.statistics.upkeep_calls += cost.calls;
        self.statistics.upkeep_messages += cost.messages;
    }

    /// Changes of the catalog need not wait for this lane any more.
    async fn end_upkeep(&mut self) -> Result<(), FabricError> {
        if self.identity.shared_slot.is_some() {
            // It stayed announced.
            self.identity.finish_number();
            return Ok(());
        }
        let working = self.lane_word(LANE_WORKING);
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.reset();
        batch.write_word(working, 0);
        self.scratch.batch = Some(self.env.execute(batch).await?);
        Ok(())
    }

    async fn grow(&mut self, owner: Owner) -> Result<(), Abort> {
        let timestamp = self.identity.upkeep_timestamp();
        let hash = self.open.hash_table(owner).clone();
        let placed = match owner {
            Owner::Table(table) => self.open.info(table).placed(),
            Owner::Index(index) => self.open.index_info(index).placed(),
        };
        let (label, nodes) = (placed.label, self.shared.nodes(placed));
        let pool = self.open.blocks_of(owner).expect("a table is opened when it is first named");
        // What the snapshot covers was installed before it was taken, and what this lane has
        // committed, too.
        let snapshot = self.snapshot.clone();
        let own = self.identity.shared_slot.is_none().then_some(self.identity.slot);
        let is_installed =
            |version: VersionWord| snapshot.covers(version) || Some(version.slot()) == own;
        let grown =
            index::hash::grow(&self.env, &hash, pool, &nodes, label, timestamp, &is_installed);
        let grown = grown.await;
        match grown {
            Ok(Growth::Grown) => self.statistics.buckets_split += 1,
            Ok(_) => {}
            Err(IndexError::OutOfMemory(_)) => return Err(Abort::OutOfMemory),
            Err(IndexError::Damaged(_)) => return Err(Abort::Damaged),
            Err(IndexError::Conflict | IndexError::Contended) => return Err(Abort::Contended),
            Err(_) => return self.poison_upkeep(),
        }
        Ok(())
    }

    /// Collects until nothing more can be collected.
    pub(crate) async fn collect_all(&mut self) -> Result<(), Abort> {
        self.reset();
        self.identity.is_announced = true;
        self.take_snapshot().await?;
        self.advance_horizon().await?;
        loop {
            let before = self.garbage.len();
            if before == 0 {
                break;
            }
            self.collect_round().await?;
            if self.garbage.len() >= before {
                break;
            }
        }
        self.identity.finish_number();
        self.rest().await
    }

    /// One round: a newer horizon, then the garbage that it covers, oldest first.
    async fn collect_round(&mut self) -> Result<(), Abort> {
        self.advance_horizon().await?;
        // Buffers go first: a tombstone's row is freed only without one.
        match self.detach_buffers().await {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(_) => return self.poison_upkeep(),
        }
        let mut result = Ok(());
        let early = self.env.mutant(Mutant::CollectGarbageBeforeHorizon);
        let mut swept = Vec::new();
        // What is in use now is looked at again in another round, not in this one.
        for _ in 0..self.garbage.retired.len().min(GARBAGE_PER_ROUND) {
            if swept.len() == SWEPT_MAX && result.is_ok() {
                result = self.sweep_tombstones(&std::mem::take(&mut swept)).await;
            }
            let Some(&retired) = self.garbage.retired.front() else { break };
            if !(early || self.garbage.horizon.covers(retired.successor)) || result.is_err() {
                break;
            }
            self.garbage.retired.pop_front();
            match retired.what {
                Garbage::Leaf(owner, leaf) => self.free_leaf(owner, leaf),
                Garbage::Value(value) => {
                    self.free_value(retired.table, value);
                    self.statistics.values_collected += 1;
                }
                // Where verbs take effect at once there is nothing to wait for together.
                Garbage::Tombstone(key) if !E::IMMEDIATE && self.open.is_tree(retired.table) => {
                    swept.push(Tombstone { retired, key });
                }
                Garbage::Tombstone(key) => {
                    result = self.collect_tombstone(&retired, &key).await;
                }
                Garbage::Entry(index, _) if !self.open.is_index_open(index) => {}
                Garbage::Entry(index, key) => {
                    result = self.collect_entry(&retired, index, &key).await;
                }
            }
        }
        if result.is_ok() && !swept.is_empty() {
            result = self.sweep_tombstones(&swept).await;
        }
        result.or_else(|_: FabricError| self.poison_upkeep())
    }

    /// Collects garbage after a commit that found no memory, so that the next attempt finds some.
    #[cold]
    pub(crate) async fn collect_after_shortage(&mut self) {
        self.note_short_memory();
        // The next round repeats a collection that fails.
        let _ = self.collect_round().await;
        self.identity.finish_number();
    }

    /// What became of locks was lost with a batch: they may be held by a number that must not be
    /// passed, so that the lane takes no transaction any more.
    fn poison_upkeep(&mut self) -> Result<(), Abort> {
        self.identity.poison();
        Err(Abort::Unreachable)
    }

    fn free_leaf(&mut self, owner: Owner, leaf: GlobalPtr) {
        let words = self.open.tree(owner).layout.words();
        if let Some(LeavesOf { pool, .. }) = self.open.leaves_of(owner) {
            pool.free(leaf, words);
        }
    }

    /// Removes a tombstone and its entry: locks bucket or leaf and row, raises the bucket's or
    /// leaf's own collected-up-to word, empties the place. If anything is in use, it waits for
    /// another round.
    pub(crate) async fn collect_tombstone(
        &mut self,
        retired: &Retired,
        key: &Key,
    ) -> Result<(), FabricError> {
        let info = self.open.info(retired.table).clone();
        let removed = match &info.primary {
            Primary::Hash(hash) => {
                let hash = hash.clone();
                self.remove_slot(Owner::Table(retired.table), &hash, key, retired).await?
            }
            Primary::Tree(_) => {
                self.remove_leaf_entry(Owner::Table(retired.table), key, retired).await?
            }
        };
        self.note_removal(removed, retired);
        Ok(())
    }

    pub(crate) fn note_removal(&mut self, removal: Removal, retired: &Retired) {
        match removal {
            Removal::Done => self.statistics.entries_collected += 1,
            Removal::Busy => self.garbage.retired.push_back(*retired),
            Removal::Gone => {}
        }
    }

    /// Removes an index entry, unless the newest version of its row has it again.
    async fn collect_entry(
        &mut self,
        retired: &Retired,
        index: IndexId,
        key: &Key,
    ) -> Result<(), FabricError> {
        let info = self.open.index_info(index).clone();
        let removal = match &info.storage {
            Secondary::Tree(_) => self.remove_leaf_entry(Owner::Index(index), key, retired).await?,
            Secondary::Hash(hash) => {
                let hash = hash.clone();
                self.remove_slot(Owner::Index(index), &hash, key, retired).await?
            }
        };
        self.note_removal(removal, retired);
        Ok(())
    }
}

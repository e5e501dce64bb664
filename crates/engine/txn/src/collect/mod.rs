//! Garbage collection [ZB17 §5.3]: each lane collects the garbage of its own commits, a little
//! after each commit.
//!
//! The garbage of a commit (version buffers, tombstones, index entries) waits in the lane's queue
//! until a *horizon* covers its successor: a snapshot that every running transaction covers too, or
//! that is older than the maximal transaction time E. We deviate from the paper, which always waits
//! for E: lanes announce a stamp when they begin, so that a busy system keeps milliseconds of
//! garbage instead of E of it. E remains the bound: collection does not wait longer for a lane that
//! announces an older stamp.
//!
//! Safety does not depend on announcements. Before anything is collected, the collected-up-to word
//! of every region is raised to the horizon's stamp; a reader that misses a version and has a
//! smaller stamp aborts because its snapshot is too old.
//!
//! Read [`retired`] (the queue) first, then [`horizon`] (when garbage is collectable), and the
//! rounds here; then [`crate::collect::removal`] and [`crate::collect::sweep`] for entries,
//! [`crate::collect::displaced`] for version buffers, [`rowless`] for entries that outlive their
//! row.
//!
//! Decisions:
//! - docs/decisions/0024-lanes-collect-their-own-garbage.md
//! - docs/decisions/0060-collection-also-looks-at-the-rows-lock.md

pub(crate) mod displaced;
pub(crate) mod removal;
pub(crate) mod sweep;

mod horizon;
mod retired;
mod rowless;

pub use horizon::Horizon;
pub(crate) use horizon::{Raise, SharedHorizon};
pub(crate) use retired::{Garbage, GarbageQueue, Retired};
pub(crate) use rowless::Doubt;

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

/// Number of commits that write from one round of collection to the next.
const COMMITS_PER_ROUND: u64 = 16;
/// With more waiting version buffers, every commit runs a round: large transactions leave more
/// garbage than the usual rounds collect.
const BACKLOG_MAX: usize = 4096;
/// Maximal number of pieces of garbage processed in one round.
const GARBAGE_PER_ROUND: usize = 512;
/// Maximal number of buckets split after one commit: one for 64 rows that it may insert.
const SPLITS_PER_COMMIT: usize = 65_536;

impl<E: Env> LaneInner<E> {
    /// Upkeep after a commit: due bucket splits, and every few commits a round of collection.
    #[inline]
    ///
    /// Called once the commit is published: one whose outcome is unknown leaves the round to the
    /// next.
    pub(crate) async fn split_and_collect(&mut self) {
        let to_round = self.garbage.commits_to_round;
        self.garbage.commits_to_round = to_round.checked_sub(1).unwrap_or(COMMITS_PER_ROUND - 1);
        if self.writes.is_upkeep_due {
            let ended =
                self.insist(async |lane: &mut Self| lane.split_and_collect_now().await).await;
            if ended.is_err() && self.identity.is_poisoned && !self.is_upkeep_undone {
                // Upkeep that was given up posts nothing more. Its entry in the journal must stay
                // the newest, so nothing is written to the journal here.
                let _ = self.end_upkeep().await;
            }
        }
    }

    /// Decides whether upkeep follows the commit that is about to end.
    #[inline]
    pub(crate) fn decide_upkeep(&mut self) -> bool {
        self.writes.is_upkeep_due = self.garbage.commits_to_round == 0
            || !self.writes.wants_growth.is_empty()
            || self.garbage.displaced.len() > BACKLOG_MAX
            || self.statistics.commits < self.garbage.short_until;
        self.writes.is_upkeep_due
    }

    /// The result is that of the announcement that upkeep has ended.
    async fn split_and_collect_now(&mut self) -> Result<(), FabricError> {
        let before = self.env.counters().counts();
        self.writes.wants_growth.truncate(SPLITS_PER_COMMIT);
        while let Some(owner) = self.writes.wants_growth.pop() {
            // If a table cannot grow now, its next overflow block triggers another attempt.
            let _ = self.grow(owner).await;
        }
        if !self.garbage.is_empty() {
            // The next round repeats a failed collection; waiting loses nothing.
            let _ = self.collect_round().await;
        } else if self.identity.shared_slot.is_some() {
            // Tables whose rows keep their version buffers need a horizon too. The next upkeep
            // repeats a failed advance.
            let _ = self.advance_horizon().await;
        }
        // If the end of upkeep cannot be announced, catalog changes wait for it at most for E.
        let ended = self.end_upkeep().await;
        let cost = self.env.counters().counts() - before;
        self.statistics.upkeep_round_trips += cost.round_trips;
        self.statistics.upkeep_verbs += cost.verbs;
        self.statistics.upkeep_bytes += cost.bytes;
        self.statistics.upkeep_calls += cost.calls;
        self.statistics.upkeep_messages += cost.messages;
        ended
    }

    /// Announces the end of upkeep: catalog changes need not wait for this lane any more.
    async fn end_upkeep(&mut self) -> Result<(), FabricError> {
        if self.identity.shared_slot.is_some() {
            // A lane that shares its slot stays announced.
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
        // Where no batch is lost and no process dies alone, an unlocked row is installed. Elsewhere
        // others may write it again where it was, until the vector covers it.
        let is_whole = !self.sets_installs_aside();
        let pool = self.open.blocks_of(owner).expect("a table is opened when it is first named");
        // Everything that the snapshot covers was completely installed before the snapshot, and so
        // was everything that this lane has committed.
        let snapshot = self.snapshot.clone();
        let own = self.identity.shared_slot.is_none().then_some(self.identity.slot);
        let is_installed = |version: VersionWord| {
            is_whole || snapshot.covers(version) || Some(version.slot()) == own
        };
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

    /// Collects until no more garbage is collectable.
    pub(crate) async fn collect_all(&mut self) -> Result<(), Abort> {
        self.insist(async |lane: &mut Self| lane.collect_rounds().await).await
    }

    async fn collect_rounds(&mut self) -> Result<(), Abort> {
        // A number with an unknown outcome must be decided first.
        if self.identity.is_unusable() && !self.identity.revive() {
            return Err(Abort::Unreachable);
        }
        self.reset();
        self.identity.is_announced = true;
        self.publish_upkeep().await?;
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
        // Buffers first: a tombstone with a buffer takes more steps.
        match self.detach_buffers().await {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(_) => return self.poison_upkeep(),
        }
        let mut result = Ok(());
        let early = self.env.mutant(Mutant::CollectGarbageBeforeHorizon);
        let mut swept = Vec::new();
        // Garbage in use goes to the end of the queue, so bound the loop: this round must not
        // process it again.
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
                // Where verbs complete at once, a common round trip saves nothing.
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
        let _ = self.insist(async |lane: &mut Self| lane.collect_round().await).await;
        self.identity.finish_number();
    }

    /// Poisons the lane because the results of lock verbs were lost with a batch: locks may be held
    /// with a number that no commit may publish past. Upkeep that was undone holds none.
    fn poison_upkeep(&mut self) -> Result<(), Abort> {
        if !self.env.is_undone() {
            self.identity.poison();
        }
        Err(Abort::Unreachable)
    }

    fn free_leaf(&mut self, owner: Owner, leaf: GlobalPtr) {
        let words = self.open.tree(owner).layout.words();
        if let Some(LeavesOf { pool, .. }) = self.open.leaves_of(owner) {
            pool.free(&self.env, leaf, words);
        }
    }

    /// Removes a tombstone and its entry: locks bucket or leaf and row, raises the collected-up-to
    /// word of the bucket or leaf, and empties the slot or entry. If any of them is locked by
    /// another commit, the tombstone waits for another round.
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
            Removal::Doubted(doubt) => {
                self.garbage.retired.push_back(Retired { doubt: Some(doubt), ..*retired });
            }
            Removal::Gone => {}
        }
    }

    async fn collect_entry(
        &mut self,
        retired: &Retired,
        index: IndexId,
        key: &Key,
    ) -> Result<(), FabricError> {
        let removal = self.remove_entry(retired, index, key).await?;
        self.note_removal(removal, retired);
        Ok(())
    }

    /// Removes an index entry, unless the newest version of its row has its key again.
    async fn remove_entry(
        &mut self,
        retired: &Retired,
        index: IndexId,
        key: &Key,
    ) -> Result<Removal, FabricError> {
        let info = self.open.index_info(index).clone();
        match &info.storage {
            Secondary::Tree(_) => self.remove_leaf_entry(Owner::Index(index), key, retired).await,
            Secondary::Hash(hash) => {
                let hash = hash.clone();
                self.remove_slot(Owner::Index(index), &hash, key, retired).await
            }
        }
    }
}

//! Garbage collection [ZB17 §5.3], done by the lanes that made the garbage, a little after each commit.
//!
//! What a commit has superseded (version buffers, tombstones, index entries) waits in the lane's list until
//! a *horizon* covers the successor: a snapshot that every transaction now running covers too, or that is
//! older than the maximal transaction time E. We deviate from the paper, which waits for E always: lanes
//! announce a stamp when they begin, so that a busy system keeps milliseconds of garbage, not E of it. E
//! remains the bound: a lane that announces an older stamp for longer is not waited for.
//!
//! Safety does not rest on announcements. Before anything is collected, the collected-up-to word of every
//! region is raised to the horizon's stamp; a reader that misses something and has a smaller stamp learns
//! that its snapshot is too old.

use crate::abort::Abort;
use crate::access::{Access, State};
use crate::catalog::{Primary, Secondary};
use crate::database::Oracle;
use crate::displaced::DisplacedBuffer;
use crate::lane::{LaneInner, blocks_of, leaves_of};
use crate::removal::Removal;
use crate::shared_slot::SharedSlot;
use crate::snapshot::Snapshot;
use crate::step::CollectStep;
use crate::sweep::SWEPT_MAX;
use crate::write::Owner;
use fabric::{Env, FabricError, Span};
use index::IndexError;
use index::hash::Growth;
use layout::oracle::{CLOCK, LANE_ACTIVE, LANE_WORDS, LANE_WORKING};
use layout::row::KEY;
use layout::{GlobalPtr, Key, OutOfLine, RegionId, VersionWord, region};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// Commits between two rounds of collection.
const COMMITS_PER_ROUND: u64 = 16;
/// Version buffers waiting from which on every commit makes a round: large transactions leave more than the
/// usual rounds can take.
const BACKLOG_MAX: usize = 4096;
/// Most pieces of garbage looked at in one round.
const GARBAGE_PER_ROUND: usize = 512;
/// Most buckets split after one commit.
const SPLITS_PER_COMMIT: usize = 1024;
/// Tries to raise a collected-up-to word.
const RAISE_COUNT_MAX: u32 = 1000;
/// Between two advances of a horizon that lanes share.
const SHARED_HORIZON_INTERVAL_NS: u64 = 200_000;

/// Garbage that waits for a horizon.
#[derive(Clone, Copy, Debug)]
pub struct Retired {
    pub(crate) table: u32,
    pub(crate) row: GlobalPtr,
    /// The version whose visibility makes it garbage.
    pub(crate) successor: VersionWord,
    pub(crate) what: Garbage,
}

impl Retired {
    /// The table it belongs to, by position in the catalog.
    pub(crate) fn table(&self) -> usize {
        self.table as usize
    }

    /// The index that it was part of, if it was part of one.
    pub(crate) fn index(&self) -> Option<u32> {
        match self.what {
            Garbage::Entry(index, _) | Garbage::Leaf(Owner::Index(index), _) => Some(index),
            _ => None,
        }
    }

    /// A value out of line that `successor` of its row does not have any more.
    pub(crate) fn value(access: &Access, successor: VersionWord, value: OutOfLine) -> Self {
        Self { table: access.table, row: access.row, successor, what: Garbage::Value(value) }
    }
}

/// What is garbage.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Garbage {
    /// The row itself, which is a tombstone, and its entry.
    Tombstone(Key),
    /// An entry of a secondary index that no version has any more.
    Entry(u32, Key),
    /// A leaf that its neighbour has absorbed.
    Leaf(Owner, u64),
    /// A value out of line that the row does not refer to any more.
    Value(OutOfLine),
}

/// A snapshot that everybody covers, and the next one on its way to be one.
#[derive(Clone, Default)]
pub struct Horizon {
    adopted: Snapshot,
    candidate: Candidate,
}

/// The horizon of lanes that share a slot.
#[derive(Default)]
pub(crate) struct SharedHorizon {
    shareable: Mutex<Shareable>,
    /// The stamp of the snapshot that everybody covers, so that lanes see without the lock whether theirs is older.
    stamp: AtomicU64,
}

#[derive(Default)]
struct Shareable {
    horizon: Horizon,
    is_claimed: bool,
    /// When it may be claimed again.
    due_ns: u64,
}

impl SharedHorizon {
    /// The horizon, to be advanced, if it is time and nobody else is at it.
    fn claim(&self, now_ns: u64) -> Option<Horizon> {
        let mut shareable = self.shareable();
        if shareable.is_claimed || now_ns < shareable.due_ns {
            return None;
        }
        shareable.is_claimed = true;
        Some(shareable.horizon.clone())
    }

    fn give_back(&self, horizon: &Horizon, now_ns: u64) {
        let mut shareable = self.shareable();
        shareable.horizon.clone_from(horizon);
        self.stamp.store(horizon.adopted.stamp, Relaxed);
        (shareable.is_claimed, shareable.due_ns) = (false, now_ns + SHARED_HORIZON_INTERVAL_NS);
    }

    /// The snapshot that everybody covers.
    fn adopted(&self) -> Snapshot {
        self.shareable().horizon.adopted.clone()
    }

    fn shareable(&self) -> MutexGuard<'_, Shareable> {
        self.shareable.lock().expect("no holder panics")
    }
}

#[derive(Clone, Default)]
struct Candidate {
    is_set: bool,
    snapshot: Snapshot,
    since_ns: u64,
}

impl Horizon {
    /// Whether every transaction sees `version` or something newer.
    #[inline]
    pub fn covers(&self, version: VersionWord) -> bool {
        self.adopted.covers(version)
    }

    /// The horizon's counters.
    pub fn counters(&self) -> &[u64] {
        self.adopted.counters()
    }

    /// The stamp that collected-up-to words have been raised to.
    pub fn stamp(&self) -> u64 {
        self.adopted.stamp
    }
}

impl<E: Env> LaneInner<E> {
    /// Lists what the commit has superseded.
    #[inline]
    pub(crate) fn retire_write_set(&mut self, timestamp: VersionWord) {
        for index in 0..self.written.len() {
            let entry = self.accesses[self.written[index] as usize];
            let is_deleted = entry.state == State::Deleted;
            let successor = if is_deleted { timestamp.deleted() } else { timestamp };
            let (table, row) = (entry.table, entry.row);
            let keeps = self.info(table).design.keeps_versions && !is_deleted;
            if !(entry.buffer.is_null() || keeps) {
                let (version, buffer) = (successor, entry.buffer);
                self.displaced.push_back(DisplacedBuffer { row, version, buffer, table });
            }
            if is_deleted || self.info(table).has_attachments {
                self.retire_more(&entry, successor);
            }
        }
    }

    /// Lists what there is beside a version buffer.
    fn retire_more(&mut self, entry: &Access, successor: VersionWord) {
        let (table, row) = (entry.table, entry.row);
        if !self.info(table).indexes.is_empty() {
            self.retire_entries(entry, successor);
        }
        if self.info(table).has_long_columns {
            self.retire_values(entry, successor);
        }
        if entry.state == State::Deleted {
            // Not from where the key was found: that may be a leaf's image, whose entries have moved since.
            let key = Span { at: entry.current().at + KEY, words: self.info(table).row.key_words };
            let key = Key::from_words(self.batch().words(key));
            let what = Garbage::Tombstone(key);
            self.retired.push_back(Retired { table, row, successor, what });
        }
    }

    /// Lists the index entries that the newest version does not have any more.
    fn retire_entries(&mut self, entry: &Access, successor: VersionWord) {
        let old_span = match (entry.state, entry.is_new()) {
            (State::Deleted, true) => entry.fresh,
            (State::Inserted, _) | (_, true) => return,
            _ => entry.image,
        };
        for position in 0..self.info(entry.table).indexes.len() {
            let index = self.info(entry.table).indexes[position];
            if entry.state == State::Updated && self.keeps_key(index, entry) {
                continue;
            }
            let index_info = self.index_info(index).clone();
            let old = self.entry_key(&index_info, old_span);
            if entry.state == State::Updated && self.entry_key(&index_info, entry.fresh) == old {
                continue;
            }
            let (table, row, what) = (entry.table, entry.row, Garbage::Entry(index, old));
            self.retired.push_back(Retired { table, row, successor, what });
        }
    }

    /// Upkeep after a commit: growth that was asked for, and a round of collection now and then.
    #[inline]
    pub(crate) async fn keep_up(&mut self) {
        if self.is_upkeep_due {
            self.keep_up_now().await;
        }
    }

    /// Decides whether the commit that is about to end has upkeep after it.
    #[inline]
    pub(crate) fn decide_upkeep(&mut self) -> bool {
        let is_time = self.statistics.commits.is_multiple_of(COMMITS_PER_ROUND);
        self.is_upkeep_due =
            is_time || !self.wants_growth.is_empty() || self.displaced.len() > BACKLOG_MAX;
        self.is_upkeep_due
    }

    async fn keep_up_now(&mut self) {
        let before = self.env.counters().counts();
        self.wants_growth.truncate(SPLITS_PER_COMMIT);
        while let Some(owner) = self.wants_growth.pop() {
            // A table that cannot grow now asks again with its next overflow block.
            let _ = self.grow(owner).await;
        }
        if !self.retired.is_empty() || !self.displaced.is_empty() {
            // Collection that fails is tried again with the next round; nothing is lost by waiting.
            let _ = self.collect_round().await;
        } else if self.shared_slot.is_some() {
            // Rows that keep their old versions need a horizon, too: one that fails is tried again.
            let _ = self.advance_horizon().await;
        }
        // If it cannot be said that the upkeep is over, changes of the catalog wait for it no longer than E.
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
        if self.shared_slot.is_some() {
            // It stayed announced.
            self.end_number();
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
        let timestamp = self.upkeep_timestamp();
        let hash = self.hash_table(owner).clone();
        let placed = match owner {
            Owner::Table(table) => self.info(table).placed(),
            Owner::Index(index) => self.index_info(index).placed(),
        };
        let (label, nodes) = (placed.label, self.shared.nodes(placed));
        let pool = blocks_of(&mut self.tables, &mut self.indexes, owner).expect("it is open");
        // What the snapshot covers was installed before it was taken, and what this lane has committed, too.
        let snapshot = self.snapshot.clone();
        let own = self.shared_slot.is_none().then_some(self.slot);
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
            Err(_) => return self.lose_upkeep(),
        }
        Ok(())
    }

    /// Collects until nothing more can be collected.
    pub(crate) async fn collect_all(&mut self) -> Result<(), Abort> {
        self.reset();
        self.is_announced = true;
        self.take_snapshot().await?;
        self.advance_horizon().await?;
        loop {
            let before = self.retired.len() + self.displaced.len();
            if before == 0 {
                break;
            }
            self.collect_round().await?;
            if self.retired.len() + self.displaced.len() >= before {
                break;
            }
        }
        self.end_number();
        self.rest().await
    }

    /// One round: a newer horizon, then the garbage that it covers, oldest first.
    async fn collect_round(&mut self) -> Result<(), Abort> {
        self.advance_horizon().await?;
        // Buffers go first: a tombstone's row is freed only without one.
        match self.detach_buffers().await {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(_) => return self.lose_upkeep(),
        }
        let mut result = Ok(());
        let early = self.env.mutant("collect::garbage_before_horizon");
        let mut swept = Vec::new();
        // What is in use now is looked at again in another round, not in this one.
        for _ in 0..self.retired.len().min(GARBAGE_PER_ROUND) {
            if swept.len() == SWEPT_MAX && result.is_ok() {
                result = self.sweep_tombstones(&std::mem::take(&mut swept)).await;
            }
            let Some(&retired) = self.retired.front() else { break };
            if !(early || self.horizon.covers(retired.successor)) || result.is_err() {
                break;
            }
            self.retired.pop_front();
            match retired.what {
                Garbage::Leaf(owner, leaf) => self.free_leaf(owner, GlobalPtr::from_word(leaf)),
                Garbage::Value(value) => {
                    self.free_value(retired.table, value);
                    self.statistics.values_collected += 1;
                }
                // Where verbs take effect at once there is nothing to wait for together.
                Garbage::Tombstone(key) if !E::IMMEDIATE && self.is_tree(retired.table) => {
                    swept.push((retired, key));
                }
                Garbage::Tombstone(key) => {
                    result = self.collect_tombstone(&retired, &key).await;
                }
                Garbage::Entry(index, _) if !self.is_index_open(index) => {}
                Garbage::Entry(index, key) => {
                    result = self.collect_entry(&retired, index, &key).await;
                }
            }
        }
        if result.is_ok() && !swept.is_empty() {
            result = self.sweep_tombstones(&swept).await;
        }
        result.or_else(|_: FabricError| self.lose_upkeep())
    }

    fn is_tree(&self, table: u32) -> bool {
        matches!(self.info(table).primary, Primary::Tree(_))
    }

    /// What became of locks was lost with a batch: they may be held by a number that must not be passed, so
    /// that the lane takes no transaction any more.
    fn lose_upkeep(&mut self) -> Result<(), Abort> {
        self.lose_number();
        Err(Abort::Unreachable)
    }

    /// Whether an index is still there; entries of dropped ones went with it.
    fn is_index_open(&self, index: u32) -> bool {
        let is_known = self.catalog.indexes.get(index as usize).is_some_and(Option::is_some);
        is_known && self.indexes.get(index as usize).is_some_and(Option::is_some)
    }

    /// A newer horizon, if there is one. Lanes that share a slot share it: one of them advances it now and then,
    /// since what it takes to do so grows with the number of lanes.
    pub(crate) async fn advance_horizon(&mut self) -> Result<(), Abort> {
        if self.shared_slot.is_none() {
            return self.advance_own_horizon().await;
        }
        let now_ns = self.env.now_ns();
        let Some(horizon) = self.shared.horizon.claim(now_ns) else {
            self.adopt_shared_horizon();
            return Ok(());
        };
        self.horizon = horizon;
        let advanced = self.advance_own_horizon().await;
        self.shared.horizon.give_back(&self.horizon, self.env.now_ns());
        advanced
    }

    /// Takes the horizon of the compute server, if its lanes have one and it is newer than this lane's.
    #[inline]
    pub(crate) fn adopt_shared_horizon(&mut self) {
        let newest = &self.shared.horizon;
        if newest.stamp.load(Relaxed) > self.horizon.adopted.stamp {
            self.horizon.adopted.clone_from(&newest.adopted());
        }
    }

    /// Adopts the candidate as soon as every other lane is idle, covers it, or has run for longer than E.
    /// The next one is taken at once, so that what the others are waited for is always as new as it can be:
    /// what hot rows supersede fills their version buffers in a few transactions' time.
    async fn advance_own_horizon(&mut self) -> Result<(), Abort> {
        self.take_candidate().await?;
        if self.horizon.candidate.is_set && self.adopt_candidate().await? {
            self.take_candidate().await?;
        }
        Ok(())
    }

    /// Takes the snapshot of the running transaction as the candidate, if there is none and it is a newer one.
    ///
    /// The clock is raised after the candidate's collect: a lane whose stamp is the raised value or more
    /// has read the vector after that, so it covers the candidate.
    async fn take_candidate(&mut self) -> Result<(), Abort> {
        let adopted = &self.horizon.adopted;
        if self.horizon.candidate.is_set
            || !self.snapshot.includes(adopted)
            || self.snapshot.counters() == adopted.counters()
        {
            return Ok(());
        }
        let stamp = self.candidate_stamp().await?;
        let candidate = &mut self.horizon.candidate;
        candidate.snapshot.set(self.snapshot.counters(), stamp);
        candidate.since_ns = self.env.now_ns();
        candidate.is_set = true;
        Ok(())
    }

    /// Whether the candidate could be adopted.
    async fn adopt_candidate(&mut self) -> Result<bool, Abort> {
        let stamp = self.horizon.candidate.snapshot.stamp;
        // A collector that tells has asked and raised for all.
        if let Some(collected) = self.shared.fetched.collected() {
            if collected < stamp {
                return Ok(false);
            }
        } else if !self.raise_for_candidate(stamp).await? {
            return Ok(false);
        }
        let Horizon { adopted, candidate } = &mut self.horizon;
        candidate.is_set = false;
        if self.snapshot.includes(&candidate.snapshot) {
            // What is collected now is superseded by versions that this very snapshot covers.
            self.snapshot.stamp = self.snapshot.stamp.max(stamp);
        }
        adopted.set(candidate.snapshot.counters(), stamp);
        Ok(true)
    }

    /// Raises the collected-up-to words to the candidate's stamp, if everybody is past it.
    async fn raise_for_candidate(&mut self, stamp: u64) -> Result<bool, Abort> {
        if !self.everybody_is_past(stamp).await? {
            return Ok(false);
        }
        if !self.env.mutant("collect::skip_collected_word") {
            if !self.raise_collected(stamp).await.map_err(|_| Abort::Unreachable)? {
                return Ok(false);
            }
            self.env.reach(CollectStep::CollectedRaised).await;
        }
        Ok(true)
    }

    /// A stamp such that a snapshot with this one or a later one covers the candidate. The number of a
    /// frozen vector is one; for a double collect the clock is raised.
    async fn candidate_stamp(&mut self) -> Result<u64, Abort> {
        let keeps = self.env.mutant("collect::clock_unraised");
        if self.shared.config.oracle == Oracle::Frozen || keeps {
            return Ok(self.snapshot.stamp);
        }
        let clock = self.shared.oracle.add_words(u64::from(CLOCK));
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.reset();
        let tick = batch.fetch_and_add(clock, 1);
        let batch = self.env.execute(batch).await.map_err(|_| Abort::Unreachable)?;
        let stamp = batch.found(tick) + 1;
        self.scratch.batch = Some(batch);
        Ok(stamp)
    }

    async fn everybody_is_past(&mut self, stamp: u64) -> Result<bool, Abort> {
        if self.env.mutant("collect::ignore_lanes") {
            return Ok(true);
        }
        let is_own_past = |slot: &SharedSlot| slot.is_past(self.number, stamp);
        let is_home_past = self.shared_slot.as_deref().is_none_or(is_own_past);
        let slots = self.shared.slots_in_use();
        let first = self.shared.oracle_layout.lane(self.shared.oracle, layout::SlotId(0));
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.reset();
        let lanes = batch.read(first, slots * LANE_WORDS);
        let batch = self.env.execute(batch).await.map_err(|_| Abort::Unreachable)?;
        let own = u32::from(self.slot.0);
        let is_past = (0..slots).all(|slot| {
            let active = batch.word(lanes.at + slot * LANE_WORDS + LANE_ACTIVE);
            slot == own || active == 0 || active >= stamp
        });
        self.scratch.batch = Some(batch);
        if is_past && is_home_past {
            return Ok(true);
        }
        let age_ns = self.env.now_ns().saturating_sub(self.horizon.candidate.since_ns);
        Ok(age_ns > self.shared.config.transaction_time_max_ns)
    }

    /// Raises the collected-up-to word of every region to at least `stamp`, all of them together.
    /// Answers whether it did: others may raise one all the time.
    async fn raise_collected(&mut self, stamp: u64) -> Result<bool, FabricError> {
        let expected = self.horizon.adopted.stamp;
        let mut words = std::mem::take(&mut self.scratch.raising);
        words.clear();
        let servers = self.shared.servers.iter();
        words.extend(servers.map(|server| (region::collected(RegionId(server.0)), expected)));
        let result = self.raise_words(&mut words, stamp).await;
        self.scratch.raising = words;
        result
    }

    /// Raises words that may hold what stands beside them.
    async fn raise_words(
        &mut self,
        words: &mut Vec<(GlobalPtr, u64)>,
        stamp: u64,
    ) -> Result<bool, FabricError> {
        for _ in 0..RAISE_COUNT_MAX {
            let mut batch = self.scratch.batch.take().unwrap_or_default();
            batch.reset();
            for &(word, expected) in words.iter() {
                batch.compare_and_swap(word, expected, stamp);
            }
            let batch = self.env.execute(batch).await?;
            // What the swaps have found stands at the beginning of the arena, in their order.
            let mut found = (0..).map(|place| batch.word(place));
            words.retain_mut(|(_, expected)| {
                let found = found.next().expect("it never ends");
                let is_raised = found == *expected || found >= stamp;
                *expected = found;
                !is_raised
            });
            self.scratch.batch = Some(batch);
            if words.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn free_leaf(&mut self, owner: Owner, leaf: GlobalPtr) {
        let words = self.tree(owner).layout.words();
        if let Some((_, pool)) = leaves_of(&mut self.tables, &mut self.indexes, owner) {
            pool.free(leaf, words);
        }
    }

    /// Removes a tombstone and its entry: locks bucket or leaf and row, raises the bucket's or leaf's own
    /// collected-up-to word, empties the place. If anything is in use, it waits for another round.
    pub(crate) async fn collect_tombstone(
        &mut self,
        retired: &Retired,
        key: &Key,
    ) -> Result<(), FabricError> {
        let info = self.info(retired.table).clone();
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
            Removal::Busy => self.retired.push_back(*retired),
            Removal::Gone => {}
        }
    }

    /// Removes an index entry, unless the newest version of its row has it again.
    async fn collect_entry(
        &mut self,
        retired: &Retired,
        index: u32,
        key: &Key,
    ) -> Result<(), FabricError> {
        let info = self.index_info(index).clone();
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

//! The timestamp oracle: taking snapshots and publishing commits [ZB17 §4].
//!
//! *Double collect*: a lane reads the vector until two reads agree; it posts the second read after
//! the first has completed. Counters only rise, so a vector that two reads return did not change in
//! between, and any two such vectors are comparable. We deviate from the paper: the duration of its
//! single read can include another one, which gives a long fork. Where memory servers execute one
//! batch after another, a single read is atomic and the second is left out.
//!
//! *Frozen*: a lane that needs a newer vector takes the try-lock, reads the vector once and writes
//! it, with the next number, to the ring. Only one lane freezes at a time, so frozen vectors are
//! comparable. Every transaction's snapshot is a frozen vector, so a vector that covers a
//! transaction covers everything that this transaction saw. A lane rejects a vector that may be too
//! old ([`crate::snapshot::freshness`]). On clusters whose many compute servers need new vectors
//! all the time, a collector beside the vector freezes them instead.
//!
//! Decisions:
//! - docs/decisions/0021-double-collect-is-the-default-snapshot-frozen-vectors.md
//! - docs/decisions/0022-a-snapshot-is-never-edited.md
//! - docs/decisions/0061-a-snapshot-also-compares-the-number-of-slots.md
//! - docs/decisions/0112-over-messages-one-read-of-the-vector-is-a-snapshot.md

use crate::abort::Abort;
use crate::database::{Oracle, Shared};
use crate::detach::detached;
use crate::lane::LaneInner;
use crate::read::same_words;
use crate::snapshot::freezer::{BEGIN_WAIT_NS, FreezeError, HeldFreezer, Patience, Taken, WAIT_NS};
use crate::step::FreezeStep;
use fabric::{Batch, Env, FabricError, Mutant, Span};
use layout::oracle::{
    CLOCK, EPOCH, FREEZER, LANE_ACKNOWLEDGED, LANE_ACTIVE, NEWEST, SLOT_COUNT, VECTOR,
};
use layout::row::{Cover, checksum};
use layout::{GlobalPtr, OracleLayout, SlotId};
use std::sync::Arc;

/// Maximal number of collects for one snapshot.
const COLLECT_COUNT_MAX: u32 = 1000;
/// Maximal number of attempts to read a frozen vector.
const FREEZE_COUNT_MAX: u32 = 1000;

impl<E: Env> LaneInner<E> {
    /// Takes a snapshot into `self.snapshot` and detects a change of the catalog.
    #[inline]
    pub(crate) async fn take_snapshot(&mut self) -> Result<(), Abort> {
        let epoch = self.collect_vector().await?;
        if epoch != self.open.catalog.epoch {
            self.refresh_catalog(epoch).await?;
        }
        Ok(())
    }

    /// Takes a snapshot into `self.snapshot`; returns the epoch of the catalog.
    #[inline]
    pub(crate) async fn collect_vector(&mut self) -> Result<u64, Abort> {
        let before = self.env.counters().counts();
        let epoch = match self.shared.config.oracle {
            _ if self.env.mutant(Mutant::OracleStaleSnapshot) && self.reuses_snapshot() => {
                self.open.catalog.epoch
            }
            Oracle::DoubleCollect => self.double_collect().await?,
            Oracle::Frozen => self.newest_frozen().await?,
        };
        self.adopt_shared_horizon();
        let cost = self.env.counters().counts() - before;
        self.statistics.snapshots += 1;
        self.statistics.snapshot_round_trips += cost.round_trips;
        self.statistics.snapshot_verbs += cost.verbs;
        Ok(epoch)
    }

    /// Whether to reuse the last snapshot, which happens every other time. For a mutant.
    #[cold]
    fn reuses_snapshot(&self) -> bool {
        self.statistics.snapshots % 2 == 1
    }

    /// Announces before the first read. A lane that computes a horizon then either sees the
    /// announcement, or has raised the clock before this lane reads it.
    #[inline]
    async fn double_collect(&mut self) -> Result<u64, Abort> {
        let oracle = self.shared.oracle;
        let lane = self.lane_word(LANE_ACTIVE);
        let announced = self.announce().await;
        let slots = self.shared.slots();
        let words = VECTOR + self.shared.slots_in_use();
        let single = self.env.mutant(Mutant::OracleSingleCollect);
        let is_short = self.env.mutant(Mutant::OracleSkipNewSlots);
        let batch = &mut *self.txn.batch;
        batch.clear_verbs();
        batch.write_word(lane, announced);
        let mut first = batch.read(oracle, words);
        let done = match self.execute_at_once() {
            Some(done) => done,
            None => self.execute().await,
        };
        done.map_err(|_| Abort::Unreachable)?;
        let is_serial = self.env.is_serial();
        for _ in 0..COLLECT_COUNT_MAX {
            let batch = &mut *self.txn.batch;
            // The count includes lanes that found no free slot, so it may exceed the slots.
            let slot_count = batch.word(first.at + SLOT_COUNT).min(u64::from(slots)) as u32;
            let is_longer = VECTOR + slot_count > first.words;
            if is_longer && !is_short {
                // A lane was added: read the longer vector from now on.
                self.shared.note_slots(slot_count);
                let batch = &mut *self.txn.batch;
                batch.clear_verbs();
                first = batch.read(oracle, VECTOR + slot_count);
                self.execute().await.map_err(|_| Abort::Unreachable)?;
                continue;
            }
            if is_serial {
                let batch = &*self.txn.batch;
                let header = batch.words(first);
                self.snapshot.set(&header[VECTOR as usize..], header[CLOCK as usize].max(1));
                return Ok(header[EPOCH as usize]);
            }
            batch.clear_verbs();
            let second = batch.read(oracle, first.words);
            let done = match self.execute_at_once() {
                Some(done) => done,
                None => self.execute().await,
            };
            done.map_err(|_| Abort::Unreachable)?;
            let batch = &*self.txn.batch;
            let (header, again) = (batch.words(first), batch.words(second));
            let counters = &header[VECTOR as usize..];
            // Compare the slot count too: a lane that was added between the reads may have
            // committed.
            let stood_still = same_words(counters, &again[VECTOR as usize..])
                && header[SLOT_COUNT as usize] == again[SLOT_COUNT as usize];
            if stood_still || single {
                self.snapshot.set(counters, header[CLOCK as usize].max(1));
                return Ok(header[EPOCH as usize]);
            }
            // The second read may serve as the first of the next pair. Clock and epoch of the
            // earlier read are only older, which is safe.
            let batch = &mut *self.txn.batch;
            for n in SLOT_COUNT..second.words {
                let word = batch.word(second.at + n);
                batch.set_word(first.at + n, word);
            }
            batch.truncate(second.at);
        }
        Err(Abort::SnapshotUnavailable)
    }

    /// Takes the newest frozen vector. It must cover the lane's own last commit, be no older than
    /// the lane's last snapshot, and contain what other lanes published until a moment ago
    /// ([`crate::snapshot::freshness`]). If no vector does, the lane freezes one.
    async fn newest_frozen(&mut self) -> Result<u64, Abort> {
        if self.shared.fetched.is_running()
            && let Some(epoch) = self.newest_fetched().await?
        {
            return Ok(epoch);
        }
        let lane = self.lane_word(LANE_ACTIVE);
        let announced = self.announce().await;
        let batch = &mut *self.txn.batch;
        batch.clear_verbs();
        batch.write_word(lane, announced);
        if self.shared.has_collector() {
            return self.newest_collected().await;
        }
        let began_ns = self.env.now_ns();
        let mut looked_ns = began_ns;
        let mut patience = Patience::new(&self.env, BEGIN_WAIT_NS);
        for _ in 0..FREEZE_COUNT_MAX {
            if let Some(epoch) = self.read_frozen().await? {
                let (freshness, number) = (&self.shared.freshness, self.snapshot.stamp);
                freshness.note_read(number, looked_ns);
                if freshness.is_fresh_enough(number, began_ns) {
                    return Ok(epoch);
                }
            }
            let frozen = self.freeze().await.map_err(|_| Abort::Unreachable)?;
            if frozen.is_err() && !patience.wait(&self.env).await {
                break;
            }
            self.txn.batch.clear_verbs();
            looked_ns = self.env.now_ns();
        }
        Err(Abort::SnapshotUnavailable)
    }

    /// Does the same if a collector freezes all the time: reads the newest number, then the vector
    /// with that number.
    async fn newest_collected(&mut self) -> Result<u64, Abort> {
        let (oracle, shape) = (self.shared.oracle, self.shared.oracle_layout);
        for _ in 0..FREEZE_COUNT_MAX {
            let newest = self.txn.batch.read(oracle.add_words(u64::from(NEWEST)), 1);
            self.execute().await.map_err(|_| Abort::Unreachable)?;
            let number = self.txn.batch.word(newest.at);
            self.txn.batch.clear_verbs();
            // Slots that are not in use, and their counters, are 0.
            let place = self.txn.batch.read(shape.frozen(oracle, number), shape.frozen_words());
            self.execute().await.map_err(|_| Abort::Unreachable)?;
            // If the number was left out after a loss, the place has an older vector.
            if self.txn.batch.word(place.at) >= number
                && let Some(epoch) = self.take_frozen(place)
            {
                return Ok(epoch);
            }
            self.txn.batch.clear_verbs();
        }
        Err(Abort::SnapshotUnavailable)
    }

    /// Reads the whole ring and takes the newest intact vector, if it is new enough. The read joins
    /// the verbs that the batch already has.
    async fn read_frozen(&mut self) -> Result<Option<u64>, Abort> {
        let ring = self.post_ring();
        self.execute().await.map_err(|_| Abort::Unreachable)?;
        Ok(self.take_frozen(ring))
    }

    fn post_ring(&mut self) -> Span {
        let (oracle, shape) = (self.shared.oracle, self.shared.oracle_layout);
        let places = layout::oracle::RING_PLACES;
        self.txn.batch.read(shape.frozen(oracle, 0), places * shape.frozen_words())
    }

    /// Takes the newest intact one of these vectors, if it is new enough.
    fn take_frozen(&mut self, vectors: Span) -> Option<u64> {
        let batch = &*self.txn.batch;
        let newest = newest_intact(&self.env, self.shared.oracle_layout, batch.words(vectors))?;
        let counters = &newest[2..newest.len() - 1];
        let number = newest[0];
        // A transaction sees everything that its compute server has committed before it began.
        let covers_published = (0..self.shared.slots_in_use() as u16)
            .all(|slot| counters[usize::from(slot)] >= self.shared.published(SlotId(slot)));
        let at_least = self.snapshot.stamp + u64::from(self.identity.wants_newer);
        let merges = self.env.mutant(Mutant::OracleMergeOwnSlot);
        let overlooks = merges || self.env.mutant(Mutant::OracleOverlookOwnCommit);
        if number < at_least || !(covers_published || overlooks) {
            return None;
        }
        let epoch = newest[1];
        match merges {
            true => self.snapshot.set(&self.with_own_slot(counters), number),
            false => self.snapshot.set(counters, number),
        }
        Some(epoch)
    }

    /// A frozen vector with the lane's own last commit merged into it. Two such vectors of two
    /// lanes need not be comparable. For a mutant.
    #[cold]
    fn with_own_slot(&self, counters: &[u64]) -> Vec<u64> {
        let mut merged = counters.to_vec();
        let own = &mut merged[usize::from(self.identity.slot.0)];
        *own = self.shared.published(self.identity.slot).max(*own);
        merged
    }

    /// Ensures that the newest frozen vector has at least `epoch`, so that transactions that begin
    /// from now on know the catalog change.
    ///
    /// # Errors
    ///
    /// If somebody keeps the try-lock.
    pub(crate) async fn freeze_epoch(&mut self, epoch: u64) -> Result<(), FreezeError> {
        let mut patience = Patience::new(&self.env, WAIT_NS);
        loop {
            self.txn.batch.reset();
            let ring = self.post_ring();
            self.execute().await?;
            if self.take_frozen(ring).is_some_and(|frozen| frozen >= epoch) {
                return Ok(());
            }
            let holder = match self.shared.has_collector() {
                true => 0,
                false => self.freeze().await?.err().unwrap_or(0),
            };
            if !patience.wait(&self.env).await {
                return Err(FreezeError::of_word(holder));
            }
        }
    }

    /// Ensures that the next snapshot covers everything that any compute server has published by
    /// now. A double collect always does. If a collector, which this compute server need not know,
    /// or another lane freezes a vector in between, the one after it was read after this call.
    ///
    /// # Errors
    ///
    /// If somebody keeps the try-lock and freezes nothing.
    pub(crate) async fn freeze_now(&mut self) -> Result<(), FreezeError> {
        if self.shared.config.oracle == Oracle::DoubleCollect {
            return Ok(());
        }
        let mut patience = Patience::new(&self.env, WAIT_NS);
        let newest = self.shared.oracle.add_words(u64::from(NEWEST));
        let mut first = None;
        loop {
            self.txn.batch.clear_verbs();
            let word = self.txn.batch.read(newest, 1);
            self.execute().await?;
            let number = self.txn.batch.word(word.at);
            let is_newer = |stamp| first.is_some_and(|first: u64| stamp >= first + 2);
            let fetched = &self.shared.fetched;
            if is_newer(number) && (!fetched.is_running() || is_newer(fetched.bounds().stamp)) {
                return Ok(());
            }
            first = first.or(Some(number));
            let mut holder = 0;
            if !self.shared.has_collector() {
                match self.freeze().await? {
                    Ok(()) => return Ok(()),
                    Err(word) => holder = word,
                }
            }
            if !patience.wait(&self.env).await {
                return Err(FreezeError::of_word(holder));
            }
        }
    }

    /// Freezes a vector, or returns the word of the try-lock's holder. The holder must release it
    /// even if the caller drops this future: where that can happen, freezing is a task of its own.
    async fn freeze(&mut self) -> Result<Result<(), u64>, FabricError> {
        let slot = self.identity.slot;
        let began_ns = self.env.now_ns();
        let frozen = if E::IMMEDIATE {
            let batch = self.txn.batch.take();
            let (batch, frozen) = freeze_vector(&self.env, &self.shared, batch, slot).await?;
            self.txn.batch.put_back(batch);
            frozen
        } else {
            let (env, shared) = (self.env.clone(), self.shared.clone());
            let freeze = async move { freeze_vector(&env, &shared, Batch::new(), slot).await };
            detached(&self.env, freeze, drop).await?.1
        };
        Ok(frozen.map(|number| self.shared.freshness.note_freeze(number, began_ns)))
    }

    /// The stamp to announce: that of the last snapshot. Where lanes share their announcement, the
    /// oldest stamp of all running lanes.
    #[inline]
    async fn announce(&self) -> u64 {
        match &self.identity.shared_slot {
            None => self.snapshot.stamp.max(1),
            Some(slot) => loop {
                if let Some(stamp) = slot.announce(self.identity.number, self.snapshot.stamp) {
                    return stamp;
                }
                // The announcement is being withdrawn. That write must not arrive after this lane's
                // announcement.
                self.env.yield_now().await;
            },
        }
    }

    /// Acknowledges the catalog that this lane now uses: the catalog of `epoch`, or the cached one
    /// if that is newer, because a snapshot may be older than the cached catalog. A later snapshot
    /// with the newer epoch then changes nothing and needs no acknowledgement.
    async fn refresh_catalog(&mut self, epoch: u64) -> Result<(), Abort> {
        let catalog = self.shared.catalog_at_least(&self.env, epoch).await;
        let catalog = catalog.map_err(|_| Abort::CatalogChanged)?;
        let epoch = catalog.epoch;
        self.adopt_catalog(catalog);
        let acknowledged = self.lane_word(LANE_ACKNOWLEDGED);
        let epoch = match &self.identity.shared_slot {
            None => epoch,
            Some(slot) => slot.acknowledge(self.identity.number, epoch),
        };
        let batch = &mut *self.txn.batch;
        batch.clear_verbs();
        batch.write_word(acknowledged, epoch);
        self.execute().await.map_err(|_| Abort::Unreachable)
    }
}

/// The newest intact one of the frozen vectors in `words`: number, epoch, counters, checksum.
pub(crate) fn newest_intact<'a, E: Env>(
    env: &E,
    shape: OracleLayout,
    words: &'a [u64],
) -> Option<&'a [u64]> {
    let vectors = words.chunks_exact(shape.frozen_words() as usize);
    let intact = vectors.filter(|vector| {
        let (body, sum) = vector.split_at(vector.len() - 1);
        let is_intact = checksum(body, Cover::All) == sum[0];
        body[0] != 0 && (is_intact || env.mutant(Mutant::OracleTornFrozen))
    });
    intact.max_by_key(|vector| vector[0])
}

/// Takes the try-lock, reads the vector once, and writes it to the ring with the next number.
/// Returns that number, or the word of the try-lock's holder.
async fn freeze_vector<E: Env>(
    env: &E,
    shared: &Arc<Shared<E>>,
    batch: Batch,
    slot: SlotId,
) -> Result<(Batch, Result<u64, u64>), FabricError> {
    let (oracle, shape) = (shared.oracle, shared.oracle_layout);
    let _holder = shared.begin_work(env)?;
    let (mut batch, taken) = HeldFreezer::take(env, shared, Some(slot), batch).await?;
    let held = match taken {
        Taken::Held(held) => Some(held),
        Taken::Busy(_) if env.mutant(Mutant::OracleFreezeUnlocked) => None,
        Taken::Busy(holder) => return Ok((batch, Err(holder))),
    };
    env.reach(FreezeStep::Locked).await;
    batch.clear_verbs();
    let vector;
    (batch, vector) = read_vector(env, batch, oracle, shape).await?;
    env.reach(FreezeStep::VectorRead).await;
    batch.clear_verbs();
    let number = post_vector(&mut batch, oracle, shape, vector);
    batch.write_word(oracle.add_words(u64::from(FREEZER)), 0);
    batch = env.execute(batch).await?;
    if let Some(held) = held {
        held.note_release();
    }
    Ok((batch, Ok(number)))
}

/// Reads the vector once and builds the next frozen vector from it in the batch's arena; returns
/// its span.
pub(crate) async fn read_vector<E: Env>(
    env: &E,
    mut batch: Batch,
    oracle: GlobalPtr,
    shape: OracleLayout,
) -> Result<(Batch, Span), FabricError> {
    let head = batch.read(oracle, VECTOR + shape.slots);
    batch = env.execute(batch).await?;
    let number = batch.word(head.at + NEWEST) + 1;
    let vector = batch.reserve(shape.frozen_words());
    batch.set_word(vector.at, number);
    let epoch = batch.word(head.at + EPOCH);
    batch.set_word(vector.at + 1, epoch);
    for n in 0..shape.slots {
        let counter = batch.word(head.at + VECTOR + n);
        batch.set_word(vector.at + 2 + n, counter);
    }
    let body = Span { at: vector.at, words: vector.words - 1 };
    let sum = checksum(batch.words(body), Cover::All);
    batch.set_word(vector.at + vector.words - 1, sum);
    Ok((batch, vector))
}

/// Posts a frozen vector to the ring. Returns the vector's number.
pub(crate) fn post_vector(
    batch: &mut Batch,
    oracle: GlobalPtr,
    shape: OracleLayout,
    vector: Span,
) -> u64 {
    let number = batch.word(vector.at);
    batch.write(shape.frozen(oracle, number), vector);
    batch.write_word(oracle.add_words(u64::from(NEWEST)), number);
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::{OpenConfig, open};
    use crate::{Isolation, TableSpec};
    use fabric::{Fabric, run_now};
    use layout::{Column, ColumnType, PhysicalDesign, Schema};

    #[test]
    fn a_lane_acknowledges_the_catalog_that_it_uses_though_its_snapshot_is_older() {
        let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
        let database = open(&config).expect("memory");
        let mut lane = run_now(database.lane()).expect("a lane");
        run_now(run_now(lane.begin(Isolation::Snapshot)).expect("begins").abort());
        let older = lane.inner().open.catalog.epoch;
        run_now(lane.rest()).expect("reachable");
        let columns = vec![Column::new("id", ColumnType::Int8)];
        let schema = Schema::new("t", columns, &[0]).expect("a valid schema");
        let spec = TableSpec { schema, design: PhysicalDesign::default(), indexes: Vec::new() };
        run_now(database.create_table(spec)).expect("created");
        let newer = run_now(database.refresh()).expect("readable").epoch;
        assert!(newer > older);
        let lane = lane.inner();
        run_now(lane.refresh_catalog(older)).expect("reachable");
        let mut batch = Batch::new();
        let word = batch.read(lane.lane_word(LANE_ACKNOWLEDGED), 1);
        let batch = run_now(lane.env.execute(batch)).expect("reachable");
        assert_eq!((lane.open.catalog.epoch, batch.word(word.at)), (newer, newer));
    }
    #[test]
    fn a_vector_is_frozen_only_under_the_try_lock() {
        let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
        let database = open(&config).expect("memory");
        let (env, shared) = (database.env(), &database.shared);
        let oracle = shared.oracle;
        let freezer = oracle.add_words(u64::from(FREEZER));
        let words = || {
            let mut batch = Batch::new();
            let (newest, holder) =
                (batch.read(oracle.add_words(u64::from(NEWEST)), 1), batch.read(freezer, 1));
            let batch = run_now(env.execute(batch)).expect("reachable");
            (batch.word(newest.at), batch.word(holder.at))
        };
        let before = words().0;
        let mut batch = Batch::new();
        batch.write_word(freezer, 7);
        run_now(env.execute(batch)).expect("reachable");
        // A verb that the caller's batch still has must not free the lock.
        let mut batch = Batch::new();
        batch.write_word(freezer, 0);
        let (_, frozen) = run_now(freeze_vector(env, shared, batch, SlotId(3))).expect("reachable");
        assert_eq!((frozen, words()), (Err(7), (before, 7)), "another lane is freezing one");

        let mut batch = Batch::new();
        batch.write_word(freezer, 0);
        run_now(env.execute(batch)).expect("reachable");
        for next in [before + 1, before + 2] {
            let frozen = freeze_vector(env, shared, Batch::new(), SlotId(3));
            let (_, frozen) = run_now(frozen).expect("reachable");
            assert_eq!((frozen, words()), (Ok(next), (next, 0)));
        }
    }
}

//! Horizons: snapshots that every running transaction covers, or that are older than the maximal
//! transaction time E. A lane adopts a horizon only after it has raised the collected-up-to words
//! of all regions to the horizon's stamp.
//!
//! Decisions:
//! - docs/decisions/0025-announced-stamps-decide-when-garbage-goes-e-is-only.md
//! - docs/decisions/0026-collected-up-to-words-make-collection-safe.md
//! - docs/decisions/0146-the-collector-computes-the-horizon-for-everybody.md
//! - docs/decisions/0152-a-transaction-adopts-the-horizon-when-it-begins.md

use crate::abort::Abort;
use crate::database::Oracle;
use crate::lane::LaneInner;
use crate::snapshot::Snapshot;
use crate::snapshot::shared_slot::SharedSlot;
use crate::step::CollectStep;
use fabric::{Env, FabricError, Mutant};
use layout::oracle::{CLOCK, KEEPERS, LANE_ACTIVE, LANE_WORDS, SLOT_COUNT};
use layout::{GlobalPtr, NodeId, RegionId, VersionWord, region};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// Maximal number of attempts to raise a collected-up-to word.
const RAISE_COUNT_MAX: u32 = 1000;
/// Interval between two advances of a shared horizon.
const SHARED_HORIZON_INTERVAL_NS: u64 = 200_000;

/// A collected-up-to word that is being raised.
pub(crate) struct Raise {
    word: GlobalPtr,
    /// Its expected value.
    expected: u64,
}

/// The adopted horizon, and the candidate for the next one.
#[derive(Clone, Default)]
pub struct Horizon {
    adopted: Snapshot,
    candidate: Candidate,
}

/// The horizon of lanes that share a slot.
#[derive(Default)]
pub(crate) struct SharedHorizon {
    shareable: Mutex<Shareable>,
    /// The stamp of the shared horizon. A lane reads it without the lock, to see whether its own
    /// horizon is older.
    stamp: AtomicU64,
}

#[derive(Default)]
struct Shareable {
    horizon: Horizon,
    is_claimed: bool,
    /// The time from which on it may be claimed again.
    due_ns: u64,
}

impl SharedHorizon {
    /// Claims the horizon in order to advance it; `None` if it is not due or another lane is
    /// advancing it.
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

    /// The adopted horizon.
    fn adopted(&self) -> Snapshot {
        self.shareable().horizon.adopted.clone()
    }

    /// The candidate, if there is one, although running transactions need not cover it. For a
    /// mutant.
    #[cold]
    fn unraised_candidate(&self) -> Snapshot {
        let Horizon { adopted, candidate } = &self.shareable().horizon;
        if candidate.is_set { candidate.snapshot.clone() } else { adopted.clone() }
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
    /// Whether every running transaction sees `version` or a newer one.
    #[inline]
    pub fn covers(&self, version: VersionWord) -> bool {
        self.adopted.covers(version)
    }

    pub fn counters(&self) -> &[u64] {
        self.adopted.counters()
    }

    /// The stamp up to which the collected-up-to words have been raised.
    pub fn stamp(&self) -> u64 {
        self.adopted.stamp
    }
}

impl<E: Env> LaneInner<E> {
    /// Adopts a newer horizon, if possible. Lanes that share a slot share the horizon, and one of
    /// them advances it at an interval, since the cost of an advance grows with the number of
    /// lanes.
    pub(crate) async fn advance_horizon(&mut self) -> Result<(), Abort> {
        if self.identity.shared_slot.is_none() {
            return self.advance_own_horizon().await;
        }
        let now_ns = self.env.now_ns();
        let Some(horizon) = self.shared.horizon.claim(now_ns) else {
            self.adopt_shared_horizon();
            return Ok(());
        };
        self.garbage.horizon = horizon;
        let advanced = self.advance_own_horizon().await;
        self.shared.horizon.give_back(&self.garbage.horizon, self.env.now_ns());
        advanced
    }

    /// Adopts the compute server's shared horizon, if there is one and it is newer than the lane's.
    #[inline]
    pub(crate) fn adopt_shared_horizon(&mut self) {
        let newest = &self.shared.horizon;
        if self.env.mutant(Mutant::CollectAdoptCandidate) {
            self.garbage.horizon.adopted.clone_from(&newest.unraised_candidate());
            return;
        }
        if newest.stamp.load(Relaxed) > self.garbage.horizon.adopted.stamp {
            self.garbage.horizon.adopted.clone_from(&newest.adopted());
        }
    }

    /// Adopts the candidate as soon as every other lane is idle, covers it, or has run for longer
    /// than E. Then takes the next candidate at once, so that candidates are always as new as
    /// possible: the old versions of hot rows fill their version buffers within a few transactions.
    async fn advance_own_horizon(&mut self) -> Result<(), Abort> {
        self.take_candidate().await?;
        if self.garbage.horizon.candidate.is_set && self.adopt_candidate().await? {
            self.take_candidate().await?;
        }
        Ok(())
    }

    /// Makes the running transaction's snapshot the candidate, if there is no candidate and the
    /// snapshot is newer than the horizon.
    ///
    /// The clock is raised after the candidate's collect: a lane with the raised stamp or a later
    /// one has read the vector after that, so it covers the candidate.
    async fn take_candidate(&mut self) -> Result<(), Abort> {
        let adopted = &self.garbage.horizon.adopted;
        if self.garbage.horizon.candidate.is_set
            || !self.snapshot.includes(adopted)
            || self.snapshot.counters() == adopted.counters()
        {
            return Ok(());
        }
        let stamp = self.candidate_stamp().await?;
        let candidate = &mut self.garbage.horizon.candidate;
        candidate.snapshot.set(self.snapshot.counters(), stamp);
        candidate.since_ns = self.env.now_ns();
        candidate.is_set = true;
        Ok(())
    }

    /// Tries to adopt the candidate; returns whether it did.
    async fn adopt_candidate(&mut self) -> Result<bool, Abort> {
        let stamp = self.garbage.horizon.candidate.snapshot.stamp;
        // A collector that publishes its progress has checked the lanes and raised the words for
        // all compute servers.
        if let Some(collected) = self.shared.fetched.collected() {
            if collected < stamp {
                return Ok(false);
            }
        } else if !self.raise_for_candidate(stamp).await? {
            return Ok(false);
        }
        let Horizon { adopted, candidate } = &mut self.garbage.horizon;
        candidate.is_set = false;
        if self.snapshot.includes(&candidate.snapshot) {
            // This snapshot covers the successors of everything that is collected now.
            self.snapshot.stamp = self.snapshot.stamp.max(stamp);
        }
        debug_assert!(stamp >= adopted.stamp, "a horizon moves forward");
        adopted.set(candidate.snapshot.counters(), stamp);
        Ok(true)
    }

    /// Raises the collected-up-to words to the candidate's stamp, if all lanes have passed it.
    async fn raise_for_candidate(&mut self, stamp: u64) -> Result<bool, Abort> {
        if !self.have_all_lanes_passed(stamp).await? {
            return Ok(false);
        }
        if !self.env.mutant(Mutant::CollectSkipCollectedWord) {
            if !self.raise_collected(stamp).await.map_err(|_| Abort::Unreachable)? {
                return Ok(false);
            }
            self.env.reach(CollectStep::CollectedRaised).await;
        }
        Ok(true)
    }

    /// A stamp such that every snapshot with this stamp or a later one covers the candidate: the
    /// number of a frozen vector, or for a double collect the clock after an increment.
    async fn candidate_stamp(&mut self) -> Result<u64, Abort> {
        let keeps = self.env.mutant(Mutant::CollectClockUnraised);
        if self.shared.config.oracle == Oracle::Frozen || keeps {
            return Ok(self.snapshot.stamp);
        }
        self.tick().await
    }

    /// Raises the clock; returns its new value, which no running transaction has announced.
    pub(super) async fn tick(&mut self) -> Result<u64, Abort> {
        let clock = self.shared.oracle.add_words(u64::from(CLOCK));
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.reset();
        let tick = batch.fetch_and_add(clock, 1);
        let batch = self.env.execute(batch).await.map_err(|_| Abort::Unreachable)?;
        let stamp = batch.found(tick) + 1;
        self.scratch.batch = Some(batch);
        Ok(stamp)
    }

    async fn have_all_lanes_passed(&mut self, stamp: u64) -> Result<bool, Abort> {
        if self.env.mutant(Mutant::CollectIgnoreLanes) || self.are_others_past(stamp).await? {
            return Ok(true);
        }
        let age_ns = self.env.now_ns().saturating_sub(self.garbage.horizon.candidate.since_ns);
        Ok(age_ns > self.shared.config.transaction_time_max_ns)
    }

    /// Whether every other lane is idle or has announced `stamp` or a later one. `false` if there
    /// are lanes that this compute server did not know; a later call looks at them, too.
    pub(super) async fn are_others_past(&mut self, stamp: u64) -> Result<bool, Abort> {
        let pinned = self.pinned();
        let is_own_past = |slot: &SharedSlot| slot.is_past(self.identity.number, stamp, pinned);
        let is_home_past = self.identity.shared_slot.as_deref().is_none_or(is_own_past);
        let slots = self.shared.slots_in_use();
        let first = self.shared.oracle_layout.lane(self.shared.oracle, layout::SlotId(0));
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.reset();
        let lanes = batch.read(first, slots * LANE_WORDS);
        let count = self.shared.oracle.add_words(u64::from(SLOT_COUNT));
        let count = batch.read(count, KEEPERS - SLOT_COUNT + 1);
        let mut batch = self.env.execute(batch).await.map_err(|_| Abort::Unreachable)?;
        self.shared.note_slots(batch.word(count.at) as u32);
        let are_known =
            self.shared.slots_in_use() == slots || self.env.mutant(Mutant::CollectOverlookLanes);
        let mut is_past = self.are_lanes_past(batch.words(lanes), stamp);
        let has_keepers = batch.word(count.at + KEEPERS - SLOT_COUNT) > 0;
        if has_keepers && is_past {
            // Announcements move from lanes to keepers, so look at the keepers once more.
            batch.reset();
            let lanes = batch.read(first, slots * LANE_WORDS);
            batch = self.env.execute(batch).await.map_err(|_| Abort::Unreachable)?;
            is_past = self.are_lanes_past(batch.words(lanes), stamp)
                && self.shared.keeper_of_pins.are_past(stamp, self.pinned());
        }
        self.scratch.batch = Some(batch);
        Ok(are_known && is_past && is_home_past)
    }

    /// Whether the lanes with these words are idle or have announced `stamp` or a later one. The
    /// lane itself does not count, nor does its compute server's keeper of pins: that one's words
    /// have the pin of this lane's transaction, too.
    fn are_lanes_past(&self, words: &[u64], stamp: u64) -> bool {
        let own = usize::from(self.identity.slot.0);
        let keeper = self.shared.keeper_of_pins.slot().map(|taken| usize::from(taken.slot.0));
        words.chunks_exact(LANE_WORDS as usize).enumerate().all(|(slot, lane)| {
            let active = lane[LANE_ACTIVE as usize];
            slot == own || Some(slot) == keeper || active == 0 || active >= stamp
        })
    }

    /// Raises the collected-up-to words of all regions to at least `stamp`, in parallel. Returns
    /// whether it did: other lanes may keep changing a word.
    async fn raise_collected(&mut self, stamp: u64) -> Result<bool, FabricError> {
        let expected = self.garbage.horizon.adopted.stamp;
        let mut words = std::mem::take(&mut self.scratch.raising);
        words.clear();
        let servers = self.shared.servers.iter();
        let raise =
            |server: &NodeId| Raise { word: region::collected(RegionId(server.0)), expected };
        words.extend(servers.map(raise));
        let result = self.raise_words(&mut words, stamp).await;
        self.scratch.raising = words;
        result
    }

    /// Raises these words, each from its expected value.
    async fn raise_words(
        &mut self,
        words: &mut Vec<Raise>,
        stamp: u64,
    ) -> Result<bool, FabricError> {
        for _ in 0..RAISE_COUNT_MAX {
            let mut batch = self.scratch.batch.take().unwrap_or_default();
            batch.reset();
            for &Raise { word, expected } in words.iter() {
                batch.compare_and_swap(word, expected, stamp);
            }
            let batch = self.env.execute(batch).await?;
            // The results of the swaps are at the beginning of the arena, in their order.
            let mut found = (0..).map(|place| batch.word(place));
            words.retain_mut(|Raise { expected, .. }| {
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
}

//! Epochs of the catalog: a change is known once all lanes have acknowledged its epoch.
//!
//! Decision: docs/decisions/0263-catalog-changes-give-up-at-once-on-a-lane-that-has-been.md

use crate::catalog::{Catalog, CatalogError};
use crate::database::{Database, Oracle};
use crate::step::ChangeStep;
use fabric::{Batch, Env, Mutant, Span};
use layout::SlotId;
use layout::oracle::{EPOCH, LANE_ACKNOWLEDGED, LANE_ACTIVE, LANE_WORDS, LANE_WORKING, SLOT_COUNT};
use memory::Label;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Interval between two reads of the lanes' words.
const LOOK_INTERVAL_NS: u64 = 100_000;

/// Lanes that have not acknowledged the newest epoch, by slot. One change waits for a lane that
/// died during a transaction; later changes do not.
#[derive(Debug, Default)]
pub(crate) struct SilentLanes(Mutex<BTreeMap<u32, Silence>>);

#[derive(Clone, Copy, Debug)]
struct Silence {
    /// The epoch that the lane has acknowledged last. It acknowledges the newest epoch with every
    /// transaction that it begins, so while this epoch is unchanged and too old, the lane runs no
    /// transaction that has begun since.
    acknowledged: u64,
    since_ns: u64,
}

/// A lane that runs a transaction or upkeep and does not know the newest epoch.
#[derive(Clone, Copy)]
struct SilentLane {
    slot: u32,
    acknowledged: u64,
}

impl SilentLanes {
    /// Records all lanes that are silent now; returns the time at which the last of them fell
    /// silent.
    fn note(&self, silent: &[SilentLane], now_ns: u64) -> u64 {
        let mut known = self.0.lock().expect("no holder panics");
        let note = |&SilentLane { slot, acknowledged }: &SilentLane| {
            let before = known.get(&slot).filter(|before| before.acknowledged == acknowledged);
            (slot, *before.unwrap_or(&Silence { acknowledged, since_ns: now_ns }))
        };
        *known = silent.iter().map(note).collect();
        known.values().map(|silence| silence.since_ns).max().unwrap_or(now_ns)
    }
}

impl<E: Env> Database<E> {
    /// Starts an epoch whose catalog lacks the owners of `released`, waits until every lane knows
    /// it, and frees their memory. If a lane does not acknowledge the epoch in time, or the epoch
    /// cannot be started, a later change frees the memory.
    pub(super) async fn start_epoch(
        &self,
        released: Vec<Label>,
    ) -> Result<Arc<Catalog>, CatalogError> {
        let (epoch, catalog) = self.begin_epoch(released).await?;
        self.wait_for_lanes(epoch).await?;
        self.env.reach(ChangeStep::EpochKnown).await;
        self.free_released(epoch).await?;
        Ok(catalog)
    }

    /// Starts an epoch, and does not wait for the lanes: for changes that running transactions need
    /// not know. The caller may run one of these transactions.
    pub(super) async fn begin_epoch(
        &self,
        mut released: Vec<Label>,
    ) -> Result<(u64, Arc<Catalog>), CatalogError> {
        released.extend(self.take_unstarted());
        let mut batch = Batch::new();
        let epoch = batch.fetch_and_add(self.shared.oracle.add_words(u64::from(EPOCH)), 1);
        // Other compute servers may have lanes that this one does not know yet. Lanes that are
        // added later begin in the new epoch.
        let slots = batch.read(self.shared.oracle.add_words(u64::from(SLOT_COUNT)), 1);
        let batch = match self.env.execute(batch).await {
            Ok(batch) => batch,
            Err(error) => {
                self.release_later(released);
                return Err(error.into());
            }
        };
        self.shared.note_slots(batch.word(slots.at) as u32);
        self.env.reach(ChangeStep::EpochStarted).await;
        let epoch = batch.found(epoch) + 1;
        if !released.is_empty() {
            self.release_at(epoch, released);
        }
        let catalog = self.shared.catalog_at_least(&self.env, epoch).await?;
        if self.shared.config.oracle == Oracle::Frozen {
            let lane = self.lane().await;
            let mut lane = lane.map_err(|error| CatalogError::Limit(error.to_string()))?;
            lane.inner().freeze_epoch(epoch).await?;
        }
        Ok((epoch, catalog))
    }

    /// Frees the memory of earlier changes that have given up waiting for lanes, if all lanes know
    /// them by now: the memory that a change is going to allocate.
    pub(super) async fn free_overdue(&self) {
        if self.has_released() && !self.env.mutant(Mutant::CatalogKeepOverdue) {
            // If that fails, there may still be room for the change.
            let _ = self.start_epoch(Vec::new()).await;
        }
    }

    /// As [`Self::free_overdue`], for changes that wait for no lane: frees the memory that all
    /// lanes know to be gone at this moment.
    pub(super) async fn free_overdue_at_once(&self) {
        if self.env.mutant(Mutant::CatalogKeepOverdue) {
            return;
        }
        if let Some(epoch) = self.newest_released()
            && let Ok(silent) = self.silent_lanes(epoch).await
            && silent.is_empty()
        {
            // If that fails, there may still be room for the change.
            let _ = self.free_released(epoch).await;
        }
    }

    /// Waits until no lane runs a transaction that began before `epoch`: every lane is idle, has
    /// acknowledged the epoch, or has been silent for longer than E, perhaps since an earlier
    /// change.
    async fn wait_for_lanes(&self, epoch: u64) -> Result<(), CatalogError> {
        let start_ns = self.env.now_ns();
        loop {
            let silent = self.silent_lanes(epoch).await?;
            let now_ns = self.env.now_ns();
            let since_ns = self.shared.silent_lanes.note(&silent, now_ns).min(start_ns);
            if silent.is_empty() {
                return Ok(());
            }
            if now_ns - since_ns > self.shared.config.transaction_time_max_ns {
                return Err(CatalogError::Unacknowledged);
            }
            self.env.sleep_ns(LOOK_INTERVAL_NS).await;
        }
    }

    /// The lanes that run a transaction or upkeep and do not know `epoch`.
    async fn silent_lanes(&self, epoch: u64) -> Result<Vec<SilentLane>, CatalogError> {
        let slots = self.shared.slots_in_use();
        let first = self.shared.oracle_layout.lane(self.shared.oracle, SlotId(0));
        let mut batch = Batch::new();
        let lanes = batch.read(first, slots.max(1) * LANE_WORDS);
        // A lane sets its working word before it clears its active word, so read the active
        // words first. It also moves its announcement to a keeper of pins.
        batch.fence();
        let works = batch.read(first, slots.max(1) * LANE_WORDS);
        let batch = self.env.execute(batch).await?;
        let silence = |slot: u32| {
            let word = |words: Span, word: u32| batch.word(words.at + slot * LANE_WORDS + word);
            let is_behind = |words: Span| word(words, LANE_ACKNOWLEDGED) < epoch;
            let is_active = |words: Span| word(words, LANE_ACTIVE) != 0;
            let words = if is_active(works) && is_behind(works) { works } else { lanes };
            let is_at_rest = !is_active(words) && word(works, LANE_WORKING) == 0;
            let lane = SilentLane { slot, acknowledged: word(words, LANE_ACKNOWLEDGED) };
            (!is_at_rest && is_behind(words)).then_some(lane)
        };
        Ok((0..slots).filter_map(silence).collect())
    }
}

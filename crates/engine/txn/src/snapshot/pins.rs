//! Pins: the announcements of parked transactions, which have no lane.
//!
//! Where lanes share a slot, pins are beside the announcements of the lanes
//! ([`SharedSlot`](crate::snapshot::shared_slot::SharedSlot)), and the slot's words have the oldest
//! of all. Elsewhere a compute server takes one more slot, the *keeper*, whose words have the
//! oldest of its pins. Everybody reads them as those of a lane.
//!
//! An announcement moves from a lane to the keeper, and never back: a pin stays until its
//! transaction ends. A horizon that looks at the lanes first, and then, in another round trip, at
//! the keepers, misses none:
//!
//! ```text
//! park       keeper's words written            lane's announcement withdrawn
//! horizon                                                                     lanes   keepers
//! ```
//!
//! The second look is only necessary if there is a keeper. A keeper that is just being made counts
//! itself in the oracle, and then raises the clock: it pins only snapshots of that stamp or later
//! ones. A horizon that has overlooked the keeper has an earlier stamp, which these snapshots
//! cover.
//!
//! Decision: docs/decisions/0357-a-transaction-can-be-parked.md

use crate::abort::Abort;
use crate::database::{Oracle, Shared};
use crate::detach::detached;
use crate::snapshot::shared_slot::{Bounds, SharedSlot, Withdrawal};
use crate::snapshot::slot::{TakenSlot, lane_of, take_slot};
use fabric::{Batch, Env, FabricError};
use layout::oracle::{CLOCK, KEEPERS, LANE_ACKNOWLEDGED, LANE_ACTIVE, NEWEST};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The bounds of pinned snapshots, each with its number of transactions.
#[derive(Default)]
pub(crate) struct Pins {
    stamps: BTreeMap<u64, u32>,
    epochs: BTreeMap<u64, u32>,
}

impl Pins {
    pub fn add(&mut self, bounds: Bounds) {
        *self.stamps.entry(bounds.stamp).or_default() += 1;
        *self.epochs.entry(bounds.epoch).or_default() += 1;
    }

    pub fn remove(&mut self, bounds: Bounds) {
        remove_one(&mut self.stamps, bounds.stamp);
        remove_one(&mut self.epochs, bounds.epoch);
    }

    /// The bounds of all pinned snapshots; `None` if there is none.
    pub fn least(&self) -> Option<Bounds> {
        let (&stamp, _) = self.stamps.first_key_value()?;
        let (&epoch, _) = self.epochs.first_key_value()?;
        Some(Bounds { stamp, epoch })
    }

    /// Whether all pinned snapshots, except the one with the bounds `own`, have at least this
    /// stamp.
    pub fn are_past(&self, stamp: u64, own: Option<Bounds>) -> bool {
        let older: u32 = self.stamps.range(..stamp).map(|(_, count)| *count).sum();
        older <= u32::from(own.is_some_and(|own| own.stamp < stamp))
    }
}

fn remove_one(counts: &mut BTreeMap<u64, u32>, of: u64) {
    if let Some(count) = counts.get_mut(&of) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&of);
        }
    }
}

/// The keeper of a compute server whose lanes have slots of their own.
#[derive(Default)]
pub(crate) struct Keeper(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    slot: Option<TakenSlot>,
    /// It pins no older snapshots.
    stamp_min: u64,
    pins: Pins,
    /// The bounds in the keeper's words; `None` if the words say that nothing is pinned.
    written: Option<Bounds>,
    /// The last write has failed, so the words may have other bounds.
    is_uncertain: bool,
    /// The words are being written, or the slot is being taken.
    is_busy: bool,
}

impl Kept {
    /// Whether the words have these bounds or lower ones.
    fn covers(&self, bounds: Bounds) -> bool {
        let covers =
            |written: Bounds| written.stamp <= bounds.stamp && written.epoch <= bounds.epoch;
        !self.is_busy && !self.is_uncertain && self.written.is_some_and(covers)
    }
}

/// While it exists, one task writes the keeper's words.
struct Busy<'a>(&'a Keeper);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.kept().is_busy = false;
    }
}

impl Keeper {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().expect("no holder panics")
    }

    /// See [`Pins::are_past`].
    pub fn are_past(&self, stamp: u64, own: Option<Bounds>) -> bool {
        self.kept().pins.are_past(stamp, own)
    }

    /// Its slot, if it has one.
    pub fn slot(&self) -> Option<TakenSlot> {
        self.kept().slot
    }

    /// Takes the slot from it, if it pins nothing. For a compute server that leaves.
    pub fn give_up_slot(&self) -> Option<TakenSlot> {
        let mut kept = self.kept();
        let is_free = !kept.is_busy && !kept.is_uncertain && kept.written.is_none();
        kept.slot.take_if(|_| is_free)
    }

    fn begin(&self) -> Option<Busy<'_>> {
        let mut kept = self.kept();
        let is_free = !std::mem::replace(&mut kept.is_busy, true);
        is_free.then(|| Busy(self))
    }
}

/// The pin of a parked or resumed transaction. Dropping it removes the pin.
pub(crate) struct Pin<E: Env> {
    env: E,
    shared: Arc<Shared<E>>,
    shared_slot: Option<Arc<SharedSlot>>,
    pub bounds: Bounds,
}

impl<E: Env> Pin<E> {
    /// Pins a snapshot in the words of the keeper, before its lane withdraws its announcement.
    ///
    /// # Errors
    ///
    /// [`Abort::SnapshotUnavailable`] if no slot is free for the keeper, or the snapshot is older
    /// than the keeper.
    pub async fn by_keeper(
        env: &E,
        shared: &Arc<Shared<E>>,
        bounds: Bounds,
    ) -> Result<Self, Abort> {
        if E::IMMEDIATE {
            return Self::kept(env.clone(), shared.clone(), bounds).await;
        }
        let kept = Self::kept(env.clone(), shared.clone(), bounds);
        detached(env, kept, drop).await
    }

    async fn kept(env: E, shared: Arc<Shared<E>>, bounds: Bounds) -> Result<Self, Abort> {
        if shared.keeper_of_pins.slot().is_none() {
            make_keeper(&env, &shared).await?;
        }
        if bounds.stamp < shared.keeper_of_pins.kept().stamp_min {
            return Err(Abort::SnapshotUnavailable);
        }
        shared.keeper_of_pins.kept().pins.add(bounds);
        // From here on, dropping it removes the pin.
        let pin = Self { env, shared, shared_slot: None, bounds };
        while !pin.shared.keeper_of_pins.kept().covers(bounds) {
            let Some(_busy) = pin.shared.keeper_of_pins.begin() else {
                pin.env.yield_now().await;
                continue;
            };
            write_bounds(&pin.env, &pin.shared).await.map_err(|_| Abort::Unreachable)?;
        }
        Ok(pin)
    }

    /// Moves the announcement of a lane that shares its slot to a pin.
    pub fn by_slot(
        env: &E,
        shared: &Arc<Shared<E>>,
        shared_slot: &Arc<SharedSlot>,
        number: u32,
        bounds: Bounds,
    ) -> Self {
        shared_slot.pin(number, bounds);
        let (env, shared) = (env.clone(), shared.clone());
        Self { env, shared, shared_slot: Some(shared_slot.clone()), bounds }
    }
}

impl<E: Env> Drop for Pin<E> {
    fn drop(&mut self) {
        let (env, shared, bounds) = (self.env.clone(), self.shared.clone(), self.bounds);
        match self.shared_slot.take() {
            None => {
                let keeper = &self.shared.keeper_of_pins;
                let is_raised = {
                    let mut kept = keeper.kept();
                    kept.pins.remove(bounds);
                    kept.pins.least() != kept.written
                };
                if is_raised {
                    self.env.spawn(async move { raise_bounds(&env, &shared).await });
                }
            }
            Some(slot) => self.env.spawn(async move {
                // If the memory server is unreachable, others wait for the pin at most for E.
                let _ = unpin(&env, &shared, &slot, bounds).await;
            }),
        }
    }
}

/// Takes a slot for the keeper, and makes the keeper known to those that look at lanes.
async fn make_keeper<E: Env>(env: &E, shared: &Arc<Shared<E>>) -> Result<(), Abort> {
    let keeper = &shared.keeper_of_pins;
    let busy = loop {
        if keeper.slot().is_some() {
            return Ok(());
        }
        match keeper.begin() {
            Some(busy) => break busy,
            None => env.yield_now().await,
        }
    };
    if keeper.slot().is_some() {
        return Ok(());
    }
    let taken = take_slot(env, shared).await.map_err(|_| Abort::Unreachable)?;
    let Some(taken) = taken else { return Err(Abort::SnapshotUnavailable) };
    let stamp_min = count_keeper(env, shared).await.map_err(|_| Abort::Unreachable)?;
    let mut kept = keeper.kept();
    (kept.slot, kept.stamp_min) = (Some(taken), stamp_min);
    drop(kept);
    drop(busy);
    Ok(())
}

/// Counts a new keeper; returns a stamp that no horizon exceeds which may have overlooked it.
async fn count_keeper<E: Env>(env: &E, shared: &Shared<E>) -> Result<u64, FabricError> {
    let word = |word: u32| shared.oracle.add_words(u64::from(word));
    let mut batch = Batch::new();
    batch.fetch_and_add(word(KEEPERS), 1);
    batch = env.execute(batch).await?;
    batch.reset();
    Ok(match shared.config.oracle {
        Oracle::DoubleCollect => {
            let tick = batch.fetch_and_add(word(CLOCK), 1);
            env.execute(batch).await?.found(tick) + 1
        }
        Oracle::Frozen => {
            let newest = batch.read(word(NEWEST), 1);
            env.execute(batch).await?.word(newest.at)
        }
    })
}

/// Writes the bounds of all pins to the keeper's words. The caller has the keeper.
async fn write_bounds<E: Env>(env: &E, shared: &Shared<E>) -> Result<(), FabricError> {
    let keeper = &shared.keeper_of_pins;
    let (slot, target) = {
        let mut kept = keeper.kept();
        let target = kept.pins.least();
        let Some(slot) = kept.slot.filter(|_| kept.written != target || kept.is_uncertain) else {
            return Ok(());
        };
        kept.is_uncertain = true;
        (slot, target)
    };
    let words = lane_of(shared, slot.slot);
    let mut batch = Batch::new();
    // An epoch counts only beside a stamp.
    if let Some(bounds) = target {
        batch.write_word(words.add_words(u64::from(LANE_ACKNOWLEDGED)), bounds.epoch);
    }
    let stamp = target.map_or(0, |bounds| bounds.stamp);
    batch.write_word(words.add_words(u64::from(LANE_ACTIVE)), stamp);
    env.execute(batch).await?;
    let mut kept = keeper.kept();
    (kept.written, kept.is_uncertain) = (target, false);
    Ok(())
}

/// Raises the bounds in the keeper's words after a pin was removed. If a write fails, the next one
/// who adds or removes a pin writes them again.
async fn raise_bounds<E: Env>(env: &E, shared: &Shared<E>) {
    loop {
        {
            let Some(_busy) = shared.keeper_of_pins.begin() else {
                // It may write bounds that are older than the removal.
                env.yield_now().await;
                continue;
            };
            if write_bounds(env, shared).await.is_err() {
                return;
            }
        }
        let kept = shared.keeper_of_pins.kept();
        if kept.pins.least() == kept.written {
            return;
        }
    }
}

/// Removes a pin from a shared slot, as a lane goes to rest.
async fn unpin<E: Env>(
    env: &E,
    shared: &Shared<E>,
    slot: &SharedSlot,
    bounds: Bounds,
) -> Result<(), FabricError> {
    let unpinned: Result<Option<u64>, Withdrawal<'_>> =
        slot.unpin(bounds, || shared.fetched.is_running());
    let (word, value) = match &unpinned {
        Ok(None) => return Ok(()),
        Ok(Some(epoch)) => (LANE_ACKNOWLEDGED, *epoch),
        Err(_) => (LANE_ACTIVE, 0),
    };
    let mut batch = Batch::new();
    batch.write_word(lane_of(shared, slot.slot).add_words(u64::from(word)), value);
    env.execute(batch).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_pin_bounds_all() {
        let bounds = |stamp, epoch| Bounds { stamp, epoch };
        let mut pins = Pins::default();
        assert_eq!(pins.least(), None);
        [bounds(5, 9), bounds(7, 3), bounds(5, 4)].into_iter().for_each(|pin| pins.add(pin));
        assert_eq!(pins.least(), Some(bounds(5, 3)));
        assert!(pins.are_past(5, None) && !pins.are_past(6, None));
        assert!(!pins.are_past(6, Some(bounds(5, 9))), "another one has the same stamp");
        pins.remove(bounds(5, 9));
        assert!(pins.are_past(6, Some(bounds(5, 4))) && !pins.are_past(8, Some(bounds(5, 4))));
        pins.remove(bounds(7, 3));
        assert_eq!(pins.least(), Some(bounds(5, 4)));
        pins.remove(bounds(5, 4));
        assert_eq!(pins.least(), None);
    }
}

//! Two slots of the vector for all lanes of a compute server: one for short commits, one for long
//! ones [ZB17 §4.2].
//!
//! The lanes draw their numbers from one counter per slot and finish in any order, but a snapshot
//! covers every number up to the slot's counter in the vector. So the published counter is the end
//! of a prefix of finished numbers: each is committed with all writes installed, or aborted. One
//! lane at a time publishes, for all numbers that are finished by then; the others wait until their
//! number is covered. The price: a commit waits for those that drew before it, and a number with
//! unknown outcome stops the compute server. We deviate from the paper, which has one slot: short
//! commits would wait for the few long ones.
//!
//! Decisions:
//! - docs/decisions/0136-lanes-of-a-compute-server-may-share-a-slot.md
//! - docs/decisions/0140-lanes-that-share-have-two-slots-for-short-and-for-long.md

use crate::snapshot::pins::Pins;
use crate::snapshot::slot::TakenSlot;
use layout::{SlotId, VersionWord};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::task::Waker;

/// Number of slots of a compute server whose lanes share them.
pub(crate) const SLOTS_EACH: usize = 2;
/// The place of the one for long commits and for upkeep.
pub(crate) const LONG: usize = 1;
/// Maximal number of rows of a short commit. The longest order of TPC-C writes 33.
const SHORT_WRITES_MAX: usize = 40;

/// The slots that the lanes of a compute server share.
pub(crate) struct SharedSlot {
    /// The slot whose words hold the lanes' announcement.
    pub slot: SlotId,
    /// The numbers of short commits, and of long ones.
    series: [Series; SLOTS_EACH],
    lanes: Mutex<Lanes>,
}

/// A slot and its numbers.
struct Series {
    slot: SlotId,
    numbers: Mutex<Numbers>,
}

/// The announcement of each lane. The slot's words have the oldest of them.
#[derive(Default)]
struct Lanes {
    lanes: Vec<Announcement>,
    /// Those of parked transactions.
    pins: Pins,
    /// The newest stamp that any lane has seen: later snapshots have at least this stamp.
    newest: u64,
    /// The last running lane is withdrawing the announcement; no lane may announce until that is
    /// done.
    is_resting: bool,
}

#[derive(Clone, Copy, Default)]
struct Announcement {
    is_taken: bool,
    /// 0 if idle; otherwise a lower bound of the snapshot's stamp.
    stamp: u64,
    epoch: u64,
}

impl Lanes {
    fn running(&self) -> impl Iterator<Item = &Announcement> {
        self.lanes.iter().filter(|lane| lane.stamp > 0)
    }

    /// The oldest stamp of a running lane or a parked transaction.
    fn stamp(&self) -> Option<u64> {
        let pinned = self.pins.least().map(|bounds| bounds.stamp);
        self.running().map(|lane| lane.stamp).chain(pinned).min()
    }

    /// The epoch that all running lanes and parked transactions know.
    fn epoch(&self) -> Option<u64> {
        let pinned = self.pins.least().map(|bounds| bounds.epoch);
        self.running().map(|lane| lane.epoch).chain(pinned).min()
    }
}

/// While it exists, the announcement is being withdrawn.
pub(crate) struct Withdrawal<'a>(&'a SharedSlot);

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        self.0.lanes().is_resting = false;
    }
}

#[derive(Default)]
struct Numbers {
    /// Every number up to this one is finished.
    complete: u64,
    /// For each drawn number after `complete`: whether it is finished.
    finished: VecDeque<bool>,
    /// The slot's counter in the vector.
    published: u64,
    is_publishing: bool,
    /// A number with unknown outcome blocks all later ones.
    is_poisoned: bool,
    waiting: Vec<Waker>,
}

/// Lower bounds of snapshots: of the running ones, or of all future ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    pub stamp: u64,
    pub epoch: u64,
}

/// The next step of a lane whose commit is installed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PublishStep {
    /// None: its number is published.
    Published,
    /// Write this number to the slot, then call `note_published`.
    Publish(u64),
    /// Wait for other lanes.
    Wait,
    /// Its number will never be published.
    Poisoned,
}

impl SharedSlot {
    /// Creates the shared slots; each has used its numbers up to its counter.
    pub(crate) fn new(slots: [TakenSlot; SLOTS_EACH]) -> Self {
        let series = |TakenSlot { slot, counter }| {
            let numbers = Numbers { complete: counter, published: counter, ..Numbers::default() };
            Series { slot, numbers: Mutex::new(numbers) }
        };
        Self { slot: slots[0].slot, series: slots.map(series), lanes: Mutex::default() }
    }

    /// Draws a number for a commit with this many writes. The commit must finish it.
    pub(crate) fn draw(&self, writes: usize) -> VersionWord {
        let series = &self.series[usize::from(writes > SHORT_WRITES_MAX)];
        let mut numbers = series.numbers();
        numbers.finished.push_back(false);
        VersionWord::new(series.slot, numbers.complete + numbers.finished.len() as u64)
    }

    /// Finishes a number: its commit has installed its writes, or has released its locks.
    pub(crate) fn finish(&self, drawn: VersionWord) {
        let number = drawn.counter();
        let mut numbers = self.numbers(drawn.slot());
        assert!(number > numbers.complete, "a number is finished once");
        let place = number - numbers.complete - 1;
        numbers.finished[place as usize] = true;
        if place > 0 {
            return;
        }
        while numbers.finished.front() == Some(&true) {
            numbers.finished.pop_front();
            numbers.complete += 1;
        }
        wake_all(numbers);
    }

    /// The next step towards publishing a number.
    pub(crate) fn publish_step(&self, drawn: VersionWord) -> PublishStep {
        self.publish_step_or_wait(drawn, None)
    }

    /// Like [`Self::publish_step`]; if the answer is `Wait`, wakes `waker` when the answer may have
    /// changed.
    pub(crate) fn publish_step_or_wait(
        &self,
        drawn: VersionWord,
        waker: Option<&Waker>,
    ) -> PublishStep {
        let number = drawn.counter();
        let mut numbers = self.numbers(drawn.slot());
        if numbers.published >= number {
            return PublishStep::Published;
        }
        if numbers.is_poisoned {
            return PublishStep::Poisoned;
        }
        if numbers.complete >= number && !numbers.is_publishing {
            numbers.is_publishing = true;
            return PublishStep::Publish(numbers.complete);
        }
        numbers.waiting.extend(waker.cloned());
        PublishStep::Wait
    }

    /// Records that `slot` was published up to `number`.
    pub(crate) fn note_published(&self, slot: SlotId, number: u64) {
        let mut numbers = self.numbers(slot);
        numbers.published = number;
        numbers.is_publishing = false;
        wake_all(numbers);
    }

    /// Records a number with unknown outcome: no later number is ever published.
    pub(crate) fn poison(&self) {
        for series in &self.series {
            let mut numbers = series.numbers();
            numbers.is_poisoned = true;
            wake_all(numbers);
        }
    }

    /// The slots, each with the last number drawn.
    pub(crate) fn last_drawn(&self) -> [TakenSlot; SLOTS_EACH] {
        self.series.each_ref().map(|series| {
            let numbers = series.numbers();
            let counter = numbers.complete + numbers.finished.len() as u64;
            TakenSlot { slot: series.slot, counter }
        })
    }

    pub(crate) fn slots(&self) -> [SlotId; SLOTS_EACH] {
        self.series.each_ref().map(|series| series.slot)
    }

    /// Whether a slot has drawn number `limit` or a later one.
    pub(crate) fn has_drawn(&self, limit: u64) -> bool {
        self.last_drawn().iter().any(|drawn| drawn.counter >= limit)
    }

    /// Whether a number has an unknown outcome.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.series[0].numbers().is_poisoned
    }

    /// Adds a lane; returns its number.
    pub(crate) fn add_lane(&self) -> u32 {
        let mut lanes = self.lanes();
        let place = lanes.lanes.iter().position(|lane| !lane.is_taken);
        let place = place.unwrap_or(lanes.lanes.len());
        if place == lanes.lanes.len() {
            lanes.lanes.push(Announcement::default());
        }
        lanes.lanes[place] = Announcement { is_taken: true, ..Announcement::default() };
        place as u32
    }

    /// Removes a lane; returns whether it was the last.
    pub(crate) fn remove_lane(&self, number: u32) -> bool {
        let mut lanes = self.lanes();
        lanes.lanes[number as usize] = Announcement::default();
        !lanes.lanes.iter().any(|lane| lane.is_taken) && lanes.pins.least().is_none()
    }

    /// Begins a transaction of a lane whose last snapshot had this stamp. Returns the stamp to
    /// announce for all running lanes; `None` while the announcement is being withdrawn.
    pub(crate) fn announce(&self, number: u32, stamp: u64) -> Option<u64> {
        let mut lanes = self.lanes();
        if lanes.is_resting {
            return None;
        }
        lanes.newest = lanes.newest.max(stamp).max(1);
        lanes.lanes[number as usize].stamp = lanes.newest;
        lanes.stamp()
    }

    /// The stamp in the lane's announcement.
    pub(crate) fn stamp_of(&self, number: u32) -> u64 {
        self.lanes().lanes[number as usize].stamp
    }

    /// Records that a running lane knows the catalog of `epoch`. Returns the epoch that all running
    /// lanes know.
    pub(crate) fn acknowledge(&self, number: u32, epoch: u64) -> u64 {
        let mut lanes = self.lanes();
        lanes.lanes[number as usize].epoch = epoch;
        lanes.epoch().unwrap_or(epoch)
    }

    /// The minimum of these bounds and those of the running lanes. `None` while the announcement is
    /// being withdrawn.
    pub(crate) fn bounds_of_running(&self, bounds: Bounds) -> Option<Bounds> {
        let lanes = self.lanes();
        if lanes.is_resting {
            return None;
        }
        let stamp = lanes.stamp().map_or(bounds.stamp, |stamp| stamp.min(bounds.stamp));
        let epoch = lanes.epoch().map_or(bounds.epoch, |epoch| epoch.min(bounds.epoch));
        Some(Bounds { stamp, epoch })
    }

    /// If no lane runs, begins to withdraw the common announcement.
    pub(crate) fn begin_withdrawal(&self) -> Option<Withdrawal<'_>> {
        let mut lanes = self.lanes();
        let is_any_running = lanes.stamp().is_some();
        lanes.is_resting |= !is_any_running;
        (!is_any_running).then(|| Withdrawal(self))
    }

    /// Puts a lane to rest. Returns the epoch whose catalog all running lanes know; an error if no
    /// lane runs, so that the caller must withdraw the announcement; `None` if a fetcher announces
    /// for all lanes. The last is checked under the lock, before a fetcher can begin to announce.
    pub(crate) fn rest(
        &self,
        number: u32,
        is_announced_for: impl FnOnce() -> bool,
    ) -> Result<Option<u64>, Withdrawal<'_>> {
        let mut lanes = self.lanes();
        lanes.lanes[number as usize].stamp = 0;
        self.withdrawn(lanes, is_announced_for)
    }

    /// Moves the announcement of a lane to a parked transaction. The slot's words cover it.
    pub(crate) fn pin(&self, number: u32, bounds: Bounds) {
        let mut lanes = self.lanes();
        lanes.pins.add(bounds);
        lanes.lanes[number as usize].stamp = 0;
    }

    /// Removes the pin of a transaction that has ended; returns as [`Self::rest`].
    pub(crate) fn unpin(
        &self,
        bounds: Bounds,
        is_announced_for: impl FnOnce() -> bool,
    ) -> Result<Option<u64>, Withdrawal<'_>> {
        let mut lanes = self.lanes();
        lanes.pins.remove(bounds);
        self.withdrawn(lanes, is_announced_for)
    }

    fn withdrawn(
        &self,
        mut lanes: MutexGuard<'_, Lanes>,
        is_announced_for: impl FnOnce() -> bool,
    ) -> Result<Option<u64>, Withdrawal<'_>> {
        if is_announced_for() {
            return Ok(None);
        }
        let known = lanes.epoch();
        lanes.is_resting |= known.is_none();
        match known {
            Some(epoch) => Ok(Some(epoch)),
            None => Err(Withdrawal(self)),
        }
    }

    /// Whether every other lane is at rest or has a snapshot of at least this stamp. All parked
    /// transactions have one, too, except the lane's own, which it has resumed.
    pub(crate) fn is_past(&self, number: u32, stamp: u64, own: Option<Bounds>) -> bool {
        let lanes = self.lanes();
        let others = (0..).zip(&lanes.lanes).filter(|&(other, _)| other != number);
        others.into_iter().all(|(_, lane)| lane.stamp == 0 || lane.stamp >= stamp)
            && lanes.pins.are_past(stamp, own)
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().expect("no holder panics")
    }

    fn numbers(&self, slot: SlotId) -> MutexGuard<'_, Numbers> {
        let series = self.series.iter().find(|series| series.slot == slot);
        series.expect("numbers are drawn here").numbers()
    }
}

impl Series {
    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().expect("no holder panics")
    }
}

/// Wakes after it has released the lock: a woken lane takes the lock to see its next step.
fn wake_all(mut numbers: MutexGuard<'_, Numbers>) {
    let waiting = std::mem::take(&mut numbers.waiting);
    drop(numbers);
    waiting.into_iter().for_each(Waker::wake);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(slot: u16, counter: u64) -> TakenSlot {
        TakenSlot { slot: SlotId(slot), counter }
    }

    fn slot() -> SharedSlot {
        SharedSlot::new([taken(3, 10), taken(5, 20)])
    }

    #[test]
    fn a_number_waits_for_those_before_it() {
        let slot = slot();
        let [first, second, third] = [(); 3].map(|()| slot.draw(SHORT_WRITES_MAX));
        assert_eq!([first, second, third].map(VersionWord::counter), [11, 12, 13]);
        slot.finish(second);
        assert_eq!(slot.publish_step(second), PublishStep::Wait);
        slot.finish(first);
        assert_eq!(slot.publish_step(second), PublishStep::Publish(12), "for the first as well");
        assert_eq!(slot.publish_step(first), PublishStep::Wait, "one publishes at a time");
        slot.finish(third);
        slot.note_published(SlotId(3), 12);
        assert_eq!(
            (slot.publish_step(first), slot.publish_step(second)),
            (PublishStep::Published, PublishStep::Published)
        );
        assert_eq!(slot.publish_step(third), PublishStep::Publish(13));
        assert_eq!(slot.draw(0), VersionWord::new(SlotId(3), 14));
    }

    #[test]
    fn short_commits_do_not_wait_for_long_ones() {
        let slot = slot();
        let (long, short) = (slot.draw(SHORT_WRITES_MAX + 1), slot.draw(1));
        assert_eq!((long, short.slot()), (VersionWord::new(SlotId(5), 21), SlotId(3)));
        slot.finish(short);
        assert_eq!(slot.publish_step(short), PublishStep::Publish(11));
        slot.finish(long);
        assert_eq!(slot.publish_step(long), PublishStep::Publish(21));
        assert_eq!(slot.last_drawn(), [taken(3, 11), taken(5, 21)]);
    }

    #[test]
    fn the_oldest_running_stamp_is_announced() {
        let slot = slot();
        let [first, second] = [(); 2].map(|()| slot.add_lane());
        assert_eq!(slot.announce(first, 0), Some(1));
        assert_eq!(slot.announce(second, 7), Some(1), "the first still has an older snapshot");
        assert_eq!(slot.announce(first, 5), Some(7), "stamps seen by others bound this one, too");
        assert!(slot.is_past(first, 7, None) && !slot.is_past(first, 8, None));
        assert_eq!(slot.acknowledge(first, 3), 0, "the second does not know it");
        assert_eq!(slot.acknowledge(second, 4), 3);
        assert_eq!(slot.rest(first, || false).ok(), Some(Some(4)));
        let withdrawal = slot.rest(second, || false).expect_err("no lane runs");
        assert_eq!(slot.announce(first, 9), None);
        drop(withdrawal);
        assert_eq!(slot.announce(first, 9), Some(9));
        assert_eq!(slot.rest(first, || true).ok(), Some(None), "a fetcher announces for all");
        assert_eq!(slot.announce(first, 9), Some(9), "the announcement was not withdrawn");
        assert!(!slot.remove_lane(second));
        assert_eq!(slot.add_lane(), second);
        assert!(!slot.remove_lane(first) && slot.remove_lane(second));
    }

    #[test]
    fn no_number_after_a_poisoned_one_is_published() {
        let slot = slot();
        let (first, second) = (slot.draw(1), slot.draw(1));
        slot.finish(first);
        assert_eq!(slot.publish_step(first), PublishStep::Publish(11));
        slot.note_published(SlotId(3), 11);
        slot.finish(second);
        slot.poison();
        assert_eq!(
            (slot.publish_step(first), slot.publish_step(second)),
            (PublishStep::Published, PublishStep::Poisoned)
        );
        assert!(slot.is_poisoned());
    }
}

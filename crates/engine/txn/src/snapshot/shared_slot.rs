//! Two slots of the vector for all lanes of a compute server: one for short commits, one for long
//! ones [ZB17 §4.2].
//!
//! The lanes draw their numbers from one counter for each slot and come to an end in any order,
//! while a snapshot counts every number up to what the slot says. So a slot counts a prefix of
//! numbers that are all over: committed, with everything installed, or given up. One lane at a time
//! writes it, for all that are over by then; the others wait until it has counted theirs. The price
//! is that a commit waits for those that drew before it, and that a number whose fate nobody knows
//! stops the compute server. We deviate from the paper, which has one slot: short commits
//! would wait for the few long ones.
//!
//! Decisions:
//! - docs/decisions/0136-lanes-of-a-compute-server-may-share-a-slot.md
//! - docs/decisions/0140-lanes-that-share-have-two-slots-for-short-and-for-long.md

use crate::snapshot::slot::TakenSlot;
use layout::{SlotId, VersionWord};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::task::Waker;

/// Slots of a compute server whose lanes share them.
pub(crate) const SLOTS_EACH: usize = 2;
/// More rows than that make a commit a long one: the longest order of TPC-C writes 33.
const SHORT_WRITES_MAX: usize = 40;

/// What the lanes of a compute server share.
pub(crate) struct SharedSlot {
    /// The slot beside which the lanes announce.
    pub slot: SlotId,
    /// Where short commits and long ones have their numbers from.
    series: [Series; SLOTS_EACH],
    lanes: Mutex<Lanes>,
}

/// A slot, and the numbers that are drawn for it.
struct Series {
    slot: SlotId,
    numbers: Mutex<Numbers>,
}

/// What the lanes would announce if they had words of their own: the words beside the slot say the
/// oldest of it.
#[derive(Default)]
struct Lanes {
    lanes: Vec<Announcement>,
    /// The newest stamp that any of them has seen: snapshots yet to come have it or a later one.
    newest: u64,
    /// The last that ran withdraws the announcement, and nobody announces until that is done.
    is_resting: bool,
}

#[derive(Clone, Copy, Default)]
struct Announcement {
    is_taken: bool,
    /// 0 if idle, else a stamp that bounds the snapshot from below.
    stamp: u64,
    epoch: u64,
}

impl Lanes {
    fn running(&self) -> impl Iterator<Item = &Announcement> {
        self.lanes.iter().filter(|lane| lane.stamp > 0)
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
    /// Every number up to here is over.
    complete: u64,
    /// Whether those behind it are over, as far as they were drawn.
    over: VecDeque<bool>,
    /// What the slot counts.
    published: u64,
    is_publishing: bool,
    /// A number that nobody may pass has no owner any more.
    is_poisoned: bool,
    waiting: Vec<Waker>,
}

/// What snapshots have at least: of those that run, or of all that are yet to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    pub stamp: u64,
    pub epoch: u64,
}

/// What a lane whose commit is installed has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// Nothing: its number is counted.
    Counted,
    /// Write this number to the slot, and then say so.
    Publish(u64),
    /// Wait for others.
    Wait,
    /// Its number will never be counted.
    Poisoned,
}

impl SharedSlot {
    /// Slots, with the counters up to which their numbers are used up.
    pub(crate) fn new(slots: [TakenSlot; SLOTS_EACH]) -> Self {
        let series = |TakenSlot { slot, counter }| {
            let numbers = Numbers { complete: counter, published: counter, ..Numbers::default() };
            Series { slot, numbers: Mutex::new(numbers) }
        };
        Self { slot: slots[0].slot, series: slots.map(series), lanes: Mutex::default() }
    }

    /// A number of its own for a commit with this many writes; the commit must finish it.
    pub(crate) fn draw(&self, writes: usize) -> VersionWord {
        let series = &self.series[usize::from(writes > SHORT_WRITES_MAX)];
        let mut numbers = series.numbers();
        numbers.over.push_back(false);
        VersionWord::new(series.slot, numbers.complete + numbers.over.len() as u64)
    }

    /// Ends the use of a number: its commit is installed, or has released its locks.
    pub(crate) fn finish(&self, drawn: VersionWord) {
        let number = drawn.counter();
        let mut numbers = self.numbers(drawn.slot());
        assert!(number > numbers.complete, "a number is finished once");
        let place = number - numbers.complete - 1;
        numbers.over[place as usize] = true;
        if place > 0 {
            return;
        }
        while numbers.over.front() == Some(&true) {
            numbers.over.pop_front();
            numbers.complete += 1;
        }
        wake_all(numbers);
    }

    /// What is to be done for a number to be counted.
    pub(crate) fn turn(&self, drawn: VersionWord) -> Turn {
        self.turn_of(drawn, None)
    }

    /// The same, and `waker` is woken when that may have changed.
    pub(crate) fn turn_of(&self, drawn: VersionWord, waker: Option<&Waker>) -> Turn {
        let number = drawn.counter();
        let mut numbers = self.numbers(drawn.slot());
        if numbers.published >= number {
            return Turn::Counted;
        }
        if numbers.is_poisoned {
            return Turn::Poisoned;
        }
        if numbers.complete >= number && !numbers.is_publishing {
            numbers.is_publishing = true;
            return Turn::Publish(numbers.complete);
        }
        numbers.waiting.extend(waker.cloned());
        Turn::Wait
    }

    /// Says that `slot` counts up to `number`.
    pub(crate) fn note_published(&self, slot: SlotId, number: u64) {
        let mut numbers = self.numbers(slot);
        numbers.published = number;
        numbers.is_publishing = false;
        wake_all(numbers);
    }

    /// Nobody knows what became of a number: nothing behind it is ever counted.
    pub(crate) fn poison(&self) {
        for series in &self.series {
            let mut numbers = series.numbers();
            numbers.is_poisoned = true;
            wake_all(numbers);
        }
    }

    /// The slots, and the last number of each that anybody has drawn.
    pub(crate) fn last_drawn(&self) -> [TakenSlot; SLOTS_EACH] {
        self.series.each_ref().map(|series| {
            let numbers = series.numbers();
            let counter = numbers.complete + numbers.over.len() as u64;
            TakenSlot { slot: series.slot, counter }
        })
    }

    /// The slots.
    pub(crate) fn slots(&self) -> [SlotId; SLOTS_EACH] {
        self.series.each_ref().map(|series| series.slot)
    }

    /// Whether any of the counters has come so far.
    pub(crate) fn has_drawn(&self, limit: u64) -> bool {
        self.last_drawn().iter().any(|drawn| drawn.counter >= limit)
    }

    /// Whether a number is without an end.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.series[0].numbers().is_poisoned
    }

    /// A place for one more lane.
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

    /// Gives the place of a lane back; answers whether it was the last.
    pub(crate) fn remove_lane(&self, number: u32) -> bool {
        let mut lanes = self.lanes();
        lanes.lanes[number as usize] = Announcement::default();
        !lanes.lanes.iter().any(|lane| lane.is_taken)
    }

    /// A lane begins whose last snapshot had this stamp: the stamp to announce for all that run.
    /// `None` while the announcement is being withdrawn.
    pub(crate) fn announce(&self, number: u32, stamp: u64) -> Option<u64> {
        let mut lanes = self.lanes();
        if lanes.is_resting {
            return None;
        }
        lanes.newest = lanes.newest.max(stamp).max(1);
        lanes.lanes[number as usize].stamp = lanes.newest;
        lanes.running().map(|lane| lane.stamp).min()
    }

    /// The stamp that a lane is announced with.
    pub(crate) fn stamp_of(&self, number: u32) -> u64 {
        self.lanes().lanes[number as usize].stamp
    }

    /// A running lane knows the catalog of `epoch`: the epoch that all running ones know.
    pub(crate) fn acknowledge(&self, number: u32, epoch: u64) -> u64 {
        let mut lanes = self.lanes();
        lanes.lanes[number as usize].epoch = epoch;
        lanes.running().map(|lane| lane.epoch).min().unwrap_or(epoch)
    }

    /// The smaller of these bounds and those of the lanes that run. `None` while the announcement
    /// is being withdrawn.
    pub(crate) fn bounds_of_running(&self, bounds: Bounds) -> Option<Bounds> {
        let lanes = self.lanes();
        if lanes.is_resting {
            return None;
        }
        let both = |Bounds { stamp, epoch }: Bounds, lane: &Announcement| Bounds {
            stamp: stamp.min(lane.stamp),
            epoch: epoch.min(lane.epoch),
        };
        Some(lanes.running().fold(bounds, both))
    }

    /// If no lane runs, the announcement that was made for all must be withdrawn.
    pub(crate) fn rest_together(&self) -> Option<Withdrawal<'_>> {
        let mut lanes = self.lanes();
        let is_any_running = lanes.running().next().is_some();
        lanes.is_resting |= !is_any_running;
        (!is_any_running).then(|| Withdrawal(self))
    }

    /// A lane is at rest. Returns the epoch whose catalog all running lanes know; an error if no
    /// lane runs, so that the announcement must be withdrawn; `None` if a fetcher announces for
    /// all, which is checked before one can begin to.
    pub(crate) fn rest(
        &self,
        number: u32,
        is_announced_for: impl FnOnce() -> bool,
    ) -> Result<Option<u64>, Withdrawal<'_>> {
        let mut lanes = self.lanes();
        lanes.lanes[number as usize].stamp = 0;
        if is_announced_for() {
            return Ok(None);
        }
        let known = lanes.running().map(|lane| lane.epoch).min();
        lanes.is_resting |= known.is_none();
        match known {
            Some(epoch) => Ok(Some(epoch)),
            None => Err(Withdrawal(self)),
        }
    }

    /// Whether every other lane is at rest or has a snapshot of at least this stamp.
    pub(crate) fn is_past(&self, number: u32, stamp: u64) -> bool {
        let lanes = self.lanes();
        let others = (0..).zip(&lanes.lanes).filter(|&(other, _)| other != number);
        others.into_iter().all(|(_, lane)| lane.stamp == 0 || lane.stamp >= stamp)
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

/// Wakes outside the lock: a lane that wakes takes the lock to see whether it is its turn.
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
        assert_eq!(slot.turn(second), Turn::Wait);
        slot.finish(first);
        assert_eq!(slot.turn(second), Turn::Publish(12), "for the first as well");
        assert_eq!(slot.turn(first), Turn::Wait, "one publishes at a time");
        slot.finish(third);
        slot.note_published(SlotId(3), 12);
        assert_eq!((slot.turn(first), slot.turn(second)), (Turn::Counted, Turn::Counted));
        assert_eq!(slot.turn(third), Turn::Publish(13));
        assert_eq!(slot.draw(0), VersionWord::new(SlotId(3), 14));
    }

    #[test]
    fn short_commits_do_not_wait_for_long_ones() {
        let slot = slot();
        let (long, short) = (slot.draw(SHORT_WRITES_MAX + 1), slot.draw(1));
        assert_eq!((long, short.slot()), (VersionWord::new(SlotId(5), 21), SlotId(3)));
        slot.finish(short);
        assert_eq!(slot.turn(short), Turn::Publish(11));
        slot.finish(long);
        assert_eq!(slot.turn(long), Turn::Publish(21));
        assert_eq!(slot.last_drawn(), [taken(3, 11), taken(5, 21)]);
    }

    #[test]
    fn the_oldest_of_all_that_run_is_announced() {
        let slot = slot();
        let [first, second] = [(); 2].map(|()| slot.add_lane());
        assert_eq!(slot.announce(first, 0), Some(1));
        assert_eq!(slot.announce(second, 7), Some(1), "the first still has an older snapshot");
        assert_eq!(slot.announce(first, 5), Some(7), "what others have seen bounds this one, too");
        assert!(slot.is_past(first, 7) && !slot.is_past(first, 8));
        assert_eq!(slot.acknowledge(first, 3), 0, "the second does not know it");
        assert_eq!(slot.acknowledge(second, 4), 3);
        assert_eq!(slot.rest(first, || false).ok(), Some(Some(4)));
        let withdrawal = slot.rest(second, || false).expect_err("nobody runs");
        assert_eq!(slot.announce(first, 9), None);
        drop(withdrawal);
        assert_eq!(slot.announce(first, 9), Some(9));
        assert_eq!(slot.rest(first, || true).ok(), Some(None), "somebody announces for all");
        assert_eq!(slot.announce(first, 9), Some(9), "so that nothing is withdrawn");
        assert!(!slot.remove_lane(second));
        assert_eq!(slot.add_lane(), second);
        assert!(!slot.remove_lane(first) && slot.remove_lane(second));
    }

    #[test]
    fn nothing_behind_a_poisoned_number_is_counted() {
        let slot = slot();
        let (first, second) = (slot.draw(1), slot.draw(1));
        slot.finish(first);
        assert_eq!(slot.turn(first), Turn::Publish(11));
        slot.note_published(SlotId(3), 11);
        slot.finish(second);
        slot.poison();
        assert_eq!((slot.turn(first), slot.turn(second)), (Turn::Counted, Turn::Poisoned));
        assert!(slot.is_poisoned());
    }
}

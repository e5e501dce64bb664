//! One slot of the vector for all lanes of a compute server [ZB17 §4.2].
//!
//! The lanes draw their numbers from one counter and come to an end in any order, while a snapshot counts every
//! number up to what the slot says. So the slot counts a prefix of which every number is over: committed, with
//! everything installed, or given up. One lane at a time writes it, for all that are over by then; the others
//! wait until it has counted theirs. The price is that a commit waits for those that drew before it, and that a
//! number whose fate nobody knows stops the compute server.

use layout::SlotId;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::task::Waker;

/// What the lanes that draw from one slot share.
pub(crate) struct SharedSlot {
    pub slot: SlotId,
    numbers: Mutex<Numbers>,
    lanes: Mutex<Lanes>,
}

/// What the lanes would announce if they had words of their own: the words beside the slot say the oldest of it.
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

/// While it stands, the announcement is being withdrawn.
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
    is_lost: bool,
    waiting: Vec<Waker>,
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
    Lost,
}

impl SharedSlot {
    /// A slot of which all numbers up to `counter` are used up.
    pub(crate) fn new(slot: SlotId, counter: u64) -> Self {
        let numbers = Numbers { complete: counter, published: counter, ..Numbers::default() };
        Self { slot, numbers: Mutex::new(numbers), lanes: Mutex::default() }
    }

    /// A number that nobody else has; it has to come to an end.
    pub(crate) fn draw(&self) -> u64 {
        let mut numbers = self.numbers();
        numbers.over.push_back(false);
        numbers.complete + numbers.over.len() as u64
    }

    /// Says that `number` is over.
    pub(crate) fn end(&self, number: u64) {
        let mut numbers = self.numbers();
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

    /// What is to be done for `number` to be counted.
    pub(crate) fn turn(&self, number: u64) -> Turn {
        self.turn_of(number, None)
    }

    /// The same, and `waker` is woken when that may have changed.
    pub(crate) fn turn_of(&self, number: u64, waker: Option<&Waker>) -> Turn {
        let mut numbers = self.numbers();
        if numbers.published >= number {
            return Turn::Counted;
        }
        if numbers.is_lost {
            return Turn::Lost;
        }
        if numbers.complete >= number && !numbers.is_publishing {
            numbers.is_publishing = true;
            return Turn::Publish(numbers.complete);
        }
        numbers.waiting.extend(waker.cloned());
        Turn::Wait
    }

    /// Says that the slot counts up to `number`.
    pub(crate) fn note_published(&self, number: u64) {
        let mut numbers = self.numbers();
        numbers.published = number;
        numbers.is_publishing = false;
        wake_all(numbers);
    }

    /// Says that a number stays without an end: nothing behind it is ever counted.
    pub(crate) fn lose(&self) {
        let mut numbers = self.numbers();
        numbers.is_lost = true;
        wake_all(numbers);
    }

    /// The last number that anybody has drawn.
    pub(crate) fn last_drawn(&self) -> u64 {
        let numbers = self.numbers();
        numbers.complete + numbers.over.len() as u64
    }

    /// Whether a number stays without an end.
    pub(crate) fn is_lost(&self) -> bool {
        self.numbers().is_lost
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

    /// A lane begins whose last snapshot had this stamp: the stamp to announce for all that run. `None` while the
    /// announcement is being withdrawn.
    pub(crate) fn announce(&self, number: u32, stamp: u64) -> Option<u64> {
        let mut lanes = self.lanes();
        if lanes.is_resting {
            return None;
        }
        lanes.newest = lanes.newest.max(stamp).max(1);
        lanes.lanes[number as usize].stamp = lanes.newest;
        lanes.running().map(|lane| lane.stamp).min()
    }

    /// A running lane knows the catalog of `epoch`: the epoch that all running ones know.
    pub(crate) fn acknowledge(&self, number: u32, epoch: u64) -> u64 {
        let mut lanes = self.lanes();
        lanes.lanes[number as usize].epoch = epoch;
        lanes.running().map(|lane| lane.epoch).min().unwrap_or(epoch)
    }

    /// A lane is at rest. If others run, they know the catalog of the epoch that is answered; if not, the
    /// announcement has to be withdrawn.
    pub(crate) fn rest(&self, number: u32) -> Result<u64, Withdrawal<'_>> {
        let mut lanes = self.lanes();
        lanes.lanes[number as usize].stamp = 0;
        let known = lanes.running().map(|lane| lane.epoch).min();
        lanes.is_resting |= known.is_none();
        match known {
            Some(epoch) => Ok(epoch),
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

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().expect("no holder panics")
    }
}

/// Wakes outside the lock: who is woken asks for its turn at once.
fn wake_all(mut numbers: MutexGuard<'_, Numbers>) {
    let waiting = std::mem::take(&mut numbers.waiting);
    drop(numbers);
    waiting.into_iter().for_each(Waker::wake);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot() -> SharedSlot {
        SharedSlot::new(SlotId(3), 10)
    }

    #[test]
    fn a_number_waits_for_those_before_it() {
        let slot = slot();
        let [first, second, third] = [(); 3].map(|()| slot.draw());
        assert_eq!([first, second, third], [11, 12, 13]);
        slot.end(second);
        assert_eq!(slot.turn(second), Turn::Wait);
        slot.end(first);
        assert_eq!(slot.turn(second), Turn::Publish(12), "for the first as well");
        assert_eq!(slot.turn(first), Turn::Wait, "one publishes at a time");
        slot.end(third);
        slot.note_published(12);
        assert_eq!((slot.turn(first), slot.turn(second)), (Turn::Counted, Turn::Counted));
        assert_eq!(slot.turn(third), Turn::Publish(13));
        assert_eq!(slot.draw(), 14);
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
        assert_eq!(slot.rest(first).ok(), Some(4));
        let withdrawal = slot.rest(second).expect_err("nobody runs");
        assert_eq!(slot.announce(first, 9), None);
        drop(withdrawal);
        assert_eq!(slot.announce(first, 9), Some(9));
        assert!(!slot.remove_lane(second));
        assert_eq!(slot.add_lane(), second);
        assert!(!slot.remove_lane(first) && slot.remove_lane(second));
    }

    #[test]
    fn nothing_behind_a_lost_number_is_counted() {
        let slot = slot();
        let (first, second) = (slot.draw(), slot.draw());
        slot.end(first);
        assert_eq!(slot.turn(first), Turn::Publish(11));
        slot.note_published(11);
        slot.end(second);
        slot.lose();
        assert_eq!((slot.turn(first), slot.turn(second)), (Turn::Counted, Turn::Lost));
        assert!(slot.is_lost());
    }
}

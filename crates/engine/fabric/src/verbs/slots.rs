//! A bounded number of objects that the threads of a process share, by numbers that are reused.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};

/// Slots for one object each, which lives as long as it is used.
pub(super) struct Slots<T> {
    slots: Mutex<Vec<Slot<T>>>,
    is_settled: Condvar,
}

enum Slot<T> {
    Free,
    /// A thread is creating the object.
    Claimed,
    Used(Weak<T>),
}

/// The slot for a thread.
pub(super) enum Choice<'a, T> {
    /// An object that other threads use too.
    Share(Arc<T>),
    /// A free slot for a new object.
    Make(Claim<'a, T>),
}

/// The right to create the object of a slot; dropped without an object, it frees the slot.
pub(super) struct Claim<'a, T> {
    slots: &'a Slots<T>,
    place: usize,
    made: Option<Weak<T>>,
}

impl<T> Slots<T> {
    pub(super) fn new(count: u32) -> Self {
        assert!(count > 0, "without a place nobody gets anything");
        let slots = (0..count).map(|_| Slot::Free).collect();
        Self { slots: Mutex::new(slots), is_settled: Condvar::new() }
    }

    /// A free slot; if there is none, the sound object with the least `load`; otherwise the slot of
    /// an unsound object, which other threads may still use. Waits while all slots are claimed.
    pub(super) fn choose(
        &self,
        is_sound: impl Fn(&T) -> bool,
        load: impl Fn(&T) -> usize,
    ) -> Choice<'_, T> {
        let mut slots = self.lock();
        loop {
            let free = slots.iter().position(|slot| match slot {
                Slot::Free => true,
                Slot::Claimed => false,
                Slot::Used(used) => used.strong_count() == 0,
            });
            if let Some(place) = free {
                return self.claim(&mut slots, place);
            }
            let used = slots.iter().enumerate().filter_map(|(place, slot)| match slot {
                Slot::Used(used) => Some((place, used.upgrade()?)),
                Slot::Free | Slot::Claimed => None,
            });
            let (sound, unsound): (Vec<_>, Vec<_>) = used.partition(|(_, used)| is_sound(used));
            if let Some((_, least)) = sound.into_iter().min_by_key(|(_, used)| load(used)) {
                return Choice::Share(least);
            }
            if let Some((place, _)) = unsound.first() {
                return self.claim(&mut slots, *place);
            }
            slots = self.is_settled.wait(slots).expect("no holder panics");
        }
    }

    fn claim(&self, slots: &mut [Slot<T>], place: usize) -> Choice<'_, T> {
        slots[place] = Slot::Claimed;
        Choice::Make(Claim { slots: self, place, made: None })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Slot<T>>> {
        self.slots.lock().expect("no holder panics")
    }
}

impl<T> Claim<'_, T> {
    /// The number of the slot, unique among those in use.
    pub(super) fn number(&self) -> u64 {
        self.place as u64
    }

    /// Ends the claim with the new object.
    pub(super) fn settle(mut self, made: &Arc<T>) {
        self.made = Some(Arc::downgrade(made));
    }
}

impl<T> Drop for Claim<'_, T> {
    fn drop(&mut self) {
        let slot = self.made.take().map_or(Slot::Free, Slot::Used);
        self.slots.lock()[self.place] = slot;
        self.slots.is_settled.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects whose load is their value; those from 100 on are unsound.
    fn choose(slots: &Slots<usize>) -> Choice<'_, usize> {
        slots.choose(|&value| value < 100, |&value| value)
    }

    fn make(slots: &Slots<usize>, value: usize) -> (u64, Arc<usize>) {
        let Choice::Make(claim) = choose(slots) else { panic!("there is no place") };
        let (number, made) = (claim.number(), Arc::new(value));
        claim.settle(&made);
        (number, made)
    }

    fn share(slots: &Slots<usize>) -> usize {
        match choose(slots) {
            Choice::Share(shared) => *shared,
            Choice::Make(_) => panic!("there is something to share"),
        }
    }

    #[test]
    fn numbers_are_used_again_and_the_least_loaded_is_shared() {
        let slots = Slots::new(2);
        let (first, second) = (make(&slots, 7), make(&slots, 5));
        assert_eq!((first.0, second.0), (0, 1));
        assert_eq!(share(&slots), 5);
        drop(first);
        let third = make(&slots, 3);
        assert_eq!((third.0, share(&slots)), (0, 3));
    }

    #[test]
    fn what_is_not_sound_keeps_its_place_until_there_is_nothing_else() {
        let slots = Slots::new(2);
        let (broken, sound) = (make(&slots, 100), make(&slots, 5));
        assert_eq!(share(&slots), 5);
        drop(sound);
        assert_eq!(
            make(&slots, 101).0,
            1,
            "a free place comes first, though what was made is gone"
        );
        let other = make(&slots, 102);
        assert_eq!((other.0, broken.0), (1, 0));
        assert_eq!(make(&slots, 6).0, 0, "nothing is sound, so that a place is taken over");
    }

    #[test]
    fn others_go_on_while_one_is_made_and_wait_if_there_is_nothing_else() {
        let slots = Slots::new(2);
        let used = make(&slots, 7);
        let Choice::Make(claim) = choose(&slots) else { panic!("there is a place") };
        assert_eq!(share(&slots), 7);
        drop(used);
        let again = make(&slots, 100);
        drop(again);
        let Choice::Make(other) = choose(&slots) else { panic!("there is a place") };
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| share(&slots));
            // Gives it time to wait; whether it waits does not matter.
            std::thread::yield_now();
            let made = Arc::new(4);
            claim.settle(&made);
            assert_eq!(waiting.join().expect("it ends"), 4);
        });
        drop(other);
        assert_eq!(make(&slots, 1).0, 0, "what comes to nothing leaves its place");
    }
}

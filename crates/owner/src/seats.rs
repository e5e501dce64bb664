//! Seats: what handlers of calls work with, kept for each thread, because lanes of simulated worlds stay on theirs.
//!
//! A handler takes a seat that is free and gives it back; in between it may wait. Seats have numbers of whose they are.

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

type Seats = BTreeMap<u64, VecDeque<Box<dyn Any>>>;

thread_local! {
    /// Free seats of this thread, by the number of their owner.
    static SEATS: RefCell<Seats> = const { RefCell::new(BTreeMap::new()) };
}

/// One seat more for calls that come on this thread. It is taken when all others were, so that each lane works as much as
/// any other.
pub fn give<S: 'static>(number: u64, seat: S) {
    let seat: Box<dyn Any> = Box::new(seat);
    SEATS.with_borrow_mut(|seats| seats.entry(number).or_default().push_back(seat));
}

/// A free seat, if there is one.
///
/// # Panics
/// Where the owner has seats of another kind.
pub fn take<S: 'static>(number: u64) -> Option<S> {
    let free = SEATS.with_borrow_mut(|seats| seats.get_mut(&number)?.pop_front())?;
    Some(*free.downcast().expect("an owner has seats of one kind"))
}

/// The seats of owners; dropped, they are free no more.
#[derive(Debug)]
pub struct Ownership(Vec<u64>);

impl Ownership {
    /// The seats of these owners, on this thread.
    pub fn of(numbers: impl IntoIterator<Item = u64>) -> Self {
        Self(numbers.into_iter().collect())
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        // What they hold may end worlds, and that may look here again.
        let seats: Vec<_> =
            SEATS.with_borrow_mut(|seats| self.0.iter().filter_map(|n| seats.remove(n)).collect());
        drop(seats);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_are_taken_by_turns_and_go_with_their_owner() {
        let owner = Ownership::of([7]);
        give(7, 'a');
        give(7, 'b');
        assert_eq!(take::<char>(7), Some('a'));
        give(7, 'a');
        assert_eq!([take::<char>(7), take(7), take(7)], [Some('b'), Some('a'), None]);
        give(7, 'c');
        drop(owner);
        assert_eq!(take::<char>(7), None);
    }
}

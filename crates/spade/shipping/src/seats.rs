//! Seats: resources of handlers, kept per thread, because lanes of simulated worlds cannot leave
//! their thread.
//!
//! A handler takes a free seat and gives it back; it may await in between. The number of a seat
//! identifies its owner.
//!
//! Decision: docs/decisions/0269-lanes-for-handlers-are-a-crate-of-their-own.md

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

type Seats = BTreeMap<u64, VecDeque<Box<dyn Any>>>;

thread_local! {
    /// Free seats of this thread, by the number of their owner.
    static SEATS: RefCell<Seats> = const { RefCell::new(BTreeMap::new()) };
}

/// Adds a seat for calls that are served on this thread. Seats are taken in first-in, first-out
/// order, so that all lanes are used equally.
pub fn give<S: 'static>(number: u64, seat: S) {
    let seat: Box<dyn Any> = Box::new(seat);
    SEATS.with_borrow_mut(|seats| seats.entry(number).or_default().push_back(seat));
}

/// Takes a free seat, if there is one.
///
/// # Panics
/// If the owner has seats of another type.
pub fn take<S: 'static>(number: u64) -> Option<S> {
    let free = SEATS.with_borrow_mut(|seats| seats.get_mut(&number)?.pop_front())?;
    Some(*free.downcast().expect("an owner has seats of one kind"))
}

/// A guard that removes the seats of its owners when it is dropped.
#[derive(Debug)]
pub struct Ownership(Vec<u64>);

impl Ownership {
    /// Creates a guard for the seats of these owners, on this thread.
    pub fn of(numbers: impl IntoIterator<Item = u64>) -> Self {
        Self(numbers.into_iter().collect())
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        // Dropping the seats may end worlds, and that may access this map again.
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

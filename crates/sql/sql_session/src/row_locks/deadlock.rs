//! Finds sessions that wait for each other in a circle.
//!
//! A session looks when it has waited for a while: the last one that joins a circle sees all of it.
//! One session looks at a time, and the one that finds a circle leaves it before the next one
//! looks, so that a circle has one victim.
//!
//! Queues of different rows cannot be read at one moment. A circle is therefore read twice: a
//! session that waits with the same ticket both times has waited in between, and has released
//! nothing. All of them have waited at a time, so none of them can go on.

use super::table::next_ticket;
use super::{Owner, RowKey, RowLocks};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Mutex, MutexGuard};

/// Number of times that a session looks. Queues that change all the time may hide a circle from it;
/// it looks again while it waits.
const LOOKS_MAX: u32 = 4;

/// The sessions that wait.
#[derive(Default)]
pub(crate) struct Waits {
    waiting: Mutex<BTreeMap<Owner, Wait>>,
    looking: Mutex<()>,
}

/// The row that a session waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Wait {
    row: RowKey,
    ticket: u64,
}

impl Waits {
    pub fn begin(&self, owner: Owner, row: RowKey) {
        self.waiting().insert(owner, Wait { row, ticket: next_ticket() });
    }

    pub fn end(&self, owner: Owner) {
        self.waiting().remove(&owner);
    }

    fn of(&self, owner: Owner) -> Option<Wait> {
        self.waiting().get(&owner).copied()
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<Owner, Wait>> {
        self.waiting.lock().expect("no holder panics")
    }
}

impl RowLocks {
    /// Whether a session that has begun to wait would wait for itself. Then it waits no more, and
    /// its request is gone.
    pub(super) fn gives_up(&self, owner: Owner, row: RowKey) -> bool {
        let _looking = self.waits.looking.lock().expect("no holder panics");
        let mut circles = std::iter::repeat_with(|| self.circle_of(owner));
        let is_found = (0..LOOKS_MAX).any(|_| {
            let circle = circles.next().flatten();
            circle.is_some() && circles.next() == Some(circle)
        });
        if !is_found {
            return false;
        }
        // Requests before it may wait a little longer.
        if self.pass(owner, row) || !self.cancel(owner, row) {
            return false;
        }
        self.waits.end(owner);
        true
    }

    /// The waits of a circle through a session, in order.
    fn circle_of(&self, owner: Owner) -> Option<Vec<(Owner, Wait)>> {
        let mut came_from: BTreeMap<Owner, (Owner, Wait)> = BTreeMap::new();
        let mut to_visit = vec![owner];
        while let Some(one) = to_visit.pop() {
            let Some(wait) = self.waits.of(one) else { continue };
            for blocker in self.blockers(one, wait.row) {
                if blocker == owner {
                    let mut circle = vec![(one, wait)];
                    while let Some(&before) = came_from.get(&circle[circle.len() - 1].0) {
                        circle.push(before);
                    }
                    return Some(circle);
                }
                if let Entry::Vacant(new) = came_from.entry(blocker) {
                    new.insert((one, wait));
                    to_visit.push(blocker);
                }
            }
        }
        None
    }
}

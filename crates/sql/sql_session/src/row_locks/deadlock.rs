//! Finds sessions that wait for each other in a circle.
//!
//! A session looks when it has waited for a while: the last one that joins a circle sees all of it.
//! One session looks at a time, and the one that finds a circle leaves it before the next one
//! looks, so that a circle has one victim.
//!
//! Queues of different rows cannot be read at one moment. A circle is therefore read twice: a
//! session that waits with the same ticket both times has waited in between, and has released
//! nothing. All of them have waited at a time, so none of them can go on.
//!
//! Most sessions that wait hold no row that somebody else waits for, and need not look. The others
//! read each queue once, so that a look takes time in proportion to those who wait.

use super::queue::QueueView;
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
    waiting: Mutex<Waiting>,
    looking: Mutex<()>,
    /// Number of queues that were read.
    #[cfg(test)]
    pub views: std::sync::atomic::AtomicU64,
}

#[derive(Default)]
struct Waiting {
    sessions: BTreeMap<Owner, Wait>,
    /// The rows that they wait for, each with the number of those who do.
    rows: BTreeMap<RowKey, u32>,
}

/// The row that a session waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Wait {
    row: RowKey,
    ticket: u64,
}

impl Waits {
    pub fn begin(&self, owner: Owner, row: RowKey) {
        let mut waiting = self.waiting();
        waiting.sessions.insert(owner, Wait { row, ticket: next_ticket() });
        *waiting.rows.entry(row).or_default() += 1;
    }

    pub fn end(&self, owner: Owner) {
        let mut waiting = self.waiting();
        let Some(Wait { row, .. }) = waiting.sessions.remove(&owner) else { return };
        if let Entry::Occupied(mut count) = waiting.rows.entry(row) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// The rows that anybody waits for.
    fn rows(&self) -> Vec<RowKey> {
        self.waiting().rows.keys().copied().collect()
    }

    fn of(&self, owner: Owner) -> Option<Wait> {
        self.waiting().sessions.get(&owner).copied()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().expect("no holder panics")
    }
}

impl RowLocks {
    /// Whether a session that has begun to wait would wait for itself. Then it waits no more, and
    /// its request is gone.
    pub(super) fn gives_up(&self, owner: Owner, row: RowKey) -> bool {
        if !self.waits.rows().into_iter().any(|awaited| self.is_held_by(owner, awaited)) {
            return false;
        }
        let _looking = self.waits.looking.lock().expect("no holder panics");
        let is_found = (0..LOOKS_MAX).map_while(|_| self.circle_of(owner)).any(|circle| {
            // The same circle, and nobody in it has gone on meanwhile.
            self.circle_of(owner) == Some(circle)
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
        let mut queues: BTreeMap<RowKey, QueueView> = BTreeMap::new();
        let mut to_visit = vec![owner];
        while let Some(one) = to_visit.pop() {
            let Some(wait) = self.waits.of(one) else { continue };
            let queue = queues.entry(wait.row).or_insert_with(|| self.view(wait.row));
            for blocker in queue.blockers(one) {
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

//! The lock of one row: its holders, and a queue of those who wait.
//!
//! A request waits for holders whose modes conflict with it, and then also for conflicting requests
//! before it. One with which no holder conflicts does not wait, as in PostgreSQL: otherwise a check
//! of a foreign key would wait for a deletion that waits for another check. A holder that wants a
//! stronger mode goes ahead of those who hold nothing: they wait for it in any case.

use super::Owner;
use interpreter::RowLockMode;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// The lock of a row.
#[derive(Default, Debug)]
pub(crate) struct RowQueue {
    pub holders: Vec<(Owner, RowLockMode)>,
    pub waiters: VecDeque<Waiting>,
}

/// A request that waits.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub owner: Owner,
    pub mode: RowLockMode,
    pub signal: Arc<Signal>,
    /// Whether a holder has changed the row, and committed, since the request came.
    is_changed: bool,
}

/// Tells a session that its request is granted.
#[derive(Default, Debug)]
pub(crate) struct Signal {
    granted: Mutex<Option<Grant>>,
    changed: Condvar,
}

/// The end of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Grant {
    /// Whether somebody has changed the row, and committed, during the wait.
    pub is_changed: bool,
}

impl Signal {
    pub fn granted(&self) -> MutexGuard<'_, Option<Grant>> {
        self.granted.lock().expect("no holder panics")
    }

    pub fn changed(&self) -> &Condvar {
        &self.changed
    }

    fn grant(&self, grant: Grant) {
        *self.granted() = Some(grant);
        self.changed.notify_all();
    }
}

impl RowQueue {
    pub fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.waiters.is_empty()
    }

    /// The mode that a session holds.
    pub fn held_by(&self, owner: Owner) -> Option<RowLockMode> {
        self.holders.iter().find(|holder| holder.0 == owner).map(|holder| holder.1)
    }

    /// Whether other holders block a mode.
    pub fn is_blocked_by_holders(&self, owner: Owner, mode: RowLockMode) -> bool {
        self.holders.iter().any(|holder| holder.0 != owner && holder.1.conflicts_with(mode))
    }

    /// Grants a request now, if no holder blocks it.
    pub fn try_take(&mut self, owner: Owner, mode: RowLockMode) -> bool {
        if self.is_blocked_by_holders(owner, mode) {
            return false;
        }
        self.set(owner, mode);
        true
    }

    /// Makes a session a holder, also ahead of those who wait.
    pub fn set(&mut self, owner: Owner, mode: RowLockMode) {
        match self.holders.iter_mut().find(|holder| holder.0 == owner) {
            Some(holder) => holder.1 = mode,
            None => self.holders.push((owner, mode)),
        }
    }

    /// Adds a request to the queue.
    pub fn wait(&mut self, owner: Owner, mode: RowLockMode) -> Arc<Signal> {
        let signal = Arc::new(Signal::default());
        let waiting = Waiting { owner, mode, signal: signal.clone(), is_changed: false };
        // Upgrades come first, in their order.
        let at = match self.held_by(owner) {
            Some(_) => self
                .waiters
                .iter()
                .position(|one| self.holders.iter().all(|holder| holder.0 != one.owner)),
            None => None,
        };
        self.waiters.insert(at.unwrap_or(self.waiters.len()), waiting);
        signal
    }

    /// Removes a request; false if it is not in the queue.
    pub fn cancel(&mut self, owner: Owner) -> bool {
        let before = self.waiters.len();
        self.waiters.retain(|one| one.owner != owner);
        let is_removed = self.waiters.len() < before;
        self.grant_all();
        is_removed
    }

    /// Grants a request that waits, if only other requests block it.
    pub fn pass(&mut self, owner: Owner) -> bool {
        let Some(at) = self.waiters.iter().position(|one| one.owner == owner) else {
            return false;
        };
        if self.is_blocked_by_holders(owner, self.waiters[at].mode) {
            return false;
        }
        self.grant(at);
        true
    }

    /// A session gives a mode back, for a weaker one or none. `is_changed` says that it has
    /// committed a change.
    pub fn release(&mut self, owner: Owner, kept: Option<RowLockMode>, is_changed: bool) {
        match kept {
            Some(mode) => self.set(owner, mode),
            None => self.holders.retain(|holder| holder.0 != owner),
        }
        if is_changed {
            self.waiters.iter_mut().for_each(|one| one.is_changed = true);
        }
        self.grant_all();
    }

    /// Grants all requests that nothing blocks any more.
    fn grant_all(&mut self) {
        let mut at = 0;
        while at < self.waiters.len() {
            let Waiting { owner, mode, .. } = self.waiters[at];
            let is_behind =
                self.waiters.iter().take(at).any(|before| before.mode.conflicts_with(mode));
            if is_behind || self.is_blocked_by_holders(owner, mode) {
                at += 1;
                continue;
            }
            self.grant(at);
        }
    }

    fn grant(&mut self, at: usize) {
        if let Some(Waiting { owner, mode, signal, is_changed }) = self.waiters.remove(at) {
            self.set(owner, mode);
            signal.grant(Grant { is_changed });
        }
    }

    /// The queue as it is now.
    pub fn view(&self) -> QueueView {
        let waiters: Vec<_> = self.waiters.iter().map(|one| (one.owner, one.mode)).collect();
        let places = waiters.iter().enumerate().map(|(at, one)| (one.0, at)).collect();
        QueueView { holders: self.holders.clone(), waiters, places }
    }
}

/// A queue as it was at a moment.
#[derive(Default)]
pub(crate) struct QueueView {
    holders: Vec<(Owner, RowLockMode)>,
    waiters: Vec<(Owner, RowLockMode)>,
    /// The places of those who wait.
    places: BTreeMap<Owner, usize>,
}

impl QueueView {
    /// Sessions that a waiting one waits for; it waits for the others through these.
    pub fn blockers(&self, owner: Owner) -> Vec<Owner> {
        let Some(&at) = self.places.get(&owner) else { return Vec::new() };
        let mode = self.waiters[at].1;
        let holders = self.holders.iter().filter(|one| one.0 != owner);
        let holders = holders.filter(|one| one.1.conflicts_with(mode)).map(|one| one.0);
        let mut blockers: Vec<Owner> = holders.collect();
        for &(before, its) in self.waiters[..at].iter().rev() {
            if its.conflicts_with(mode) {
                blockers.push(before);
                // Earlier requests that conflict with this mode conflict with a stronger one, too.
                if its >= mode {
                    break;
                }
            }
        }
        blockers
    }
}

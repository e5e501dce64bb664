//! Advisory locks: numbers that programs lock, such as tools that run one migration at a time.
//!
//! They belong to the sessions of this process, not to the database.

use crate::error::SqlError;
use crate::waiting::{Courtesy, Waiter, wait_until};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// How long a session waits for a lock, if it has no `lock_timeout`.
const WAIT_MAX: Duration = Duration::from_secs(600);

/// A locked number: one of 64 bits, or two of 32.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum AdvisoryKey {
    One(i64),
    Two(i32, i32),
}

/// The locks of all sessions.
#[derive(Default)]
pub(crate) struct AdvisoryLocks {
    held: Mutex<BTreeMap<AdvisoryKey, Holders>>,
    released: Condvar,
}

/// The sessions that hold a lock.
#[derive(Default, PartialEq)]
struct Holders {
    exclusive: Option<u64>,
    shared: BTreeSet<u64>,
    /// Number of sessions that wait to be the only holder. Those who come to share it let them go
    /// first, for a while.
    wanted: u32,
}

impl Holders {
    fn take(&mut self, session: u64, is_shared: bool) -> bool {
        let is_mine = self.exclusive.is_none_or(|holder| holder == session);
        let is_free = is_mine && (is_shared || self.shared.iter().all(|&one| one == session));
        if is_free && is_shared {
            self.shared.insert(session);
        } else if is_free {
            self.exclusive = Some(session);
        }
        is_free
    }
}

impl AdvisoryLocks {
    /// Takes a lock if it is free for this session; returns whether it was.
    fn try_take(&self, key: AdvisoryKey, session: u64, is_shared: bool) -> bool {
        self.held().entry(key).or_default().take(session, is_shared)
    }

    /// Takes a lock when it is free for this session.
    fn take(
        &self,
        key: AdvisoryKey,
        session: u64,
        is_shared: bool,
        waiter: &dyn Waiter,
    ) -> Result<(), SqlError> {
        let goes_first = Courtesy::new(waiter);
        let mut is_wanted = false;
        let take = |held: &mut BTreeMap<AdvisoryKey, Holders>| {
            let holders = held.entry(key).or_default();
            let holds = holders.shared.contains(&session) || holders.exclusive == Some(session);
            let defers = is_shared && holders.wanted > 0 && !holds;
            if defers && !goes_first.is_over(waiter) {
                return false;
            }
            let is_taken = holders.take(session, is_shared);
            if !is_taken && !is_shared && !is_wanted {
                (is_wanted, holders.wanted) = (true, holders.wanted + 1);
            }
            is_taken
        };
        let busy = || {
            let detail = format!("Other sessions have held it for {} seconds.", WAIT_MAX.as_secs());
            SqlError::new("55P03", "could not obtain advisory lock").detail(detail)
        };
        let waiting = (waiter, WAIT_MAX);
        let taken = wait_until(waiting, &self.released, self.held(), take, busy).map(drop);
        if is_wanted {
            self.change(key, |holders| holders.wanted -= 1);
        }
        taken
    }

    fn release(&self, key: AdvisoryKey, session: u64, is_shared: bool) {
        self.change(key, |holders| match is_shared {
            true => _ = holders.shared.remove(&session),
            false => holders.exclusive = holders.exclusive.filter(|one| *one != session),
        });
    }

    fn change(&self, key: AdvisoryKey, change: impl FnOnce(&mut Holders)) {
        let mut held = self.held();
        if let Some(holders) = held.get_mut(&key) {
            change(holders);
            if *holders == Holders::default() {
                held.remove(&key);
            }
        }
        drop(held);
        self.released.notify_all();
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<AdvisoryKey, Holders>> {
        self.held.lock().expect("no holder panics")
    }
}

/// The locks that a session holds. It may hold one several times.
pub(crate) struct HeldAdvisory {
    session: u64,
    held: Vec<Held>,
}

#[derive(Clone, Copy)]
struct Held {
    key: AdvisoryKey,
    is_shared: bool,
    is_of_transaction: bool,
}

impl HeldAdvisory {
    /// `session` distinguishes all sessions of the process.
    pub fn new(session: u64) -> Self {
        Self { session, held: Vec::new() }
    }

    /// Takes a lock that [`Self::add`] then holds: when it is free, or at once if there is no
    /// waiter. Returns whether it was free.
    pub fn take(
        &self,
        locks: &AdvisoryLocks,
        key: AdvisoryKey,
        is_shared: bool,
        waiter: Option<&dyn Waiter>,
    ) -> Result<bool, SqlError> {
        match waiter {
            None => Ok(locks.try_take(key, self.session, is_shared)),
            Some(waiter) => locks.take(key, self.session, is_shared, waiter).map(|()| true),
        }
    }

    /// The session holds a lock that was taken, once more.
    pub fn add(&mut self, key: AdvisoryKey, is_shared: bool, is_of_transaction: bool) {
        self.held.push(Held { key, is_shared, is_of_transaction });
    }

    /// Releases a lock of the session once; returns whether it held it.
    pub fn release(&mut self, locks: &AdvisoryLocks, key: AdvisoryKey, is_shared: bool) -> bool {
        let is_it =
            |one: &Held| one.key == key && one.is_shared == is_shared && !one.is_of_transaction;
        let found = self.held.iter().rposition(is_it);
        if let Some(at) = found {
            let one = self.held.remove(at);
            self.let_go(locks, one);
        }
        found.is_some()
    }

    /// Number of locks that belong to the transaction.
    pub fn count_of_transaction(&self) -> usize {
        self.held.iter().filter(|one| one.is_of_transaction).count()
    }

    /// Releases the locks of the transaction, except the first `kept`.
    pub fn release_behind(&mut self, locks: &AdvisoryLocks, kept: usize) {
        let mut seen = 0;
        let is_behind = |one: &mut Held| {
            seen += usize::from(one.is_of_transaction);
            one.is_of_transaction && seen > kept
        };
        let gone: Vec<Held> = self.held.extract_if(.., is_behind).collect();
        gone.into_iter().for_each(|one| self.let_go(locks, one));
    }

    /// Releases the locks of the transaction, or those of the session.
    pub fn release_all(&mut self, locks: &AdvisoryLocks, of_transaction: bool) {
        let is_it = |one: &mut Held| one.is_of_transaction == of_transaction;
        let gone: Vec<Held> = self.held.extract_if(.., is_it).collect();
        gone.into_iter().for_each(|one| self.let_go(locks, one));
    }

    fn let_go(&self, locks: &AdvisoryLocks, gone: Held) {
        let is_same = |one: &Held| one.key == gone.key && one.is_shared == gone.is_shared;
        if !self.held.iter().any(is_same) {
            locks.release(gone.key, self.session, gone.is_shared);
        }
    }
}

//! Locks of whole tables, among the sessions of a process: transactions that change rows share a
//! table, and changes that replace its storage have it for themselves.
//!
//! The engine detects conflicts of rows. It cannot know that a table's storage is replaced by
//! another one, so rows that a transaction writes into the old one would be lost.

use crate::error::SqlError;
use crate::waiting::{WAIT_MAX, Waiter, wait_until};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard};

/// The locks of all tables, by number.
#[derive(Default)]
pub(crate) struct TableLocks {
    held: Mutex<BTreeMap<i64, Holders>>,
    released: Condvar,
}

#[derive(Default)]
struct Holders {
    shared: u32,
    is_exclusive: bool,
}

impl TableLocks {
    /// Shares a table with others that change its rows.
    pub fn share(&self, table: i64, waiter: &dyn Waiter) -> Result<(), SqlError> {
        let take = |holders: &mut Holders| {
            let is_free = !holders.is_exclusive;
            holders.shared += u32::from(is_free);
            is_free
        };
        self.wait(table, &take, waiter)
    }

    /// Takes a table for a single session, which may share it `own` times already.
    pub fn take(&self, table: i64, own: u32, waiter: &dyn Waiter) -> Result<(), SqlError> {
        let take = |holders: &mut Holders| {
            let is_free = !holders.is_exclusive && holders.shared <= own;
            holders.is_exclusive |= is_free;
            is_free
        };
        self.wait(table, &take, waiter)
    }

    pub fn release_shared(&self, table: i64) {
        self.release(table, &|holders| holders.shared = holders.shared.saturating_sub(1));
    }

    pub fn release_exclusive(&self, table: i64) {
        self.release(table, &|holders| holders.is_exclusive = false);
    }

    fn wait(
        &self,
        table: i64,
        take: &dyn Fn(&mut Holders) -> bool,
        waiter: &dyn Waiter,
    ) -> Result<(), SqlError> {
        let take = |held: &mut BTreeMap<i64, Holders>| take(held.entry(table).or_default());
        let busy = || {
            let detail =
                format!("Other transactions have used it for {} seconds.", WAIT_MAX.as_secs());
            SqlError::new("55P03", "could not obtain lock on relation").detail(detail)
        };
        wait_until(waiter, &self.released, self.held(), take, busy).map(drop)
    }

    fn release(&self, table: i64, release: &dyn Fn(&mut Holders)) {
        let mut held = self.held();
        if let Some(holders) = held.get_mut(&table) {
            release(holders);
            if holders.shared == 0 && !holders.is_exclusive {
                held.remove(&table);
            }
        }
        drop(held);
        self.released.notify_all();
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<i64, Holders>> {
        self.held.lock().expect("no holder panics")
    }
}

/// The locks that a transaction holds.
#[derive(Default)]
pub(crate) struct HeldLocks {
    shared: Vec<i64>,
    exclusive: Vec<i64>,
}

impl HeldLocks {
    pub fn share(
        &mut self,
        locks: &TableLocks,
        table: i64,
        waiter: &dyn Waiter,
    ) -> Result<(), SqlError> {
        if !self.shared.contains(&table) && !self.exclusive.contains(&table) {
            locks.share(table, waiter)?;
            self.shared.push(table);
        }
        Ok(())
    }

    pub fn take(
        &mut self,
        locks: &TableLocks,
        table: i64,
        waiter: &dyn Waiter,
    ) -> Result<(), SqlError> {
        if !self.exclusive.contains(&table) {
            locks.take(table, u32::from(self.shared.contains(&table)), waiter)?;
            self.exclusive.push(table);
        }
        Ok(())
    }

    pub fn release(&mut self, locks: &TableLocks) {
        self.shared.drain(..).for_each(|table| locks.release_shared(table));
        self.exclusive.drain(..).for_each(|table| locks.release_exclusive(table));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Nothing ends its waits.
    struct Nobody;

    impl Waiter for Nobody {
        fn check(&self) -> Result<(), SqlError> {
            Ok(())
        }

        fn now_ns(&self) -> u64 {
            0
        }

        fn lock_timeout(&self) -> Option<Duration> {
            None
        }
    }

    #[test]
    fn one_session_may_turn_a_shared_lock_into_its_own() {
        let locks = TableLocks::default();
        let mut held = HeldLocks::default();
        held.share(&locks, 1, &Nobody).expect("it is free");
        held.take(&locks, 1, &Nobody).expect("nobody else shares it");
        held.release(&locks);
        let mut other = HeldLocks::default();
        other.take(&locks, 1, &Nobody).expect("it was released");
        other.release(&locks);
        assert!(locks.held().is_empty());
    }
}

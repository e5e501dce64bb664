//! Locks of whole tables, among the sessions of a process: transactions that change rows share a
//! table, and changes that replace its storage have it for themselves.
//!
//! The engine detects conflicts of rows. It cannot know that a table's storage is replaced by
//! another one, so rows that a transaction writes into the old one would be lost.
//!
//! Those who come to share a table let a session that waits for all of it go first, for a while:
//! shares that overlap would keep it waiting for ever. It is a while only, because the session may
//! wait for one that waits for those who come.
//!
//! The locks count time by the shares that end. A transaction whose snapshot is older than the last
//! change of a table does not see all of its rows, and must not copy them.

use crate::error::SqlError;
use crate::waiting::{Courtesy, WAIT_MAX, Waiter, wait_until};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::{Condvar, Mutex, MutexGuard};

/// The locks of all tables, by number.
#[derive(Default)]
pub(crate) struct TableLocks {
    held: Mutex<Held>,
    released: Condvar,
    /// Number of shares that have ended.
    time: AtomicU64,
}

#[derive(Default)]
struct Held {
    /// A table remains here when nobody holds it.
    tables: BTreeMap<i64, Holders>,
}

#[derive(Default)]
struct Holders {
    shared: u32,
    is_exclusive: bool,
    /// Number of sessions that wait for all of it.
    wanted: u32,
    /// The time at which the last share ended.
    changed_at: u64,
}

impl TableLocks {
    /// Shares a table with others that change its rows.
    pub fn share(&self, table: i64, waiter: &dyn Waiter) -> Result<(), SqlError> {
        let goes_first = Courtesy::new(waiter);
        let take = |holders: &mut Holders| {
            let is_free =
                !holders.is_exclusive && (holders.wanted == 0 || goes_first.is_over(waiter));
            holders.shared += u32::from(is_free);
            is_free
        };
        self.wait(table, &take, waiter)
    }

    /// Takes a table for a single session, which may share it `own` times already.
    pub fn take(&self, table: i64, own: u32, waiter: &dyn Waiter) -> Result<(), SqlError> {
        let is_free = |holders: &Holders| !holders.is_exclusive && holders.shared <= own;
        {
            let mut held = self.held();
            let holders = held.tables.entry(table).or_default();
            if is_free(holders) {
                holders.is_exclusive = true;
                return Ok(());
            }
            holders.wanted += 1;
        }
        let take = |holders: &mut Holders| {
            let is_free = is_free(holders);
            holders.is_exclusive |= is_free;
            is_free
        };
        let taken = self.wait(table, &take, waiter);
        self.release(table, &|holders, _| holders.wanted -= 1);
        taken
    }

    /// `may_have_changed` says that rows of the table may have been changed.
    fn release_shared(&self, table: i64, may_have_changed: bool) {
        self.release(table, &|holders, time| {
            holders.shared = holders.shared.saturating_sub(1);
            if may_have_changed {
                holders.changed_at = time.fetch_add(1, AcqRel) + 1;
            }
        });
    }

    fn release_exclusive(&self, table: i64) {
        self.release(table, &|holders, _| holders.is_exclusive = false);
    }

    /// Whether a session that shares a table `own` times may take it at once.
    fn is_free(&self, table: i64, own: u32) -> bool {
        let held = self.held();
        let holders = held.tables.get(&table);
        holders.is_none_or(|holders| !holders.is_exclusive && holders.shared <= own)
    }

    /// The present time. A transaction reads it before it takes its snapshot.
    pub fn time(&self) -> u64 {
        self.time.load(Acquire)
    }

    /// Whether another transaction may have changed rows of a table since then.
    pub fn is_changed_since(&self, table: i64, time: u64) -> bool {
        self.held().tables.get(&table).is_some_and(|holders| holders.changed_at > time)
    }

    fn wait(
        &self,
        table: i64,
        take: &dyn Fn(&mut Holders) -> bool,
        waiter: &dyn Waiter,
    ) -> Result<(), SqlError> {
        let take = |held: &mut Held| take(held.tables.entry(table).or_default());
        let busy = || {
            let detail =
                format!("Other transactions have used it for {} seconds.", WAIT_MAX.as_secs());
            SqlError::new("55P03", "could not obtain lock on relation").detail(detail)
        };
        wait_until((waiter, WAIT_MAX), &self.released, self.held(), take, busy).map(drop)
    }

    fn release(&self, table: i64, release: &dyn Fn(&mut Holders, &AtomicU64)) {
        let mut held = self.held();
        if let Some(holders) = held.tables.get_mut(&table) {
            release(holders, &self.time);
        }
        drop(held);
        self.released.notify_all();
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().expect("no holder panics")
    }
}

/// The locks that a transaction holds.
#[derive(Default)]
pub(crate) struct HeldLocks {
    shared: Vec<i64>,
    exclusive: Vec<i64>,
}

/// A point in the lists of locks: those behind it are released when a savepoint is rolled back to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TableMark {
    shared: usize,
    exclusive: usize,
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

    /// Whether [`Self::take`] would not wait.
    pub fn is_free(&self, locks: &TableLocks, table: i64) -> bool {
        self.exclusive.contains(&table)
            || locks.is_free(table, u32::from(self.shared.contains(&table)))
    }

    /// The present ends of the lists.
    pub fn mark(&self) -> TableMark {
        TableMark { shared: self.shared.len(), exclusive: self.exclusive.len() }
    }

    /// Releases the locks behind a mark; what the transaction has changed since is undone.
    pub fn release_to(&mut self, locks: &TableLocks, mark: TableMark) {
        let from = mark.shared.min(self.shared.len());
        self.shared.drain(from..).for_each(|table| locks.release_shared(table, false));
        let from = mark.exclusive.min(self.exclusive.len());
        self.exclusive.drain(from..).for_each(|table| locks.release_exclusive(table));
    }

    pub fn release(&mut self, locks: &TableLocks) {
        self.shared.drain(..).for_each(|table| locks.release_shared(table, true));
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
        let is_free = |holders: &Holders| holders.shared == 0 && !holders.is_exclusive;
        assert!(locks.held().tables.values().all(is_free));
    }

    /// A session that takes a table while others share it again and again.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "sessions of threads are the subject")]
    fn overlapping_shares_do_not_keep_a_session_waiting() {
        let locks = TableLocks::default();
        let mut first = HeldLocks::default();
        first.share(&locks, 1, &Nobody).expect("it is free");
        std::thread::scope(|scope| {
            let taker = scope.spawn(|| {
                let mut taking = HeldLocks::default();
                taking.take(&locks, 1, &Nobody).expect("it becomes free");
                taking.release(&locks);
            });
            while locks.held().tables[&1].wanted == 0 {
                std::thread::yield_now();
            }
            let sharer = scope.spawn(|| {
                let mut sharing = HeldLocks::default();
                sharing.share(&locks, 1, &Nobody).expect("it becomes free");
                let is_before = locks.held().tables[&1].wanted > 0;
                sharing.release(&locks);
                is_before
            });
            // The clock of `Nobody` never moves, so the sharer waits until the table was taken.
            std::thread::yield_now();
            first.release(&locks);
            taker.join().expect("it has taken the table");
            assert!(!sharer.join().expect("it has shared the table"), "the other came first");
        });
    }

    #[test]
    fn a_table_is_changed_when_a_share_has_ended() {
        let locks = TableLocks::default();
        let mut held = HeldLocks::default();
        held.share(&locks, 1, &Nobody).expect("it is free");
        let before = locks.time();
        held.release(&locks);
        assert!(locks.is_changed_since(1, before) && !locks.is_changed_since(2, before));
        let after = locks.time();
        held.take(&locks, 1, &Nobody).expect("it is free");
        held.release(&locks);
        assert!(!locks.is_changed_since(1, after), "no row was changed");
    }
}

//! The locks of all rows, in shards, and the times at which rows were last changed.
//!
//! The times tell a statement whether a row may have changed between its snapshot and its lock.
//! They are kept by few bits of the row's hash, so they may be too late, but not too early: a
//! statement runs once more than it must.

use super::deadlock::Waits;
use super::queue::{QueueView, RowQueue, Signal};
use super::{Owner, RowKey};
use interpreter::RowLockMode;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard};

const SHARDS: usize = 64;
/// Number of rows for which a shard keeps room.
const ROOM_KEPT: usize = 1024;
/// Number of times that are kept (512 KiB).
const TIMES: usize = 1 << 16;

/// The locks of all rows.
pub(crate) struct RowLocks {
    shards: Vec<Mutex<Shard>>,
    /// Counts the commits that have changed rows.
    clock: AtomicU64,
    /// The time of the last change of a row, by its hash.
    changed: Vec<AtomicU64>,
    pub(super) waits: Waits,
}

type Shard = HashMap<RowKey, RowQueue, BuildHasherDefault<KeyHasher>>;

/// A [`RowKey`] is a hash already.
#[derive(Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) enum Taken {
    /// The session has held this mode, or a stronger one, before.
    Before,
    /// The session holds it now, and has held this mode before.
    Now(Option<RowLockMode>),
    /// It waits for others, and has held this mode before.
    Queued {
        before: Option<RowLockMode>,
        signal: Arc<Signal>,
    },
    Busy,
}

impl Default for RowLocks {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            clock: AtomicU64::new(1),
            changed: (0..TIMES).map(|_| AtomicU64::new(0)).collect(),
            waits: Waits::default(),
        }
    }
}

impl RowLocks {
    /// The present time. A statement reads it before it takes its snapshot.
    pub fn time(&self) -> u64 {
        self.clock.load(Acquire)
    }

    /// Whether a row may have changed since then. The caller holds its lock.
    pub fn is_changed_since(&self, row: RowKey, time: u64) -> bool {
        self.time_of(row).load(Acquire) > time
    }

    /// A commit has changed the rows that it releases with this time.
    pub fn tick(&self) -> u64 {
        self.clock.fetch_add(1, AcqRel) + 1
    }

    /// Requests a lock.
    pub fn take(&self, owner: Owner, row: RowKey, mode: RowLockMode, waits: bool) -> Taken {
        let mut shard = self.shard(row);
        let queue = shard.entry(row).or_default();
        let before = queue.held_by(owner);
        if before.is_some_and(|held| held >= mode) {
            return Taken::Before;
        }
        if queue.try_take(owner, mode) {
            return Taken::Now(before);
        }
        match waits {
            true => Taken::Queued { before, signal: queue.wait(owner, mode) },
            false => Taken::Busy,
        }
    }

    /// Grants a request that waits, if only other requests block it.
    pub fn pass(&self, owner: Owner, row: RowKey) -> bool {
        self.with(row, |queue| queue.pass(owner))
    }

    /// Takes a request back; false if it was granted meanwhile.
    pub fn cancel(&self, owner: Owner, row: RowKey) -> bool {
        self.with(row, |queue| queue.cancel(owner))
    }

    /// Releases a lock, or goes back to a weaker mode. `changed_at` is the time of a commit that
    /// has changed the row.
    pub fn release(
        &self,
        owner: Owner,
        row: RowKey,
        kept: Option<RowLockMode>,
        changed_at: Option<u64>,
    ) {
        if let Some(time) = changed_at {
            self.time_of(row).fetch_max(time, Release);
        }
        self.with(row, |queue| queue.release(owner, kept, changed_at.is_some()));
    }

    /// The queue of a row as it is now.
    pub(super) fn view(&self, row: RowKey) -> QueueView {
        #[cfg(test)]
        self.waits.views.fetch_add(1, Relaxed);
        self.shard(row).get(&row).map(RowQueue::view).unwrap_or_default()
    }

    /// Whether a session holds a row.
    pub(super) fn is_held_by(&self, owner: Owner, row: RowKey) -> bool {
        self.shard(row).get(&row).is_some_and(|queue| queue.held_by(owner).is_some())
    }

    /// Those who hold a row.
    #[cfg(test)]
    pub fn holders(&self, row: RowKey) -> Vec<(Owner, RowLockMode)> {
        self.shard(row).get(&row).map(|queue| queue.holders.clone()).unwrap_or_default()
    }

    /// Number of rows that somebody holds or waits for.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().expect("no holder panics").len()).sum()
    }

    fn with<T>(&self, row: RowKey, change: impl FnOnce(&mut RowQueue) -> T) -> T {
        let mut shard = self.shard(row);
        let queue = shard.entry(row).or_default();
        let changed = change(queue);
        if queue.is_empty() {
            shard.remove(&row);
            if shard.capacity() > ROOM_KEPT && shard.len() < shard.capacity() / 16 {
                shard.shrink_to(ROOM_KEPT);
            }
        }
        changed
    }

    fn shard(&self, row: RowKey) -> MutexGuard<'_, Shard> {
        // The map takes the lower and the upper bits.
        let shard = &self.shards[(row.0 >> 32) as usize % SHARDS];
        shard.lock().expect("no holder panics")
    }

    fn time_of(&self, row: RowKey) -> &AtomicU64 {
        &self.changed[(row.0 >> 40) as usize % TIMES]
    }
}

/// Waits are numbered, so that a later one of the same session is not taken for it.
static TICKETS: AtomicU64 = AtomicU64::new(1);

/// The number of a new wait.
pub(super) fn next_ticket() -> u64 {
    TICKETS.fetch_add(1, Relaxed)
}

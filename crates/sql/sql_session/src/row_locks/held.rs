//! The locks that a session's transaction holds.

use super::queue::Signal;
use super::table::Taken;
use super::{Owner, RowKey, RowLocks};
use interpreter::{IfLocked, RowLockAnswer, RowLockMode, RowLocker};
use sql_value::Error;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

/// Number of locks above which a transaction locks no keys of new rows: two transactions with the
/// same key conflict at their commits then.
const NEW_ROWS_MAX: usize = 4_096;

/// Number of locks for which a session keeps room.
const ROOM_KEPT: usize = 1_024;

/// A point in the list of locks: those behind it are released when a savepoint is rolled back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LockMark(usize);

/// The locks of a session.
pub(crate) struct SessionRows {
    locks: Arc<RowLocks>,
    owner: Owner,
    held: Mutex<Held>,
}

#[derive(Default)]
pub(super) struct Held {
    rows: Vec<HeldRow>,
    /// The request that waits.
    pub queued: Option<Queued>,
    /// Whether a statement runs that takes locks.
    is_active: bool,
    /// Whether the statement may run again on a newer snapshot.
    renews: bool,
    /// The time of the locks before the statement's snapshot.
    time: u64,
    /// Waits of the statement that have failed, in order, if handlers of errors may catch that.
    refusals: Vec<(RowKey, Error)>,
    /// Number of those that the present run of the statement has come to.
    refused: usize,
    /// Number of locks before the statement.
    before: usize,
    /// Rows that the statement has locked and that may have changed since the snapshot, where the
    /// transaction keeps its snapshot: further runs of the statement look at them, too.
    late: BTreeSet<RowKey>,
}

struct HeldRow {
    row: RowKey,
    mode: RowLockMode,
    /// The mode that the transaction held before.
    before: Option<RowLockMode>,
}

/// A request that waits.
#[derive(Clone)]
pub(super) struct Queued {
    pub row: RowKey,
    pub mode: RowLockMode,
    pub before: Option<RowLockMode>,
    pub signal: Arc<Signal>,
}

impl SessionRows {
    /// `owner` distinguishes the sessions of the process.
    pub fn new(locks: Arc<RowLocks>, owner: Owner) -> Self {
        Self { locks, owner, held: Mutex::default() }
    }

    pub(super) fn locks(&self) -> &RowLocks {
        &self.locks
    }

    pub(super) fn owner(&self) -> Owner {
        self.owner
    }

    pub(super) fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().expect("no holder panics")
    }

    /// The present time of the locks.
    pub fn time(&self) -> u64 {
        self.locks.time()
    }

    /// A statement begins, which may run several times.
    pub fn begin_runs(&self) {
        let mut held = self.held();
        held.refusals.clear();
        held.late.clear();
        held.before = held.rows.len();
    }

    /// The row whose lock the statement waits for.
    pub fn queued_row(&self) -> Option<RowKey> {
        self.held().queued.as_ref().map(|queued| queued.row)
    }

    /// The wait for a row has failed: the next run of the statement gets this error there. It takes
    /// its locks again, so that those who wait for it can go on.
    pub fn refuse(&self, row: RowKey, error: Error) {
        let before = self.held().before;
        self.release_to(LockMark(before));
        self.held().refusals.push((row, error));
    }

    /// A statement begins that takes locks, before it takes its snapshot. `renews` says that it may
    /// run again on a newer one. Otherwise `since` is a time before the snapshot that the
    /// transaction keeps, if it has one.
    pub fn begin_statement(&self, renews: bool, since: Option<u64>) {
        let time = since.filter(|_| !renews).unwrap_or_else(|| self.locks.time());
        let mut held = self.held();
        (held.time, held.renews, held.is_active) = (time, renews, true);
        held.refused = 0;
    }

    /// Statements of the session's own, which take no locks, may follow.
    pub fn end_statement(&self) {
        self.held().is_active = false;
    }

    pub fn is_empty(&self) -> bool {
        let held = self.held();
        held.rows.is_empty() && held.queued.is_none()
    }

    /// Whether the request of a statement waits, or was granted and nobody has looked.
    pub fn is_queued(&self) -> bool {
        self.held().queued.is_some()
    }

    /// The present end of the list.
    pub fn mark(&self) -> LockMark {
        LockMark(self.held().rows.len())
    }

    /// Releases the locks behind a mark, without a commit.
    pub fn release_to(&self, mark: LockMark) {
        self.cancel();
        self.release(mark, None);
    }

    /// Releases all locks. `has_committed` says that the rows have changed, as far as the modes
    /// allow.
    pub fn release_all(&self, has_committed: bool) {
        self.cancel();
        if self.is_empty() {
            return;
        }
        let changed_at = has_committed.then(|| self.locks.tick());
        self.release(LockMark(0), changed_at);
    }

    fn release(&self, mark: LockMark, changed_at: Option<u64>) {
        let mut held = self.held();
        while held.rows.len() > mark.0
            && let Some(HeldRow { row, mode, before }) = held.rows.pop()
        {
            self.locks.release(self.owner, row, before, changed_at.filter(|_| mode.is_exclusive()));
        }
        if held.rows.capacity() > 4 * ROOM_KEPT && held.rows.len() < held.rows.capacity() / 4 {
            let room = held.rows.len().max(ROOM_KEPT);
            held.rows.shrink_to(room);
        }
    }

    /// Takes the request that waits back.
    pub(super) fn cancel(&self) {
        let Some(queued) = self.held().queued.take() else { return };
        if !self.locks.cancel(self.owner, queued.row) && queued.signal.granted().is_some() {
            self.add(&queued);
        }
        self.locks.waits.end(self.owner);
    }

    /// A request was granted.
    pub(super) fn add(&self, queued: &Queued) {
        let &Queued { row, mode, before, ref signal } = queued;
        let is_changed = signal.granted().is_some_and(|grant| grant.is_changed);
        let mut held = self.held();
        held.rows.push(HeldRow { row, mode, before });
        if is_changed && !held.renews {
            held.late.insert(row);
        }
    }

    /// Takes a grant, as a wait does; false if the request still waits.
    #[cfg(test)]
    pub fn take_grant(&self) -> bool {
        let queued = self.held().queued.take_if(|queued| queued.signal.granted().is_some());
        if let Some(queued) = queued {
            self.locks.waits.end(self.owner);
            self.add(&queued);
        }
        self.held().queued.is_none()
    }

    fn request(&self, row: RowKey, mode: RowLockMode, if_locked: IfLocked) -> RowLockAnswer {
        let mut held = self.held();
        if !held.is_active {
            return RowLockAnswer::Held;
        }
        let waits = if_locked == IfLocked::Wait;
        // Refused rows before it may have become free meanwhile.
        let refused =
            (held.refused..held.refusals.len()).find(|&at| waits && held.refusals[at].0 == row);
        match self.locks.take(self.owner, row, mode, waits && refused.is_none()) {
            Taken::Before if held.late.contains(&row) => RowLockAnswer::MayBeOutdated,
            Taken::Before => RowLockAnswer::Held,
            Taken::Now(before) => {
                held.rows.push(HeldRow { row, mode, before });
                let may_be_outdated = self.locks.is_changed_since(row, held.time);
                if may_be_outdated && !held.renews {
                    held.late.insert(row);
                }
                match may_be_outdated {
                    true => RowLockAnswer::MayBeOutdated,
                    false => RowLockAnswer::Held,
                }
            }
            Taken::Queued { before, signal } => {
                self.locks.waits.begin(self.owner, row);
                held.queued = Some(Queued { row, mode, before, signal });
                RowLockAnswer::MustWait
            }
            Taken::Busy => match refused {
                Some(at) => {
                    held.refused = at + 1;
                    RowLockAnswer::Refused
                }
                None => RowLockAnswer::Busy,
            },
        }
    }
}

impl RowLocker for SessionRows {
    fn lock(
        &self,
        table: u32,
        key: &[u64],
        mode: RowLockMode,
        if_locked: IfLocked,
    ) -> RowLockAnswer {
        self.request(RowKey::new(table, key), mode, if_locked)
    }

    fn refusal(&self) -> Box<Error> {
        let held = self.held();
        let refused = held.refusals.get(held.refused.saturating_sub(1));
        refused.map_or_else(
            || Error::internal("no refused lock"),
            |(_, error)| Box::new(error.clone()),
        )
    }

    fn mark(&self) -> usize {
        let LockMark(at) = SessionRows::mark(self);
        at
    }

    fn release_to(&self, mark: usize) {
        SessionRows::release_to(self, LockMark(mark));
    }

    fn has_room(&self) -> bool {
        let held = self.held();
        held.is_active && held.rows.len() < NEW_ROWS_MAX
    }

    fn renews_snapshots(&self) -> bool {
        self.held().renews
    }
}

impl Drop for SessionRows {
    fn drop(&mut self) {
        self.release_all(false);
    }
}

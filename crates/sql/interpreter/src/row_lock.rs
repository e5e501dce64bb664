//! Locks of rows that statements change or lock: their modes, and who grants them.

use sql::query::{IfLocked, LockStrength};
use sql_value::Error;
use std::sync::Arc;

/// The mode of a row's lock, as in PostgreSQL. Each mode conflicts with all that weaker ones
/// conflict with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RowLockMode {
    /// `FOR KEY SHARE`, and rows that a foreign key references: the key stays.
    KeyShare,
    /// `FOR SHARE`: the row stays.
    Share,
    /// `FOR NO KEY UPDATE`, and updates of other columns than those of keys.
    NoKeyUpdate,
    /// `FOR UPDATE`, deletions, updates of keys, and keys of new rows.
    Update,
}

impl RowLockMode {
    /// Whether two transactions cannot hold these modes at a time.
    pub const fn conflicts_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Update, _) | (_, Self::Update) => true,
            (Self::NoKeyUpdate, Self::KeyShare) | (Self::KeyShare, Self::NoKeyUpdate) => false,
            (Self::NoKeyUpdate, _) | (_, Self::NoKeyUpdate) => true,
            (Self::Share | Self::KeyShare, Self::Share | Self::KeyShare) => false,
        }
    }

    /// Whether its holder may change the row.
    pub const fn is_exclusive(self) -> bool {
        matches!(self, Self::NoKeyUpdate | Self::Update)
    }
}

impl From<LockStrength> for RowLockMode {
    fn from(strength: LockStrength) -> Self {
        match strength {
            LockStrength::KeyShare => Self::KeyShare,
            LockStrength::Share => Self::Share,
            LockStrength::NoKeyUpdate => Self::NoKeyUpdate,
            LockStrength::Update => Self::Update,
        }
    }
}

/// The answer to a request for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowLockAnswer {
    /// The transaction holds it, and nobody has changed the row since its snapshot, as far as the
    /// locker knows.
    Held,
    /// The transaction holds it, and the row may have changed since its snapshot.
    MayBeOutdated,
    /// The request waits in the row's queue. The statement ends, and runs again later.
    MustWait,
    /// Another transaction holds it, and the request has gone.
    Busy,
    /// The same, behind a wait that has failed in an earlier run of the statement:
    /// [`RowLocker::refusal`] is the error.
    Refused,
}

/// Grants the locks of a session's rows.
pub trait RowLocker: Send + Sync {
    /// Requests the lock of a key of a table. Numbers of tables that this program has not made are
    /// those of indexes.
    fn lock(
        &self,
        table: u32,
        key: &[u64],
        mode: RowLockMode,
        if_locked: IfLocked,
    ) -> RowLockAnswer;

    /// The error of the request that was refused last.
    fn refusal(&self) -> Box<Error>;

    /// The present number of locks.
    fn mark(&self) -> usize;

    /// Releases the locks behind that number, without a commit.
    fn release_to(&self, mark: usize);

    /// Whether the transaction should also take locks for the keys of new rows.
    fn has_room(&self) -> bool;

    /// Whether the transaction's statements have snapshots of their own, so that a statement that
    /// finds a row changed may run again on a newer one.
    fn renews_snapshots(&self) -> bool;
}

/// The locker of a session.
pub(crate) struct HeldLocker(pub Arc<dyn RowLocker>);

impl std::fmt::Debug for HeldLocker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("row locks")
    }
}

#[cfg(test)]
mod tests {
    use super::RowLockMode::{self, KeyShare, NoKeyUpdate, Share, Update};

    #[test]
    fn modes_conflict_as_in_the_table_of_postgresql() {
        let modes = [KeyShare, Share, NoKeyUpdate, Update];
        let rows = ["...x", "..xx", ".xxx", "xxxx"];
        for (one, row) in modes.into_iter().zip(rows) {
            let conflicts = |other: RowLockMode| if one.conflicts_with(other) { 'x' } else { '.' };
            assert_eq!(modes.map(conflicts).into_iter().collect::<String>(), row, "{one:?}");
        }
        for (weak, strong) in modes.into_iter().zip(&modes[1..]) {
            let all = |other| !weak.conflicts_with(other) || strong.conflicts_with(other);
            assert!(weak < *strong && modes.into_iter().all(all), "{weak:?} is weaker");
        }
    }
}

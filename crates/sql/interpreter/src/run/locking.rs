//! Locks of the rows that a statement changes, locks or references.
//!
//! A statement locks all rows that it has found before it changes the first one. Where a row may
//! have changed since the snapshot, it is looked at once more when all are locked. If one has
//! changed, the statement runs again, with all the locks: it need not find them changed one by one.

use super::Run;
use crate::bind::BoundTable;
use crate::error::{Failure, Result, plain};
use crate::frame::Frame;
use crate::row_lock::{HeldLocker, RowLockAnswer, RowLockMode, RowLocker};
use crate::rows::Rows;
use fabric::Env;
use layout::Key;
use sql::query::IfLocked;
use txn::{RowId, TableId, Transaction};

/// Distinguishes the keys of unique indexes from those of tables.
const OF_INDEX: u32 = 1 << 31;

/// Number of locks up to which a statement runs again for a unique value that may have been taken.
/// With more, the commit finds out.
const RERUN_LOCKS_MAX: usize = 256;

/// The locks that a statement takes before it changes rows.
#[derive(Default)]
pub(super) struct Locking {
    /// Whether a row has changed since the snapshot.
    is_outdated: bool,
    /// Rows that may have changed since the snapshot.
    doubtful: Vec<RowId>,
}

impl<E: Env> Run<'_, '_, E> {
    /// Locks a row that the statement has found. False if it is to be left out.
    #[inline]
    pub(super) fn lock_row(
        &mut self,
        id: RowId,
        how: (RowLockMode, IfLocked),
        locks: &mut Locking,
    ) -> Result<bool> {
        if self.frame.locker.is_none() {
            return Ok(true);
        }
        self.lock_found(id, how, locks)
    }

    /// Locks all of these rows.
    #[inline]
    pub(super) async fn lock_all(
        &mut self,
        found: &Rows,
        how: (RowLockMode, IfLocked),
    ) -> Result<()> {
        if self.frame.locker.is_none() {
            return Ok(());
        }
        let mut locks = Locking::default();
        for at in 0..found.len() {
            if let Some(id) = found.id(at) {
                self.lock_row(id, how, &mut locks)?;
            }
        }
        self.end_locking(locks).await
    }

    /// Locks these rows to be changed.
    pub(super) async fn lock_rows(&mut self, rows: &[RowId], mode: RowLockMode) -> Result<()> {
        let mut locks = Locking::default();
        for &id in rows {
            self.lock_row(id, (mode, IfLocked::Wait), &mut locks)?;
        }
        self.end_locking(locks).await
    }

    /// All rows are locked.
    #[inline]
    pub(super) async fn end_locking(&mut self, locks: Locking) -> Result<()> {
        for id in locks.doubtful {
            if locks.is_outdated || Box::pin(self.txn.has_changed(id)).await? {
                return Err(Failure::Again);
            }
        }
        if locks.is_outdated { Err(Failure::Again) } else { Ok(()) }
    }

    /// Locks a single row to be changed.
    #[inline]
    pub(super) fn lock_one(&mut self, id: RowId, mode: RowLockMode) -> Result<()> {
        let mut locks = Locking::default();
        self.lock_row(id, (mode, IfLocked::Wait), &mut locks)?;
        let is_doubtful = locks.is_outdated || !locks.doubtful.is_empty();
        if is_doubtful { Err(Failure::Again) } else { Ok(()) }
    }

    fn lock_found(
        &mut self,
        id: RowId,
        (mode, if_locked): (RowLockMode, IfLocked),
        locks: &mut Locking,
    ) -> Result<bool> {
        let Some(HeldLocker(locker)) = &self.frame.locker else { return Ok(true) };
        let table = self.txn.table(id);
        let renews = locker.renews_snapshots();
        match locker.lock(table.0, self.txn.key_words(id), mode, if_locked) {
            RowLockAnswer::Held => {}
            RowLockAnswer::MayBeOutdated if renews => locks.doubtful.push(id),
            RowLockAnswer::MayBeOutdated => self.frame.locked_late.push(id),
            RowLockAnswer::MustWait => return Err(Failure::Again),
            RowLockAnswer::Refused => return Err(locker.refusal().into()),
            RowLockAnswer::Busy if if_locked == IfLocked::Skip => return Ok(false),
            RowLockAnswer::Busy => return Err(self.busy(table)),
        }
        if self.txn.is_outdated(id) {
            if !renews {
                return Err(changed());
            }
            locks.is_outdated = true;
        }
        Ok(true)
    }

    /// Locks a row that a foreign key references, and guards it until the commit. Where the key is
    /// that of the row, other columns may change meanwhile.
    pub(super) async fn lock_referred(&mut self, id: RowId, is_by_key: bool) -> Result<()> {
        if let Some(HeldLocker(locker)) = &self.frame.locker {
            let renews = locker.renews_snapshots();
            let (table, key) = (self.txn.table(id), self.txn.key_words(id));
            let answer = locker.lock(table.0, key, RowLockMode::KeyShare, IfLocked::Wait);
            match answer {
                RowLockAnswer::MustWait | RowLockAnswer::Busy => return Err(Failure::Again),
                RowLockAnswer::Refused => return Err(locker.refusal().into()),
                RowLockAnswer::Held | RowLockAnswer::MayBeOutdated => {}
            }
            let may_have_gone = answer == RowLockAnswer::MayBeOutdated || self.txn.is_outdated(id);
            let is_outdated = match is_by_key {
                true => may_have_gone && !self.txn.exists_now(id).await?,
                false => self.txn.is_outdated(id),
            };
            if is_outdated {
                return Err(if renews { Failure::Again } else { changed() });
            }
        }
        match is_by_key {
            true => self.txn.guard_key(id),
            false => self.txn.guard_row(id),
        }
        Ok(())
    }

    /// Locks the key of a row to be inserted.
    pub(super) async fn lock_new_key(&mut self, table: &BoundTable, key: &Key) -> Result<()> {
        let Some(HeldLocker(locker)) = &self.frame.locker else { return Ok(()) };
        if table.has_hidden_key || !locker.has_room() {
            return Ok(());
        }
        let (renews, of) = (locker.renews_snapshots(), table.id.0);
        let share = || locker.lock(of, key.words(), RowLockMode::KeyShare, IfLocked::Fail);
        let answer = locker.lock(of, key.words(), RowLockMode::Update, IfLocked::Fail);
        if answer == RowLockAnswer::Busy
            && let Some(row) = self.txn.read(table.id, key).await?
            && !self.txn.is_outdated(row)
        {
            match share() {
                // Its holders keep the row, so the insert fails at once.
                RowLockAnswer::Held => return Ok(()),
                // Two inserts that both wait for more than this lock would wait for each other.
                RowLockAnswer::MayBeOutdated => return self.require_unchanged(row, renews).await,
                _ => {}
            }
        }
        let may_be_outdated = match answer {
            RowLockAnswer::Busy => lock_key(&**locker, of, key)?,
            answer => answer == RowLockAnswer::MayBeOutdated,
        };
        // Most changes that the locker means are those of other keys.
        if may_be_outdated && self.txn.is_key_outdated(table.id, key).await? {
            return Err(if renews { Failure::Again } else { changed() });
        }
        Ok(())
    }

    /// Locks a row that has the values of a new one in a unique index: its holder may give them up.
    /// Then the statement runs again.
    #[cold]
    pub(super) async fn lock_equal(&mut self, id: RowId) -> Result<()> {
        let Some(HeldLocker(locker)) = &self.frame.locker else { return Ok(()) };
        let renews = locker.renews_snapshots();
        let (table, key) = (self.txn.table(id), self.txn.key_words(id));
        let answer = locker.lock(table.0, key, RowLockMode::KeyShare, IfLocked::Wait);
        match answer {
            RowLockAnswer::MustWait | RowLockAnswer::Busy => Err(Failure::Again),
            RowLockAnswer::Refused => Err(locker.refusal().into()),
            RowLockAnswer::MayBeOutdated => self.require_unchanged(id, renews).await,
            RowLockAnswer::Held if self.txn.is_outdated(id) => {
                Err(if renews { Failure::Again } else { changed() })
            }
            RowLockAnswer::Held => Ok(()),
        }
    }

    /// Waits for those who may delete a row or change its key. If they have, the statement runs
    /// again. Others may change the row then.
    #[cold]
    pub(super) async fn wait_for_deletion(&mut self, id: RowId) -> Result<()> {
        let mark = self.frame.locker.as_ref().map(|HeldLocker(locker)| locker.mark());
        self.lock_equal(id).await?;
        if let (Some(HeldLocker(locker)), Some(mark)) = (&self.frame.locker, mark) {
            locker.release_to(mark);
        }
        Ok(())
    }

    /// A row that was locked must be as it was read.
    #[cold]
    async fn require_unchanged(&mut self, id: RowId, renews: bool) -> Result<()> {
        match self.txn.has_changed(id).await? {
            true => Err(if renews { Failure::Again } else { changed() }),
            false => Ok(()),
        }
    }

    /// Locks the key of a row to be inserted in a unique index. Where a row may have got the same
    /// key since the snapshot, the statement looks again on a newer one, or the commit does.
    pub(super) fn lock_new_entry(&self, index: txn::IndexId, key: &Key) -> Result<()> {
        match &self.frame.locker {
            Some(HeldLocker(locker)) if locker.has_room() => {
                let may_be_outdated = lock_key(&**locker, index.0 | OF_INDEX, key)?;
                // Statements that insert many keys would meet such a key each time.
                let is_short = locker.mark() < RERUN_LOCKS_MAX;
                let sees_newer = may_be_outdated && is_short && locker.renews_snapshots();
                if sees_newer { Err(Failure::Again) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn busy(&self, table: TableId) -> Failure {
        let of = self.tables.iter().find(|one| one.id == table);
        let name = of.map_or("", |one| &*one.name);
        plain("55P03", format!("could not obtain lock on row in relation \"{name}\""))
    }
}

/// Locks a new key; returns whether it may have changed since the snapshot.
fn lock_key(locker: &dyn RowLocker, of: u32, key: &Key) -> Result<bool> {
    match locker.lock(of, key.words(), RowLockMode::Update, IfLocked::Wait) {
        RowLockAnswer::MustWait => Err(Failure::Again),
        RowLockAnswer::Refused => Err(locker.refusal().into()),
        answer => Ok(answer == RowLockAnswer::MayBeOutdated),
    }
}

/// Checks the rows that may have changed before the last statement has locked them.
///
/// # Errors
///
/// One has, and the transaction keeps its snapshot.
pub(crate) async fn check_locked_late<E: Env>(
    txn: &mut Transaction<'_, E>,
    frame: &mut Frame,
) -> Result<()> {
    for id in frame.locked_late.drain(..) {
        if txn.has_changed(id).await? {
            return Err(changed());
        }
    }
    Ok(())
}

/// The row was changed since the snapshot that the transaction keeps.
#[cold]
fn changed() -> Failure {
    plain("40001", "could not serialize access due to concurrent update")
}

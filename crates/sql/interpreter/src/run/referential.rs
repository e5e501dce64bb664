//! Checks and acts on the rows that reference changed or deleted ones, as their foreign keys say.
//!
//! A statement changes all of its rows first, and notes those whose keys others may reference. At
//! its end they are looked at one after another. An action changes rows of its own, which follow at
//! the end of the queue, as in PostgreSQL. Rows that reference each other in a circle end it,
//! since each is found once.

use super::Run;
use super::check::shown_key;
use crate::bind::{BoundAction, Reference, Referrer};
use crate::compile::mode_of;
use crate::error::{Failure, Result, error};
use crate::row_lock::RowLockMode;
use fabric::Env;
use layout::Key;
use sql_value::order::order;
use sql_value::{Formula, Value};
use std::collections::VecDeque;
use txn::RowId;

/// The SQLSTATE of a violated foreign key.
const VIOLATED: &str = "23503";

/// A row whose key is gone, or that references another one than before.
pub(super) struct KeyChange {
    table: usize,
    old: Vec<Value>,
    /// The row now; `None` if it is deleted.
    new: Option<(Key, Vec<Value>)>,
}

/// The changes of a statement that foreign keys concern, the first one first.
pub(super) type KeyChanges = VecDeque<KeyChange>;

impl KeyChange {
    /// Whether values in these columns are another key than before.
    fn concerns(&self, columns: &[usize]) -> bool {
        let differs = |new: &[Value]| differ(columns, &self.old, new);
        self.new.as_ref().is_none_or(|(_, new)| differs(new))
    }
}

fn differ(columns: &[usize], old: &[Value], new: &[Value]) -> bool {
    columns.iter().any(|&at| order(&old[at], &new[at]).is_ne())
}

impl<E: Env> Run<'_, '_, E> {
    /// Notes a changed row if foreign keys concern the change.
    pub(super) fn note_changed(
        &self,
        at: usize,
        id: RowId,
        (old, new): (&[Value], &[Value]),
        changes: &mut KeyChanges,
    ) {
        let table = &self.tables[at];
        let mut referrers = table.referrers.iter().map(|referrer| &referrer.key);
        let differs = |reference: &Reference| differ(&reference.own, old, new);
        if table.references.iter().any(differs) || referrers.any(differs) {
            let key = Key::from_words(self.txn.key_words(id));
            let new = Some((key, new.to_vec()));
            changes.push_back(KeyChange { table: at, old: old.to_vec(), new });
        }
    }

    /// Notes a deleted row.
    pub(super) fn note_deleted(&self, at: usize, old: Vec<Value>, changes: &mut KeyChanges) {
        if !self.tables[at].referrers.is_empty() {
            changes.push_back(KeyChange { table: at, old, new: None });
        }
    }

    /// Checks and acts on all rows that reference changed ones, and checks that the changed ones
    /// reference rows.
    pub(super) async fn settle_keys(&mut self, mut changes: KeyChanges) -> Result<()> {
        while let Some(change) = changes.pop_front() {
            self.check_interrupt()?;
            let tables = self.tables;
            for referrer in &tables[change.table].referrers {
                if change.concerns(&referrer.key.own) {
                    self.settle_referrer(&change, referrer, &mut changes).await?;
                }
            }
            let Some((key, new)) = &change.new else { continue };
            match self.check_references(change.table, new, Some(&change.old)).await {
                // Another action may have changed the row again, which is noted, too.
                Err(Failure::Sql(error))
                    if error.sqlstate == VIOLATED
                        && !self.has_row(change.table, key, new).await? => {}
                checked => checked?,
            }
        }
        Ok(())
    }

    async fn settle_referrer(
        &mut self,
        change: &KeyChange,
        referrer: &Referrer,
        changes: &mut KeyChanges,
    ) -> Result<()> {
        let key = &referrer.key;
        let wanted: Vec<Value> = key.own.iter().map(|&at| change.old[at].clone()).collect();
        if wanted.iter().any(Value::is_null) {
            return Ok(());
        }
        let (action, new) = match &change.new {
            None => (&referrer.on_delete, None),
            Some((_, new)) => (&referrer.on_update, Some(new)),
        };
        let found = self.find_referencing(key, &wanted, !action.changes_rows()).await?;
        if found.is_empty() {
            return Ok(());
        }
        let mut sets = Vec::new();
        match action {
            BoundAction::Refuse { is_lenient } => {
                // Another transaction may be giving the reference up.
                self.lock_equal(found[0]).await?;
                return match *is_lenient && self.row_with(&referrer.from, &wanted).await?.is_some()
                {
                    true => Ok(()),
                    false => Err(self.still_referenced(key, change)),
                };
            }
            BoundAction::Cascade(values) => match new {
                None => return self.delete_referencing(key.table, &found, changes).await,
                Some(_) => sets.extend(key.other.iter().copied().zip(values.iter().map(Some))),
            },
            BoundAction::Set(set) => {
                sets.extend(set.iter().map(|(column, default)| (*column, default.as_ref())));
            }
        }
        let referenced = new.map_or(&[][..], Vec::as_slice);
        self.change_referencing((key.table, &found), &sets, referenced, changes).await?;
        // The default may be the key that is gone.
        let has_key = matches!(action, BoundAction::Set(set) if set.iter().all(|(_, default)| default.is_some()));
        let is_same = has_key
            && !self.find_referencing(key, &wanted, true).await?.is_empty()
            && self.row_with(&referrer.from, &wanted).await?.is_none();
        if is_same { Err(self.still_referenced(key, change)) } else { Ok(()) }
    }

    /// The rows that reference these values. Others can add none before the commit.
    async fn find_referencing(
        &mut self,
        key: &Reference,
        wanted: &[Value],
        only_first: bool,
    ) -> Result<Vec<RowId>> {
        let before = self.txn.guard_reads(true);
        let found = self.rows_with(key, wanted, only_first).await;
        self.txn.guard_reads(before);
        found
    }

    async fn delete_referencing(
        &mut self,
        at: usize,
        found: &[RowId],
        changes: &mut KeyChanges,
    ) -> Result<()> {
        self.lock_rows(found, RowLockMode::Update).await?;
        for &id in found {
            self.check_interrupt()?;
            if !self.tables[at].referrers.is_empty() {
                let old = Box::pin(self.copy_of(at, id)).await?;
                self.note_deleted(at, old, changes);
            }
            self.txn.delete(id);
        }
        Ok(())
    }

    /// Sets columns to values over the referenced row, null without one.
    async fn change_referencing(
        &mut self,
        (at, found): (usize, &[RowId]),
        sets: &[(usize, Option<&Formula>)],
        referenced: &[Value],
        changes: &mut KeyChanges,
    ) -> Result<()> {
        let columns: Vec<usize> = sets.iter().map(|(column, _)| *column).collect();
        let concerns = |own: &[usize]| columns.iter().any(|column| own.contains(column));
        self.lock_rows(found, mode_of(&self.tables[at], concerns)).await?;
        for &id in found {
            self.check_interrupt()?;
            let old = Box::pin(self.copy_of(at, id)).await?;
            let mut new = old.clone();
            for (column, value) in sets {
                new[*column] = match value {
                    Some(value) => self.value(value, [referenced, &[]], None).await?,
                    None => Value::Null,
                };
            }
            Box::pin(self.replace_row(at, &columns, id, (&old, &mut new), changes)).await?;
        }
        Ok(())
    }

    /// Whether a row is there and still references the same rows as these values.
    async fn has_row(&mut self, at: usize, key: &Key, values: &[Value]) -> Result<bool> {
        let tables = self.tables;
        let Some(id) = self.txn.read(tables[at].id, key).await? else { return Ok(false) };
        let now = Box::pin(self.copy_of(at, id)).await?;
        let mut references = tables[at].references.iter();
        Ok(!references.any(|reference| differ(&reference.own, values, &now)))
    }

    /// A row that is referenced was deleted, or has got another key.
    #[cold]
    fn still_referenced(&self, key: &Reference, change: &KeyChange) -> Failure {
        let (to, from) = (&self.tables[change.table], &self.tables[key.table]);
        let message = format!(
            "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
            to.name, key.name, from.name
        );
        let shown = shown_key(to, &key.own, &change.old);
        let detail = format!("Key {shown} is still referenced from table \"{}\".", from.name);
        error(VIOLATED, message, detail)
    }
}

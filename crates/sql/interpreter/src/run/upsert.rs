//! Executes `INSERT ... ON CONFLICT DO UPDATE`.

use super::change::key_of;
use super::referential::KeyChanges;
use super::{NodeContext, Run};
use crate::error::Result;
use crate::key_size::check_sizes;
use crate::plan::{ConflictUpdate, Insert, Node};
use crate::rows::Rows;
use crate::scope::Outer;
use fabric::Env;
use layout::Key;
use sql_value::Value;
use std::collections::BTreeSet;
use txn::RowId;

/// The error of PostgreSQL for two rows of a statement with the same key.
const TWICE: &str = "ON CONFLICT DO UPDATE command cannot affect row a second time";

impl<E: Env> Run<'_, '_, E> {
    /// Inserts rows, and updates those whose key exists.
    pub(super) async fn upsert(
        &mut self,
        (insert, update): (&Insert, &ConflictUpdate),
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let found = match &insert.input {
            Some(input) => self.rows_of(input, NodeContext::all(under.outer)).await?,
            None => {
                let mut one = Rows::new(0);
                one.push_row(&[], None);
                one
            }
        };
        let (mut touched, mut added, mut processed) = (BTreeSet::new(), Vec::new(), 0);
        let mut changes = KeyChanges::new();
        for row in found.iter() {
            self.check_interrupt()?;
            self.forget(node);
            let mut values = self.list_values(&insert.values, [row, &[]], under.outer).await?;
            self.complete_row(insert.table, &mut values)?;
            let key = self.key_of_row(insert.table, &values)?;
            let held = self.conflicting(insert.table, update, &key, &values).await?;
            let (id, shown) = match held {
                None => {
                    let id = self.insert_row(insert.table, &key, &values).await?;
                    added.push(values.clone());
                    (id, values)
                }
                Some(id) if touched.contains(&id) => {
                    let hint = "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.";
                    return Err(sql_value::Error::new("21000", TWICE).hint(hint).into());
                }
                Some(id) => {
                    self.lock_one(id, update.mode)?;
                    let sources = (&values[..], under.outer);
                    match self.update_held(insert, update, id, sources, &mut changes).await? {
                        Some(new) => (id, new),
                        None => continue,
                    }
                }
            };
            touched.insert(id);
            processed += 1;
            if node.width > 0 {
                self.deliver((node, None), [&shown, &[]], Some(id), under.outer, rows).await?;
            }
        }
        self.check_added(insert.table, &added).await?;
        self.settle_keys(changes).await?;
        self.frame.processed = processed;
        Ok(())
    }

    /// Finds the row that has the key.
    async fn conflicting(
        &mut self,
        at: usize,
        update: &ConflictUpdate,
        key: &Key,
        values: &[Value],
    ) -> Result<Option<RowId>> {
        let tables = self.tables;
        let table = &tables[at];
        let Some(index) = update.index.map(|index| &table.indexes[index]) else {
            let found = self.txn.read(table.id, key).await?;
            return self.with_values(at, found, &table.key_columns, values).await;
        };
        if index.columns.iter().any(|&at| values[at].is_null()) {
            return Ok(None);
        }
        let key = key_of(table, &index.columns, values)?;
        let mut found = Vec::new();
        self.txn.lookup(index.id, &key, &mut found).await?;
        self.with_values(at, found.first().copied(), &index.columns, values).await
    }

    /// The row if it has these values of a key.
    pub(super) async fn with_values(
        &mut self,
        table: usize,
        found: Option<RowId>,
        columns: &[usize],
        values: &[Value],
    ) -> Result<Option<RowId>> {
        let Some(id) = found else { return Ok(None) };
        let has = self.has_values(table, id, columns, |place| &values[columns[place]]).await?;
        Ok(has.then_some(id))
    }

    /// Updates a row that has the key of `values`; returns the new row, or `None` if the condition
    /// does not hold.
    async fn update_held(
        &mut self,
        insert: &Insert,
        update: &ConflictUpdate,
        id: RowId,
        (values, outer): (&[Value], Option<&Outer<'_>>),
        changes: &mut KeyChanges,
    ) -> Result<Option<Vec<Value>>> {
        let old = self.copy_of(insert.table, id).await?;
        let sources = [&old[..], values];
        if !self.holds(update.filter.as_ref(), sources, outer).await? {
            return Ok(None);
        }
        let assigned = self.list_values(&update.values, sources, outer).await?;
        let mut new = old.clone();
        for (&at, value) in update.columns.iter().zip(assigned) {
            new[at] = value;
        }
        self.replace_row(insert.table, &update.columns, id, (&old, &mut new), changes).await?;
        Ok(Some(new))
    }

    /// Replaces a row by another one, whose hidden columns it computes, with all checks but those
    /// of foreign keys, which are noted; `columns` are those that may differ.
    pub(super) async fn replace_row(
        &mut self,
        at: usize,
        columns: &[usize],
        id: RowId,
        (old, new): (&[Value], &mut [Value]),
        changes: &mut KeyChanges,
    ) -> Result<()> {
        let tables = self.tables;
        let table = &tables[at];
        self.complete_row(at, new)?;
        let new = &*new;
        let differs = |&at: &usize| sql_value::order::order(&old[at], &new[at]).is_ne();
        let mut id = id;
        if table.key_columns.iter().any(differs) {
            let key = self.key_of_row(at, new)?;
            self.txn.delete(id);
            id = self.insert_row(at, &key, new).await?;
        } else {
            for index in table.indexes.iter().filter(|index| index.unique) {
                if !index.columns.iter().any(differs) {
                    continue;
                }
                self.lock_entry_of(at, index, new)?;
                self.require_distinct(at, index, new, id).await?;
            }
            check_sizes(table, new)?;
            let mut record = self.txn.update(id);
            let changed = columns.iter().copied().chain(table.computed_from(columns));
            for column in changed.filter(|&column| !table.columns[column].is_key) {
                table.columns[column].write(&mut record, column, &new[column])?;
            }
        }
        self.note_changed(at, id, (old, new), changes);
        Ok(())
    }
}

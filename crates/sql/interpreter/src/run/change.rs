//! Executes inserts, updates and deletes.

use super::keyed::write_columns;
use super::referential::KeyChanges;
use super::{NodeContext, Run, State, append_all};
use crate::bind::{BoundIndex, BoundTable};
use crate::cell::{Cell, too_long};
use crate::error::{Result, plain};
use crate::key::{self, Fit};
use crate::plan::{Access, Delete, Insert, List, Node, Operator, Update};
use crate::row_lock::RowLockMode;
use crate::rows::Rows;
use crate::scope::{Outer, Source};
use fabric::Env;
use layout::{Key, KeyBuilder};
use sql::query::IfLocked;
use sql_value::Value;
use std::collections::BTreeSet;
use std::ops::Range;
use txn::{RowId, TxnError};

/// Low bits of hidden keys, which are counted up; the high bits are random.
const HIDDEN_COUNT_BITS: u32 = 32;

impl<E: Env> Run<'_, '_, E> {
    #[inline]
    pub(super) async fn insert(
        &mut self,
        insert: &Insert,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let mut values = std::mem::take(&mut self.frame.scratch.values);
        let mut processed = 0;
        let refers = !self.tables[insert.table].references.is_empty();
        let mut added = Vec::new();
        if let Some(update) = &insert.update {
            self.frame.scratch.values = values;
            return Box::pin(self.upsert((insert, update), node, under, rows)).await;
        }
        if let Some(input) = &insert.input {
            let found = self.rows_of(input, NodeContext::all(under.outer)).await?;
            for row in found.iter() {
                self.check_interrupt()?;
                self.forget(node);
                self.fill(&insert.values, [row, &[]], under.outer, &mut values).await?;
                let count = self.insert_one(insert, &mut values, node, under.outer, rows).await?;
                added.extend((refers && count > 0).then(|| values.clone()));
                processed += count;
            }
        } else {
            let begun = self.begin_meter();
            self.forget(node);
            self.fill(&insert.values, [&[], &[]], under.outer, &mut values).await?;
            self.end_meter_of(insert.row, begun, (1, 1));
            processed = self.insert_one(insert, &mut values, node, under.outer, rows).await?;
            added.extend((refers && processed > 0).then(|| values.clone()));
        }
        // Check after all rows are inserted, since they may reference each other.
        if !added.is_empty() {
            Box::pin(self.check_added(insert.table, &added)).await?;
        }
        self.frame.scratch.values = values;
        self.frame.processed = processed;
        Ok(())
    }

    /// Inserts some of the rows of the query of an `INSERT ... SELECT` without `RETURNING`; returns
    /// the number of inserted rows.
    pub(crate) async fn insert_part(
        &mut self,
        insert: &Insert,
        input: &Rows,
        part: Range<usize>,
    ) -> Result<u64> {
        let node = &self.statement.root;
        let mut values = std::mem::take(&mut self.frame.scratch.values);
        let (mut none, mut inserted) = (Rows::new(0), 0);
        for at in part {
            self.check_interrupt()?;
            self.fill(&insert.values, [input.row(at), &[]], None, &mut values).await?;
            inserted += self.insert_one(insert, &mut values, node, None, &mut none).await?;
        }
        self.frame.scratch.values = values;
        Ok(inserted)
    }

    /// Inserts a row and delivers its `RETURNING` outputs; returns the number of inserted rows.
    #[inline]
    async fn insert_one(
        &mut self,
        insert: &Insert,
        values: &mut [Value],
        node: &Node,
        outer: Option<&Outer<'_>>,
        rows: &mut Rows,
    ) -> Result<u64> {
        let table = insert.table;
        self.complete_row(table, values)?;
        let values = &*values;
        let key = self.key_of_row(table, values)?;
        if insert.ignores_duplicates && Box::pin(self.has_equal(table, &key, values)).await? {
            return Ok(0);
        }
        let id = self.insert_row(table, &key, values).await?;
        if node.width > 0 {
            Box::pin(self.deliver((node, None), [values, &[]], Some(id), outer, rows)).await?;
        }
        Ok(1)
    }

    /// Evaluates an `Insert`'s values into a buffer of their own.
    #[inline]
    async fn fill(
        &mut self,
        list: &List,
        sources: [&[Value]; 2],
        outer: Option<&Outer<'_>>,
        values: &mut Vec<Value>,
    ) -> Result<()> {
        values.clear();
        if list.uses_sub_plans {
            *values = Box::pin(self.list_values(list, sources, outer)).await?;
            return Ok(());
        }
        append_all(list, &self.view(sources.map(Source::Values), outer), values)
    }

    /// Returns the primary key of a row to be inserted.
    pub(super) fn key_of_row(&mut self, table: usize, values: &[Value]) -> Result<Key> {
        let tables = self.tables;
        let table = &tables[table];
        if table.has_hidden_key {
            self.frame.hidden_key = self.frame.hidden_key.wrapping_add(1);
            return Ok(KeyBuilder::new().int8(self.frame.hidden_key).key());
        }
        key_of(table, &table.key_columns, values)
    }

    /// Whether a row exists that has the same primary key or the same values in a unique index.
    async fn has_equal(&mut self, table: usize, key: &Key, values: &[Value]) -> Result<bool> {
        let tables = self.tables;
        let found = self.txn.read(tables[table].id, key).await?;
        let found = self.with_values(table, found, &tables[table].key_columns, values).await?;
        if let Some(id) = found {
            self.wait_for_deletion(id).await?;
            return Ok(true);
        }
        for index in tables[table].indexes.iter().filter(|index| index.unique) {
            if let Some(id) = self.find_equal(table, index, values, None).await? {
                self.wait_for_deletion(id).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Inserts a row whose values are checked.
    #[inline]
    pub(super) async fn insert_row(
        &mut self,
        at: usize,
        key: &Key,
        values: &[Value],
    ) -> Result<RowId> {
        let tables = self.tables;
        let table = &tables[at];
        let mut key = *key;
        self.lock_new_key(table, &key).await?;
        for index in table.indexes.iter().filter(|index| index.unique) {
            self.lock_entry_of(at, index, values)?;
        }
        let id = loop {
            match self.txn.insert(table.id, &key).await {
                Ok(id) => break id,
                // Another lane drew the same numbers: continue at another random key.
                Err(TxnError::DuplicateKey { .. }) if table.has_hidden_key => {
                    self.frame.hidden_key = draw_hidden_key(self.txn.env());
                    key = KeyBuilder::new().int8(self.frame.hidden_key).key();
                }
                Err(TxnError::DuplicateKey { .. }) => {
                    return Err(duplicate(table, &table.key_name, &table.key_columns, values));
                }
                Err(error) => return Err(error.into()),
            }
        };
        for index in table.indexes.iter().filter(|index| index.unique) {
            Box::pin(self.require_distinct(at, index, values, id)).await?;
        }
        write_columns(self.txn, table, id, values)?;
        if table.is_read_whole {
            self.frame.inserted.push((table.id, key));
        }
        Ok(id)
    }

    #[inline]
    pub(super) async fn update(
        &mut self,
        update: &Update,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let mut found = std::mem::take(&mut self.frame.scratch.rows);
        self.targets(&update.input, under.outer, &mut found).await?;
        self.lock_all(&found, (update.mode, IfLocked::Wait)).await?;
        let mut seen = BTreeSet::new();
        let is_joined = !matches!(update.input.operator, Operator::Scan(_));
        let (mut processed, mut changes) = (0, KeyChanges::new());
        let is_in_place = !(update.is_whole || update.values.uses_sub_plans || node_asks(node));
        let early = match update.values.uses_sub_plans {
            true => Box::pin(self.early_values(update, node, &found, under.outer)).await?,
            false => Vec::new(),
        };
        for at in 0..found.len() {
            let Some(id) = found.id(at) else { continue };
            self.check_interrupt()?;
            // A row with several join partners is changed once.
            if is_joined && !seen.insert(id) {
                continue;
            }
            processed += 1;
            if is_in_place {
                let row = (id, found.row(at));
                self.update_in_place(update, node, row, under.outer, rows).await?;
                continue;
            }
            let early = early.get(at).map(|values| &values[..]);
            let row = (id, found.row(at), early);
            let changed = self.update_whole(update, node, row, under.outer, &mut changes);
            let changed = Box::pin(changed).await?;
            if node.width > 0 {
                let sources = [&changed[..], found.row(at)];
                let filtered = (node, None);
                Box::pin(self.deliver(filtered, sources, Some(id), under.outer, rows)).await?;
            }
        }
        if !changes.is_empty() {
            Box::pin(self.settle_keys(changes)).await?;
        }
        self.frame.scratch.rows = found;
        self.frame.processed = processed;
        Ok(())
    }

    /// Computes the new values of all rows first if they use sub plans, which must see the rows as
    /// they were before the statement.
    async fn early_values(
        &mut self,
        update: &Update,
        node: &Node,
        found: &Rows,
        outer: Option<&Outer<'_>>,
    ) -> Result<Vec<Vec<Value>>> {
        let mut all = Vec::with_capacity(found.len());
        for at in 0..found.len() {
            self.forget(node);
            let old = match found.id(at) {
                Some(id) => self.copy_of(update.table, id).await?,
                None => Vec::new(),
            };
            all.push(self.list_values(&update.values, [&old, found.row(at)], outer).await?);
        }
        Ok(all)
    }

    /// Locks the key that a row will have in a unique index.
    pub(super) fn lock_entry_of(
        &self,
        at: usize,
        index: &BoundIndex,
        values: &[Value],
    ) -> Result<()> {
        if self.frame.locker.is_none() || index.columns.iter().any(|&at| values[at].is_null()) {
            return Ok(());
        }
        self.lock_new_entry(index.id, &key_of(&self.tables[at], &index.columns, values)?)
    }

    /// Finds all rows to change or delete, before the first one is changed.
    #[inline]
    async fn targets(
        &mut self,
        input: &Node,
        outer: Option<&Outer<'_>>,
        found: &mut Rows,
    ) -> Result<()> {
        found.reset(input.width);
        let (under, mut state) = (NodeContext::all(outer), State::New);
        match &input.operator {
            Operator::Scan(scan)
                if matches!(scan.access, Access::Key(_)) && self.frame.meters.is_none() =>
            {
                self.scan(scan, input, &mut state, under, found).await?;
            }
            _ => _ = self.pull(input, &mut state, under, found).await?,
        }
        Ok(())
    }

    /// Updates a row with possible effects on keys, checks or foreign keys; returns the new row.
    async fn update_whole(
        &mut self,
        update: &Update,
        node: &Node,
        (id, row, early): (RowId, &[Value], Option<&[Value]>),
        outer: Option<&Outer<'_>>,
        changes: &mut KeyChanges,
    ) -> Result<Vec<Value>> {
        let old = self.copy_of(update.table, id).await?;
        let values = match early {
            Some(values) => values.to_vec(),
            None => {
                self.forget(node);
                self.list_values(&update.values, [&old, row], outer).await?
            }
        };
        let mut new = old.clone();
        for (&at, value) in update.columns.iter().zip(values) {
            new[at] = value;
        }
        self.replace_row(update.table, &update.columns, id, (&old, &mut new), changes).await?;
        Ok(new)
    }

    #[inline]
    pub(super) async fn delete(
        &mut self,
        delete: &Delete,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let mut found = std::mem::take(&mut self.frame.scratch.rows);
        self.targets(&delete.input, under.outer, &mut found).await?;
        self.lock_all(&found, (RowLockMode::Update, IfLocked::Wait)).await?;
        let tables = self.tables;
        let table = &tables[delete.table];
        let has_referrers = !table.referrers.is_empty();
        let mut seen = BTreeSet::new();
        let is_joined = !matches!(delete.input.operator, Operator::Scan(_));
        let (mut processed, mut changes) = (0, KeyChanges::new());
        for at in 0..found.len() {
            let Some(id) = found.id(at) else { continue };
            self.check_interrupt()?;
            if is_joined && !seen.insert(id) {
                continue;
            }
            if node.width > 0 || has_referrers {
                let old = Box::pin(self.copy_of(delete.table, id)).await?;
                if node.width > 0 {
                    let pair = [&old[..], found.row(at)];
                    Box::pin(self.deliver((node, None), pair, Some(id), under.outer, rows)).await?;
                }
                self.note_deleted(delete.table, old, &mut changes);
            }
            self.txn.delete(id);
            processed += 1;
        }
        // Check after all rows are deleted, since they may reference each other.
        if !changes.is_empty() {
            Box::pin(self.settle_keys(changes)).await?;
        }
        self.frame.scratch.rows = found;
        self.frame.processed = processed;
        Ok(())
    }
}

fn node_asks(node: &Node) -> bool {
    matches!(&node.outputs, crate::plan::Outputs::List(list) if list.uses_sub_plans)
}

/// Builds a key from some columns of a row.
pub(super) fn key_of(table: &BoundTable, columns: &[usize], values: &[Value]) -> Result<Key> {
    let mut builder = KeyBuilder::new();
    for &at in columns {
        let column = &table.columns[at];
        if column.append_int(&mut builder, &values[at]) {
            continue;
        }
        match key::append(builder, column, &values[at]) {
            Fit::Exact(key) => builder = key,
            _ => {
                if let (Value::Text(text), Cell::KeyText(length) | Cell::Text(length)) =
                    (&values[at], column.cell)
                {
                    return Err(too_long(&column.sql_type, text, length).into());
                }
                let message = format!("{} out of range", column.sql_type.base());
                return Err(plain("22003", message));
            }
        }
    }
    Ok(builder.key())
}

/// Returns a random start for hidden keys, so that lanes do not collide.
pub(crate) fn draw_hidden_key<E: Env>(env: &E) -> i64 {
    (env.random() >> 1 >> HIDDEN_COUNT_BITS << HIDDEN_COUNT_BITS) as i64
}

/// Another row has the same unique key.
#[cold]
pub(super) fn duplicate(
    table: &BoundTable,
    constraint: &str,
    columns: &[usize],
    values: &[Value],
) -> crate::error::Failure {
    let message = format!("duplicate key value violates unique constraint \"{constraint}\"");
    let detail = format!("Key {} already exists.", super::check::shown_key(table, columns, values));
    crate::error::error("23505", message, detail)
}

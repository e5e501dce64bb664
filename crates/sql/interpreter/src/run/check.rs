//! Checks constraints, with PostgreSQL's messages for violations.
//!
//! Decision: docs/decisions/0186-the-statement-checks-unique-keys-and-references.md

use super::BATCH_ROWS;
use super::Run;
use super::change::{duplicate, key_of};
use crate::bind::{BoundIndex, BoundTable, Reference};
use crate::error::{Failure, Result, error};
use crate::key::{self, Fit};
use crate::scope::{NOTHING, Source};
use fabric::Env;
use layout::{Key, KeyBuilder};
use procedure::reference::AccessPath;
use sql_value::{Stop, Value, output};
use txn::RowId;

/// Maximum number of characters of a value in a message about a row.
const SHOWN_MAX: usize = 64;

impl<E: Env> Run<'_, '_, E> {
    /// Checks `NOT NULL` and `CHECK` constraints, and computes the hidden columns.
    #[inline]
    pub(super) fn complete_row(&self, table: usize, values: &mut [Value]) -> Result<()> {
        let table = &self.tables[table];
        self.check_row(table, values)?;
        for computed in &table.computed {
            let view = self.view([Source::Values(values), NOTHING], None);
            let value = computed.value.evaluate(&view).map_err(|stop| match stop {
                Stop::Error(error) => error,
                Stop::Needs(_) => sql_value::Error::internal("an index with a sub-select"),
            })?;
            values[computed.column] = value;
        }
        Ok(())
    }

    #[inline]
    fn check_row(&self, table: &BoundTable, values: &[Value]) -> Result<()> {
        for (at, (column, value)) in table.columns.iter().zip(values).enumerate() {
            if !column.nullable && value.is_null() {
                return Err(null_violation(table, at, values));
            }
        }
        if table.checks.is_empty() {
            return Ok(());
        }
        let view = self.view([Source::Values(values), NOTHING], None);
        for (name, condition) in &table.checks {
            match condition.evaluate(&view) {
                Ok(Value::Bool(false)) => return Err(check_violation(table, name, values)),
                Ok(_) => {}
                Err(Stop::Error(error)) => return Err(error.into()),
                Err(Stop::Needs(_)) => {
                    return Err(sql_value::Error::internal("a check with a sub-select").into());
                }
            }
        }
        Ok(())
    }

    /// Requires that no row other than `own` has the same values in a unique index.
    pub(super) async fn require_distinct(
        &mut self,
        table: usize,
        index: &BoundIndex,
        values: &[Value],
        own: RowId,
    ) -> Result<()> {
        let Some(equal) = self.find_equal(table, index, values, Some(own)).await? else {
            return Ok(());
        };
        self.lock_equal(equal).await?;
        Err(duplicate(&self.tables[table], &index.name, &index.declared, values))
    }

    /// A row other than `own` that has the same values in an index. Nulls are distinct.
    pub(super) async fn find_equal(
        &mut self,
        table: usize,
        index: &BoundIndex,
        values: &[Value],
        own: Option<RowId>,
    ) -> Result<Option<RowId>> {
        if index.columns.iter().any(|&at| values[at].is_null()) {
            return Ok(None);
        }
        let key = key_of(&self.tables[table], &index.columns, values)?;
        let mut found = Vec::new();
        self.txn.lookup(index.id, &key, &mut found).await?;
        let wanted = |place: usize| &values[index.columns[place]];
        for id in found.into_iter().filter(|id| Some(*id) != own) {
            if self.has_values(table, id, &index.columns, wanted).await? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Whether a row that was found by a key has these values: its digests may be those of others.
    pub(super) async fn has_values<'v>(
        &mut self,
        table: usize,
        id: RowId,
        columns: &[usize],
        wanted: impl Fn(usize) -> &'v Value,
    ) -> Result<bool> {
        let bound = &self.tables[table];
        if columns.iter().all(|&at| bound.columns[at].digests.is_none()) {
            return Ok(true);
        }
        let row = Box::pin(self.copy_of(table, id)).await?;
        let is_equal = |(place, &at): (usize, &usize)| {
            sql_value::order::order(&row[at], wanted(place)).is_eq()
        };
        Ok(columns.iter().enumerate().all(is_equal))
    }

    /// Checks that the rows exist that inserted ones reference.
    pub(super) async fn check_added(&mut self, table: usize, added: &[Vec<Value>]) -> Result<()> {
        if added.is_empty() || self.tables[table].references.is_empty() {
            return Ok(());
        }
        self.read_referred(table, added).await?;
        for values in added {
            self.check_references(table, values, None).await?;
        }
        Ok(())
    }

    /// Reads all rows that these new ones reference by primary key in one batch, before they are
    /// checked one by one.
    pub(super) async fn read_referred(&mut self, table: usize, added: &[Vec<Value>]) -> Result<()> {
        let (tables, references) = (self.tables, &self.tables[table].references);
        if added.len() * references.len() < 2 {
            return Ok(());
        }
        let mut reads = Vec::new();
        for (values, reference) in
            added.iter().flat_map(|of| references.iter().map(move |it| (of, it)))
        {
            let Some(AccessPath::Key(places)) = &reference.path else { continue };
            let other = &tables[reference.table];
            let key = key_by(other, reference, places, |place| &values[reference.own[place]]);
            reads.extend(key.map(|key| (other.id, key)));
        }
        for reads in reads.chunks(BATCH_ROWS) {
            self.txn.read_many(reads, &mut Vec::new()).await?;
        }
        Ok(())
    }

    /// Checks that the rows exist that an inserted or updated row references. They stay until the
    /// commit.
    pub(super) async fn check_references(
        &mut self,
        table: usize,
        values: &[Value],
        old: Option<&[Value]>,
    ) -> Result<()> {
        let tables = self.tables;
        for reference in &tables[table].references {
            let wanted: Vec<Value> = reference.own.iter().map(|&at| values[at].clone()).collect();
            let differs = |old: &[Value]| {
                reference
                    .own
                    .iter()
                    .any(|&at| sql_value::order::order(&old[at], &values[at]).is_ne())
            };
            if wanted.iter().any(Value::is_null) || !old.is_none_or(differs) {
                continue;
            }
            let referred = self.row_with(reference, &wanted).await?;
            if let Some(id) = referred {
                let is_by_key = matches!(reference.path, Some(AccessPath::Key(_)));
                self.lock_referred(id, is_by_key).await?;
            } else {
                let (from, to) = (&tables[table], &tables[reference.table]);
                let message = format!(
                    "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                    from.name, reference.name
                );
                let key = shown_key(from, &reference.own, values);
                let detail = format!("Key {key} is not present in table \"{}\".", to.name);
                return Err(error("23503", message, detail));
            }
        }
        Ok(())
    }

    /// A row of the other table of a foreign key with these values.
    pub(super) async fn row_with(
        &mut self,
        reference: &Reference,
        wanted: &[Value],
    ) -> Result<Option<RowId>> {
        Ok(self.rows_with(reference, wanted, true).await?.first().copied())
    }

    /// The rows of the other table of a foreign key with these values; the first one, if that is
    /// enough.
    pub(super) async fn rows_with(
        &mut self,
        reference: &Reference,
        wanted: &[Value],
        only_first: bool,
    ) -> Result<Vec<RowId>> {
        let tables = self.tables;
        let table = &tables[reference.table];
        let key = |places| key_by(table, reference, places, |place| &wanted[place]);
        let mut found = Vec::new();
        match &reference.path {
            Some(AccessPath::Key(places)) => {
                let Some(key) = key(places) else { return Ok(found) };
                found.extend(self.txn.read(table.id, &key).await?);
            }
            Some(AccessPath::Index(index, places)) => {
                let Some(key) = key(places) else { return Ok(found) };
                self.txn.lookup(table.indexes[*index].id, &key, &mut found).await?;
            }
            None => self.find_all(reference.table, &mut found).await?,
        }
        let mut kept = Vec::new();
        for id in found {
            let is_one = match reference.path {
                None => self.equals_row(reference, id, wanted).await?,
                Some(_) => {
                    self.has_values(reference.table, id, &reference.other, |at| &wanted[at]).await?
                }
            };
            if is_one {
                kept.push(id);
                if only_first {
                    break;
                }
            }
        }
        Ok(kept)
    }

    /// Whether a row has these values in the columns of a foreign key.
    async fn equals_row(
        &mut self,
        reference: &Reference,
        id: RowId,
        wanted: &[Value],
    ) -> Result<bool> {
        let table = &self.tables[reference.table];
        let long = table.schema.long_columns();
        if reference.other.iter().any(|at| long.contains(at)) {
            let row = Box::pin(self.copy_of(reference.table, id)).await?;
            let mut values = reference.other.iter().zip(wanted);
            return Ok(
                values.all(|(&at, wanted)| sql_value::order::equal(&row[at], wanted) == Some(true))
            );
        }
        let record = self.txn.row(id);
        for (&at, wanted) in reference.other.iter().zip(wanted) {
            let value = table.columns[at].read(record, at)?;
            if sql_value::order::equal(&value, wanted) != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns the key of the rows with these values in the columns of a foreign key; `None` if no row
/// can have them.
fn key_by<'v>(
    table: &BoundTable,
    reference: &Reference,
    places: &[usize],
    value: impl Fn(usize) -> &'v Value,
) -> Option<Key> {
    let builder = places.iter().try_fold(KeyBuilder::new(), |builder, &place| {
        match key::append(builder, &table.columns[reference.other[place]], value(place)) {
            Fit::Exact(key) => Some(key),
            _ => None,
        }
    });
    builder.map(|builder| builder.key())
}

/// A null in a `NOT NULL` column.
#[cold]
pub(super) fn null_violation(table: &BoundTable, at: usize, values: &[Value]) -> Failure {
    let message = format!(
        "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
        table.columns[at].name, table.name
    );
    error("23502", message, failing_row(table, values))
}

#[cold]
fn check_violation(table: &BoundTable, name: &str, values: &[Value]) -> Failure {
    let message =
        format!("new row for relation \"{}\" violates check constraint \"{name}\"", table.name);
    error("23514", message, failing_row(table, values))
}

/// Prints a row as PostgreSQL does in an error.
fn failing_row(table: &BoundTable, values: &[Value]) -> String {
    let shown = table.visible().iter().zip(values).map(|(column, value)| match value {
        Value::Null => "null".to_owned(),
        value => {
            let text = output::text(value, &column.sql_type);
            match text.char_indices().nth(SHOWN_MAX) {
                Some((end, _)) => format!("{}...", &text[..end]),
                None => text.to_string(),
            }
        }
    });
    format!("Failing row contains ({}).", shown.collect::<Vec<_>>().join(", "))
}

/// Prints columns and their values: `(a, b)=(1, 2)`.
pub(super) fn shown_key(table: &BoundTable, columns: &[usize], values: &[Value]) -> String {
    let names: Vec<&str> = columns.iter().map(|&at| &*table.columns[at].name).collect();
    let shown = columns.iter().map(|&at| output::text(&values[at], &table.columns[at].sql_type));
    let shown: Vec<_> = shown.map(|text| text.to_string()).collect();
    format!("({})=({})", names.join(", "), shown.join(", "))
}

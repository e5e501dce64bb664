//! Statements that access one row by its key. Only the calls of the engine are async; everything
//! around them is plain code, to keep the futures small.

use super::change::{duplicate, key_of};
use super::{Run, append_all, evaluate_output, is_true, push_all};
use crate::bind::BoundTable;
use crate::error::{Failure, Result};
use crate::key::{self, Fit};
use crate::key_size::check_sizes;
use crate::plan::{Access, Insert, Node, Operator, Output, Outputs, Scan, Term, Update};
use crate::row_lock::RowLockMode;
use crate::rows::Rows;
use crate::scope::{NOTHING, Outer, Source, View};
use fabric::Env;
use layout::{Key, KeyBuilder, LongValues};
use sql_value::{Scope, Value};
use txn::{RowId, Transaction, TxnError};

impl<E: Env> Run<'_, '_, E> {
    /// Executes a statement that accesses one row by its key, see
    /// [`crate::plan::Execution::Keyed`].
    #[inline]
    pub(super) async fn keyed(
        &mut self,
        (scan, key): (&Scan, &[Term]),
        wanted: usize,
        rows: &mut Rows,
    ) -> Result<()> {
        let found = match self.known_row() {
            Some(found) => found,
            None => self.row_by_key(scan, key).await?,
        };
        let mut long = self.values_of(scan.table, found).await?;
        let Some(id) = self.keyed_row(scan, found, &long)? else { return Ok(()) };
        if wanted > 0 && self.statement.root.width > 0 {
            if self.statement.writes {
                long = self.values_of(scan.table, found).await?;
            }
            let record = self.txn.row(id).with_long(&long);
            let record = Source::Record(&record, &self.tables[scan.table].columns);
            let view = self.view([record, NOTHING], None);
            match &self.statement.root.outputs {
                Outputs::List(list) => push_all(list, &view, rows)?,
                Outputs::Same => {
                    for at in 0..self.statement.root.width {
                        rows.push(view.source_column(0, at)?);
                    }
                }
            }
        }
        if wanted > 0 && (self.statement.root.width > 0 || !self.statement.writes) {
            rows.end_row(scan.is_for_change.then_some(id));
        }
        Ok(())
    }

    /// Returns the row that was read ahead for the statement, if it was.
    #[inline]
    fn known_row(&mut self) -> Option<Option<RowId>> {
        self.statement.ahead.and_then(|place| self.frame.known_row(place))
    }

    #[inline]
    async fn row_by_key(&mut self, scan: &Scan, key: &[Term]) -> Result<Option<RowId>> {
        match self.single_key(scan.table, key, None)? {
            Some(key) => Ok(self.txn.read(self.tables[scan.table].id, &key).await?),
            None => Ok(None),
        }
    }

    /// Executes a statement that reads its row into variables; returns whether there is a row.
    /// Otherwise sets them to null.
    #[inline]
    pub async fn keyed_into(&mut self, targets: &[(usize, usize)]) -> Result<bool> {
        self.frame.note_changes(self.statement);
        let Some((scan, key)) = scan_by_key(&self.statement.root) else { return Ok(false) };
        let found = match self.known_row() {
            Some(found) => found,
            None => self.row_by_key(scan, key).await?,
        };
        let mut long = self.values_of(scan.table, found).await?;
        let found = self.keyed_row(scan, found, &long)?;
        if self.statement.writes {
            long = self.values_of(scan.table, found).await?;
        }
        self.row_into(scan, found, &long, targets)
    }

    #[inline]
    fn row_into(
        &mut self,
        scan: &Scan,
        found: Option<RowId>,
        long: &LongValues,
        targets: &[(usize, usize)],
    ) -> Result<bool> {
        let Some(id) = found else {
            for (variable, _) in targets {
                self.frame.variables[*variable] = Value::Null;
            }
            return Ok(false);
        };
        let Outputs::List(list) = &self.statement.root.outputs else { return Ok(false) };
        let record = self.txn.row(id).with_long(long);
        let columns = &self.tables[scan.table].columns;
        for &(variable, column) in targets {
            if let Output::Column(at) = list.outputs[column] {
                columns[at].read_into(record, at, &mut self.frame.variables[variable])?;
                continue;
            }
            let sources = [Source::Record(&record, columns), NOTHING];
            let value = evaluate_output(&list.outputs[column], &self.view(sources, None))?;
            self.frame.variables[variable].put(value);
        }
        Ok(true)
    }

    /// Applies the statement to the row of a key; `None` if there is no such row, or if the filter
    /// rejects it.
    #[inline]
    fn keyed_row(
        &mut self,
        scan: &Scan,
        found: Option<RowId>,
        long: &LongValues,
    ) -> Result<Option<RowId>> {
        self.frame.processed = 0;
        let Some(id) = found else { return Ok(None) };
        if !self.passes(scan, id, long)? {
            return Ok(None);
        }
        match &self.statement.root.operator {
            Operator::Update(update) => {
                self.lock_one(id, update.mode)?;
                self.change_in_place(update, (id, &[], long), None)?;
            }
            Operator::Delete(_) => {
                self.lock_one(id, RowLockMode::Update)?;
                self.txn.delete(id);
            }
            _ => {}
        }
        self.frame.processed = 1;
        Ok(Some(id))
    }

    /// Returns the key that expressions evaluate to; `None` if no row can have it.
    #[inline]
    pub(super) fn single_key(
        &self,
        table: usize,
        terms: &[Term],
        outer: Option<&Outer<'_>>,
    ) -> Result<Option<Key>> {
        key_in(&self.tables[table], terms, &self.view([NOTHING; 2], outer))
    }

    /// Whether a row passes the filter of a scan, which does not use sub plans.
    #[inline]
    fn passes(&self, scan: &Scan, id: RowId, long: &LongValues) -> Result<bool> {
        let Some(filter) = &scan.filter else { return Ok(true) };
        let record = self.txn.row(id).with_long(long);
        let record = Source::Record(&record, &self.tables[scan.table].columns);
        is_true(filter, &self.view([record, NOTHING], None))
    }

    /// Delivers the outputs of a scan directly from the row's record if it passes the filter.
    /// Neither uses sub plans.
    #[inline]
    pub(super) fn deliver_record(
        &self,
        scan: &Scan,
        node: &Node,
        id: RowId,
        outer: Option<&Outer<'_>>,
        rows: &mut Rows,
    ) -> Result<()> {
        let record = self.txn.row(id);
        let record = Source::Record(&record, &self.tables[scan.table].columns);
        let view = self.view([record, NOTHING], outer);
        deliver_view(scan, node, &view, scan.is_for_change.then_some(id), rows)
    }

    /// Updates a row in place, and delivers the `RETURNING` outputs.
    #[inline]
    pub(super) async fn update_in_place(
        &mut self,
        update: &Update,
        node: &Node,
        (id, row): (RowId, &[Value]),
        outer: Option<&Outer<'_>>,
        rows: &mut Rows,
    ) -> Result<()> {
        let long = self.values_of(update.table, Some(id)).await?;
        self.change_in_place(update, (id, row, &long), outer)?;
        if node.width > 0 {
            let long = self.values_of(update.table, Some(id)).await?;
            let record = self.txn.row(id).with_long(&long);
            let record = Source::Record(&record, &self.tables[update.table].columns);
            let view = self.view([record, Source::Values(row)], outer);
            if let Outputs::List(list) = &node.outputs {
                push_all(list, &view, rows)?;
            }
            rows.end_row(Some(id));
        }
        Ok(())
    }

    /// Sets columns of a row without effects on keys, checks or foreign keys.
    #[inline]
    fn change_in_place(
        &mut self,
        update: &Update,
        (id, row, long): (RowId, &[Value], &LongValues),
        outer: Option<&Outer<'_>>,
    ) -> Result<()> {
        let tables = self.tables;
        let table = &tables[update.table];
        let mut values = std::mem::take(&mut self.frame.scratch.values);
        values.clear();
        let record = self.txn.row(id).with_long(long);
        let record = Source::Record(&record, &table.columns);
        let view = self.view([record, Source::Values(row)], outer);
        append_all(&update.values, &view, &mut values)?;
        let is_refused =
            |(&at, value): (&usize, &Value)| value.is_null() && !table.columns[at].nullable;
        if update.columns.iter().zip(&values).any(is_refused) {
            return Err(self.refused_null(update, (id, long), values));
        }
        let mut record = self.txn.update(id);
        for (&at, value) in update.columns.iter().zip(&values) {
            table.columns[at].write(&mut record, at, value)?;
        }
        self.frame.scratch.values = values;
        Ok(())
    }

    /// Returns the error for an update that would set `NOT NULL` columns to null: it names the
    /// first such column and shows the row as it would be.
    #[cold]
    fn refused_null(
        &self,
        update: &Update,
        (id, long): (RowId, &LongValues),
        values: Vec<Value>,
    ) -> Failure {
        let table = &self.tables[update.table];
        let record = self.txn.row(id).with_long(long);
        let columns = table.columns.iter().enumerate();
        let whole: sql_value::Result<Vec<Value>> =
            columns.map(|(at, column)| column.read(record, at)).collect();
        let mut whole = match whole {
            Ok(whole) => whole,
            Err(error) => return error.into(),
        };
        for (&at, value) in update.columns.iter().zip(values) {
            whole[at] = value;
        }
        match self.complete_row(update.table, &mut whole) {
            Err(failure) => failure,
            Ok(()) => sql_value::Error::internal("no NOT NULL column is null").into(),
        }
    }

    /// Inserts the row of a statement, see [`crate::plan::Execution::Adds`].
    #[inline]
    pub(super) async fn add(&mut self, insert: &Insert, rows: &mut Rows) -> Result<()> {
        let mut values = std::mem::take(&mut self.frame.scratch.values);
        values.clear();
        let key = self.new_row(insert, &mut values)?;
        let tables = self.tables;
        let table = &tables[insert.table];
        self.lock_new_key(table, &key).await?;
        match self.txn.insert(table.id, &key).await {
            Ok(id) => self.write_new(insert, (id, key), &values, rows)?,
            Err(TxnError::DuplicateKey { .. }) => {
                return Err(duplicate(table, &table.key_name, &table.key_columns, &values));
            }
            Err(error) => return Err(error.into()),
        }
        self.frame.scratch.values = values;
        self.frame.processed = 1;
        Ok(())
    }

    /// Appends the values of a new row, and returns its key.
    #[inline]
    pub(super) fn new_row(&self, insert: &Insert, values: &mut Vec<Value>) -> Result<Key> {
        let begin = values.len();
        let view = self.view([NOTHING; 2], None);
        append_all(&insert.values, &view, values)?;
        let values = &mut values[begin..];
        self.complete_row(insert.table, values)?;
        let table = &self.tables[insert.table];
        key_of(table, &table.key_columns, values)
    }

    /// Writes the columns of an inserted row, and delivers the `RETURNING` outputs.
    #[inline]
    fn write_new(
        &mut self,
        insert: &Insert,
        (id, key): (RowId, Key),
        values: &[Value],
        rows: &mut Rows,
    ) -> Result<()> {
        let tables = self.tables;
        write_columns(self.txn, &tables[insert.table], id, values)?;
        if tables[insert.table].is_read_whole {
            self.frame.inserted.push((tables[insert.table].id, key));
        }
        let node = &self.statement.root;
        if node.width == 0 {
            return Ok(());
        }
        match &node.outputs {
            Outputs::List(list) => {
                push_all(list, &self.view([Source::Values(values), NOTHING], None), rows)?;
                rows.end_row(Some(id));
            }
            Outputs::Same => rows.push_row(values, Some(id)),
        }
        Ok(())
    }
}

/// Sets the columns of a new row that are not part of its key.
#[inline]
pub(super) fn write_columns<E: Env>(
    txn: &mut Transaction<'_, E>,
    table: &BoundTable,
    id: RowId,
    values: &[Value],
) -> Result<()> {
    check_sizes(table, values)?;
    let mut record = txn.update(id);
    for (at, (column, value)) in table.columns.iter().zip(values).enumerate() {
        if !column.is_key {
            column.write(&mut record, at, value)?;
        }
    }
    Ok(())
}

/// Returns the key that expressions evaluate to in a scope; `None` if no row can have it.
#[inline]
pub(crate) fn key_in(
    table: &BoundTable,
    terms: &[Term],
    scope: &impl Scope,
) -> Result<Option<Key>> {
    let mut builder = KeyBuilder::new();
    for (term, &at) in terms.iter().zip(&table.key_columns) {
        let column = &table.columns[at];
        // Most key columns are integers, which are evaluated unwrapped; anything else may be null,
        // or of another type.
        if column.is_int()
            && let Some(number) = term.formula.int(scope).map_err(super::stopped)?
            && column.append_number(&mut builder, number)
        {
            continue;
        }
        let value = term.formula.look(scope).map_err(super::stopped)?;
        if value.is_null() {
            return Ok(None);
        }
        match key::append(builder, column, &value) {
            Fit::Exact(key) => builder = key,
            _ => return Ok(None),
        }
    }
    Ok(Some(builder.key()))
}

/// Returns the scan by key that finds the row of a statement, and its key; `None` if the statement
/// has another access.
pub(crate) fn scan_by_key(root: &Node) -> Option<(&Scan, &[Term])> {
    let operator = match &root.operator {
        Operator::Update(update) => &update.input.operator,
        Operator::Delete(delete) => &delete.input.operator,
        operator => operator,
    };
    match operator {
        Operator::Scan(scan) => match &scan.access {
            Access::Key(key) => Some((scan, key)),
            _ => None,
        },
        _ => None,
    }
}

/// Delivers the outputs of a scan for the row in view if it passes the filter; with an id if the
/// row is then changed.
#[inline]
pub(super) fn deliver_view<E: Env>(
    scan: &Scan,
    node: &Node,
    view: &View<'_, E>,
    changed: Option<RowId>,
    rows: &mut Rows,
) -> Result<()> {
    if let Some(filter) = &scan.filter
        && !is_true(filter, view)?
    {
        return Ok(());
    }
    match &node.outputs {
        Outputs::List(list) => push_all(list, view, rows)?,
        Outputs::Same => {
            for at in 0..node.width {
                rows.push(view.source_column(0, at)?);
            }
        }
    }
    rows.end_row(changed);
    Ok(())
}

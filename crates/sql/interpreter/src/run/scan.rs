//! Executes scans of tables.

use super::state::{FoundRows, State};
use super::{ALL, NodeContext, Run};
use crate::error::Result;
use crate::key::{self, Fit};
use crate::plan::{Access, Node, Outputs, Scan, Term};
use crate::rows::Rows;
use crate::scope::{NOTHING, Outer};
use fabric::Env;
use layout::{Key, KeyBuilder, LongValues};
use sql_value::Value;
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use txn::{IndexId, RowId, ScanSource};

/// The enclosing rows of a scan, and the current element of an array.
#[derive(Clone, Copy)]
pub(super) struct Around<'v> {
    pub outer: Option<&'v Outer<'v>>,
    pub element: &'v Value,
}

impl<E: Env> Run<'_, '_, E> {
    /// Delivers the rows of a table that a scan finds.
    #[inline]
    pub async fn scan(
        &mut self,
        scan: &Scan,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        self.forget(node);
        match &scan.access {
            Access::Key(key) => {
                let around = Around { outer: under.outer, element: &Value::Null };
                let found = self.find_by_key(scan.table, key, around).await?;
                if let Some(id) = found
                    && under.wanted > 0
                {
                    self.deliver_row(scan, node, id, under.outer, rows).await?;
                }
                Ok(false)
            }
            Access::Range(range) if (under.wanted, under.batch) != (ALL, ALL) => {
                Box::pin(self.scan_in_steps(scan, range, node, state, under, rows)).await
            }
            Access::All if self.frame.only_looks => {
                Box::pin(self.visit(scan, node, state, under, rows)).await
            }
            access => self.scan_found(scan, access, node, state, under, rows).await,
        }
    }

    /// Delivers rows that are found together.
    #[inline]
    async fn scan_found(
        &mut self,
        scan: &Scan,
        access: &Access,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        let FoundRows { mut ids, mut at } = match std::mem::take(state) {
            State::Found(found) => found,
            _ => FoundRows { ids: std::mem::take(&mut self.frame.scratch.ids), at: 0 },
        };
        // The transaction may have forgotten them since: the same rows are found again.
        if at == 0 || ids.last().is_some_and(|id| !self.txn.holds(*id)) {
            let around = Around { outer: under.outer, element: &Value::Null };
            ids.clear();
            self.find(scan.table, access, around, &mut ids).await?;
        }
        let (most, enough) = under.ends(rows);
        let needs_copy = needs_copy(scan, node);
        while at < ids.len() && rows.len() < enough {
            self.check_interrupt()?;
            let id = ids[at];
            at += 1;
            match needs_copy && !self.is_at_hand(scan, node, id) {
                true => self.deliver_row(scan, node, id, under.outer, rows).await?,
                false => self.deliver_record(scan, node, id, under.outer, rows)?,
            }
        }
        if at < ids.len() && rows.len() < most {
            *state = State::Found(FoundRows { ids, at });
            return Ok(true);
        }
        self.frame.scratch.ids = ids;
        *state = State::Done;
        Ok(false)
    }

    /// Delivers the outputs of the scan for a row that passes the filter.
    #[inline]
    pub(super) async fn deliver_row(
        &mut self,
        scan: &Scan,
        node: &Node,
        id: RowId,
        outer: Option<&Outer<'_>>,
        rows: &mut Rows,
    ) -> Result<()> {
        if needs_copy(scan, node) && !self.is_at_hand(scan, node, id) {
            return Box::pin(self.deliver_copy(scan, node, id, outer, rows)).await;
        }
        self.deliver_record(scan, node, id, outer, rows)
    }

    /// As [`Self::deliver_row`] for a copy of the row, since sub plans may move the record.
    async fn deliver_copy(
        &mut self,
        scan: &Scan,
        node: &Node,
        id: RowId,
        outer: Option<&Outer<'_>>,
        rows: &mut Rows,
    ) -> Result<()> {
        let copy = self.copy_of(scan.table, id).await?;
        let filtered = (node, scan.filter.as_ref());
        let changed = scan.is_for_change.then_some(id);
        self.deliver(filtered, [&copy, &[]], changed, outer, rows).await
    }

    /// Whether a row's record has all that outputs need, although they may need values out of line.
    pub(super) fn is_at_hand(&self, scan: &Scan, node: &Node, id: RowId) -> bool {
        !uses_sub_plans(scan, node) && !self.txn.row(id).refers_to_values()
    }

    /// The values of a row that are out of line, to be read with its record.
    #[inline]
    pub(super) async fn values_of(
        &mut self,
        table: usize,
        id: Option<RowId>,
    ) -> Result<LongValues> {
        match id {
            Some(id) if self.tables[table].has_long && self.txn.row(id).refers_to_values() => {
                let mut long = LongValues::default();
                Box::pin(self.txn.read_long_row(id, &mut long)).await?;
                Ok(long)
            }
            _ => Ok(LongValues::default()),
        }
    }

    /// Returns all columns of a row that are visible to SQL.
    pub(super) async fn copy_of(&mut self, at: usize, id: RowId) -> Result<Vec<Value>> {
        let long = self.values_of(at, Some(id)).await?;
        let table = &self.tables[at];
        let record = self.txn.row(id).with_long(&long);
        let columns = table.columns.iter().enumerate();
        let values: sql_value::Result<Vec<Value>> =
            columns.map(|(at, column)| column.read(record, at)).collect();
        Ok(values?)
    }

    #[inline]
    async fn find_by_key(
        &mut self,
        table: usize,
        terms: &[Term],
        around: Around<'_>,
    ) -> Result<Option<RowId>> {
        let key = &self.tables[table].key_columns;
        match self.key_of(table, key, terms, around).await? {
            Some(key) => Ok(self.txn.read(self.tables[table].id, &key.key()).await?),
            None => Ok(None),
        }
    }

    /// Returns the key that expressions evaluate to; `None` if no row can have it.
    #[inline]
    pub(super) async fn key_of(
        &mut self,
        table: usize,
        columns: &[usize],
        terms: &[Term],
        around: Around<'_>,
    ) -> Result<Option<KeyBuilder>> {
        match terms.iter().any(|term| term.uses_sub_plans) {
            true => Box::pin(self.key_with_sub_plans(table, columns, terms, around)).await,
            false => self.key_now(table, columns, terms, around),
        }
    }

    /// As [`Self::key_of`], for expressions without sub plans.
    #[inline]
    fn key_now(
        &self,
        table: usize,
        columns: &[usize],
        terms: &[Term],
        around: Around<'_>,
    ) -> Result<Option<KeyBuilder>> {
        let table = &self.tables[table];
        let mut view = self.view([NOTHING; 2], around.outer);
        view.element = around.element;
        let mut builder = KeyBuilder::new();
        for (term, &at) in terms.iter().zip(columns) {
            let column = &table.columns[at];
            let value = super::evaluate(term, &view)?;
            if value.is_null() {
                return Ok(None);
            }
            match key::append(builder, column, &value) {
                Fit::Exact(key) => builder = key,
                _ => return Ok(None),
            }
        }
        Ok(Some(builder))
    }

    async fn key_with_sub_plans(
        &mut self,
        table: usize,
        columns: &[usize],
        terms: &[Term],
        around: Around<'_>,
    ) -> Result<Option<KeyBuilder>> {
        let mut builder = KeyBuilder::new();
        for (term, &at) in terms.iter().zip(columns) {
            let value = self.key_value(term, around).await?;
            let table = &self.tables[table];
            match key::append(builder, &table.columns[at], &value) {
                Fit::Exact(key) if !value.is_null() => builder = key,
                _ => return Ok(None),
            }
        }
        Ok(Some(builder))
    }

    pub(super) async fn key_value(&mut self, term: &Term, around: Around<'_>) -> Result<Value> {
        if term.uses_sub_plans {
            return self.value(&term.formula, [&[], &[]], around.outer).await;
        }
        let mut view = self.view([NOTHING; 2], around.outer);
        view.element = around.element;
        super::evaluate(term, &view)
    }

    /// Finds the rows of an access.
    pub(super) fn find<'s>(
        &'s mut self,
        table: usize,
        access: &'s Access,
        around: Around<'s>,
        ids: &'s mut Vec<RowId>,
    ) -> Pin<Box<dyn Future<Output = Result<()>> + 's>> {
        Box::pin(async move {
            match access {
                Access::Key(key) => {
                    ids.extend(self.find_by_key(table, key, around).await?);
                    Ok(())
                }
                Access::Lookup { index, columns, key } => {
                    let Some(key) = self.key_of(table, columns, key, around).await? else {
                        return Ok(());
                    };
                    self.look_up(*index, key.key(), ids).await
                }
                Access::Range(range) => {
                    let Some((low, high)) = self.bounds(table, range, around).await? else {
                        return Ok(());
                    };
                    let mut found = Vec::new();
                    let scan = self.whole_range(table, range, (low, high));
                    self.txn.scan(&scan, &mut found).await?;
                    if range.sorts_ties {
                        self.settle(table, range, &mut found, None).await?;
                    }
                    ids.append(&mut found);
                    Ok(())
                }
                Access::Any(accesses) => {
                    let mut all = Vec::new();
                    for access in accesses {
                        self.find(table, access, around, &mut all).await?;
                    }
                    keep_first(&all, ids);
                    Ok(())
                }
                Access::Each { array, access, is_backward } => {
                    let array = self.key_value(array, around).await?;
                    let mut elements = distinct_elements(array);
                    if *is_backward {
                        elements.reverse();
                    }
                    let mut all = Vec::new();
                    for element in elements {
                        let around = Around { element: &element, ..around };
                        self.find(table, access, around, &mut all).await?;
                    }
                    keep_first(&all, ids);
                    Ok(())
                }
                Access::All => self.find_all(table, ids).await,
            }
        })
    }

    /// Finds the rows with a key in an index. If a procedure looks up the same key twice in a row,
    /// say to count rows and then take one, the result is reused: the snapshot is the same, and no
    /// statement has changed rows in between.
    async fn look_up(&mut self, index: IndexId, key: Key, ids: &mut Vec<RowId>) -> Result<()> {
        let frame = &mut *self.frame;
        if frame.looked_up != Some((index, key)) {
            frame.looked_up = None;
            self.txn.lookup(index, &key, &mut frame.found).await?;
            // A statement that changes rows does so after its lookup.
            frame.looked_up = (!self.statement.writes).then_some((index, key));
        }
        ids.extend_from_slice(&frame.found);
        Ok(())
    }

    /// Finds all rows of a table, including those that the transaction has inserted.
    pub(super) async fn find_all(&mut self, table: usize, ids: &mut Vec<RowId>) -> Result<()> {
        let bound = &self.tables[table];
        if bound.named == Some(0) {
            let words = bound.schema.key_words();
            let scan = txn::Scan {
                source: ScanSource::Table(bound.id),
                low: Key::lowest(words),
                high: Key::highest(words),
                reverse: false,
                limit: ALL,
            };
            let mut found = Vec::new();
            self.txn.scan(&scan, &mut found).await?;
            ids.append(&mut found);
            return Ok(());
        }
        let mut keys = Vec::new();
        let mut note = |record: layout::RecordRef<'_>| keys.push(Key::from_words(record.key()));
        self.txn.for_each(bound.id, &mut note).await?;
        let own = self.frame.inserted.iter().filter(|(of, _)| *of == bound.id);
        keys.extend(own.map(|(_, key)| *key));
        keys.sort_unstable();
        keys.dedup();
        let reads: Vec<_> = keys.into_iter().map(|key| (bound.id, key)).collect();
        let mut found = Vec::new();
        self.txn.read_many(&reads, &mut found).await?;
        ids.extend(found.into_iter().flatten());
        Ok(())
    }
}

/// Whether outputs may need a copy of the row: they use sub plans, which may move the record, or
/// values that may be out of line.
pub(super) fn needs_copy(scan: &Scan, node: &Node) -> bool {
    scan.reads_long || uses_sub_plans(scan, node)
}

/// Whether filter or outputs use sub plans.
pub(super) fn uses_sub_plans(scan: &Scan, node: &Node) -> bool {
    let list_uses_sub_plans = matches!(&node.outputs, Outputs::List(list) if list.uses_sub_plans);
    let filter_uses_sub_plans = scan.filter.as_ref().is_some_and(|filter| filter.uses_sub_plans);
    !node.correlated.is_empty() || list_uses_sub_plans || filter_uses_sub_plans
}

/// Drops duplicates, keeping the first occurrence.
fn keep_first(all: &[RowId], ids: &mut Vec<RowId>) {
    let mut seen = BTreeSet::new();
    ids.extend(all.iter().filter(|id| seen.insert(**id)));
}

/// Returns the distinct elements of an array, sorted as PostgreSQL sorts them for the search.
fn distinct_elements(array: Value) -> Vec<Value> {
    let Value::Array(elements) = array else { return Vec::new() };
    let mut elements: Vec<Value> =
        elements.iter().filter(|element| !element.is_null()).cloned().collect();
    elements.sort_by(sql_value::order::order);
    elements.dedup_by(|one, other| sql_value::order::order(one, other).is_eq());
    elements
}

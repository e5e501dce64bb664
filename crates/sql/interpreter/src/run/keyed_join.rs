//! Nested loops that find their inner rows by key: the inner rows of many outer rows are read
//! together.
//!
//! Decision: docs/decisions/0204-inner-rows-with-known-keys-are-read-together.md

use super::join::JoinContext;
use super::state::JoinState;
use super::{ALL, BATCH_ROWS, GROWTH, NodeContext, Run, is_true, push_all};
use crate::error::Result;
use crate::plan::{Join, KeyedInner, Node, Outputs, Scan, Term};
use crate::rows::Rows;
use crate::scope::{NOTHING, Outer, Source, View};
use fabric::Env;
use layout::LongValues;
use procedure::node::JoinKind;
use sql_value::Value;
use std::ops::Range;
use txn::RowId;

/// Maximum number of rows that are read together.
const READ_ROWS: usize = 2 * BATCH_ROWS;

impl<E: Env> Run<'_, '_, E> {
    /// Joins outer rows with the inner rows that their keys find. Inner rows are not copied:
    /// outputs are evaluated directly on the record.
    pub(super) async fn keyed_join(
        &mut self,
        context: JoinContext<'_>,
        keyed: &KeyedInner,
        joining: &mut JoinState,
        rows: &mut Rows,
    ) -> Result<bool> {
        let Some((scan, key)) = super::scan_by_key(&context.join.inner) else { return Ok(false) };
        while rows.len() < context.enough {
            self.forget_rows(context.under);
            if !self.next_outer(context, joining).await? {
                return Ok(false);
            }
            // Outer rows may have no match: more and more are looked at.
            let count = if context.most == ALL { READ_ROWS } else { joining.keyed_size };
            joining.keyed_size = (joining.keyed_size * GROWTH).min(READ_ROWS);
            let end = joining.rows.len().min(joining.at + count);
            let places = joining.at..end;
            joining.at = end;
            let outer = &joining.rows;
            self.read_partners(context, (keyed, scan, key), (outer, places), rows).await?;
        }
        Ok(true)
    }

    /// Reads the inner rows of some outer rows together, and delivers the results.
    async fn read_partners(
        &mut self,
        context: JoinContext<'_>,
        (keyed, scan, key): (&KeyedInner, &Scan, &[Term]),
        (outer, places): (&Rows, Range<usize>),
        rows: &mut Rows,
    ) -> Result<()> {
        let JoinContext { join, node, under, most, .. } = context;
        let table = self.tables[scan.table].id;
        let mut reads = std::mem::take(&mut self.frame.scratch.reads);
        let mut found = std::mem::take(&mut self.frame.scratch.found);
        let mut known = std::mem::take(&mut self.frame.scratch.places);
        reads.clear();
        known.clear();
        let (mut failure, mut end) = (None, places.end);
        self.frame.watch.look(self.txn.env())?;
        for place in places.clone() {
            let around = Outer { sources: [outer.row(place), &[]], next: under.outer };
            match self.single_key(scan.table, key, Some(&around)) {
                Ok(None) => {}
                Ok(Some(key)) => {
                    reads.push((table, key));
                    known.push(place);
                }
                // Deliver the rows before it first: they may fail earlier.
                Err(error) => {
                    (failure, end) = (Some(error), place);
                    break;
                }
            }
        }
        let begun = self.begin_meter();
        self.txn.read_many(&reads, &mut found).await?;
        let found_rows = found.iter().flatten().count() as u64;
        self.end_meter(&join.inner, begun, (places.len() as u64, found_rows));
        let mut inner = known.iter().copied().zip(found.iter().copied()).peekable();
        for place in places.start..end {
            let id = inner.next_if(|(of, _)| *of == place).and_then(|(_, id)| id);
            if rows.len() < most {
                let long = self.values_of(scan.table, id.filter(|_| scan.reads_long)).await?;
                let inner = (scan, id, &long);
                self.pair_with((join, keyed), (outer, place), inner, (node, under), rows)?;
            }
        }
        self.frame.scratch.reads = reads;
        self.frame.scratch.found = found;
        self.frame.scratch.places = known;
        match failure {
            Some(error) if rows.len() < most => Err(error),
            _ => Ok(()),
        }
    }

    /// Delivers the results for an outer row and the row that its key found.
    #[inline]
    fn pair_with(
        &self,
        (join, keyed): (&Join, &KeyedInner),
        (outer, at): (&Rows, usize),
        (scan, id, long): (&Scan, Option<RowId>, &LongValues),
        (node, under): (&Node, NodeContext<'_>),
        rows: &mut Rows,
    ) -> Result<()> {
        let row = outer.row(at);
        let around = Outer { sources: [row, &[]], next: under.outer };
        let Some(id) = id else {
            return self.pair_with_nulls(join, (outer, at), (node, under), rows);
        };
        let columns = &self.tables[scan.table].columns;
        let record = self.txn.row(id).with_long(long);
        if let Some(filter) = &scan.filter {
            let view = self.view([Source::Record(&record, columns), NOTHING], Some(&around));
            if !is_true(filter, &view)? {
                return self.pair_with_nulls(join, (outer, at), (node, under), rows);
            }
        }
        let inner = Source::Mapped(&record, columns, &keyed.columns);
        let view = self.view([Source::Values(row), inner], under.outer);
        if let Some(filter) = &join.join_filter
            && !is_true(filter, &view)?
        {
            return self.pair_with_nulls(join, (outer, at), (node, under), rows);
        }
        if join.kind == JoinKind::Anti {
            return Ok(());
        }
        let id = outer.id(at).or(scan.is_for_change.then_some(id));
        deliver_pair((node, join.filter.as_ref()), row, &view, id, rows)
    }

    /// Delivers the result for an outer row without a match.
    fn pair_with_nulls(
        &self,
        join: &Join,
        (outer, at): (&Rows, usize),
        (node, under): (&Node, NodeContext<'_>),
        rows: &mut Rows,
    ) -> Result<()> {
        if !matches!(join.kind, JoinKind::Left | JoinKind::Anti) {
            return Ok(());
        }
        let nulls = vec![Value::Null; join.inner.width];
        let row = outer.row(at);
        let view = self.view([Source::Values(row), Source::Values(&nulls)], under.outer);
        deliver_pair((node, join.filter.as_ref()), row, &view, outer.id(at), rows)
    }
}

/// Delivers the outputs of a join for a pair that passes the filter. Neither uses sub plans.
#[inline]
fn deliver_pair<E: Env>(
    (node, filter): (&Node, Option<&Term>),
    row: &[Value],
    view: &View<'_, E>,
    id: Option<RowId>,
    rows: &mut Rows,
) -> Result<()> {
    if let Some(filter) = filter
        && !is_true(filter, view)?
    {
        return Ok(());
    }
    match &node.outputs {
        Outputs::List(list) => {
            push_all(list, view, rows)?;
            rows.end_row(id);
        }
        Outputs::Same => rows.push_row(row, id),
    }
    Ok(())
}

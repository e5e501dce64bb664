//! Nested loops that find their inner rows by key: the inner rows of many outer rows are read
//! together.
//!
//! Decision: docs/decisions/0204-inner-rows-with-known-keys-are-read-together.md

use super::{NodeContext, Run, is_true, push_all};
use crate::error::Result;
use crate::plan::{Join, KeyedInner, Node, Outputs, Scan, Term};
use crate::rows::Rows;
use crate::scope::{NOTHING, Outer, Source, View};
use fabric::Env;
use procedure::node::JoinKind;
use sql_value::Value;
use txn::RowId;

/// Maximum number of rows that are read together.
pub(super) const BATCH_ROWS: usize = 1024;

impl<E: Env> Run<'_, '_, E> {
    /// Joins outer rows with the inner rows that their keys find. Inner rows are not copied:
    /// outputs are evaluated directly on the record.
    pub(super) async fn keyed_join(
        &mut self,
        (join, keyed): (&Join, &KeyedInner),
        outer: &Rows,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let Some((scan, key)) = super::scan_by_key(&join.inner) else { return Ok(()) };
        let most = rows.len().saturating_add(under.wanted);
        let table = self.tables[scan.table].id;
        let mut reads = std::mem::take(&mut self.frame.scratch.reads);
        let mut found = std::mem::take(&mut self.frame.scratch.found);
        let mut places = std::mem::take(&mut self.frame.scratch.places);
        let mut at = 0;
        while at < outer.len() && rows.len() < most {
            // An outer row has at most one match, so no more outer rows than needed are looked at.
            let end = outer.len().min(at + BATCH_ROWS.min(most - rows.len()));
            reads.clear();
            places.clear();
            let mut failure = None;
            self.frame.watch.look(self.txn.env())?;
            for place in at..end {
                let around = Outer { sources: [outer.row(place), &[]], next: under.outer };
                match self.single_key(scan.table, key, Some(&around)) {
                    Ok(None) => {}
                    Ok(Some(key)) => {
                        reads.push((table, key));
                        places.push(place);
                    }
                    // Deliver the rows before it first: they may fail earlier.
                    Err(error) => {
                        failure = Some((place, error));
                        break;
                    }
                }
            }
            self.txn.read_many(&reads, &mut found).await?;
            let mut inner = places.iter().copied().zip(found.iter().copied()).peekable();
            let known = failure.as_ref().map_or(end, |(place, _)| *place);
            for place in at..known {
                let id = inner.next_if(|(of, _)| *of == place).and_then(|(_, id)| id);
                if rows.len() < most {
                    self.pair_with((join, keyed), (outer, place), (scan, id), (node, under), rows)?;
                }
            }
            match failure {
                Some((_, error)) if rows.len() < most => return Err(error),
                _ => at = end,
            }
        }
        self.frame.scratch.reads = reads;
        self.frame.scratch.found = found;
        self.frame.scratch.places = places;
        Ok(())
    }

    /// Delivers the results for an outer row and the row that its key found.
    #[inline]
    fn pair_with(
        &self,
        (join, keyed): (&Join, &KeyedInner),
        (outer, at): (&Rows, usize),
        (scan, id): (&Scan, Option<RowId>),
        (node, under): (&Node, NodeContext<'_>),
        rows: &mut Rows,
    ) -> Result<()> {
        let row = outer.row(at);
        let around = Outer { sources: [row, &[]], next: under.outer };
        let Some(id) = id else {
            return self.pair_with_nulls(join, (outer, at), (node, under), rows);
        };
        let columns = &self.tables[scan.table].columns;
        let record = self.txn.row(id);
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

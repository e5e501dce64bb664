//! Full scans of statements that change nothing: rows are visited one after the other and not kept
//! in the access set, so that memory limits only the scan's result.
//!
//! Decision: docs/decisions/0185-a-row-that-is-locked-is-written-unchanged.md

use super::keyed::deliver_view;
use super::scan::uses_sub_plans;
use super::state::VisitState;
use super::{NodeContext, Run, State};
use crate::error::Result;
use crate::plan::{Node, Scan};
use crate::rows::Rows;
use crate::scope::{NOTHING, Source, View};
use fabric::Env;
use layout::RecordRef;
use sql_value::Value;
use txn::VisitSteps;

impl<E: Env> Run<'_, '_, E> {
    /// Delivers the rows of a table that pass the scan's filter, in storage order.
    pub(super) async fn visit(
        &mut self,
        scan: &Scan,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        if matches!(state, State::New) {
            let table = &self.tables[scan.table];
            let steps = VisitSteps::new(table.id);
            let copies = Rows::new(table.columns.len());
            *state = State::Visit(Box::new(VisitState { steps, copies }));
        }
        let State::Visit(visit) = state else { return Ok(false) };
        let (most, enough) = under.ends(rows);
        let copies = uses_sub_plans(scan, node);
        while rows.len() < enough {
            let has_more = match copies {
                true => self.visit_copies(scan, node, visit, (under, most), rows).await?,
                false => self.visit_records(scan, node, visit, (under, most), rows).await?,
            };
            if !has_more || rows.len() >= most {
                *state = State::Done;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Delivers some rows directly from their records.
    async fn visit_records(
        &mut self,
        scan: &Scan,
        node: &Node,
        visit: &mut VisitState,
        (under, most): (NodeContext<'_>, usize),
        rows: &mut Rows,
    ) -> Result<bool> {
        let Self { txn, tables, frame, .. } = self;
        let (table, env, frame) = (&tables[scan.table], txn.env().clone(), &**frame);
        let mut delivered = Ok(());
        let show = &mut |record: RecordRef<'_>| {
            if delivered.is_ok() {
                delivered = frame.watch.check(&env);
            }
            if delivered.is_ok() && rows.len() < most {
                let sources = [Source::Record(&record, &table.columns), NOTHING];
                let outer = under.outer;
                let view = View { frame, env: &env, sources, outer, element: &Value::Null };
                delivered = deliver_view(scan, node, &view, None, rows);
            }
        };
        let has_more = match scan.reads_long {
            true => txn.visit_step_long(&mut visit.steps, show).await?,
            false => txn.visit_step(&mut visit.steps, show).await?,
        };
        delivered.map(|()| has_more)
    }

    /// Delivers some rows from copies, since the sub plans that look at them read other rows.
    async fn visit_copies(
        &mut self,
        scan: &Scan,
        node: &Node,
        visit: &mut VisitState,
        (under, most): (NodeContext<'_>, usize),
        rows: &mut Rows,
    ) -> Result<bool> {
        let VisitState { steps, copies } = visit;
        let table = &self.tables[scan.table];
        copies.reset(table.columns.len());
        let mut copied = Ok(());
        let show = &mut |record: RecordRef<'_>| {
            for (at, column) in table.columns.iter().enumerate() {
                match column.read(record, at) {
                    Ok(value) => copies.push(value),
                    Err(error) => {
                        copies.push(Value::Null);
                        copied = Err(error);
                    }
                }
            }
            copies.end_row(None);
        };
        let has_more = match table.has_long {
            true => self.txn.visit_step_long(steps, show).await?,
            false => self.txn.visit_step(steps, show).await?,
        };
        copied?;
        let filtered = (node, scan.filter.as_ref());
        for at in 0..copies.len() {
            if rows.len() >= most {
                break;
            }
            self.deliver(filtered, [copies.row(at), &[]], None, under.outer, rows).await?;
        }
        Ok(has_more)
    }
}

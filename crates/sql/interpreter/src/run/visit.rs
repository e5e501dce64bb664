//! Full scans of procedures that change nothing: rows are visited one after the other and not kept
//! in the access set, so that memory limits only the scan's result.
//!
//! Decision: docs/decisions/0185-a-row-that-is-locked-is-written-unchanged.md

use super::Run;
use super::keyed::deliver_view;
use crate::error::Result;
use crate::plan::{Node, Scan};
use crate::rows::Rows;
use crate::scope::{NOTHING, Outer, Source, View};
use fabric::Env;
use layout::RecordRef;
use sql_value::Value;

impl<E: Env> Run<'_, '_, E> {
    /// Delivers the rows of a table that pass the scan's filter, in storage order. Neither filter
    /// nor outputs use sub plans.
    pub(super) async fn visit(
        &mut self,
        scan: &Scan,
        node: &Node,
        outer: Option<&Outer<'_>>,
        rows: &mut Rows,
    ) -> Result<()> {
        let Self { txn, tables, frame, .. } = self;
        let (table, env, frame) = (&tables[scan.table], txn.env().clone(), &**frame);
        let mut delivered = Ok(());
        let show = &mut |record: RecordRef<'_>| {
            if delivered.is_ok() {
                delivered = frame.watch.check(&env);
            }
            if delivered.is_ok() {
                let sources = [Source::Record(&record, &table.columns), NOTHING];
                let view = View { frame, env: &env, sources, outer, element: &Value::Null };
                delivered = deliver_view(scan, node, &view, None, rows);
            }
        };
        txn.for_each(table.id, show).await?;
        delivered
    }
}

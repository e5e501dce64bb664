//! `EXPLAIN`.
//!
//! A cost is the planner's estimate of the statement's time, in microseconds; it is known for the
//! whole statement. `EXPLAIN ANALYZE` runs the statement and counts what it does on the network.

use super::{Prepared, SqlSession};
use crate::command::ExplainOptions;
use crate::error::SqlError;
use crate::host::Host;
use crate::outcome::{Outcome, RowSet};
use crate::planned::PlannedAction;
use fabric::{Counts, Env};
use procedure::explain_single;
use sql::SqlType;
use sql_value::Value;

/// The measurements of `EXPLAIN ANALYZE`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    pub counts: Counts,
    pub run_ns: u64,
    pub rows: u64,
}

impl<H: Host> SqlSession<H> {
    pub(super) async fn explain(
        &mut self,
        options: ExplainOptions,
        text: &str,
        at: u32,
    ) -> Result<Outcome, SqlError> {
        let env = self.database.host().handle().env().clone();
        let start_ns = env.now_ns();
        let version = self.version();
        let shift = |mut error: SqlError| {
            error.position = error.position.map(|position| position + at);
            error
        };
        let prepared = Prepared::new(text, &[], &version, &self.constants).map_err(shift)?;
        let planned = prepared.plan_for(&version, &[])?;
        let planned_ns = env.now_ns() - start_ns;
        let (mut lines, title) = match &planned.action {
            PlannedAction::Query(query) => {
                let parameters = planned.parameters.len();
                let lines = explain_single(&version.catalog, &query.plan, parameters);
                let width: u32 = query.plan.fields.iter().map(|field| width(&field.sql_type)).sum();
                let cost = format!(
                    "(cost=0.00..{:.2} rows={} width={width})",
                    query.cost / 1e3,
                    query.plan.root.rows
                );
                (lines, cost)
            }
            PlannedAction::Call(call) => {
                let name = &version.routines[call.routine].signature.name;
                (vec![format!("Function Call on {name}  (rows=1)")], "(rows=1)".to_owned())
            }
        };
        set_title(&mut lines, if options.costs { &title } else { "" });
        if !options.costs {
            lines.iter_mut().for_each(without_rows);
        }
        if options.analyze {
            let measured = self.measure(&prepared).await?;
            let milliseconds = measured.run_ns as f64 / 1e6;
            let actual = match options.timing {
                true => format!(
                    " (actual time=0.000..{milliseconds:.3} rows={} loops=1)",
                    measured.rows
                ),
                false => format!(" (actual rows={} loops=1)", measured.rows),
            };
            if let Some(first) = lines.first_mut() {
                first.push_str(&actual);
            }
            let Counts { verbs, bytes, round_trips, .. } = measured.counts;
            lines.push(format!("Round Trips: {round_trips}  Verbs: {verbs}  Bytes: {bytes}"));
            if options.summary {
                lines.push(format!("Planning Time: {:.3} ms", planned_ns as f64 / 1e6));
                lines.push(format!("Execution Time: {milliseconds:.3} ms"));
            }
        }
        let mut rows = RowSet::new(1);
        lines.iter().for_each(|line| rows.push([Value::text(line)]));
        Ok(Outcome::Rows { rows, tag: "EXPLAIN".to_owned() })
    }

    /// Runs a statement, and measures it.
    async fn measure(&mut self, prepared: &Prepared) -> Result<Measured, SqlError> {
        self.measured = Some(Measured::default());
        let ran = self.run_query(prepared, &[]).await;
        let measured = self.measured.take().unwrap_or_default();
        ran.map(|_| measured)
    }
}

/// Replaces the estimate of the first line.
fn set_title(lines: &mut [String], title: &str) {
    if let Some(first) = lines.first_mut() {
        let end = first.rfind("  (rows=").unwrap_or(first.len());
        first.truncate(end);
        if !title.is_empty() {
            first.push_str("  ");
            first.push_str(title);
        }
    }
}

fn without_rows(line: &mut String) {
    if let Some(at) = line.rfind("  (rows=") {
        line.truncate(at);
    }
}

/// The average width of a value, in bytes.
fn width(sql_type: &SqlType) -> u32 {
    match (crate::oid::length(sql_type), sql_type) {
        (length, _) if length > 0 => length as u32,
        (_, SqlType::Varchar(Some(length)) | SqlType::Char(Some(length))) => length / 2 + 1,
        _ => 32,
    }
}

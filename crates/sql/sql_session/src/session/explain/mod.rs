//! `EXPLAIN`.
//!
//! A cost is the planner's estimate of a node's time, in microseconds. `EXPLAIN ANALYZE` runs the
//! statement and measures each node: time, rows, executions, and what it does on the network. As in
//! PostgreSQL, the numbers of a node include those of its inputs.
//!
//! ```text
//! text     the lines of the text format
//! json     the document of the JSON format
//! ```

mod json;
mod text;

use super::{Prepared, SqlSession};
use crate::catalog::Version;
use crate::command::ExplainOptions;
use crate::error::SqlError;
use crate::host::Host;
use crate::outcome::{Outcome, RowSet};
use crate::planned::{Planned, PlannedAction};
use fabric::{Counts, Env};
use interpreter::Meter;
use planner::{NodeCost, node_costs};
use procedure::{Explained, explain_changes, explain_single};
use sql::SqlType;
use sql::namespace::without_schemas;
use sql_value::Value;

/// The measurements of `EXPLAIN ANALYZE`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    pub counts: Counts,
    pub run_ns: u64,
    pub rows: u64,
}

/// A statement that is shown.
struct Shown<'s> {
    plan: &'s Explained,
    options: ExplainOptions,
    /// By the numbers of the nodes.
    costs: Vec<NodeCost>,
    /// By the numbers of the nodes, if the statement was run.
    meters: Option<Vec<Meter>>,
    planning_ns: u64,
    measured: Measured,
}

impl Shown<'_> {
    fn cost(&self, node: &Explained) -> Option<NodeCost> {
        node.number.and_then(|number| self.costs.get(number).copied())
    }

    /// The measurements of a node, if the statement was run; without loops if the node was not.
    fn meter(&self, node: &Explained) -> Option<Meter> {
        let meters = self.meters.as_ref()?;
        node.number.map(|number| meters.get(number).copied().unwrap_or_default())
    }
}

/// Milliseconds, as PostgreSQL shows them.
fn milliseconds(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

/// A cost, in microseconds.
fn microseconds(cost: f64) -> String {
    format!("{:.2}", cost / 1e3)
}

impl Shown<'_> {
    /// Actual start and total time of an execution, and its rows.
    fn actual(meter: &Meter) -> (String, String, u64) {
        let loops = meter.loops.max(1);
        let rows = (meter.rows as f64 / loops as f64).round() as u64;
        (milliseconds(meter.first_ns / loops), milliseconds(meter.total_ns / loops), rows)
    }

    /// How a node has held its rows: the method of a sort, or the memory of a hash table.
    fn held(node: &Explained, meter: &Meter, is_limited: bool) -> Vec<(&'static str, String)> {
        let kb = meter.memory.div_ceil(1 << 10).to_string();
        match &*node.title {
            "Sort" if meter.memory > 0 => {
                let method = if is_limited { "top-N heapsort" } else { "quicksort" };
                vec![
                    ("Sort Method", method.to_owned()),
                    ("Sort Space Used", kb),
                    ("Sort Space Type", "Memory".to_owned()),
                ]
            }
            "HashAggregate" if meter.memory > 0 => vec![("Peak Memory Usage", kb)],
            title if title.starts_with("Hash ") && meter.memory > 0 => {
                vec![("Peak Memory Usage", kb)]
            }
            _ => Vec::new(),
        }
    }
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
        let prepared = Prepared::inside(text, &version, &self.identity).map_err(shift)?;
        let planned = prepared.plan_for((&version, &self.granted()), &self.identity, &[])?;
        let planning_ns = env.now_ns() - start_ns;
        let plan = tree(&planned, &version);
        let costs = match &planned.action {
            PlannedAction::Query(query) => node_costs(version.knowledge(), &query.plan),
            _ => Vec::new(),
        };
        let (meters, measured) = match options.analyze {
            false => (None, Measured::default()),
            true => {
                let (meters, measured) = self.measure(&prepared).await?;
                (Some(meters), measured)
            }
        };
        let shown = Shown { plan: &plan, options, costs, meters, planning_ns, measured };
        let mut rows = RowSet::new(1);
        match options.is_json {
            true => rows.push([Value::text(&without_schemas(&shown.json()))]),
            false => {
                let text = shown.text();
                text.iter().for_each(|line| rows.push([Value::text(&without_schemas(line))]));
            }
        }
        Ok(Outcome::Rows { rows, tag: "EXPLAIN".to_owned() })
    }

    /// Runs a statement, and measures it and its nodes.
    async fn measure(&mut self, prepared: &Prepared) -> Result<(Vec<Meter>, Measured), SqlError> {
        self.measured = Some(Measured::default());
        self.runner.start_meters();
        let batch = std::mem::replace(&mut self.batch, usize::MAX);
        let ran = self.run_query(prepared, &[]).await;
        self.batch = batch;
        let meters = self.runner.take_meters();
        let measured = self.measured.take().unwrap_or_default();
        ran.map(|_| (meters, measured))
    }
}

/// The nodes of a statement.
fn tree(planned: &Planned, version: &Version) -> Explained {
    match &planned.action {
        PlannedAction::Query(query) => {
            let parameters = planned.parameters.len();
            let mut plan = explain_single(&version.catalog, &query.plan, parameters);
            let fields = query.plan.fields.iter().map(|field| field.sql_type.clone());
            plan.types = fields.collect();
            plan.outputs.truncate(plan.types.len());
            plan
        }
        PlannedAction::Changes(changes) => explain_changes(&version.catalog, &changes.plans),
        PlannedAction::Call(_) | PlannedAction::Block(_) => {
            let routine = planned.routine(version);
            let name = routine.map(|one| one.signature.name.clone()).unwrap_or_default();
            Explained {
                title: format!("Function Call on {name}"),
                properties: vec![
                    ("Node Type", "Function Call".to_owned()),
                    ("Function Name", name),
                ],
                rows: Some(1),
                ..Explained::default()
            }
        }
    }
}

/// The average width of a row, in bytes.
fn row_width(types: &[SqlType]) -> u32 {
    types.iter().map(width).sum()
}

/// The average width of a value, in bytes.
fn width(sql_type: &SqlType) -> u32 {
    match (crate::oid::length(sql_type), sql_type) {
        (length, _) if length > 0 => length as u32,
        (_, SqlType::Varchar(Some(length)) | SqlType::Char(Some(length))) => length / 2 + 1,
        _ => 32,
    }
}

//! A statement that is being planned.

use crate::block::{Body, Logical, RelationKind};
use crate::cost::Costs;
use crate::join::evaluation;
use crate::path::{Conditions, Path, PathKind};
use crate::query::BlockPlan;
use crate::statistics::Statistics;
use crate::window::groups;
use sql::expression::{Expr, ExprKind};
use sql::query::RoutineCall;
use sql::{Catalog, SqlType, Table};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Maximum number of operations that count; a sub-select has more, to be evaluated last.
pub(crate) const OPERATIONS_MAX: u32 = 100;

/// Elements of an array, or numbers of a series.
const ELEMENTS: f64 = 10.0;
/// Steps of a recursion, and rows of a step.
const STEPS: f64 = 10.0;
const ROWS_OF_STEP: f64 = 10.0;
/// Rows of a routine, as PostgreSQL assumes for one that returns a set.
const ROWS_OF_CALL: f64 = 1000.0;
/// The time of a routine, whose statements are not looked at.
const CALL_ROUND_TRIPS: f64 = 10.0;

/// Chooses the plans of a statement's blocks.
pub(crate) struct Planner<'a> {
    pub catalog: &'a Catalog,
    pub statistics: &'a Statistics,
    pub costs: Costs,
    pub logical: Logical,
    /// Bytes of a row of each table.
    pub row_bytes: Vec<f64>,
    /// The columns of each relation that the statement uses.
    pub used: Vec<BTreeSet<usize>>,
    /// The plans of blocks that are already chosen.
    pub(crate) plans: RefCell<Vec<Option<Rc<BlockPlan>>>>,
}

impl<'a> Planner<'a> {
    pub fn new(
        catalog: &'a Catalog,
        statistics: &'a Statistics,
        costs: Costs,
        logical: Logical,
        further: &[&Expr],
    ) -> Self {
        let mut used = vec![BTreeSet::new(); logical.relations.len()];
        let mut note = |expr: &Expr| {
            expr.visit(&mut |part| {
                if let ExprKind::Column(column) = &part.kind {
                    used[column.source].insert(column.column);
                }
            });
        };
        logical.blocks.iter().for_each(|block| {
            block.for_each_expr(&mut note);
            if let Body::Plain(plain) = &block.body {
                plain.extreme.iter().flatten().for_each(&mut note);
            }
        });
        for relation in &logical.relations {
            if let RelationKind::Unnest(exprs)
            | RelationKind::Series(exprs)
            | RelationKind::Call(RoutineCall { arguments: exprs, .. }) = &relation.kind
            {
                exprs.iter().for_each(&mut note);
            }
        }
        further.iter().for_each(|expr| note(expr));
        let plans = RefCell::new(vec![None; logical.blocks.len()]);
        let row_bytes = catalog.tables.iter().map(row_bytes).collect();
        Self { catalog, statistics, costs, logical, row_bytes, used, plans }
    }

    /// Bytes of a row of a relation that is a table.
    pub fn bytes_of(&self, relation: usize) -> f64 {
        match self.logical.relations[relation].kind {
            RelationKind::Table(table) => self.row_bytes[table],
            _ => 0.0,
        }
    }

    /// The path of a relation that is not a table.
    pub fn rows_of(&self, relation: usize, conditions: &Conditions) -> Path {
        let (rows, cost) = match &self.logical.relations[relation].kind {
            RelationKind::Query(block) => {
                let plan = self.plan(*block);
                (plan.rows, plan.cost)
            }
            RelationKind::Windows(block, calls) => {
                let plan = self.plan(*block);
                let sorts = groups(calls).len().saturating_sub(1) as f64;
                let computed = plan.rows * self.costs.row * calls.len() as f64;
                (plan.rows, plan.cost + computed + sorts * self.costs.sort(plan.rows))
            }
            RelationKind::Unnest(exprs) | RelationKind::Series(exprs) => {
                let rows = written_length(exprs).unwrap_or(ELEMENTS);
                (rows, rows * self.costs.row)
            }
            RelationKind::Call(call) => {
                let rows = if call.is_value { 1.0 } else { ROWS_OF_CALL };
                (rows, CALL_ROUND_TRIPS * self.costs.round_trip + rows * self.costs.row)
            }
            RelationKind::Recursive { first, step, .. } => {
                let (first, step) = (self.plan(*first), self.plan(*step));
                let cost = first.cost + STEPS * step.cost;
                (first.rows + STEPS * step.rows, cost)
            }
            RelationKind::WorkTable(_) => (ROWS_OF_STEP, ROWS_OF_STEP * self.costs.row),
            RelationKind::Table(table) => (self.statistics.rows(*table), f64::INFINITY),
        };
        let fraction: f64 = conditions.iter().map(|c| c.selectivity).product();
        let cost = cost + rows * (evaluation(conditions) + self.costs.row);
        Path {
            kind: PathKind::Rows { relation, filter: conditions.clone() },
            rows: (rows * fraction).max(0.01),
            first: cost,
            cost,
            order: Vec::new(),
        }
    }

    /// The cost of evaluating expressions.
    pub fn evaluation_of<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> f64 {
        let cost = |expr: &Expr| {
            let operations = crate::expression::operations(expr).min(OPERATIONS_MAX);
            f64::from(operations) * self.costs.operation + self.sub_plan_costs(expr, &|_| true)
        };
        exprs.into_iter().map(cost).sum()
    }
}

/// The length of arrays that are written out.
fn written_length(exprs: &[Expr]) -> Option<f64> {
    let length = |expr: &Expr| match &expr.kind {
        ExprKind::Array(elements) => Some(elements.len().max(1) as f64),
        _ => None,
    };
    exprs.iter().map(length).try_fold(1.0, |most: f64, length| Some(most.max(length?)))
}

/// Bytes of a row of a table.
pub(crate) fn row_bytes(table: &Table) -> f64 {
    table.columns.iter().map(|column| bytes(&column.sql_type)).sum::<f64>().max(8.0)
}

fn bytes(sql_type: &SqlType) -> f64 {
    match sql_type {
        SqlType::Bool => 1.0,
        SqlType::Int2 => 2.0,
        SqlType::Int4 | SqlType::Date => 4.0,
        SqlType::Varchar(Some(length)) | SqlType::Char(Some(length)) => f64::from(*length),
        _ => 8.0,
    }
}

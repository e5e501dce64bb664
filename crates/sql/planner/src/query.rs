//! Plans a block: its joins, groups, order and limit.

use crate::block::{Block, Body, By, OrderItem, Plain};
use crate::expression::as_column;
use crate::join_order::Solver;
use crate::path::{Conditions, OrderColumn, Path};
use crate::planner::Planner;
use crate::problem::Problem;
use crate::selectivity::constant;
use crate::statistics::Constant;
use sql::expression::{Expr, ExprKind};
use sql::query::SetOperation;
use std::rc::Rc;

/// The chosen plan of a block.
#[derive(Debug)]
pub(crate) struct BlockPlan {
    pub kind: BlockKind,
    pub rows: f64,
    pub cost: f64,
}

#[derive(Debug)]
pub(crate) enum BlockKind {
    Plain {
        path: Rc<Path>,
        /// Conditions that hold for all rows or for none.
        gates: Conditions,
        /// Conditions that are evaluated last.
        volatile: Conditions,
        /// Whether the path has the order of the groups, or else the order of the query.
        is_sorted: bool,
    },
    /// `min` and `max` by the ends of an index.
    Extreme,
    Values,
    Set,
}

/// The best way to join a block's relations so far.
struct Candidate {
    cost: f64,
    path: Rc<Path>,
    is_sorted: bool,
    problem: Problem,
}

/// Fraction of rows that a group or a distinct row stands for.
const GROUPS: f64 = 0.2;

impl Planner<'_> {
    /// Returns the plan of a block, which is chosen at the first call.
    pub(crate) fn plan(&self, block: usize) -> Rc<BlockPlan> {
        if let Some(plan) = &self.plans.borrow()[block] {
            return plan.clone();
        }
        let plan = Rc::new(self.choose(&self.logical.blocks[block]));
        self.plans.borrow_mut()[block] = Some(plan.clone());
        plan
    }

    fn choose(&self, block: &Block) -> BlockPlan {
        match &block.body {
            Body::Plain(plain) => self.plain(block, plain),
            Body::Values(rows) => {
                let count = rows.len() as f64;
                let cost = count * self.costs.row + self.evaluation_of(rows.iter().flatten());
                self.finish(block, BlockKind::Values, count, cost, false)
            }
            Body::Set { operation, all, inputs } => {
                let plans = inputs.map(|input| self.plan(input));
                let read: f64 = plans.iter().map(|plan| plan.rows).sum();
                let mut cost: f64 = plans.iter().map(|plan| plan.cost).sum();
                cost += read * self.costs.row;
                if !all || *operation != SetOperation::Union {
                    cost += self.costs.sort(read);
                }
                let [left, right] = [plans[0].rows, plans[1].rows];
                let rows = match operation {
                    SetOperation::Union => read,
                    SetOperation::Intersect => left.min(right),
                    SetOperation::Except => left,
                };
                self.finish(block, BlockKind::Set, rows, cost, false)
            }
        }
    }

    /// Adds the cost of the block's own sort, and its limit.
    fn finish(
        &self,
        block: &Block,
        kind: BlockKind,
        rows: f64,
        cost: f64,
        is_sorted: bool,
    ) -> BlockPlan {
        let sort = match block.order.is_empty() || is_sorted {
            true => 0.0,
            false => self.costs.sort(rows),
        };
        let rows = limit_of(block).map_or(rows, |limit| rows.min(limit));
        BlockPlan { kind, rows: rows.max(0.01), cost: cost + sort }
    }

    fn plain(&self, block: &Block, plain: &Plain) -> BlockPlan {
        let wanted = self.wanted_order(block, plain);
        let mut best: Option<Candidate> = None;
        for problem in self.problems(&plain.from) {
            let paths = Solver::solve(self, &problem, &wanted, &Conditions::new());
            let is_fixed = |relation, column| problem.is_fixed(relation, column);
            let mut found: Option<(f64, Rc<Path>, bool)> = None;
            for path in paths {
                let is_sorted = !wanted.is_empty() && path.satisfies(&wanted, &is_fixed);
                let cost = self.upper_cost(block, plain, &path, is_sorted);
                if found.as_ref().is_none_or(|(least, ..)| cost < *least) {
                    found = Some((cost, path, is_sorted));
                }
            }
            let Some((cost, path, is_sorted)) = found else { continue };
            if best.as_ref().is_none_or(|best| cost < best.cost) {
                best = Some(Candidate { cost, path, is_sorted, problem });
            }
        }
        let Some(Candidate { cost, path, is_sorted, problem }) = best else {
            return BlockPlan { kind: BlockKind::Values, rows: 1.0, cost: f64::INFINITY };
        };
        let rows = self.output_rows(plain, path.rows);
        let Problem { gates, volatile, .. } = problem;
        let gated = gates.iter().map(|gate| gate.cost).sum::<f64>();
        let kind = BlockKind::Plain { path, gates, volatile, is_sorted };
        // The sort of a query without groups is part of the cost already.
        let is_ordered = !plain.is_grouped && !plain.distinct;
        let found = self.finish(block, kind, rows, cost + gated, is_ordered);
        match self.extreme_cost(plain) {
            Some(cost) if cost < found.cost => {
                BlockPlan { kind: BlockKind::Extreme, rows: 1.0, cost }
            }
            _ => found,
        }
    }

    fn extreme_cost(&self, plain: &Plain) -> Option<f64> {
        plain.extreme.as_ref().map(|outputs| self.evaluation_of(outputs))
    }

    /// The cost of a path with the nodes above it; with the sort of a query without groups.
    fn upper_cost(&self, block: &Block, plain: &Plain, path: &Path, is_sorted: bool) -> f64 {
        let outputs = self.evaluation_of(&plain.outputs);
        if plain.is_grouped || plain.distinct {
            let has_keys = plain.distinct || !plain.group.is_empty();
            let grouping = if is_sorted || !has_keys { 0.0 } else { self.costs.sort(path.rows) };
            return path.cost + grouping + path.rows * (self.costs.row + outputs);
        }
        let needs_sort = !block.order.is_empty() && !is_sorted;
        let limit = limit_of(block).unwrap_or(f64::INFINITY);
        if needs_sort {
            return path.cost + path.rows * outputs + self.costs.sort(path.rows);
        }
        path.cost_of(limit) + path.rows.min(limit) * outputs
    }

    fn output_rows(&self, plain: &Plain, rows: f64) -> f64 {
        if plain.is_grouped && plain.group.is_empty() {
            return 1.0;
        }
        if !plain.is_grouped && !plain.distinct {
            return rows;
        }
        let keys = if plain.is_grouped { &plain.group } else { &plain.outputs };
        let distinct: Option<f64> = keys
            .iter()
            .map(|key| as_column(key).map(|(relation, column)| self.distinct(relation, column)))
            .try_fold(1.0, |product: f64, distinct| Some(product * distinct?));
        let groups = distinct.unwrap_or(rows * GROUPS).clamp(1.0, rows.max(1.0));
        match plain.having.is_empty() {
            true => groups,
            false => groups * self.combined(&plain.having.iter().collect::<Vec<_>>()),
        }
    }

    /// The order that the joined rows should have: that of the groups, or that of the query. Empty
    /// if none is of use.
    fn wanted_order(&self, block: &Block, plain: &Plain) -> Vec<OrderColumn> {
        if plain.is_grouped {
            let keys = plain.group.iter().map(|key| self.order_column(key, false, false));
            return keys.collect::<Option<_>>().unwrap_or_default();
        }
        if plain.distinct {
            return Vec::new();
        }
        let key = |item: &OrderItem| {
            let expr = order_expr(plain, item)?;
            self.order_column(expr, item.descending, item.nulls_first)
        };
        block.order.iter().map(key).collect::<Option<_>>().unwrap_or_default()
    }

    fn order_column(
        &self,
        expr: &Expr,
        descending: bool,
        nulls_first: bool,
    ) -> Option<OrderColumn> {
        let (relation, column) = as_column(expr)?;
        // A column compared as another type may have another order.
        let own = self.logical.relations.get(relation)?.types.get(column)?;
        let is_same =
            own.base() == expr.sql_type.base() || own.is_text() && expr.sql_type.is_text();
        let is_not_null = false;
        is_same.then_some(OrderColumn { relation, column, descending, nulls_first, is_not_null })
    }
}

/// The expression of an order key over the block's relations.
pub(crate) fn order_expr<'b>(plain: &'b Plain, item: &'b OrderItem) -> Option<&'b Expr> {
    match &item.by {
        By::Output(output) => plain.outputs.get(*output),
        By::Expr(expr) => Some(expr),
    }
}

/// Maximum number of rows that a block reads for its limit and offset, if the limit is a literal;
/// otherwise a guess.
fn limit_of(block: &Block) -> Option<f64> {
    let limit = block.limit.as_ref()?;
    if limit.kind == ExprKind::Null {
        return None;
    }
    let number = |expr: &Expr| match constant(expr) {
        Some(Constant::Number(number)) => number.max(0.0),
        _ => LIMIT,
    };
    Some(number(limit) + block.offset.as_ref().map_or(0.0, number))
}

/// A limit that is not a literal.
const LIMIT: f64 = 100.0;

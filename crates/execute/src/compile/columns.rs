//! Which columns of a node somebody looks at.

use procedure::node::{Access, JoinMethod, Range, Statement};
use procedure::{Node, Operator};
use sql::expression::{ColumnRef, Expr, ExprKind, SubqueryKind};
use std::collections::BTreeSet;

/// Columns by position.
pub(super) type Columns = BTreeSet<usize>;

/// Columns that expressions of nested plans look at, wherever those stand: they count for all rows around them.
pub(super) fn from_inside(statement: &Statement) -> Columns {
    let mut columns = Columns::new();
    for_each_node(statement, &mut |node| {
        for_each_expr(node, &mut |expr| {
            expr.visit(&mut |part| {
                if let ExprKind::Column(ColumnRef { level: 1.., column, .. }) = part.kind {
                    columns.insert(column);
                }
            });
        });
    });
    columns
}

/// Columns of a source that these expressions look at.
pub(super) fn of_source<'e>(
    source: usize,
    exprs: impl IntoIterator<Item = &'e Expr>,
    columns: &mut Columns,
) {
    for expr in exprs {
        expr.visit(&mut |part| {
            if let ExprKind::Column(found) = part.kind
                && found.level == 0
                && found.source == source
            {
                columns.insert(found.column);
            }
        });
    }
}

/// The sub plans that an expression asks for.
pub(super) fn asked(expr: &Expr, plans: &mut Vec<usize>) {
    expr.visit(&mut |part| {
        if let ExprKind::SubPlan { plan, .. } = part.kind
            && !plans.contains(&plan)
        {
            plans.push(plan);
        }
    });
}

/// How many rows of each sub plan somebody looks at, at most.
pub(super) fn wanted(statement: &Statement) -> Vec<usize> {
    let mut wanted = vec![0; statement.sub_plans.len()];
    for_each_node(statement, &mut |node| {
        for_each_expr(node, &mut |expr| {
            expr.visit(&mut |part| {
                if let ExprKind::SubPlan { kind, plan } = &part.kind {
                    let rows = match kind {
                        SubqueryKind::Exists { .. } => 1,
                        // The second one is an error.
                        SubqueryKind::Scalar => 2,
                        SubqueryKind::In { .. } | SubqueryKind::Array => usize::MAX,
                    };
                    wanted[*plan] = wanted[*plan].max(rows);
                }
            });
        });
    });
    wanted
}

fn for_each_node(statement: &Statement, visit: &mut dyn FnMut(&Node)) {
    each_node(&statement.root, visit);
    statement.sub_plans.iter().for_each(|plan| each_node(&plan.root, visit));
}

fn each_node(node: &Node, visit: &mut dyn FnMut(&Node)) {
    visit(node);
    inputs(node).into_iter().for_each(|input| each_node(input, visit));
}

pub(crate) fn inputs(node: &Node) -> Vec<&Node> {
    match &node.operator {
        Operator::Join(join) => vec![&join.outer, &join.inner],
        Operator::Append { inputs } | Operator::MergeAppend { inputs, .. } => {
            inputs.iter().collect()
        }
        Operator::Sort { input, .. }
        | Operator::Limit { input, .. }
        | Operator::Aggregate { input, .. }
        | Operator::Unique { input }
        | Operator::Lock { input, .. } => vec![input],
        Operator::Project { input, .. } => input.as_deref().into_iter().collect(),
        Operator::Insert(insert) => vec![&insert.input],
        Operator::Update(update) => vec![&update.input],
        Operator::Delete(delete) => vec![&delete.input],
        Operator::Scan(_)
        | Operator::Values { .. }
        | Operator::Unnest { .. }
        | Operator::Series { .. }
        | Operator::Shared { .. } => Vec::new(),
    }
}

/// Calls `visit` with every expression of a node, those of its inputs left out.
pub(super) fn for_each_expr(node: &Node, visit: &mut dyn FnMut(&Expr)) {
    node.outputs.iter().for_each(&mut *visit);
    match &node.operator {
        Operator::Scan(scan) => {
            for_each_in_access(&scan.access, visit);
            scan.filter.iter().for_each(visit);
        }
        Operator::Join(join) => {
            if let JoinMethod::Equal { pairs, .. } = &join.method {
                pairs.iter().flat_map(|(outer, inner)| [outer, inner]).for_each(&mut *visit);
            }
            join.join_filter.iter().chain(&join.filter).for_each(visit);
        }
        Operator::Sort { keys, .. } | Operator::MergeAppend { keys, .. } => {
            keys.iter().map(|key| &key.value).for_each(visit);
        }
        Operator::Limit { limit, offset, .. } => limit.iter().chain(offset).for_each(visit),
        Operator::Aggregate { keys, filter, .. } => keys.iter().chain(filter).for_each(visit),
        Operator::Project { condition, filter, .. } => {
            condition.iter().chain(filter).for_each(visit);
        }
        Operator::Values { rows, filter } => rows.iter().flatten().chain(filter).for_each(visit),
        Operator::Unnest { arrays: exprs, filter } | Operator::Series { bounds: exprs, filter } => {
            exprs.iter().chain(filter).for_each(visit);
        }
        Operator::Shared { filter, .. } => filter.iter().for_each(visit),
        Operator::Insert(insert) => insert.values.iter().for_each(visit),
        Operator::Update(update) => {
            update.assignments.iter().map(|(_, value)| value).for_each(visit);
        }
        Operator::Delete(_)
        | Operator::Append { .. }
        | Operator::Unique { .. }
        | Operator::Lock { .. } => {}
    }
}

fn for_each_in_access(access: &Access, visit: &mut dyn FnMut(&Expr)) {
    match access {
        Access::Key(key) | Access::Lookup { key, .. } => key.iter().for_each(visit),
        Access::Range(Range { equal, low, high, .. }) => {
            let ends = low.iter().chain(high).map(|bound| &bound.value);
            equal.iter().chain(ends).for_each(visit);
        }
        Access::Any(accesses) => {
            accesses.iter().for_each(|access| for_each_in_access(access, visit));
        }
        Access::Each { array, access } => {
            visit(array);
            for_each_in_access(access, visit);
        }
        Access::All => {}
    }
}

//! Finds the columns of a node that are used.

use procedure::Node;
use procedure::node::Statement;
use sql::expression::{Expr, ExprKind, SubqueryKind};
use std::collections::BTreeSet;

/// Positions of columns.
pub(super) type Columns = BTreeSet<usize>;

/// Notes the columns of a source, at the given level, that an expression and its sub plans use.
pub(super) fn of_source(
    statement: &Statement,
    expr: &Expr,
    (level, source): (u32, usize),
    columns: &mut Columns,
) {
    expr.visit(&mut |part| match part.kind {
        ExprKind::Column(found) if (found.level, found.source) == (level, source) => {
            columns.insert(found.column);
        }
        ExprKind::SubPlan { plan, .. } => {
            let root = &statement.sub_plans[plan].root;
            of_inside(statement, root, (level + 1, source), columns);
        }
        _ => {}
    });
}

/// As [`of_source`], for all expressions of a plan that is executed inside.
pub(super) fn of_inside(
    statement: &Statement,
    node: &Node,
    (level, source): (u32, usize),
    columns: &mut Columns,
) {
    node.for_each_expr(&mut |expr| of_source(statement, expr, (level, source), columns));
    for (input, is_loop) in node.inputs() {
        of_inside(statement, input, (level + u32::from(is_loop), source), columns);
    }
}

/// Lists the sub plans that an expression uses.
pub(super) fn sub_plans(expr: &Expr, plans: &mut Vec<usize>) {
    expr.visit(&mut |part| {
        if let ExprKind::SubPlan { plan, .. } = part.kind
            && !plans.contains(&plan)
        {
            plans.push(plan);
        }
    });
}

/// Returns how many rows of each sub plan are needed at most.
pub(super) fn wanted(statement: &Statement) -> Vec<usize> {
    let mut wanted = vec![0; statement.sub_plans.len()];
    for_each_node(statement, &mut |node| {
        node.for_each_expr(&mut |expr| {
            expr.visit(&mut |part| {
                if let ExprKind::SubPlan { kind, plan } = &part.kind {
                    let rows = match kind {
                        SubqueryKind::Exists { .. } => 1,
                        // A second row is an error.
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
    statement.root.walk(visit);
    statement.sub_plans.iter().for_each(|plan| plan.root.walk(visit));
}

//! How many rows of a range a statement wants.

use procedure::node::{Node, Operator};
use sql::expression::{Expr, ExprKind};

/// What a statement's `LIMIT` says of the rows of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Nothing that PostgreSQL has not counted with.
    No,
    /// As many as a variable says.
    Argument(usize),
    /// Nobody knows how many.
    Unknown,
}

/// The limit of a table's rows in a plan. PostgreSQL counts with constants; of variables it knows nothing.
pub fn limit(root: &Node, table: usize) -> Limit {
    let mut found = Limit::No;
    root.walk(&mut |node| {
        let Operator::Limit { limit: Some(limit), offset, input } = &node.operator else { return };
        if is_constant(limit) || !reads(input, table) {
            return;
        }
        found = match (variable(limit), offset, is_read_alone(input)) {
            (Some(variable), None, true) => Limit::Argument(variable),
            _ => Limit::Unknown,
        };
    });
    found
}

fn reads(node: &Node, table: usize) -> bool {
    let mut is_read = false;
    node.walk(&mut |node| {
        is_read |= matches!(&node.operator, Operator::Scan(scan) if scan.table == table);
    });
    is_read
}

/// Whether a scan is read only as far as its rows are wanted.
fn is_read_alone(node: &Node) -> bool {
    match &node.operator {
        Operator::Scan(scan) => scan.filter.is_none(),
        Operator::Lock { input, .. }
        | Operator::Project { input: Some(input), filter: None, .. } => is_read_alone(input),
        _ => false,
    }
}

fn is_constant(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Integer(_) | ExprKind::Null => true,
        ExprKind::Cast { operand, .. } => is_constant(operand),
        _ => false,
    }
}

fn variable(expr: &Expr) -> Option<usize> {
    match &expr.kind {
        ExprKind::Variable(variable) => Some(*variable),
        ExprKind::Cast { operand, .. } => variable(operand),
        _ => None,
    }
}

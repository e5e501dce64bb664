//! How many rows of a range a statement reads before its `LIMIT` stops it.

use procedure::node::{Access, Node, Operator};
use sql::expression::{Expr, ExprKind};

/// The `LIMIT` on a table's rows in a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// No limit, or a constant one, which PostgreSQL's row estimate includes.
    No,
    /// A variable; the second value is the number of rows in the range.
    Argument(usize, u64),
    /// Unknown; the value is the number of rows in the range.
    Unknown(u64),
}

/// The limit on a table's rows in a plan. PostgreSQL's estimate includes constant limits. It
/// assumes that a variable limit returns a tenth of the rows, so this function takes the rows of
/// the scan below the limit.
pub fn limit(root: &Node, table: usize) -> Limit {
    let mut found = Limit::No;
    root.walk(&mut |node| {
        let Operator::Limit { limit: Some(limit), offset, input } = &node.operator else { return };
        let Some(there) = read(input, table).filter(|_| !is_constant(limit)) else { return };
        found = match (variable(limit), offset, is_read_alone(input)) {
            (Some(variable), None, true) => Limit::Argument(variable, there),
            _ => Limit::Unknown(there),
        };
    });
    found
}

/// Rows of a table that each execution reads, if it reads any.
fn read(node: &Node, table: usize) -> Option<u64> {
    let mut rows = None;
    node.walk(&mut |node| {
        let Operator::Scan(scan) = &node.operator else { return };
        let ranges = match &scan.access {
            Access::Any(all) => all.len().max(1) as u64,
            _ => 1,
        };
        if scan.table == table {
            rows = rows.max(Some((node.rows / ranges).max(1)));
        }
    });
    rows
}

/// Whether the scan stops when the limit is reached.
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

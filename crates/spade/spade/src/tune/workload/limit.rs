//! How many rows of a range a statement wants.

use procedure::node::{Access, Node, Operator};
use sql::expression::{Expr, ExprKind};

/// What a statement's `LIMIT` says of the rows of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Nothing that PostgreSQL has not counted with.
    No,
    /// As many as a variable says, of so many that there are.
    Argument(usize, u64),
    /// Nobody knows how many, of so many that there are.
    Unknown(u64),
}

/// The limit of a table's rows in a plan. PostgreSQL counts with constants; of variables it knows nothing, and takes the limit for a
/// tenth of the rows, so that rows are those of the scan below.
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

/// Rows that are read of a table, each time, if it is read at all.
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

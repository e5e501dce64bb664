//! Properties of expressions, and small constructors.

use sql::SqlType;
use sql::expression::{BinaryOperator, CastKind, ColumnRef, Expr, ExprKind, UnaryOperator};

/// A column of a relation, or of the input at position `source`.
pub(crate) fn column(source: usize, column: usize, sql_type: &SqlType) -> Expr {
    let kind = ExprKind::Column(ColumnRef { level: 0, source, column });
    Expr { kind, sql_type: sql_type.clone() }
}

pub(crate) fn binary(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
    let kind = ExprKind::Binary { operator, left: Box::new(left), right: Box::new(right) };
    Expr { kind, sql_type: SqlType::Bool }
}

/// The conjunction of conditions; `None` if there are none.
pub(crate) fn all(conditions: impl IntoIterator<Item = Expr>) -> Option<Expr> {
    conditions.into_iter().reduce(|left, right| binary(BinaryOperator::And, left, right))
}

/// The same value with a type that needs no conversion; a cast keeps its own type.
pub(crate) fn relabelled(expr: Expr, sql_type: &SqlType) -> Expr {
    if expr.sql_type == *sql_type {
        return expr;
    }
    if !matches!(expr.kind, ExprKind::Cast { .. }) {
        return Expr { sql_type: sql_type.clone(), ..expr };
    }
    let kind = ExprKind::Cast { operand: Box::new(expr), kind: CastKind::Implicit };
    Expr { kind, sql_type: sql_type.clone() }
}

/// Splits a condition at `AND`, and `BETWEEN` at its bounds.
pub(crate) fn conjuncts(expr: Expr, parts: &mut Vec<Expr>) {
    match expr.kind {
        ExprKind::Binary { operator: BinaryOperator::And, left, right } => {
            conjuncts(*left, parts);
            conjuncts(*right, parts);
        }
        ExprKind::Between { operand, low, high, negated: false } if may_repeat(&operand) => {
            parts.push(binary(BinaryOperator::GreaterOrEqual, (*operand).clone(), *low));
            parts.push(binary(BinaryOperator::LessOrEqual, *operand, *high));
        }
        ExprKind::Bool(true) => {}
        kind => parts.push(Expr { kind, sql_type: expr.sql_type }),
    }
}

/// Whether evaluating it twice gives the same value at little cost.
fn may_repeat(expr: &Expr) -> bool {
    !is_volatile(expr) && !has_sub_plan(expr)
}

pub(crate) fn has_sub_plan(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |part| found |= matches!(part.kind, ExprKind::SubPlan { .. }));
    found
}

/// Whether two evaluations in one statement may give different values.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |part| {
        if let ExprKind::Function { function, .. } = part.kind {
            found |= function.is_volatile();
        }
    });
    found
}

/// The number of operations of an expression, by which PostgreSQL orders conditions. Sub-selects
/// come last.
pub(crate) fn operations(expr: &Expr) -> u32 {
    let mut count = 0;
    expr.visit(&mut |part| {
        count += match &part.kind {
            ExprKind::SubPlan { .. } => 1000,
            ExprKind::Binary { operator: BinaryOperator::And | BinaryOperator::Or, .. }
            | ExprKind::Unary { operator: UnaryOperator::Not, .. } => 0,
            ExprKind::Binary { .. }
            | ExprKind::Unary { .. }
            | ExprKind::Like { .. }
            | ExprKind::Function { .. } => 1,
            ExprKind::Cast { kind, .. } => u32::from(*kind != CastKind::Implicit),
            ExprKind::InList { list, .. } => list.len().div_ceil(2) as u32,
            ExprKind::AnyElement { .. } => 5,
            ExprKind::Between { .. } => 2,
            _ => 0,
        };
    });
    count
}

/// Relation and column, if the expression is a column.
pub(crate) fn as_column(expr: &Expr) -> Option<(usize, usize)> {
    match expr.kind {
        ExprKind::Column(ColumnRef { level: 0, source, column }) => Some((source, column)),
        _ => None,
    }
}

/// As [`as_column`], also under a cast that keeps every value and the order of values: between
/// integers to a wider type.
pub(crate) fn as_widened_column(expr: &Expr) -> Option<(usize, usize)> {
    as_column(without_widening(expr))
}

/// Removes implicit casts of integers to wider types.
pub(crate) fn without_widening(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast { operand, kind: CastKind::Implicit }
            if expr.sql_type.is_integer() && operand.sql_type.is_integer() =>
        {
            without_widening(operand)
        }
        _ => expr,
    }
}

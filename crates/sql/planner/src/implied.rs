//! Whether conditions of a query imply the condition of a partial index.
//!
//! Decision: docs/decisions/0375-a-partial-index-begins-with-a-marker.md

use crate::expression::{conjuncts, without_widening};
use crate::planner::Planner;
use sql::expression::{BinaryOperator, Expr, ExprKind, Test};
use sql::{SqlType, Table};
use std::cmp::Ordering;

impl Planner<'_> {
    /// For a partial index whose condition is implied, the positions of the conditions that it
    /// enforces; `None` within for an index of all rows. `None` if the index lacks wanted rows.
    pub(crate) fn marked(
        &self,
        (relation, table): (usize, usize),
        index: Option<usize>,
        conditions: &[&Expr],
    ) -> Option<Option<Vec<usize>>> {
        let table = &self.catalog.tables[table];
        let Some(predicate) = index.and_then(|index| table.predicate(&table.indexes[index])) else {
            return Some(None);
        };
        let known: Vec<Expr> =
            conditions.iter().map(|condition| over_row(condition, relation, table)).collect();
        let mut wanted = Vec::new();
        conjuncts(predicate.clone(), &mut wanted);
        let is_implied = |wanted: &Expr| known.iter().any(|condition| implies(condition, wanted));
        let is_same = |at: &usize| wanted.contains(&known[*at]);
        let enforced = (0..known.len()).filter(is_same).collect();
        wanted.iter().all(is_implied).then_some(Some(enforced))
    }
}

/// A condition over the row of a relation, which becomes source 0, without hidden columns.
fn over_row(condition: &Expr, relation: usize, table: &Table) -> Expr {
    let mut moved = condition.clone();
    move_to_row(&mut moved, relation, table);
    moved
}

fn move_to_row(expr: &mut Expr, relation: usize, table: &Table) {
    expr.for_each_child_mut(&mut |child| move_to_row(child, relation, table));
    if let ExprKind::Column(column) = &mut expr.kind {
        if column.source != relation {
            // No column of the row: it must not be taken for one.
            column.source = usize::MAX;
            return;
        }
        column.source = 0;
        if let Some(value) = table.expression(column.column) {
            *expr = value.clone();
        }
    }
}

/// Whether a row with a condition always has another one. A false answer is always right.
fn implies(known: &Expr, wanted: &Expr) -> bool {
    let (known, wanted) = (plain(known), plain(wanted));
    if known == wanted {
        return true;
    }
    if let ExprKind::Binary { operator: BinaryOperator::And, left, right } = &wanted.kind {
        return implies(known, left) && implies(known, right);
    }
    if let ExprKind::Binary { operator: BinaryOperator::Or, left, right } = &known.kind {
        return implies(left, wanted) && implies(right, wanted);
    }
    match &known.kind {
        ExprKind::Binary { operator: BinaryOperator::And, left, right }
            if implies(left, wanted) || implies(right, wanted) =>
        {
            return true;
        }
        ExprKind::InList { operand, list, negated: false }
            if !list.is_empty()
                && list.iter().all(|value| implies(&equal(operand, value), wanted)) =>
        {
            return true;
        }
        _ => {}
    }
    match &wanted.kind {
        ExprKind::Binary { operator: BinaryOperator::Or, left, right } => {
            implies(known, left) || implies(known, right)
        }
        ExprKind::InList { operand, list, negated: false } => {
            list.iter().any(|value| implies(known, &equal(operand, value)))
        }
        ExprKind::Is { operand, test: Test::Null, negated: true } => {
            is_null_without(known, operand)
        }
        ExprKind::Binary { operator, left, right } => {
            compares(known).is_some_and(|(operand, is, value)| {
                without_widening(left) == operand && follows((is, value), (*operator, right))
            })
        }
        _ => false,
    }
}

/// Without a comparison with `true`, which makes no difference where null counts as false.
fn plain(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Is { operand, test: Test::True, negated: false } => plain(operand),
        ExprKind::Binary { operator: BinaryOperator::Equal, left, right }
            if right.kind == ExprKind::Bool(true) =>
        {
            plain(left)
        }
        _ => expr,
    }
}

fn equal(operand: &Expr, value: &Expr) -> Expr {
    crate::expression::binary(BinaryOperator::Equal, operand.clone(), value.clone())
}

/// Whether a condition is not true for a null in place of `operand`.
fn is_null_without(known: &Expr, operand: &Expr) -> bool {
    let is_it = |part: &Expr| part == operand || without_widening(part) == operand;
    match &known.kind {
        ExprKind::Binary { left, right, .. } => {
            compares_operator(known) && (is_it(left) || is_it(right))
        }
        ExprKind::Like { operand: own, negated: false, .. }
        | ExprKind::InList { operand: own, negated: false, .. }
        | ExprKind::AnyElement { operand: own, all: false, .. }
        | ExprKind::Between { operand: own, negated: false, .. } => is_it(own),
        _ => is_it(known),
    }
}

fn compares_operator(known: &Expr) -> bool {
    let ExprKind::Binary { operator, .. } = &known.kind else { return false };
    matches!(
        operator,
        BinaryOperator::Equal
            | BinaryOperator::NotEqual
            | BinaryOperator::Less
            | BinaryOperator::LessOrEqual
            | BinaryOperator::Greater
            | BinaryOperator::GreaterOrEqual
    )
}

/// The parts of a comparison of an operand with a value.
fn compares(known: &Expr) -> Option<(&Expr, BinaryOperator, &Expr)> {
    match &known.kind {
        ExprKind::Binary { operator, left, right } if compares_operator(known) => {
            Some((without_widening(left), *operator, right))
        }
        _ => None,
    }
}

/// Whether `x known value` implies `x wanted bound`, for constants.
fn follows(
    (known, value): (BinaryOperator, &Expr),
    (wanted, bound): (BinaryOperator, &Expr),
) -> bool {
    use BinaryOperator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let Some(order) = order_of(value, bound) else { return false };
    match (known, wanted) {
        (Equal, Equal) => order.is_eq(),
        (Equal, NotEqual) => order.is_ne(),
        (Equal | Greater | GreaterOrEqual, Greater) => match known {
            Greater => order.is_ge(),
            _ => order.is_gt(),
        },
        (Equal | Greater | GreaterOrEqual, GreaterOrEqual) => order.is_ge(),
        (Equal | Less | LessOrEqual, Less) => match known {
            Less => order.is_le(),
            _ => order.is_lt(),
        },
        (Equal | Less | LessOrEqual, LessOrEqual) => order.is_le(),
        (Greater, NotEqual) => order.is_ge(),
        (GreaterOrEqual, NotEqual) => order.is_gt(),
        (Less, NotEqual) => order.is_le(),
        (LessOrEqual, NotEqual) => order.is_lt(),
        _ => false,
    }
}

/// The order of two integers, or of two texts.
fn order_of(one: &Expr, other: &Expr) -> Option<Ordering> {
    let (one, other) = (without_widening(one), without_widening(other));
    let is_text = |expr: &Expr| matches!(expr.sql_type, SqlType::Text | SqlType::Varchar(_));
    match (&one.kind, &other.kind) {
        (ExprKind::Integer(one), ExprKind::Integer(other)) => Some(one.cmp(other)),
        (ExprKind::Text(first), ExprKind::Text(second)) if is_text(one) && is_text(other) => {
            Some(first.cmp(second))
        }
        _ => None,
    }
}

//! Conditions that compare a column of a table with a value from elsewhere.

use crate::expression::{as_column, as_widened_column, without_widening};
use crate::planner::Planner;
use sql::SqlType;
use sql::expression::{BinaryOperator, Expr, ExprKind, UnaryOperator};

/// How a term compares its column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    Equal,
    /// Equal to any element of an array.
    Any,
    Low {
        is_included: bool,
    },
    High {
        is_included: bool,
    },
}

/// A comparison of a column with a value.
#[derive(Debug)]
pub(crate) struct Term {
    /// Position of its condition.
    pub condition: usize,
    pub column: usize,
    pub comparison: Comparison,
    pub value: Expr,
}

impl Planner<'_> {
    /// Returns the condition as a term of `relation`.
    pub(crate) fn term(&self, relation: usize, condition: usize, expr: &Expr) -> Option<Term> {
        let of = |column, comparison, value: &Expr| {
            let is_outside = !self.logical.relations_of(value).contains(relation);
            let value = without_widening(value).clone();
            (is_outside && !self.logical.is_volatile(&value)).then_some(Term {
                condition,
                column,
                comparison,
                value,
            })
        };
        let own = |expr: &Expr| as_widened_column(expr).filter(|found| found.0 == relation);
        match &expr.kind {
            ExprKind::Binary { operator, left, right } => {
                if let Some((_, column)) = own(left)
                    && let Some(term) = of(column, comparison(*operator)?, right)
                {
                    return Some(term);
                }
                let (_, column) = own(right)?;
                of(column, comparison(turned(*operator))?, left)
            }
            ExprKind::AnyElement {
                operand,
                operator: BinaryOperator::Equal,
                array,
                all: false,
            } => of(own(operand)?.1, Comparison::Any, array),
            ExprKind::InList { operand, list, negated: false } => {
                let (_, column) = own(operand)?;
                let sql_type = SqlType::Array(Box::new(operand.sql_type.clone()));
                let array = Expr { kind: ExprKind::Array(list.clone()), sql_type };
                of(column, Comparison::Any, &array)
            }
            ExprKind::Column(_) => {
                let (_, column) = as_column(expr).filter(|found| found.0 == relation)?;
                of(column, Comparison::Equal, &truth(true))
            }
            ExprKind::Unary { operator: UnaryOperator::Not, operand } => {
                let (_, column) = as_column(operand).filter(|found| found.0 == relation)?;
                of(column, Comparison::Equal, &truth(false))
            }
            _ => None,
        }
    }
}

pub(crate) fn truth(truth: bool) -> Expr {
    Expr { kind: ExprKind::Bool(truth), sql_type: SqlType::Bool }
}

fn comparison(operator: BinaryOperator) -> Option<Comparison> {
    Some(match operator {
        BinaryOperator::Equal => Comparison::Equal,
        BinaryOperator::Greater => Comparison::Low { is_included: false },
        BinaryOperator::GreaterOrEqual => Comparison::Low { is_included: true },
        BinaryOperator::Less => Comparison::High { is_included: false },
        BinaryOperator::LessOrEqual => Comparison::High { is_included: true },
        _ => return None,
    })
}

fn turned(operator: BinaryOperator) -> BinaryOperator {
    match operator {
        BinaryOperator::Less => BinaryOperator::Greater,
        BinaryOperator::LessOrEqual => BinaryOperator::GreaterOrEqual,
        BinaryOperator::Greater => BinaryOperator::Less,
        BinaryOperator::GreaterOrEqual => BinaryOperator::LessOrEqual,
        other => other,
    }
}

//! Estimates the fraction of rows that satisfy a condition.
//!
//! Without statistics the fractions are PostgreSQL's defaults.

use crate::block::RelationKind;
use crate::expression::{as_widened_column, without_widening};
use crate::planner::Planner;
use crate::statistics::{ColumnStatistics, Constant, DISTINCT};
use sql::expression::{BinaryOperator, Expr, ExprKind, Test, UnaryOperator};

/// An equality without statistics.
const EQUAL: f64 = 0.005;
/// One bound of a range.
const BOUND: f64 = 1.0 / 3.0;
/// `LIKE`
const LIKE: f64 = 0.01;
/// Any other condition.
const OTHER: f64 = 0.5;
/// A range with two unknown bounds selects 0.005 of the rows, as in PostgreSQL, instead of a third
/// of a third.
const RANGE_OF_BOUNDS: f64 = 0.005 * 9.0;
/// Elements of an array that is not written out.
const ELEMENTS: f64 = 10.0;

impl Planner<'_> {
    /// Fraction of rows for which a condition is true, 0 to 1.
    pub(crate) fn selectivity(&self, condition: &Expr) -> f64 {
        let fraction = match &condition.kind {
            ExprKind::Bool(truth) => f64::from(u8::from(*truth)),
            ExprKind::Binary { operator, left, right } => self.of_binary(*operator, left, right),
            ExprKind::Unary { operator: UnaryOperator::Not, operand } => {
                1.0 - self.selectivity(operand)
            }
            ExprKind::Is { operand, test: Test::Null, negated } => {
                let nulls = match self.of_column(operand) {
                    Some((column, _)) if column.null_fraction > 0.0 => column.null_fraction,
                    _ => EQUAL,
                };
                if *negated { 1.0 - nulls } else { nulls }
            }
            ExprKind::InList { operand, list, negated } => {
                let found: f64 = list.iter().map(|value| self.equal(operand, value)).sum();
                if *negated { 1.0 - found.min(1.0) } else { found }
            }
            ExprKind::AnyElement {
                operand,
                operator: BinaryOperator::Equal,
                array,
                all: false,
            } => {
                let count = match &array.kind {
                    ExprKind::Array(elements) => elements.len() as f64,
                    _ => ELEMENTS,
                };
                count * self.equal(operand, array)
            }
            ExprKind::Like { negated, .. } => {
                if *negated {
                    1.0 - LIKE
                } else {
                    LIKE
                }
            }
            _ => OTHER,
        };
        fraction.clamp(0.0, 1.0)
    }

    /// The selectivity of conditions together. Two bounds of one column are not independent.
    pub(crate) fn combined(&self, conditions: &[&Expr]) -> f64 {
        let product: f64 = conditions.iter().map(|expr| self.selectivity(expr)).product();
        let is_bound = |expr: &Expr, low: bool| match &expr.kind {
            ExprKind::Binary { operator, left, right } if constant(right).is_none() => {
                let is_low =
                    matches!(operator, BinaryOperator::Greater | BinaryOperator::GreaterOrEqual);
                let is_high =
                    matches!(operator, BinaryOperator::Less | BinaryOperator::LessOrEqual);
                let is_it = if low { is_low } else { is_high };
                as_widened_column(left).filter(|_| is_it)
            }
            _ => None,
        };
        let lows = conditions.iter().filter_map(|expr| is_bound(expr, true));
        let both = lows
            .filter(|low| {
                conditions.iter().any(|expr| is_bound(expr, false).is_some_and(|high| high == *low))
            })
            .count();
        product * RANGE_OF_BOUNDS.powi(both as i32)
    }

    fn of_binary(&self, operator: BinaryOperator, left: &Expr, right: &Expr) -> f64 {
        match operator {
            BinaryOperator::And => self.selectivity(left) * self.selectivity(right),
            BinaryOperator::Or => {
                let (one, other) = (self.selectivity(left), self.selectivity(right));
                one + other - one * other
            }
            BinaryOperator::Equal | BinaryOperator::NotDistinct => self.equal(left, right),
            BinaryOperator::NotEqual | BinaryOperator::Distinct => 1.0 - self.equal(left, right),
            BinaryOperator::Less | BinaryOperator::LessOrEqual => {
                { self.below(left, right).or_else(|| Some(1.0 - self.below(right, left)?)) }
                    .unwrap_or(BOUND)
            }
            BinaryOperator::Greater | BinaryOperator::GreaterOrEqual => {
                { self.below(right, left).or_else(|| Some(1.0 - self.below(left, right)?)) }
                    .unwrap_or(BOUND)
            }
            _ => OTHER,
        }
    }

    /// Fraction of rows whose column `one` is below the constant `other`.
    fn below(&self, one: &Expr, other: &Expr) -> Option<f64> {
        let (column, _) = self.of_column(one)?;
        column.below(&constant(other)?)
    }

    /// Fraction of rows, or of pairs of rows, for which both sides are equal.
    fn equal(&self, left: &Expr, right: &Expr) -> f64 {
        match (self.of_column(left), self.of_column(right)) {
            (Some((_, one)), Some((_, other))) => 1.0 / one.max(other),
            (Some((column, distinct)), None) => equal_to(column, distinct, right),
            (None, Some((column, distinct))) => equal_to(column, distinct, left),
            (None, None) => EQUAL,
        }
    }

    /// Statistics of a column, and its number of distinct values.
    fn of_column(&self, expr: &Expr) -> Option<(&ColumnStatistics, f64)> {
        let (relation, column) = as_widened_column(expr)?;
        match self.logical.relations[relation].kind {
            RelationKind::Table(table) => {
                let distinct = self.distinct(relation, column);
                Some((self.statistics.column(table, column), distinct))
            }
            _ => None,
        }
    }

    /// The number of distinct values of a column.
    pub(crate) fn distinct(&self, relation: usize, column: usize) -> f64 {
        let RelationKind::Table(table) = self.logical.relations[relation].kind else {
            return DISTINCT;
        };
        let rows = self.statistics.rows(table);
        let schema = &self.catalog.tables[table];
        let is_unique = schema.primary_key == [column]
            || schema.indexes.iter().any(|index| index.unique && index.columns == [column]);
        if is_unique {
            return rows;
        }
        let known = self.statistics.column(table, column).distinct;
        known.unwrap_or(DISTINCT).clamp(1.0, rows)
    }
}

fn equal_to(column: &ColumnStatistics, distinct: f64, value: &Expr) -> f64 {
    let common: f64 = column.common.iter().map(|(_, fraction)| fraction).sum();
    let others = (1.0 - common - column.null_fraction).max(0.0);
    let of_other = others / (distinct - column.common.len() as f64).max(1.0);
    match constant(value) {
        Some(value) => {
            let found = column.common.iter().find(|(common, _)| *common == value);
            found.map_or(of_other, |(_, fraction)| *fraction)
        }
        None => (1.0 - column.null_fraction) / distinct,
    }
}

/// The value of a literal.
pub(crate) fn constant(expr: &Expr) -> Option<Constant> {
    match &without_widening(expr).kind {
        ExprKind::Integer(number) => Some(Constant::Number(*number as f64)),
        ExprKind::Number(digits) => digits.parse().ok().map(Constant::Number),
        ExprKind::Bool(truth) => Some(Constant::Number(f64::from(u8::from(*truth)))),
        ExprKind::Text(text) => Some(Constant::Text(text.clone())),
        ExprKind::Cast { operand, .. } if expr.sql_type.is_text() || expr.sql_type.is_number() => {
            constant(operand)
                .filter(|found| matches!(found, Constant::Number(_)) == expr.sql_type.is_number())
        }
        ExprKind::Unary { operator: UnaryOperator::Negate, operand } => match constant(operand)? {
            Constant::Number(number) => Some(Constant::Number(-number)),
            Constant::Text(_) => None,
        },
        _ => None,
    }
}

//! Comparisons of rows that are written out: `(a, b) < (c, d)`, `(a, b) IN ((1, 2), (3, 4))`.

use super::Resolver;
use super::operator::pair;
use super::scope::Scope;
use crate::error::{ErrorKind, Result};
use crate::expression::{BinaryOperator, Expr, ExprKind, UnaryOperator};
use crate::types::SqlType;
use sqlparser::ast;
use sqlparser::tokenizer::Span;

impl Resolver<'_> {
    /// The values of a row that is written out.
    pub(super) fn written_row<'n>(&self, node: &'n ast::Expr) -> Option<&'n [ast::Expr]> {
        match node {
            ast::Expr::Tuple(values) if self.names.has_own_plans => Some(&values[..]),
            _ => None,
        }
    }

    /// Resolves the values of a row; literals get their types by the comparison.
    pub(super) fn row_values(
        &mut self,
        scope: &Scope<'_>,
        nodes: &[ast::Expr],
    ) -> Result<Vec<Expr>> {
        nodes.iter().map(|node| self.expr(scope, node)).collect()
    }

    /// Compares rows as PostgreSQL does: `=` and `<>` all values, the others from left to right
    /// until two values differ.
    pub(super) fn row_comparison(
        &self,
        operator: BinaryOperator,
        left: Vec<Expr>,
        right: Vec<Expr>,
        span: Span,
    ) -> Result<Expr> {
        if left.len() != right.len() {
            let message = "unequal number of entries in row expressions";
            let error = self.error(span, ErrorKind::Syntax, message);
            return Err(error.in_postgres("42601", message.to_owned()));
        }
        let strict = match operator {
            BinaryOperator::LessOrEqual => BinaryOperator::Less,
            BinaryOperator::GreaterOrEqual => BinaryOperator::Greater,
            same => same,
        };
        let connect = |operator, one, other| pair(operator, one, other, SqlType::Bool);
        let mut compared: Option<Expr> = None;
        for (left, right) in left.into_iter().zip(right).rev() {
            compared = Some(match (operator, compared) {
                (_, None) => self.comparison(operator, left, right, span)?,
                (BinaryOperator::Equal, Some(rest)) => {
                    let first = self.comparison(operator, left, right, span)?;
                    connect(BinaryOperator::And, first, rest)
                }
                (BinaryOperator::NotEqual, Some(rest)) => {
                    let first = self.comparison(operator, left, right, span)?;
                    connect(BinaryOperator::Or, first, rest)
                }
                (_, Some(rest)) => {
                    let is_repeated = is_drawn(&left) || is_drawn(&right);
                    let what = "a row comparison of values that are drawn or read for it";
                    self.refuse(is_repeated, span, what, "compute them in a sub-select")?;
                    let equal = BinaryOperator::Equal;
                    let equal = self.comparison(equal, left.clone(), right.clone(), span)?;
                    let first = self.comparison(strict, left, right, span)?;
                    let tied = connect(BinaryOperator::And, equal, rest);
                    connect(BinaryOperator::Or, first, tied)
                }
            });
        }
        let nothing = "cannot compare rows of zero length";
        compared.ok_or_else(|| {
            self.error(span, ErrorKind::Outside, nothing).in_postgres("0A000", nothing.to_owned())
        })
    }

    /// `(a, b) IN ((c, d), ...)`
    pub(super) fn row_in_list(
        &mut self,
        scope: &Scope<'_>,
        operand: &[ast::Expr],
        list: &[ast::Expr],
        negated: bool,
        span: Span,
    ) -> Result<Expr> {
        let operand = self.row_values(scope, operand)?;
        let what = "IN of a row of values that are drawn or read for it";
        self.refuse(operand.iter().any(is_drawn), span, what, "compute them in a sub-select")?;
        let mut found: Option<Expr> = None;
        for node in list {
            let Some(row) = self.written_row(node) else {
                let (equal, row) = (BinaryOperator::Equal, SqlType::Record(Vec::new()));
                let value = self.expr(scope, node)?;
                return Err(self.no_operator(equal, &row, &value.sql_type, span));
            };
            let row = self.row_values(scope, row)?;
            let equal = self.row_comparison(BinaryOperator::Equal, operand.clone(), row, span)?;
            found = Some(match found {
                None => equal,
                Some(before) => pair(BinaryOperator::Or, before, equal, SqlType::Bool),
            });
        }
        let found = found.unwrap_or(Expr::boolean(ExprKind::Bool(false)));
        Ok(match negated {
            false => found,
            true => {
                let operand = Box::new(found);
                Expr::boolean(ExprKind::Unary { operator: UnaryOperator::Not, operand })
            }
        })
    }
}

/// Whether two evaluations may differ or cost much.
fn is_drawn(expr: &Expr) -> bool {
    let mut found = expr.has_subquery();
    expr.visit(&mut |part| {
        if let ExprKind::Function { function, .. } = &part.kind {
            found |= function.is_volatile();
        }
    });
    found
}

//! Comparisons of rows that are written out: `(a, b) < (c, d)`, `(a, b) IN ((1, 2), (3, 4))`.

use super::Resolver;
use super::operator::pair;
use super::scope::Scope;
use crate::error::{ErrorKind, Result};
use crate::expression::{BinaryOperator, Expr, ExprKind, UnaryOperator};
use crate::types::SqlType;
use sqlparser::ast;
use sqlparser::tokenizer::Span;

/// Number of entries of a row that is compared; each makes the tree of a comparison deeper.
const ENTRIES_MAX: usize = 100;

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
        if left.len() > ENTRIES_MAX {
            let message = format!("ROW expressions can have at most {ENTRIES_MAX} entries here");
            let error = self.error(span, ErrorKind::Outside, &*message);
            return Err(error.in_postgres("54011", message));
        }
        let both = left.into_iter().zip(right);
        let connecting = match operator {
            BinaryOperator::Equal => Some(BinaryOperator::And),
            BinaryOperator::NotEqual => Some(BinaryOperator::Or),
            _ => None,
        };
        let mut compared: Option<Expr> = None;
        if let Some(connecting) = connecting {
            let each = both.map(|(left, right)| self.comparison(operator, left, right, span));
            compared = joined(connecting, each.collect::<Result<_>>()?);
        } else {
            for (left, right) in both.rev() {
                compared = Some(match compared {
                    None => self.comparison(operator, left, right, span)?,
                    Some(rest) => self.ordered((strict, left, right), rest, span)?,
                });
            }
        }
        let nothing = "cannot compare rows of zero length";
        compared.ok_or_else(|| {
            self.error(span, ErrorKind::Outside, nothing).in_postgres("0A000", nothing.to_owned())
        })
    }

    /// The order of two values, and of the rest of their rows if they are equal.
    fn ordered(
        &self,
        (strict, left, right): (BinaryOperator, Expr, Expr),
        rest: Expr,
        span: Span,
    ) -> Result<Expr> {
        let is_repeated = is_drawn(&left) || is_drawn(&right);
        let what = "a row comparison of values that are drawn or read for it";
        self.refuse(is_repeated, span, what, "compute them in a sub-select")?;
        let equal = self.comparison(BinaryOperator::Equal, left.clone(), right.clone(), span)?;
        let first = self.comparison(strict, left, right, span)?;
        let tied = pair(BinaryOperator::And, equal, rest, SqlType::Bool);
        Ok(pair(BinaryOperator::Or, first, tied, SqlType::Bool))
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
        let mut found = Vec::with_capacity(list.len());
        for node in list {
            let Some(row) = self.written_row(node) else {
                let (equal, row) = (BinaryOperator::Equal, SqlType::Record(Vec::new()));
                let value = self.expr(scope, node)?;
                return Err(self.no_operator(equal, &row, &value.sql_type, span));
            };
            let row = self.row_values(scope, row)?;
            found.push(self.row_comparison(BinaryOperator::Equal, operand.clone(), row, span)?);
        }
        let found = joined(BinaryOperator::Or, found);
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

/// Joins conditions pairwise: trees of long lists are not deep, as code walks them recursively.
fn joined(operator: BinaryOperator, mut parts: Vec<Expr>) -> Option<Expr> {
    while parts.len() > 1 {
        let mut halved = Vec::with_capacity(parts.len().div_ceil(2));
        let mut all = parts.into_iter();
        while let Some(one) = all.next() {
            halved.push(match all.next() {
                Some(other) => pair(operator, one, other, SqlType::Bool),
                None => one,
            });
        }
        parts = halved;
    }
    parts.pop()
}

/// Whether two evaluations may differ or cost much.
pub(super) fn is_drawn(expr: &Expr) -> bool {
    let mut found = expr.has_subquery();
    expr.visit(&mut |part| {
        if let ExprKind::Function { function, .. } = &part.kind {
            found |= function.is_volatile();
        }
    });
    found
}

//! `(a, b) IN (SELECT ...)`: whether the query has a row that is equal to one that is written out.
//!
//! It becomes `EXISTS` of a row of the query that is equal. Where null counts as false, in the
//! conditions that `AND` joins in `WHERE`, this is all, and a plan can join the rows. Elsewhere the
//! result is null if no row is equal and a comparison with one is null.

use super::Resolver;
use super::row_comparison::is_drawn;
use super::scope::Scope;
use crate::error::{Error, ErrorKind, Result};
use crate::expression::{Expr, ExprKind, UnaryOperator};
use crate::parse;
use crate::query::{FromKind, SelectBody};
use crate::source::Source;
use crate::token::tokenize;
use sqlparser::ast::{self, SetExpr, Spanned, TableFactor};
use sqlparser::tokenizer::Span;

/// Names that are not written begin with it.
const OWN: char = '\u{1}';

impl Resolver<'_> {
    /// Notes the conditions that `AND` joins: they may be false in place of null.
    pub(super) fn note_conjuncts(&mut self, node: &ast::Expr) {
        match node {
            ast::Expr::Nested(inner) => self.note_conjuncts(inner),
            ast::Expr::BinaryOp { left, op: ast::BinaryOperator::And, right } => {
                self.note_conjuncts(left);
                self.note_conjuncts(right);
            }
            ast::Expr::InSubquery { expr, negated: false, .. }
                if self.written_row(expr).is_some() =>
            {
                self.conjuncts.push(expr.span());
            }
            _ => {}
        }
    }

    /// Resolves `(a, b) IN (SELECT ...)`; `place` is that of the row.
    pub(super) fn row_in_query(
        &mut self,
        scope: &Scope<'_>,
        (row, place): (&[ast::Expr], Span),
        query: &ast::Query,
        negated: bool,
        span: Span,
    ) -> Result<Expr> {
        let calls = self.call_count();
        let values = self.row_values(scope, row)?;
        let what = "IN of a row of values that are drawn or read for it";
        let is_called = self.call_count() > calls;
        self.refuse(
            is_called || values.iter().any(is_drawn),
            span,
            what,
            "compute them in a sub-select",
        )?;
        let is_conjunct = place.start.line > 0 && self.conjuncts.contains(&place);
        let columns: Vec<String> = (0..row.len()).map(|at| format!("\"{OWN}{at}\"")).collect();
        let columns = columns.join(", ");
        let rows = format!("FROM (SELECT 1) AS \"{OWN}rows\" ({columns})");
        let equal = format!("(0, 0) = ({columns})");
        let found = format!("EXISTS (SELECT 1 {rows} WHERE {equal})");
        let text = match is_conjunct {
            true => found,
            false => format!(
                "CASE WHEN {found} THEN true WHEN EXISTS (SELECT 1 {rows} WHERE ({equal}) IS NULL) \
                 THEN NULL::boolean ELSE false END"
            ),
        };
        let source = Source::new("statement", &text);
        let mut node = parse::expression(&source, &tokenize(&source, 0, &text)?, Span::empty())?;
        fill(&mut node, row, query);
        let resolved = self.expr(scope, &node).map_err(|error| {
            let is_of_alias =
                error.postgres.as_ref().is_some_and(|known| known.message.contains(OWN));
            if is_of_alias { self.unequal("few", span) } else { error }
        })?;
        let what = "a call of a routine in a query after IN of a row";
        let is_called = !is_conjunct && self.call_count() > calls;
        self.refuse(is_called, span, what, "call it into a variable first")?;
        self.check_columns(&resolved, row.len(), span)?;
        Ok(match negated {
            false => resolved,
            true => {
                let operand = Box::new(resolved);
                Expr::boolean(ExprKind::Unary { operator: UnaryOperator::Not, operand })
            }
        })
    }

    fn unequal(&self, which: &str, span: Span) -> Error {
        let message = format!("subquery has too {which} columns");
        self.error(span, ErrorKind::Type, &*message).in_postgres("42601", message)
    }

    /// Requires that the query has no more columns than the row has values; fewer are an error of
    /// the names of its columns.
    fn check_columns(&self, resolved: &Expr, width: usize, span: Span) -> Result<()> {
        let mut found = None;
        resolved.visit(&mut |part| {
            if let ExprKind::Subquery { query, .. } = &part.kind
                && let SelectBody::Plain(plain) = &query.body
                && let Some(FromKind::Query(rows)) = plain.sources.first().map(|one| &one.kind)
            {
                found = found.or(Some(rows.fields().len()));
            }
        });
        match found {
            Some(columns) if columns > width => Err(self.unequal("many", span)),
            _ => Ok(()),
        }
    }
}

/// Puts the row and the query into the expression that was written for them.
fn fill(node: &mut ast::Expr, row: &[ast::Expr], query: &ast::Query) {
    match node {
        ast::Expr::Case { conditions, .. } => {
            conditions.iter_mut().for_each(|when| fill(&mut when.condition, row, query));
        }
        ast::Expr::IsNull(inner) | ast::Expr::Nested(inner) => fill(inner, row, query),
        ast::Expr::BinaryOp { left, .. } => **left = ast::Expr::Tuple(row.to_vec()),
        ast::Expr::Exists { subquery, .. } => {
            let SetExpr::Select(select) = &mut *subquery.body else { return };
            for from in &mut select.from {
                if let TableFactor::Derived { subquery, .. } = &mut from.relation {
                    **subquery = query.clone();
                }
            }
            select.selection.iter_mut().for_each(|condition| fill(condition, row, query));
        }
        _ => {}
    }
}

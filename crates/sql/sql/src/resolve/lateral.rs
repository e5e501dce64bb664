//! Functions and sub-selects that see the sources before them in `FROM`.

use super::Resolver;
use super::from::FromClause;
use crate::error::{ErrorKind, Result};
use crate::expression::{Expr, ExprKind};
use crate::query::{From, FromKind, Select};
use crate::walk::{Scopes, visit_expr, visit_select};
use sqlparser::tokenizer::Span;
use std::ops::Range;

impl Resolver<'_> {
    /// Refuses what uses columns of the left side on the right side of a join that keeps all rows
    /// of that. The left side begins at the source `first`, the right one at `middle`.
    pub(super) fn refuse_lateral(
        &self,
        clause: &FromClause<'_>,
        (first, middle): (usize, usize),
        span: Span,
    ) -> Result<()> {
        let mut uses = Uses { depth: 0, left: first..middle, found: None };
        for source in &clause.sources[middle..] {
            match &source.kind {
                FromKind::Unnest(values) | FromKind::Series(values) => {
                    values.iter().for_each(|value| visit_expr(&mut uses, value));
                }
                FromKind::Call(call) => {
                    call.arguments.iter().for_each(|value| visit_expr(&mut uses, value));
                }
                FromKind::Lateral(query) => visit_select(&mut uses, query),
                FromKind::Table(_)
                | FromKind::Query(_)
                | FromKind::Windows(_)
                | FromKind::Recursive(_)
                | FromKind::WorkTable(_) => {}
            }
        }
        let Some(found) = uses.found else { return Ok(()) };
        let name = &clause.sources[found].alias;
        let message = format!("invalid reference to FROM-clause entry for table \"{name}\"");
        let error = self.error(span, ErrorKind::Name, &*message).in_postgres("42P10", message);
        Err(error
            .detailed("The combining JOIN type must be INNER or LEFT for a LATERAL reference."))
    }
}

/// Looks for columns of some sources of a query.
struct Uses {
    /// Number of queries between the expression and that query.
    depth: u32,
    left: Range<usize>,
    found: Option<usize>,
}

impl Scopes for Uses {
    fn source(&mut self, source: &From) {
        match &source.kind {
            FromKind::Query(query) => visit_select(self, query),
            FromKind::Windows(windows) => visit_select(self, &windows.query),
            _ => {}
        }
    }

    fn enter(&mut self, _: &[From]) {
        self.depth += 1;
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    fn subquery(&mut self, query: &Select) {
        visit_select(self, query);
    }

    fn expr(&mut self, expr: &Expr) {
        if let ExprKind::Column(column) = &expr.kind
            && column.level == self.depth
            && self.left.contains(&column.source)
        {
            self.found = Some(column.source);
        }
    }
}

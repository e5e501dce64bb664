//! How often, and under which conditions, PostgreSQL evaluates the place of a call.

use super::Resolver;
use super::scope::Scope;
use crate::error::Result;
use crate::expression::{BinaryOperator, Expr, ExprKind, Test};
use crate::query::{From, FromKind, Select};
use crate::types::SqlType;
use crate::walk::{Scopes, visit_expr, visit_select};
use sqlparser::ast::{self, GroupByExpr, TableFactor};
use std::mem::replace;

/// How often PostgreSQL evaluates an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallPlace {
    /// Once, if its guards hold.
    Once,
    /// It is a statement, whose parts decide.
    Statement,
    /// It is a query that runs once.
    Query,
    /// It is the query of `EXISTS`, whose outputs PostgreSQL leaves out.
    Exists,
    /// For each row, perhaps never.
    Rows,
}

/// A condition under which PostgreSQL evaluates a part of an expression.
#[derive(Clone)]
pub(super) struct Guard {
    condition: Expr,
    /// Whether PostgreSQL promises it, as it does not for `AND` and `OR`.
    is_promised: bool,
}

/// A condition depends on rows, or on what a statement draws.
pub(super) struct Unknown;

impl Resolver<'_> {
    /// Runs `inside` in another place of calls.
    pub(super) fn at_place<T>(
        &mut self,
        place: CallPlace,
        inside: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = self.calls.as_mut().map(|calls| replace(&mut calls.place, place));
        let result = inside(self);
        if let (Some(calls), Some(before)) = (&mut self.calls, before) {
            calls.place = before;
        }
        result
    }

    /// The place of calls at this point.
    pub(super) fn call_place(&self) -> CallPlace {
        self.calls.as_ref().map_or(CallPlace::Rows, |calls| calls.place)
    }

    /// Runs `inside`, which resolves a query: its own parts decide how often they run.
    pub(super) fn in_query<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let place = match self.call_place() {
            // A sub-select of an expression without rows runs once, too.
            CallPlace::Statement | CallPlace::Once => CallPlace::Query,
            CallPlace::Exists => CallPlace::Exists,
            CallPlace::Query | CallPlace::Rows => CallPlace::Rows,
        };
        let before = self.calls.as_mut().map(|calls| replace(&mut calls.is_in_query, true));
        let result = self.at_place(place, inside);
        if let (Some(calls), Some(before)) = (&mut self.calls, before) {
            calls.is_in_query = before;
        }
        result
    }

    /// The places of calls in `FROM` and in the outputs. PostgreSQL evaluates a function that is
    /// all of `FROM` once, and the outputs once if the query has nothing else.
    pub(super) fn places(
        &self,
        select: &ast::Select,
        order_by: Option<&ast::OrderBy>,
    ) -> (CallPlace, CallPlace) {
        let place = self.call_place();
        let once = |is_once: bool| match is_once {
            true => CallPlace::Once,
            false => CallPlace::Rows,
        };
        let is_ungrouped =
            matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
        let is_bare = select.from.is_empty()
            && select.selection.is_none()
            && is_ungrouped
            && select.having.is_none()
            && select.distinct.is_none()
            && order_by.is_none();
        let is_function = |factor: &TableFactor| {
            matches!(
                factor,
                TableFactor::Table { args: Some(_), .. }
                    | TableFactor::Function { .. }
                    | TableFactor::UNNEST { .. }
            )
        };
        let is_only = matches!(
            &select.from[..], [only] if only.joins.is_empty() && is_function(&only.relation)
        );
        let has_outputs = place == CallPlace::Query;
        let runs_once = has_outputs || place == CallPlace::Exists;
        (once(is_only && runs_once), once(is_bare && has_outputs))
    }

    /// Runs `inside`, which PostgreSQL evaluates under a condition.
    fn guarded<T>(
        &mut self,
        guards: impl Iterator<Item = Guard>,
        inside: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = self.calls.as_ref().map_or(0, |calls| calls.guards.len());
        if let Some(calls) = &mut self.calls {
            calls.guards.extend(guards);
        }
        let result = inside(self);
        if let Some(calls) = &mut self.calls {
            calls.guards.truncate(before);
        }
        result
    }

    /// The right side of `AND` and `OR`, which does not run if the left side decides.
    pub(super) fn right_side(
        &mut self,
        scope: &Scope<'_>,
        operator: BinaryOperator,
        left: &Expr,
        right: &ast::Expr,
    ) -> Result<Expr> {
        let decides = match operator {
            BinaryOperator::And => Test::False,
            BinaryOperator::Or => Test::True,
            _ => return self.expr(scope, right),
        };
        if self.calls.is_none() || left.sql_type != SqlType::Bool {
            return self.expr(scope, right);
        }
        let guard = Guard { condition: tested(left, decides, true), is_promised: false };
        self.guarded([guard].into_iter(), |resolver| resolver.expr(scope, right))
    }

    /// A part of `CASE` that runs if the condition `holds` is true and those before it are not.
    pub(super) fn branch(
        &mut self,
        before: &[Expr],
        holds: Option<&Expr>,
        inside: impl FnOnce(&mut Self) -> Result<Expr>,
    ) -> Result<Expr> {
        if self.calls.is_none() {
            return inside(self);
        }
        let before = before.iter().map(|condition| tested(condition, Test::True, true));
        let holds = holds.map(|condition| tested(condition, Test::True, false));
        let promised = |condition| Guard { condition, is_promised: true };
        self.guarded(before.chain(holds).map(promised), inside)
    }

    /// The arguments of `coalesce`: each runs if those before it are null.
    pub(super) fn coalesced(
        &mut self,
        scope: &Scope<'_>,
        nodes: &[&ast::Expr],
    ) -> Result<Vec<Expr>> {
        let before = self.calls.as_ref().map_or(0, |calls| calls.guards.len());
        let mut values = Vec::with_capacity(nodes.len());
        for node in nodes {
            let value = self.expr(scope, node)?;
            if let Some(calls) = &mut self.calls {
                let condition = tested(&value, Test::Null, false);
                calls.guards.push(Guard { condition, is_promised: true });
            }
            values.push(value);
        }
        if let Some(calls) = &mut self.calls {
            calls.guards.truncate(before);
        }
        Ok(values)
    }

    /// The condition under which a call runs at this point; an error if it is not known before the
    /// statement.
    pub(super) fn guard(&self) -> std::result::Result<Option<Expr>, Unknown> {
        let Some(calls) = &self.calls else { return Ok(None) };
        let mut all: Option<Expr> = None;
        for guard in &calls.guards {
            let is_drawn = is_drawn(&guard.condition);
            if uses_rows(&guard.condition) && !guard.is_promised {
                continue;
            }
            if uses_rows(&guard.condition) || is_drawn {
                return Err(Unknown);
            }
            let condition = guard.condition.clone();
            all = Some(match all {
                None => condition,
                Some(before) => Expr::boolean(ExprKind::Binary {
                    operator: BinaryOperator::And,
                    left: Box::new(before),
                    right: Box::new(condition),
                }),
            });
        }
        Ok(all)
    }
}

fn tested(expr: &Expr, test: Test, negated: bool) -> Expr {
    Expr::boolean(ExprKind::Is { operand: Box::new(expr.clone()), test, negated })
}

/// Whether two evaluations of an expression may differ.
fn is_drawn(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |part| {
        found |=
            matches!(&part.kind, ExprKind::Function { function, .. } if function.is_volatile());
    });
    found
}

/// Whether an expression depends on rows of a query around it.
pub(super) fn uses_rows(expr: &Expr) -> bool {
    let mut walk = RowUses { depth: 0, found: false };
    visit_expr(&mut walk, expr);
    walk.found
}

struct RowUses {
    depth: u32,
    found: bool,
}

impl Scopes for RowUses {
    fn source(&mut self, source: &From) {
        match &source.kind {
            FromKind::Query(query) => visit_select(self, query),
            FromKind::Windows(windows) => visit_select(self, &windows.query),
            FromKind::Recursive(recursion) => {
                visit_select(self, &recursion.first);
                visit_select(self, &recursion.step);
            }
            FromKind::Table(_)
            | FromKind::Lateral(_)
            | FromKind::Unnest(_)
            | FromKind::Series(_)
            | FromKind::Call(_)
            | FromKind::WorkTable(_) => {}
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
        self.found |= match &expr.kind {
            ExprKind::Column(column) => column.level >= self.depth,
            ExprKind::Aggregate { .. } | ExprKind::Window(_) => self.depth == 0,
            _ => false,
        };
    }
}

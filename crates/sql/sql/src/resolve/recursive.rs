//! `WITH RECURSIVE`: queries that name themselves.
//!
//! Decision: docs/decisions/0374-a-recursive-query-pulls-one-step-at-a-time.md

use super::window::WindowPlace;
use super::with::{NamedQuery, Stage};
use super::{Resolver, Untyped};
use crate::error::{Error, ErrorKind, Result};
use crate::expression::Expr;
use crate::query::{
    From, FromKind, Join, JoinKind, Plain, Recursion, Select, SelectBody, SetOperation, field,
};
use crate::types::{Field, SqlType};
use crate::walk::{Scopes, visit_select};
use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier, Spanned};
use sqlparser::tokenizer::Span;
use std::rc::Rc;

impl Resolver<'_> {
    /// Resolves a query of `WITH RECURSIVE`; `None` if it does not name itself.
    pub(super) fn recursive_query(
        &mut self,
        named: &NamedQuery,
        span: Span,
    ) -> Result<Option<(FromKind, Vec<Field>)>> {
        let query = &named.query;
        let SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier, right } =
            &*query.body
        else {
            let form = "does not have the form non-recursive-term UNION [ALL] recursive-term";
            let unfit = format!("recursive query \"{}\" {form}", named.name);
            let inside = |resolver: &mut Self| resolver.select(None, query);
            return self.staged(named, Stage::Refused(unfit), inside).map(|_| None);
        };
        let before = self.named_queries.len();
        self.name_queries(query)?;
        let resolved = self.terms(named, (left, right), span);
        self.named_queries.truncate(before);
        let (first, step, number, columns) = resolved?;
        let mut uses = Uses { number, subqueries: 0, count: 0, wrong: None };
        visit_select(&mut uses, &step);
        if uses.count == 0 {
            return Ok(None);
        }
        self.check_step(named, &uses, &step, span)?;
        self.check_clauses(query)?;
        let keeps_all = matches!(set_quantifier, SetQuantifier::All);
        let body = self.united((SetOperation::Union, keeps_all), first, step, span)?;
        let SelectBody::Set { columns: common, left, right, .. } = body else {
            return Err(self.misplaced(named, "its query", span));
        };
        for (at, (own, common)) in columns.iter().zip(&common).enumerate() {
            let (own, common) = (own.sql_type.base(), common.sql_type.base());
            if own != common {
                let message = format!(
                    "recursive query \"{}\" column {} has type {own} in non-recursive term but type {common} overall",
                    named.name,
                    at + 1
                );
                let error = self.error(span, ErrorKind::Type, message.clone());
                let error = error.in_postgres("42804", message);
                let hint = "Cast the output of the non-recursive term to the correct type.";
                return Err(error.advise(hint));
            }
        }
        let recursion = Recursion { number, first: *left, step: *right, keeps_all };
        Ok(Some((FromKind::Recursive(Box::new(recursion)), columns)))
    }

    /// The two terms, the number by which the second one refers to the query, and its columns.
    fn terms(
        &mut self,
        named: &NamedQuery,
        (left, right): (&SetExpr, &SetExpr),
        span: Span,
    ) -> Result<(Select, Select, usize, Vec<Field>)> {
        let text = format!(
            "recursive reference to query \"{}\" must not appear within its non-recursive term",
            named.name
        );
        let first = self.staged(named, Stage::Refused(text), |resolver| {
            resolver.untyped = Untyped::Text;
            resolver.term(left, span)
        })?;
        let mut names = named.columns.iter();
        let column = |own: Field| {
            let name = names.next().cloned().unwrap_or(own.name);
            let sql_type = match own.sql_type {
                SqlType::Unknown => SqlType::Text,
                known => known.base(),
            };
            field(&name, sql_type)
        };
        let columns: Vec<Field> = first.fields().into_iter().map(column).collect();
        self.recursions += 1;
        let number = self.recursions;
        let stage = Stage::Step { number, columns: columns.clone() };
        let step = self.staged(named, stage, |resolver| {
            resolver.untyped = Untyped::Open;
            resolver.term(right, span)
        })?;
        Ok((first, step, number, columns))
    }

    fn term(&mut self, term: &SetExpr, span: Span) -> Result<Select> {
        self.with_windows(WindowPlace::Refused("here"), |resolver| {
            resolver.in_query(|resolver| {
                resolver.with_aggregates(Some("here"), |resolver| resolver.side(None, term, span))
            })
        })
    }

    /// Runs `inside`, where the name of the query has this meaning.
    fn staged<T>(
        &mut self,
        named: &NamedQuery,
        stage: Stage,
        inside: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let count = self.named_queries.len();
        let (name, columns, query) = (named.name.clone(), Vec::new(), named.query.clone());
        self.named_queries.push(Rc::new(NamedQuery { name, columns, query, stage }));
        let result = inside(self);
        self.named_queries.truncate(count);
        result
    }

    /// Refuses a recursive term that names the query in a place where PostgreSQL does not.
    fn check_step(&self, named: &NamedQuery, uses: &Uses, step: &Select, span: Span) -> Result<()> {
        if let Some(wrong) = uses.wrong {
            return Err(self.misplaced(named, wrong, span));
        }
        if uses.count > 1 {
            let text = format!(
                "recursive reference to query \"{}\" must not appear more than once",
                named.name
            );
            return Err(self.recursion_error(&text, span));
        }
        let SelectBody::Plain(plain) = &step.body else { return Ok(()) };
        if plain.joins.iter().any(|join| is_nullable(join, false, plain, uses.number)) {
            return Err(self.misplaced(named, "an outer join", span));
        }
        let outputs = plain.outputs.iter().map(|output| &output.expr);
        if outputs.chain(&plain.having).any(Expr::has_aggregate) {
            let text = "aggregate functions are not allowed in a recursive query's recursive term";
            return Err(self.recursion_error(text, span));
        }
        Ok(())
    }

    /// Refuses clauses behind both terms, as PostgreSQL does.
    fn check_clauses(&self, query: &ast::Query) -> Result<()> {
        let clause = if query.order_by.is_some() {
            "ORDER BY"
        } else if query.limit_clause.is_some() || query.fetch.is_some() {
            "LIMIT"
        } else if !query.locks.is_empty() {
            "FOR UPDATE/SHARE"
        } else {
            return Ok(());
        };
        let message = format!("{clause} in a recursive query is not implemented");
        let error = self.error(query.span(), ErrorKind::Outside, message.clone());
        Err(error.in_postgres("0A000", message).advise("write it in the query that uses it"))
    }

    fn misplaced(&self, named: &NamedQuery, within: &str, span: Span) -> Error {
        let text = format!(
            "recursive reference to query \"{}\" must not appear within {within}",
            named.name
        );
        self.recursion_error(&text, span)
    }

    pub(super) fn recursion_error(&self, text: &str, span: Span) -> Error {
        self.error(span, ErrorKind::Name, text).in_postgres("42P19", text.to_owned())
    }
}

/// Whether a source on the nullable side of an outer join is the recursion.
fn is_nullable(join: &Join, nullable: bool, plain: &Plain, number: usize) -> bool {
    match join {
        Join::Source(source) => {
            nullable && plain.sources[*source].kind == FromKind::WorkTable(number)
        }
        Join::Pair { left, right, kind, .. } => {
            let of_left = nullable || matches!(kind, JoinKind::Right | JoinKind::Full);
            let of_right = nullable || matches!(kind, JoinKind::Left | JoinKind::Full);
            is_nullable(left, of_left, plain, number) || is_nullable(right, of_right, plain, number)
        }
    }
}

/// Counts the uses of a recursion in its step.
struct Uses {
    number: usize,
    /// Number of sub-selects around the present place.
    subqueries: u32,
    count: u32,
    /// A place where PostgreSQL has none.
    wrong: Option<&'static str>,
}

impl Scopes for Uses {
    fn source(&mut self, source: &From) {
        match &source.kind {
            FromKind::WorkTable(number) if *number == self.number => {
                self.count += 1;
                if self.subqueries > 0 {
                    self.wrong = Some("a subquery");
                }
            }
            FromKind::Query(query) => visit_select(self, query),
            FromKind::Windows(windows) => visit_select(self, &windows.query),
            FromKind::Recursive(recursion) => {
                visit_select(self, &recursion.first);
                visit_select(self, &recursion.step);
            }
            _ => {}
        }
    }

    fn enter(&mut self, _: &[From]) {}

    fn leave(&mut self) {}

    fn subquery(&mut self, query: &Select) {
        self.subqueries += 1;
        visit_select(self, query);
        self.subqueries -= 1;
    }

    fn expr(&mut self, _: &Expr) {}
}

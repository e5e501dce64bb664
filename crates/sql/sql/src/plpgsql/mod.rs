//! PL/pgSQL: from tokens to statements with resolved names.
//!
//! A [`Compiler`] makes one pass over the text, as PostgreSQL does, because names refer to earlier
//! declarations. `block` and `declare` parse the structure; `control`, `loops`, `raise` and
//! `assign` parse PL/pgSQL's statements, and `statement` SQL statements; `embed` builds the text
//! that a planner gets; `exception` parses handlers of errors, and `execute` statements with
//! computed texts; `assigned` checks that records are assigned before use. `inline` puts the bodies
//! of called routines before the statements that call them, and `call` parses `CALL`. `cursors`
//! parses what concerns cursors, and `changing_with` moves changes out of `WITH`.
//!
//! Decision: docs/decisions/0156-names-are-resolved-in-one-pass-as-in-pl-pgsql.md

mod assign;
mod assigned;
mod block;
mod call;
mod changing_with;
pub(crate) mod condition;
mod control;
mod cursors;
mod declare;
mod embed;
mod exception;
mod execute;
mod inline;
mod loops;
mod parts_of_with;
mod raise;
mod recover;
mod returning;
mod statement;

use crate::catalog::Catalog;
use crate::embedded::EmbeddedStatement;
use crate::error::{Error, ErrorKind, Result};
use crate::errors::Findings;
use crate::expression::Expr;
use crate::parse;
use crate::procedure::{Formula, Returns, Statement, Variable};
use crate::resolve::coerce::Context;
use crate::resolve::names::Names;
use crate::resolve::scope::Scope;
use crate::resolve::{Calls, PendingCall, Reference, Resolver};
use crate::routine::Routines;
use crate::single::Deduced;
use crate::source::Source;
use crate::token::Cursor;
use crate::types::SqlType;
pub(crate) use assigned::Assigned;
pub(crate) use cursors::KnownCursor;
pub(crate) use inline::Inlining;
pub(crate) use parts_of_with::has_changes;
use sqlparser::ast;
use sqlparser::tokenizer::{Span, TokenWithSpan};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum nesting of blocks, loops and branches.
const NESTING_MAX: u32 = 64;

/// The state of the compiler at a point of a procedure.
pub(crate) struct Compiler<'a> {
    pub(crate) source: &'a Source,
    pub(crate) catalog: &'a Catalog,
    pub(crate) cursor: Cursor<'a>,
    pub(crate) procedure: String,
    pub(crate) names: Names,
    pub(crate) variables: Vec<Variable>,
    pub(crate) statements: Vec<EmbeddedStatement>,
    pub(crate) returns: Returns,
    /// Whether output parameters hold the result.
    pub(crate) has_outputs: bool,
    /// Variables declared as `record`, which take the columns of the assigned row.
    pub(crate) open_records: Vec<usize>,
    /// Records that are assigned on every path to here.
    pub(crate) assigned: Assigned,
    /// The enclosing loops and blocks, innermost last.
    pub(crate) enclosing: Vec<Enclosing>,
    pub(crate) nesting: u32,
    /// Errors found so far.
    pub(crate) findings: Findings,
    /// Variables with unknown declaration or columns, because of an error.
    pub(crate) lost: BTreeSet<String>,
    /// The routines that bodies call; `None` if PostgreSQL plans them.
    pub(crate) called: Option<&'a Routines>,
    /// The bodies of calls that run before the present statement.
    pub(crate) before: Vec<Statement>,
    pub(crate) inlining: Inlining,
    /// The cursors with known columns, by their variables.
    pub(crate) cursors: BTreeMap<usize, KnownCursor>,
    /// Types that uses have given to parameters without one.
    pub(crate) deduced: RefCell<Deduced>,
}

/// Position of a variable, and of a field if the variable is a record.
type Datum = (usize, Option<usize>);

/// A loop or block that encloses a statement.
pub(crate) struct Enclosing {
    label: Option<String>,
    is_loop: bool,
    /// Records that are assigned on every path that leaves it by `EXIT`.
    left: Assigned,
}

impl Enclosing {
    fn new(label: Option<String>, is_loop: bool) -> Self {
        Self { label, is_loop, left: Assigned::unreachable() }
    }
}

impl<'a> Compiler<'a> {
    fn syntax(&self, span: Span, sentence: impl Into<String>) -> Error {
        Error::at(self.source, span, ErrorKind::Syntax, sentence)
    }

    fn type_error(&self, span: Span, sentence: impl Into<String>) -> Error {
        Error::at(self.source, span, ErrorKind::Type, sentence)
    }

    fn outside(&self, span: Span, what: &str, advice: &str) -> Error {
        self.cursor.outside(span, what, advice)
    }

    fn line(&self, span: Span) -> u32 {
        span.start.line as u32
    }

    /// Adds a variable and returns its position; it is not yet visible.
    pub(crate) fn add_variable(&mut self, name: &str, sql_type: SqlType, span: Span) -> usize {
        let line = self.line(span);
        let name = name.to_owned();
        self.variables.push(Variable {
            name,
            sql_type,
            line,
            is_constant: false,
            is_not_null: false,
        });
        self.variables.len() - 1
    }

    /// Runs `resolve` with the names that are visible here, and returns the variables that it
    /// found.
    pub(crate) fn resolve<T>(
        &self,
        place: Span,
        resolve: impl FnOnce(&mut Resolver<'_>) -> Result<T>,
    ) -> Result<(T, Vec<Reference>)> {
        let (resolved, references, calls) = self.resolve_here(place, resolve)?;
        match calls.first() {
            None => Ok((resolved, references)),
            Some(call) => Err(self.outside(call.span, "a call of a routine here", "write a value")),
        }
    }

    /// As [`Self::resolve`]; calls of routines go in front of the statement. Returns also whether
    /// one of them changes rows.
    pub(crate) fn resolve_calls<T>(
        &mut self,
        place: Span,
        resolve: impl FnOnce(&mut Resolver<'_>) -> Result<T>,
    ) -> Result<(T, Vec<Reference>, bool)> {
        let (resolved, references, calls) = self.resolve_here(place, resolve)?;
        let writes = self.inline_all(calls)?;
        Ok((resolved, references, writes))
    }

    fn resolve_here<T>(
        &self,
        place: Span,
        resolve: impl FnOnce(&mut Resolver<'_>) -> Result<T>,
    ) -> Result<(T, Vec<Reference>, Vec<PendingCall>)> {
        let mut resolver =
            Resolver::new(self.source, self.catalog, &self.names, &self.variables, place);
        resolver.calls = self.called.map(Calls::new);
        resolver.routines = self.called.map(Routines::signatures).unwrap_or_default();
        let resolved = resolve(&mut resolver)?;
        self.check_fields(&resolver.references)?;
        self.deduced.borrow_mut().append(resolver.deduced.get_mut());
        let calls = resolver.calls.map(|calls| calls.pending).unwrap_or_default();
        Ok((resolved, resolver.references, calls))
    }

    /// Resolves `tokens` as an expression; converts it to `wanted` if that is given.
    fn formula(
        &mut self,
        tokens: &[TokenWithSpan],
        place: Span,
        wanted: Option<&SqlType>,
    ) -> Result<Formula> {
        let node = parse::expression(self.source, tokens, place)?;
        let (expr, references, writes) = self.resolve_calls(place, |resolver| {
            let expr = resolver.expr(&Scope::default(), &node)?;
            convert_value(resolver, expr, &node, wanted, place)
        })?;
        self.check_reads(writes, expr.has_subquery(), place)?;
        let number = match expr.has_subquery() {
            true => Some(self.embed("SELECT ", &[tokens], &references)?),
            false => None,
        };
        Ok(Formula { expr, number })
    }

    /// Resolves a boolean expression.
    fn condition_formula(&mut self, tokens: &[TokenWithSpan], place: Span) -> Result<Formula> {
        self.formula(tokens, place, Some(&SqlType::Bool))
    }

    /// Column number `column` of a row, converted for a variable of type `wanted`.
    fn converted_column(
        &self,
        column: usize,
        found: &SqlType,
        wanted: &SqlType,
        place: Span,
    ) -> Result<Expr> {
        use crate::expression::{ColumnRef, ExprKind};
        let kind = ExprKind::Column(ColumnRef { level: 0, source: 0, column });
        let expr = Expr::new(kind, found.clone());
        let (expr, _) = self
            .resolve(place, |resolver| resolver.convert(expr, wanted, Context::Variable, place))?;
        Ok(expr)
    }

    /// Runs `inside` one nesting level deeper.
    fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting >= NESTING_MAX {
            let what = format!("nesting of more than {NESTING_MAX} blocks and branches");
            return Err(self.outside(self.cursor.span(), &what, "split the procedure"));
        }
        self.nesting += 1;
        let result = inside(self);
        self.nesting -= 1;
        result
    }
}

fn convert_value(
    resolver: &Resolver<'_>,
    expr: Expr,
    node: &ast::Expr,
    wanted: Option<&SqlType>,
    place: Span,
) -> Result<Expr> {
    use sqlparser::ast::Spanned;
    let span = match node.span() {
        span if span.start.line == 0 => place,
        span => span,
    };
    let own = match &expr.sql_type {
        SqlType::Unknown => SqlType::Text,
        known => known.clone(),
    };
    resolver.convert(expr, wanted.unwrap_or(&own), Context::Variable, span)
}

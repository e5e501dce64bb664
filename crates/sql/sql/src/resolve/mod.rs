//! Resolves parsed SQL: every name and every type.
//!
//! A [`Resolver`] works on one statement or expression. `expression` handles each kind of
//! expression, with `operator`, `call` and `name` for the larger kinds; `select`, `from` and
//! `write` handle the clauses of statements; `own_call` finds calls of the catalog's routines, and
//! `call_place` how often they run; `coerce` has PostgreSQL's conversion rules.
//!
//! Decision: docs/decisions/0156-names-are-resolved-in-one-pass-as-in-pl-pgsql.md

mod aggregate;
mod call;
mod call_place;
pub(crate) mod coerce;
mod enumeration;
mod expression;
mod from;
mod json;
pub(crate) mod label;
mod lateral;
mod literal;
mod lock;
mod name;
pub(crate) mod names;
mod operator;
mod ordered_aggregate;
mod own_call;
mod recursive;
mod row_call;
mod row_comparison;
mod row_in_query;
pub(crate) mod scope;
mod select;
mod set;
mod set_output;
mod special;
mod split;
mod window;
mod with;
mod write;

use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, Result};
use crate::expression::{Expr, ExprKind};
use crate::procedure::{Procedure, Variable};
use crate::reserved::is_reserved;
use crate::source::Source;
use crate::types::SqlType;
use coerce::{Context, coerce};
use names::Names;
pub(crate) use own_call::{Calls, PendingCall};
use sqlparser::ast::{self, Ident, Spanned};
use sqlparser::tokenizer::Span;
use std::cell::RefCell;
use std::rc::Rc;
use window::WindowPlace;
use with::NamedQuery;

/// Maximum nesting of an expression or query.
const DEPTH_MAX: u32 = 150;

pub(crate) struct Resolver<'a> {
    pub(crate) source: &'a Source,
    pub(crate) catalog: &'a Catalog,
    pub(crate) names: &'a Names,
    pub(crate) variables: &'a [Variable],
    /// The statement's position, for nodes without their own.
    pub(crate) place: Span,
    /// The variables found, in the order of resolution.
    pub(crate) references: Vec<Reference>,
    /// The queries of `WITH` that are visible, innermost last.
    pub(crate) named_queries: Vec<Rc<NamedQuery>>,
    /// The views that the statement names, by position.
    pub(crate) used_views: Vec<usize>,
    /// Types that uses have given to variables without a type, in the order of resolution.
    pub(crate) deduced: RefCell<Vec<(usize, SqlType)>>,
    /// The types of outputs without one, of the query that is resolved next.
    untyped: Untyped,
    /// Whether the statement uses a table.
    pub(crate) reads_tables: bool,
    /// The reason why aggregates are not allowed here, if they are not.
    no_aggregates: Option<&'static str>,
    /// Whether window functions are allowed here.
    windows: WindowPlace,
    depth: u32,
    /// The calls of the catalog's routines; `None` where they are not known.
    pub(crate) calls: Option<Calls<'a>>,
    /// The places of rows before `IN` in conditions that may be false in place of null.
    conjuncts: Vec<Span>,
    /// Number of recursive queries so far.
    recursions: usize,
    /// The routines of the catalog, by position.
    pub(crate) routines: Vec<&'a Procedure>,
}

/// The types of a query's outputs that are literals, nulls or parameters without a type.
#[derive(Clone, Default, Debug)]
enum Untyped {
    #[default]
    Text,
    /// The other side of the union decides.
    Open,
    /// Those of the columns that `INSERT` fills.
    Columns(Rc<[SqlType]>),
}

/// A use of a variable in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reference {
    pub(crate) span: Span,
    pub(crate) variable: usize,
    pub(crate) field: Option<usize>,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(
        source: &'a Source,
        catalog: &'a Catalog,
        names: &'a Names,
        variables: &'a [Variable],
        place: Span,
    ) -> Self {
        Self {
            source,
            catalog,
            names,
            variables,
            place,
            references: Vec::new(),
            named_queries: Vec::new(),
            deduced: RefCell::default(),
            untyped: Untyped::Text,
            reads_tables: false,
            used_views: Vec::new(),
            no_aggregates: Some("here"),
            windows: WindowPlace::Refused("here"),
            depth: 0,
            calls: None,
            conjuncts: Vec::new(),
            recursions: 0,
            routines: Vec::new(),
        }
    }

    pub(crate) fn error(&self, span: Span, kind: ErrorKind, sentence: impl Into<String>) -> Error {
        let span = if span.start.line == 0 { self.place } else { span };
        Error::at(self.source, span, kind, sentence)
    }

    fn type_error(&self, span: Span, sentence: impl Into<String>) -> Error {
        self.error(span, ErrorKind::Type, sentence)
    }

    fn outside(&self, span: Span, what: &str, advice: &str) -> Error {
        let sentence = format!("{what} is outside the supported SQL");
        self.error(span, ErrorKind::Outside, sentence).advise(advice)
    }

    /// If `is_there`, refuses SQL that PostgreSQL accepts and this crate does not support.
    fn refuse(&self, is_there: bool, span: Span, what: &str, advice: &str) -> Result<()> {
        if is_there { Err(self.outside(span, what, advice)) } else { Ok(()) }
    }

    /// If `is_there`, refuses syntax of other databases that the parser accepts.
    fn refuse_foreign(&self, is_there: bool, span: Span, what: &str) -> Result<()> {
        if is_there {
            return Err(self.error(span, ErrorKind::Syntax, format!("PostgreSQL has no {what}")));
        }
        Ok(())
    }

    /// Runs `inside` one nesting level deeper.
    fn nested<T>(
        &mut self,
        span: impl Fn() -> Span,
        inside: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if self.depth >= DEPTH_MAX {
            let what = format!("an expression nested more than {DEPTH_MAX} deep");
            return Err(self.outside(span(), &what, "compute a part of it into a variable first"));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    /// Runs `inside` with aggregates allowed, or refused for the given reason.
    pub(crate) fn with_aggregates<T>(
        &mut self,
        refused: Option<&'static str>,
        inside: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = std::mem::replace(&mut self.no_aggregates, refused);
        let result = inside(self);
        self.no_aggregates = before;
        result
    }

    /// Runs `inside` with aggregates allowed.
    pub(crate) fn with_all_aggregates<T>(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.with_aggregates(None, inside)
    }

    /// Converts `expr` to `target`; the error at `span` names both types.
    pub(crate) fn convert(
        &self,
        expr: Expr,
        target: &SqlType,
        context: Context,
        span: Span,
    ) -> Result<Expr> {
        let found = expr.sql_type.clone();
        if let (ExprKind::Variable(variable), SqlType::Unknown) = (&expr.kind, &found) {
            self.deduced.borrow_mut().push((*variable, target.clone()));
        }
        let literal = literal_error(&expr, target);
        let converted = coerce(expr, target, context).map_err(|sentence| {
            let error = self.type_error(span, sentence);
            match literal {
                Some((sqlstate, message)) => error.in_postgres(sqlstate, message),
                None => error,
            }
        })?;
        converted.ok_or_else(|| {
            let sentence = format!("{target} is required here, but this is {found}");
            let error = self.type_error(span, sentence);
            let has_none = matches!(target, SqlType::Record(_) | SqlType::Void | SqlType::Array(_));
            if context == Context::Explicit {
                let (found, target) = (found.base(), target.base());
                let message = format!("cannot cast type {found} to {target}");
                return error.in_postgres("42846", message);
            }
            if has_none {
                return error;
            }
            error.advise(format!("write CAST(... AS {target}) if that is intended"))
        })
    }

    pub(crate) fn compare(
        &self,
        operator: crate::expression::BinaryOperator,
        left: Expr,
        right: Expr,
        span: Span,
    ) -> Result<Expr> {
        self.comparison(operator, left, right, span)
    }

    /// Refuses reserved words, which the parser accepts as names of tables and columns.
    fn check_name(&self, ident: &Ident) -> Result<()> {
        if ident.quote_style.is_none() && is_reserved(&ident.value.to_lowercase()) {
            let sentence = format!("`{}` is a reserved word", ident.value);
            let error = self.error(ident.span, ErrorKind::Syntax, sentence);
            return Err(error.advise("write it between double quotes if it is a name"));
        }
        self.check_quotes(ident)
    }

    /// Refuses text literals, which the parser accepts as names.
    fn check_quotes(&self, ident: &Ident) -> Result<()> {
        if ident.quote_style != Some('\'') {
            return Ok(());
        }
        // The parser does not record the position of such a name.
        let span = if ident.span.start.line == 0 { self.place } else { ident.span };
        let sentence = format!("the text '{}' is not a name", ident.value);
        let error = self.error(span, ErrorKind::Syntax, sentence);
        Err(error.advise("write it between double quotes if it is a name"))
    }

    /// Converts to a boolean.
    pub(crate) fn truth(&self, expr: Expr, span: Span) -> Result<Expr> {
        self.convert(expr, &SqlType::Bool, Context::Implicit, span)
    }
}

/// The error of PostgreSQL if a literal is no value of `target`.
fn literal_error(expr: &Expr, target: &SqlType) -> Option<(&'static str, String)> {
    let ExprKind::Text(text) = &expr.kind else { return None };
    let digits = text.trim().trim_start_matches(['-', '+']);
    let is_number = !digits.is_empty() && digits.chars().all(|letter| letter.is_ascii_digit());
    if is_number && target.is_integer() {
        return Some(("22003", format!("value \"{text}\" is out of range for type {target}")));
    }
    if let SqlType::Enum(of) = target {
        return Some(("22P02", of.invalid(text)));
    }
    let name = target.base();
    Some(("22P02", format!("invalid input syntax for type {name}: \"{text}\"")))
}

/// A name as PostgreSQL compares it.
pub(crate) fn ident_name(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

/// The identifiers of a dotted name; `None` if a part is not an identifier.
fn object_parts(name: &ast::ObjectName) -> Option<Vec<&Ident>> {
    name.0.iter().map(|part| part.as_ident()).collect()
}

/// Position of a dotted name.
fn object_span(name: &ast::ObjectName) -> Span {
    name.span()
}

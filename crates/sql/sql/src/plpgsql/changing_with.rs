//! `WITH` queries that change rows.
//!
//! Each is a statement of its own in front of the main one. A loop collects the rows of its
//! `RETURNING` in arrays, a variable for each column, and `unnest` of the arrays takes its place.
//! In PostgreSQL all parts see the rows from before the statement, so that a part may not read or
//! change the tables that another one changes.
//!
//! Decision: docs/decisions/0352-with-queries-that-change-rows-are-statements-before.md

use super::Compiler;
use super::inline::assign;
use crate::error::Result;
use crate::expression::{Expr, ExprKind};
use crate::parse;
use crate::procedure::{Into, Over, Sql, Statement, StatementKind, Target};
use crate::query::{From, FromKind, Query, Select};
use crate::source::Source;
use crate::token::tokenize;
use crate::types::SqlType;
use crate::walk::{Scopes, visit_expr, visit_select};
use sqlparser::ast::{self, SetExpr};
use sqlparser::tokenizer::Span;
use std::collections::BTreeSet;

/// The changes in the `WITH` of a statement, which run before it.
#[derive(Default)]
pub(super) struct Changed {
    tables: BTreeSet<usize>,
    /// The variables with the rows.
    pub variables: BTreeSet<usize>,
}

impl Compiler<'_> {
    /// Moves the queries that change rows out of the `WITH` of a statement, in front of it.
    pub(super) fn take_changes(
        &mut self,
        statement: &mut ast::Statement,
        place: Span,
    ) -> Result<Changed> {
        let mut changed = Changed::default();
        let ast::Statement::Query(query) = statement else { return Ok(changed) };
        let Some(with) = &mut query.with else { return Ok(changed) };
        let changes = |named: &ast::Cte| {
            matches!(
                &*named.query.body,
                SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_)
            )
        };
        if self.called.is_none() || !with.cte_tables.iter().any(changes) {
            return Ok(changed);
        }
        let mut at = 0;
        while at < with.cte_tables.len() {
            if !changes(&with.cte_tables[at]) {
                at += 1;
                continue;
            }
            let before = with.cte_tables[..at].to_vec();
            let named = &with.cte_tables[at];
            let mut change = (*named.query).clone();
            if !before.is_empty() && change.with.is_none() {
                let (recursive, with_token) = (with.recursive, with.with_token.clone());
                change.with = Some(ast::With { with_token, recursive, cte_tables: before });
            }
            let name = named.alias.name.value.clone();
            let change = ast::Statement::Query(Box::new(change));
            match self.moved(&name, &change, &mut changed, place)? {
                Some(rows) => {
                    with.cte_tables[at].query = rows;
                    at += 1;
                }
                // Nobody can read its rows.
                None => drop(with.cte_tables.remove(at)),
            }
        }
        if with.cte_tables.is_empty() {
            query.with = None;
        }
        Ok(changed)
    }

    /// Puts a change in front of the present statement; returns the query that takes its place, if
    /// it returns rows.
    fn moved(
        &mut self,
        name: &str,
        change: &ast::Statement,
        changed: &mut Changed,
        place: Span,
    ) -> Result<Option<Box<ast::Query>>> {
        let (query, _, writes) = self.resolve_calls(place, |resolver| resolver.query(change))?;
        self.check_reads(writes, true, place)?;
        self.check_other_tables(&query, changed, place)?;
        changed.tables.extend(changed_table(&query));
        self.inlining.writes += 1;
        let fields = query.outputs();
        let number = self.embed("WITH", &[], &[])?;
        let (sql, line) = (Sql { number, query }, self.line(place));
        let mut names = Vec::new();
        let (mut targets, mut arrays, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (at, field) in fields.iter().enumerate() {
            let sql_type = match &field.sql_type {
                SqlType::Unknown => SqlType::Text,
                SqlType::Array(_) | SqlType::Record(_) => {
                    let what = format!("a column of type {} of a change in WITH", field.sql_type);
                    return Err(self.outside(place, &what, "write two statements"));
                }
                known => known.clone(),
            };
            let value = self.converted_column(at, &field.sql_type, &sql_type, place)?;
            let column = self.add_variable("column", sql_type.clone(), place);
            let rows = self.add_variable("rows", SqlType::Array(Box::new(sql_type.clone())), place);
            // No name that is written has this character.
            let shown = format!("{name}\u{1}{}\u{1}{at}", self.variables.len());
            self.names.declare(&shown, rows);
            names.push((shown, field.name.clone()));
            targets.push((Target::Variable(column), value));
            values.push(Expr::new(ExprKind::Variable(column), sql_type));
            arrays.push(rows);
        }
        if names.is_empty() {
            self.before.push(Statement { line, kind: StatementKind::Sql { sql, into: None } });
            return Ok(None);
        }
        for &rows in &arrays {
            let sql_type = self.variables[rows].sql_type.clone();
            let empty = assign(rows, Expr::new(ExprKind::Array(Vec::new()), sql_type));
            self.before.push(Statement { line, kind: empty });
        }
        let body = self.appended(&arrays, values, line);
        let over = Over::Rows { into: Into { is_strict: false, targets }, sql };
        let kind = StatementKind::Loop { label: None, over, body };
        self.before.push(Statement { line, kind });
        changed.variables.extend(arrays);
        self.rows_of(&names, place).map(Some)
    }

    /// The query of the rows in these variables, with the names of their columns.
    fn rows_of(&self, columns: &[(String, String)], place: Span) -> Result<Box<ast::Query>> {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let list = |part: &dyn Fn(&(String, String)) -> String| {
            columns.iter().map(part).collect::<Vec<_>>().join(", ")
        };
        let arrays = list(&|(variable, _)| quoted(variable));
        let shown = list(&|(_, column)| quoted(column));
        let text = format!("SELECT * FROM unnest({arrays}) AS changed ({shown})");
        let source = Source::new("statement", &text);
        let tokens = tokenize(&source, 0, &text)?;
        match parse::statement(&source, &tokens, Span::empty())? {
            ast::Statement::Query(query) => Ok(query),
            _ => Err(self.syntax(place, "a query is expected here")),
        }
    }

    /// Refuses a part of a statement that reads or changes what another part has changed.
    pub(super) fn check_other_tables(
        &self,
        query: &Query,
        changed: &Changed,
        place: Span,
    ) -> Result<()> {
        let mut tables = Tables(BTreeSet::from_iter(changed_table(query)));
        tables.visit(query);
        match tables.0.intersection(&changed.tables).next() {
            None => Ok(()),
            Some(&table) => {
                let name = &self.catalog.tables[table].name;
                let what = format!("a use of `{name}` beside a change of its rows in WITH");
                Err(self.outside(place, &what, "write one statement after the other"))
            }
        }
    }
}

fn changed_table(query: &Query) -> Option<usize> {
    match query {
        Query::Select(_) => None,
        Query::Insert(insert) => Some(insert.table),
        Query::Update(update) => Some(update.table),
        Query::Delete(delete) => Some(delete.table),
    }
}

/// The tables whose rows a query reads.
struct Tables(BTreeSet<usize>);

impl Tables {
    fn visit(&mut self, query: &Query) {
        use crate::query::InsertSource;
        let (sources, exprs): (&[From], Vec<&Expr>) = match query {
            Query::Select(select) => return visit_select(self, select),
            Query::Insert(insert) => {
                let mut exprs: Vec<&Expr> = insert.returning.iter().map(|one| &one.expr).collect();
                match &insert.source {
                    InsertSource::Values(rows) => exprs.extend(rows.iter().flatten().flatten()),
                    InsertSource::Select(select, _) => visit_select(self, select),
                }
                (&[], exprs)
            }
            Query::Update(update) => {
                let set = update.assignments.iter().filter_map(|(_, value)| value.as_ref());
                let returning = update.returning.iter().map(|one| &one.expr);
                (&update.sources[1..], set.chain(&update.filter).chain(returning).collect())
            }
            Query::Delete(delete) => {
                let returning = delete.returning.iter().map(|one| &one.expr);
                (&delete.sources[1..], delete.filter.iter().chain(returning).collect())
            }
        };
        for source in sources {
            self.source(source);
            if let FromKind::Query(select) | FromKind::Lateral(select) = &source.kind {
                visit_select(self, select);
            }
        }
        exprs.into_iter().for_each(|expr| visit_expr(self, expr));
    }
}

impl Scopes for Tables {
    fn source(&mut self, source: &From) {
        if let FromKind::Table(table) = source.kind {
            self.0.insert(table);
        }
    }

    fn enter(&mut self, _: &[From]) {}

    fn leave(&mut self) {}

    fn subquery(&mut self, _: &Select) {}

    fn expr(&mut self, _: &Expr) {}
}

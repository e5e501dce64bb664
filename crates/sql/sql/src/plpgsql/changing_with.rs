//! `WITH` queries that change rows.
//!
//! Each is a statement of its own in front of the main one. A loop collects the rows of its
//! `RETURNING` in arrays, a variable for each column, and `unnest` of the arrays takes its place.
//! A query that a change uses beside another part runs once, and is collected likewise. In
//! PostgreSQL all parts see the rows from before the statement, so that a part may not read or
//! change the tables that another one changes.
//!
//! Decision: docs/decisions/0352-with-queries-that-change-rows-are-statements-before.md

use super::Compiler;
use super::inline::assign;
use super::parts_of_with::{Uses, changed_tables, changes_rows, used_tables, uses_of_queries};
use crate::error::{Error, Result};
use crate::expression::{Expr, ExprKind};
use crate::parse;
use crate::procedure::{Into, Over, Sql, Statement, StatementKind, Target};
use crate::query::Query;
use crate::resolve::ident_name;
use crate::source::Source;
use crate::token::tokenize;
use crate::types::SqlType;
use sqlparser::ast;
use sqlparser::tokenizer::Span;
use std::collections::BTreeSet;

/// Before the name of a query of `WITH`, in the text of its statement.
const WITH: &str = "WITH ";

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
        let Some(with) = &query.with else { return Ok(changed) };
        if self.called.is_none() || !with.cte_tables.iter().any(changes_rows) {
            return Ok(changed);
        }
        let uses = uses_of_queries(query);
        let Some(with) = &mut query.with else { return Ok(changed) };
        let mut at = 0;
        for Uses { is_named, is_held } in uses {
            let named = &with.cte_tables[at];
            let is_change = changes_rows(named);
            if !is_change && !is_held {
                at += 1;
                continue;
            }
            let front = match is_change {
                true => self.change_alone(with, at, place)?,
                false => self.query_alone(with, at, place)?,
            };
            let name = named.alias.name.value.clone();
            match self.moved(&name, &front, &mut changed, place)? {
                Some(rows) => {
                    with.cte_tables[at].query = rows;
                    at += 1;
                }
                None if is_named => return Err(self.returns_nothing(&name, place)),
                None => drop(with.cte_tables.remove(at)),
            }
        }
        if with.cte_tables.is_empty() {
            query.with = None;
        }
        Ok(changed)
    }

    fn returns_nothing(&self, name: &str, place: Span) -> Error {
        let message = format!("WITH query \"{name}\" does not have a RETURNING clause");
        let error = self.type_error(place, "a change in WITH without RETURNING has no rows");
        error.in_postgres("0A000", message).advise("write RETURNING and the columns")
    }

    /// A change as a statement of its own, with the queries before it, which precede its own.
    fn change_alone(&self, with: &ast::With, at: usize, place: Span) -> Result<ast::Statement> {
        let mut change = (*with.cte_tables[at].query).clone();
        if at > 0 {
            let mut before = with.cte_tables[..at].to_vec();
            if let Some(own) = change.with.take() {
                let names = |cte: &ast::Cte| ident_name(&cte.alias.name);
                let hides = |cte: &ast::Cte| before.iter().any(|one| names(one) == names(cte));
                if own.recursive != with.recursive || own.cte_tables.iter().any(hides) {
                    let what = "a WITH within a change in WITH that is recursive, or names one of the same names,";
                    return Err(self.outside(place, what, "write two statements"));
                }
                before.extend(own.cte_tables);
            }
            change.with = Some(ast::With { cte_tables: before, ..with.clone() });
        }
        Ok(ast::Statement::Query(Box::new(change)))
    }

    /// A query of `WITH` as a statement of its own, with the queries before it.
    fn query_alone(&self, with: &ast::With, at: usize, place: Span) -> Result<ast::Statement> {
        let text =
            format!("SELECT * FROM {}", quoted(&ident_name(&with.cte_tables[at].alias.name)));
        let mut query = self.own_query(&text, place)?;
        query.with =
            Some(ast::With { cte_tables: with.cte_tables[..=at].to_vec(), ..with.clone() });
        Ok(ast::Statement::Query(query))
    }

    /// Puts a query in front of the present statement; returns the query that takes its place, if
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
        let own = changed_tables(self.catalog, &query);
        self.inlining.writes += usize::from(!own.is_empty());
        changed.tables.extend(own);
        let fields = query.outputs();
        let number = self.embed(&format!("{WITH}{name}"), &[], &[])?;
        let (sql, line) = (Sql { number, query }, self.line(place));
        let mut names = Vec::new();
        let (mut targets, mut arrays, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (at, field) in fields.iter().enumerate() {
            let sql_type = match &field.sql_type {
                SqlType::Unknown => SqlType::Text,
                SqlType::Array(_) | SqlType::Record(_) => {
                    let what = format!(
                        "a column of type {} of a change in WITH, or of a query that one uses beside \
                         another part of the statement,",
                        field.sql_type
                    );
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
        let list = |part: &dyn Fn(&(String, String)) -> String| {
            columns.iter().map(part).collect::<Vec<_>>().join(", ")
        };
        let arrays = list(&|(variable, _)| quoted(variable));
        let shown = list(&|(_, column)| quoted(column));
        self.own_query(&format!("SELECT * FROM unnest({arrays}) AS changed ({shown})"), place)
    }

    fn own_query(&self, text: &str, place: Span) -> Result<Box<ast::Query>> {
        let source = Source::new("statement", text);
        let tokens = tokenize(&source, 0, text)?;
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
        let used = used_tables(self.catalog, query);
        match used.intersection(&changed.tables).next() {
            None => Ok(()),
            Some(&table) => {
                let name = &self.catalog.tables[table].name;
                let what = format!("a use of `{name}` beside a change of its rows in WITH");
                Err(self.outside(place, &what, "write one statement after the other"))
            }
        }
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

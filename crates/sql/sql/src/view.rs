//! Views of SQL sessions.

use crate::catalog::{Catalog, View};
use crate::error::{Error, ErrorKind, Result};
use crate::expression::{Expr, ExprKind};
use crate::parse;
use crate::query::{From, FromKind, Query, Select};
use crate::resolve::Resolver;
use crate::resolve::names::Names;
use crate::source::Source;
use crate::token::{Cursor, tokenize};
use crate::types::{Field, SqlType};
use crate::walk::{Scopes, visit_select};
use sqlparser::tokenizer::{Span, Token};
use std::collections::BTreeSet;

/// Reads `CREATE [OR REPLACE] VIEW name [(columns)] AS query`, with the tables and views of the
/// catalog.
///
/// # Errors
///
/// The error that PostgreSQL would report, or SQL that this crate does not support.
pub fn read_view(source: &Source, catalog: &Catalog) -> Result<View> {
    let mut tokens = tokenize(source, 0, source.text())?;
    while tokens.last().is_some_and(|last| last.token == Token::SemiColon) {
        tokens.pop();
    }
    let mut cursor = Cursor::new(source, tokens, source.text().len());
    cursor.expect_word("CREATE")?;
    cursor.accept_words(&["OR", "REPLACE"]);
    cursor.expect_word("VIEW")?;
    let (mut name, place) = cursor.identifier("the view's name")?;
    if cursor.accept(&Token::Period) {
        name = cursor.identifier("the view's name")?.0;
    }
    let columns = column_names(&mut cursor)?;
    cursor.expect_word("AS")?;
    let from = cursor.position();
    while cursor.next().is_some() {}
    let tokens = cursor.slice(from, cursor.position()).to_vec();
    let Some(first) = tokens.first() else { return Err(cursor.expected("a query")) };
    let span = first.span;
    let statement = parse::statement(source, &tokens, span)?;
    let mut names = Names::default();
    names.is_session = true;
    names.has_own_plans = true;
    let mut resolver = Resolver::new(source, catalog, &names, &[], span);
    let Query::Select(query) = resolver.query(&statement)? else {
        return Err(cursor.error(span, ErrorKind::Syntax, "a view has a SELECT"));
    };
    let views = resolver.used_views.into_iter().map(|at| catalog.views[at].name.clone()).collect();
    let columns = fields(&cursor, &query, columns, place)?;
    Ok(View { name, columns, query: *query, views })
}

fn column_names(cursor: &mut Cursor<'_>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    if cursor.accept(&Token::LParen) {
        loop {
            names.push(cursor.identifier("a column's name")?.0);
            if cursor.accept(&Token::RParen) {
                break;
            }
            cursor.expect(&Token::Comma)?;
        }
    }
    Ok(names)
}

/// The columns of a view: those of its query, the first ones with new names.
fn fields(
    cursor: &Cursor<'_>,
    query: &Select,
    names: Vec<String>,
    place: Span,
) -> Result<Vec<Field>> {
    let mut columns = query.fields();
    if names.len() > columns.len() {
        let sentence = "the view has more names of columns than its query has columns";
        let message = "CREATE VIEW specifies more column names than columns";
        let error = cursor.error(place, ErrorKind::Syntax, sentence);
        return Err(error.in_postgres("42601", message));
    }
    for (column, name) in columns.iter_mut().zip(names) {
        column.name = name;
    }
    let mut seen = BTreeSet::new();
    for column in &mut columns {
        if column.sql_type == SqlType::Unknown {
            column.sql_type = SqlType::Text;
        }
        let name = &column.name;
        if !seen.insert(name.clone()) {
            let sentence = format!("the view has two columns `{name}`");
            let message = format!("column \"{name}\" specified more than once");
            let error: Error = cursor.error(place, ErrorKind::Name, sentence);
            return Err(error.in_postgres("42701", message));
        }
    }
    Ok(columns)
}

impl View {
    /// The tables, by position, that it reads, and the columns of them that it names.
    pub fn reads(&self) -> BTreeSet<(usize, Option<usize>)> {
        let mut reads = Reads::default();
        visit_select(&mut reads, &self.query);
        reads.found
    }
}

/// Collects tables and columns of a query.
#[derive(Default)]
struct Reads {
    found: BTreeSet<(usize, Option<usize>)>,
    /// For each level, innermost last, the table of each source.
    levels: Vec<Vec<Option<usize>>>,
}

impl Scopes for Reads {
    fn source(&mut self, source: &From) {
        match &source.kind {
            FromKind::Table(table) => drop(self.found.insert((*table, None))),
            FromKind::Query(query) => visit_select(self, query),
            FromKind::Windows(windows) => visit_select(self, &windows.query),
            FromKind::Recursive(recursion) => {
                visit_select(self, &recursion.first);
                visit_select(self, &recursion.step);
            }
            FromKind::Lateral(_)
            | FromKind::Unnest(_)
            | FromKind::Series(_)
            | FromKind::Call(_)
            | FromKind::WorkTable(_) => {}
        }
    }

    fn enter(&mut self, sources: &[From]) {
        let tables = sources.iter().map(|source| match source.kind {
            FromKind::Table(table) => Some(table),
            _ => None,
        });
        self.levels.push(tables.collect());
    }

    fn leave(&mut self) {
        self.levels.pop();
    }

    fn subquery(&mut self, query: &Select) {
        visit_select(self, query);
    }

    fn expr(&mut self, expr: &Expr) {
        if let ExprKind::Column(column) = &expr.kind {
            let level = self.levels.len().checked_sub(1 + column.level as usize);
            let source = level.and_then(|level| self.levels[level].get(column.source));
            if let Some(Some(table)) = source {
                self.found.insert((*table, Some(column.column)));
            }
        }
    }
}

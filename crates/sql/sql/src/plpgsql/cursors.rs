//! Cursors: their declarations, `OPEN`, `FETCH`, `MOVE`, `CLOSE`, and loops over them.
//!
//! A cursor's variable holds its name. The query of a bound cursor is resolved again in each place
//! that opens it, with the names that its declaration has seen.
//!
//! Decision: docs/decisions/0347-cursors-of-routines-hold-their-rows.md

use super::Compiler;
use super::control::split_at_commas;
use super::inline::binary;
use crate::cursors::{CursorOpen, CursorRows, CursorStatement, KeyColumns, Movement, MovementKind};
use crate::error::Result;
use crate::expression::{BinaryOperator, ColumnRef, Expr, ExprKind};
use crate::parse;
use crate::procedure::{DynamicInto, Formula, Over, Sql, Statement, StatementKind, Target};
use crate::query::{FromKind, Output, Query, Select, SelectBody};
use crate::resolve::names::Names;
use crate::token::{name_of, token_is_word};
use crate::types::{Field, SqlType};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// A cursor whose variable is declared or was opened.
#[derive(Clone)]
pub(crate) struct KnownCursor {
    /// The columns of its rows.
    fields: Vec<Field>,
    bound: Option<BoundCursor>,
}

/// The query of a declaration.
struct CursorQuery {
    parameters: Vec<(String, usize)>,
    tokens: Vec<TokenWithSpan>,
    place: Span,
    fields: Vec<Field>,
}

/// A cursor that is declared with its query.
#[derive(Clone)]
struct BoundCursor {
    parameters: Vec<(String, usize)>,
    tokens: Vec<TokenWithSpan>,
    place: Span,
    /// The names that the query sees.
    names: Names,
    scrolls: Option<bool>,
}

impl Compiler<'_> {
    /// Whether `[[NO] SCROLL] CURSOR` follows.
    pub(super) fn begins_cursor(&self) -> bool {
        let is_at = |ahead, word| self.cursor.is_word_at(ahead, word);
        self.cursor.is_word("CURSOR")
            || self.cursor.is_word("NO") && is_at(1, "SCROLL")
            || self.cursor.is_word("SCROLL") && is_at(1, "CURSOR")
    }

    fn scroll_option(&mut self) -> Option<bool> {
        if self.cursor.accept_words(&["NO", "SCROLL"]) {
            return Some(false);
        }
        self.cursor.accept_word("SCROLL").then_some(true)
    }

    /// The rest of `name [[NO] SCROLL] CURSOR [(parameters)] FOR query;`
    pub(super) fn cursor_declaration(
        &mut self,
        name: &str,
        place: Span,
    ) -> Result<(usize, Option<Formula>)> {
        let scrolls = self.scroll_option();
        self.cursor.expect_word("CURSOR")?;
        self.names.open(None);
        let read = self.cursor_query();
        let names = self.names.clone();
        self.names.close();
        let CursorQuery { parameters, tokens, place: of_query, fields } = read?;
        let variable = self.add_variable(name, SqlType::Text, place);
        self.names.declare(name, variable);
        let bound = BoundCursor { parameters, tokens, place: of_query, names, scrolls };
        self.cursors.insert(variable, KnownCursor { fields, bound: Some(bound) });
        let expr = Expr::new(ExprKind::Text(name.to_owned()), SqlType::Text);
        Ok((variable, Some(Formula { expr, number: None })))
    }

    /// The parameters and the query of a cursor, with the columns of its rows.
    fn cursor_query(&mut self) -> Result<CursorQuery> {
        let mut parameters = Vec::new();
        if self.cursor.accept(&Token::LParen) {
            loop {
                let (name, place) = self.cursor.name("a parameter")?;
                let sql_type = self.declared_type()?;
                let variable = self.add_variable(&name, sql_type, place);
                self.names.declare(&name, variable);
                parameters.push((name, variable));
                if !self.cursor.accept(&Token::Comma) {
                    break;
                }
            }
            self.cursor.expect(&Token::RParen)?;
        }
        if !self.cursor.accept_word("IS") {
            self.cursor.expect_word("FOR")?;
        }
        let place = self.cursor.span();
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.semicolon()?;
        let statement = parse::statement(self.source, &tokens, place)?;
        let (query, _, _) = self.resolve_here(place, |resolver| resolver.query(&statement))?;
        self.expect_cursor_query(&query, place)?;
        Ok(CursorQuery { parameters, tokens, place, fields: query.outputs() })
    }

    fn expect_cursor_query(&self, query: &Query, span: Span) -> Result<()> {
        if matches!(query, Query::Select(_)) {
            return Ok(());
        }
        let error = self.syntax(span, "the rows of a cursor are those of a query");
        Err(error.in_postgres("42P11", "cannot open INSERT query as cursor"))
    }

    /// The variable of a cursor.
    fn cursor_variable(&mut self) -> Result<usize> {
        let span = self.cursor.span();
        let (variable, field) = self.datum()?;
        let is_name = self.variables[variable].sql_type.base() == SqlType::Text;
        if field.is_none() && is_name {
            return Ok(variable);
        }
        let name = &self.variables[variable].name;
        let message = format!("variable \"{name}\" must be of type cursor or refcursor");
        let error = self.type_error(span, format!("`{name}` is no cursor"));
        Err(error.in_postgres("42804", message))
    }

    /// `OPEN cursor`, `OPEN cursor (arguments)`, `OPEN cursor FOR query`
    pub(super) fn open_statement(&mut self) -> Result<StatementKind> {
        self.cursor.expect_word("OPEN")?;
        let span = self.cursor.span();
        let variable = self.cursor_variable()?;
        let bound = self.cursors.get(&variable).and_then(|known| known.bound.clone());
        let open = match bound {
            Some(bound) => {
                let mut tokens = Vec::new();
                if self.cursor.accept(&Token::LParen) {
                    tokens = self.cursor.take_until(|token| *token == Token::RParen)?;
                    self.cursor.expect(&Token::RParen)?;
                }
                self.semicolon()?;
                self.open_bound(variable, &bound, &tokens, span)?
            }
            None => {
                self.check_assignable(variable, span)?;
                self.open_unbound(variable)?
            }
        };
        Ok(StatementKind::Cursor(CursorStatement::Open(open)))
    }

    fn open_unbound(&mut self, cursor: usize) -> Result<CursorOpen> {
        let scrolls = self.scroll_option();
        self.cursor.expect_word("FOR")?;
        let is_text = self.cursor.accept_word("EXECUTE");
        let span = self.cursor.span();
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.semicolon()?;
        if is_text {
            let (dynamic, into) = self.dynamic(&tokens, span)?;
            if into.is_some() {
                return Err(self.syntax(span, "OPEN has no INTO"));
            }
            self.cursors.remove(&cursor);
            let only_forward = scrolls == Some(false);
            return Ok(CursorOpen { cursor, rows: CursorRows::Text(dynamic), only_forward });
        }
        let sql = self.embedded_query(&[&tokens], "", span)?;
        self.expect_cursor_query(&sql.query, span)?;
        let fields = sql.query.outputs();
        self.cursors.insert(cursor, KnownCursor { fields, bound: None });
        self.opened(cursor, sql, scrolls, span)
    }

    /// Opens a bound cursor with these arguments, which are assigned before.
    fn open_bound(
        &mut self,
        cursor: usize,
        bound: &BoundCursor,
        arguments: &[TokenWithSpan],
        span: Span,
    ) -> Result<CursorOpen> {
        let parts = match arguments {
            [] => Vec::new(),
            _ => split_at_commas(arguments),
        };
        let name = self.variables[cursor].name.clone();
        let mut given = vec![false; bound.parameters.len()];
        for (at, part) in parts.iter().enumerate() {
            let (named, value) = match part {
                [word, sign, value @ ..]
                    if matches!(sign.token, Token::Assignment | Token::RArrow) =>
                {
                    (Some(word), value)
                }
                value => (None, *value),
            };
            let place = value.first().map_or(span, |token| token.span);
            let at = match named.map(|word| &word.token) {
                Some(Token::Word(word)) => {
                    let is_it = |(name, _): &(String, usize)| *name == name_of(word);
                    bound.parameters.iter().position(is_it)
                }
                _ => Some(at),
            };
            let parameter = at.and_then(|at| bound.parameters.get(at).map(|one| (at, one.1)));
            let Some((at, parameter)) = parameter.filter(|(at, _)| !given[*at]) else {
                let sentence = format!("the cursor `{name}` has no such parameter");
                return Err(self.syntax(place, sentence));
            };
            given[at] = true;
            let sql_type = self.variables[parameter].sql_type.clone();
            let value = self.formula(value, place, Some(&sql_type))?;
            let kind = StatementKind::Assign { target: Target::Variable(parameter), value };
            let line = self.line(span);
            self.before.push(Statement { line, kind });
        }
        if given.contains(&false) {
            let sentence = format!("there are not enough arguments for the cursor `{name}`");
            return Err(self.syntax(span, sentence));
        }
        let own = std::mem::replace(&mut self.names, bound.names.clone());
        let sql = self.embedded_query(&[&bound.tokens], "", bound.place);
        self.names = own;
        self.opened(cursor, sql?, bound.scrolls, bound.place)
    }

    fn opened(
        &self,
        cursor: usize,
        mut sql: Sql,
        scrolls: Option<bool>,
        span: Span,
    ) -> Result<CursorOpen> {
        let Query::Select(select) = &mut sql.query else {
            return Err(self.syntax(span, "the rows of a cursor are those of a query"));
        };
        let locks = select.lock.is_some();
        if locks && scrolls == Some(true) {
            let what = "SCROLL for a query that locks its rows";
            return Err(self.outside(span, what, "leave SCROLL out"));
        }
        let key = self.add_key(select);
        let only_forward = scrolls == Some(false) || locks;
        Ok(CursorOpen { cursor, rows: CursorRows::Query(sql, key), only_forward })
    }

    /// Adds the primary key of the table to the columns of a query over its rows.
    fn add_key(&self, select: &mut Select) -> Option<KeyColumns> {
        let SelectBody::Plain(plain) = &mut select.body else { return None };
        let [source] = &plain.sources[..] else { return None };
        let FromKind::Table(table) = source.kind else { return None };
        if plain.is_grouped || plain.distinct {
            return None;
        }
        let of = &self.catalog.tables[table];
        for &column in &of.primary_key {
            let Field { name, sql_type } = self.column(table, column);
            let kind = ExprKind::Column(ColumnRef { level: 0, source: 0, column });
            plain.outputs.push(Output { name, expr: Expr::new(kind, sql_type) });
        }
        let count = of.primary_key.len();
        (count > 0).then_some(KeyColumns { table, count })
    }

    fn column(&self, table: usize, column: usize) -> Field {
        let column = &self.catalog.tables[table].columns[column];
        Field { name: column.name.clone(), sql_type: column.sql_type.clone() }
    }

    /// `FETCH [direction FROM] cursor INTO targets`, and `MOVE`.
    pub(super) fn fetch_statement(&mut self) -> Result<StatementKind> {
        let moves = self.cursor.accept_word("MOVE");
        if !moves {
            self.cursor.expect_word("FETCH")?;
        }
        let span = self.cursor.span();
        let (movement, is_many) = self.movement()?;
        if is_many && !moves {
            let message = "FETCH statement cannot return multiple rows";
            let error = self.syntax(span, "FETCH returns one row at a time");
            return Err(error.in_postgres("0A000", message));
        }
        let cursor = self.cursor_variable()?;
        let mut into = None;
        if !moves {
            self.cursor.expect_word("INTO")?;
            let place = self.cursor.span();
            let targets = self.targets()?;
            let fields = self.cursors.get(&cursor).map(|known| known.fields.clone());
            into = Some(self.dynamic_into(targets, false, fields.as_deref(), place)?);
        }
        self.semicolon()?;
        Ok(StatementKind::Cursor(CursorStatement::Fetch { cursor, movement, into }))
    }

    /// A direction, and whether it may mean several rows.
    fn movement(&mut self) -> Result<(Movement, bool)> {
        use MovementKind::{Absolute, Backward, Forward, Relative};
        let fixed = [
            ("NEXT", Forward, 1),
            ("PRIOR", Backward, 1),
            ("FIRST", Absolute, 1),
            ("LAST", Absolute, -1),
        ];
        for (word, kind, count) in fixed {
            if self.cursor.accept_word(word) {
                self.cursor_follows()?;
                return Ok((Movement { kind, count: Some(number(count)) }, false));
            }
        }
        for (word, kind) in [("ABSOLUTE", Absolute), ("RELATIVE", Relative)] {
            if self.cursor.accept_word(word) {
                let count = Some(self.movement_count()?);
                return Ok((Movement { kind, count }, false));
            }
        }
        let named = [("FORWARD", Forward), ("BACKWARD", Backward)];
        let named = named.into_iter().find(|(word, _)| self.cursor.accept_word(word));
        let kind = named.map_or(Forward, |(_, kind)| kind);
        if self.cursor.accept_word("ALL") {
            self.cursor_follows()?;
            return Ok((Movement { kind, count: None }, true));
        }
        let one = Movement { kind, count: Some(number(1)) };
        if self.cursor.accept_word("FROM") || self.cursor.accept_word("IN") {
            return Ok((one, false));
        }
        let is_count = match self.cursor.peek() {
            Some(Token::Word(word)) => self.names.find(&name_of(word)).is_none(),
            _ => true,
        };
        if named.is_none() && !is_count {
            return Ok((one, false));
        }
        let count = Some(self.movement_count()?);
        Ok((Movement { kind, count }, true))
    }

    fn cursor_follows(&mut self) -> Result<()> {
        match self.cursor.accept_word("FROM") || self.cursor.accept_word("IN") {
            true => Ok(()),
            false => Err(self.cursor.expected("`FROM` or `IN`")),
        }
    }

    fn movement_count(&mut self) -> Result<Formula> {
        let span = self.cursor.span();
        let ends = |token: &Token| {
            token_is_word(token, "FROM") || token_is_word(token, "IN") || *token == Token::SemiColon
        };
        let tokens = self.cursor.take_until(ends)?;
        self.cursor_follows()?;
        self.formula(&tokens, span, Some(&SqlType::Int4))
    }

    pub(super) fn close_statement(&mut self) -> Result<StatementKind> {
        self.cursor.expect_word("CLOSE")?;
        let cursor = self.cursor_variable()?;
        self.semicolon()?;
        Ok(StatementKind::Cursor(CursorStatement::Close(cursor)))
    }

    /// The rows of `FOR record IN cursor`, if the tokens behind `IN` are a cursor.
    pub(super) fn cursor_loop(
        &mut self,
        tokens: &[TokenWithSpan],
        span: Span,
    ) -> Result<Option<Over>> {
        let (name, arguments) = match tokens {
            [name] => (name, &[][..]),
            [name, open, arguments @ .., close]
                if open.token == Token::LParen && close.token == Token::RParen =>
            {
                (name, arguments)
            }
            _ => return Ok(None),
        };
        let Token::Word(word) = &name.token else { return Ok(None) };
        let Some(cursor) = self.names.find(&name_of(word)) else { return Ok(None) };
        let known = self.cursors.get(&cursor).cloned();
        let Some(KnownCursor { fields, bound: Some(bound) }) = known else {
            let error = self.syntax(span, "a loop over a cursor needs one with a query");
            return Err(error.advise("declare it with CURSOR FOR"));
        };
        let (record, place) = self.cursor.name("a variable")?;
        if !self.cursor.is_word("IN") {
            return Err(self.syntax(place, "a loop over a cursor has exactly one variable"));
        }
        let open = self.open_bound(cursor, &bound, arguments, span)?;
        let sql_type = SqlType::Record(fields);
        let row = self.add_variable(&record, sql_type.clone(), place);
        self.names.declare(&record, row);
        let targets = vec![(Target::Variable(row), sql_type)];
        Ok(Some(Over::Cursor(open, DynamicInto { is_strict: false, targets })))
    }

    /// Replaces `WHERE CURRENT OF cursor` by `WHERE true`; returns the variable of the cursor.
    pub(super) fn take_current(
        &mut self,
        tokens: &mut Vec<TokenWithSpan>,
    ) -> Result<Option<usize>> {
        let is_it = |part: &[TokenWithSpan]| {
            let words = ["WHERE", "CURRENT", "OF"];
            part.iter().zip(words).all(|(token, word)| token_is_word(&token.token, word))
        };
        let begins = tokens.first().is_some_and(|first| {
            token_is_word(&first.token, "UPDATE") || token_is_word(&first.token, "DELETE")
        });
        let Some(at) = tokens.windows(3).position(is_it).filter(|_| begins) else {
            return Ok(None);
        };
        let name = tokens.get(at + 3);
        let variable = match name.map(|name| &name.token) {
            Some(Token::Word(word)) => self.names.find(&name_of(word)),
            _ => None,
        };
        let span = name.map_or(tokens[at + 2].span, |name| name.span);
        let is_name = |of: usize| self.variables[of].sql_type.base() == SqlType::Text;
        let Some(variable) = variable.filter(|&of| self.called.is_some() && is_name(of)) else {
            return Err(self.outside(
                span,
                "CURRENT OF a cursor without a variable",
                "write the variable of the cursor, or WHERE and the key of the row",
            ));
        };
        let truth = Token::make_keyword("TRUE");
        let span = tokens[at + 1].span;
        tokens.splice(at + 1..at + 4, [TokenWithSpan { token: truth, span }]);
        Ok(Some(variable))
    }

    /// Lets a statement change the row on which a cursor is.
    pub(super) fn at_current(
        &mut self,
        cursor: usize,
        query: &mut Query,
        span: Span,
    ) -> Result<()> {
        let (table, filter) = match query {
            Query::Update(update) => (update.table, &mut update.filter),
            Query::Delete(delete) => (delete.table, &mut delete.filter),
            Query::Select(_) | Query::Insert(_) => return Ok(()),
        };
        let columns = self.catalog.tables[table].primary_key.clone();
        if columns.is_empty() {
            let what = "WHERE CURRENT OF for a table without a primary key";
            return Err(self.outside(span, what, "give the table a primary key"));
        }
        let (mut key, mut all) = (Vec::new(), None);
        for column in columns {
            let Field { name, sql_type } = self.column(table, column);
            let variable = self.add_variable(&name, sql_type.clone(), span);
            key.push(variable);
            let kind = ExprKind::Column(ColumnRef { level: 0, source: 0, column });
            let own = Expr::new(kind, sql_type.clone());
            let value = Expr::new(ExprKind::Variable(variable), sql_type);
            let equal = binary(BinaryOperator::Equal, own, value);
            all = Some(match all {
                None => equal,
                Some(before) => binary(BinaryOperator::And, before, equal),
            });
        }
        *filter = all;
        let kind = StatementKind::Cursor(CursorStatement::Locate { cursor, table, key });
        let line = self.line(span);
        self.before.push(Statement { line, kind });
        Ok(())
    }
}

/// A number of rows.
fn number(count: i64) -> Formula {
    Formula { expr: Expr::new(ExprKind::Integer(count), SqlType::Int4), number: None }
}

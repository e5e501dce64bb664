//! SQL statements in PL/pgSQL, `INTO`, and `GET DIAGNOSTICS`.

use super::Compiler;
use super::declare::has_word;
use super::inline::reads_rows;
use crate::error::{ErrorKind, Result};
use crate::expression::{Expr, ExprKind};
use crate::overriding::clause;
use crate::parse;
use crate::procedure::{Into, Sql, StatementKind, Target};
use crate::query::Query;
use crate::token::{Cursor, token_is_word};
use crate::types::{Field, SqlType};
use sqlparser::ast::Statement;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

impl Compiler<'_> {
    pub(super) fn sql_statement(&mut self) -> Result<StatementKind> {
        let span = self.cursor.span();
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.semicolon()?;
        let Some(at) = into_position(&tokens) else {
            let sql = self.embedded_query(&[&tokens], "", span)?;
            self.expect_no_rows(&sql, span)?;
            return Ok(StatementKind::Sql { sql, into: None });
        };
        let (targets, is_strict, end) = self.read_into(&tokens, at)?;
        let (before, after) = (&tokens[..at], &tokens[end..]);
        if into_position(after).is_some() {
            return Err(self.syntax(tokens[at].span, "this statement has two INTO clauses"));
        }
        let parts: Vec<&[TokenWithSpan]> =
            [before, after].into_iter().filter(|part| !part.is_empty()).collect();
        let sql = self.embedded_query(&parts, "", span)?;
        let fields = sql.query.outputs();
        if fields.is_empty() {
            let error = self.type_error(tokens[at].span, "this statement returns no row for INTO");
            return Err(error.advise("write RETURNING and the columns"));
        }
        let into = self.row_into(targets, is_strict, &fields, tokens[at].span)?;
        Ok(StatementKind::Sql { sql, into: Some(into) })
    }

    /// PostgreSQL refuses this only at run time.
    fn expect_no_rows(&self, sql: &Sql, span: Span) -> Result<()> {
        match &sql.query {
            Query::Select(_) => {
                let error = self.type_error(span, "the rows of this query have no target");
                let message = "query has no destination for result data";
                let error = error.in_postgres("42601", message);
                Err(error.advise("write INTO and variables, or PERFORM in place of SELECT"))
            }
            query if !query.outputs().is_empty() => {
                let error = self.type_error(span, "the rows of RETURNING have no target");
                Err(error.advise("write INTO and variables, or leave RETURNING out"))
            }
            _ => Ok(()),
        }
    }

    /// Parses the targets after the `INTO` at position `at`, and returns the position after them.
    pub(super) fn read_into(
        &mut self,
        tokens: &[TokenWithSpan],
        at: usize,
    ) -> Result<(Vec<super::Datum>, bool, usize)> {
        let end = tokens.last().map_or(0, |token| self.source.offset(token.span.end));
        let inner = Cursor::new(self.source, tokens.to_vec(), end);
        let outer = std::mem::replace(&mut self.cursor, inner);
        self.cursor.rewind(at + 1);
        let is_strict = self.cursor.accept_word("STRICT");
        let targets = self.targets();
        let end = self.cursor.position();
        self.cursor = outer;
        Ok((targets?, is_strict, end))
    }

    /// Parses variables separated by commas.
    pub(super) fn targets(&mut self) -> Result<Vec<super::Datum>> {
        let mut targets = Vec::new();
        loop {
            let span = self.cursor.span();
            let (variable, field) = self.datum()?;
            self.check_assignable(variable, span)?;
            if self.cursor.peek() == Some(&Token::LBracket) {
                let error = self.syntax(span, "an array element is not allowed here");
                return Err(error.advise("use a variable, and assign the element afterwards"));
            }
            targets.push((variable, field));
            let is_row = matches!(self.datum_type(variable, field), SqlType::Record(_));
            let more = self.cursor.accept(&Token::Comma);
            if is_row && (more || targets.len() > 1) {
                return Err(self.syntax(span, "a record must be the only target of INTO"));
            }
            if !more {
                return Ok(targets);
            }
        }
    }

    /// The casts from a row of `fields` to the targets.
    pub(super) fn row_into(
        &mut self,
        targets: Vec<super::Datum>,
        is_strict: bool,
        fields: &[Field],
        place: Span,
    ) -> Result<Into> {
        if let [(variable, None)] = targets[..]
            && matches!(self.variables[variable].sql_type, SqlType::Record(_))
        {
            let row = self.row_of(variable, fields, place)?;
            return Ok(Into { is_strict, targets: vec![(Target::Variable(variable), row)] });
        }
        let mut converted = Vec::new();
        for (at, (variable, field)) in targets.into_iter().enumerate() {
            let wanted = self.datum_type(variable, field);
            let value = self.column_or_null(at, fields, &wanted, place)?;
            let target = match field {
                Some(field) => Target::Field { variable, field },
                None => Target::Variable(variable),
            };
            converted.push((target, value));
        }
        Ok(Into { is_strict, targets: converted })
    }

    fn column_or_null(
        &self,
        at: usize,
        fields: &[Field],
        wanted: &SqlType,
        place: Span,
    ) -> Result<Expr> {
        match fields.get(at) {
            Some(found) => self.converted_column(at, &found.sql_type, wanted, place),
            None => Ok(Expr::new(ExprKind::Null, wanted.clone())),
        }
    }

    /// A row of `fields`, converted for the record variable.
    fn row_of(&mut self, variable: usize, fields: &[Field], place: Span) -> Result<Expr> {
        if self.open_records.contains(&variable) {
            self.shape_record(variable, fields, place)?;
        }
        let sql_type = self.variables[variable].sql_type.clone();
        let SqlType::Record(wanted) = &sql_type else {
            return Err(self.type_error(place, "a record is wanted here"));
        };
        let values = wanted.iter().enumerate();
        let values =
            values.map(|(at, wanted)| self.column_or_null(at, fields, &wanted.sql_type, place));
        Ok(Expr::new(ExprKind::Row(values.collect::<Result<_>>()?), sql_type))
    }

    /// Resolves the statement that consists of `parts`, after `prefix`, and gives it a number.
    pub(crate) fn embedded_query(
        &mut self,
        parts: &[&[TokenWithSpan]],
        prefix: &str,
        place: Span,
    ) -> Result<Sql> {
        let mut tokens: Vec<TokenWithSpan> = Vec::new();
        if !prefix.is_empty() {
            tokens.push(TokenWithSpan {
                token: word(prefix),
                span: Span::new(place.start, place.start),
            });
        }
        tokens.extend(parts.iter().flat_map(|part| part.iter().cloned()));
        let current = self.take_current(&mut tokens)?;
        let mut statement = parse::statement(self.source, &tokens, place)?;
        let changed = self.take_changes(&mut statement, place)?;
        self.check_statement(&statement, place)?;
        // The resolver looks for OVERRIDING in the text of the whole statement.
        let whole = match (clause(&tokens), tokens.first(), tokens.last()) {
            (Some(_), Some(first), Some(last)) => Span::new(first.span.start, last.span.end),
            _ => place,
        };
        let (mut query, mut references, writes) =
            self.resolve_calls(whole, |resolver| resolver.query(&statement))?;
        self.check_other_tables(&query, &changed, place)?;
        references.retain(|one| !changed.variables.contains(&one.variable));
        if let Some(cursor) = current {
            self.at_current(cursor, &mut query, place)?;
        }
        self.check_reads(writes, reads_rows(&query), place)?;
        let changes = match &query {
            Query::Select(select) => select.lock.is_some(),
            Query::Insert(_) | Query::Update(_) | Query::Delete(_) => true,
        };
        self.inlining.writes += usize::from(changes);
        let number = self.embed(prefix, parts, &references)?;
        Ok(Sql { number, query })
    }

    fn check_statement(&self, statement: &Statement, place: Span) -> Result<()> {
        let known = matches!(
            statement,
            Statement::Query(_)
                | Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
        );
        if known {
            return Ok(());
        }
        let sentence = "SELECT, INSERT, UPDATE or DELETE is expected here";
        Err(self.cursor.error(place, ErrorKind::Outside, sentence))
    }

    /// `GET DIAGNOSTICS n = ROW_COUNT`
    pub(super) fn get_diagnostics(&mut self) -> Result<StatementKind> {
        self.cursor.expect_word("GET")?;
        let span = self.cursor.span();
        if self.cursor.accept_word("STACKED") {
            return match self.called {
                Some(_) => self.stacked_diagnostics(),
                None => Err(self.outside(
                    span,
                    "GET STACKED DIAGNOSTICS",
                    "leave it out, as the block with EXCEPTION",
                )),
            };
        }
        self.cursor.accept_word("CURRENT");
        self.cursor.expect_word("DIAGNOSTICS")?;
        let mut counts = Vec::new();
        loop {
            let (target, sql_type) = self.target()?;
            if !self.cursor.accept(&Token::Eq) && !self.cursor.accept(&Token::Assignment) {
                return Err(self.cursor.expected("`=`"));
            }
            let span = self.cursor.span();
            if !self.cursor.accept_word("ROW_COUNT") {
                if self.cursor.is_word("PG_CONTEXT") || self.cursor.is_word("PG_ROUTINE_OID") {
                    return Err(self.outside(span, "this item", "write ROW_COUNT"));
                }
                return Err(self.cursor.expected("`ROW_COUNT`"));
            }
            let value = self.converted_column(0, &SqlType::Int8, &sql_type, span)?;
            counts.push((target, value));
            if !self.cursor.accept(&Token::Comma) {
                break;
            }
        }
        self.semicolon()?;
        Ok(StatementKind::GetRowCount(counts))
    }
}

/// Position of an `INTO` outside all parentheses that does not follow INSERT.
fn into_position(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + has_word(&tokens[from..], "INTO")?;
        let inserts = at > 0 && token_is_word(&tokens[at - 1].token, "INSERT");
        if !inserts {
            return Some(at);
        }
        from = at + 1;
    }
}

fn word(text: &str) -> Token {
    Token::Word(Word {
        value: text.to_owned(),
        quote_style: None,
        keyword: sqlparser::keywords::Keyword::SELECT,
    })
}

//! Parses a column in `CREATE TABLE`, with its constraints.

use super::SchemaReader;
use super::draft::refusal;
use crate::catalog::{Catalog, Identity, TableColumn};
use crate::error::{ErrorKind, Result};
use crate::expression::{Expr, ExprKind};
use crate::function::Function;
use crate::namespace::own_name;
use crate::parse;
use crate::resolve::Resolver;
use crate::resolve::coerce::Context;
use crate::resolve::names::Names;
use crate::resolve::scope::Scope;
use crate::token::token_is_word;
use crate::types::SqlType;
use sqlparser::tokenizer::{Span, Token};

/// The kinds of columns that own a sequence, in the last argument of `nextval` in their defaults.
const SERIAL: &str = "serial";
pub const IDENTITY: &str = "identity";

/// First words of column constraints; a default ends before them.
const COLUMN_WORDS: [&str; 10] = [
    "NOT",
    "NULL",
    "DEFAULT",
    "PRIMARY",
    "UNIQUE",
    "REFERENCES",
    "CHECK",
    "CONSTRAINT",
    "GENERATED",
    "COLLATE",
];

impl SchemaReader<'_> {
    pub(super) fn column(&mut self, table: usize, late: &mut Vec<(usize, usize)>) -> Result<()> {
        let (name, place) = self.cursor.identifier("a column's name or a constraint")?;
        if self.drafts[table].column(&name).is_some() {
            let sentence = format!("the column `{name}` is declared twice");
            let message = format!("column \"{name}\" specified more than once");
            let error = self.cursor.error(place, ErrorKind::Name, sentence);
            return Err(error.in_postgres("42701", message));
        }
        let from = self.cursor.position();
        let errors_before = self.findings.count();
        let serial = self.serial();
        let sql_type = match &serial {
            Some(sql_type) => sql_type.clone(),
            None => self.column_type(table)?,
        };
        let span = self.cursor.span_from(from);
        if let Some((what, advice)) = refusal(&sql_type, self.is_session) {
            // A type that replaces a refused one was reported already.
            if self.findings.count() == errors_before {
                self.findings.add(self.cursor.outside(span, &what, advice));
            }
        } else if !sql_type.is_long() && sql_type.column_type().is_none() {
            let sentence = format!("a column cannot be {sql_type}");
            return Err(self.cursor.error(span, ErrorKind::Type, sentence));
        }
        let default =
            serial.map(|sql_type| self.next_value(table, &name, (&sql_type, SERIAL), span));
        let default = default.transpose()?;
        let nullable = default.is_none();
        let position = self.drafts[table].add_column(name, sql_type, nullable, default);
        self.column_constraints(table, position, late)
    }

    fn column_constraints(
        &mut self,
        table: usize,
        column: usize,
        late: &mut Vec<(usize, usize)>,
    ) -> Result<()> {
        let mut said = None;
        loop {
            let span = self.cursor.span();
            if self.cursor.accept_words(&["NOT", "NULL"]) {
                self.say_nullable(&mut said, false, span)?;
                self.drafts[table].columns[column].nullable = false;
            } else if self.cursor.accept_word("NULL") {
                self.say_nullable(&mut said, true, span)?;
            } else if self.cursor.accept_word("DEFAULT") {
                if self.default(table, column)? {
                    self.say_nullable(&mut said, true, span)?;
                }
            } else if self.is_session && self.cursor.accept_word("GENERATED") {
                self.identity(table, column, span)?;
            } else if self.cursor.is_word("GENERATED") {
                let advice = "let the procedures count in a column of a parent row";
                return Err(self.cursor.outside(span, "GENERATED", advice));
            } else if self.cursor.is_word("COLLATE") {
                let advice = "leave it out; texts are compared by their bytes";
                return Err(self.cursor.outside(span, "COLLATE", advice));
            } else if self.is_column_constraint() {
                let from = self.cursor.position();
                self.skip_column_constraint()?;
                late.push((from, self.cursor.position()));
            } else {
                return Ok(());
            }
        }
    }

    /// The type of a column that a session declares as `serial`.
    fn serial(&mut self) -> Option<SqlType> {
        let types = [
            (["smallserial", "serial2"], SqlType::Int2),
            (["serial", "serial4"], SqlType::Int4),
            (["bigserial", "serial8"], SqlType::Int8),
        ];
        let is_session = self.is_session;
        let found = types.into_iter().find(|(names, _)| {
            is_session && names.iter().any(|name| self.cursor.accept_word(&name.to_uppercase()))
        });
        found.map(|(_, sql_type)| sql_type)
    }

    /// The next value of a column's own sequence. It has one more argument than statements can
    /// write, the kind of the column: such columns own their sequence, and an identity column needs
    /// no privilege for it.
    fn next_value(
        &self,
        table: usize,
        column: &str,
        (sql_type, kind): (&SqlType, &str),
        span: Span,
    ) -> Result<Expr> {
        let text = |text: String| Expr::new(ExprKind::Text(text), SqlType::Text);
        let name = format!("{}_{column}_seq", self.drafts[table].name);
        let arguments = vec![text(name), text(kind.to_owned())];
        let kind = ExprKind::Function { function: Function::NextValue, arguments };
        let value = Expr::new(kind, SqlType::Int8);
        let (catalog, names) = (Catalog::default(), Names::default());
        let resolver = Resolver::new(self.source, &catalog, &names, &[], span);
        resolver.convert(value, sql_type, Context::Assignment, span)
    }

    /// `GENERATED ... AS IDENTITY`, behind its first word.
    pub(super) fn identity(&mut self, table: usize, column: usize, span: Span) -> Result<()> {
        let identity = self.identity_form()?;
        self.cursor.expect_word("AS")?;
        if !self.cursor.accept_word("IDENTITY") {
            let advice = "compute the value where the row is inserted";
            return Err(self.cursor.outside(span, "a generated column", advice));
        }
        if self.cursor.accept(&Token::LParen) {
            self.sequence_options(table, column, span)?;
        }
        let TableColumn { name, sql_type, .. } = self.drafts[table].columns[column].clone();
        let default = self.next_value(table, &name, (&sql_type, IDENTITY), span)?;
        let column = &mut self.drafts[table].columns[column];
        (column.default, column.nullable) = (Some(default), false);
        column.identity = Some(identity);
        Ok(())
    }

    /// The options of the sequence of an identity column, as dumps write them: the defaults.
    fn sequence_options(&mut self, table: usize, column: usize, span: Span) -> Result<()> {
        let name = self.drafts[table].columns[column].name.clone();
        let own = format!("{}_{name}_seq", self.drafts[table].name);
        while !self.cursor.accept(&Token::RParen) {
            let is_default = if self.cursor.accept_words(&["SEQUENCE", "NAME"]) {
                let mut given = self.cursor.identifier("the sequence's name")?.0;
                if self.cursor.accept(&Token::Period) {
                    given = self.cursor.identifier("the sequence's name")?.0;
                }
                given == own_name(&own)
            } else if self.cursor.accept_words(&["START", "WITH"])
                || self.cursor.accept_words(&["INCREMENT", "BY"])
                || self.cursor.accept_word("START")
                || self.cursor.accept_word("INCREMENT")
            {
                matches!(self.cursor.next(), Some(one) if one.token == Token::Number("1".into(), false))
            } else if self.cursor.accept_word("CACHE") {
                self.cursor.next().is_some()
            } else {
                self.cursor.accept_words(&["NO", "MINVALUE"])
                    || self.cursor.accept_words(&["NO", "MAXVALUE"])
                    || self.cursor.accept_words(&["NO", "CYCLE"])
            };
            if !is_default {
                let advice = "leave them out, and set the sequence by setval";
                return Err(self.cursor.outside(span, "options of a sequence", advice));
            }
        }
        Ok(())
    }

    /// `ALWAYS` or `BY DEFAULT`
    pub(super) fn identity_form(&mut self) -> Result<Identity> {
        if self.cursor.accept_word("ALWAYS") {
            return Ok(Identity::Always);
        }
        self.cursor.expect_word("BY")?;
        self.cursor.expect_word("DEFAULT")?;
        Ok(Identity::ByDefault)
    }

    fn say_nullable(&self, said: &mut Option<bool>, nullable: bool, span: Span) -> Result<()> {
        if said.replace(nullable).is_some_and(|before| before != nullable) {
            let sentence = "this column is declared both NULL and NOT NULL";
            return Err(self.cursor.error(span, ErrorKind::Syntax, sentence));
        }
        Ok(())
    }

    /// Whether the next tokens begin a constraint without a column list, which belongs to one
    /// column.
    fn is_column_constraint(&self) -> bool {
        let at = if self.cursor.is_word("CONSTRAINT") { 2 } else { 0 };
        ["PRIMARY", "UNIQUE", "REFERENCES", "CHECK"]
            .iter()
            .any(|word| self.cursor.is_word_at(at, word))
    }

    /// Skips to the next constraint of the column.
    fn skip_column_constraint(&mut self) -> Result<()> {
        if self.cursor.accept_word("CONSTRAINT") {
            self.cursor.identifier("the constraint's name")?;
        }
        self.cursor.next();
        self.cursor.accept_word("KEY");
        let stops = |token: &Token| {
            matches!(token, Token::Comma | Token::RParen | Token::SemiColon)
                || COLUMN_WORDS.iter().any(|word| token_is_word(token, word))
        };
        loop {
            self.cursor.take_until(stops)?;
            // In `ON DELETE SET NULL` and similar clauses, `NULL` and `DEFAULT` begin no
            // constraint.
            let sets = self.cursor.span_before();
            let before = self.source.slice(sets);
            if !(before.eq_ignore_ascii_case("set")
                && (self.cursor.accept_word("NULL") || self.cursor.accept_word("DEFAULT")))
            {
                return Ok(());
            }
        }
    }

    /// Parses a default; returns whether `NULL` follows it.
    pub(super) fn default(&mut self, table: usize, column: usize) -> Result<bool> {
        let span = self.cursor.span();
        let stops = |token: &Token| {
            let next = COLUMN_WORDS.iter().any(|word| token_is_word(token, word))
                && !token_is_word(token, "NULL");
            matches!(token, Token::Comma | Token::RParen | Token::SemiColon) || next
        };
        let tokens = if self.cursor.is_word("NULL") {
            self.cursor.next().into_iter().collect()
        } else {
            self.cursor.take_until(stops)?
        };
        let (tokens, is_null) = without_null(tokens);

        let node = parse::expression(self.source, &tokens, span)?;
        let sql_type = self.drafts[table].columns[column].sql_type.clone();
        let default = self.constant(&node, &sql_type, span)?;
        if self.drafts[table].columns[column].default.replace(default).is_some() {
            return Err(self.cursor.error(span, ErrorKind::Syntax, "this column has two defaults"));
        }
        Ok(is_null)
    }

    /// Resolves an expression without columns as a value of a column.
    fn constant(
        &self,
        node: &sqlparser::ast::Expr,
        sql_type: &SqlType,
        span: Span,
    ) -> Result<Expr> {
        let mut names = Names::default();
        names.is_session = self.is_session;
        let catalog = Catalog::default();
        let mut resolver = Resolver::new(self.source, &catalog, &names, &[], span);
        let value = resolver.expr(&Scope::default(), node)?;
        let has_query = value.has_subquery() || matches!(value.kind, ExprKind::Subquery { .. });
        if has_query {
            let sentence = "a default may not contain a sub-select";
            return Err(self.cursor.error(span, ErrorKind::Type, sentence));
        }
        resolver.convert(value, sql_type, Context::Assignment, span)
    }
}

/// `DEFAULT 0 NULL` is a default followed by the constraint `NULL`, which has no effect.
fn without_null(
    mut tokens: Vec<sqlparser::tokenizer::TokenWithSpan>,
) -> (Vec<sqlparser::tokenizer::TokenWithSpan>, bool) {
    let is_null = tokens.len() > 1
        && tokens.last().is_some_and(|token| token_is_word(&token.token, "NULL"))
        && !tokens.get(tokens.len() - 2).is_some_and(|token| token_is_word(&token.token, "IS"));
    if is_null {
        tokens.pop();
    }
    (tokens, is_null)
}

//! Parses a column in `CREATE TABLE`, with its constraints.

use super::SchemaReader;
use super::draft::refusal;
use crate::catalog::{Catalog, TableColumn};
use crate::error::{ErrorKind, Result};
use crate::expression::{Expr, ExprKind};
use crate::parse;
use crate::resolve::Resolver;
use crate::resolve::coerce::Context;
use crate::resolve::names::Names;
use crate::resolve::scope::Scope;
use crate::token::token_is_word;
use crate::types::SqlType;
use sqlparser::tokenizer::Token;

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
            return Err(self.cursor.error(place, ErrorKind::Name, sentence));
        }
        let from = self.cursor.position();
        let errors_before = self.findings.count();
        let sql_type = self.column_type(table)?;
        let span = self.cursor.span_from(from);
        if let Some((what, advice)) = refusal(&sql_type) {
            // A type that replaces a refused one was reported already.
            if self.findings.count() == errors_before {
                self.findings.add(self.cursor.outside(span, &what, advice));
            }
        } else if sql_type.column_type().is_none() {
            let sentence = format!("a column cannot be {sql_type}");
            return Err(self.cursor.error(span, ErrorKind::Type, sentence));
        }
        let column = TableColumn { name, sql_type, nullable: true, default: None };
        self.drafts[table].columns.push(column);
        let position = self.drafts[table].columns.len() - 1;
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

    fn say_nullable(
        &self,
        said: &mut Option<bool>,
        nullable: bool,
        span: sqlparser::tokenizer::Span,
    ) -> Result<()> {
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
            matches!(token, Token::Comma | Token::RParen)
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
    fn default(&mut self, table: usize, column: usize) -> Result<bool> {
        let span = self.cursor.span();
        let stops = |token: &Token| {
            let next = COLUMN_WORDS.iter().any(|word| token_is_word(token, word))
                && !token_is_word(token, "NULL");
            matches!(token, Token::Comma | Token::RParen) || next
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
        span: sqlparser::tokenizer::Span,
    ) -> Result<Expr> {
        let (catalog, names) = (Catalog::default(), Names::default());
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

//! Error recovery in a schema: parsing continues after an error, so that one run finds all errors.

use super::SchemaReader;
use super::refused::MODIFIERS;
use crate::error::{Error, Result};
use crate::keyword::misspelt;
use crate::near::near;
use crate::reserved::is_reserved;
use crate::token::{name_of, token_is_word};
use crate::type_name::{TYPES, parse_type};
use crate::types::{Numeric, SqlType};
use sqlparser::tokenizer::{Token, TokenWithSpan};

impl SchemaReader<'_> {
    /// Reports an error of the statement at `from`, and skips to the next statement.
    pub(super) fn skip_statement(&mut self, from: usize, error: Error) {
        self.cursor.rewind(from);
        while self.cursor.next().is_some_and(|token| token.token != Token::SemiColon) {}
        let tokens = self.cursor.slice(from, self.cursor.position()).to_vec();
        self.findings.report(error, &tokens);
        for name in changed(&tokens) {
            self.findings.mark_damaged(&name);
        }
    }

    /// Reports an error of the part of `CREATE TABLE` at `from`, and skips to the comma or
    /// parenthesis after it.
    pub(super) fn skip_part(&mut self, from: usize, error: Error) -> Result<()> {
        self.cursor.rewind(from);
        if self.skip_element().is_err() {
            // With unbalanced parentheses, the start of the next part is unknown.
            return Err(error);
        }
        let tokens = self.cursor.slice(from, self.cursor.position()).to_vec();
        let has_end = tokens.iter().any(|token| token.token == Token::SemiColon);
        if has_end || self.cursor.is_at_end() {
            return Err(error);
        }
        self.findings.report(error, &tokens);
        self.cursor.rewind(from);
        let is_constraint = self.is_constraint();
        self.cursor.rewind(from + tokens.len());
        let draft = self.drafts.last().expect("a table is being read");
        let is_known = match tokens.first().map(|token| &token.token) {
            Some(Token::Word(word)) => draft.column(&name_of(word)).is_some(),
            _ => false,
        };
        if !is_constraint && !is_known {
            self.findings.mark_damaged(&draft.name);
        }
        Ok(())
    }

    /// Reports an error of the constraint at `from`. If it is a key, other statements about the
    /// table may have errors as a consequence.
    pub(super) fn skip_constraint(&mut self, table: usize, from: usize, to: usize, error: Error) {
        let tokens = self.cursor.slice(from, to).to_vec();
        let is_key = |token: &TokenWithSpan| {
            ["PRIMARY", "UNIQUE"].iter().any(|word| token_is_word(&token.token, word))
        };
        self.findings.report(error, &tokens);
        if tokens.iter().any(is_key) {
            self.findings.mark_damaged(&self.drafts[table].name);
        }
    }

    /// Parses a column's type. A refused type is reported and replaced by the most similar
    /// supported type.
    pub(super) fn column_type(&mut self, table: usize) -> Result<SqlType> {
        let from = self.cursor.position();
        let error = match parse_type(&mut self.cursor) {
            Ok(sql_type) => return Ok(sql_type),
            Err(error) => error,
        };
        self.cursor.rewind(from);
        let Some(Token::Word(word)) = self.cursor.next().map(|token| token.token) else {
            self.cursor.rewind(from);
            return Err(error);
        };
        let tokens = self.cursor.slice(from, from + 1).to_vec();
        self.findings.report(error, &tokens);
        self.skip_rest_of_type()?;
        Ok(stand_in(&name_of(&word)).unwrap_or_else(|| {
            self.findings.mark_damaged(&self.drafts[table].name);
            SqlType::Text
        }))
    }

    /// Skips the numbers, words and brackets that follow the name of a type.
    fn skip_rest_of_type(&mut self) -> Result<()> {
        for word in ["PRECISION", "VARYING"] {
            self.cursor.accept_word(word);
        }
        if self.cursor.accept(&Token::LParen) {
            self.cursor.take_until(|token| *token == Token::RParen)?;
            self.cursor.expect(&Token::RParen)?;
        }
        if !self.cursor.accept_words(&["WITH", "TIME", "ZONE"]) {
            self.cursor.accept_words(&["WITHOUT", "TIME", "ZONE"]);
        }
        while self.cursor.accept(&Token::LBracket) {
            self.cursor.take_until(|token| *token == Token::RBracket)?;
            self.cursor.expect(&Token::RBracket)?;
        }
        Ok(())
    }
}

/// The supported type that is most similar to an unsupported or misspelled one.
fn stand_in(name: &str) -> Option<SqlType> {
    Some(match name {
        "serial" | "bigserial" | "smallserial" | "serial4" | "serial8" | "serial2" | "oid" => {
            SqlType::Int8
        }
        "float" => SqlType::Float8,
        "money" | "numeric" | "decimal" | "dec" => SqlType::Numeric(Numeric::Open),
        "xml" | "inet" | "name" | "bit" | "char" | "varchar" => SqlType::Text,
        "timetz" => SqlType::Time(None),
        "timestamp" => SqlType::Timestamp(None),
        misspelt => match near(misspelt, TYPES)? {
            "bigint" => SqlType::Int8,
            "boolean" => SqlType::Bool,
            "bytea" => SqlType::Bytes,
            "date" => SqlType::Date,
            "decimal" | "numeric" => SqlType::Numeric(Numeric::Open),
            "double" => SqlType::Float8,
            "integer" => SqlType::Int4,
            "interval" => SqlType::Interval,
            "json" => SqlType::Json,
            "jsonb" => SqlType::Jsonb,
            "real" => SqlType::Float4,
            "smallint" => SqlType::Int2,
            "time" => SqlType::Time(None),
            "timestamp" => SqlType::Timestamp(None),
            "timestamptz" => SqlType::TimestampTz(None),
            "uuid" => SqlType::Uuid,
            _ => SqlType::Text,
        },
    })
}

/// The names that a statement creates, and the tables whose keys it changes.
fn changed(tokens: &[TokenWithSpan]) -> Vec<String> {
    let word = |at: usize| match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) => Some(word),
        _ => None,
    };
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|t| token_is_word(&t.token, text));
    let begins = is(0, "CREATE") || is(0, "ALTER");
    if !begins && tokens.first().is_none_or(|token| misspelt(&token.token).is_none()) {
        return Vec::new();
    }
    let mut at = 1;
    while MODIFIERS.iter().any(|modifier| is(at, modifier)) {
        at += 1;
    }
    at += 1;
    while ["IF", "NOT", "EXISTS", "ONLY", "PUBLIC"].iter().any(|word| is(at, word))
        || tokens.get(at).is_some_and(|token| token.token == Token::Period)
    {
        at += 1;
    }
    // `CREATE UNIQUE INDEX` adds a key to the table after `ON`.
    let on = (at..tokens.len()).find(|&at| is(at, "ON")).filter(|_| is(1, "UNIQUE"));
    let named = [Some(at), on.map(|on| on + 1)].into_iter().flatten();
    let names = named.filter_map(word).map(name_of);
    names.filter(|name| !is_reserved(name)).collect()
}

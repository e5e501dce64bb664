//! Error recovery in a body: parsing continues after an error, so that one run finds all errors.

use super::Compiler;
use crate::error::{Error, ErrorKind, Result};
use crate::expression::{Expr, ExprKind};
use crate::procedure::{Formula, StatementKind};
use crate::reserved::is_reserved;
use crate::token::{name_of, token_is_word};
use crate::types::SqlType;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Words that begin statements with inner statements, which are parsed separately.
const COMPOUND: [&str; 8] = ["IF", "CASE", "LOOP", "WHILE", "FOR", "FOREACH", "DECLARE", "BEGIN"];
/// Words that begin statements after which no statement may follow.
const LEAVING: [&str; 4] = ["RETURN", "RAISE", "EXIT", "CONTINUE"];

impl Compiler<'_> {
    /// Reports an error in `tokens`, unless it may be a consequence of another one.
    pub(crate) fn report(&mut self, error: Error, tokens: &[TokenWithSpan]) {
        let is_lost = |token: &TokenWithSpan| match &token.token {
            Token::Word(word) => self.lost.contains(&name_of(word)),
            _ => false,
        };
        if error.kind == ErrorKind::Syntax || !tokens.iter().any(is_lost) {
            self.findings.report(error, tokens);
        }
    }

    /// Reports an error in the structure of a body. After a syntax error it may be a consequence,
    /// so it is dropped.
    pub(crate) fn report_body(&mut self, error: Error, errors_before: usize) {
        if !self.findings.has_syntax_error_from(errors_before) {
            self.findings.add(error);
        }
    }

    /// Reports an error of the statement at `from`, and skips the statement.
    ///
    /// # Errors
    ///
    /// The error itself, if the end of the statement is unknown.
    pub(super) fn skip_statement(&mut self, from: usize, error: Error) -> Result<StatementKind> {
        self.cursor.rewind(from);
        let is_word = |words: &[&str]| words.iter().any(|word| self.cursor.is_word(word));
        let is_compound = is_word(&COMPOUND) || self.cursor.peek() == Some(&Token::ShiftLeft);
        let leaves = is_word(&LEAVING);
        if is_compound || !self.skip_to(|token| *token == Token::SemiColon) {
            return Err(error);
        }
        let tokens = self.cursor.slice(from, self.cursor.position()).to_vec();
        self.report(error, &tokens);
        self.lose_records(&tokens);
        Ok(if leaves { StatementKind::Return(None) } else { StatementKind::Nothing })
    }

    /// Reports an error of the condition or head at `from`, and skips to after the `word` that ends
    /// it.
    ///
    /// # Errors
    ///
    /// The error itself, if `word` does not follow.
    pub(super) fn skip_head(&mut self, from: usize, word: &str, error: Error) -> Result<()> {
        self.cursor.rewind(from);
        let ends = |token: &Token| *token == Token::SemiColon || token_is_word(token, word);
        let is_found = self.skip_to(ends);
        let tokens = self.cursor.slice(from, self.cursor.position()).to_vec();
        let is_head = tokens.last().is_some_and(|last| token_is_word(&last.token, word));
        if !is_found || !is_head {
            return Err(error);
        }
        self.report(error, &tokens);
        let targets = tokens.iter().skip(1).take_while(|t| !token_is_word(&t.token, "IN"));
        if token_is_word(&tokens[0].token, "FOR") {
            self.lost.extend(targets.filter_map(|token| name(&token.token)));
        }
        Ok(())
    }

    /// Reports an error of the declaration at `from`, and skips the declaration.
    ///
    /// # Errors
    ///
    /// The error itself, if the end of the declaration is unknown.
    pub(super) fn skip_declaration(&mut self, from: usize, error: Error) -> Result<()> {
        self.cursor.rewind(from);
        let declared = self.cursor.peek().and_then(name);
        if !self.skip_to(|token| *token == Token::SemiColon) {
            return Err(error);
        }
        let tokens = self.cursor.slice(from, self.cursor.position()).to_vec();
        self.report(error, &tokens);
        self.lost.extend(declared);
        Ok(())
    }

    /// The condition before `THEN`, or, after reporting its error, any boolean.
    pub(super) fn or_any_boolean(&mut self, from: usize, read: Result<Formula>) -> Result<Formula> {
        match read {
            Ok(condition) => Ok(condition),
            Err(error) => {
                self.skip_head(from, "THEN", error)?;
                Ok(Formula { expr: Expr::new(ExprKind::Null, SqlType::Bool), number: None })
            }
        }
    }

    /// Takes tokens up to and including the first one for which `ends` holds; whether there is one.
    fn skip_to(&mut self, ends: impl Fn(&Token) -> bool) -> bool {
        while let Some(token) = self.cursor.next() {
            if ends(&token.token) {
                return true;
            }
        }
        false
    }

    /// Marks the columns of the records that a statement with an error assigns as unknown.
    fn lose_records(&mut self, tokens: &[TokenWithSpan]) {
        // Without INTO, the targets are at the beginning of the assignment.
        let into = tokens.iter().rposition(|token| token_is_word(&token.token, "INTO"));
        let targets = tokens[into.map_or(0, |into| into + 1)..].iter().map_while(|token| {
            match &token.token {
                Token::Comma => Some(None),
                token => {
                    name(token).filter(|name| !is_reserved(name) || name == "strict").map(Some)
                }
            }
        });
        let is_open = |name: &String| {
            let variable = self.names.find(name);
            variable.is_some_and(|variable| self.open_records.contains(&variable))
        };
        let records: Vec<String> = targets.flatten().filter(is_open).collect();
        self.lost.extend(records);
    }
}

fn name(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) => Some(name_of(word)),
        _ => None,
    }
}

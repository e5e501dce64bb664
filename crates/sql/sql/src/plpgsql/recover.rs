//! Going on behind an error in a body, so that the next one is found in the same run.

use super::Compiler;
use crate::error::{Error, ErrorKind, Result};
use crate::expression::{Expr, ExprKind};
use crate::procedure::{Formula, StatementKind};
use crate::reserved::is_reserved;
use crate::token::{name_of, token_is_word};
use crate::types::SqlType;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Words of statements that have others inside, where those have been read by themselves.
const COMPOUND: [&str; 8] = ["IF", "CASE", "LOOP", "WHILE", "FOR", "FOREACH", "DECLARE", "BEGIN"];
/// Words of statements behind which nothing may be done.
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

    /// Reports an error of the structure of a body. Behind a part that is misspelt, there may be none.
    pub(crate) fn report_body(&mut self, error: Error, errors_before: usize) {
        if !self.findings.has_syntax_error_from(errors_before) {
            self.findings.add(error);
        }
    }

    /// Reports an error of the statement at `from`, and goes behind it.
    ///
    /// # Errors
    ///
    /// The error itself, if it is not known where the statement ends.
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

    /// Reports an error of the condition or head at `from`, and goes behind the `word` that ends it.
    ///
    /// # Errors
    ///
    /// The error itself, if there is no such word.
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

    /// Reports an error of the declaration at `from`, and goes behind it.
    ///
    /// # Errors
    ///
    /// The error itself, if it is not known where the declaration ends.
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

    /// A condition before `THEN`, or any truth value if it is wrong, which is reported.
    pub(super) fn or_any_truth(&mut self, from: usize, read: Result<Formula>) -> Result<Formula> {
        match read {
            Ok(condition) => Ok(condition),
            Err(error) => {
                self.skip_head(from, "THEN", error)?;
                Ok(Formula { expr: Expr::new(ExprKind::Null, SqlType::Bool), number: None })
            }
        }
    }

    /// Takes tokens up to one for which `ends` holds, and that one; whether there is one.
    fn skip_to(&mut self, ends: impl Fn(&Token) -> bool) -> bool {
        while let Some(token) = self.cursor.next() {
            if ends(&token.token) {
                return true;
            }
        }
        false
    }

    /// Notes records that a statement assigns which is wrong: which columns they have is not known.
    fn lose_records(&mut self, tokens: &[TokenWithSpan]) {
        // Without INTO, what an assignment begins with.
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

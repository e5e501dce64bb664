//! Parses SQL statements and expressions by `sqlparser`; errors have their position.
//!
//! Decision: docs/decisions/0155-queries-by-sqlparser-everything-around-them-by-our-own.md

use crate::blame::blamed;
use crate::conflict;
use crate::depth::check_depth;
use crate::dumped::without_effect;
use crate::error::{Error, ErrorKind, Result};
use crate::keyword::{keyword_meant, keyword_meant_by, misspelt};
use crate::lenient::refuse_lenient;
use crate::lock_words::key_words;
use crate::overriding::clause;
use crate::source::Source;
use crate::spelling::respelt;
use crate::token::token_is_word;
use sqlparser::ast::{Expr, Statement};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan};
use std::borrow::Cow;

/// Maximum nesting depth that the parser follows.
const PARSER_DEPTH: usize = 24;

/// Words that continue a query where an expression of PL/pgSQL must end.
const QUERY_WORDS: [&str; 8] =
    ["FROM", "WHERE", "GROUP", "ORDER", "LIMIT", "OFFSET", "UNION", "FOR"];

/// Parses one statement from all `tokens`; `place` is their position.
pub(crate) fn statement(
    source: &Source,
    tokens: &[TokenWithSpan],
    place: Span,
) -> Result<Statement> {
    let mut kept = Cow::Borrowed(tokens);
    if let Some(at) = clause(tokens) {
        kept.to_mut().drain(at..at + 3);
    }
    adapt(&mut kept);
    if let Some(named) = conflict::without_expressions(&kept) {
        kept = Cow::Owned(named);
    }
    let tokens = &*kept;
    check_depth(source, tokens)?;
    refuse_lenient(source, tokens)?;
    let mut parser = parser(tokens);
    let parsed = parser.parse_statement().map_err(|error| located(source, &error, place));
    let parsed = parsed.and_then(|statement| {
        expect_end(source, tokens, &parser, place)?;
        Ok(statement)
    });
    parsed.map_err(|error| match refused_clause(source, tokens) {
        Some(refused) => refused,
        None => blamed(source, tokens, error),
    })
}

/// The error of `SEARCH` and `CYCLE` behind a query of `WITH RECURSIVE`, which the parser does not
/// know.
fn refused_clause(source: &Source, tokens: &[TokenWithSpan]) -> Option<Error> {
    let is_word = |token: Option<&TokenWithSpan>, word| {
        token.is_some_and(|token| token_is_word(&token.token, word))
    };
    if !is_word(tokens.get(1), "RECURSIVE") {
        return None;
    }
    let at = tokens.windows(2).position(|pair| {
        let begins = is_word(pair.get(1), "SEARCH") || is_word(pair.get(1), "CYCLE");
        pair[0].token == Token::RParen && begins
    })?;
    let sentence = "SEARCH and CYCLE of WITH RECURSIVE are outside the supported SQL";
    let error = Error::at(source, tokens[at + 1].span, ErrorKind::Outside, sentence);
    let advice = "add a column with the array of the keys so far, order by it, and write WHERE key <> ALL (array)";
    Some(error.advise(advice))
}

/// Parses one expression from all `tokens`; `place` is their position.
pub(crate) fn expression(source: &Source, tokens: &[TokenWithSpan], place: Span) -> Result<Expr> {
    if tokens.is_empty() {
        return Err(Error::at(source, place, ErrorKind::Syntax, "an expression is missing here"));
    }
    let mut kept = Cow::Borrowed(tokens);
    adapt(&mut kept);
    let tokens = &*kept;
    check_depth(source, tokens)?;
    refuse_lenient(source, tokens)?;
    let mut parser = parser(tokens);
    let expression = parser.parse_expr().map_err(|error| located(source, &error, place))?;
    let next = parser.peek_token();
    if QUERY_WORDS.iter().any(|word| token_is_word(&next.token, word)) {
        let sentence = "a query without SELECT is outside the supported SQL";
        let error = Error::at(source, next.span, ErrorKind::Outside, sentence);
        return Err(error.advise("write (SELECT ...) in parentheses"));
    }
    expect_end(source, tokens, &parser, place)?;
    Ok(expression)
}

/// Brings the tokens into the form that the parser knows.
fn adapt(tokens: &mut Cow<'_, [TokenWithSpan]>) {
    if let Some(respelt) = respelt(tokens) {
        *tokens = Cow::Owned(respelt);
    }
    for find in [without_effect, key_words] {
        for at in find(tokens).into_iter().rev() {
            tokens.to_mut().remove(at);
        }
    }
}

fn parser(tokens: &[TokenWithSpan]) -> Parser<'static> {
    Parser::new(&PostgreSqlDialect {})
        .with_recursion_limit(PARSER_DEPTH)
        .with_tokens_with_locations(tokens.to_vec())
}

fn expect_end(
    source: &Source,
    tokens: &[TokenWithSpan],
    parser: &Parser<'_>,
    place: Span,
) -> Result<()> {
    let next = parser.peek_token();
    if next.token == Token::EOF {
        return Ok(());
    }
    let span = if next.span.start.line == 0 { place } else { next.span };
    let error = Error::at(source, span, ErrorKind::Syntax, "this does not continue the statement");
    let meant = keyword_meant(Some(&next.token));
    if !meant.is_empty() {
        return Err(error.advise(meant));
    }
    // The parser takes a misspelled keyword after a table or column for its alias.
    let at = tokens.iter().position(|token| token.span == next.span);
    let before = at.and_then(|at| tokens.get(at.checked_sub(1)?));
    let meant = before.and_then(|token| Some((source.slice(token.span), misspelt(&token.token)?)));
    Err(error.advise(meant.map_or(String::new(), |(written, word)| {
        format!("is `{word}` meant by `{written}` before it?")
    })))
}

/// Reads the position from the parser's message.
fn located(source: &Source, error: &ParserError, place: Span) -> Error {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        ParserError::RecursionLimitExceeded => {
            let sentence = "this is nested too deeply";
            let error = Error::at(source, place, ErrorKind::Outside, sentence);
            return error.advise("compute a part of it into a variable first");
        }
    };
    let (sentence, at) = match message.split_once(" at Line: ") {
        Some((sentence, place)) => (sentence, location(place)),
        None => (&**message, None),
    };
    let sentence = sentence.replace("Expected: ", "expected is ").replace(", found: ", ", found ");
    let span = match at {
        Some(start) => Span::new(start, word_end(source, start)),
        None => place,
    };
    let meant = if at.is_some() { keyword_meant_by(source.slice(span)) } else { String::new() };
    Error::at(source, span, ErrorKind::Syntax, sentence).advise(meant)
}

/// `3, Column: 14`
fn location(text: &str) -> Option<Location> {
    let (line, column) = text.split_once(", Column: ")?;
    Some(Location::new(line.trim().parse().ok()?, column.trim().parse().ok()?))
}

/// End of the word or operator that begins at `start`.
fn word_end(source: &Source, start: Location) -> Location {
    let from = source.offset(start);
    let rest = source.text().get(from..).unwrap_or("");
    let word = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').count().max(1);
    Location::new(start.line, start.column + word as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::tokenize;

    fn problem(text: &str) -> String {
        let source = Source::new("f", text);
        let tokens = tokenize(&source, 0, text).expect("it has tokens");
        let place = Span::new(Location::new(1, 1), source.location(text.len()));
        let error = statement(&source, &tokens, place).expect_err("it is wrong");
        format!("{error}")
    }

    #[test]
    fn errors_know_their_place() {
        assert_eq!(problem("SELECT a\nFROM 5"), "f:2:6: at `5`: expected is identifier, found 5");
        assert_eq!(
            problem("DELETE FROM t SELECT"),
            "f:1:15: at `SELECT`: this does not continue the statement"
        );
        assert!(problem("SELECT (1").starts_with("f:1:10: expected is )"));
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = format!("SELECT {}1{}", "(".repeat(900), ")".repeat(900));
        assert!(problem(&deep).contains("may nest at most"));
        let selects = format!("{}1{}", "SELECT (".repeat(45), ")".repeat(45));
        assert!(problem(&selects).contains("nested too deeply"));
    }
}

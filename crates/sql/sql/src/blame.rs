//! The token that PostgreSQL blames for a syntax error.
//!
//! PostgreSQL's grammar stops at the first token that continues no statement. `sqlparser` takes
//! reserved words for names, looks further ahead in some places, and less far in others; the rules
//! here find the same token.
//!
//! Decision: docs/decisions/0346-syntax-errors-blame-the-token-of-postgresql.md

use crate::error::{Error, ErrorKind};
use crate::reserved::is_reserved;
use crate::source::Source;
use crate::token::token_is_word;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

/// Reserved words that are values, or begin or end one.
const VALUES: [&str; 17] = [
    "all",
    "any",
    "array",
    "case",
    "current_catalog",
    "current_date",
    "current_role",
    "current_timestamp",
    "current_user",
    "default",
    "end",
    "false",
    "localtimestamp",
    "null",
    "session_user",
    "true",
    "user",
];
/// Words behind which a value or a name must follow.
const BEFORE_VALUES: [&str; 17] = [
    "AND", "BY", "DISTINCT", "ELSE", "FROM", "HAVING", "INTO", "LIMIT", "NOT", "OFFSET", "ON",
    "OR", "SELECT", "SET", "THEN", "WHEN", "WHERE",
];
/// Words that end an unfinished `CASE`.
const CLAUSES: [&str; 7] = ["FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "UNION"];
const SIDES: [&str; 5] = ["LEFT", "RIGHT", "FULL", "INNER", "CROSS"];

/// Moves a syntax error of the parser to the token that PostgreSQL blames. A wanting end has no
/// piece.
pub(crate) fn blamed(source: &Source, tokens: &[TokenWithSpan], mut error: Error) -> Error {
    let is_ours = error.kind == ErrorKind::Syntax && error.postgres.is_none();
    if !is_ours || tokens.is_empty() {
        return error;
    }
    let at = if error.sentence.ends_with("found EOF") {
        tokens.len()
    } else {
        let is_it = |token: &TokenWithSpan| {
            token.span.start.line == u64::from(error.line)
                && token.span.start.column == u64::from(error.column)
        };
        tokens.iter().position(is_it).unwrap_or(0)
    };
    let at = token(tokens, at);
    let place = match tokens.get(at) {
        Some(token) => token.span.start,
        None => tokens[tokens.len() - 1].span.end,
    };
    let Location { line, column } = place;
    (error.line, error.column) = (line as u32, column as u32);
    error.piece = tokens.get(at).map_or(String::new(), |token| source.piece(token.span));
    error
}

/// The token to blame if the parser stopped at `at`; the number of tokens stands for the end.
fn token(tokens: &[TokenWithSpan], at: usize) -> usize {
    let is = |at: usize, word: &str| {
        tokens.get(at).is_some_and(|token| token_is_word(&token.token, word))
    };
    let is_any = |at: usize, words: &[&str]| words.iter().any(|word| is(at, word));
    // A join whose parts are wrong is reported at the beginning.
    let side = |&at: &usize| is_any(at, &SIDES) && !is_any(at + 1, &["JOIN", "OUTER"]);
    if at == 0
        && let Some(side) = (1..tokens.len()).find(side)
        && !matches!(tokens.get(side + 1).map(|one| &one.token), Some(Token::LParen))
    {
        return side + 1;
    }
    if is_any(at, &["GROUP", "ORDER"]) && !is(at + 1, "BY") {
        return at + 1;
    }
    let Some(before) = at.checked_sub(1) else { return at };
    if is(before, "WHEN") {
        let ends = |&at: &usize| is_any(at, &CLAUSES) || is(at, "END");
        let end = (at..tokens.len()).find(ends).unwrap_or(tokens.len());
        if !is(end, "END") {
            return end;
        }
    }
    let needs_value = before.checked_sub(1).is_none_or(|two| is_before_value(&tokens[two].token));
    if needs_value && is_no_value(&tokens[before].token) {
        return before;
    }
    // `SELECT * name`: a star has no alias.
    let star = before.checked_sub(1).filter(|&two| tokens[two].token == Token::Mul);
    let is_list = |at: usize| is(at, "SELECT") || tokens[at].token == Token::Comma;
    if star.and_then(|star| star.checked_sub(1)).is_some_and(is_list)
        && matches!(tokens[before].token, Token::Word(_))
        && !is_no_value(&tokens[before].token)
    {
        return before;
    }
    at
}

/// Whether a value must follow.
fn is_before_value(token: &Token) -> bool {
    match token {
        Token::Word(_) => BEFORE_VALUES.iter().any(|word| token_is_word(token, word)),
        Token::Comma | Token::LParen | Token::Eq | Token::Plus | Token::Minus => true,
        Token::Lt | Token::Gt | Token::LtEq | Token::GtEq | Token::Neq | Token::Div => true,
        _ => false,
    }
}

/// Whether a reserved word can begin no value.
fn is_no_value(token: &Token) -> bool {
    let Token::Word(word) = token else { return false };
    let lower = word.value.to_lowercase();
    word.quote_style.is_none()
        && is_reserved(&lower)
        && !VALUES.contains(&&*lower)
        && !["not", "select", "distinct"].contains(&&*lower)
}

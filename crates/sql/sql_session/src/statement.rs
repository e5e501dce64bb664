//! Splits the text of a simple query into statements.

use crate::error::SqlError;
use crate::lexer::{Kind, Token, characters, tokens};
use std::borrow::Cow;

/// A statement in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatementText<'t> {
    /// Without the semicolon, and without blanks and comments around it.
    pub text: &'t str,
    /// Characters of the whole text before it; error positions of the statement grow by this.
    pub characters_before: u32,
    /// The character of the whole text at which its semicolon is, from 1; `None` without one.
    pub semicolon: Option<u32>,
}

impl StatementText<'_> {
    /// An error of the statement, as one of the whole text.
    pub fn placed(semicolon: Option<u32>, characters_before: u32, mut error: SqlError) -> SqlError {
        error.position = error.position.map(|position| position + characters_before);
        if error.message == "syntax error at end of input"
            && let Some(semicolon) = semicolon
        {
            "syntax error at or near \";\"".clone_into(&mut error.message);
            error.position = Some(semicolon);
        }
        error
    }
}

/// Splits a text at the semicolons between its statements. Semicolons in quotes, comments, dollar
/// quotes and parentheses, and those of a function's `BEGIN ATOMIC ... END`, do not count. Empty
/// statements are left out.
///
/// # Errors
/// A quote or comment has no end.
pub fn statements(text: &str) -> Result<Vec<StatementText<'_>>, SqlError> {
    let tokens = tokens(text)?;
    let mut found = Vec::new();
    let mut from = 0;
    let (mut parentheses, mut blocks) = (0_u32, 0_u32);
    for (at, token) in tokens.iter().enumerate() {
        let begins_block = match at.checked_sub(1) {
            Some(before) => token.is_word("ATOMIC") && tokens[before].is_word("BEGIN"),
            None => false,
        };
        match token.kind {
            Kind::Sign('(') => parentheses += 1,
            Kind::Sign(')') => parentheses = parentheses.saturating_sub(1),
            Kind::Word if begins_block => blocks += 1,
            Kind::Word if blocks > 0 && token.is_word("CASE") => blocks += 1,
            Kind::Word if token.is_word("END") => blocks = blocks.saturating_sub(1),
            Kind::Sign(';') if parentheses == 0 && blocks == 0 => {
                found.extend(statement(text, &tokens[from..at], Some(token.at)));
                from = at + 1;
            }
            _ => {}
        }
    }
    found.extend(statement(text, &tokens[from..], None));
    Ok(found)
}

/// A text for a log: without the passwords in its commands.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    let contains = |word: &str| {
        text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    };
    if !contains("password") {
        return Cow::Borrowed(text);
    }
    let Ok(tokens) = tokens(text) else { return Cow::Borrowed("(a statement with an open quote)") };
    let (mut shown, mut from) = (String::new(), 0);
    for pair in tokens.windows(2) {
        if pair[0].is_word("PASSWORD") && pair[1].kind == Kind::Text {
            shown += &text[from..pair[1].at];
            shown += "'...'";
            from = pair[1].end();
        }
    }
    Cow::Owned(shown + &text[from..])
}

fn statement<'t>(
    text: &'t str,
    tokens: &[Token<'_>],
    semicolon: Option<usize>,
) -> Option<StatementText<'t>> {
    let (first, last) = (tokens.first()?, tokens.last()?);
    let characters_before = characters(text, first.at);
    let semicolon = semicolon.map(|at| characters(text, at) + 1);
    Some(StatementText { text: &text[first.at..last.end()], characters_before, semicolon })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        let found = statements(text).expect("it has statements");
        found.into_iter().map(|statement| statement.text).collect()
    }

    #[test]
    fn statements_end_at_semicolons() {
        assert_eq!(split("SELECT 1; -- a;b\n ;SELECT ';' ;"), ["SELECT 1", "SELECT ';'"]);
        assert_eq!(split(" ; /* a */ "), [""; 0]);
        let function =
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END";
        assert_eq!(split(&format!("{function};SELECT 2")), [function, "SELECT 2"]);
        assert_eq!(split("DO $$ a;b $$;x"), ["DO $$ a;b $$", "x"]);
        assert_eq!(split("BEGIN; SELECT 1; END"), ["BEGIN", "SELECT 1", "END"]);
    }

    #[test]
    fn logs_have_no_passwords() {
        let text =
            "CREATE ROLE a LOGIN PaSSword E'it''s'; ALTER USER b ENCRYPTED PASSWORD $$x$$ LOGIN";
        let shown =
            "CREATE ROLE a LOGIN PaSSword '...'; ALTER USER b ENCRYPTED PASSWORD '...' LOGIN";
        assert_eq!(without_passwords(text), shown);
        assert_eq!(without_passwords("SELECT 'x' AS password"), "SELECT 'x' AS password");
        assert_eq!(
            without_passwords("ALTER ROLE a PASSWORD 'x"),
            "(a statement with an open quote)"
        );
    }

    #[test]
    fn places_count_characters() {
        let found = statements("\u{e4}; b").expect("it has statements");
        assert_eq!(found[1].characters_before, 3);
    }
}

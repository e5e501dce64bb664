//! Refuses syntax of other databases that `sqlparser` accepts and leaves no trace of in its trees.
//!
//! Decision: docs/decisions/0155-queries-by-sqlparser-everything-around-them-by-our-own.md

use crate::error::{Error, ErrorKind, Result};
use crate::reserved::is_reserved;
use crate::source::Source;
use crate::token::token_is_word;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// Reserved words that are values or end a value.
const VALUES: [&str; 4] = ["NULL", "TRUE", "FALSE", "END"];

/// Refuses a star in parentheses that is not an argument, `NOT NULL` after a value, and `INSERT`
/// and `DELETE` without the word that follows them.
pub(crate) fn refuse_lenient(source: &Source, tokens: &[TokenWithSpan]) -> Result<()> {
    for (first, second) in [("INSERT", "INTO"), ("DELETE", "FROM")] {
        if let [one, two, ..] = tokens
            && token_is_word(&one.token, first)
            && !token_is_word(&two.token, second)
        {
            let sentence = format!("{first} must be followed by {second}");
            return Err(Error::at(source, two.span, ErrorKind::Syntax, sentence));
        }
    }
    for (at, part) in tokens.windows(3).enumerate() {
        let [first, second, third] = part else { continue };
        let before = at.checked_sub(1).map(|at| &tokens[at].token);
        let star = first.token == Token::LParen
            && second.token == Token::Mul
            && third.token == Token::RParen;
        if star && !before.is_some_and(is_name) {
            let sentence = "a star in parentheses may only follow the name of a function";
            let error = Error::at(source, second.span, ErrorKind::Syntax, sentence);
            return Err(error.advise("write the star without parentheses"));
        }
        let value = first.token == Token::RParen
            && token_is_word(&second.token, "VALUE")
            && third.token == Token::LParen;
        if value && tokens.first().is_some_and(|one| token_is_word(&one.token, "INSERT")) {
            let sentence = "VALUE is no keyword";
            let error = Error::at(source, second.span, ErrorKind::Syntax, sentence);
            return Err(error.advise("write VALUES"));
        }
        let test = token_is_word(&second.token, "NOT") && token_is_word(&third.token, "NULL");
        if test && is_value(&first.token) {
            let span = Span::new(second.span.start, third.span.end);
            let sentence = "NOT NULL may not follow a value";
            let error = Error::at(source, span, ErrorKind::Syntax, sentence);
            return Err(error.advise("write IS NOT NULL"));
        }
    }
    Ok(())
}

/// Whether the token can be the name of a called function.
fn is_name(token: &Token) -> bool {
    let Token::Word(word) = token else { return false };
    word.quote_style.is_some() || !is_reserved(&word.value.to_lowercase())
}

/// Whether a value can end with this token.
pub(crate) fn is_value(token: &Token) -> bool {
    match token {
        // `BY` is the only one of these words that begins an expression, as in ORDER BY.
        Token::Word(_) if token_is_word(token, "BY") => false,
        Token::Word(_) => is_name(token) || VALUES.iter().any(|word| token_is_word(token, word)),
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::EscapedStringLiteral(_)
        | Token::DollarQuotedString(_)
        | Token::Placeholder(_)
        | Token::RParen
        | Token::RBracket => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::tokenize;

    fn refused(text: &str) -> bool {
        let source = Source::new("f", text);
        let tokens = tokenize(&source, 0, text).expect("it has tokens");
        refuse_lenient(&source, &tokens).is_err()
    }

    #[test]
    fn stars_in_brackets_are_arguments() {
        assert!(!refused("SELECT count(*), \"Count\" (*), 2 * (3) FROM t"));
        for text in ["SELECT (*) FROM t", "SELECT a, (*) FROM t", "SELECT DISTINCT (*)", "(*)"] {
            assert!(refused(text), "{text}");
        }
    }

    #[test]
    fn no_value_precedes_not_null() {
        for text in ["a IS NOT NULL", "NOT NULL", "a AND NOT NULL", "SELECT a ORDER BY NOT NULL"] {
            assert!(!refused(text), "{text}");
        }
        for text in ["a NOT NULL", "(a) NOT NULL", "a[1] NOT NULL", "'x' NOT NULL", "$1 NOT NULL"] {
            assert!(refused(text), "{text}");
        }
        assert!(refused("1 NOT NULL") && refused("CASE WHEN a THEN b END NOT NULL"));
    }
}

//! Limits the depth of a statement's syntax tree before the tree is built.
//!
//! The parser limits nested parentheses by its own recursion, but it parses `1 + 1 + 1 + ...` in a
//! loop and builds a tree as deep as the sum is long. All code that walks trees is recursive.
//!
//! Decision: docs/decisions/0160-expression-depth-is-limited-before-trees-are-built.md

use crate::error::{Error, ErrorKind, Result};
use crate::source::Source;
use crate::token::token_is_word;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Maximum number of operators on a path from a statement to a value.
const OPERATORS_MAX: u32 = 100;

/// Words that join two values or precede one.
const OPERATOR_WORDS: [&str; 9] =
    ["AND", "OR", "NOT", "IS", "IN", "LIKE", "ILIKE", "BETWEEN", "UNION"];
/// Words that begin another expression.
const CLAUSE_WORDS: [&str; 14] = [
    "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "WHEN", "THEN",
    "ELSE", "SET", "VALUES", "ON",
];

/// The nesting found between an opening parenthesis or bracket and its closing one.
#[derive(Default)]
struct Level {
    operators: u32,
    /// Nesting of the deepest expression in parentheses or brackets inside.
    inner: u32,
}

/// Refuses `tokens` if their tree would be too deep.
pub(crate) fn check_depth(source: &Source, tokens: &[TokenWithSpan]) -> Result<()> {
    let mut levels = vec![Level::default()];
    for token in tokens {
        let Some(level) = levels.last_mut() else {
            return Ok(());
        };
        match &token.token {
            Token::LParen | Token::LBracket => levels.push(Level::default()),
            Token::RParen | Token::RBracket => {
                let depth = level.operators + level.inner + 1;
                levels.pop();
                let Some(outer) = levels.last_mut() else {
                    return Ok(());
                };
                outer.inner = outer.inner.max(depth);
            }
            Token::Comma => level.operators = 0,
            Token::Word(_) if is_one_of(&token.token, &CLAUSE_WORDS) => level.operators = 0,
            Token::Word(_) => {
                level.operators += u32::from(is_one_of(&token.token, &OPERATOR_WORDS))
            }
            Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::Placeholder(_)
            | Token::Period => {}
            _ => level.operators += 1,
        }
        let open: u32 = levels.iter().map(|level| level.operators + 1).sum();
        let inner = levels.last().map_or(0, |level| level.inner);
        if open + inner > OPERATORS_MAX {
            let sentence = format!("an expression may nest at most {OPERATORS_MAX} operators");
            let error = Error::at(source, token.span, ErrorKind::Outside, sentence);
            return Err(error.advise("compute a part of it into a variable first"));
        }
    }
    Ok(())
}

fn is_one_of(token: &Token, words: &[&str]) -> bool {
    words.iter().any(|word| token_is_word(token, word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::tokenize;

    fn fits(text: &str) -> bool {
        let source = Source::new("f", text);
        check_depth(&source, &tokenize(&source, 0, text).expect("it has tokens")).is_ok()
    }

    #[test]
    fn long_lists_fit_and_long_sums_do_not() {
        assert!(fits(&"(1 + 1), ".repeat(500)));
        assert!(fits(&"a = 1 AND ".repeat(40)));
        assert!(!fits(&"1 + ".repeat(200)));
        assert!(!fits(&format!("{}1{}", "(".repeat(60), " + 1)".repeat(60))));
    }
}

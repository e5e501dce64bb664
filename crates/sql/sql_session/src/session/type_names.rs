//! Finds names of types in the texts of definitions.

use crate::lexer::{Kind, Token};
use std::ops::Range;

/// The words before a column's name in a definition.
const BEFORE_COLUMN: [&str; 3] = ["COLUMN", "ADD", "EXISTS"];
/// The words before a column or constraint that are no column's name.
const ELEMENTS: [&str; 14] = [
    "ADD",
    "ALTER",
    "DROP",
    "COLUMN",
    "CONSTRAINT",
    "PRIMARY",
    "UNIQUE",
    "CHECK",
    "FOREIGN",
    "EXCLUDE",
    "LIKE",
    "IF",
    "NOT",
    "EXISTS",
];

/// The parts of the names at places where a type may be, with their bytes. A query has no
/// definitions of columns, but names of outputs.
pub(super) fn type_names(tokens: &[Token<'_>], is_query: bool) -> Vec<(Range<usize>, Vec<String>)> {
    let mut found = Vec::new();
    for at in 1..tokens.len() {
        let is_one = || is_cast(tokens, at) || !is_query && is_column(tokens, at);
        let Some(first) = tokens[at].name().filter(|_| is_one()) else { continue };
        let is_dotted = tokens.get(at + 1).is_some_and(|token| token.kind == Kind::Sign('.'));
        let second = tokens.get(at + 2).filter(|_| is_dotted);
        match second.and_then(|token| token.name().map(|name| (token.end(), name))) {
            Some((end, name)) => found.push((tokens[at].at..end, vec![first, name])),
            None => found.push((tokens[at].at..tokens[at].end(), vec![first])),
        }
    }
    found
}

fn is_sign(token: Option<&Token<'_>>, sign: char) -> bool {
    token.is_some_and(|token| token.kind == Kind::Sign(sign))
}

/// Whether the token is behind `::`, or behind `AS` in `CAST(... AS ...)`.
fn is_cast(tokens: &[Token<'_>], at: usize) -> bool {
    if is_sign(Some(&tokens[at - 1]), ':') {
        return is_sign(at.checked_sub(2).map(|at| &tokens[at]), ':');
    }
    if !tokens[at - 1].is_word("AS") {
        return false;
    }
    let mut depth = 0;
    let open = tokens[..at].iter().rposition(|token| {
        depth += i32::from(token.kind == Kind::Sign(')'));
        depth -= i32::from(token.kind == Kind::Sign('('));
        depth < 0
    });
    let before = open.and_then(|open| open.checked_sub(1));
    before.is_some_and(|before| tokens[before].is_word("CAST"))
}

/// Whether the token is behind `TYPE`, or behind the name of a new column.
fn is_column(tokens: &[Token<'_>], at: usize) -> bool {
    let before = &tokens[at - 1];
    if before.is_word("TYPE") {
        return true;
    }
    let earlier = |count: usize| at.checked_sub(count).map(|at| &tokens[at]);
    let is_name = match before.kind {
        Kind::Word => !ELEMENTS.iter().any(|word| before.is_word(word)),
        Kind::Quoted => true,
        _ => false,
    };
    let begins = is_sign(earlier(2), '(')
        || is_sign(earlier(2), ',')
        || earlier(2).is_some_and(|two| BEFORE_COLUMN.iter().any(|word| two.is_word(word)));
    is_name && begins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::tokens;

    #[test]
    fn types_are_at_their_places() {
        let names = |text: &str| -> Vec<String> {
            let tokens = tokens(text).expect("it has tokens");
            type_names(&tokens, false).into_iter().map(|(_, parts)| parts.join(".")).collect()
        };
        let text = "CREATE TABLE t (mood mood DEFAULT 'a'::s.mood, \"B\" \"M\"[], CONSTRAINT mood \
                    CHECK (mood > CAST('b' AS mood)), PRIMARY KEY (mood))";
        assert_eq!(names(text), ["mood", "s.mood", "M", "mood"]);
        assert_eq!(names("ALTER TABLE t ADD COLUMN IF NOT EXISTS a mood"), ["mood"]);
        let text = "ALTER TABLE t ADD a mood, ADD mood mood, ALTER mood SET DATA TYPE mood";
        assert_eq!(names(text), ["mood", "mood", "mood"]);
        let text = "SELECT m AS mood, n mood, (SELECT max(x) AS mood FROM u mood), \
                    CAST(f(m) AS mood) AS mood, n::mood[] mood FROM t, s AS mood";
        let tokens = tokens(text).expect("it has tokens");
        let found = type_names(&tokens, true);
        let behind: Vec<&str> = found.iter().map(|(range, _)| &text[range.end..][..3]).collect();
        assert_eq!(behind, [") A", "[] "], "the casts, and no names of outputs");
    }
}

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

/// The parts of the names at places where a type may be, with their bytes.
pub(super) fn type_names(tokens: &[Token<'_>]) -> Vec<(Range<usize>, Vec<String>)> {
    let mut found = Vec::new();
    for at in 1..tokens.len() {
        let Some(first) = tokens[at].name().filter(|_| is_place(tokens, at)) else { continue };
        let is_dotted = tokens.get(at + 1).is_some_and(|token| token.kind == Kind::Sign('.'));
        let second = tokens.get(at + 2).filter(|_| is_dotted);
        match second.and_then(|token| token.name().map(|name| (token.end(), name))) {
            Some((end, name)) => found.push((tokens[at].at..end, vec![first, name])),
            None => found.push((tokens[at].at..tokens[at].end(), vec![first])),
        }
    }
    found
}

/// Whether a type may be at this token: behind `::`, in `CAST(... AS ...)`, behind `TYPE`, or
/// behind the name of a new column.
fn is_place(tokens: &[Token<'_>], at: usize) -> bool {
    let before = &tokens[at - 1];
    let earlier = |count: usize| at.checked_sub(count).map(|at| &tokens[at]);
    let is_sign =
        |token: Option<&Token<'_>>, sign| token.is_some_and(|token| token.kind == Kind::Sign(sign));
    if is_sign(Some(before), ':') {
        return is_sign(earlier(2), ':');
    }
    if before.is_word("AS") || before.is_word("TYPE") {
        return true;
    }
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
            type_names(&tokens).into_iter().map(|(_, parts)| parts.join(".")).collect()
        };
        let text = "CREATE TABLE t (mood mood DEFAULT 'a'::s.mood, \"B\" \"M\"[], CONSTRAINT mood \
                    CHECK (mood > CAST('b' AS mood)), PRIMARY KEY (mood))";
        assert_eq!(names(text), ["mood", "s.mood", "M", "mood"]);
        assert_eq!(names("ALTER TABLE t ADD COLUMN IF NOT EXISTS a mood"), ["mood"]);
        let text = "ALTER TABLE t ADD a mood, ADD mood mood, ALTER mood SET DATA TYPE mood";
        assert_eq!(names(text), ["mood", "mood", "mood"]);
    }
}

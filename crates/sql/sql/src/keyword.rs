//! SQL keywords, to suggest one for a misspelled word.

use crate::near::near;
use sqlparser::tokenizer::Token;

/// Minimum number of letters of a word that is looked up: shorter words are similar to too many
/// keywords.
const LETTERS_MIN: usize = 4;

/// Keywords with at least `LETTERS_MIN` letters, sorted alphabetically.
#[rustfmt::skip]
const KEYWORDS: [&str; 83] = [
    "ALTER", "ANALYZE", "BEGIN", "BETWEEN", "CALL", "CASE", "CHECK", "COLLATE", "COMMENT",
    "COMMIT", "CONFLICT", "CONSTRAINT", "CONTINUE", "COPY", "CREATE", "CROSS", "DECLARE",
    "DEFAULT", "DELETE", "DISTINCT", "DROP", "ELSE", "ELSIF", "EXCEPTION", "EXECUTE", "EXISTS",
    "EXIT", "FETCH", "FOREACH", "FOREIGN", "FROM", "FULL", "FUNCTION", "GENERATED", "GRANT",
    "GROUP", "HAVING", "IMMUTABLE", "INDEX", "INNER", "INSERT", "INTO", "JOIN", "LANGUAGE",
    "LEFT", "LIKE", "LIMIT", "LOOP", "NULL", "OFFSET", "ORDER", "OUTER", "PERFORM", "PRIMARY",
    "PROCEDURE", "RAISE", "REFERENCES", "REPLACE", "RETURN", "RETURNING", "RETURNS", "REVERSE",
    "RIGHT", "ROLLBACK", "SELECT", "SEQUENCE", "SETOF", "STABLE", "STRICT", "TABLE", "THEN",
    "TRIGGER", "TRUNCATE", "UNION", "UNIQUE", "UPDATE", "USING", "VALUES", "VIEW", "VOLATILE",
    "WHEN", "WHERE", "WHILE",
];

/// The keyword that `token` misspells; `None` if it is a keyword or similar to no keyword.
pub(crate) fn misspelt(token: &Token) -> Option<&'static str> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => misspelt_word(&word.value),
        _ => None,
    }
}

fn misspelt_word(word: &str) -> Option<&'static str> {
    let written = word.to_uppercase();
    let is_long = written.chars().count() >= LETTERS_MIN;
    if !is_long || KEYWORDS.contains(&&*written) {
        return None;
    }
    near(&written, KEYWORDS)
}

/// As [`keyword_meant`], for a word.
pub(crate) fn keyword_meant_by(word: &str) -> String {
    misspelt_word(word).map_or(String::new(), |word| format!("is `{word}` meant?"))
}

/// The advice for an unexpected token; empty if no keyword is similar.
pub(crate) fn keyword_meant(token: Option<&Token>) -> String {
    token.and_then(misspelt).map_or(String::new(), |word| format!("is `{word}` meant?"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    fn meant(text: &str) -> Option<&'static str> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize().expect("a word");
        misspelt(&tokens[0])
    }

    #[test]
    fn a_misspelt_keyword_is_seen_and_a_name_is_not() {
        assert!(KEYWORDS.is_sorted());
        for (written, keyword) in [
            ("TABEL", "TABLE"),
            ("selct", "SELECT"),
            ("PRIMRY", "PRIMARY"),
            ("form", "FROM"),
            ("crate", "CREATE"),
        ] {
            assert_eq!(meant(written), Some(keyword), "{written}");
        }
        for name in ["\"tabel\"", "account", "id", "TABLE", "customer", "note"] {
            assert_eq!(meant(name), None, "{name}");
        }
    }
}

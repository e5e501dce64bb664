//! `FOR NO KEY UPDATE` and `FOR KEY SHARE`, which `sqlparser` does not know: they become the next
//! stronger locks, `FOR UPDATE` and `FOR SHARE`.

use crate::token::token_is_word;
use sqlparser::tokenizer::TokenWithSpan;

/// The positions of the words to leave out.
pub(crate) fn key_words(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let follows = |at: usize, words: &[&str]| {
        let parts = tokens.get(at..at + words.len()).unwrap_or_default();
        parts.len() == words.len()
            && parts.iter().zip(words).all(|(part, word)| token_is_word(&part.token, word))
    };
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if follows(at, &["FOR", "NO", "KEY", "UPDATE"]) {
            found.extend([at + 1, at + 2]);
        } else if follows(at, &["FOR", "KEY", "SHARE"]) {
            found.push(at + 1);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use crate::token::tokenize;

    #[test]
    fn words_of_weaker_locks_are_found() {
        let of = |text: &str| {
            key_words(&tokenize(&Source::new("f", text), 0, text).expect("it has tokens"))
        };
        assert_eq!(of("SELECT a FROM t FOR NO KEY UPDATE"), [5, 6]);
        assert_eq!(of("select a from t for key share nowait"), [5]);
        assert!(of("SELECT no, key FROM t FOR UPDATE").is_empty());
    }
}

//! Words of PostgreSQL's dumps that change nothing here.

use crate::token::token_is_word;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The positions of tokens to leave out: `ONLY` before a table, since tables have no descendants,
/// and `::regclass` behind the name of a sequence.
pub(crate) fn without_effect(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let word = |at: usize, word: &str| {
        tokens.get(at).is_some_and(|token| token_is_word(&token.token, word))
    };
    let is = |at: usize, wanted: &Token| tokens.get(at).is_some_and(|one| one.token == *wanted);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate().skip(1) {
        let is_name = matches!(tokens.get(at + 1).map(|next| &next.token), Some(Token::Word(_)));
        if word(at, "ONLY")
            && is_name
            && ["FROM", "JOIN", "UPDATE"].iter().any(|of| word(at - 1, of))
        {
            found.push(at);
        }
        let is_text = matches!(token.token, Token::SingleQuotedString(_));
        let names_sequence = || {
            let functions = ["nextval", "currval", "setval"];
            at >= 2 && is(at - 1, &Token::LParen) && functions.iter().any(|of| word(at - 2, of))
        };
        if is_text
            && is(at + 1, &Token::DoubleColon)
            && word(at + 2, "regclass")
            && names_sequence()
        {
            found.extend([at + 1, at + 2]);
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
    fn words_without_effect_are_found() {
        let of = |text: &str| {
            without_effect(&tokenize(&Source::new("f", text), 0, text).expect("it has tokens"))
        };
        assert_eq!(of("SELECT * FROM ONLY t JOIN ONLY u"), [3, 6]);
        assert_eq!(of("UPDATE only t SET a = only"), [1]);
        assert_eq!(of("nextval('public.s'::regclass)"), [3, 4]);
        assert_eq!(of("SELECT 's'::regclass"), [0; 0]);
    }
}

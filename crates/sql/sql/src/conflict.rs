//! Expressions and a condition in `ON CONFLICT (...) WHERE ...`, which `sqlparser` does not know:
//! the parser gets a name for each, and the resolver reads the text at its place.

use crate::token::token_is_word;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

/// The name in the place of an expression; no text of a client has a zero byte.
pub(crate) const EXPRESSION: &str = "\0";

/// The last name of a target with a condition.
pub(crate) const PREDICATE: &str = "\0\0";

/// The tokens with a name in the place of each expression of the target, and one for its condition;
/// `None` if it has none.
pub(crate) fn without_expressions(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let from = 3 + tokens.windows(3).position(|part| {
        token_is_word(&part[0].token, "ON")
            && token_is_word(&part[1].token, "CONFLICT")
            && part[2].token == Token::LParen
    })?;
    let (mut kept, mut begin, mut depth) = (tokens[..from].to_vec(), from, 0_usize);
    let mut has_found = false;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token.token {
            Token::RParen if depth > 0 => depth -= 1,
            Token::LParen => depth += 1,
            Token::Comma | Token::RParen if depth == 0 => {
                let part = &tokens[begin..at];
                let is_expression = part.iter().any(|one| one.token == Token::LParen);
                match is_expression {
                    true => kept.push(named(EXPRESSION, part)),
                    false => kept.extend_from_slice(part),
                }
                has_found |= is_expression;
                begin = at + 1;
                if token.token == Token::Comma {
                    kept.push(token.clone());
                    continue;
                }
                let predicate = predicate(&tokens[begin..]);
                if !predicate.is_empty() {
                    kept.push(TokenWithSpan { token: Token::Comma, span: token.span });
                    kept.push(named(PREDICATE, &predicate[1..]));
                }
                kept.push(token.clone());
                kept.extend_from_slice(&tokens[begin + predicate.len()..]);
                return (has_found || !predicate.is_empty()).then_some(kept);
            }
            _ => {}
        }
    }
    None
}

/// The tokens of a condition, with `WHERE`, up to `DO`.
fn predicate(behind: &[TokenWithSpan]) -> &[TokenWithSpan] {
    let is_word = |at: usize, word| {
        behind.get(at).is_some_and(|one: &TokenWithSpan| token_is_word(&one.token, word))
    };
    let end = (2..behind.len())
        .find(|&at| is_word(at, "DO") && (is_word(at + 1, "NOTHING") || is_word(at + 1, "UPDATE")));
    if is_word(0, "WHERE") { end.map_or(&[], |end| &behind[..end]) } else { &[] }
}

fn named(name: &str, part: &[TokenWithSpan]) -> TokenWithSpan {
    let word = Word { value: name.to_owned(), quote_style: Some('"'), keyword: Keyword::NoKeyword };
    let (first, last) = (part[0].span, part[part.len() - 1].span);
    TokenWithSpan { token: Token::Word(word), span: Span::new(first.start, last.end) }
}

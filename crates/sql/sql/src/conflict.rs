//! Expressions in `ON CONFLICT (...)`, which `sqlparser` does not know: the parser gets a name in
//! the place of each, and the resolver reads the text at its place.

use crate::token::token_is_word;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

/// The name in the place of an expression; no text of a client has a zero byte.
pub(crate) const EXPRESSION: &str = "\0";

/// The tokens with a name in the place of each expression of the target; `None` if it has none.
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
                    true => kept.push(named(part)),
                    false => kept.extend_from_slice(part),
                }
                has_found |= is_expression;
                kept.push(token.clone());
                begin = at + 1;
                if token.token == Token::RParen {
                    kept.extend_from_slice(&tokens[begin..]);
                    return has_found.then_some(kept);
                }
            }
            _ => {}
        }
    }
    None
}

fn named(part: &[TokenWithSpan]) -> TokenWithSpan {
    let word =
        Word { value: EXPRESSION.to_owned(), quote_style: Some('"'), keyword: Keyword::NoKeyword };
    let (first, last) = (part[0].span, part[part.len() - 1].span);
    TokenWithSpan { token: Token::Word(word), span: Span::new(first.start, last.end) }
}

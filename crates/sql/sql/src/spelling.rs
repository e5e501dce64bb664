//! Spellings of PostgreSQL that `sqlparser` does not know, in a form that it does:
//!
//! ```text
//! a ISNULL                     a IS NULL
//! trim(BOTH FROM a)            trim(BOTH a)
//! a BETWEEN ASYMMETRIC b AND c a BETWEEN b AND c
//! a BETWEEN SYMMETRIC b AND c  a BETWEEN SYMMETRIC(b) AND c
//! FROM f(a) AS (b int)         FROM f(a) AS f (b int)
//! ```
//!
//! The fourth one is a call of a reserved word, which nobody can write: the resolver takes it for
//! bounds in either order.

use crate::lenient::is_value;
use crate::token::token_is_word;
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

/// The word of bounds in either order.
const SYMMETRIC: &str = "SYMMETRIC";
const SIDES: [&str; 3] = ["BOTH", "LEADING", "TRAILING"];

/// The tokens in the parser's spelling; `None` if they are already.
pub(crate) fn respelt(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let word = |at: usize, word: &str| {
        tokens.get(at).is_some_and(|token| token_is_word(&token.token, word))
    };
    let is = |at: usize, wanted: &Token| tokens.get(at).is_some_and(|one| one.token == *wanted);
    let mut kept = Vec::new();
    let mut is_changed = false;
    // Positions of tokens behind which a parenthesis is closed.
    let mut closes = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1);
        let opens_trim = |at: usize| at > 1 && is(at - 1, &Token::LParen) && word(at - 2, "TRIM");
        let is_behind_side =
            before.is_some_and(|side| SIDES.iter().any(|of| word(side, of)) && opens_trim(side));
        let is_behind_between = before.is_some_and(|before| word(before, "BETWEEN"));
        let is_from_of_trim = word(at, "FROM") && (is_behind_side || opens_trim(at));
        if is_from_of_trim || word(at, "ASYMMETRIC") && is_behind_between {
            is_changed = true;
        } else if word(at, SYMMETRIC) && is_behind_between {
            is_changed = true;
            kept.push(token.clone());
            if let Some(end) = end_of_bound(tokens, at + 1) {
                kept.push(TokenWithSpan { token: Token::LParen, span: token.span });
                closes.push(end);
            }
        } else if word(at, "ISNULL")
            && before.is_some_and(|before| is_value(&tokens[before].token))
            && !is(at + 1, &Token::LParen)
        {
            is_changed = true;
            let words = Tokenizer::new(&PostgreSqlDialect {}, "IS NULL").tokenize();
            let words = words.unwrap_or_default().into_iter();
            let words = words.filter(|token| !matches!(token, Token::Whitespace(_)));
            kept.extend(words.map(|word| TokenWithSpan { token: word, span: token.span }));
        } else {
            kept.push(token.clone());
            if let Some(name) = function_without_alias(tokens, at) {
                is_changed = true;
                kept.push(TokenWithSpan { token: name, span: token.span });
            }
        }
        for _ in closes.extract_if(.., |end| *end == at) {
            kept.push(TokenWithSpan { token: Token::RParen, span: token.span });
        }
    }
    is_changed.then_some(kept)
}

/// The name of the function that is called before `AS` at this position, if the names and types of
/// columns follow without an alias.
fn function_without_alias(tokens: &[TokenWithSpan], at: usize) -> Option<Token> {
    let is = |at: usize, wanted: &Token| tokens.get(at).is_some_and(|one| one.token == *wanted);
    let is_word = |at: usize| tokens.get(at).is_some_and(|one| matches!(one.token, Token::Word(_)));
    let is_as = token_is_word(&tokens[at].token, "AS") && is(at + 1, &Token::LParen);
    let before = at.checked_sub(1).filter(|&before| is_as && is(before, &Token::RParen))?;
    let begins_query = tokens.get(at + 2).is_none_or(|one| {
        ["SELECT", "WITH", "VALUES", "INSERT", "UPDATE", "DELETE", "TABLE"]
            .iter()
            .any(|word| token_is_word(&one.token, word))
    });
    if begins_query || !is_word(at + 2) || !is_word(at + 3) {
        return None;
    }
    let mut depth = 0_usize;
    let open = (0..=before).rev().find(|&place| {
        match tokens[place].token {
            Token::RParen => depth += 1,
            Token::LParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let name = &tokens[open.checked_sub(1)?].token;
    matches!(name, Token::Word(_)).then(|| name.clone())
}

/// The last token of a lower bound that begins at `from`: `AND` follows it.
fn end_of_bound(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, TokenWithSpan { token, .. }) in tokens.iter().enumerate().skip(from) {
        match token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.checked_sub(1)?,
            // Between them, AND belongs to a condition.
            token if token_is_word(token, "CASE") => depth += 1,
            token if token_is_word(token, "END") => depth = depth.checked_sub(1)?,
            token if depth == 0 && token_is_word(token, "AND") => {
                return at.checked_sub(1).filter(|&end| end >= from);
            }
            _ => {}
        }
    }
    None
}

/// The lower one of two bounds in either order.
pub(crate) fn symmetric_bound(low: &Expr) -> Option<&Expr> {
    let Expr::Function(call) = low else { return None };
    let name = call.name.0.first()?.as_ident()?;
    let is_word = name.quote_style.is_none() && name.value.eq_ignore_ascii_case(SYMMETRIC);
    match &call.args {
        FunctionArguments::List(list) if is_word => match &list.args[..] {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(bound))] => Some(bound),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use crate::token::tokenize;

    fn respelt_text(text: &str) -> Option<String> {
        let tokens = tokenize(&Source::new("f", text), 0, text).expect("it has tokens");
        let words = respelt(&tokens)?.into_iter().map(|one| one.token.to_string());
        Some(words.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn spellings_are_replaced_where_they_are_operators() {
        for (text, expected) in [
            ("a isnull", "a IS NULL"),
            ("(a + 1) ISNULL AND 'x' isnull", "( a + 1 ) IS NULL AND 'x' IS NULL"),
            ("trim(both from a)", "trim ( both a )"),
            ("trim(from a)", "trim ( a )"),
            ("FROM f(g(1)) AS (b int)", "FROM f ( g ( 1 ) ) AS f ( b int )"),
            ("trim(leading 'x' from a) isnull", "trim ( leading 'x' from a ) IS NULL"),
            ("a between asymmetric 1 and 2", "a between 1 and 2"),
            ("a between symmetric 3 and 1", "a between symmetric ( 3 ) and 1"),
            (
                "a BETWEEN SYMMETRIC CASE WHEN b AND c THEN (1) END AND 2 AND d",
                "a BETWEEN SYMMETRIC ( CASE WHEN b AND c THEN ( 1 ) END ) AND 2 AND d",
            ),
        ] {
            assert_eq!(respelt_text(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "a AS isnull",
            "isnull(a)",
            "t.isnull",
            "\"isnull\"",
            "a FROM b",
            "both",
            "WITH a (b) AS (SELECT 1)",
            "f(1) AS t (b int)",
        ] {
            assert_eq!(respelt_text(text), None, "{text}");
        }
    }
}

//! The syntax of cursors.

use crate::command::{Command, Parser};
use crate::error::SqlError;
use crate::lexer::Kind;

type Result<T> = std::result::Result<T, SqlError>;

/// `name [NO SCROLL] CURSOR [WITHOUT HOLD] FOR query`
pub(crate) fn parse_declare(parser: &mut Parser<'_>) -> Result<Command> {
    let name = parser.name()?;
    while !parser.accept("CURSOR") {
        let is_known = ["BINARY", "INSENSITIVE", "ASENSITIVE", "NO", "SCROLL"]
            .iter()
            .any(|word| parser.is_word(word));
        if parser.accept("BINARY") || !is_known {
            return Err(parser.unexpected());
        }
        parser.at += 1;
    }
    if parser.accept_all(&["WITH", "HOLD"]) {
        return Err(SqlError::unsupported("a cursor WITH HOLD is not supported"));
    }
    parser.accept_all(&["WITHOUT", "HOLD"]);
    parser.expect("FOR")?;
    let (text, at) = parser.rest();
    Ok(Command::Declare { name, text: text.to_owned(), at })
}

/// `[FORWARD] [count | ALL | NEXT] [FROM] name`
pub(crate) fn parse_fetch(parser: &mut Parser<'_>) -> Result<Command> {
    for word in ["PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE", "BACKWARD"] {
        if parser.is_word(word) {
            let message = format!("FETCH {word} is not supported: cursors move forward");
            return Err(SqlError::unsupported(message));
        }
    }
    let has_direction = parser.accept("FORWARD");
    let number = parser.peek().filter(|token| token.kind == Kind::Number);
    let count = if let Some(number) = number {
        let count = number.text.parse().map_err(|_| parser.unexpected())?;
        parser.at += 1;
        Some(count)
    } else if parser.accept("ALL") {
        None
    } else {
        let _ = !has_direction && parser.accept("NEXT");
        Some(1)
    };
    let _ = parser.accept("FROM") || parser.accept("IN");
    let name = parser.name()?;
    parser.expect_end()?;
    Ok(Command::Fetch { name, count })
}

/// `name | ALL`
pub(crate) fn parse_close(parser: &mut Parser<'_>) -> Result<Command> {
    let name = parser.name()?;
    parser.expect_end()?;
    Ok(Command::Close((name != "all").then_some(name)))
}

//! The syntax of `COPY`.

use super::{CopyOptions, CopySource, CopyStatement};
use crate::command::Parser;
use crate::error::SqlError;
use crate::lexer::{Kind, Token};
use crate::outcome::CopyDirection;

type Result<T> = std::result::Result<T, SqlError>;

/// Parses what follows the word `COPY`.
pub(crate) fn parse_copy(parser: &mut Parser<'_>) -> Result<CopyStatement> {
    let is_binary = parser.accept("BINARY");
    let source = match parser.accept_sign('(') {
        true => query(parser)?,
        false => {
            let name = parser.relation()?;
            let columns = parser.accept_sign('(').then(|| columns(parser)).transpose()?;
            CopySource::Table { name, columns }
        }
    };
    let direction = if parser.accept("TO") {
        CopyDirection::Out
    } else {
        parser.expect("FROM")?;
        CopyDirection::In
    };
    if direction == CopyDirection::In && matches!(source, CopySource::Query(_)) {
        return Err(SqlError::new("42601", "COPY FROM needs a table"));
    }
    let is_client = parser.accept("STDIN") || parser.accept("STDOUT");
    if !is_client {
        let message = "COPY to or from a file of the server is not supported";
        return Err(SqlError::unsupported(message).hint("Use COPY FROM STDIN, or psql's \\copy."));
    }
    let options = options(parser, is_binary)?;
    parser.expect_end()?;
    Ok(CopyStatement { direction, source, options })
}

fn query(parser: &mut Parser<'_>) -> Result<CopySource> {
    let from = parser.at;
    let mut depth = 0;
    while let Some(token) = parser.peek() {
        match token.kind {
            Kind::Sign('(') => depth += 1,
            Kind::Sign(')') if depth == 0 => {
                let first = parser.tokens[from];
                parser.at += 1;
                return Ok(CopySource::Query(parser.text[first.at..token.at].trim().to_owned()));
            }
            Kind::Sign(')') => depth -= 1,
            _ => {}
        }
        parser.at += 1;
    }
    Err(parser.unexpected())
}

fn columns(parser: &mut Parser<'_>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    loop {
        names.push(parser.name()?);
        if parser.accept_sign(')') {
            return Ok(names);
        }
        parser.expect_sign(',')?;
    }
}

/// The options as written; the format's defaults apply where they are silent.
#[derive(Default)]
struct Given {
    is_binary: bool,
    is_csv: bool,
    delimiter: Option<u8>,
    null: Option<String>,
    has_header: bool,
    quote: Option<u8>,
    escape: Option<u8>,
}

fn options(parser: &mut Parser<'_>, is_binary: bool) -> Result<CopyOptions> {
    parser.accept("WITH");
    let mut given = Given { is_binary, ..Given::default() };
    if parser.accept_sign('(') {
        loop {
            let name = parser.name()?;
            option(parser, &name, &mut given)?;
            if parser.accept_sign(')') {
                break;
            }
            parser.expect_sign(',')?;
        }
    } else {
        while !parser.is_at_end() {
            old_option(parser, &mut given)?;
        }
    }
    if given.is_binary {
        let named = [
            (given.delimiter.is_some(), "DELIMITER"),
            (given.null.is_some(), "NULL"),
            (given.has_header || given.is_csv, "HEADER"),
        ];
        if let Some((_, name)) = named.into_iter().find(|(is_given, _)| *is_given) {
            return Err(SqlError::new("42601", format!("cannot specify {name} in BINARY mode")));
        }
    }
    let mut options = CopyOptions::new(given.is_csv);
    options.is_binary = given.is_binary;
    options.delimiter = given.delimiter.unwrap_or(options.delimiter);
    options.null = given.null.unwrap_or(options.null);
    options.has_header = given.has_header;
    options.quote = given.quote.unwrap_or(options.quote);
    options.escape = given.escape.unwrap_or(options.quote);
    Ok(options)
}

fn option(parser: &mut Parser<'_>, name: &str, given: &mut Given) -> Result<()> {
    match name {
        "format" => {
            let format = value(parser)?.to_lowercase();
            match &*format {
                "csv" => given.is_csv = true,
                "text" => {}
                "binary" => given.is_binary = true,
                _ => {
                    let message = format!("COPY format \"{format}\" not recognized");
                    return Err(SqlError::new("22023", message));
                }
            }
        }
        "freeze" => {
            switch(parser)?;
        }
        "delimiter" => given.delimiter = Some(byte(parser, "delimiter")?),
        "null" => given.null = Some(value(parser)?),
        "header" => given.has_header = switch(parser)?,
        "quote" => given.quote = Some(byte(parser, "quote")?),
        "escape" => given.escape = Some(byte(parser, "escape")?),
        "encoding" => {
            let encoding = value(parser)?.to_lowercase();
            if !encoding.starts_with("utf") && encoding != "sql_ascii" {
                return Err(SqlError::unsupported("COPY reads and writes UTF-8 only"));
            }
        }
        _ => {
            let message = format!("the option \"{name}\" of COPY is not supported");
            return Err(SqlError::unsupported(message));
        }
    }
    Ok(())
}

/// An option in the syntax before PostgreSQL 9.
fn old_option(parser: &mut Parser<'_>, given: &mut Given) -> Result<()> {
    if parser.accept("CSV") {
        given.is_csv = true;
    } else if parser.accept("HEADER") {
        given.has_header = true;
    } else if parser.accept("BINARY") {
        given.is_binary = true;
    } else if parser.accept("DELIMITER") || parser.accept("DELIMITERS") {
        parser.accept("AS");
        given.delimiter = Some(byte(parser, "delimiter")?);
    } else if parser.accept("NULL") {
        parser.accept("AS");
        given.null = Some(value(parser)?);
    } else if parser.accept("QUOTE") {
        parser.accept("AS");
        given.quote = Some(byte(parser, "quote")?);
    } else if parser.accept("ESCAPE") {
        parser.accept("AS");
        given.escape = Some(byte(parser, "escape")?);
    } else if !parser.accept("FREEZE") && !parser.accept("WITH") {
        return Err(parser.unexpected());
    }
    Ok(())
}

fn value(parser: &mut Parser<'_>) -> Result<String> {
    let of = |token: &Token<'_>| token.string().or_else(|| token.name());
    let value = parser.peek().and_then(of).ok_or_else(|| parser.unexpected())?;
    parser.at += 1;
    Ok(value)
}

fn byte(parser: &mut Parser<'_>, what: &str) -> Result<u8> {
    match value(parser)?.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(*byte),
        _ => {
            let message = format!("COPY {what} must be a single one-byte character");
            Err(SqlError::new("22023", message))
        }
    }
}

/// A switch, which is on without a value.
fn switch(parser: &mut Parser<'_>) -> Result<bool> {
    let Some(token) = parser.peek().filter(|token| !matches!(token.kind, Kind::Sign(_))) else {
        return Ok(true);
    };
    parser.at += 1;
    let text = token.string().unwrap_or_else(|| token.text.to_owned()).to_lowercase();
    match &*text {
        "on" | "true" | "1" | "match" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err(SqlError::new("42601", format!("\"{text}\" is no Boolean value"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Command, parse};

    fn copy(text: &str) -> CopyStatement {
        match parse(text).expect("it is a command") {
            Command::Copy(copy) => *copy,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn statements_are_parsed_in_both_syntaxes() {
        let plain = copy("copy pgbench_accounts from stdin with (freeze on)");
        let source = CopySource::Table { name: "pgbench_accounts".into(), columns: None };
        assert_eq!(plain.source, source);
        assert_eq!(
            (plain.direction, &plain.options),
            (CopyDirection::In, &CopyOptions::new(false))
        );
        let new = copy("COPY t (a, \"B\") TO STDOUT WITH (FORMAT csv, HEADER, DELIMITER ';')");
        let old = copy("COPY t (a, \"B\") TO STDOUT WITH CSV HEADER DELIMITER AS ';'");
        assert_eq!(new, old);
        assert!(new.options.is_csv && new.options.has_header && new.options.delimiter == b';');
        for text in ["COPY t TO STDOUT (FORMAT binary)", "COPY BINARY t TO STDOUT"] {
            assert!(copy(text).options.is_binary, "{text}");
        }
        let query = copy("COPY (SELECT (1), ')') TO STDOUT");
        assert_eq!(query.source, CopySource::Query("SELECT (1), ')'".into()));
    }

    #[test]
    fn other_statements_are_refused() {
        for (text, sqlstate) in [
            ("COPY t FROM '/etc/passwd'", "0A000"),
            ("COPY t FROM STDIN (FORMAT binary, DELIMITER ';')", "42601"),
            ("COPY t FROM STDIN (FORMAT odd)", "22023"),
            ("COPY t FROM STDIN (DELIMITER 'ab')", "22023"),
            ("COPY t STDIN", "42601"),
            ("COPY (SELECT 1) FROM STDIN", "42601"),
        ] {
            assert_eq!(parse(text).expect_err("it is refused").sqlstate, sqlstate, "{text}");
        }
    }
}

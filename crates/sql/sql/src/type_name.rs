//! Parses type names: `numeric(12,2)`, `character varying(16)`, `integer[]`.

use crate::error::{Error, ErrorKind, Result};
use crate::near::meant;
use crate::token::Cursor;
use crate::types::{DECIMAL_DIGITS_MAX, Numeric, SqlType};
use sqlparser::tokenizer::{Span, Token};

/// Maximum length of `char(n)` and `varchar(n)`, as in PostgreSQL.
const LENGTH_MAX: u32 = 10_485_760;
/// Most digits after the second, as in PostgreSQL.
pub(crate) const FRACTION_DIGITS_MAX: u32 = 6;
const INSTEAD_OF_TIMETZ: &str = "write `time`, or `timestamptz` for a time of a day in a zone";

/// Takes the name of a type, with its parameters in parentheses and its array brackets.
pub(crate) fn parse_type(cursor: &mut Cursor<'_>) -> Result<SqlType> {
    let from = cursor.position();
    let is_quoted = matches!(cursor.peek(), Some(Token::Word(word)) if word.quote_style.is_some());
    let (name, span) = cursor.name("the name of a type")?;
    if is_quoted && name == "char" {
        return Err(cursor.outside(
            span,
            "the type of one byte called \"char\"",
            "write `char(1)`",
        ));
    }
    if name == "pg_catalog" && cursor.accept(&Token::Period) {
        return parse_type(cursor);
    }
    let base = match &*name {
        "smallint" | "int2" => SqlType::Int2,
        "integer" | "int" | "int4" => SqlType::Int4,
        "bigint" | "int8" => SqlType::Int8,
        "boolean" | "bool" => SqlType::Bool,
        "real" | "float4" => SqlType::Float4,
        "float8" => SqlType::Float8,
        "float" => parse_float(cursor, span)?,
        "double" => {
            cursor.expect_word("PRECISION")?;
            SqlType::Float8
        }
        "numeric" | "decimal" | "dec" => parse_numeric(cursor)?,
        "text" => SqlType::Text,
        "varchar" => SqlType::Varchar(parse_length(cursor)?),
        "character" | "char" => parse_character(cursor)?,
        "bpchar" => SqlType::Char(parse_length(cursor)?),
        "bytea" => SqlType::Bytes,
        "uuid" => SqlType::Uuid,
        "json" => SqlType::Json,
        "jsonb" => SqlType::Jsonb,
        "date" => SqlType::Date,
        "timestamp" => parse_timestamp(cursor)?,
        "timestamptz" => SqlType::TimestampTz(parse_precision(cursor)?),
        "time" => parse_time(cursor)?,
        "interval" => SqlType::Interval,
        "void" => SqlType::Void,
        "record" => SqlType::Record(Vec::new()),
        _ => match enumerated(cursor, &name) {
            Some(sql_type) => sql_type,
            None => return Err(unknown_type(cursor, &name, span)),
        },
    };
    parse_array(cursor, base, from)
}

/// A type that a session has created; takes the rest of its name.
fn enumerated(cursor: &mut Cursor<'_>, name: &str) -> Option<SqlType> {
    let mut parts = vec![name.to_owned()];
    if let (Some(Token::Period), Some(Token::Word(word))) = (cursor.peek(), cursor.peek_at(1)) {
        parts.push(crate::token::name_of(word));
    }
    let source = cursor.source();
    let found = source.types().find(source.path(), &parts)?.clone();
    if parts.len() > 1 {
        cursor.next();
        cursor.next();
    }
    Some(SqlType::Enum(found))
}

fn parse_character(cursor: &mut Cursor<'_>) -> Result<SqlType> {
    if cursor.accept_word("VARYING") {
        return Ok(SqlType::Varchar(parse_length(cursor)?));
    }
    Ok(SqlType::Char(Some(parse_length(cursor)?.unwrap_or(1))))
}

fn parse_timestamp(cursor: &mut Cursor<'_>) -> Result<SqlType> {
    let digits = parse_precision(cursor)?;
    if cursor.accept_words(&["WITH", "TIME", "ZONE"]) {
        return Ok(SqlType::TimestampTz(digits));
    }
    cursor.accept_words(&["WITHOUT", "TIME", "ZONE"]);
    Ok(SqlType::Timestamp(digits))
}

fn parse_time(cursor: &mut Cursor<'_>) -> Result<SqlType> {
    let (span, digits) = (cursor.span(), parse_precision(cursor)?);
    if cursor.accept_words(&["WITH", "TIME", "ZONE"]) {
        return Err(cursor.outside(span, "the type `time with time zone`", INSTEAD_OF_TIMETZ));
    }
    cursor.accept_words(&["WITHOUT", "TIME", "ZONE"]);
    Ok(SqlType::Time(digits))
}

/// Takes the digits of a second's fraction. PostgreSQL reduces larger numbers to 6.
fn parse_precision(cursor: &mut Cursor<'_>) -> Result<Option<u8>> {
    let span = cursor.span();
    match parse_digits(cursor)?.as_slice() {
        [] => Ok(None),
        [digits] => Ok(Some((*digits).min(FRACTION_DIGITS_MAX) as u8)),
        _ => {
            let sentence = "a time has one precision, the digits of a second's fraction";
            Err(cursor.error(span, ErrorKind::Type, sentence))
        }
    }
}

fn parse_float(cursor: &mut Cursor<'_>, span: Span) -> Result<SqlType> {
    match parse_digits(cursor)?.as_slice() {
        [] | [25..=53] => Ok(SqlType::Float8),
        [1..=24] => Ok(SqlType::Float4),
        _ => Err(cursor.error(span, ErrorKind::Type, "a float has 1 to 53 binary digits")),
    }
}

fn parse_numeric(cursor: &mut Cursor<'_>) -> Result<SqlType> {
    let span = cursor.span();
    let (precision, scale) = match parse_digits(cursor)?.as_slice() {
        [] => return Ok(SqlType::Numeric(Numeric::Open)),
        [precision] => (*precision, 0),
        [precision, scale] => (*precision, *scale),
        _ => {
            return Err(cursor.error(
                span,
                ErrorKind::Type,
                "numeric has precision and scale, no more",
            ));
        }
    };
    if !(1..=1000).contains(&precision) {
        return Err(cursor.error(span, ErrorKind::Type, "the precision of numeric is 1 to 1000"));
    }
    let narrow = precision <= u32::from(DECIMAL_DIGITS_MAX) && scale <= precision;
    if !narrow {
        let advice = format!(
            "write at most numeric({DECIMAL_DIGITS_MAX},s) with s from 0 to {DECIMAL_DIGITS_MAX}"
        );
        return Err(cursor.outside(span, "a decimal that does not fit eight bytes", &advice));
    }
    Ok(SqlType::Numeric(Numeric::Declared { precision: precision as u8, scale: scale as u8 }))
}

fn parse_length(cursor: &mut Cursor<'_>) -> Result<Option<u32>> {
    let span = cursor.span();
    match parse_digits(cursor)?.as_slice() {
        [] => Ok(None),
        [length] if (1..=LENGTH_MAX).contains(length) => Ok(Some(*length)),
        _ => Err(cursor.error(
            span,
            ErrorKind::Type,
            format!("a length is one number from 1 to {LENGTH_MAX}"),
        )),
    }
}

/// Takes the numbers in parentheses, if there are any.
fn parse_digits(cursor: &mut Cursor<'_>) -> Result<Vec<u32>> {
    let mut digits = Vec::new();
    if !cursor.accept(&Token::LParen) {
        return Ok(digits);
    }
    loop {
        let expected = cursor.expected("a number");
        let Some(Token::Number(text, _)) = cursor.next().map(|token| token.token) else {
            return Err(expected);
        };
        digits.push(text.parse().map_err(|_| expected)?);
        if cursor.accept(&Token::RParen) {
            return Ok(digits);
        }
        cursor.expect(&Token::Comma)?;
    }
}

fn parse_array(cursor: &mut Cursor<'_>, base: SqlType, from: usize) -> Result<SqlType> {
    let mut dimensions = 0;
    while cursor.accept(&Token::LBracket) {
        if matches!(cursor.peek(), Some(Token::Number(digits, _)) if digits.parse::<u32>().is_ok())
        {
            cursor.next();
        }
        cursor.expect(&Token::RBracket)?;
        dimensions += 1;
    }
    match (dimensions, base) {
        (0, base) => Ok(base),
        (_, SqlType::Void | SqlType::Record(_)) => Err(cursor.error(
            cursor.span_from(from),
            ErrorKind::Type,
            "there are no arrays of these",
        )),
        (1, base) => Ok(SqlType::Array(Box::new(base))),
        _ => Err(cursor.outside(
            cursor.span_from(from),
            "an array of several dimensions",
            "use several arrays",
        )),
    }
}

/// Type names that are suggested for misspelled ones.
pub(crate) const TYPES: [&str; 20] = [
    "bigint",
    "boolean",
    "bytea",
    "char",
    "character",
    "date",
    "decimal",
    "double",
    "integer",
    "interval",
    "json",
    "jsonb",
    "numeric",
    "real",
    "smallint",
    "time",
    "timestamp",
    "timestamptz",
    "uuid",
    "varchar",
];

fn unknown_type(cursor: &Cursor<'_>, name: &str, span: Span) -> Error {
    let advice = match name {
        "serial" | "bigserial" | "smallserial" | "serial4" | "serial8" | "serial2" => {
            "write `bigint` and let the procedures count in a column of a parent row"
        }
        "timetz" => INSTEAD_OF_TIMETZ,
        "xml" | "inet" => "write `varchar(n)`",
        "money" => "write `numeric(p,s)`",
        "bit" | "oid" => "write `integer` or `bigint`",
        "name" | "refcursor" | "anyelement" | "anyarray" | "trigger" => "",
        _ => {
            let sentence = format!("there is no type `{name}`");
            let error = cursor.error(span, ErrorKind::Name, sentence).advise(meant(name, TYPES));
            return error.in_postgres("42704", format!("type \"{name}\" does not exist"));
        }
    };
    cursor.outside(span, &format!("the type `{name}`"), advice)
}

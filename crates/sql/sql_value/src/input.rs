//! Parses values from text, as PostgreSQL does.

use crate::conversion::{parse_bool, parse_int};
use crate::error::{Error, Result, sqlstate};
use crate::integer::Width;
use crate::numeric;
use crate::value::Value;
use crate::{bytes, float, interval_input, json, real, time_input, uuid};
use sql::types::SqlType;

/// Parses a value of a type, without enforcing length, precision or scale.
///
/// # Errors
/// 22P02, 22003, 22007 or 22008 if the text is not a value of the type, or is out of range.
pub fn read(text: &str, sql_type: &SqlType) -> Result<Value> {
    Ok(match sql_type {
        SqlType::Bool => Value::Bool(parse_bool(text)?),
        SqlType::Int2 => parse_int(text, Width::Two)?,
        SqlType::Int4 => parse_int(text, Width::Four)?,
        SqlType::Int8 => parse_int(text, Width::Eight)?,
        SqlType::Numeric(_) => Value::Numeric(numeric::parse(text)?),
        SqlType::Float4 => Value::Float(real::parse(text)?),
        SqlType::Float8 => Value::Float(float::parse(text)?),
        SqlType::Text | SqlType::Varchar(_) | SqlType::Unknown => Value::text(text),
        SqlType::Char(_) => Value::text(text.trim_end_matches(' ')),
        SqlType::Bytes => Value::Bytes(bytes::parse(text)?.into()),
        SqlType::Json => {
            json::check(text)?;
            Value::text(text)
        }
        SqlType::Jsonb => Value::from(json::parse(text)?),
        SqlType::Enum(of) => match of.place(text) {
            Some(place) => Value::Int(place),
            None => {
                let message = of.invalid(text);
                return Err(Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, message));
            }
        },
        SqlType::Uuid => Value::Uuid(uuid::parse(text)?),
        SqlType::Date => Value::Date(time_input::date(text)?),
        SqlType::Timestamp(_) => Value::Timestamp(time_input::timestamp(text, false)?),
        SqlType::TimestampTz(_) => Value::Timestamp(time_input::timestamp(text, true)?),
        SqlType::Time(_) => Value::Timestamp(time_input::time_of_day(text)?),
        SqlType::Interval => Value::Interval(interval_input::interval(text)?),
        SqlType::Array(element) => array(text, element)?,
        SqlType::Record(_) | SqlType::Void => {
            let message = format!("no value of {sql_type} is read from text");
            return Err(Error::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
    })
}

/// Parses an array of one dimension: elements in braces, separated by commas, with double quotes
/// where they are needed.
fn array(text: &str, element: &SqlType) -> Result<Value> {
    let trimmed = text.trim_matches(numeric::is_space);
    let malformed = |detail: &str| {
        let message = format!("malformed array literal: \"{text}\"");
        Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, message).detail(detail)
    };
    if trimmed.starts_with('[') {
        return Err(several_dimensions("an array literal with dimensions"));
    }
    let Some(inner) = trimmed.strip_prefix('{') else {
        return Err(malformed("Array value must start with \"{\" or dimension information."));
    };
    let mut letters = inner.chars().peekable();
    let mut values = Vec::new();
    loop {
        while letters.next_if(|letter| numeric::is_space(*letter)).is_some() {}
        if values.is_empty() && letters.next_if_eq(&'}').is_some() {
            break;
        }
        if letters.peek() == Some(&'{') {
            return Err(several_dimensions("an array of several dimensions"));
        }
        let part = array_element(&mut letters).map_err(malformed)?;
        values.push(match part {
            (part, false) if part.eq_ignore_ascii_case("null") => Value::Null,
            (part, _) => read(&part, element)?,
        });
        match letters.next() {
            Some(',') => {}
            Some('}') => break,
            _ => return Err(malformed("Unexpected end of input.")),
        }
    }
    if letters.next().is_some() {
        return Err(malformed("Junk after closing right brace."));
    }
    Ok(Value::Array(values.into()))
}

#[cold]
fn several_dimensions(what: &str) -> Box<Error> {
    Error::new(sqlstate::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
        .hint("Use several arrays, or a jsonb.")
}

/// Returns the text of an element up to a comma or brace, and whether it was quoted.
fn array_element(
    letters: &mut std::iter::Peekable<std::str::Chars<'_>>,
) -> std::result::Result<(String, bool), &'static str> {
    const END: &str = "Unexpected end of input.";
    let mut part = String::new();
    if letters.next_if_eq(&'"').is_some() {
        loop {
            match letters.next().ok_or(END)? {
                '"' => break,
                '\\' => part.push(letters.next().ok_or(END)?),
                letter => part.push(letter),
            }
        }
        while letters.next_if(|letter| numeric::is_space(*letter)).is_some() {}
        return Ok((part, true));
    }
    // Trailing white space is dropped, unless it is escaped.
    let mut kept = 0;
    loop {
        match letters.peek().copied().ok_or(END)? {
            ',' | '}' => break,
            '{' => return Err("Unexpected \"{\" character."),
            '"' => return Err("Unexpected array element."),
            '\\' => {
                letters.next();
                part.push(letters.next().ok_or(END)?);
                kept = part.len();
            }
            letter => {
                letters.next();
                part.push(letter);
                if !numeric::is_space(letter) {
                    kept = part.len();
                }
            }
        }
    }
    part.truncate(kept);
    match letters.peek() {
        Some(&letter) if part.is_empty() && letter == ',' => Err("Unexpected \",\" character."),
        Some(_) if part.is_empty() => Err("Unexpected \"}\" character."),
        _ => Ok((part, false)),
    }
}

//! Prints values, as PostgreSQL does.

use crate::value::Value;
use crate::{
    bytes, date, float, integer, interval, json, numeric, real, style, text, time_of_day,
    timestamp, uuid,
};
use compact_str::CompactString;
use sql::types::SqlType;

/// Prints the value as PostgreSQL does; null as the empty text.
pub fn text(value: &Value, sql_type: &SqlType) -> CompactString {
    match (value, sql_type) {
        (Value::Null, _) => CompactString::default(),
        (Value::Bool(truth), _) => CompactString::const_new(if *truth { "t" } else { "f" }),
        (Value::Int(place), SqlType::Enum(of)) => of.label(*place).unwrap_or_default().into(),
        (Value::Int(number), _) => integer::text(*number),
        (Value::Numeric(number), _) => numeric::text(*number),
        (Value::Float(number), SqlType::Float4) => match float_digits() {
            None => real::text(*number),
            Some(extra) => float::rounded(*number, f32::DIGITS as i32 + extra),
        },
        (Value::Float(number), _) => match float_digits() {
            None => float::text(*number),
            Some(extra) => float::rounded(*number, f64::DIGITS as i32 + extra),
        },
        (Value::Text(text), SqlType::Char(Some(length))) => text::filled(text, *length),
        (Value::Text(text), _) => text.clone(),
        (Value::Bytes(bytes), _) => match style::with(|style| style.escapes_bytes.then_some(())) {
            None => bytes::text(bytes),
            Some(()) => bytes::escaped(bytes),
        },
        (Value::Json(json), _) => json::text(json),
        (Value::Uuid(uuid), _) => uuid::text(uuid),
        (Value::Date(days), _) => date::text(*days),
        (Value::Timestamp(time), SqlType::Time(_)) => time_of_day::text(*time),
        (Value::Timestamp(time), sql_type) => {
            timestamp::text(*time, matches!(sql_type, SqlType::TimestampTz(_)))
        }
        (Value::Interval(interval), _) => interval::text(*interval),
        (Value::Array(values), SqlType::Array(element)) => array(values, element),
        (Value::Array(values), _) => array(values, &SqlType::Unknown),
        (Value::Row(values), SqlType::Record(fields)) => {
            let types = fields.iter().map(|field| &field.sql_type);
            row(values.iter().zip(types.chain(std::iter::repeat(&SqlType::Unknown))))
        }
        (Value::Row(values), _) => row(values.iter().map(|value| (value, &SqlType::Unknown))),
    }
}

/// `extra_float_digits`, if floats are not printed with the fewest digits.
fn float_digits() -> Option<i32> {
    style::with(|style| (style.float_digits < 1).then_some(style.float_digits))
}

fn array(values: &[Value], element: &SqlType) -> CompactString {
    let mut result = CompactString::const_new("{");
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            result.push(',');
        }
        if value.is_null() {
            result.push_str("NULL");
            continue;
        }
        let part = text(value, element);
        let special = |letter: char| matches!(letter, '{' | '}' | '"' | ',' | '\\');
        let is_plain = !part.is_empty()
            && !part.eq_ignore_ascii_case("null")
            && !part.contains(|letter| special(letter) || numeric::is_space(letter));
        if is_plain {
            result.push_str(&part);
        } else {
            quote(&part, '\\', &mut result);
        }
    }
    result.push('}');
    result
}

fn row<'v>(values: impl Iterator<Item = (&'v Value, &'v SqlType)>) -> CompactString {
    let mut result = CompactString::const_new("(");
    for (at, (value, sql_type)) in values.enumerate() {
        if at > 0 {
            result.push(',');
        }
        if value.is_null() {
            continue;
        }
        let part = text(value, sql_type);
        let special = |letter: char| matches!(letter, '(' | ')' | '"' | ',' | '\\');
        if part.is_empty() || part.contains(|c| special(c) || numeric::is_space(c)) {
            quote(&part, '"', &mut result);
        } else {
            result.push_str(&part);
        }
    }
    result.push(')');
    result
}

/// Quotes the text with double quotes; `escape` precedes double quotes, a backslash precedes
/// backslashes.
fn quote(text: &str, escape: char, result: &mut CompactString) {
    result.push('"');
    for letter in text.chars() {
        match letter {
            '"' => result.push(escape),
            '\\' => result.push('\\'),
            _ => {}
        }
        result.push(letter);
    }
    result.push('"');
}

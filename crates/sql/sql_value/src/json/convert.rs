//! JSON of other values, and back [PostgreSQL 15, `datum_to_json`, `datum_to_jsonb`].

use super::{Json, number, parse, quote, refuse};
use crate::conversion::Conversion;
use crate::error::Result;
use crate::value::Value;
use crate::{output, timestamp};
use compact_str::CompactString;
use sql::expression::CastKind;
use sql::types::{Field, Numeric, SqlType};

/// The `jsonb` of a value; null is a JSON null.
///
/// # Errors
/// 22P02 or 22P05 if it is a `json` that no `jsonb` can hold.
pub fn of_value(value: &Value, sql_type: &SqlType) -> Result<Json> {
    Ok(match (value, sql_type) {
        (Value::Null, _) => Json::Null,
        (Value::Json(json), _) => (**json).clone(),
        (Value::Bool(truth), _) => Json::Bool(*truth),
        (Value::Text(text), SqlType::Json) => parse(text)?,
        (value, SqlType::Enum(_)) => Json::Text(output::text(value, sql_type)),
        (Value::Int(_) | Value::Numeric(_) | Value::Float(_), _) => number_of(value, sql_type)?,
        (Value::Array(values), SqlType::Array(element)) => {
            Json::Array(values.iter().map(|value| of_value(value, element)).collect::<Result<_>>()?)
        }
        (Value::Row(values), SqlType::Record(fields)) => {
            let pair = |(value, field): (&Value, &Field)| {
                Ok((CompactString::new(&field.name), of_value(value, &field.sql_type)?))
            };
            Json::object(values.iter().zip(fields).map(pair).collect::<Result<_>>()?)
        }
        (value, sql_type) => Json::Text(printed(value, sql_type)),
    })
}

fn number_of(value: &Value, sql_type: &SqlType) -> Result<Json> {
    let text = output::text(value, sql_type);
    // NaN and the infinities are no numbers in JSON.
    match text.ends_with(|last: char| last.is_ascii_digit()) {
        true => Ok(Json::Number(number::of_syntax(&text)?)),
        false => Ok(Json::Text(text)),
    }
}

/// A value as the text of a JSON string: times are in ISO 8601.
fn printed(value: &Value, sql_type: &SqlType) -> CompactString {
    match (value, sql_type) {
        (Value::Timestamp(time), SqlType::TimestampTz(_)) if !timestamp::is_infinite(*time) => {
            let text = output::text(value, sql_type).replacen(' ', "T", 1);
            CompactString::from(text + ":00")
        }
        (Value::Timestamp(_), SqlType::Timestamp(_) | SqlType::TimestampTz(_)) => {
            CompactString::from(output::text(value, sql_type).replacen(' ', "T", 1))
        }
        _ => output::text(value, sql_type),
    }
}

/// Appends the `json` of a value, as `to_json`.
pub fn print_value(value: &Value, sql_type: &SqlType, out: &mut CompactString) {
    match (value, sql_type) {
        (Value::Null, _) => out.push_str("null"),
        (Value::Bool(truth), _) => out.push_str(if *truth { "true" } else { "false" }),
        (Value::Json(json), _) => super::print(json, out),
        (Value::Text(text), SqlType::Json) => out.push_str(text),
        (value, SqlType::Enum(_)) => quote(&output::text(value, sql_type), out),
        (Value::Int(_) | Value::Numeric(_) | Value::Float(_), _) => {
            let text = output::text(value, sql_type);
            match text.ends_with(|last: char| last.is_ascii_digit()) {
                true => out.push_str(&text),
                false => quote(&text, out),
            }
        }
        (Value::Array(values), SqlType::Array(element)) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                print_value(value, element, out);
            }
            out.push(']');
        }
        (Value::Row(values), SqlType::Record(fields)) => {
            out.push('{');
            for (at, (value, field)) in values.iter().zip(fields).enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                quote(&field.name, out);
                out.push(':');
                print_value(value, &field.sql_type, out);
            }
            out.push('}');
        }
        (value, sql_type) => quote(&printed(value, sql_type), out),
    }
}

/// Appends a `json` array.
pub fn print_array<'v>(
    values: impl Iterator<Item = &'v str>,
    separator: &str,
    out: &mut CompactString,
) {
    out.push('[');
    for (at, value) in values.enumerate() {
        out.push_str(if at > 0 { separator } else { "" });
        out.push_str(value);
    }
    out.push(']');
}

/// Appends a `json` object of keys and values, one after the other.
///
/// # Errors
/// 22023 if a key is null, or the last one has no value.
pub fn print_object(parts: &[Value], out: &mut CompactString) -> Result<()> {
    if parts.len() % 2 == 1 {
        return Err(refuse("argument list must have even number of elements").hint(
            "The arguments of json_build_object() must consist of alternating keys and values.",
        ));
    }
    out.push('{');
    for (at, pair) in parts.chunks(2).enumerate() {
        let value = pair[1].as_text().unwrap_or("null");
        print_pair(pair[0].as_text(), value, at, out)?;
    }
    out.push('}');
    Ok(())
}

/// Appends pair `at` of a `json` object.
///
/// # Errors
/// 22023 if the key is null.
pub fn print_pair(
    key: Option<&str>,
    value: &str,
    at: usize,
    out: &mut CompactString,
) -> Result<()> {
    let Some(key) = key else {
        return Err(refuse(format!("argument {}: key must not be null", 2 * at + 1)));
    };
    out.push_str(if at > 0 { ", " } else { "" });
    quote(key, out);
    out.push_str(" : ");
    out.push_str(value);
    Ok(())
}

/// The number or boolean of a `jsonb`.
///
/// # Errors
/// 22023 if it is another value, 22003 if a number is out of range.
pub fn to_scalar(json: &Json, sql_type: &SqlType) -> Result<Value> {
    let name = match json {
        Json::Bool(truth) if *sql_type == SqlType::Bool => return Ok(Value::Bool(*truth)),
        Json::Number(digits) if sql_type.is_number() => {
            let number = crate::input::read(digits, &SqlType::Numeric(Numeric::Open))?;
            let from = SqlType::Numeric(Numeric::Open);
            return Conversion::between(&from, sql_type, CastKind::Explicit).apply(number);
        }
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "numeric",
        Json::Text(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    Err(refuse(format!("cannot cast jsonb {name} to type {}", sql_type.base())))
}

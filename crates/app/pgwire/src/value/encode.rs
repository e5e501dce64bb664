//! Values for clients.

use super::types::{self, element_of, element_of_vector, type_length};
use super::{Format, JSONB_VERSION, numeric};
use crate::error::{Result, error_with_hint, sqlstate};
use crate::message::backend::Column;
use sql::types::SqlType;
use sql_value::{Value, output};
use std::io::Write;

/// Appends the value in the column's type, without its length. Returns false for null.
#[inline]
pub fn encode(
    value: &Value,
    column: &Column,
    format: Format,
    buffer: &mut Vec<u8>,
) -> Result<bool> {
    match (value, format) {
        (Value::Null, _) => return Ok(false),
        (value, Format::Text) => text(value, column.type_oid, column.type_modifier, buffer),
        (value, Format::Binary) => {
            binary(value, column.type_oid, column.type_modifier, buffer)?;
        }
    }
    Ok(true)
}

#[inline]
fn text(value: &Value, oid: u32, modifier: i32, buffer: &mut Vec<u8>) {
    match value {
        Value::Text(text) if oid != types::BPCHAR => buffer.extend_from_slice(text.as_bytes()),
        Value::Int(number) if matches!(oid, types::INT2 | types::INT4 | types::INT8) => {
            // Writing to a buffer in memory cannot fail.
            let _ = write!(buffer, "{number}");
        }
        Value::Array(values) if element_of_vector(oid).is_some() => {
            let values = values.iter().map(|value| output::text(value, &SqlType::Int8));
            buffer.extend_from_slice(values.collect::<Vec<_>>().join(" ").as_bytes());
        }
        value => {
            buffer.extend_from_slice(output::text(value, &printed_type(oid, modifier)).as_bytes());
        }
    }
}

/// The type by which a value is printed.
fn printed_type(oid: u32, modifier: i32) -> SqlType {
    match oid {
        types::BPCHAR => SqlType::Char(u32::try_from(modifier - 4).ok()),
        types::TIMESTAMPTZ => SqlType::TimestampTz(None),
        oid => types::sql_type_of(oid).unwrap_or(SqlType::Unknown),
    }
}

fn binary(value: &Value, oid: u32, modifier: i32, buffer: &mut Vec<u8>) -> Result<()> {
    match (value, oid) {
        (Value::Bool(truth), types::BOOL) => buffer.push(u8::from(*truth)),
        (Value::Int(number), types::INT2 | types::INT4 | types::INT8 | types::OID) => {
            // The type's values fit: they were checked when they were computed.
            let bytes = number.to_be_bytes();
            buffer.extend_from_slice(&bytes[bytes.len() - type_length(oid) as usize..]);
        }
        (Value::Numeric(number), types::NUMERIC) => numeric::encode(*number, buffer),
        (Value::Float(number), types::FLOAT8) => buffer.extend_from_slice(&number.to_be_bytes()),
        (Value::Float(number), types::FLOAT4) => {
            buffer.extend_from_slice(&(*number as f32).to_be_bytes());
        }
        (Value::Json(json), types::JSONB) => {
            buffer.push(JSONB_VERSION);
            buffer.extend_from_slice(sql_value::json::text(json).as_bytes());
        }
        (Value::Uuid(uuid), types::UUID) => buffer.extend_from_slice(uuid),
        (Value::Bytes(bytes), types::BYTEA) => buffer.extend_from_slice(bytes),
        (Value::Date(days), types::DATE) => buffer.extend_from_slice(&days.to_be_bytes()),
        (Value::Timestamp(time), types::TIME | types::TIMESTAMP | types::TIMESTAMPTZ) => {
            buffer.extend_from_slice(&time.to_be_bytes());
        }
        (Value::Interval(interval), types::INTERVAL) => {
            buffer.extend_from_slice(&interval.microseconds.to_be_bytes());
            buffer.extend_from_slice(&interval.days.to_be_bytes());
            buffer.extend_from_slice(&interval.months.to_be_bytes());
        }
        (Value::Array(values), oid) if element_of(oid).is_some() => {
            let element = element_of(oid).expect("it was just found");
            array(values, (element, 1), modifier, buffer)?;
        }
        (Value::Array(values), oid) if element_of_vector(oid).is_some() => {
            let element = element_of_vector(oid).expect("it was just found");
            array(values, (element, 0), modifier, buffer)?;
        }
        // The binary format of texts is the text.
        (Value::Text(_), oid) if !matches!(type_length(oid), 1..) || is_text(oid) => {
            text(value, oid, modifier, buffer);
        }
        _ => {
            let message = format!("no binary output function available for type with OID {oid}");
            let hint = "Request the column in text format, or cast it to text.";
            return Err(error_with_hint(sqlstate::FEATURE_NOT_SUPPORTED, message, hint));
        }
    }
    Ok(())
}

fn is_text(oid: u32) -> bool {
    matches!(oid, types::CHAR | types::NAME)
}

/// An array of a type, whose first element has the position `first`.
fn array(
    values: &[Value],
    (element, first): (u32, i32),
    modifier: i32,
    buffer: &mut Vec<u8>,
) -> Result<()> {
    let dimensions = i32::from(!values.is_empty());
    let has_nulls = i32::from(values.iter().any(Value::is_null));
    for field in [dimensions, has_nulls, element as i32] {
        buffer.extend_from_slice(&field.to_be_bytes());
    }
    if values.is_empty() {
        return Ok(());
    }
    let count = values.len() as i32;
    buffer.extend_from_slice(&count.to_be_bytes());
    buffer.extend_from_slice(&first.to_be_bytes());
    for value in values {
        let start = buffer.len();
        buffer.extend_from_slice(&(-1i32).to_be_bytes());
        if !value.is_null() {
            binary(value, element, modifier, buffer)?;
            let length = (buffer.len() - start - 4) as i32;
            buffer[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
    Ok(())
}

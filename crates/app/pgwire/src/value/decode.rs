//! Parameters of clients.

use super::types::{self, element_of, sql_type_of};
use super::{Format, JSONB_VERSION, numeric};
use crate::error::{Result, error, error_with_hint, sqlstate};
use crate::message::reader::Reader;
use sql::types::SqlType;
use sql_value::{Interval, Value, date, input, time_of_day, timestamp};

/// Reads a value of the type with this OID; `None` is null.
#[inline]
pub fn decode(bytes: Option<&[u8]>, oid: u32, format: Format) -> Result<Value> {
    match (bytes, format) {
        (None, _) => Ok(Value::Null),
        (Some(bytes), Format::Text) => text(utf8(bytes)?, oid),
        (Some(bytes), Format::Binary) => binary(bytes, oid),
    }
}

/// Checks that a text is UTF-8 without zeros, which PostgreSQL's texts cannot have either.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| error("22021", "invalid byte sequence for encoding \"UTF8\""))
}

/// Reads a value from its text.
pub fn text(text: &str, oid: u32) -> Result<Value> {
    let unsupported = || {
        let message = format!("parameters of the type with OID {oid} are not supported");
        error(sqlstate::FEATURE_NOT_SUPPORTED, message)
    };
    // Most parameters are of these types.
    match oid {
        types::TEXT | types::VARCHAR | types::UNKNOWN | types::NAME => Ok(Value::text(text)),
        types::INT4 => match text.parse::<i32>() {
            Ok(number) => Ok(Value::Int(i64::from(number))),
            Err(_) => read(text, &SqlType::Int4),
        },
        oid => read(text, &sql_type_of(oid).ok_or_else(unsupported)?),
    }
}

fn read(text: &str, sql_type: &SqlType) -> Result<Value> {
    Ok(input::read(text, sql_type).map_err(|error| *error)?)
}

fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| incorrect())
}

fn incorrect() -> crate::error::SqlError {
    error(sqlstate::INVALID_BINARY, "incorrect binary data format in bind parameter")
}

fn binary(bytes: &[u8], oid: u32) -> Result<Value> {
    Ok(match oid {
        types::BOOL => match bytes {
            [truth] => Value::Bool(*truth != 0),
            _ => return Err(incorrect()),
        },
        types::INT2 => Value::Int(i64::from(i16::from_be_bytes(fixed(bytes)?))),
        types::INT4 => Value::Int(i64::from(i32::from_be_bytes(fixed(bytes)?))),
        types::INT8 => Value::Int(i64::from_be_bytes(fixed(bytes)?)),
        types::OID => Value::Int(i64::from(u32::from_be_bytes(fixed(bytes)?))),
        types::FLOAT4 => Value::Float(f64::from(f32::from_be_bytes(fixed(bytes)?))),
        types::FLOAT8 => Value::Float(f64::from_be_bytes(fixed(bytes)?)),
        types::NUMERIC => Value::Numeric(numeric::decode(bytes)?),
        types::TEXT | types::VARCHAR | types::NAME | types::CHAR | types::UNKNOWN => {
            Value::text(utf8(bytes)?)
        }
        types::BPCHAR => read(utf8(bytes)?, &SqlType::Char(None))?,
        types::BYTEA => Value::Bytes(bytes.into()),
        types::UUID => Value::Uuid(fixed(bytes)?),
        types::JSON => read(utf8(bytes)?, &SqlType::Json)?,
        types::JSONB => match bytes.split_first() {
            Some((&JSONB_VERSION, text)) => read(utf8(text)?, &SqlType::Jsonb)?,
            Some((version, _)) => {
                let message = format!("unsupported jsonb version number {version}");
                return Err(error("XX000", message));
            }
            None => return Err(incorrect()),
        },
        types::DATE => {
            let days = i32::from_be_bytes(fixed(bytes)?);
            if !date::is_infinite(days) {
                date::to_timestamp(days).map_err(|error| *error)?;
            }
            Value::Date(days)
        }
        types::TIME => {
            let time = i64::from_be_bytes(fixed(bytes)?);
            if !time_of_day::is_valid(time) {
                return Err(error("22008", "time out of range"));
            }
            Value::Timestamp(time)
        }
        types::TIMESTAMP | types::TIMESTAMPTZ => {
            let time = i64::from_be_bytes(fixed(bytes)?);
            if !timestamp::is_valid(time) {
                return Err(error("22008", "timestamp out of range"));
            }
            Value::Timestamp(time)
        }
        types::INTERVAL => {
            let mut reader = Reader::new(bytes);
            let time: [u8; 8] = fixed(reader.bytes(8)?)?;
            let (days, months) = (reader.i32()?, reader.i32()?);
            reader.end()?;
            Value::Interval(Interval { months, days, microseconds: i64::from_be_bytes(time) })
        }
        oid => match element_of(oid) {
            Some(element) => array(bytes, element)?,
            None if oid >= types::FIRST_OWN => Value::text(utf8(bytes)?),
            None => {
                let message = format!("no binary input function available for type with OID {oid}");
                let hint = "Send the parameter in text format.";
                return Err(error_with_hint(sqlstate::FEATURE_NOT_SUPPORTED, message, hint));
            }
        },
    })
}

fn array(bytes: &[u8], element: u32) -> Result<Value> {
    let mut reader = Reader::new(bytes);
    let (dimensions, _has_nulls, own_element) = (reader.i32()?, reader.i32()?, reader.u32()?);
    if own_element != element {
        return Err(error("42804", "wrong element type"));
    }
    let count = match dimensions {
        0 => 0,
        1 => {
            let (count, _first) = (reader.i32()?, reader.i32()?);
            usize::try_from(count).map_err(|_| incorrect())?
        }
        _ => {
            let message = "arrays of several dimensions are not supported";
            return Err(error(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
    };
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(decode(reader.value()?, element, Format::Binary)?);
    }
    reader.end()?;
    Ok(Value::Array(values.into()))
}

//! Values of columns of stored rows, and of keys.
//!
//! Decision: docs/decisions/0161-lengths-count-characters-in-postgresql-and-bytes-in-rows.md

use crate::error::{Error, Result, sqlstate};
use crate::numeric;
use crate::text::too_long;
use crate::value::{Decimal, Value};
use compact_str::CompactString;
use layout::{ColumnType, KeyBuilder, Place, RecordMut, RecordRef, Schema};

/// Returns the value of a column.
///
/// # Panics
/// If the column is stored out of line and its value was not fetched, as [`RecordRef::bytes`].
#[inline]
pub fn read(record: &RecordRef<'_>, column: usize) -> Value {
    let schema = record.schema();
    if record.is_null(column) {
        return Value::Null;
    }
    match schema.columns()[column].column_type {
        ColumnType::Int2 | ColumnType::Int4 | ColumnType::Int8 => Value::Int(record.int(column)),
        ColumnType::Decimal { scale } => {
            Value::Numeric(Decimal::new(record.int(column).into(), scale))
        }
        ColumnType::Bool => Value::Bool(record.int(column) != 0),
        ColumnType::Float8 => Value::Float(record.float(column)),
        ColumnType::Date => Value::Date(record.int(column) as i32),
        ColumnType::Timestamp => Value::Timestamp(record.int(column)),
        ColumnType::Char(_) | ColumnType::Varchar(_) | ColumnType::Bytes(_) => {
            read_bytes(record, column)
        }
    }
}

/// Returns the value of an integer column; `None` if it is null.
#[inline]
pub fn read_int(record: &RecordRef<'_>, column: usize) -> Option<i64> {
    if record.is_null(column) { None } else { Some(record.int(column)) }
}

/// Returns the value of a decimal column; `None` if it is null.
#[inline]
pub fn read_numeric(record: &RecordRef<'_>, column: usize) -> Option<Decimal> {
    match record.schema().columns()[column].column_type {
        ColumnType::Decimal { scale } => {
            read_int(record, column).map(|units| Decimal::new(units.into(), scale))
        }
        _ => None,
    }
}

#[inline]
fn read_bytes(record: &RecordRef<'_>, column: usize) -> Value {
    let schema = record.schema();
    if matches!(schema.place(column), Place::Key { .. }) {
        return of_layout(record.value(column));
    }
    match schema.columns()[column].column_type {
        ColumnType::Bytes(_) => Value::Bytes(record.bytes(column).into()),
        _ => Value::Text(CompactString::new(record.text(column))),
    }
}

fn of_layout(value: layout::Value) -> Value {
    match value {
        layout::Value::Text(text) => Value::Text(CompactString::from(text)),
        layout::Value::Bytes(bytes) => Value::Bytes(bytes.into()),
        layout::Value::Int(number) => Value::Int(number),
        layout::Value::Float(number) => Value::Float(number),
        layout::Value::Null => Value::Null,
    }
}

/// Sets a column that is not part of the key.
///
/// # Errors
/// 23502 if the value is null and the column is `NOT NULL`, 22001 if a text has more bytes than the
/// column, 22003 if a number is out of range.
#[inline]
pub fn write(
    record: &mut RecordMut<'_>,
    schema: &Schema,
    column: usize,
    value: &Value,
) -> Result<()> {
    let described = &schema.columns()[column];
    if value.is_null() {
        check_null(schema, column)?;
        record.set_null(column);
        return Ok(());
    }
    match (described.column_type, value) {
        (ColumnType::Char(length) | ColumnType::Varchar(length), Value::Text(text)) => {
            check_bytes(described.column_type, text.len(), length)?;
            record.set_bytes(column, text.as_bytes());
        }
        (ColumnType::Bytes(length), Value::Bytes(bytes)) => {
            check_bytes(described.column_type, bytes.len(), length)?;
            record.set_bytes(column, bytes);
        }
        (ColumnType::Float8, Value::Float(number)) => record.set_float(column, *number),
        (column_type, value) => {
            let number = stored(column_type, value).ok_or_else(|| misfit(schema, column))?;
            record.set_int(column, number);
        }
    }
    Ok(())
}

/// Returns the stored form of a number, date, time or boolean; `None` if it is out of range for the
/// column.
#[inline]
fn stored(column_type: ColumnType, value: &Value) -> Option<i64> {
    Some(match (column_type, value) {
        (ColumnType::Int8, Value::Int(number)) => *number,
        (ColumnType::Int4, Value::Int(number)) => i32::try_from(*number).ok()?.into(),
        (ColumnType::Int2, Value::Int(number)) => i16::try_from(*number).ok()?.into(),
        (ColumnType::Decimal { scale }, Value::Numeric(number)) => {
            let rescaled = match number.scale == scale {
                true => *number,
                false => numeric::round(*number, scale.into()).ok()?,
            };
            i64::try_from(rescaled.units).ok()?
        }
        (ColumnType::Bool, Value::Bool(truth)) => (*truth).into(),
        (ColumnType::Date, Value::Date(days)) => (*days).into(),
        (ColumnType::Timestamp, Value::Timestamp(time)) => *time,
        _ => return None,
    })
}

/// Checks that the column may be null, with the error of an insert or update.
///
/// # Errors
/// 23502 if the column is `NOT NULL`.
#[inline]
pub fn check_null(schema: &Schema, column: usize) -> Result<()> {
    let described = &schema.columns()[column];
    if described.nullable {
        return Ok(());
    }
    let (name, table) = (&described.name, schema.name());
    let message = format!(
        "null value in column \"{name}\" of relation \"{table}\" violates not-null constraint"
    );
    Err(Error::new(sqlstate::NOT_NULL_VIOLATION, message))
}

/// A length counts characters in PostgreSQL and bytes in a row, see the module's decision.
#[inline]
fn check_bytes(column_type: ColumnType, bytes: usize, length: u32) -> Result<()> {
    if bytes <= length as usize {
        return Ok(());
    }
    let name = match column_type {
        ColumnType::Char(_) => "character",
        ColumnType::Varchar(_) => "character varying",
        _ => "bytea",
    };
    Err(too_long(name, length).detail("A column holds as many bytes as its type has characters."))
}

#[cold]
fn misfit(schema: &Schema, column: usize) -> Box<Error> {
    let (table, name) = (schema.name(), &schema.columns()[column].name);
    let message = format!("the value does not fit column \"{name}\" of relation \"{table}\"");
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

/// Appends the value of a column to a primary or secondary key. `None` if the value cannot occur in
/// the column: a number out of range, a text that is too long, or null in a `NOT NULL` column.
#[inline]
pub fn append_to_key(
    builder: KeyBuilder,
    schema: &Schema,
    column: usize,
    value: &Value,
) -> Option<KeyBuilder> {
    let described = &schema.columns()[column];
    if value.is_null() {
        let rest = schema.key_part_bytes(column) - u32::from(described.nullable);
        return described.nullable.then(|| builder.unsigned(1, 1).padded(&[], rest));
    }
    let builder = if described.nullable { builder.unsigned(0, 1) } else { builder };
    Some(match (described.column_type, value) {
        (ColumnType::Char(length) | ColumnType::Varchar(length), Value::Text(text)) => {
            let fits = text.len() <= length as usize && !text.contains('\0');
            fits.then(|| builder.padded(text.as_bytes(), length))?
        }
        (ColumnType::Bytes(length), Value::Bytes(bytes)) => {
            let fits = bytes.len() <= length as usize;
            fits.then(|| builder.padded(bytes, length).unsigned(bytes.len() as u64, 2))?
        }
        (ColumnType::Float8, Value::Float(number)) => builder.float8(*number),
        (ColumnType::Bool, Value::Bool(truth)) => builder.unsigned((*truth).into(), 1),
        (ColumnType::Decimal { scale }, Value::Numeric(number)) if number.scale > scale => {
            let shortest = numeric::without_zeros(*number);
            let fits = shortest.scale <= scale;
            let number = fits.then(|| stored(described.column_type, &Value::Numeric(shortest)))?;
            builder.signed(number?, 8)
        }
        (column_type, value) => {
            builder.signed(stored(column_type, value)?, column_type.fixed_bytes()?)
        }
    })
}

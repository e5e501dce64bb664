//! Encodes column values as parts of a primary or secondary key, and decodes them.

use crate::column::{Column, ColumnType, Value, int_fits};
use crate::key::{Key, KeyBuilder, read_signed, read_unsigned};
use crate::schema::Schema;
use crate::schema_error::SchemaError;

impl Schema {
    /// Encodes a primary key from the values of its columns, in key order.
    pub fn encode_key(&self, values: &[Value]) -> Result<Key, SchemaError> {
        self.encode_columns(self.key(), values)
    }

    /// Encodes `values` of `columns` as a key, also for secondary indexes.
    pub fn encode_columns(&self, columns: &[usize], values: &[Value]) -> Result<Key, SchemaError> {
        if values.len() != columns.len() {
            return Err(self.value_count(columns.len(), values.len()));
        }
        let builder =
            columns.iter().zip(values).try_fold(KeyBuilder::new(), |key, (&column, value)| {
                self.append_key_part(key, column, value)
            })?;
        Ok(builder.key())
    }

    /// Appends one column's value to a key; primary and secondary keys have the same encoding.
    pub fn append_key_part(
        &self,
        builder: KeyBuilder,
        column: usize,
        value: &Value,
    ) -> Result<KeyBuilder, SchemaError> {
        let Column { column_type, nullable, .. } = &self.columns()[column];
        let builder = match (nullable, value) {
            (true, Value::Null) => {
                return Ok(builder
                    .unsigned(1, 1)
                    .padded(&[], key_width(&self.columns()[column]) - 1));
            }
            (true, _) => builder.unsigned(0, 1),
            (false, _) => builder,
        };
        let fixed = column_type.fixed_bytes();
        match (value, column_type) {
            (Value::Int(value @ (0 | 1)), ColumnType::Bool) => {
                Ok(builder.unsigned(*value as u64, 1))
            }
            (Value::Float(value), ColumnType::Float8) => Ok(builder.float8(*value)),
            (Value::Int(_), ColumnType::Float8 | ColumnType::Bool) => {
                Err(self.value_error(column, "the value has another type"))
            }
            (Value::Int(value), _) if fixed.is_some_and(|bytes| int_fits(*value, bytes)) => {
                Ok(builder.signed(*value, fixed.expect("integers have a fixed width")))
            }
            (Value::Text(text), ColumnType::Char(_) | ColumnType::Varchar(_)) => {
                self.append_key_text(builder, column, text)
            }
            (Value::Bytes(bytes), ColumnType::Bytes(length)) if bytes.len() <= *length as usize => {
                Ok(builder.padded(bytes, *length).unsigned(bytes.len() as u64, 2))
            }
            _ => Err(self.value_error(column, "wrong type, or out of the type's range")),
        }
    }

    fn append_key_text(
        &self,
        builder: KeyBuilder,
        column: usize,
        text: &str,
    ) -> Result<KeyBuilder, SchemaError> {
        let column_type = self.columns()[column].column_type;
        let text = match column_type {
            ColumnType::Char(_) => text.trim_end_matches(' '),
            _ => text,
        };
        if text.len() > column_type.length_max() as usize {
            return Err(self.value_error(column, "longer than the column's maximal length"));
        }
        if text.contains('\0') {
            return Err(self.value_error(column, "text must not contain the character NUL"));
        }
        Ok(builder.padded(text.as_bytes(), column_type.length_max()))
    }

    /// Bytes of `column` in an encoded key.
    pub fn key_part_bytes(&self, column: usize) -> u32 {
        key_width(&self.columns()[column])
    }

    /// Decodes a key column from key words, from byte `at` on.
    pub fn read_key_part(&self, words: &[u64], column: usize, at: u32) -> Value {
        let Column { column_type, nullable, .. } = self.columns()[column];
        let at = match nullable {
            true if read_unsigned(words, at, 1) == 1 => return Value::Null,
            true => at + 1,
            false => at,
        };
        match column_type {
            ColumnType::Bool => Value::Int(read_unsigned(words, at, 1) as i64),
            ColumnType::Float8 => {
                let flipped = read_unsigned(words, at, 8);
                let bits = if flipped >> 63 == 1 { flipped & !(1 << 63) } else { !flipped };
                Value::Float(f64::from_bits(bits))
            }
            ColumnType::Char(length) | ColumnType::Varchar(length) => {
                Value::Text(String::from_utf8_lossy(&read_text(words, at, length)).into_owned())
            }
            ColumnType::Bytes(length) => {
                let mut bytes = read_bytes(words, at, length);
                bytes.truncate(read_unsigned(words, at + length, 2) as usize);
                Value::Bytes(bytes)
            }
            other => {
                let bytes = other.fixed_bytes().expect("only text and bytes vary");
                Value::Int(read_signed(words, at, bytes))
            }
        }
    }
}

/// Bytes of a column in an encoded key.
pub(crate) fn key_width(column: &Column) -> u32 {
    let width = match column.column_type {
        ColumnType::Bytes(length) => length + 2,
        other => other.fixed_bytes().unwrap_or(other.length_max()),
    };
    width + u32::from(column.nullable)
}

/// The bytes of a text; they are not UTF-8 if the caller built the key from other bytes.
pub(crate) fn read_text(words: &[u64], at: u32, length: u32) -> Vec<u8> {
    let mut bytes = read_bytes(words, at, length);
    bytes.truncate(bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()));
    bytes
}

fn read_bytes(words: &[u64], at: u32, length: u32) -> Vec<u8> {
    (at..at + length).map(|byte| read_unsigned(words, byte, 1) as u8).collect()
}

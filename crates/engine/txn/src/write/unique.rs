//! The details of a unique violation: the index, and the key that two rows would have shared.
//!
//! Decisions:
//! - docs/decisions/0017-a-new-key-for-a-row-locks-its-leaf-or-bucket-even.md
//! - docs/decisions/0169-a-free-header-says-nothing-about-its-row.md

use crate::catalog::IndexInfo;
use layout::{ColumnType, Key, Schema, Value};

/// A violation of a unique index: another row already has the key.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("table {table} already holds a row with {key}, and index {index} is unique")]
pub struct UniqueViolation {
    pub table: String,
    pub index: String,
    /// The indexed columns and the values of both rows, such as `town = 'Ghent', number = 7`. Dates
    /// and timestamps are numbers, as stored in their columns.
    pub key: String,
    /// The encoded key of the index entry: these columns, followed by the primary key's others.
    pub entry: Box<[u64]>,
}

impl UniqueViolation {
    /// The violation by an entry of `index`, whose key begins with the indexed columns.
    pub(crate) fn new(schema: &Schema, index: &IndexInfo, entry: &Key) -> Self {
        let key = describe_key(schema, &index.design.columns, entry);
        let (table, index) = (schema.name().to_owned(), index.design.name.clone());
        Self { table, index, key, entry: entry.words().into() }
    }
}

/// The leading columns of a key and their values, such as `town = 'Ghent', number = 7`.
pub fn describe_key(schema: &Schema, columns: &[usize], key: &Key) -> String {
    let mut at = 0;
    let parts = columns.iter().map(|&column| {
        let value = schema.read_key_part(key.words(), column, at);
        at += schema.key_part_bytes(column);
        let column = &schema.columns()[column];
        format!("{} = {}", column.name, shown(column.column_type, &value))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// A value as an SQL literal.
fn shown(column_type: ColumnType, value: &Value) -> String {
    match (value, column_type) {
        (Value::Int(value), ColumnType::Bool) => (*value != 0).to_string(),
        (Value::Int(value), ColumnType::Decimal { scale }) => decimal(*value, usize::from(scale)),
        (Value::Int(value), _) => value.to_string(),
        (Value::Float(value), _) => value.to_string(),
        (Value::Text(text), _) => format!("'{}'", text.replace('\'', "''")),
        (Value::Bytes(bytes), _) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("x'{digits}'")
        }
        (Value::Null, _) => "null".to_owned(),
    }
}

/// `units` times 10^-`scale`, as a decimal number.
fn decimal(units: i64, scale: usize) -> String {
    if scale == 0 {
        return units.to_string();
    }
    let sign = if units < 0 { "-" } else { "" };
    let digits = format!("{:0width$}", units.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_literals() {
        let money = ColumnType::Decimal { scale: 2 };
        for (kind, value, expected) in [
            (ColumnType::Int4, Value::Int(-7), "-7"),
            (ColumnType::Bool, Value::Int(1), "true"),
            (money, Value::Int(123_456), "1234.56"),
            (money, Value::Int(-5), "-0.05"),
            (ColumnType::Decimal { scale: 0 }, Value::Int(12), "12"),
            (ColumnType::Float8, Value::Float(2.5), "2.5"),
            (ColumnType::Varchar(9), Value::Text("O'Hara".to_owned()), "'O''Hara'"),
            (ColumnType::Bytes(4), Value::Bytes(vec![0, 255]), "x'00ff'"),
            (ColumnType::Int8, Value::Null, "null"),
        ] {
            assert_eq!(shown(kind, &value), expected);
        }
    }
}

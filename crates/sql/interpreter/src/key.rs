//! Builds keys of rows and ranges from SQL values.

use crate::cell::{BoundColumn, Cell, rescaled};
use layout::{Key, KeyBuilder};
use sql_value::Value;

/// How a value compares with the values that a key part can have.
#[derive(Clone, Copy)]
pub(crate) enum Fit {
    /// It is one of them; the key includes it.
    Exact(KeyBuilder),
    /// It is above this one and below the next.
    Above(KeyBuilder),
    /// It is below all of them.
    BelowAll,
    /// It is above all of them.
    AboveAll,
}

/// Appends the value of a column to a key. The value must not be null.
#[inline]
pub(crate) fn append(mut builder: KeyBuilder, column: &BoundColumn, value: &Value) -> Fit {
    if column.append_int(&mut builder, value) {
        return Fit::Exact(builder);
    }
    let builder = if column.nullable { builder.unsigned(0, 1) } else { builder };
    if let Some(digests) = column.digests {
        let digest = digests.of(bytes_of(value));
        let (digest, length) = (digest.as_slice(), u32::from(digests.bytes));
        return Fit::Exact(builder.padded(digest, length).unsigned(digest.len() as u64, 2));
    }
    match (column.cell, value) {
        (Cell::Int | Cell::Date, _) | (Cell::Decimal(_), Value::Int(_)) => {
            whole(builder, column, value)
        }
        (Cell::Decimal(scale), Value::Numeric(decimal)) => match rescaled(*decimal, scale) {
            Some((units, is_exact)) => bounded(units, is_exact, i128::from(i64::MAX), |units| {
                builder.signed(units as i64, 8)
            }),
            None if decimal.units < 0 => Fit::BelowAll,
            None => Fit::AboveAll,
        },
        (Cell::Bool, Value::Bool(value)) => Fit::Exact(builder.unsigned(u64::from(*value), 1)),
        (Cell::Float, Value::Float(value)) => Fit::Exact(builder.float8(*value)),
        (Cell::Text(length) | Cell::KeyText(length), Value::Text(text)) => {
            let bytes = text.as_bytes();
            match bytes.len() <= length as usize {
                true => Fit::Exact(builder.padded(bytes, length)),
                false => Fit::Above(builder.padded(&bytes[..length as usize], length)),
            }
        }
        (Cell::Bytes(length), Value::Bytes(bytes)) => {
            let key = |bytes: &[u8]| builder.padded(bytes, length).unsigned(bytes.len() as u64, 2);
            match bytes.len() <= length as usize {
                true => Fit::Exact(key(bytes)),
                false => Fit::Above(key(&bytes[..length as usize])),
            }
        }
        (Cell::Uuid, Value::Uuid(uuid)) => Fit::Exact(builder.padded(uuid, 16).unsigned(16, 2)),
        (_, value) => match column.units(value) {
            Some(units) => Fit::Exact(builder.signed(units, 8)),
            None => Fit::AboveAll,
        },
    }
}

/// The bytes of a text or of bytes.
fn bytes_of(value: &Value) -> &[u8] {
    match value {
        Value::Text(text) => text.as_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => &[],
    }
}

/// Appends the part of a value by which its digests are ordered; `None` if the column has none.
/// Values with this part may be on both sides of the value.
fn ordered_part(present: KeyBuilder, column: &BoundColumn, value: &Value) -> Option<KeyBuilder> {
    let kept = column.digests?.ordered_bytes();
    let bytes = bytes_of(value);
    Some(present.padded(&bytes[..bytes.len().min(kept as usize)], kept))
}

/// Appends an integer or date, which may be out of range for the column.
fn whole(builder: KeyBuilder, column: &BoundColumn, value: &Value) -> Fit {
    let width = column.key_bytes;
    let most = (1_i128 << (8 * width - 1)) - 1;
    let fit = |units, is_exact| {
        bounded(units, is_exact, most, |units| builder.signed(units as i64, width))
    };
    match (column.cell, value) {
        (Cell::Decimal(scale), Value::Int(value)) => {
            fit(i128::from(*value) * 10_i128.pow(u32::from(scale)), true)
        }
        (Cell::Int, Value::Numeric(decimal)) => match rescaled(*decimal, 0) {
            Some((units, is_exact)) => fit(units, is_exact),
            None => Fit::AboveAll,
        },
        (Cell::Int, Value::Int(value)) => fit(i128::from(*value), true),
        _ => column.units(value).map_or(Fit::AboveAll, |units| fit(i128::from(units), true)),
    }
}

fn bounded(units: i128, is_exact: bool, most: i128, key: impl Fn(i128) -> KeyBuilder) -> Fit {
    match units {
        units if units > most => Fit::AboveAll,
        units if units < -most - 1 => Fit::BelowAll,
        units if is_exact => Fit::Exact(key(units)),
        units => Fit::Above(key(units)),
    }
}

/// A bound of a range; the leading columns are fixed by equality.
#[derive(Clone, Copy)]
pub(crate) struct End<'v> {
    pub value: &'v Value,
    pub is_included: bool,
}

/// Returns the smallest and the largest key of a range, of `words` words; `None` if the range is
/// empty. `prefix` has the values of the leading columns, and the bounds are for the column `next`.
/// A range of digests is wider than its bounds: the caller checks them.
pub(crate) fn range(
    prefix: KeyBuilder,
    words: u32,
    next: Option<&BoundColumn>,
    (low, high): (Option<End<'_>>, Option<End<'_>>),
) -> Option<(Key, Key)> {
    let Some(column) = next.filter(|_| low.is_some() || high.is_some()) else {
        return Some((prefix.prefix_low(words), prefix.prefix_high(words)));
    };
    // A range with a bound contains no nulls.
    let present = if column.nullable { prefix.unsigned(0, 1) } else { prefix };
    if column.digests.is_some() {
        let part = |end: End<'_>| ordered_part(present, column, end.value);
        let low = low.map_or(Some(present), part)?.prefix_low(words);
        let high = high.map_or(Some(present), part)?.prefix_high(words);
        return (low <= high).then_some((low, high));
    }
    let fit = |end: &End<'_>| append(prefix, column, end.value);
    let low = match low {
        None => present.prefix_low(words),
        Some(end) => match fit(&end) {
            Fit::Exact(key) if end.is_included => key.prefix_low(words),
            Fit::Exact(key) | Fit::Above(key) => key.prefix_high(words).successor()?,
            Fit::BelowAll => present.prefix_low(words),
            Fit::AboveAll => return None,
        },
    };
    let high = match high {
        None => present.prefix_high(words),
        Some(end) => match fit(&end) {
            Fit::Exact(key) if !end.is_included => key.prefix_low(words).predecessor()?,
            Fit::Exact(key) | Fit::Above(key) => key.prefix_high(words),
            Fit::AboveAll => present.prefix_high(words),
            Fit::BelowAll => return None,
        },
    };
    (low <= high).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::{Column, ColumnType, Schema};
    use sql::types::Numeric;
    use sql::{Field, SqlType};
    use sql_value::Decimal;

    /// A table with one key column of a type, and the column.
    fn table(sql_type: SqlType, nullable: bool) -> (Schema, BoundColumn) {
        let column_type = sql_type.column_type().unwrap_or(ColumnType::Bool);
        let column = Column { nullable, ..Column::new("k", column_type) };
        let schema = Schema::new("t", vec![column], &[0]).expect("the column may be a key");
        let field = Field { name: "k".to_owned(), sql_type };
        let bound = BoundColumn::new(field, nullable, &schema, 0).expect("the type is known");
        (schema, bound)
    }

    /// Returns which of `values` are between two bounds.
    fn inside(
        sql_type: SqlType,
        [low, high]: [Option<(Value, bool)>; 2],
        values: Vec<Value>,
    ) -> Vec<Value> {
        let (schema, column) = table(sql_type, true);
        fn as_end(end: &Option<(Value, bool)>) -> Option<End<'_>> {
            end.as_ref().map(|(value, is_included)| End { value, is_included: *is_included })
        }
        let ends = (as_end(&low), as_end(&high));
        let found = range(KeyBuilder::new(), schema.key_words(), Some(&column), ends);
        let Some((low, high)) = found else { return Vec::new() };
        let key = |value: &Value| match value {
            Value::Null => KeyBuilder::new().unsigned(1, 1).prefix_low(schema.key_words()),
            value => match append(KeyBuilder::new(), &column, value) {
                Fit::Exact(key) => key.prefix_low(schema.key_words()),
                _ => panic!("{value:?} has a place in the column"),
            },
        };
        values.into_iter().filter(|value| (low..=high).contains(&key(value))).collect()
    }

    fn ints(numbers: &[i64]) -> Vec<Value> {
        numbers.iter().map(|number| Value::Int(*number)).collect()
    }

    #[test]
    fn ends_may_lie_outside_of_the_column() {
        let all = || [ints(&[-32768, 0, 5, 32767]), vec![Value::Null]].concat();
        let of = |low: Option<(i64, bool)>, high: Option<(i64, bool)>| {
            let end = |end: Option<(i64, bool)>| end.map(|(n, is)| (Value::Int(n), is));
            inside(SqlType::Int2, [end(low), end(high)], all())
        };
        assert_eq!(of(Some((0, true)), None), ints(&[0, 5, 32767]));
        assert_eq!(of(Some((0, false)), Some((32767, false))), ints(&[5]));
        assert_eq!(of(Some((-70000, true)), Some((70000, true))), ints(&[-32768, 0, 5, 32767]));
        assert!(of(Some((70000, true)), None).is_empty());
        assert!(of(None, Some((-70000, true))).is_empty());
        assert!(of(Some((32767, false)), None).is_empty());
        assert_eq!(of(None, None).len(), 5);
    }

    #[test]
    fn ends_between_two_values_leave_out_the_lower_one() {
        let money = SqlType::Numeric(Numeric::Declared { precision: 5, scale: 1 });
        let decimal = |units, scale| Value::Numeric(Decimal { units, scale });
        let all = || vec![decimal(-12, 1), decimal(12, 1), decimal(13, 1)];
        let end = Some((decimal(125, 2), true));
        assert_eq!(inside(money.clone(), [end.clone(), None], all()), [decimal(13, 1)]);
        assert_eq!(inside(money, [None, end], all()), [decimal(-12, 1), decimal(12, 1)]);
        let name = SqlType::Varchar(Some(2));
        let all = || ["a", "ab", "b"].map(Value::from).to_vec();
        let end = Some((Value::from("abc"), false));
        assert_eq!(inside(name.clone(), [end.clone(), None], all()), [Value::from("b")]);
        assert_eq!(inside(name, [None, end], all()), ["a", "ab"].map(Value::from));
    }
}

//! Keys of rows and ranges, from values of SQL.

use crate::cell::{BoundColumn, Cell, rescaled};
use layout::{Key, KeyBuilder, Schema};
use value::Value;

/// How a value stands to those that a key part can have.
#[derive(Clone, Copy)]
pub(crate) enum Fit {
    /// It is one of them: the key with it.
    Exact(KeyBuilder),
    /// It lies above this one and below the next.
    Above(KeyBuilder),
    /// It lies below all of them.
    BelowAll,
    /// It lies above all of them.
    AboveAll,
}

/// Appends the value of a column to a key. A null is no value here.
#[inline]
pub(crate) fn append(
    builder: KeyBuilder,
    schema: &Schema,
    column: &BoundColumn,
    at: usize,
    value: &Value,
) -> Fit {
    let builder = if column.nullable { builder.unsigned(0, 1) } else { builder };
    if let (Cell::Int, Value::Int(value)) = (column.cell, value)
        && column.holds(*value)
    {
        return Fit::Exact(builder.signed(*value, width(schema, column, at)));
    }
    match (column.cell, value) {
        (Cell::Int | Cell::Date, _) | (Cell::Decimal(_), Value::Int(_)) => {
            whole(builder, schema, column, at, value)
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
        (_, value) => match column.units(value) {
            Some(units) => Fit::Exact(builder.signed(units, 8)),
            None => Fit::AboveAll,
        },
    }
}

/// Bytes that the value takes, the flag for null left out.
fn width(schema: &Schema, column: &BoundColumn, at: usize) -> u32 {
    schema.key_part_bytes(at) - u32::from(column.nullable)
}

/// A whole number or date, which may be out of the column's range.
fn whole(
    builder: KeyBuilder,
    schema: &Schema,
    column: &BoundColumn,
    at: usize,
    value: &Value,
) -> Fit {
    let width = width(schema, column, at);
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

/// One end of a range, behind values of the first columns.
#[derive(Clone, Copy)]
pub(crate) struct End<'v> {
    pub value: &'v Value,
    pub is_included: bool,
}

/// The column behind the first ones that a range is about.
#[derive(Clone, Copy)]
pub(crate) struct Next<'c> {
    pub column: &'c BoundColumn,
    pub at: usize,
}

/// The keys from and to which a range goes, of `words` words; none if nothing is in it. `prefix` has the values of the
/// first columns.
pub(crate) fn range(
    schema: &Schema,
    prefix: KeyBuilder,
    words: u32,
    next: Option<Next<'_>>,
    (low, high): (Option<End<'_>>, Option<End<'_>>),
) -> Option<(Key, Key)> {
    let Some(Next { column, at }) = next.filter(|_| low.is_some() || high.is_some()) else {
        return Some((prefix.prefix_low(words), prefix.prefix_high(words)));
    };
    // Nulls are in no range that has an end.
    let present = if column.nullable { prefix.unsigned(0, 1) } else { prefix };
    let fit = |end: &End<'_>| append(prefix, schema, column, at, end.value);
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

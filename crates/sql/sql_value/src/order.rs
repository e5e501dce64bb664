//! Order, equality and hashes of values.
//!
//! Text compares by its bytes, as PostgreSQL does with the collation `C`. `character` values are
//! stored without trailing blanks.

use crate::value::{Decimal, Interval, Value};
use crate::{json, numeric};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// Compares two values of comparable types. Nulls equal each other and come after all other values:
/// this is the order for sorting and grouping. The caller handles SQL comparisons with null, whose
/// result is null.
///
/// Numbers of different types compare by their numeric value, and dates compare with timestamps.
pub fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::Numeric(left), Value::Numeric(right)) => numeric::order(*left, *right),
        (Value::Text(left), Value::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Greater,
        (_, Value::Null) => Ordering::Less,
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Float(left), Value::Float(right)) => order_floats(*left, *right),
        (Value::Bytes(left), Value::Bytes(right)) => left.cmp(right),
        (Value::Uuid(left), Value::Uuid(right)) => left.cmp(right),
        (Value::Json(left), Value::Json(right)) => json::order(left, right),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp(right),
        (Value::Interval(left), Value::Interval(right)) => span(*left).cmp(&span(*right)),
        (Value::Array(left), Value::Array(right)) | (Value::Row(left), Value::Row(right)) => {
            order_all(left, right)
        }
        _ => order_mixed(left, right),
    }
}

pub fn order_all(left: &[Value], right: &[Value]) -> Ordering {
    let pairs = left.iter().zip(right).map(|(left, right)| order(left, right));
    let difference = pairs.into_iter().find(|order| order.is_ne());
    difference.unwrap_or_else(|| left.len().cmp(&right.len()))
}

/// Compares floats: NaN equals itself, and is greater than all other floats.
pub fn order_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// Compares for `ORDER BY`; `nulls_first` applies regardless of the direction.
pub fn sort_order(left: &Value, right: &Value, descending: bool, nulls_first: bool) -> Ordering {
    match (left, right) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) if nulls_first => Ordering::Less,
        (Value::Null, _) => Ordering::Greater,
        (_, Value::Null) if nulls_first => Ordering::Greater,
        (_, Value::Null) => Ordering::Less,
        _ if descending => order(right, left),
        _ => order(left, right),
    }
}

/// `left = right`; null if either is.
#[inline]
pub fn equal(left: &Value, right: &Value) -> Option<bool> {
    if left.is_null() || right.is_null() {
        return None;
    }
    Some(order(left, right).is_eq())
}

/// Returns an interval's length with months of 30 days and days of 24 hours; intervals compare by
/// it.
fn span(interval: Interval) -> i128 {
    let days = i128::from(interval.months) * 30 + i128::from(interval.days);
    days * i128::from(crate::timestamp::DAY) + i128::from(interval.microseconds)
}

/// Compares values of different types. Values that are not comparable, which resolved expressions
/// do not contain, compare by type.
fn order_mixed(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Float(left), right) => order_floats(*left, as_float(right)),
        (left, Value::Float(right)) => order_floats(as_float(left), *right),
        (Value::Int(left), Value::Numeric(right)) => {
            numeric::order(Decimal::from_int(*left), *right)
        }
        (Value::Numeric(left), Value::Int(right)) => {
            numeric::order(*left, Decimal::from_int(*right))
        }
        (Value::Date(left), Value::Timestamp(right)) => days(*left).cmp(&i128::from(*right)),
        (Value::Timestamp(left), Value::Date(right)) => i128::from(*left).cmp(&days(*right)),
        _ => rank(left).cmp(&rank(right)),
    }
}

fn days(date: i32) -> i128 {
    match date {
        i32::MAX => i128::from(i64::MAX),
        i32::MIN => i128::from(i64::MIN),
        date => i128::from(date) * i128::from(crate::timestamp::DAY),
    }
}

fn as_float(value: &Value) -> f64 {
    match value {
        Value::Int(number) => *number as f64,
        Value::Numeric(number) => numeric::to_float(*number),
        _ => f64::NAN,
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Bool(_) => 0,
        Value::Int(_) | Value::Numeric(_) | Value::Float(_) => 1,
        Value::Text(_) => 2,
        Value::Bytes(_) => 3,
        Value::Date(_) | Value::Timestamp(_) => 4,
        Value::Interval(_) => 5,
        Value::Array(_) => 6,
        Value::Row(_) => 7,
        Value::Uuid(_) => 8,
        Value::Json(_) => 9,
        Value::Null => 10,
    }
}

/// Hashes a value so that equal values of one type have equal hashes. Nulls equal each other.
pub fn hash(value: &Value, state: &mut impl Hasher) {
    match value {
        Value::Null => state.write_u8(0),
        Value::Bool(truth) => state.write_u8(1 + u8::from(*truth)),
        Value::Int(number) | Value::Timestamp(number) => state.write_i64(*number),
        Value::Numeric(number) => {
            let shortest = numeric::without_zeros(*number);
            state.write_i128(shortest.units);
            state.write_u8(shortest.scale);
        }
        Value::Float(number) if number.is_nan() => state.write_u64(f64::NAN.to_bits()),
        // 0.0 and -0.0 are equal.
        Value::Float(number) => state.write_u64((number + 0.0).to_bits()),
        Value::Text(text) => text.as_bytes().hash(state),
        Value::Bytes(bytes) => bytes.hash(state),
        Value::Uuid(uuid) => uuid.hash(state),
        Value::Json(value) => json::hash(value, state),
        Value::Date(days) => state.write_i32(*days),
        Value::Interval(interval) => state.write_i128(span(*interval)),
        Value::Array(values) | Value::Row(values) => {
            state.write_usize(values.len());
            values.iter().for_each(|value| hash(value, state));
        }
    }
}

/// The key of a group, of a distinct row or of a hash table. Nulls equal each other.
#[derive(Clone, Debug)]
pub struct GroupKey(pub Vec<Value>);

impl PartialEq for GroupKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for GroupKey {}

impl PartialOrd for GroupKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for GroupKey {
    fn cmp(&self, other: &Self) -> Ordering {
        order_all(&self.0, &other.0)
    }
}

impl Hash for GroupKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|value| hash(value, state));
    }
}

//! Chooses the implementation of an operator by the types of its operands.

use super::{Binary, Unary};
use crate::error::{Error, Result};
use crate::integer::{self, Width};
use crate::value::{Decimal, Interval, Value};
use crate::{array, bytes, date, float, interval, numeric, real, text, time_of_day, timestamp};
use sql::expression::BinaryOperator;
use sql::types::SqlType;

#[cold]
fn unexpected(what: &str) -> Box<Error> {
    Error::internal(format!("a value is no {what}"))
}

pub(super) fn text_of(value: &Value) -> Result<&str> {
    value.as_text().ok_or_else(|| unexpected("text"))
}

pub(super) fn int_of(value: &Value) -> Result<i64> {
    value.as_int().ok_or_else(|| unexpected("integer"))
}

pub(super) fn numeric_of(value: &Value) -> Result<Decimal> {
    value.as_numeric().ok_or_else(|| unexpected("decimal"))
}

pub(super) fn float_of(value: &Value) -> Result<f64> {
    match value {
        Value::Float(number) => Ok(*number),
        _ => Err(unexpected("float")),
    }
}

pub(super) fn bytes_of(value: &Value) -> Result<&[u8]> {
    match value {
        Value::Bytes(bytes) => Ok(bytes),
        _ => Err(unexpected("bytea")),
    }
}

pub(super) fn time_of(value: &Value) -> Result<i64> {
    match value {
        Value::Timestamp(time) => Ok(*time),
        _ => Err(unexpected("timestamp")),
    }
}

pub(super) fn date_of(value: &Value) -> Result<i32> {
    match value {
        Value::Date(days) => Ok(*days),
        _ => Err(unexpected("date")),
    }
}

pub(super) fn interval_of(value: &Value) -> Result<Interval> {
    match value {
        Value::Interval(interval) => Ok(*interval),
        _ => Err(unexpected("interval")),
    }
}

pub(super) fn array_of(value: &Value) -> Result<&[Value]> {
    match value {
        Value::Array(values) => Ok(values),
        _ => Err(unexpected("array")),
    }
}

pub(super) fn negation(sql_type: &SqlType) -> Option<Unary> {
    Some(match sql_type {
        SqlType::Int2 => |a| Ok(Value::Int(integer::negate(Width::Two, int_of(a)?)?)),
        SqlType::Int4 => |a| Ok(Value::Int(integer::negate(Width::Four, int_of(a)?)?)),
        SqlType::Int8 => |a| Ok(Value::Int(integer::negate(Width::Eight, int_of(a)?)?)),
        SqlType::Numeric(_) => |a| Ok(Value::Numeric(numeric::negate(numeric_of(a)?))),
        SqlType::Float4 | SqlType::Float8 => |a| Ok(Value::Float(-float_of(a)?)),
        SqlType::Interval => |a| Ok(Value::Interval(interval::negate(interval_of(a)?)?)),
        _ => return None,
    })
}

/// Returns an arithmetic operator for any two types except integers and decimals.
pub(super) fn arithmetic(
    operator: BinaryOperator,
    left: &SqlType,
    right: &SqlType,
) -> Option<Binary> {
    match (left, right) {
        (SqlType::Array(_), SqlType::Array(_)) => of_arrays(operator),
        (left, right) if left.is_json() => super::json::operator(operator, left, right),
        (SqlType::Float8, SqlType::Float8) => of_floats(operator),
        (SqlType::Float4, SqlType::Float4) => of_reals(operator),
        (SqlType::Bytes, SqlType::Bytes) if operator == BinaryOperator::Concatenate => {
            Some(|a, b| Ok(Value::Bytes(bytes::concatenate(bytes_of(a)?, bytes_of(b)?).into())))
        }
        (SqlType::Interval, _) | (_, SqlType::Interval) => with_interval(operator, left, right),
        (SqlType::Time(_), SqlType::Time(_)) => of_times(operator, left, right),
        (left, right) if left.is_time() || right.is_time() => of_times(operator, left, right),
        (left, right) if operator == BinaryOperator::Concatenate => {
            let are_texts = left.is_text() && right.is_text();
            are_texts.then_some(|a, b| Ok(Value::Text(text::concatenate(text_of(a)?, text_of(b)?))))
        }
        _ => None,
    }
}

fn of_floats(operator: BinaryOperator) -> Option<Binary> {
    Some(match operator {
        BinaryOperator::Add => |a, b| Ok(Value::Float(float::add(float_of(a)?, float_of(b)?)?)),
        BinaryOperator::Subtract => {
            |a, b| Ok(Value::Float(float::subtract(float_of(a)?, float_of(b)?)?))
        }
        BinaryOperator::Multiply => {
            |a, b| Ok(Value::Float(float::multiply(float_of(a)?, float_of(b)?)?))
        }
        BinaryOperator::Divide => {
            |a, b| Ok(Value::Float(float::divide(float_of(a)?, float_of(b)?)?))
        }
        _ => return None,
    })
}

fn of_arrays(operator: BinaryOperator) -> Option<Binary> {
    Some(match operator {
        BinaryOperator::Contains => {
            |a, b| Ok(Value::Bool(array::contains(array_of(a)?, array_of(b)?)))
        }
        BinaryOperator::Contained => {
            |a, b| Ok(Value::Bool(array::contains(array_of(b)?, array_of(a)?)))
        }
        BinaryOperator::Overlaps => {
            |a, b| Ok(Value::Bool(array::overlaps(array_of(a)?, array_of(b)?)))
        }
        _ => return None,
    })
}

fn of_reals(operator: BinaryOperator) -> Option<Binary> {
    Some(match operator {
        BinaryOperator::Add => |a, b| real_of(float::add, a, b),
        BinaryOperator::Subtract => |a, b| real_of(float::subtract, a, b),
        BinaryOperator::Multiply => |a, b| real_of(float::multiply, a, b),
        BinaryOperator::Divide => |a, b| real_of(float::divide, a, b),
        _ => return None,
    })
}

fn real_of(apply: fn(f64, f64) -> Result<f64>, a: &Value, b: &Value) -> Result<Value> {
    Ok(Value::Float(real::computed(apply, float_of(a)?, float_of(b)?)?))
}

/// [PostgreSQL 15, table 9.31]
fn of_times(operator: BinaryOperator, left: &SqlType, right: &SqlType) -> Option<Binary> {
    Some(match (operator, left, right) {
        (BinaryOperator::Add, SqlType::Date, right) if right.is_integer() => {
            |a, b| Ok(Value::Date(date::add_days(date_of(a)?, int_of(b)?)?))
        }
        (BinaryOperator::Add, left, SqlType::Date) if left.is_integer() => {
            |a, b| Ok(Value::Date(date::add_days(date_of(b)?, int_of(a)?)?))
        }
        (BinaryOperator::Subtract, SqlType::Date, right) if right.is_integer() => {
            |a, b| Ok(Value::Date(date::add_days(date_of(a)?, -int_of(b)?)?))
        }
        (BinaryOperator::Subtract, SqlType::Date, SqlType::Date) => {
            |a, b| Ok(Value::Int(date::subtract(date_of(a)?, date_of(b)?)?))
        }
        (BinaryOperator::Subtract, SqlType::Time(_), _) => {
            |a, b| Ok(Value::Interval(time_of_day::subtract(time_of(a)?, time_of(b)?)))
        }
        (BinaryOperator::Subtract, _, _) => {
            |a, b| Ok(Value::Interval(timestamp::subtract(time_of(a)?, time_of(b)?)?))
        }
        _ => return None,
    })
}

fn with_interval(operator: BinaryOperator, left: &SqlType, right: &SqlType) -> Option<Binary> {
    Some(match (operator, left, right) {
        (BinaryOperator::Add, SqlType::Interval, SqlType::Interval) => {
            |a, b| Ok(Value::Interval(interval::add(interval_of(a)?, interval_of(b)?)?))
        }
        (BinaryOperator::Subtract, SqlType::Interval, SqlType::Interval) => {
            |a, b| Ok(Value::Interval(interval::subtract(interval_of(a)?, interval_of(b)?)?))
        }
        (BinaryOperator::Multiply, SqlType::Interval, SqlType::Float8) => {
            |a, b| Ok(Value::Interval(interval::multiply(interval_of(a)?, float_of(b)?)?))
        }
        (BinaryOperator::Multiply, SqlType::Float8, SqlType::Interval) => {
            |a, b| Ok(Value::Interval(interval::multiply(interval_of(b)?, float_of(a)?)?))
        }
        (BinaryOperator::Divide, SqlType::Interval, SqlType::Float8) => {
            |a, b| Ok(Value::Interval(interval::divide(interval_of(a)?, float_of(b)?)?))
        }
        (BinaryOperator::Add, SqlType::Interval, SqlType::Time(_)) => {
            |a, b| Ok(Value::Timestamp(time_of_day::add(time_of(b)?, interval_of(a)?)))
        }
        (BinaryOperator::Add, SqlType::Time(_), SqlType::Interval) => {
            |a, b| Ok(Value::Timestamp(time_of_day::add(time_of(a)?, interval_of(b)?)))
        }
        (BinaryOperator::Subtract, SqlType::Time(_), SqlType::Interval) => |a, b| {
            Ok(Value::Timestamp(time_of_day::subtract_interval(time_of(a)?, interval_of(b)?)))
        },
        (BinaryOperator::Add, SqlType::Interval, SqlType::TimestampTz(_)) => {
            |a, b| Ok(Value::Timestamp(timestamp::add_zoned(time_of(b)?, interval_of(a)?)?))
        }
        (BinaryOperator::Add, SqlType::TimestampTz(_), SqlType::Interval) => {
            |a, b| Ok(Value::Timestamp(timestamp::add_zoned(time_of(a)?, interval_of(b)?)?))
        }
        (BinaryOperator::Subtract, SqlType::TimestampTz(_), SqlType::Interval) => |a, b| {
            let moved = timestamp::add_zoned(time_of(a)?, interval::negate(interval_of(b)?)?)?;
            Ok(Value::Timestamp(moved))
        },
        (BinaryOperator::Add, SqlType::Interval, _) => {
            |a, b| Ok(Value::Timestamp(timestamp::add(time_of(b)?, interval_of(a)?)?))
        }
        (BinaryOperator::Add, _, SqlType::Interval) => {
            |a, b| Ok(Value::Timestamp(timestamp::add(time_of(a)?, interval_of(b)?)?))
        }
        (BinaryOperator::Subtract, _, SqlType::Interval) => {
            |a, b| Ok(Value::Timestamp(timestamp::subtract_interval(time_of(a)?, interval_of(b)?)?))
        }
        _ => return None,
    })
}

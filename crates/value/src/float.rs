//! `double precision`, as PostgreSQL computes and prints it [PostgreSQL 15, `src/backend/utils/adt/float.c`].

use crate::error::{Error, Result, sqlstate};
use compact_str::{CompactString, format_compact};

/// Largest decimal exponent of a float that is printed without an exponent.
const PLAIN_EXPONENT_MAX: i32 = 14;
/// The least one.
const PLAIN_EXPONENT_MIN: i32 = -4;

fn refuse(what: &str) -> Box<Error> {
    let message = format!("value out of range: {what}");
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

/// The result of an operation, if it is not infinite where no operand is.
#[inline]
fn bounded(result: f64, left: f64, right: f64) -> Result<f64> {
    if result.is_infinite() && !left.is_infinite() && !right.is_infinite() {
        return Err(refuse("overflow"));
    }
    Ok(result)
}

/// `left + right`.
#[inline]
pub fn add(left: f64, right: f64) -> Result<f64> {
    bounded(left + right, left, right)
}

/// `left - right`.
#[inline]
pub fn subtract(left: f64, right: f64) -> Result<f64> {
    bounded(left - right, left, right)
}

/// `left * right`.
#[inline]
pub fn multiply(left: f64, right: f64) -> Result<f64> {
    let result = bounded(left * right, left, right)?;
    if result == 0.0 && left != 0.0 && right != 0.0 {
        return Err(refuse("underflow"));
    }
    Ok(result)
}

/// `left / right`.
///
/// # Errors
/// 22012 if the divisor is zero.
#[inline]
pub fn divide(left: f64, right: f64) -> Result<f64> {
    if right == 0.0 && !left.is_nan() {
        return Err(Error::division_by_zero());
    }
    let result = left / right;
    if result.is_infinite() && !left.is_infinite() {
        return Err(refuse("overflow"));
    }
    if result == 0.0 && left != 0.0 && !right.is_infinite() {
        return Err(refuse("underflow"));
    }
    Ok(result)
}

/// -1, 0 or 1.
pub fn sign(number: f64) -> f64 {
    match number {
        number if number > 0.0 => 1.0,
        number if number < 0.0 => -1.0,
        _ => 0.0,
    }
}

/// The nearest whole number, halves to even, if it is from `least` to `-least - 1`.
pub fn to_int(number: f64, least: i64) -> Option<i64> {
    let rounded = number.round_ties_even();
    let bound = least as f64;
    (rounded >= bound && rounded < -bound).then_some(rounded as i64)
}

/// The float as text: the fewest digits that are read as the same float.
pub fn text(number: f64) -> CompactString {
    if number.is_nan() {
        return CompactString::const_new("NaN");
    }
    if number.is_infinite() {
        return CompactString::const_new(if number > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let exponential = format_compact!("{number:e}");
    let (mantissa, exponent) = exponential.split_once('e').unwrap_or((&exponential, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (PLAIN_EXPONENT_MIN..=PLAIN_EXPONENT_MAX).contains(&exponent) {
        return format_compact!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format_compact!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Reads a float, which may have white space around it.
///
/// # Errors
/// 22P02 if it is none, 22003 if it is beyond the type.
pub fn parse(text: &str) -> Result<f64> {
    let trimmed = text.trim_matches(crate::numeric::is_space);
    let invalid = || Error::invalid_text("double precision", text);
    let number: f64 = trimmed.parse().map_err(|_| invalid())?;
    let lower = trimmed.to_ascii_lowercase();
    let digits = || trimmed.bytes().take_while(|byte| !matches!(byte, b'e' | b'E'));
    let vanishes = number == 0.0 && digits().any(|byte| matches!(byte, b'1'..=b'9'));
    if vanishes || number.is_infinite() && !lower.contains("inf") {
        let message = format!("\"{trimmed}\" is out of range for type double precision");
        return Err(Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    Ok(number)
}

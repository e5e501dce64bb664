//! `double precision`, computed and printed as in PostgreSQL [PostgreSQL 15,
//! `src/backend/utils/adt/float.c`].

use crate::error::{Error, Result, sqlstate};
use compact_str::{CompactString, format_compact};

/// Largest decimal exponent that is printed in positional notation.
const PLAIN_EXPONENT_MAX: i32 = 14;
/// Smallest decimal exponent that is printed in positional notation.
const PLAIN_EXPONENT_MIN: i32 = -4;

fn refuse(what: &str) -> Box<Error> {
    let message = format!("value out of range: {what}");
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

/// Returns the result unless it is infinite and both operands are finite (overflow).
#[inline]
fn bounded(result: f64, left: f64, right: f64) -> Result<f64> {
    if result.is_infinite() && !left.is_infinite() && !right.is_infinite() {
        return Err(refuse("overflow"));
    }
    Ok(result)
}

#[inline]
pub fn add(left: f64, right: f64) -> Result<f64> {
    bounded(left + right, left, right)
}

#[inline]
pub fn subtract(left: f64, right: f64) -> Result<f64> {
    bounded(left - right, left, right)
}

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

/// Rounds to the nearest integer, half to even; `None` unless it is from `least` to `-least - 1`.
pub fn to_int(number: f64, least: i64) -> Option<i64> {
    let rounded = number.round_ties_even();
    let bound = least as f64;
    (rounded >= bound && rounded < -bound).then_some(rounded as i64)
}

/// Prints the float with the fewest digits that parse back to the same float.
pub fn text(number: f64) -> CompactString {
    if number.is_nan() {
        return CompactString::const_new("NaN");
    }
    if number.is_infinite() {
        return CompactString::const_new(if number > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let exponential = shortest(number);
    let (mantissa, exponent) = exponential.split_once('e').unwrap_or((&exponential, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (PLAIN_EXPONENT_MIN..=PLAIN_EXPONENT_MAX).contains(&exponent) {
        // A text halfway between two floats has more digits than positional notation shows here.
        let decimals = (decimals(mantissa) as i32 - exponent).max(0) as usize;
        return format_compact!("{number:.decimals$}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format_compact!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Prints the float rounded to a number of digits, at least one, as `%g` of C.
pub fn rounded(number: f64, digits: i32) -> CompactString {
    if !number.is_finite() {
        return text(number);
    }
    let digits = digits.max(1);
    let exponential = format_compact!("{number:.*e}", digits as usize - 1);
    let (mantissa, exponent) = exponential.split_once('e').unwrap_or((&exponential, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let trimmed = |text: &str| match text.contains('.') {
        true => CompactString::from(text.trim_end_matches('0').trim_end_matches('.')),
        false => CompactString::from(text),
    };
    if (PLAIN_EXPONENT_MIN..digits).contains(&exponent) {
        let decimals = (digits - 1 - exponent).max(0) as usize;
        return trimmed(&format_compact!("{number:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format_compact!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}

/// Returns the fewest digits that are closer to this float than to any other. A text exactly
/// halfway between two floats would still parse as one of them, but PostgreSQL does not rely on
/// that.
fn shortest(number: f64) -> CompactString {
    let text = even(number, format_compact!("{number:e}"));
    if !is_halfway(number, &text) {
        return text;
    }
    (0..17)
        .map(|digits| format_compact!("{number:.digits$e}"))
        .find(|text| text.parse() == Ok(number) && !is_halfway(number, text))
        .unwrap_or(text)
}

/// Of two texts equally close to the float, returns the one whose last digit is even; the standard
/// library returns the larger one.
fn even(number: f64, text: CompactString) -> CompactString {
    let (mantissa, _) = text.split_once('e').unwrap_or((&text, "0"));
    let decimals = decimals(mantissa);
    // Only floats with few digits lie halfway between two shorter texts.
    if decimals + 1 < f64::DIGITS as usize {
        return text;
    }
    let even = format_compact!("{number:.decimals$e}");
    if even.parse() == Ok(number) { even } else { text }
}

/// Number of digits after the decimal point.
fn decimals(mantissa: &str) -> usize {
    mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len())
}

/// Whether the text is exactly halfway between the float and one of its neighbours.
fn is_halfway(number: f64, text: &str) -> bool {
    /// Most factors of five in a 54-bit number.
    const FIVES_MAX: i32 = 23;
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let fraction = decimals(mantissa) as i32;
    let digits: u128 = mantissa
        .bytes()
        .filter(u8::is_ascii_digit)
        .fold(0, |number, digit| number * 10 + u128::from(digit - b'0'));
    let power = exponent.parse::<i32>().unwrap_or_default() - fraction;
    if power.abs() > FIVES_MAX || digits == 0 {
        return false;
    }
    let bits = number.abs().to_bits();
    let (stored, exponent) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
    let (whole, exponent) = match exponent {
        0 => (stored, -1074),
        exponent => (stored | 1 << 52, exponent - 1075),
    };
    let fives = 5_u128.pow(power.unsigned_abs());
    [2 * u128::from(whole) + 1, 2 * u128::from(whole) - 1].into_iter().any(|half| {
        // digits * 10^power = half * 2^(exponent - 1), with the fives on the side where they are
        // whole.
        let (left, right) =
            if power >= 0 { (digits * fives, half) } else { (digits, half * fives) };
        let twos = |number: u128| number.trailing_zeros() as i32;
        left >> twos(left) == right >> twos(right)
            && twos(left) + power == twos(right) + exponent - 1
    })
}

/// Parses a float, with optional white space around it.
///
/// # Errors
/// 22P02 if the text is not a number, 22003 if it is out of range.
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

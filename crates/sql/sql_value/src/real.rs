//! `real`: a [`crate::Value::Float`] that a single-precision float holds exactly [PostgreSQL 15,
//! `src/backend/utils/adt/float.c`].

use crate::error::{Error, Result, sqlstate};
use crate::float;
use crate::numeric;
use crate::value::Decimal;
use compact_str::{CompactString, format_compact};

/// Decimal exponents that are printed in positional notation.
const PLAIN_EXPONENTS: std::ops::Range<i32> = -4..6;
/// Significant digits of a `real` as a decimal.
const DIGITS: usize = 6;

/// Rounds to single precision.
///
/// # Errors
/// 22003 if the number is too large, or too small to differ from zero.
pub fn of_float(number: f64) -> Result<f64> {
    let single = number as f32;
    let refuse = |what: &str| {
        let message = format!("value out of range: {what}");
        Err(Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message))
    };
    if single.is_infinite() && number.is_finite() {
        return refuse("overflow");
    }
    if single == 0.0 && number != 0.0 {
        return refuse("underflow");
    }
    Ok(f64::from(single))
}

/// Rounds a decimal once, from its digits.
///
/// # Errors
/// 22003 if it is out of range.
pub fn of_numeric(number: Decimal) -> Result<f64> {
    parse(&numeric::text(number))
}

/// To a decimal of six significant digits.
///
/// # Errors
/// 22003 if it has too many digits.
pub fn to_numeric(number: f64) -> Result<Decimal> {
    if !number.is_finite() {
        return numeric::from_float(number);
    }
    numeric::parse(&format!("{number:.*e}", DIGITS - 1)).map(numeric::without_zeros)
}

/// Computes in single precision. Double precision has more than twice the digits, so that rounding
/// its result is exact.
pub fn computed(apply: fn(f64, f64) -> Result<f64>, left: f64, right: f64) -> Result<f64> {
    of_float(apply(left, right)?)
}

/// Prints the number with the fewest digits that parse back to the same number.
pub fn text(number: f64) -> CompactString {
    let single = number as f32;
    if !single.is_finite() || single == 0.0 {
        return float::text(number);
    }
    let exponential = format_compact!("{single:e}");
    let (digits, exponent) = exponential.split_once('e').unwrap_or((&exponential, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if PLAIN_EXPONENTS.contains(&exponent) {
        return format_compact!("{single}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format_compact!("{digits}e{sign}{:02}", exponent.abs())
}

/// Parses a number, with optional white space around it.
///
/// # Errors
/// 22P02 if the text is not a number, 22003 if it is out of range.
pub fn parse(text: &str) -> Result<f64> {
    let trimmed = text.trim_matches(numeric::is_space);
    let number: f32 = trimmed.parse().map_err(|_| Error::invalid_text("real", text))?;
    let digits = || trimmed.bytes().take_while(|byte| !matches!(byte, b'e' | b'E'));
    let vanishes = number == 0.0 && digits().any(|byte| matches!(byte, b'1'..=b'9'));
    if vanishes || number.is_infinite() && !trimmed.to_ascii_lowercase().contains("inf") {
        let message = format!("\"{trimmed}\" is out of range for type real");
        return Err(Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    Ok(f64::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_few_digits() {
        for (number, printed) in [
            (0.1_f32, "0.1"),
            (-1.5, "-1.5"),
            (123_456.0, "123456"),
            (1_234_567.0, "1.234567e+06"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (f32::MAX, "3.4028235e+38"),
            (0.0, "0"),
            (f32::NAN, "NaN"),
        ] {
            assert_eq!(text(f64::from(number)), printed);
        }
        assert!(parse("1e39").is_err() && parse("1e-60").is_err() && parse("x").is_err());
        assert_eq!(parse(" 0.1 "), Ok(f64::from(0.1_f32)));
        assert!(of_float(1e39).is_err() && of_float(1e-60).is_err());
    }
}

//! Numbers of any precision, as the text that `numeric` prints.

use crate::error::{Error, Result, sqlstate};
use compact_str::CompactString;
use std::cmp::Ordering;

/// Most digits before the point, as in PostgreSQL.
const WHOLE_MAX: i64 = 131_072;
/// Most digits behind the point, as in PostgreSQL.
const FRACTION_MAX: i64 = 16_383;

fn overflow() -> Box<Error> {
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
}

/// The decimal of a number in JSON's syntax, without an exponent.
///
/// # Errors
/// 22003 if it has too many digits.
pub(super) fn of_syntax(written: &str) -> Result<CompactString> {
    let (mantissa, exponent) = match written.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse().map_err(|_| overflow())?),
        None => (written, 0_i64),
    };
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let scale = (fraction.len() as i64).checked_sub(exponent).ok_or_else(overflow)?.max(0);
    let is_zero = digits.bytes().all(|digit| digit == b'0');
    if scale > FRACTION_MAX {
        return Err(overflow());
    }
    let mut text = CompactString::default();
    if is_zero {
        text.push('0');
        append_fraction(&"0".repeat(scale as usize), &mut text);
        return Ok(text);
    }
    // The position of the point in the digits.
    let point = whole.len() as i64 + exponent.clamp(-1 << 40, 1 << 40);
    let leading = digits.bytes().take_while(|digit| *digit == b'0').count() as i64;
    if point - leading > WHOLE_MAX {
        return Err(overflow());
    }
    text.push_str(sign);
    let padded = digits.chars().chain(std::iter::repeat('0'));
    let padded = padded.take(point.max(0) as usize).skip(leading as usize);
    text.extend(padded);
    if point <= leading {
        text.push('0');
    }
    let zeros = "0".repeat((-point).max(0) as usize);
    let behind = &digits[digits.len().min(point.max(0) as usize)..];
    append_fraction(&(zeros + behind), &mut text);
    Ok(text)
}

fn append_fraction(digits: &str, text: &mut CompactString) {
    if !digits.is_empty() {
        text.push('.');
        text.push_str(digits);
    }
}

/// Compares two decimals by their value.
pub(super) fn order(left: &str, right: &str) -> Ordering {
    let (left_positive, left) = signed(left);
    let (right_positive, right) = signed(right);
    match (left_positive, right_positive) {
        (true, true) => magnitude(left, right),
        (false, false) => magnitude(right, left),
        (positive, _) => positive.cmp(&!positive),
    }
}

fn signed(number: &str) -> (bool, &str) {
    match number.strip_prefix('-') {
        Some(rest) => (false, rest),
        None => (true, number),
    }
}

fn magnitude(left: &str, right: &str) -> Ordering {
    let parts = |number| -> (&str, &str) {
        let (whole, fraction) = str::split_once(number, '.').unwrap_or((number, ""));
        (whole, fraction.trim_end_matches('0'))
    };
    let ((left, left_fraction), (right, right_fraction)) = (parts(left), parts(right));
    left.len()
        .cmp(&right.len())
        .then_with(|| left.cmp(right))
        .then_with(|| left_fraction.cmp(right_fraction))
}

/// The number without zeros at the end of its fraction.
pub(super) fn shortest(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_move_the_point() {
        for (written, printed) in [
            ("0", "0"),
            ("-0.00", "0.00"),
            ("1.5e3", "1500"),
            ("1.2345e2", "123.45"),
            ("-12e-5", "-0.00012"),
            ("12e-2", "0.12"),
            ("120e-1", "12.0"),
            ("0.001e2", "0.1"),
            ("0.001e5", "100"),
            ("0e10", "0"),
            ("0e-3", "0.000"),
            ("100", "100"),
        ] {
            assert_eq!(of_syntax(written).expect(written), printed, "{written}");
        }
        for written in ["1e131072", "1e-16384", "1e99999999999999999999", "1e9223372036854775807"] {
            assert!(of_syntax(written).is_err(), "{written}");
        }
        assert_eq!(of_syntax("1e131071").expect("it has just enough digits").len(), 131_072);
    }

    #[test]
    fn numbers_compare_by_value() {
        let sorted = ["-10", "-9.5", "-0.10", "0", "0.09", "0.1", "2", "10", "10.01"];
        for (at, left) in sorted.iter().enumerate() {
            for (to, right) in sorted.iter().enumerate() {
                assert_eq!(order(left, right), at.cmp(&to), "{left} {right}");
            }
        }
        assert!(order("1.50", "1.5").is_eq());
        assert_eq!((shortest("1.50"), shortest("100"), shortest("2.00")), ("1.5", "100", "2"));
    }
}

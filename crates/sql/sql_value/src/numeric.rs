//! `numeric`: decimals of up to 38 digits, with PostgreSQL's display scale.
//!
//! A value that needs more digits is an error, whereas PostgreSQL allows 131072; NaN and infinities
//! are not supported. [PostgreSQL 15, `src/backend/utils/adt/numeric.c`]
//!
//! Decision: docs/decisions/0171-decimals-have-38-digits.md

use crate::error::{Error, Result, sqlstate};
use crate::value::Decimal;
use compact_str::CompactString;
use std::cmp::Ordering;

/// Number of digits that always fit.
pub const DIGITS_MAX: u32 = 38;
/// Minimum number of significant digits of a quotient (`NUMERIC_MIN_SIG_DIGITS`).
const QUOTIENT_DIGITS: i32 = 16;
/// Decimal digits in one of PostgreSQL's base-10000 digits (`DEC_DIGITS`), which determine the
/// scale of a quotient.
const GROUP: i32 = 4;

const POWERS: [i128; DIGITS_MAX as usize + 1] = {
    let mut powers = [1; DIGITS_MAX as usize + 1];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

impl Decimal {
    /// `units` times ten to the power of minus `scale`.
    #[inline]
    pub const fn new(units: i128, scale: u8) -> Self {
        Self { units, scale }
    }

    #[inline]
    pub const fn from_int(number: i64) -> Self {
        Self { units: number as i128, scale: 0 }
    }

    /// Number of digits without leading zeros.
    fn digits(self) -> i32 {
        self.units.unsigned_abs().checked_ilog10().map_or(0, |log| log as i32 + 1)
    }
}

/// The number needs more than 38 digits.
#[cold]
fn too_wide() -> Box<Error> {
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
        .detail(format!("A numeric has at most {DIGITS_MAX} digits here."))
        .hint("Round the operands to fewer digits behind the point.")
}

/// Returns the units if they have at most 38 digits.
#[inline]
fn bounded(units: Option<i128>) -> Result<i128> {
    const BOUND: u128 = POWERS[DIGITS_MAX as usize].unsigned_abs();
    match units {
        Some(units) if units.unsigned_abs() < BOUND => Ok(units),
        _ => Err(too_wide()),
    }
}

fn power(exponent: u32) -> Result<i128> {
    POWERS.get(exponent as usize).copied().ok_or_else(too_wide)
}

/// Returns the units of the number at a larger scale.
#[inline]
fn units_at(number: Decimal, scale: u8) -> Result<i128> {
    if number.scale == scale || number.units == 0 {
        return Ok(number.units);
    }
    bounded(number.units.checked_mul(power(u32::from(scale - number.scale))?))
}

#[inline]
fn aligned(left: Decimal, right: Decimal) -> Result<(i128, i128, u8)> {
    if left.scale == right.scale {
        return Ok((left.units, right.units, left.scale));
    }
    let scale = left.scale.max(right.scale);
    Ok((units_at(left, scale)?, units_at(right, scale)?, scale))
}

#[inline]
pub fn add(left: Decimal, right: Decimal) -> Result<Decimal> {
    let (left, right, scale) = aligned(left, right)?;
    Ok(Decimal::new(bounded(left.checked_add(right))?, scale))
}

#[inline]
pub fn subtract(left: Decimal, right: Decimal) -> Result<Decimal> {
    let (left, right, scale) = aligned(left, right)?;
    Ok(Decimal::new(bounded(left.checked_sub(right))?, scale))
}

/// `left * right`; the scale is the sum of both scales.
#[inline]
pub fn multiply(left: Decimal, right: Decimal) -> Result<Decimal> {
    let units = match (i64::try_from(left.units), i64::try_from(right.units)) {
        (Ok(left), Ok(right)) => i128::from(left) * i128::from(right),
        _ => bounded(left.units.checked_mul(right.units))?,
    };
    Ok(Decimal::new(units, left.scale.checked_add(right.scale).ok_or_else(too_wide)?))
}

/// `left / right` with at least 16 significant digits, rounded half away from zero.
///
/// # Errors
/// 22012 if the divisor is zero.
pub fn divide(left: Decimal, right: Decimal) -> Result<Decimal> {
    if right.units == 0 {
        return Err(Error::division_by_zero());
    }
    let scale = quotient_scale(left, right);
    quotient(left, right, scale)
}

/// Returns the quotient at `scale`.
fn quotient(left: Decimal, right: Decimal, scale: u8) -> Result<Decimal> {
    let negative = (left.units < 0) != (right.units < 0);
    let mut divisor = right.units.unsigned_abs();
    let mut shift = i32::from(scale) + i32::from(right.scale) - i32::from(left.scale);
    let dividend = left.units.unsigned_abs();
    if shift < 0 {
        divisor = power(-shift as u32)
            .ok()
            .and_then(|power| divisor.checked_mul(power.unsigned_abs()))
            .ok_or_else(too_wide)?;
        shift = 0;
    }
    let (mut whole, mut rest) = (dividend / divisor, dividend % divisor);
    while shift > 0 {
        let room = (u128::MAX / rest.max(1)).ilog10().min(shift as u32).min(DIGITS_MAX);
        if room == 0 {
            return Err(too_wide());
        }
        let factor = power(room)?.unsigned_abs();
        let next = rest * factor;
        whole = whole
            .checked_mul(factor)
            .and_then(|whole| whole.checked_add(next / divisor))
            .ok_or_else(too_wide)?;
        rest = next % divisor;
        shift -= room as i32;
    }
    if rest >= divisor - rest {
        whole += 1;
    }
    let units = bounded(i128::try_from(whole).ok())?;
    Ok(Decimal::new(if negative { -units } else { units }, scale))
}

/// Returns the scale of a quotient (`select_div_scale`).
fn quotient_scale(left: Decimal, right: Decimal) -> u8 {
    let (left_weight, left_digit) = first_group(left);
    let (right_weight, right_digit) = first_group(right);
    let mut weight = left_weight - right_weight;
    if left_digit <= right_digit {
        weight -= 1;
    }
    let scale = QUOTIENT_DIGITS - weight * GROUP;
    scale.clamp(left.scale.max(right.scale).into(), u8::MAX.into()) as u8
}

/// Returns the weight and the value of the first non-zero digit in base 10000, PostgreSQL's
/// representation.
fn first_group(number: Decimal) -> (i32, u128) {
    let digits = number.digits();
    if digits == 0 {
        return (0, 0);
    }
    let exponent = digits - i32::from(number.scale) - 1;
    let weight = exponent.div_euclid(GROUP);
    let wanted = exponent.rem_euclid(GROUP) + 1;
    let units = number.units.unsigned_abs();
    let group = if digits >= wanted {
        units / POWERS[(digits - wanted) as usize].unsigned_abs()
    } else {
        units * POWERS[(wanted - digits) as usize].unsigned_abs()
    };
    (weight, group)
}

/// Remainder of `left / right`, with the sign of the dividend.
///
/// # Errors
/// 22012 if the divisor is zero.
pub fn modulo(left: Decimal, right: Decimal) -> Result<Decimal> {
    if right.units == 0 {
        return Err(Error::division_by_zero());
    }
    let (left, right, scale) = aligned(left, right)?;
    Ok(Decimal::new(left.checked_rem(right).unwrap_or(0), scale))
}

#[inline]
pub fn negate(number: Decimal) -> Decimal {
    Decimal::new(-number.units, number.scale)
}

#[inline]
pub fn abs(number: Decimal) -> Decimal {
    Decimal::new(number.units.abs(), number.scale)
}

/// -1, 0 or 1.
pub fn sign(number: Decimal) -> Decimal {
    Decimal::new(number.units.signum(), 0)
}

/// Rounding of dropped digits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    HalfAway,
    Down,
    Up,
    Zero,
}

/// Drops the last `count` digits.
fn drop_digits(units: i128, count: u32, rounding: Rounding) -> i128 {
    let Some(&power) = POWERS.get(count as usize) else {
        return match rounding {
            Rounding::Down if units < 0 => -1,
            Rounding::Up if units > 0 => 1,
            _ => 0,
        };
    };
    let (whole, rest) = (units / power, units % power);
    match rounding {
        Rounding::HalfAway if rest.abs() >= power - rest.abs() => whole + units.signum(),
        Rounding::Down if rest < 0 => whole - 1,
        Rounding::Up if rest > 0 => whole + 1,
        _ => whole,
    }
}

/// Returns the number at `scale`; a negative scale rounds to tens, hundreds and so on.
fn with_scale(number: Decimal, scale: i32, rounding: Rounding) -> Result<Decimal> {
    let dropped = i32::from(number.scale).saturating_sub(scale);
    if dropped <= 0 {
        let scale = u8::try_from(scale).map_err(|_| too_wide())?;
        return Ok(Decimal::new(units_at(number, scale)?, scale));
    }
    let units = drop_digits(number.units, dropped as u32, rounding);
    if scale >= 0 {
        return Ok(Decimal::new(units, scale as u8));
    }
    if units == 0 {
        return Ok(Decimal::new(0, 0));
    }
    let zeros = power(scale.unsigned_abs())?;
    Ok(Decimal::new(bounded(units.checked_mul(zeros))?, 0))
}

/// Rounds to `scale`, half away from zero.
#[inline]
pub fn round(number: Decimal, scale: i32) -> Result<Decimal> {
    with_scale(number, scale, Rounding::HalfAway)
}

/// Truncates to `scale`.
pub fn trunc(number: Decimal, scale: i32) -> Result<Decimal> {
    with_scale(number, scale, Rounding::Zero)
}

/// Rounds down to an integer.
pub fn floor(number: Decimal) -> Result<Decimal> {
    with_scale(number, 0, Rounding::Down)
}

/// Rounds up to an integer.
pub fn ceil(number: Decimal) -> Result<Decimal> {
    with_scale(number, 0, Rounding::Up)
}

/// Casts to `numeric(precision, scale)`.
///
/// # Errors
/// 22003 if it has more digits than `precision`.
#[inline]
pub fn fit(number: Decimal, precision: u8, scale: u8) -> Result<Decimal> {
    let number =
        if number.scale == scale { number } else { round_to_fit(number, precision, scale)? };
    if number.units.abs() >= power(precision.into())? {
        return Err(overflow(precision, scale));
    }
    Ok(number)
}

fn round_to_fit(number: Decimal, precision: u8, scale: u8) -> Result<Decimal> {
    round(number, scale.into()).map_err(|_| overflow(precision, scale))
}

#[cold]
fn overflow(precision: u8, scale: u8) -> Box<Error> {
    let digits = i32::from(precision) - i32::from(scale);
    let bound = if digits == 0 { "1".to_owned() } else { format!("10^{digits}") };
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").detail(format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value less than {bound}."
    ))
}

/// Compares two numbers; trailing zeros after the decimal point do not count.
#[inline]
pub fn order(left: Decimal, right: Decimal) -> Ordering {
    if left.scale == right.scale {
        let (left, right) = (left.units, right.units);
        return left.cmp(&right);
    }
    if let Ok((left, right, _)) = aligned(left, right) {
        return left.cmp(&right);
    }
    let wider = if left.scale < right.scale { left.units } else { right.units };
    // The number with the smaller scale is too large to be represented at the other's scale, so it
    // is farther from 0.
    let order = wider.cmp(&0);
    if left.scale < right.scale { order } else { order.reverse() }
}

/// Returns the number without trailing zeros after the decimal point.
pub fn without_zeros(mut number: Decimal) -> Decimal {
    if number.units == 0 {
        return Decimal::new(0, 0);
    }
    while number.scale > 0 && number.units % 10 == 0 {
        number.units /= 10;
        number.scale -= 1;
    }
    number
}

/// Rounds to the nearest integer, half away from zero; `None` if it does not fit in 64 bits.
#[inline]
pub fn to_int(number: Decimal) -> Option<i64> {
    let units = match number.scale {
        0 => number.units,
        scale => drop_digits(number.units, scale.into(), Rounding::HalfAway),
    };
    i64::try_from(units).ok()
}

/// Rounds to the nearest float.
pub fn to_float(number: Decimal) -> f64 {
    /// All integers up to this one are floats.
    const EXACT: u128 = 1 << 53;
    // Both operands are exact, so that only the quotient is rounded.
    if number.units.unsigned_abs() <= EXACT && number.scale <= 22 {
        return number.units as f64 / POWERS[usize::from(number.scale)] as f64;
    }
    text(number).parse().unwrap_or(f64::NAN)
}

/// Converts a float, rounded to the 15 digits that every float has.
///
/// # Errors
/// 22003 for infinities, NaN, and numbers too large or too small for 38 digits.
pub fn from_float(number: f64) -> Result<Decimal> {
    if !number.is_finite() {
        return Err(too_wide());
    }
    let decimal = parse(&format!("{number:.14e}"))?;
    Ok(without_zeros(decimal))
}

pub fn text(number: Decimal) -> CompactString {
    // Room for 39 digits of units, sign, decimal point and leading zeros.
    let mut buffer = [b'0'; u8::MAX as usize + 44];
    let mut at = buffer.len();
    let mut units = number.units.unsigned_abs();
    let mut written = 0;
    let scale = usize::from(number.scale);
    while units > 0 || written <= scale {
        // Print the lower half of a long number first: 64-bit division is much faster.
        let (mut part, steps) = match u64::try_from(units) {
            Ok(part) => {
                units = 0;
                (part, 0)
            }
            Err(_) => {
                let part = (units % 10_000_000_000_000_000_000) as u64;
                units /= 10_000_000_000_000_000_000;
                (part, 19)
            }
        };
        let mut done = 0;
        while part > 0 || done < steps || units == 0 && written <= scale {
            if written == scale && scale > 0 {
                at -= 1;
                buffer[at] = b'.';
            }
            at -= 1;
            buffer[at] = b'0' + (part % 10) as u8;
            part /= 10;
            written += 1;
            done += 1;
        }
    }
    if number.units < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    CompactString::from_utf8_lossy(&buffer[at..])
}

/// Parses a number: digits, optional decimal point, optional exponent.
///
/// # Errors
/// 22P02 if the text is not a number, 22003 if it has too many digits, or is NaN or infinite.
pub fn parse(text: &str) -> Result<Decimal> {
    let invalid = || Error::invalid_text("numeric", text);
    let trimmed = text.trim_matches(is_space);
    let lower = trimmed.to_ascii_lowercase();
    let unsigned = lower.trim_start_matches(['+', '-']);
    if matches!(unsigned, "nan" | "inf" | "infinity") {
        return Err(too_wide());
    }
    let (negative, digits) = match trimmed.as_bytes().first() {
        Some(b'-') => (true, &trimmed[1..]),
        Some(b'+') => (false, &trimmed[1..]),
        _ => (false, trimmed),
    };
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent_of(exponent).ok_or_else(invalid)?),
        None => (digits, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = || whole.bytes().chain(fraction.bytes());
    if all().next().is_none() || !all().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid());
    }
    let mut units: i128 = 0;
    for digit in all() {
        let next = units.checked_mul(10).and_then(|units| units.checked_add((digit - b'0').into()));
        units = bounded(next)?;
    }
    let scale = fraction.len() as i64 - exponent;
    let units = if negative { -units } else { units };
    if scale >= 0 {
        return Ok(Decimal::new(units, u8::try_from(scale).map_err(|_| too_wide())?));
    }
    let zeros = u32::try_from(-scale).ok();
    let factor = if units == 0 { 1 } else { power(zeros.unwrap_or(u32::MAX))? };
    Ok(Decimal::new(bounded(units.checked_mul(factor))?, 0))
}

fn exponent_of(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse::<i64>().ok().filter(|exponent| exponent.abs() < i64::from(i32::MAX) / 2)
}

/// Whether PostgreSQL treats the character as white space.
pub(crate) fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

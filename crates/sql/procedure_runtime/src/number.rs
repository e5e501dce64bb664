//! SQL arithmetic on integers, and on decimals of a known scale. Both are 64 bits here; a result
//! out of range deviates.

use crate::stop::{Stop, known};

/// Maximum number of loop iterations that are batched; arguments may request any number.
const ROUNDS_MAX: i64 = 1024;
/// Powers of ten that fit in 64 bits.
const POWERS: [i64; 19] = {
    let mut powers = [1; 19];
    let mut at = 1;
    while at < 19 {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

#[inline(always)]
pub fn add(a: i64, b: i64) -> Result<i64, Stop> {
    known(a.checked_add(b))
}

#[inline(always)]
pub fn subtract(a: i64, b: i64) -> Result<i64, Stop> {
    known(a.checked_sub(b))
}

/// `a * b`; the scales of decimals add up.
#[inline(always)]
pub fn multiply(a: i64, b: i64) -> Result<i64, Stop> {
    known(a.checked_mul(b))
}

/// `a / b` of integers, truncated.
#[inline(always)]
pub fn divide(a: i64, b: i64) -> Result<i64, Stop> {
    known(a.checked_div(b))
}

/// `a % b` of integers, with the sign of `a`.
#[inline(always)]
pub fn modulo(a: i64, b: i64) -> Result<i64, Stop> {
    known(a.checked_rem(b))
}

#[inline(always)]
pub fn negate(a: i64) -> Result<i64, Stop> {
    known(a.checked_neg())
}

/// Checks that the iterations of a loop are few enough to be batched; otherwise the executor runs
/// them one by one.
#[inline(always)]
pub fn few(rounds: i64) -> Result<(), Stop> {
    if rounds <= ROUNDS_MAX { Ok(()) } else { Err(Stop::Deviates) }
}

#[inline(always)]
pub fn int2(value: i64) -> Result<i64, Stop> {
    if i16::try_from(value).is_ok() { Ok(value) } else { Err(Stop::Deviates) }
}

#[inline(always)]
pub fn int4(value: i64) -> Result<i64, Stop> {
    if i32::try_from(value).is_ok() { Ok(value) } else { Err(Stop::Deviates) }
}

/// Checks that a decimal has at most `precision` digits.
#[inline(always)]
pub fn digits(value: i64, precision: u8) -> Result<i64, Stop> {
    match POWERS.get(usize::from(precision)) {
        Some(bound) if value.unsigned_abs() >= bound.unsigned_abs() => Err(Stop::Deviates),
        _ => Ok(value),
    }
}

/// Rescales a decimal from scale `from` to scale `to`, rounding half away from zero as `numeric`
/// does.
///
/// # Panics
/// If the scales differ by more than 18 digits: a 64-bit decimal has at most 18.
#[inline(always)]
pub fn rescale(value: i64, from: u8, to: u8) -> Result<i64, Stop> {
    if to >= from {
        return multiply(value, POWERS[usize::from(to - from)]);
    }
    let unit = POWERS[usize::from(from - to)];
    let (whole, rest) = (value / unit, value % unit);
    Ok(if rest.unsigned_abs() * 2 >= unit.unsigned_abs() { whole + rest.signum() } else { whole })
}

/// Rounds a decimal down to an integer.
#[inline(always)]
pub fn floor(value: i64, scale: u8) -> Result<i64, Stop> {
    known(value.checked_div_euclid(POWERS[usize::from(scale)]))
}

/// Rounds a decimal up to an integer.
#[inline(always)]
pub fn ceil(value: i64, scale: u8) -> Result<i64, Stop> {
    negate(floor(negate(value)?, scale)?)
}

/// Truncates a decimal to an integer.
#[inline(always)]
pub fn trunc(value: i64, scale: u8) -> Result<i64, Stop> {
    divide(value, POWERS[usize::from(scale)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_round_to_the_nearest_and_halves_away_from_zero() {
        let rounded = |value| rescale(value, 3, 2).expect("fits");
        assert_eq!(
            [1234, 1235, -1234, -1235, 5, -5, 4].map(rounded),
            [123, 124, -123, -124, 1, -1, 0]
        );
        assert_eq!(rescale(15, 1, 3).expect("fits"), 1500);
    }

    #[test]
    fn decimals_become_whole_in_three_ways() {
        let whole = |of: fn(i64, u8) -> Result<i64, Stop>| {
            [150, -150, 200, -1].map(|value| of(value, 2).expect("fits"))
        };
        assert_eq!(whole(floor), [1, -2, 2, -1]);
        assert_eq!(whole(ceil), [2, -1, 2, 0]);
        assert_eq!(whole(trunc), [1, -1, 2, 0]);
    }

    #[test]
    fn numbers_out_of_range_deviate() {
        let deviates = |result: Result<i64, Stop>| matches!(result, Err(Stop::Deviates));
        assert!(deviates(add(i64::MAX, 1)) && deviates(divide(1, 0)) && deviates(negate(i64::MIN)));
        assert!(
            deviates(int2(40_000)) && deviates(int4(1 << 31)) && deviates(rescale(i64::MAX, 0, 1))
        );
        assert!(matches!((few(1024), few(1025)), (Ok(()), Err(Stop::Deviates))));
        assert!(deviates(digits(100, 2)) && deviates(digits(-100, 2)));
        assert_eq!((digits(-99, 2).expect("fits"), int2(-32_768).expect("fits")), (-99, -32_768));
    }
}

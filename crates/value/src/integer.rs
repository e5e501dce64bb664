//! `smallint`, `integer` and `bigint`: arithmetic that ends with an error at the bounds of the type.

use crate::error::sqlstate::NUMERIC_VALUE_OUT_OF_RANGE;
use crate::error::{Error, Result};
use compact_str::{CompactString, ToCompactString};

/// How wide an integer is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Width {
    /// `smallint`
    Two,
    /// `integer`
    Four,
    /// `bigint`
    Eight,
}

impl Width {
    /// The type's name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Two => "smallint",
            Self::Four => "integer",
            Self::Eight => "bigint",
        }
    }

    /// Whether the number is one of this width.
    #[inline]
    pub const fn holds(self, number: i64) -> bool {
        match self {
            Self::Two => number as i16 as i64 == number,
            Self::Four => number as i32 as i64 == number,
            Self::Eight => true,
        }
    }

    /// The number, if it is one of this width.
    ///
    /// # Errors
    /// 22003 if it is not.
    #[inline]
    pub fn fit(self, number: i64) -> Result<i64> {
        if self.holds(number) { Ok(number) } else { Err(self.overflow()) }
    }

    #[cold]
    fn overflow(self) -> Box<Error> {
        Error::out_of_range(self.name())
    }

    #[inline]
    fn checked(self, number: Option<i64>) -> Result<i64> {
        match number {
            Some(number) => self.fit(number),
            None => Err(self.overflow()),
        }
    }
}

/// `left + right`.
#[inline]
pub fn add(width: Width, left: i64, right: i64) -> Result<i64> {
    width.checked(left.checked_add(right))
}

/// `left - right`.
#[inline]
pub fn subtract(width: Width, left: i64, right: i64) -> Result<i64> {
    width.checked(left.checked_sub(right))
}

/// `left * right`.
#[inline]
pub fn multiply(width: Width, left: i64, right: i64) -> Result<i64> {
    width.checked(left.checked_mul(right))
}

/// `left / right` without its fraction.
#[inline]
pub fn divide(width: Width, left: i64, right: i64) -> Result<i64> {
    if right == 0 {
        return Err(Error::division_by_zero());
    }
    width.checked(left.checked_div(right))
}

/// What the division leaves, with the sign of the dividend.
#[inline]
pub fn modulo(left: i64, right: i64) -> Result<i64> {
    if right == 0 {
        return Err(Error::division_by_zero());
    }
    Ok(left.wrapping_rem(right))
}

/// `-number`.
#[inline]
pub fn negate(width: Width, number: i64) -> Result<i64> {
    width.checked(number.checked_neg())
}

/// The number without its sign.
#[inline]
pub fn abs(width: Width, number: i64) -> Result<i64> {
    width.checked(number.checked_abs())
}

/// `number << count`, of which only the lowest bits count, as the processor has it.
pub fn shift_left(width: Width, number: i64, count: i64) -> i64 {
    match width {
        Width::Two => i64::from((number as i32).wrapping_shl(count as u32) as i16),
        Width::Four => i64::from((number as i32).wrapping_shl(count as u32)),
        Width::Eight => number.wrapping_shl(count as u32),
    }
}

/// `number >> count`, with the sign in front.
pub fn shift_right(width: Width, number: i64, count: i64) -> i64 {
    match width {
        Width::Two | Width::Four => i64::from((number as i32).wrapping_shr(count as u32)),
        Width::Eight => number.wrapping_shr(count as u32),
    }
}

/// The number as text.
pub fn text(number: i64) -> CompactString {
    number.to_compact_string()
}

/// Reads a number, which may have white space around it.
///
/// # Errors
/// 22P02 if it is none, 22003 if it is beyond the type.
pub fn parse(width: Width, text: &str) -> Result<i64> {
    let trimmed = text.trim_matches(crate::numeric::is_space);
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::invalid_text(width.name(), text));
    }
    match trimmed.parse::<i64>() {
        Ok(number) if width.holds(number) => Ok(number),
        _ => {
            let message = format!("value \"{text}\" is out of range for type {}", width.name());
            Err(Error::new(NUMERIC_VALUE_OUT_OF_RANGE, message))
        }
    }
}

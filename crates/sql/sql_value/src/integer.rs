//! `smallint`, `integer` and `bigint` arithmetic; overflow is an error.

use crate::error::sqlstate::NUMERIC_VALUE_OUT_OF_RANGE;
use crate::error::{Error, Result};
use compact_str::{CompactString, ToCompactString};

/// Width of an integer type.
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

    /// Whether the number is in range for this width.
    #[inline]
    pub const fn holds(self, number: i64) -> bool {
        match self {
            Self::Two => number as i16 as i64 == number,
            Self::Four => number as i32 as i64 == number,
            Self::Eight => true,
        }
    }

    /// Returns the number if it is in range for this width.
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

#[inline]
pub fn add(width: Width, left: i64, right: i64) -> Result<i64> {
    width.checked(left.checked_add(right))
}

#[inline]
pub fn subtract(width: Width, left: i64, right: i64) -> Result<i64> {
    width.checked(left.checked_sub(right))
}

#[inline]
pub fn multiply(width: Width, left: i64, right: i64) -> Result<i64> {
    width.checked(left.checked_mul(right))
}

/// `left / right`, truncated.
#[inline]
pub fn divide(width: Width, left: i64, right: i64) -> Result<i64> {
    if right == 0 {
        return Err(Error::division_by_zero());
    }
    width.checked(left.checked_div(right))
}

/// Remainder, with the sign of the dividend.
#[inline]
pub fn modulo(left: i64, right: i64) -> Result<i64> {
    if right == 0 {
        return Err(Error::division_by_zero());
    }
    Ok(left.wrapping_rem(right))
}

#[inline]
pub fn negate(width: Width, number: i64) -> Result<i64> {
    width.checked(number.checked_neg())
}

#[inline]
pub fn abs(width: Width, number: i64) -> Result<i64> {
    width.checked(number.checked_abs())
}

/// `number << count`; as on the processor, only the low bits of `count` matter.
pub fn shift_left(width: Width, number: i64, count: i64) -> i64 {
    match width {
        Width::Two => i64::from((number as i32).wrapping_shl(count as u32) as i16),
        Width::Four => i64::from((number as i32).wrapping_shl(count as u32)),
        Width::Eight => number.wrapping_shl(count as u32),
    }
}

/// `number >> count`, keeping the sign.
pub fn shift_right(width: Width, number: i64, count: i64) -> i64 {
    match width {
        Width::Two | Width::Four => i64::from((number as i32).wrapping_shr(count as u32)),
        Width::Eight => number.wrapping_shr(count as u32),
    }
}

pub fn text(number: i64) -> CompactString {
    number.to_compact_string()
}

/// Parses an integer, with optional white space around it.
///
/// # Errors
/// 22P02 if the text is not a number, 22003 if it is out of range.
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

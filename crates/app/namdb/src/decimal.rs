//! Exact decimal numbers with a fixed number of digits after the point.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};
use std::str::FromStr;

/// Most digits after the point: more would not leave an `i64` one digit before it.
pub const SCALE_MAX: u8 = 18;

/// A decimal number with `SCALE` digits after the point, 0 to 18, stored as an integer of its
/// smallest unit: with a scale of 2, 12.34 is `Decimal(1234)`.
///
/// The operators panic if the result does not fit, in every build: amounts must not wrap. The
/// `checked_` functions return `None` instead. Results that have more digits than `SCALE` are
/// rounded half away from zero, as PostgreSQL rounds.
///
/// ```
/// use namdb::Decimal;
///
/// let price: Decimal<2> = "12.34".parse()?;
/// let total = price * 3 + Decimal(1);
/// assert_eq!(total.to_string(), "37.03");
/// let with_tax = total.checked_mul(Decimal::<3>(1_210)).expect("it fits");
/// assert_eq!(with_tax, "44.81".parse()?);
/// assert_eq!(with_tax.checked_div(Decimal::<0>(3)), Some(Decimal(1494)));
/// assert_eq!(with_tax.rescaled::<1>(), Some(Decimal(448)));
/// assert_eq!([price, total].into_iter().sum::<Decimal<2>>(), Decimal(4937));
/// # Ok::<(), namdb::decimal::ParseDecimalError>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal<const SCALE: u8>(pub i64);

impl<const SCALE: u8> Decimal<SCALE> {
    /// Smallest units in 1.
    const UNITS: i64 = {
        assert!(SCALE <= SCALE_MAX, "a Decimal has at most 18 digits after the point");
        10_i64.pow(SCALE as u32)
    };
    /// The number 0.
    pub const ZERO: Self = Self(0);
    /// The smallest number.
    pub const MIN: Self = Self(i64::MIN);
    /// The largest number.
    pub const MAX: Self = Self(i64::MAX);

    /// A whole number; `None` if it does not fit.
    ///
    /// ```
    /// use namdb::Decimal;
    ///
    /// assert_eq!(Decimal::<2>::from_integer(12), Some(Decimal(1_200)));
    /// assert_eq!(Decimal::<2>::from_integer(i64::MAX), None);
    /// ```
    pub const fn from_integer(integer: i64) -> Option<Self> {
        match integer.checked_mul(Self::UNITS) {
            Some(units) => Some(Self(units)),
            None => None,
        }
    }

    /// The number in smallest units.
    ///
    /// ```
    /// assert_eq!(namdb::Decimal::<2>(1_234).units(), 1_234);
    /// ```
    pub const fn units(self) -> i64 {
        self.0
    }

    /// The sum; `None` if it does not fit.
    ///
    /// ```
    /// use namdb::Decimal;
    ///
    /// assert_eq!(Decimal::<2>(1_234).checked_add(Decimal(1)), Some(Decimal(1_235)));
    /// assert_eq!(Decimal::<2>::MAX.checked_add(Decimal(1)), None);
    /// ```
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(units) => Some(Self(units)),
            None => None,
        }
    }

    /// The difference; `None` if it does not fit.
    ///
    /// ```
    /// use namdb::Decimal;
    ///
    /// assert_eq!(Decimal::<2>(1_234).checked_sub(Decimal(1)), Some(Decimal(1_233)));
    /// assert_eq!(Decimal::<2>::MIN.checked_sub(Decimal(1)), None);
    /// ```
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(units) => Some(Self(units)),
            None => None,
        }
    }

    /// The product with a number of any scale, in the scale of this one; `None` if it does not fit.
    /// [`Decimal`] has an example.
    pub fn checked_mul<const OTHER: u8>(self, other: Decimal<OTHER>) -> Option<Self> {
        let product = i128::from(self.0) * i128::from(other.0);
        Self::rounded(product, i128::from(Decimal::<OTHER>::UNITS))
    }

    /// The quotient, in the scale of this number; `None` if it does not fit or `other` is 0.
    /// [`Decimal`] has an example.
    pub fn checked_div<const OTHER: u8>(self, other: Decimal<OTHER>) -> Option<Self> {
        let dividend = i128::from(self.0) * i128::from(Decimal::<OTHER>::UNITS);
        Self::rounded(dividend, i128::from(other.0))
    }

    /// The number with another scale; `None` if it does not fit.
    /// [`Decimal`] has an example.
    pub fn rescaled<const TO: u8>(self) -> Option<Decimal<TO>> {
        let units = i128::from(self.0) * i128::from(Decimal::<TO>::UNITS);
        Decimal::<TO>::rounded(units, i128::from(Self::UNITS))
    }

    /// The absolute value; `None` if it does not fit.
    ///
    /// ```
    /// use namdb::Decimal;
    ///
    /// assert_eq!(Decimal::<2>(-1_234).checked_abs(), Some(Decimal(1_234)));
    /// assert_eq!(Decimal::<2>::MIN.checked_abs(), None);
    /// ```
    pub const fn checked_abs(self) -> Option<Self> {
        match self.0.checked_abs() {
            Some(units) => Some(Self(units)),
            None => None,
        }
    }

    /// The quotient of two numbers, rounded half away from zero. Both are under 2^126, so that
    /// doubling the remainder does not overflow.
    fn rounded(dividend: i128, divisor: i128) -> Option<Self> {
        let quotient = dividend.checked_div(divisor)?;
        let remainder = dividend % divisor;
        let is_up = 2 * remainder.unsigned_abs() >= divisor.unsigned_abs();
        let away = if (dividend < 0) == (divisor < 0) { 1 } else { -1 };
        i64::try_from(quotient + i128::from(is_up) * away).ok().map(Self)
    }
}

const OVERFLOW: &str = "the result does not fit a Decimal";

impl<const SCALE: u8> Add for Decimal<SCALE> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.checked_add(other).expect(OVERFLOW)
    }
}

impl<const SCALE: u8> Sub for Decimal<SCALE> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.checked_sub(other).expect(OVERFLOW)
    }
}

impl<const SCALE: u8> Neg for Decimal<SCALE> {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.checked_neg().expect(OVERFLOW))
    }
}

/// The product with a whole number.
impl<const SCALE: u8> Mul<i64> for Decimal<SCALE> {
    type Output = Self;

    fn mul(self, factor: i64) -> Self {
        Self(self.0.checked_mul(factor).expect(OVERFLOW))
    }
}

impl<const SCALE: u8> AddAssign for Decimal<SCALE> {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<const SCALE: u8> SubAssign for Decimal<SCALE> {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl<const SCALE: u8> MulAssign<i64> for Decimal<SCALE> {
    fn mul_assign(&mut self, factor: i64) {
        *self = *self * factor;
    }
}

impl<const SCALE: u8> Sum for Decimal<SCALE> {
    fn sum<I: Iterator<Item = Self>>(numbers: I) -> Self {
        numbers.fold(Self::ZERO, Add::add)
    }
}

impl<const SCALE: u8> fmt::Debug for Decimal<SCALE> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl<const SCALE: u8> fmt::Display for Decimal<SCALE> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (units, scale) = (Self::UNITS.unsigned_abs(), usize::from(SCALE));
        let (whole, rest) = (self.0.unsigned_abs() / units, self.0.unsigned_abs() % units);
        let digits = match scale {
            0 => whole.to_string(),
            _ => format!("{whole}.{rest:0scale$}"),
        };
        formatter.pad_integral(self.0 >= 0, "", &digits)
    }
}

/// Why a text is no decimal number.
///
/// ```
/// use namdb::{Decimal, decimal::ParseDecimalError};
///
/// let refused: Result<Decimal<2>, ParseDecimalError> = "12,50".parse();
/// assert!(refused.expect_err("it has a comma").to_string().contains("12,50"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParseDecimalError {
    /// Something else than a sign, digits and one point.
    #[error("{0:?} is not a decimal number such as -12.34")]
    Syntax(String),
    /// More digits after the point than the type has.
    #[error("{text:?} has more digits after the point than the {scale} of its type")]
    Digits {
        /// The text.
        text: String,
        /// Digits of the type.
        scale: u8,
    },
    /// The number is too large.
    #[error("{text:?} is out of range for a number with {scale} digits after the point")]
    Range {
        /// The text.
        text: String,
        /// Digits of the type.
        scale: u8,
    },
}

/// Longest part of a text that an error shows, in characters.
const SHOWN: usize = 40;

impl<const SCALE: u8> FromStr for Decimal<SCALE> {
    type Err = ParseDecimalError;

    /// Reads a number such as `-12.34`. Zeros behind the last digit are accepted; other digits that
    /// do not fit are an error, not rounded.
    fn from_str(text: &str) -> Result<Self, ParseDecimalError> {
        let shown = || text.chars().take(SHOWN).collect::<String>();
        let (is_negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, rest) = digits.split_once('.').unwrap_or((digits, ""));
        let has_digits = !(whole.is_empty() && rest.is_empty());
        if !has_digits || !(whole.bytes().chain(rest.bytes())).all(|byte| byte.is_ascii_digit()) {
            return Err(ParseDecimalError::Syntax(shown()));
        }
        let rest = rest.trim_end_matches('0');
        if rest.len() > usize::from(SCALE) {
            return Err(ParseDecimalError::Digits { text: shown(), scale: SCALE });
        }
        let zeros = std::iter::repeat_n(b'0', usize::from(SCALE) - rest.len());
        // Negative, because there is one more negative number than positive ones.
        let units =
            whole.bytes().chain(rest.bytes()).chain(zeros).try_fold(0_i64, |units, digit| {
                units.checked_mul(10)?.checked_sub(i64::from(digit - b'0'))
            });
        let units = if is_negative { units } else { units.and_then(i64::checked_neg) };
        units.map(Self).ok_or_else(|| ParseDecimalError::Range { text: shown(), scale: SCALE })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed<const SCALE: u8>(text: &str) -> Result<Decimal<SCALE>, String> {
        text.parse().map_err(|error: ParseDecimalError| error.to_string())
    }

    #[test]
    fn texts_and_numbers_are_the_same() {
        for (text, units) in [("12.34", 1234), ("-0.05", -5), ("0.00", 0), ("-12.00", -1200)] {
            assert_eq!(parsed::<2>(text), Ok(Decimal(units)));
            assert_eq!(Decimal::<2>(units).to_string(), text);
        }
        for (text, units) in [("+7", 700), (".5", 50), ("1.", 100), ("-.050", -5), ("007.1", 710)] {
            assert_eq!(parsed::<2>(text), Ok(Decimal(units)));
        }
        for end in [Decimal::<18>::MIN, Decimal::MAX] {
            assert_eq!(parsed(&end.to_string()), Ok(end));
        }
        assert_eq!(Decimal::<0>(-7).to_string(), "-7");
        assert_eq!(
            format!("{:>8}|{:<+8}|", Decimal::<1>(-15), Decimal::<1>(15)),
            "    -1.5|+1.5    |"
        );
    }

    #[test]
    fn texts_that_are_no_numbers_are_refused() {
        for text in ["", ".", "-", "1e3", "1,5", "--1", "1.2.3", " 1", "\u{663}"] {
            let refused = parsed::<2>(text).expect_err("it is no number");
            assert!(refused.contains("is not a decimal number"), "{refused}");
        }
        let refused = parsed::<2>("0.125").expect_err("it has a digit too many");
        assert_eq!(refused, "\"0.125\" has more digits after the point than the 2 of its type");
        for text in ["92233720368547758.08", "1".repeat(40).as_str()] {
            let refused = parsed::<2>(text).expect_err("it is too large");
            assert!(refused.contains("out of range for a number with 2 digits"), "{refused}");
        }
    }

    #[test]
    fn results_are_rounded_half_away_from_zero() {
        let half = Decimal::<1>(5);
        for (number, product) in [(1, 1), (-1, -1), (3, 2), (-3, -2), (4, 2)] {
            assert_eq!(Decimal::<2>(number).checked_mul(half), Some(Decimal(product)));
            assert_eq!(Decimal::<2>(number).checked_div(Decimal::<0>(2)), Some(Decimal(product)));
            assert_eq!(Decimal::<2>(number).checked_div(Decimal::<0>(-2)), Some(Decimal(-product)));
        }
        assert_eq!(Decimal::<2>(149).rescaled::<0>(), Some(Decimal(1)));
        assert_eq!(Decimal::<2>(-150).rescaled::<0>(), Some(Decimal(-2)));
        assert_eq!(Decimal::<0>(3).rescaled::<18>(), Some(Decimal(3 * 10_i64.pow(18))));
    }

    #[test]
    fn results_that_do_not_fit_are_none() {
        let (most, least) = (Decimal::<2>::MAX, Decimal::<2>::MIN);
        assert_eq!((most.checked_add(Decimal(1)), least.checked_sub(Decimal(1))), (None, None));
        assert_eq!((most.checked_mul(Decimal::<0>(2)), most.rescaled::<3>()), (None, None));
        assert_eq!(most.checked_div(Decimal::<2>(0)), None);
        assert_eq!(least.checked_div(Decimal::<0>(-1)), None);
        // The largest intermediate results.
        assert_eq!(Decimal::<18>::MIN.checked_mul(Decimal::<18>::MIN), None);
        assert_eq!(Decimal::<18>::MIN.checked_div(Decimal::<18>(-1)), None);
        assert_eq!((least.checked_abs(), Decimal::<2>::from_integer(i64::MAX)), (None, None));
        assert_eq!(Decimal::<2>::from_integer(-3), Some(Decimal(-300)));
    }

    #[test]
    #[should_panic(expected = "the result does not fit a Decimal")]
    fn operators_do_not_wrap() {
        let _ = Decimal::<2>::MAX + Decimal(1);
    }
}

//! Integers as values of a type, and comparisons with them.
//!
//! Decisions:
//! - docs/decisions/0181-a-row-follows-from-its-parents-row-and-its-number-there.md
//! - docs/decisions/0182-clients-divide-the-range-of-a-sequence.md

use sql::{Numeric, SqlType};
use sql_value::{Decimal, Value};

/// Maximum scale of a drawn decimal.
const SCALE_MAX: u8 = 18;

/// The type of value that a drawn integer becomes. Its last `decimals` digits are decimal places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Int,
    /// A decimal of this scale.
    Numeric {
        decimals: u8,
        scale: u8,
    },
    Float {
        decimals: u8,
    },
}

impl Form {
    /// The form for a type; `None` if the type is not numeric or has fewer decimal places.
    pub fn of(sql_type: &SqlType, decimals: u8) -> Option<Self> {
        match sql_type {
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => (decimals == 0).then_some(Self::Int),
            SqlType::Numeric(Numeric::Declared { scale, .. } | Numeric::Exact { scale }) => {
                let fits = decimals <= *scale && *scale <= SCALE_MAX;
                fits.then_some(Self::Numeric { decimals, scale: *scale })
            }
            SqlType::Numeric(Numeric::Open) => {
                (decimals <= SCALE_MAX).then_some(Self::Numeric { decimals, scale: decimals })
            }
            SqlType::Float8 => (decimals <= SCALE_MAX).then_some(Self::Float { decimals }),
            _ => None,
        }
    }

    pub fn value(self, number: i64) -> Value {
        match self {
            Self::Int => Value::Int(number),
            Self::Numeric { scale, .. } => {
                Value::Numeric(Decimal { units: self.units(i128::from(number)), scale })
            }
            Self::Float { decimals } => Value::Float(number as f64 / power(decimals) as f64),
        }
    }

    /// The units of a drawn integer in this form.
    pub fn units(self, number: i128) -> i128 {
        match self {
            Self::Numeric { decimals, scale } => number.saturating_mul(power(scale - decimals)),
            _ => number,
        }
    }

    /// Converts a number to this form; other values are unchanged.
    pub fn convert(self, value: Value) -> Value {
        match (self, value) {
            (Self::Numeric { .. } | Self::Float { .. }, Value::Int(number)) => match self {
                Self::Numeric { scale, .. } => {
                    let units = i128::from(number) * power(scale);
                    Value::Numeric(Decimal { units, scale })
                }
                _ => Value::Float(number as f64),
            },
            (Self::Numeric { scale, .. }, Value::Numeric(number)) => {
                Value::Numeric(rounded(number, scale))
            }
            (Self::Float { .. }, Value::Numeric(number)) => {
                Value::Float(number.units as f64 / power(number.scale) as f64)
            }
            (_, value) => value,
        }
    }
}

/// Rounds a decimal to a scale, halves away from zero. Digits beyond 38 are lost.
fn rounded(number: Decimal, scale: u8) -> Decimal {
    let units = if number.scale <= scale {
        number.units.saturating_mul(power(scale - number.scale))
    } else {
        let divisor = power(number.scale - scale);
        let (whole, rest) = (number.units / divisor, number.units % divisor);
        let up = rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
        whole + if up { rest.signum() } else { 0 }
    };
    Decimal { units, scale }
}

/// Ten to the power of `exponent`, which must be at most 38.
fn power(exponent: u8) -> i128 {
    10_i128.checked_pow(u32::from(exponent)).unwrap_or(i128::MAX)
}

/// The smallest number of units that exceeds the precision of a decimal type; `None` for other
/// types.
pub(crate) fn beyond(sql_type: &SqlType) -> Option<u128> {
    match sql_type {
        SqlType::Numeric(Numeric::Declared { precision, .. }) => Some(power(*precision) as u128),
        _ => None,
    }
}

/// Whether a number is less than an integer; false for other values.
pub(crate) fn is_below(value: &Value, bound: i64) -> bool {
    match value {
        Value::Int(number) => *number < bound,
        Value::Numeric(number) => {
            number.units < i128::from(bound).saturating_mul(power(number.scale))
        }
        Value::Float(number) => *number < bound as f64,
        _ => false,
    }
}

/// Whether two values of a type are equal; null equals nothing.
pub(crate) fn are_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Numeric(left), Value::Numeric(right)) => {
            let scale = left.scale.max(right.scale);
            rounded(*left, scale) == rounded(*right, scale)
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(units: i128, scale: u8) -> Value {
        Value::Numeric(Decimal { units, scale })
    }

    #[test]
    fn numbers_take_the_form_of_their_type() {
        let declared = SqlType::Numeric(Numeric::Declared { precision: 12, scale: 4 });
        let form = Form::of(&declared, 2).expect("it has four digits behind the point");
        assert_eq!(form.value(-150), decimal(-15_000, 4));
        assert_eq!(Form::of(&declared, 5), None);
        assert_eq!(Form::of(&SqlType::Int4, 1), None);
        assert_eq!(
            Form::of(&SqlType::Float8, 2).map(|form| form.value(5)),
            Some(Value::Float(0.05))
        );
    }

    #[test]
    fn values_change_their_form() {
        let form = Form::Numeric { decimals: 0, scale: 1 };
        assert_eq!(form.convert(Value::Int(3)), decimal(30, 1));
        assert_eq!(
            [225, -225, 224, -224].map(|units| form.convert(decimal(units, 2))),
            [decimal(23, 1), decimal(-23, 1), decimal(22, 1), decimal(-22, 1)]
        );
        assert_eq!(Form::Int.convert(Value::Bool(true)), Value::Bool(true));
        assert_eq!(Form::Float { decimals: 0 }.convert(decimal(25, 1)), Value::Float(2.5));
    }

    #[test]
    fn comparisons_look_at_the_number_alone() {
        assert!(is_below(&decimal(299, 2), 3) && !is_below(&decimal(300, 2), 3));
        assert!(!is_below(&Value::Null, 3) && is_below(&Value::Float(2.9), 3));
        assert!(are_equal(&decimal(30, 1), &decimal(300, 2)));
        assert!(!are_equal(&Value::Null, &Value::Null));
    }
}

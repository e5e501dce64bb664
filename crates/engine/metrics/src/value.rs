//! Values of metrics.

use std::fmt;
use std::ops::Add;

/// A number. Integers are exact, whatever their size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    Whole(u64),
    Real(f64),
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl Value {
    fn real(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Real(number) => number,
        }
    }
}

impl Add for Value {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        match (self, other) {
            // Counters wrap, and so do their sums; a rate then shows a restart.
            (Self::Whole(one), Self::Whole(other)) => Self::Whole(one.wrapping_add(other)),
            (one, other) => Self::Real(one.real() + other.real()),
        }
    }
}

impl fmt::Display for Value {
    /// Formats as Go parses numbers, which the text format requires.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => write!(formatter, "{number}"),
            Self::Real(number) if number.is_nan() => formatter.write_str("NaN"),
            Self::Real(number) if number.is_infinite() => {
                formatter.write_str(if *number > 0.0 { "+Inf" } else { "-Inf" })
            }
            Self::Real(number) => write!(formatter, "{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_format_asks() {
        let written = |value: Value| value.to_string();
        assert_eq!(written(u64::MAX.into()), "18446744073709551615");
        assert_eq!(written(0.000001.into()), "0.000001");
        assert_eq!(written(f64::NAN.into()), "NaN");
        assert_eq!(written(f64::INFINITY.into()), "+Inf");
        assert_eq!(written(f64::NEG_INFINITY.into()), "-Inf");
        assert_eq!(Value::Whole(u64::MAX) + Value::Whole(3), Value::Whole(2));
        assert_eq!(Value::Whole(1) + Value::Real(0.5), Value::Real(1.5));
    }
}

//! What a call is given.

use crate::number;
use crate::stop::Stop;

/// An argument of a call. Arrays have no nulls in them. Its kind takes a word, see [`value::Value`].
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(u64)]
pub enum Argument<'a> {
    /// Null.
    Null,
    /// An integer, a date or a time.
    Int(i64),
    /// The units of a decimal, and its digits behind the point.
    Decimal(i64, u8),
    /// A truth value.
    Bool(bool),
    /// A float.
    Float(f64),
    /// A text; `character` without the blanks at its end.
    Text(&'a [u8]),
    /// An array of integers.
    Ints(&'a [i64]),
    /// An array of truth values.
    Bools(&'a [bool]),
    /// An array of texts.
    Texts(&'a [&'a [u8]]),
}

impl<'a> Argument<'a> {
    /// Null as `None`, and everything else as `get` has it.
    #[inline]
    pub fn or_null<T>(
        &self,
        get: impl FnOnce(&Self) -> Result<T, Stop>,
    ) -> Result<Option<T>, Stop> {
        match self {
            Self::Null => Ok(None),
            other => get(other).map(Some),
        }
    }

    /// An integer, a date or a time.
    #[inline]
    pub fn int(&self) -> Result<i64, Stop> {
        match self {
            Self::Int(value) => Ok(*value),
            _ => Err(Stop::Deviates),
        }
    }

    /// A `smallint`.
    #[inline]
    pub fn int2(&self) -> Result<i64, Stop> {
        number::int2(self.int()?)
    }

    /// An `integer`, or a date.
    #[inline]
    pub fn int4(&self) -> Result<i64, Stop> {
        number::int4(self.int()?)
    }

    /// The units of a decimal with exactly so many digits behind the point.
    #[inline]
    pub fn decimal(&self, scale: u8) -> Result<i64, Stop> {
        match self {
            Self::Decimal(units, digits) if *digits == scale => Ok(*units),
            _ => Err(Stop::Deviates),
        }
    }

    /// A truth value.
    #[inline]
    pub fn bool(&self) -> Result<bool, Stop> {
        match self {
            Self::Bool(value) => Ok(*value),
            _ => Err(Stop::Deviates),
        }
    }

    /// A float.
    #[inline]
    pub fn float(&self) -> Result<f64, Stop> {
        match self {
            Self::Float(value) => Ok(*value),
            _ => Err(Stop::Deviates),
        }
    }

    /// A text.
    #[inline]
    pub fn text(&self) -> Result<&'a [u8], Stop> {
        match self {
            Self::Text(value) => Ok(value),
            _ => Err(Stop::Deviates),
        }
    }

    /// A `character`: a text without the blanks at its end, whether or not it is given with some.
    #[inline]
    pub fn characters(&self) -> Result<&'a [u8], Stop> {
        self.text().map(crate::text::trimmed)
    }

    /// An array of integers.
    #[inline]
    pub fn ints(&self) -> Result<&'a [i64], Stop> {
        match self {
            Self::Ints(value) => Ok(value),
            _ => Err(Stop::Deviates),
        }
    }

    /// An array of truth values.
    #[inline]
    pub fn bools(&self) -> Result<&'a [bool], Stop> {
        match self {
            Self::Bools(value) => Ok(value),
            _ => Err(Stop::Deviates),
        }
    }

    /// An array of texts.
    #[inline]
    pub fn texts(&self) -> Result<&'a [&'a [u8]], Stop> {
        match self {
            Self::Texts(value) => Ok(value),
            _ => Err(Stop::Deviates),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_another_kind_deviate() {
        assert_eq!(Argument::Int(3).int().expect("an integer"), 3);
        assert_eq!(Argument::Decimal(120, 2).decimal(2).expect("two digits"), 120);
        assert!(matches!(Argument::Decimal(12, 1).decimal(2), Err(Stop::Deviates)));
        assert!(matches!(Argument::Int(40_000).int2(), Err(Stop::Deviates)));
        assert_eq!(Argument::Int(40_000).int4().expect("four bytes"), 40_000);
        assert_eq!(Argument::Text(b"a b  ").characters().expect("a text"), b"a b");
        assert!(matches!(Argument::Null.int(), Err(Stop::Deviates)));
        let null = Argument::Null.or_null(|argument| argument.text()).expect("null is welcome");
        assert_eq!(null, None);
        assert!(matches!(
            Argument::Bool(true).or_null(|argument| argument.text()),
            Err(Stop::Deviates)
        ));
    }
}

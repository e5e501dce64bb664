//! Arguments of calls.

use crate::number;
use crate::stop::Stop;

/// An argument of a call. Arrays contain no nulls. The tag takes a whole word, see
/// [`sql_value::Value`].
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(u64)]
pub enum Argument<'a> {
    Null,
    /// An integer, a date or a time.
    Int(i64),
    /// Units and scale of a decimal.
    Decimal(i64, u8),
    Bool(bool),
    Float(f64),
    /// Text; `character` without its trailing blanks.
    Text(&'a [u8]),
    Ints(&'a [i64]),
    Bools(&'a [bool]),
    Texts(&'a [&'a [u8]]),
}

impl<'a> Argument<'a> {
    /// Returns `None` for null, and `get`'s result for anything else.
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

    #[inline]
    pub fn int2(&self) -> Result<i64, Stop> {
        number::int2(self.int()?)
    }

    /// An `integer`, or a date.
    #[inline]
    pub fn int4(&self) -> Result<i64, Stop> {
        number::int4(self.int()?)
    }

    /// Returns the units of a decimal of exactly this scale.
    #[inline]
    pub fn decimal(&self, scale: u8) -> Result<i64, Stop> {
        match self {
            Self::Decimal(units, digits) if *digits == scale => Ok(*units),
            _ => Err(Stop::Deviates),
        }
    }

    #[inline]
    pub fn bool(&self) -> Result<bool, Stop> {
        match self {
            Self::Bool(value) => Ok(*value),
            _ => Err(Stop::Deviates),
        }
    }

    #[inline]
    pub fn float(&self) -> Result<f64, Stop> {
        match self {
            Self::Float(value) => Ok(*value),
            _ => Err(Stop::Deviates),
        }
    }

    #[inline]
    pub fn text(&self) -> Result<&'a [u8], Stop> {
        match self {
            Self::Text(value) => Ok(value),
            _ => Err(Stop::Deviates),
        }
    }

    /// Returns a `character` without its trailing blanks, whether or not they were given.
    #[inline]
    pub fn characters(&self) -> Result<&'a [u8], Stop> {
        self.text().map(crate::text::trimmed)
    }

    #[inline]
    pub fn ints(&self) -> Result<&'a [i64], Stop> {
        match self {
            Self::Ints(value) => Ok(value),
            _ => Err(Stop::Deviates),
        }
    }

    #[inline]
    pub fn bools(&self) -> Result<&'a [bool], Stop> {
        match self {
            Self::Bools(value) => Ok(value),
            _ => Err(Stop::Deviates),
        }
    }

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

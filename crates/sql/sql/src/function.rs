//! The functions that expressions may call, with what they take and give.

use crate::types::{Numeric, SqlType};

/// A function of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Function {
    /// The value without its sign.
    Abs,
    /// To the nearest, halves away from zero; of floats, halves to even. The second argument counts digits behind the point.
    Round,
    /// Towards zero.
    Trunc,
    /// Downwards.
    Floor,
    /// Upwards.
    Ceil,
    /// What a division leaves, with the sign of the dividend.
    Mod,
    /// -1, 0 or 1.
    Sign,
    /// A float from 0 to 1, 1 left out.
    Random,
    /// The greatest that is not null.
    Greatest,
    /// The least that is not null.
    Least,
    /// The first that is not null; the others are not evaluated.
    Coalesce,
    /// Null if both are equal, else the first.
    NullIf,
    /// Characters; of `char(n)` without blanks at the end.
    Length,
    /// Small letters.
    Lower,
    /// Capitals.
    Upper,
    /// From a position, counted from 1, so many characters.
    Substr,
    /// Filled on the left up to a length, or cut.
    Lpad,
    /// Filled on the right up to a length, or cut.
    Rpad,
    /// The first characters; of a negative number, all but the last.
    Left,
    /// The last characters; of a negative number, all but the first.
    Right,
    /// Without the given characters at both ends.
    Btrim,
    /// At the beginning.
    Ltrim,
    /// At the end.
    Rtrim,
    /// The position of the second in the first, 0 if it is not there.
    Strpos,
    /// Every occurrence of the second replaced by the third.
    Replace,
    /// Several times.
    Repeat,
    /// Backwards.
    Reverse,
    /// The character of a number.
    Chr,
    /// The number of the first character.
    Ascii,
    /// All as text, nulls left out.
    Concat,
    /// A number or time by a format.
    ToChar,
    /// When the transaction began.
    Now,
    /// The present moment.
    ClockTimestamp,
    /// When the transaction began, without zone.
    LocalTimestamp,
    /// The day on which the transaction began.
    CurrentDate,
    /// `extract(field FROM time)`; the first argument is the field as text.
    Extract,
    /// Cut to a unit.
    DateTrunc,
    /// The length of a dimension; null of an empty array.
    ArrayLength,
    /// The number of elements.
    Cardinality,
    /// The greatest index of a dimension; null of an empty array.
    ArrayUpper,
    /// The least index of a dimension; null of an empty array.
    ArrayLower,
    /// With one more element at the end.
    ArrayAppend,
    /// Two arrays one behind the other.
    ArrayConcat,
}

/// The type of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Takes {
    Int2,
    Int4,
    Int8,
    Numeric,
    Float,
    Text,
    Timestamp,
    TimestampTz,
    /// An array of anything.
    Array,
    /// An element of the array that another argument is.
    Element,
}

/// The type of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gives {
    Int4,
    Float,
    Text,
    Timestamp,
    TimestampTz,
    Date,
    /// A decimal of unknown digits.
    Numeric,
    /// A decimal without digits behind the point.
    Whole,
    /// The type of the first argument.
    First,
}

/// What a function takes and gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signature {
    pub(crate) name: &'static str,
    pub(crate) function: Function,
    pub(crate) takes: &'static [Takes],
    pub(crate) gives: Gives,
}

const fn of(
    name: &'static str,
    function: Function,
    takes: &'static [Takes],
    gives: Gives,
) -> Signature {
    Signature { name, function, takes, gives }
}

/// Every function but those that take any types: `coalesce`, `nullif`, `greatest`, `least`, `concat`.
#[rustfmt::skip]
pub(crate) const SIGNATURES: &[Signature] = &[
    of("abs", Function::Abs, &[Takes::Int2], Gives::First),
    of("abs", Function::Abs, &[Takes::Int4], Gives::First),
    of("abs", Function::Abs, &[Takes::Int8], Gives::First),
    of("abs", Function::Abs, &[Takes::Numeric], Gives::First),
    of("abs", Function::Abs, &[Takes::Float], Gives::First),
    of("round", Function::Round, &[Takes::Numeric], Gives::Whole),
    of("round", Function::Round, &[Takes::Float], Gives::Float),
    of("round", Function::Round, &[Takes::Numeric, Takes::Int4], Gives::Numeric),
    of("trunc", Function::Trunc, &[Takes::Numeric], Gives::Whole),
    of("trunc", Function::Trunc, &[Takes::Float], Gives::Float),
    of("trunc", Function::Trunc, &[Takes::Numeric, Takes::Int4], Gives::Numeric),
    of("floor", Function::Floor, &[Takes::Numeric], Gives::Whole),
    of("floor", Function::Floor, &[Takes::Float], Gives::Float),
    of("ceil", Function::Ceil, &[Takes::Numeric], Gives::Whole),
    of("ceil", Function::Ceil, &[Takes::Float], Gives::Float),
    of("ceiling", Function::Ceil, &[Takes::Numeric], Gives::Whole),
    of("ceiling", Function::Ceil, &[Takes::Float], Gives::Float),
    of("sign", Function::Sign, &[Takes::Numeric], Gives::Whole),
    of("sign", Function::Sign, &[Takes::Float], Gives::Float),
    of("mod", Function::Mod, &[Takes::Int2, Takes::Int2], Gives::First),
    of("mod", Function::Mod, &[Takes::Int4, Takes::Int4], Gives::First),
    of("mod", Function::Mod, &[Takes::Int8, Takes::Int8], Gives::First),
    of("mod", Function::Mod, &[Takes::Numeric, Takes::Numeric], Gives::Numeric),
    of("random", Function::Random, &[], Gives::Float),
    of("length", Function::Length, &[Takes::Text], Gives::Int4),
    of("char_length", Function::Length, &[Takes::Text], Gives::Int4),
    of("character_length", Function::Length, &[Takes::Text], Gives::Int4),
    of("lower", Function::Lower, &[Takes::Text], Gives::Text),
    of("upper", Function::Upper, &[Takes::Text], Gives::Text),
    of("substr", Function::Substr, &[Takes::Text, Takes::Int4], Gives::Text),
    of("substr", Function::Substr, &[Takes::Text, Takes::Int4, Takes::Int4], Gives::Text),
    of("substring", Function::Substr, &[Takes::Text, Takes::Int4], Gives::Text),
    of("substring", Function::Substr, &[Takes::Text, Takes::Int4, Takes::Int4], Gives::Text),
    of("lpad", Function::Lpad, &[Takes::Text, Takes::Int4], Gives::Text),
    of("lpad", Function::Lpad, &[Takes::Text, Takes::Int4, Takes::Text], Gives::Text),
    of("rpad", Function::Rpad, &[Takes::Text, Takes::Int4], Gives::Text),
    of("rpad", Function::Rpad, &[Takes::Text, Takes::Int4, Takes::Text], Gives::Text),
    of("left", Function::Left, &[Takes::Text, Takes::Int4], Gives::Text),
    of("right", Function::Right, &[Takes::Text, Takes::Int4], Gives::Text),
    of("btrim", Function::Btrim, &[Takes::Text], Gives::Text),
    of("btrim", Function::Btrim, &[Takes::Text, Takes::Text], Gives::Text),
    of("ltrim", Function::Ltrim, &[Takes::Text], Gives::Text),
    of("ltrim", Function::Ltrim, &[Takes::Text, Takes::Text], Gives::Text),
    of("rtrim", Function::Rtrim, &[Takes::Text], Gives::Text),
    of("rtrim", Function::Rtrim, &[Takes::Text, Takes::Text], Gives::Text),
    of("strpos", Function::Strpos, &[Takes::Text, Takes::Text], Gives::Int4),
    of("replace", Function::Replace, &[Takes::Text, Takes::Text, Takes::Text], Gives::Text),
    of("repeat", Function::Repeat, &[Takes::Text, Takes::Int4], Gives::Text),
    of("reverse", Function::Reverse, &[Takes::Text], Gives::Text),
    of("chr", Function::Chr, &[Takes::Int4], Gives::Text),
    of("ascii", Function::Ascii, &[Takes::Text], Gives::Int4),
    of("to_char", Function::ToChar, &[Takes::Int4, Takes::Text], Gives::Text),
    of("to_char", Function::ToChar, &[Takes::Int8, Takes::Text], Gives::Text),
    of("now", Function::Now, &[], Gives::TimestampTz),
    of("transaction_timestamp", Function::Now, &[], Gives::TimestampTz),
    of("current_timestamp", Function::Now, &[], Gives::TimestampTz),
    of("localtimestamp", Function::LocalTimestamp, &[], Gives::Timestamp),
    of("current_date", Function::CurrentDate, &[], Gives::Date),
    of("clock_timestamp", Function::ClockTimestamp, &[], Gives::TimestampTz),
    of("date_trunc", Function::DateTrunc, &[Takes::Text, Takes::Timestamp], Gives::Timestamp),
    of("date_trunc", Function::DateTrunc, &[Takes::Text, Takes::TimestampTz], Gives::TimestampTz),
    of("array_length", Function::ArrayLength, &[Takes::Array, Takes::Int4], Gives::Int4),
    of("array_upper", Function::ArrayUpper, &[Takes::Array, Takes::Int4], Gives::Int4),
    of("array_lower", Function::ArrayLower, &[Takes::Array, Takes::Int4], Gives::Int4),
    of("cardinality", Function::Cardinality, &[Takes::Array], Gives::Int4),
    of("array_append", Function::ArrayAppend, &[Takes::Array, Takes::Element], Gives::First),
    of("array_cat", Function::ArrayConcat, &[Takes::Array, Takes::Array], Gives::First),
];

/// Names that are written without parentheses.
pub(crate) const WITHOUT_PARENTHESES: [&str; 3] =
    ["current_timestamp", "localtimestamp", "current_date"];

impl Function {
    /// Its name in SQL, the first of several.
    pub fn name(self) -> &'static str {
        match self {
            Self::Coalesce => "coalesce",
            Self::NullIf => "nullif",
            Self::Greatest => "greatest",
            Self::Least => "least",
            Self::Concat => "concat",
            Self::Extract => "extract",
            _ => {
                let known = SIGNATURES.iter().find(|known| known.function == self);
                known.expect("all others have a signature").name
            }
        }
    }
}

impl Takes {
    /// The type; `None` for arrays and their elements.
    pub(crate) fn sql_type(self) -> Option<SqlType> {
        Some(match self {
            Self::Int2 => SqlType::Int2,
            Self::Int4 => SqlType::Int4,
            Self::Int8 => SqlType::Int8,
            Self::Numeric => SqlType::Numeric(Numeric::Open),
            Self::Float => SqlType::Float8,
            Self::Text => SqlType::Text,
            Self::Timestamp => SqlType::Timestamp,
            Self::TimestampTz => SqlType::TimestampTz,
            Self::Array | Self::Element => return None,
        })
    }
}

impl Gives {
    /// The type, where the first argument has the type `first`.
    pub(crate) fn sql_type(self, first: Option<&SqlType>) -> SqlType {
        match self {
            Self::Int4 => SqlType::Int4,
            Self::Float => SqlType::Float8,
            Self::Text => SqlType::Text,
            Self::Timestamp => SqlType::Timestamp,
            Self::TimestampTz => SqlType::TimestampTz,
            Self::Date => SqlType::Date,
            Self::Numeric => SqlType::Numeric(Numeric::Open),
            Self::Whole => SqlType::Numeric(Numeric::Exact { scale: 0 }),
            Self::First => match first {
                Some(SqlType::Numeric(numeric)) => {
                    let scale = numeric.scale();
                    SqlType::Numeric(scale.map_or(Numeric::Open, |scale| Numeric::Exact { scale }))
                }
                Some(first) => first.clone(),
                None => SqlType::Unknown,
            },
        }
    }
}

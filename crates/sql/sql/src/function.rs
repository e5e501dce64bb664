//! The functions that expressions may call, with their argument and result types.

use crate::json_function::JsonFunction;
use crate::types::{Numeric, SqlType};

/// A function of values, as opposed to an aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Function {
    Abs,
    /// Rounds halves away from zero, but halves of floats to even. The second argument is the
    /// number of decimal places.
    Round,
    /// Rounds toward zero.
    Trunc,
    /// Rounds down.
    Floor,
    /// Rounds up.
    Ceil,
    /// The remainder of a division, with the sign of the dividend.
    Mod,
    /// -1, 0 or 1.
    Sign,
    /// A float from 0 (inclusive) to 1 (exclusive).
    Random,
    /// The greatest value that is not null.
    Greatest,
    /// The least value that is not null.
    Least,
    /// The first value that is not null; later arguments are not evaluated.
    Coalesce,
    /// Null if both arguments are equal, otherwise the first.
    NullIf,
    /// Number of characters; `char(n)` counts without trailing blanks.
    Length,
    Lower,
    Upper,
    /// A substring, from a position (counted from 1) and with a length.
    Substr,
    /// Pads on the left to a length, or truncates.
    Lpad,
    /// Pads on the right to a length, or truncates.
    Rpad,
    /// The first characters; a negative count removes that many at the end.
    Left,
    /// The last characters; a negative count removes that many at the beginning.
    Right,
    /// Removes the given characters at both ends.
    Btrim,
    /// Removes them at the beginning.
    Ltrim,
    /// Removes them at the end.
    Rtrim,
    /// Position of the second text in the first; 0 if absent.
    Strpos,
    /// Replaces every occurrence of the second argument by the third.
    Replace,
    /// Repeats a text.
    Repeat,
    /// Reverses a text.
    Reverse,
    /// The field at a number, between separators; a negative number counts from the end.
    SplitPart,
    StartsWith,
    /// Begins each word with a capital.
    InitCap,
    /// Replaces each of some characters by the one at its place in a list, or by nothing.
    Translate,
    /// The character with a code point.
    Chr,
    /// The code point of the first character.
    Ascii,
    /// Concatenates the text of all arguments and skips nulls.
    Concat,
    /// Puts the texts of the other arguments in the places of a format.
    Format,
    /// A name, in double quotes if it needs them.
    QuoteIdent,
    /// A text as a constant.
    QuoteLiteral,
    /// The same; null is `NULL`.
    QuoteNullable,
    /// Formats a number or time.
    ToChar,
    /// `to_char` of a timestamp.
    TimeToChar,
    /// `to_char` of a timestamp with a zone.
    ZonedToChar,
    /// Start of the transaction.
    Now,
    /// The current time.
    ClockTimestamp,
    /// Start of the transaction, without time zone.
    LocalTimestamp,
    /// Date of the transaction's start.
    CurrentDate,
    /// Time of day of the transaction's start.
    LocalTime,
    /// `extract(field FROM time)`; the first argument is the field's name.
    Extract,
    /// As `Extract`, as a float.
    DatePart,
    /// Truncates a time to a unit.
    DateTrunc,
    /// The local time of a zone, or the time of such a local time.
    AtTimeZone,
    /// The length of a dimension; null for an empty array.
    ArrayLength,
    Cardinality,
    /// The largest index of a dimension; null for an empty array.
    ArrayUpper,
    /// The smallest index of a dimension; null for an empty array.
    ArrayLower,
    /// Number of bytes.
    OctetLength,
    /// Bytes as text: in hexadecimal digits, base 64, or characters with octal escapes.
    Encode,
    /// The bytes of such a text.
    Decode,
    /// A random UUID of version 4.
    RandomUuid,
    /// A function of `json`, or of `jsonb` if it is binary.
    Json {
        function: JsonFunction,
        is_binary: bool,
    },
    /// Appends an element.
    ArrayAppend,
    /// Concatenates two arrays.
    ArrayConcat,
    /// Puts an element in front.
    ArrayPrepend,
    /// Removes all elements that equal one.
    ArrayRemove,
    /// Replaces all elements that equal one.
    ArrayReplace,
    /// The position of the first element that equals one; the third argument is where to begin.
    ArrayPosition,
    /// The positions of all elements that equal one.
    ArrayPositions,
    /// The number of dimensions; null for an empty array.
    ArrayDimensions,
    /// The elements between two positions, which are null at the ends.
    ArraySlice,
    /// The texts of the elements with a separator.
    ArrayToText,
    /// The parts of a text between separators.
    TextToArray,
    /// The last fields of an array's rows, sorted by the other ones. Only the resolver writes it.
    SortedValues,
    /// The next value of a sequence.
    NextValue,
    /// The last value of a sequence that the session has drawn.
    CurrentValue,
    /// Sets a sequence.
    SetValue,
    /// The last value that the session has drawn from any sequence.
    LastValue,
}

/// The type of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Takes {
    Bool,
    Int2,
    Int4,
    Int8,
    Numeric,
    Float4,
    Float,
    Text,
    Bytes,
    Timestamp,
    TimestampTz,
    /// An array with elements of any type.
    Array,
    /// An element of the array in another argument.
    Element,
}

/// The type of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gives {
    Bool,
    Int4,
    Int8,
    Float,
    Text,
    Bytes,
    Uuid,
    Timestamp,
    TimestampTz,
    Date,
    Time,
    /// A decimal with an unknown number of decimal places.
    Numeric,
    /// A decimal without decimal places.
    Whole,
    /// The type of the first argument.
    First,
    /// The type of the second argument.
    Second,
    Int4s,
    Texts,
}

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

/// Every function except those with arguments of any type: `coalesce`, `nullif`, `greatest`,
/// `least`, `concat`.
#[rustfmt::skip]
pub(crate) const SIGNATURES: &[Signature] = &[
    of("abs", Function::Abs, &[Takes::Int2], Gives::First),
    of("abs", Function::Abs, &[Takes::Int4], Gives::First),
    of("abs", Function::Abs, &[Takes::Int8], Gives::First),
    of("abs", Function::Abs, &[Takes::Numeric], Gives::First),
    of("abs", Function::Abs, &[Takes::Float4], Gives::First),
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
    of("length", Function::OctetLength, &[Takes::Bytes], Gives::Int4),
    of("octet_length", Function::OctetLength, &[Takes::Text], Gives::Int4),
    of("octet_length", Function::OctetLength, &[Takes::Bytes], Gives::Int4),
    of("encode", Function::Encode, &[Takes::Bytes, Takes::Text], Gives::Text),
    of("decode", Function::Decode, &[Takes::Text, Takes::Text], Gives::Bytes),
    of("gen_random_uuid", Function::RandomUuid, &[], Gives::Uuid),
    of("char_length", Function::Length, &[Takes::Text], Gives::Int4),
    of("character_length", Function::Length, &[Takes::Text], Gives::Int4),
    of("quote_ident", Function::QuoteIdent, &[Takes::Text], Gives::Text),
    of("lower", Function::Lower, &[Takes::Text], Gives::Text),
    of("upper", Function::Upper, &[Takes::Text], Gives::Text),
    of("substr", Function::Substr, &[Takes::Text, Takes::Int4], Gives::Text),
    of("substr", Function::Substr, &[Takes::Text, Takes::Int4, Takes::Int4], Gives::Text),
    of("substr", Function::Substr, &[Takes::Bytes, Takes::Int4], Gives::Bytes),
    of("substr", Function::Substr, &[Takes::Bytes, Takes::Int4, Takes::Int4], Gives::Bytes),
    of("substring", Function::Substr, &[Takes::Text, Takes::Int4], Gives::Text),
    of("substring", Function::Substr, &[Takes::Text, Takes::Int4, Takes::Int4], Gives::Text),
    of("substring", Function::Substr, &[Takes::Bytes, Takes::Int4], Gives::Bytes),
    of("substring", Function::Substr, &[Takes::Bytes, Takes::Int4, Takes::Int4], Gives::Bytes),
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
    of("split_part", Function::SplitPart, &[Takes::Text, Takes::Text, Takes::Int4], Gives::Text),
    of("starts_with", Function::StartsWith, &[Takes::Text, Takes::Text], Gives::Bool),
    of("initcap", Function::InitCap, &[Takes::Text], Gives::Text),
    of("translate", Function::Translate, &[Takes::Text, Takes::Text, Takes::Text], Gives::Text),
    of("chr", Function::Chr, &[Takes::Int4], Gives::Text),
    of("ascii", Function::Ascii, &[Takes::Text], Gives::Int4),
    of("to_char", Function::ToChar, &[Takes::Int4, Takes::Text], Gives::Text),
    of("to_char", Function::ToChar, &[Takes::Int8, Takes::Text], Gives::Text),
    of("to_char", Function::ToChar, &[Takes::Numeric, Takes::Text], Gives::Text),
    of("to_char", Function::TimeToChar, &[Takes::Timestamp, Takes::Text], Gives::Text),
    of("to_char", Function::ZonedToChar, &[Takes::TimestampTz, Takes::Text], Gives::Text),
    of("now", Function::Now, &[], Gives::TimestampTz),
    of("transaction_timestamp", Function::Now, &[], Gives::TimestampTz),
    of("current_timestamp", Function::Now, &[], Gives::TimestampTz),
    of("localtimestamp", Function::LocalTimestamp, &[], Gives::Timestamp),
    of("current_date", Function::CurrentDate, &[], Gives::Date),
    of("localtime", Function::LocalTime, &[], Gives::Time),
    of("clock_timestamp", Function::ClockTimestamp, &[], Gives::TimestampTz),
    of("date_part", Function::DatePart, &[Takes::Text, Takes::Timestamp], Gives::Float),
    of("date_part", Function::DatePart, &[Takes::Text, Takes::TimestampTz], Gives::Float),
    of("date_trunc", Function::DateTrunc, &[Takes::Text, Takes::Timestamp], Gives::Timestamp),
    of("date_trunc", Function::DateTrunc, &[Takes::Text, Takes::TimestampTz], Gives::TimestampTz),
    of("timezone", Function::AtTimeZone, &[Takes::Text, Takes::TimestampTz], Gives::Timestamp),
    of("timezone", Function::AtTimeZone, &[Takes::Text, Takes::Timestamp], Gives::TimestampTz),
    of("array_length", Function::ArrayLength, &[Takes::Array, Takes::Int4], Gives::Int4),
    of("array_upper", Function::ArrayUpper, &[Takes::Array, Takes::Int4], Gives::Int4),
    of("array_lower", Function::ArrayLower, &[Takes::Array, Takes::Int4], Gives::Int4),
    of("cardinality", Function::Cardinality, &[Takes::Array], Gives::Int4),
    of("array_append", Function::ArrayAppend, &[Takes::Array, Takes::Element], Gives::First),
    of("array_cat", Function::ArrayConcat, &[Takes::Array, Takes::Array], Gives::First),
    of("array_prepend", Function::ArrayPrepend, &[Takes::Element, Takes::Array], Gives::Second),
    of("array_remove", Function::ArrayRemove, &[Takes::Array, Takes::Element], Gives::First),
    of("array_replace", Function::ArrayReplace, &[Takes::Array, Takes::Element, Takes::Element], Gives::First),
    of("array_position", Function::ArrayPosition, &[Takes::Array, Takes::Element], Gives::Int4),
    of("array_position", Function::ArrayPosition, &[Takes::Array, Takes::Element, Takes::Int4], Gives::Int4),
    of("array_positions", Function::ArrayPositions, &[Takes::Array, Takes::Element], Gives::Int4s),
    of("array_ndims", Function::ArrayDimensions, &[Takes::Array], Gives::Int4),
    of("array_to_string", Function::ArrayToText, &[Takes::Array, Takes::Text], Gives::Text),
    of("array_to_string", Function::ArrayToText, &[Takes::Array, Takes::Text, Takes::Text], Gives::Text),
    of("string_to_array", Function::TextToArray, &[Takes::Text, Takes::Text], Gives::Texts),
    of("string_to_array", Function::TextToArray, &[Takes::Text, Takes::Text, Takes::Text], Gives::Texts),
    of("nextval", Function::NextValue, &[Takes::Text], Gives::Int8),
    of("currval", Function::CurrentValue, &[Takes::Text], Gives::Int8),
    of("setval", Function::SetValue, &[Takes::Text, Takes::Int8], Gives::Int8),
    of("setval", Function::SetValue, &[Takes::Text, Takes::Int8, Takes::Bool], Gives::Int8),
    of("lastval", Function::LastValue, &[], Gives::Int8),
];

/// Functions that are called without parentheses.
pub(crate) const WITHOUT_PARENTHESES: [&str; 4] =
    ["current_timestamp", "localtimestamp", "current_date", "localtime"];

impl Function {
    /// Whether only SQL sessions have it, which have sequences and the kernel's random numbers.
    pub const fn is_of_session(self) -> bool {
        let is_of_sequences =
            matches!(self, Self::NextValue | Self::CurrentValue | Self::SetValue | Self::LastValue);
        is_of_sequences || matches!(self, Self::RandomUuid)
    }

    /// Whether two calls with the same arguments may differ.
    pub const fn is_volatile(self) -> bool {
        matches!(self, Self::Random | Self::ClockTimestamp) || self.is_of_session()
    }

    /// The name in SQL; the first one if there are several.
    pub fn name(self) -> &'static str {
        match self {
            Self::Coalesce => "coalesce",
            Self::NullIf => "nullif",
            Self::Greatest => "greatest",
            Self::Least => "least",
            Self::Concat => "concat",
            Self::Format => "format",
            Self::QuoteLiteral => "quote_literal",
            Self::QuoteNullable => "quote_nullable",
            Self::Extract => "extract",
            Self::ArraySlice => "array_slice",
            Self::SortedValues => "sorted_values",
            Self::Json { function, is_binary } => function.name(is_binary),
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
            Self::Bool => SqlType::Bool,
            Self::Int2 => SqlType::Int2,
            Self::Int4 => SqlType::Int4,
            Self::Int8 => SqlType::Int8,
            Self::Numeric => SqlType::Numeric(Numeric::Open),
            Self::Float4 => SqlType::Float4,
            Self::Float => SqlType::Float8,
            Self::Bytes => SqlType::Bytes,
            Self::Text => SqlType::Text,
            Self::Timestamp => SqlType::Timestamp(None),
            Self::TimestampTz => SqlType::TimestampTz(None),
            Self::Array | Self::Element => return None,
        })
    }
}

impl Gives {
    /// The type, if the first argument has the type `first`.
    pub(crate) fn sql_type(self, first: Option<&SqlType>) -> SqlType {
        match self {
            Self::Bool => SqlType::Bool,
            Self::Int4 => SqlType::Int4,
            Self::Int8 => SqlType::Int8,
            Self::Float => SqlType::Float8,
            Self::Bytes => SqlType::Bytes,
            Self::Uuid => SqlType::Uuid,
            Self::Text => SqlType::Text,
            Self::Timestamp => SqlType::Timestamp(None),
            Self::TimestampTz => SqlType::TimestampTz(None),
            Self::Date => SqlType::Date,
            Self::Time => SqlType::Time(None),
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
            Self::Second => first.cloned().unwrap_or(SqlType::Unknown),
            Self::Int4s => SqlType::Array(Box::new(SqlType::Int4)),
            Self::Texts => SqlType::Array(Box::new(SqlType::Text)),
        }
    }
}

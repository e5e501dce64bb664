//! Conversions between types, chosen once and carried out often.

use crate::error::{Error, Result, sqlstate};
use crate::input;
use crate::integer::{self, Width};
use crate::numeric;
use crate::output;
use crate::text;
use crate::timestamp;
use crate::value::{Decimal, Value};
use crate::{date, float};
use sql::expression::CastKind;
use sql::types::{Numeric, SqlType};

/// A conversion of values of one type into another; null stays null.
#[derive(Clone, Debug)]
pub enum Conversion {
    /// The value is one of the other type as it is.
    Nothing,
    /// A whole number of a width that is less.
    IntToInt(Width),
    /// A whole number as a decimal.
    IntToNumeric,
    /// A whole number as a float.
    IntToFloat,
    /// To the nearest whole number.
    NumericToInt(Width),
    /// A decimal as a float.
    NumericToFloat,
    /// To the nearest whole number, halves to even.
    FloatToInt(Width),
    /// A float as a decimal of 15 digits.
    FloatToNumeric,
    /// A decimal of so many digits.
    FitNumeric {
        /// Digits.
        precision: u8,
        /// Digits behind the point.
        scale: u8,
    },
    /// Text of at most so many characters.
    FitVarchar {
        /// Characters.
        length: u32,
        /// Whether it is cut.
        explicit: bool,
    },
    /// Text of so many characters, without the blanks at its end.
    FitChar {
        /// Characters; any number if there is none.
        length: Option<u32>,
        /// Whether it is cut.
        explicit: bool,
    },
    /// Whether it is not zero.
    IntToBool,
    /// One if it is true.
    BoolToInt,
    /// The beginning of a day.
    DateToTimestamp,
    /// The day.
    TimestampToDate,
    /// The value as text, as PostgreSQL converts it.
    ToText(SqlType),
    /// The value as text, as PostgreSQL prints it: differs for truth values and `character`.
    Print(SqlType),
    /// A value read from text.
    Read(SqlType),
    /// Each element of an array.
    Elements(Box<Conversion>),
    /// One after the other.
    Steps(Box<[Conversion]>),
}

impl Conversion {
    /// The conversion from a type into another. One that PostgreSQL has not goes through text.
    pub fn between(from: &SqlType, to: &SqlType, kind: CastKind) -> Self {
        if let (SqlType::Array(from), SqlType::Array(to)) = (from, to) {
            return match Self::between(from, to, kind) {
                Self::Nothing => Self::Nothing,
                one => Self::Elements(Box::new(one)),
            };
        }
        let explicit = kind == CastKind::Explicit;
        let fit = Self::fit(to, explicit);
        let base = Self::base(from, to, kind);
        match (base, fit) {
            (base, Self::Nothing) => base,
            (Self::Nothing, fit) => fit,
            (base, fit) => Self::Steps(Box::new([base, fit])),
        }
    }

    /// What a type's length or digits ask for.
    fn fit(to: &SqlType, explicit: bool) -> Self {
        match *to {
            SqlType::Numeric(Numeric::Declared { precision, scale }) => {
                Self::FitNumeric { precision, scale }
            }
            SqlType::Varchar(Some(length)) => Self::FitVarchar { length, explicit },
            SqlType::Char(length) => Self::FitChar { length, explicit },
            _ => Self::Nothing,
        }
    }

    /// The conversion but for lengths and digits.
    fn base(from: &SqlType, to: &SqlType, kind: CastKind) -> Self {
        let width = |sql_type: &SqlType| match sql_type {
            SqlType::Int2 => Some(Width::Two),
            SqlType::Int4 => Some(Width::Four),
            SqlType::Int8 => Some(Width::Eight),
            _ => None,
        };
        let through_text = kind == CastKind::ThroughText;
        match (from, to) {
            _ if from.base() == to.base() => Self::Nothing,
            (SqlType::Char(Some(_)), to) if to.is_text() && through_text => {
                Self::Print(from.clone())
            }
            (from, to) if from.is_text() && to.is_text() => Self::Nothing,
            (SqlType::Unknown, to) if to.is_text() => Self::Nothing,
            (from, to) if to.is_text() && through_text => Self::Print(from.clone()),
            (from, to) if to.is_text() => Self::ToText(from.clone()),
            (SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Unknown, to) => {
                Self::Read(to.clone())
            }
            (from, to) if through_text => {
                Self::Steps(Box::new([Self::Print(from.clone()), Self::Read(to.clone())]))
            }
            (SqlType::Bool, SqlType::Int4) => Self::BoolToInt,
            (SqlType::Int4, SqlType::Bool) => Self::IntToBool,
            (from, SqlType::Float8) if from.is_integer() => Self::IntToFloat,
            (from, SqlType::Numeric(_)) if from.is_integer() => Self::IntToNumeric,
            (SqlType::Numeric(_), SqlType::Float8) => Self::NumericToFloat,
            (SqlType::Float8, SqlType::Numeric(_)) => Self::FloatToNumeric,
            (SqlType::Date, SqlType::Timestamp | SqlType::TimestampTz) => Self::DateToTimestamp,
            (SqlType::Timestamp | SqlType::TimestampTz, SqlType::Date) => Self::TimestampToDate,
            (from, to) => match (width(from), from, width(to)) {
                (Some(from), _, Some(to)) if from <= to => Self::Nothing,
                (Some(_), _, Some(width)) => Self::IntToInt(width),
                (None, SqlType::Numeric(_), Some(width)) => Self::NumericToInt(width),
                (None, SqlType::Float8, Some(width)) => Self::FloatToInt(width),
                // Timestamps with and without zone are the same, since the zone is UTC.
                _ => Self::Nothing,
            },
        }
    }

    /// The value converted.
    ///
    /// # Errors
    /// 22003 and 22008 for what is beyond the type, 22001 for text that is too long, 22P02 and 22007 for text that is no
    /// value of the type.
    pub fn apply(&self, value: Value) -> Result<Value> {
        Ok(match (self, value) {
            (_, Value::Null) => Value::Null,
            (Self::IntToInt(width), Value::Int(number)) => Value::Int(width.fit(number)?),
            (Self::IntToNumeric, Value::Int(number)) => Value::Numeric(Decimal::from_int(number)),
            (Self::IntToFloat, Value::Int(number)) => Value::Float(number as f64),
            (Self::IntToBool, Value::Int(number)) => Value::Bool(number != 0),
            (Self::BoolToInt, Value::Bool(truth)) => Value::Int(truth.into()),
            (Self::NumericToInt(width), Value::Numeric(number)) => {
                Value::Int(numeric_to_int(number, *width)?)
            }
            (Self::NumericToFloat, Value::Numeric(number)) => {
                Value::Float(numeric::to_float(number))
            }
            (Self::FloatToInt(width), Value::Float(number)) => {
                Value::Int(float_to_int(number, *width)?)
            }
            (Self::FloatToNumeric, Value::Float(number)) => {
                Value::Numeric(numeric::from_float(number)?)
            }
            (Self::FitNumeric { precision, scale }, Value::Numeric(number)) => {
                Value::Numeric(numeric::fit(number, *precision, *scale)?)
            }
            (fit @ (Self::FitVarchar { .. } | Self::FitChar { .. }), Value::Text(text)) => {
                let fitting = fit.fit_text(&text)?.len();
                let mut text = text;
                text.truncate(fitting);
                Value::Text(text)
            }
            (Self::DateToTimestamp, Value::Date(days)) => {
                Value::Timestamp(date::to_timestamp(days)?)
            }
            (Self::TimestampToDate, Value::Timestamp(time)) => {
                Value::Date(timestamp::to_date(time))
            }
            (Self::ToText(_), Value::Bool(truth)) => {
                Value::text(if truth { "true" } else { "false" })
            }
            (Self::ToText(from) | Self::Print(from), value) => {
                Value::Text(output::text(&value, from))
            }
            (Self::Read(to), Value::Text(text)) => input::read(&text, to)?,
            (Self::Elements(one), Value::Array(values)) => Value::Array(
                values.iter().map(|value| one.apply(value.clone())).collect::<Result<_>>()?,
            ),
            (Self::Steps(steps), value) => {
                steps.iter().try_fold(value, |value, step| step.apply(value))?
            }
            (_, value) => value,
        })
    }

    /// The text as far as it fits.
    fn fit_text<'t>(&self, text: &'t str) -> Result<&'t str> {
        match *self {
            Self::FitVarchar { length, explicit } => text::fit_varchar(text, length, explicit),
            Self::FitChar { length: Some(length), explicit } => {
                text::fit_char(text, length, explicit)
            }
            Self::FitChar { .. } => Ok(text.trim_end_matches(' ')),
            _ => Ok(text),
        }
    }
}

/// The nearest whole number, halves away from zero.
///
/// # Errors
/// 22003 if it is beyond the width.
pub fn numeric_to_int(number: Decimal, width: Width) -> Result<i64> {
    match numeric::to_int(number) {
        Some(number) => width.fit(number),
        None => Err(Error::out_of_range(width.name())),
    }
}

/// The nearest whole number, halves to even.
///
/// # Errors
/// 22003 if it is beyond the width.
pub fn float_to_int(number: f64, width: Width) -> Result<i64> {
    let least = match width {
        Width::Two => i64::from(i16::MIN),
        Width::Four => i64::from(i32::MIN),
        Width::Eight => i64::MIN,
    };
    float::to_int(number, least).ok_or_else(|| Error::out_of_range(width.name()))
}

/// Reads a truth value: `true`, `yes`, `on`, `1`, their opposites, or the beginning of one that no other has.
///
/// # Errors
/// 22P02 if it is none.
pub fn parse_bool(text: &str) -> Result<bool> {
    let word = text.trim_matches(numeric::is_space).to_ascii_lowercase();
    let begins = |full: &str| !word.is_empty() && full.starts_with(&word);
    if begins("true") || begins("yes") || word == "on" || word == "1" {
        return Ok(true);
    }
    if begins("false") || begins("no") || word == "off" || word == "of" || word == "0" {
        return Ok(false);
    }
    let message = format!("invalid input syntax for type boolean: \"{text}\"");
    Err(Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, message))
}

/// Reads a whole number, see [`integer::parse`].
pub(crate) fn parse_int(text: &str, width: Width) -> Result<Value> {
    Ok(Value::Int(integer::parse(width, text)?))
}

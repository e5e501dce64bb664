//! Casts between types: chosen once when an expression is compiled, applied to each value.

use crate::error::{Error, Result, sqlstate};
use crate::input;
use crate::integer::{self, Width};
use crate::numeric;
use crate::output;
use crate::text;
use crate::time_of_day;
use crate::timestamp;
use crate::value::{Decimal, Value};
use crate::zone;
use crate::{date, float, json, real};
use sql::EnumType;
use sql::expression::CastKind;
use sql::types::{Numeric, SqlType};

/// A cast of a value to another type; null stays null.
#[derive(Clone, Debug)]
pub enum Conversion {
    /// Both types have the same representation.
    Nothing,
    /// To a narrower integer.
    IntToInt(Width),
    IntToNumeric,
    IntToFloat,
    /// Rounds half away from zero.
    NumericToInt(Width),
    NumericToFloat,
    /// Rounds half to even.
    FloatToInt(Width),
    IntToReal,
    NumericToReal,
    FloatToReal,
    /// To a decimal of 6 significant digits.
    RealToNumeric,
    /// To a decimal of 15 significant digits.
    FloatToNumeric,
    /// Rounds to `scale` digits after the decimal point and checks the precision.
    FitNumeric {
        precision: u8,
        scale: u8,
    },
    /// Enforces the maximum length, in characters.
    FitVarchar {
        length: u32,
        /// Whether the cast is explicit: it then truncates, instead of failing.
        explicit: bool,
    },
    /// Enforces the maximum length, in characters, and strips trailing blanks.
    FitChar {
        /// Maximum number of characters; `None` for any number.
        length: Option<u32>,
        /// Whether the cast is explicit: it then truncates, instead of failing.
        explicit: bool,
    },
    /// True unless the integer is zero.
    IntToBool,
    /// 1 for true, 0 for false.
    BoolToInt,
    /// Midnight at the beginning of the day.
    DateToTimestamp,
    TimestampToDate,
    TimestampToTime,
    TimeToInterval,
    IntervalToTime,
    /// Rounds to this number of digits after the second.
    FitTime(u8),
    /// From a timestamp with a zone to the local time of the session, and back.
    ZonedToLocal,
    LocalToZoned,
    /// To text, as PostgreSQL casts it.
    ToText(SqlType),
    /// To text, as PostgreSQL prints it; differs from `ToText` for `boolean` and `character`.
    Print(SqlType),
    /// To `jsonb`, as `to_jsonb`.
    ToJsonb(SqlType),
    /// To `json`, as `to_json`.
    ToJson(SqlType),
    /// The number or boolean of a `jsonb`.
    JsonTo(SqlType),
    /// Parses text.
    Read(SqlType),
    /// Casts each element of an array.
    Elements(Box<Conversion>),
    Steps(Box<[Conversion]>),
}

impl Conversion {
    /// Returns the cast from one type to another. A pair for which PostgreSQL has no cast goes
    /// through text.
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

    /// Returns the step that enforces the length, or precision and scale, of the target type.
    fn fit(to: &SqlType, explicit: bool) -> Self {
        if let SqlType::Array(element) = to {
            return match Self::fit(element, explicit) {
                Self::Nothing => Self::Nothing,
                one => Self::Elements(Box::new(one)),
            };
        }
        match *to {
            SqlType::Numeric(Numeric::Declared { precision, scale }) => {
                Self::FitNumeric { precision, scale }
            }
            SqlType::Varchar(Some(length)) => Self::FitVarchar { length, explicit },
            SqlType::Char(length) => Self::FitChar { length, explicit },
            SqlType::Time(Some(digits))
            | SqlType::Timestamp(Some(digits))
            | SqlType::TimestampTz(Some(digits)) => Self::FitTime(digits),
            _ => Self::Nothing,
        }
    }

    /// Returns the cast without enforcing length, precision or scale.
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
            (SqlType::Json, SqlType::Jsonb) => Self::Read(SqlType::Jsonb),
            (SqlType::Jsonb, SqlType::Json) => Self::Print(SqlType::Jsonb),
            (SqlType::Jsonb, to) => Self::JsonTo(to.clone()),
            (SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Unknown, to) => {
                Self::Read(to.clone())
            }
            (from, to) if through_text => {
                Self::Steps(Box::new([Self::Print(from.clone()), Self::Read(to.clone())]))
            }
            (SqlType::Bool, SqlType::Int4) => Self::BoolToInt,
            (SqlType::Int4, SqlType::Bool) => Self::IntToBool,
            (from, SqlType::Float8) if from.is_integer() => Self::IntToFloat,
            (from, SqlType::Float4) if from.is_integer() => Self::IntToReal,
            (SqlType::Numeric(_), SqlType::Float4) => Self::NumericToReal,
            (SqlType::Float8, SqlType::Float4) => Self::FloatToReal,
            (SqlType::Float4, SqlType::Numeric(_)) => Self::RealToNumeric,
            (from, SqlType::Numeric(_)) if from.is_integer() => Self::IntToNumeric,
            (SqlType::Numeric(_), SqlType::Float8) => Self::NumericToFloat,
            (SqlType::Float8, SqlType::Numeric(_)) => Self::FloatToNumeric,
            (SqlType::Date, SqlType::Timestamp(_)) => Self::DateToTimestamp,
            (SqlType::Timestamp(_), SqlType::Date) => Self::TimestampToDate,
            (SqlType::Date, SqlType::TimestampTz(_)) => {
                Self::Steps(Box::new([Self::DateToTimestamp, Self::LocalToZoned]))
            }
            (SqlType::TimestampTz(_), SqlType::Date) => {
                Self::Steps(Box::new([Self::ZonedToLocal, Self::TimestampToDate]))
            }
            (SqlType::Timestamp(_), SqlType::Time(_)) => Self::TimestampToTime,
            (SqlType::TimestampTz(_), SqlType::Time(_)) => {
                Self::Steps(Box::new([Self::ZonedToLocal, Self::TimestampToTime]))
            }
            (SqlType::Time(_), SqlType::Interval) => Self::TimeToInterval,
            (SqlType::Interval, SqlType::Time(_)) => Self::IntervalToTime,
            (SqlType::TimestampTz(_), SqlType::Timestamp(_)) => Self::ZonedToLocal,
            (SqlType::Timestamp(_), SqlType::TimestampTz(_)) => Self::LocalToZoned,
            (from, to) => match (width(from), from, width(to)) {
                (Some(from), _, Some(to)) if from <= to => Self::Nothing,
                (Some(_), _, Some(width)) => Self::IntToInt(width),
                (None, SqlType::Numeric(_), Some(width)) => Self::NumericToInt(width),
                (None, SqlType::Float4 | SqlType::Float8, Some(width)) => Self::FloatToInt(width),
                _ => Self::Nothing,
            },
        }
    }

    /// Applies the cast to a value.
    ///
    /// # Errors
    /// 22003 and 22008 if the value is out of range, 22001 if text is too long, 22P02 and 22007 if
    /// text is not a value of the target type.
    pub fn apply(&self, value: Value) -> Result<Value> {
        if let Value::Timestamp(time) = value
            && let Some(converted) = self.of_time(time)?
        {
            return Ok(converted);
        }
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
            (Self::IntToReal, Value::Int(number)) => Value::Float(f64::from(number as f32)),
            (Self::NumericToReal, Value::Numeric(number)) => {
                Value::Float(real::of_numeric(number)?)
            }
            (Self::FloatToReal, Value::Float(number)) => Value::Float(real::of_float(number)?),
            (Self::RealToNumeric, Value::Float(number)) => {
                Value::Numeric(real::to_numeric(number)?)
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
            (fit @ (Self::FitVarchar { .. } | Self::FitChar { .. }), Value::Text(mut text)) => {
                let fitting = fit.fit_text(&text)?.len();
                text.truncate(fitting);
                Value::Text(text)
            }
            (Self::DateToTimestamp, Value::Date(days)) => {
                Value::Timestamp(date::to_timestamp(days)?)
            }
            (Self::IntervalToTime, Value::Interval(interval)) => {
                Value::Timestamp(time_of_day::of_interval(interval))
            }
            (Self::ToText(_), Value::Bool(truth)) => {
                Value::text(if truth { "true" } else { "false" })
            }
            (
                Self::ToText(from) | Self::Print(from) | Self::ToJsonb(from) | Self::ToJson(from),
                value,
            ) => self.printed(&value, from)?,
            (Self::JsonTo(to), Value::Json(value)) => json::to_scalar(&value, to)?,
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

    /// Prints a value as text or JSON.
    fn printed(&self, value: &Value, from: &SqlType) -> Result<Value> {
        require_labels(value, from)?;
        Ok(match self {
            Self::ToJsonb(_) => json::of_value(value, from)?.checked()?.into(),
            Self::ToJson(_) => {
                let mut text = compact_str::CompactString::default();
                json::print_value(value, from, &mut text);
                Value::Text(text)
            }
            _ => Value::Text(output::text(value, from)),
        })
    }

    /// Converts a time; `None` if this is no conversion of times alone.
    fn of_time(&self, time: i64) -> Result<Option<Value>> {
        Ok(Some(match self {
            Self::TimestampToDate => Value::Date(timestamp::to_date(time)),
            Self::TimestampToTime => time_of_day::of_timestamp(time),
            Self::TimeToInterval => Value::Interval(time_of_day::to_interval(time)),
            Self::FitTime(digits) => Value::Timestamp(timestamp::rounded(time, *digits)?),
            Self::ZonedToLocal => Value::Timestamp(zone::to_local(time)?),
            Self::LocalToZoned => Value::Timestamp(zone::to_utc(time)?),
            _ => return Ok(None),
        }))
    }

    /// Returns the text truncated to the length, or fails if the cast may not truncate.
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

/// Rounds to the nearest integer, half away from zero.
///
/// # Errors
/// 22003 if the result is out of range.
pub fn numeric_to_int(number: Decimal, width: Width) -> Result<i64> {
    match numeric::to_int(number) {
        Some(number) => width.fit(number),
        None => Err(Error::out_of_range(width.name())),
    }
}

/// Rounds to the nearest integer, half to even.
///
/// # Errors
/// 22003 if the result is out of range.
pub fn float_to_int(number: f64, width: Width) -> Result<i64> {
    let least = match width {
        Width::Two => i64::from(i16::MIN),
        Width::Four => i64::from(i32::MIN),
        Width::Eight => i64::MIN,
    };
    float::to_int(number, least).ok_or_else(|| Error::out_of_range(width.name()))
}

/// Parses a boolean: `true`, `yes`, `on`, `1`, their opposites, or an unambiguous prefix of one.
///
/// # Errors
/// 22P02 if the text is not a boolean.
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

/// Parses an integer, see [`integer::parse`].
pub(crate) fn parse_int(text: &str, width: Width) -> Result<Value> {
    Ok(Value::Int(integer::parse(width, text)?))
}
/// Checks that all places have labels: a block keeps its catalog, but its rows may have labels
/// that others have added since. They must not become empty texts.
fn require_labels(value: &Value, sql_type: &SqlType) -> Result<()> {
    match (value, sql_type) {
        (Value::Int(place), SqlType::Enum(of)) if of.label(*place).is_none() => {
            Err(unseen_label(of))
        }
        (Value::Array(values), SqlType::Array(element))
            if matches!(**element, SqlType::Enum(_) | SqlType::Record(_)) =>
        {
            values.iter().try_for_each(|value| require_labels(value, element))
        }
        (Value::Row(values), SqlType::Record(fields)) => {
            let mut pairs = values.iter().zip(fields);
            pairs.try_for_each(|(value, field)| require_labels(value, &field.sql_type))
        }
        _ => Ok(()),
    }
}

/// A value has a label that is newer than the catalog that the statement sees.
#[cold]
pub fn unseen_label(of: &EnumType) -> Box<Error> {
    let name = of.shown();
    let message =
        format!("could not serialize access: a value of enum {name} is newer than the transaction");
    Error::new("40001", message)
        .detail("Another transaction has added its label to the type.")
        .hint("Run the transaction again.")
}

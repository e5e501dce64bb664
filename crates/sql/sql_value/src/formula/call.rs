//! Chooses the implementation of a function by the types of its arguments.

use super::apply::{
    array_of, bytes_of, date_of, float_of, int_of, interval_of, numeric_of, text_of, time_of,
};
use super::{Binary, Many, Unary};
use crate::error::{Error, Result, sqlstate};
use crate::integer::{self, Width};
use crate::value::{Decimal, Value};
use crate::{array, bytes, date, float, format, interval, numeric, quoting, text, time_of_day};
use crate::{time_format, timestamp, zone};
use compact_str::CompactString;
use sql::function::Function;
use sql::types::SqlType;

/// The implementation of a function.
pub(super) enum Chosen {
    /// One argument, never called with null.
    Unary(Unary),
    /// Two arguments, never called with null.
    Binary(Binary),
    /// Any number of arguments, never called with null.
    Strict(Many),
    /// Any number of arguments, called with nulls, too.
    Lenient(Many),
}

use Chosen::{Binary as Two, Lenient, Strict, Unary as One};

/// Returns the implementation for arguments of these types.
pub(super) fn choose(function: Function, types: &[SqlType]) -> Option<Chosen> {
    if let Function::Json { function, is_binary } = function {
        return super::json::function(function, is_binary);
    }
    of_numbers(function, types)
        .or_else(|| of_bytes(function, types))
        .or_else(|| of_texts(function, types))
        .or_else(|| of_times(function, types))
        .or_else(|| of_arrays(function))
        .or_else(|| of_elements(function))
}

fn of_numbers(function: Function, types: &[SqlType]) -> Option<Chosen> {
    let is_float = types.first() == Some(&SqlType::Float8);
    Some(match function {
        Function::Abs => One(absolute(types.first()?)?),
        Function::Mod => Two(match types.first()? {
            SqlType::Numeric(_) => |a, b| decimal(numeric::modulo(numeric_of(a)?, numeric_of(b)?)),
            _ => |a, b| Ok(Value::Int(integer::modulo(int_of(a)?, int_of(b)?)?)),
        }),
        Function::Round if is_float => One(|a| of_float(a, f64::round_ties_even)),
        Function::Trunc if is_float => One(|a| of_float(a, f64::trunc)),
        Function::Floor if is_float => One(|a| of_float(a, f64::floor)),
        Function::Ceil if is_float => One(|a| of_float(a, f64::ceil)),
        Function::Sign if is_float => One(|a| of_float(a, float::sign)),
        Function::Round if types.len() == 2 => {
            Two(|a, b| decimal(numeric::round(numeric_of(a)?, int_of(b)? as i32)))
        }
        Function::Trunc if types.len() == 2 => {
            Two(|a, b| decimal(numeric::trunc(numeric_of(a)?, int_of(b)? as i32)))
        }
        Function::Round => One(|a| decimal(numeric::round(numeric_of(a)?, 0))),
        Function::Trunc => One(|a| decimal(numeric::trunc(numeric_of(a)?, 0))),
        Function::Floor => One(|a| decimal(numeric::floor(numeric_of(a)?))),
        Function::Ceil => One(|a| decimal(numeric::ceil(numeric_of(a)?))),
        Function::Sign => One(|a| Ok(Value::Numeric(numeric::sign(numeric_of(a)?)))),
        _ => return None,
    })
}

fn absolute(sql_type: &SqlType) -> Option<Unary> {
    Some(match sql_type {
        SqlType::Int2 => |a| Ok(Value::Int(integer::abs(Width::Two, int_of(a)?)?)),
        SqlType::Int4 => |a| Ok(Value::Int(integer::abs(Width::Four, int_of(a)?)?)),
        SqlType::Int8 => |a| Ok(Value::Int(integer::abs(Width::Eight, int_of(a)?)?)),
        SqlType::Numeric(_) => |a| Ok(Value::Numeric(numeric::abs(numeric_of(a)?))),
        SqlType::Float4 | SqlType::Float8 => |a| of_float(a, f64::abs),
        _ => return None,
    })
}

fn decimal(number: Result<Decimal>) -> Result<Value> {
    number.map(Value::Numeric)
}

fn of_float(value: &Value, apply: impl Fn(f64) -> f64) -> Result<Value> {
    Ok(Value::Float(apply(float_of(value)?)))
}

fn of_texts(function: Function, types: &[SqlType]) -> Option<Chosen> {
    Some(match function {
        Function::Length => One(|a| Ok(Value::Int(text::length(text_of(a)?)))),
        Function::Lower => One(|a| Ok(Value::Text(text::lower(text_of(a)?)))),
        Function::Upper => One(|a| Ok(Value::Text(text::upper(text_of(a)?)))),
        Function::Reverse => One(|a| Ok(Value::Text(text::reverse(text_of(a)?)))),
        Function::Ascii => One(|a| Ok(Value::Int(text::code(text_of(a)?)))),
        Function::Chr => One(|a| Ok(Value::Text(text::character(int_of(a)?)?))),
        Function::Left => Two(|a, b| Ok(Value::text(text::left(text_of(a)?, int_of(b)?)))),
        Function::Right => Two(|a, b| Ok(Value::text(text::right(text_of(a)?, int_of(b)?)))),
        Function::Repeat => Two(|a, b| Ok(Value::Text(text::repeat(text_of(a)?, int_of(b)?)?))),
        Function::Strpos => Two(|a, b| Ok(Value::Int(text::position(text_of(a)?, text_of(b)?)))),
        Function::Substr if types.len() == 2 => {
            Two(|a, b| Ok(Value::text(text::substring_from(text_of(a)?, int_of(b)?))))
        }
        Function::Substr => Strict(|values| match values {
            [a, from, count] => {
                Ok(Value::text(text::substring(text_of(a)?, int_of(from)?, int_of(count)?)?))
            }
            _ => Err(wrong_count()),
        }),
        Function::Lpad => Strict(|values| padded(values, text::pad_left)),
        Function::Rpad => Strict(|values| padded(values, text::pad_right)),
        Function::Btrim => Strict(|values| {
            trimmed(values, |text, set| text::trim_right(text::trim_left(text, set), set))
        }),
        Function::Ltrim => Strict(|values| trimmed(values, text::trim_left)),
        Function::Rtrim => Strict(|values| trimmed(values, text::trim_right)),
        Function::Replace => Strict(|values| match values {
            [a, part, with] => {
                Ok(Value::Text(text::replace(text_of(a)?, text_of(part)?, text_of(with)?)))
            }
            _ => Err(wrong_count()),
        }),
        Function::SplitPart => Strict(|values| match values {
            [a, separator, at] => {
                let part = text::split_part(text_of(a)?, text_of(separator)?, int_of(at)?)?;
                Ok(Value::text(part))
            }
            _ => Err(wrong_count()),
        }),
        Function::StartsWith => Two(|a, b| Ok(Value::Bool(text_of(a)?.starts_with(text_of(b)?)))),
        Function::InitCap => One(|a| Ok(Value::Text(text::capitals(text_of(a)?)))),
        Function::Translate => Strict(|values| match values {
            [a, from, to] => {
                Ok(Value::Text(text::translate(text_of(a)?, text_of(from)?, text_of(to)?)))
            }
            _ => Err(wrong_count()),
        }),
        Function::Concat => Lenient(concatenated),
        Function::Format => Lenient(quoting::format),
        Function::QuoteIdent => One(|a| Ok(Value::text(&quoting::identifier(text_of(a)?)))),
        Function::QuoteLiteral => One(|a| Ok(Value::text(&quoting::literal(text_of(a)?)))),
        Function::QuoteNullable => Lenient(|values| match values {
            [Value::Null] => Ok(Value::text(&quoting::nullable(None))),
            [a] => Ok(Value::text(&quoting::nullable(Some(text_of(a)?)))),
            _ => Err(wrong_count()),
        }),
        Function::ToChar => Two(|a, b| {
            let number = match a {
                Value::Int(number) => Decimal::from_int(*number),
                number => numeric_of(number)?,
            };
            Ok(Value::Text(format::number(number, text_of(b)?)?))
        }),
        _ => return None,
    })
}

fn of_bytes(function: Function, types: &[SqlType]) -> Option<Chosen> {
    let are_bytes = types.first() == Some(&SqlType::Bytes);
    Some(match function {
        Function::OctetLength if are_bytes => One(|a| Ok(Value::Int(bytes_of(a)?.len() as i64))),
        Function::OctetLength => One(|a| Ok(Value::Int(text_of(a)?.len() as i64))),
        Function::Substr if are_bytes && types.len() == 2 => {
            Two(|a, b| Ok(Value::Bytes(bytes::substring_from(bytes_of(a)?, int_of(b)?).into())))
        }
        Function::Substr if are_bytes => Strict(|values| match values {
            [a, from, count] => {
                let part = bytes::substring(bytes_of(a)?, int_of(from)?, int_of(count)?)?;
                Ok(Value::Bytes(part.into()))
            }
            _ => Err(wrong_count()),
        }),
        Function::Encode => Two(|a, b| Ok(Value::Text(bytes::encode(bytes_of(a)?, text_of(b)?)?))),
        Function::Decode => {
            Two(|a, b| Ok(Value::Bytes(bytes::decode(text_of(a)?, text_of(b)?)?.into())))
        }
        _ => return None,
    })
}

fn wrong_count() -> Box<Error> {
    Error::internal("a function has another number of arguments")
}

fn padded(
    values: &[Value],
    pad: impl Fn(&str, i64, &str) -> Result<CompactString>,
) -> Result<Value> {
    match values {
        [text, count] => Ok(Value::Text(pad(text_of(text)?, int_of(count)?, " ")?)),
        [text, count, fill] => {
            Ok(Value::Text(pad(text_of(text)?, int_of(count)?, text_of(fill)?)?))
        }
        _ => Err(wrong_count()),
    }
}

fn trimmed(values: &[Value], trim: impl for<'t> Fn(&'t str, &str) -> &'t str) -> Result<Value> {
    match values {
        [text] => Ok(Value::text(trim(text_of(text)?, " "))),
        [text, set] => Ok(Value::text(trim(text_of(text)?, text_of(set)?))),
        _ => Err(wrong_count()),
    }
}

fn concatenated(values: &[Value]) -> Result<Value> {
    let mut result = CompactString::default();
    for value in values.iter().filter(|value| !value.is_null()) {
        result.push_str(text_of(value)?);
    }
    Ok(Value::Text(result))
}

fn of_times(function: Function, types: &[SqlType]) -> Option<Chosen> {
    const PLAIN: &str = "timestamp without time zone";
    let of = |sql_type: &SqlType| types.get(1).is_some_and(|own| own.base() == *sql_type);
    Some(Two(match function {
        Function::Extract if of(&SqlType::Date) => {
            |unit, value| Ok(date::extract(text_of(unit)?, date_of(value)?)?.into())
        }
        Function::Extract if of(&SqlType::Time(None)) => {
            |unit, value| Ok(time_of_day::extract(text_of(unit)?, time_of(value)?)?.into())
        }
        Function::Extract if of(&SqlType::Interval) => {
            |unit, value| Ok(interval::extract(text_of(unit)?, interval_of(value)?)?.into())
        }
        Function::Extract if of(&SqlType::TimestampTz(None)) => {
            |unit, value| Ok(timestamp::extract_zoned(text_of(unit)?, time_of(value)?)?.into())
        }
        Function::Extract => {
            |unit, value| Ok(timestamp::extract(text_of(unit)?, time_of(value)?, PLAIN)?.into())
        }
        Function::DatePart if of(&SqlType::TimestampTz(None)) => |unit, value| {
            let part = timestamp::extract_zoned(text_of(unit)?, time_of(value)?)?;
            Ok(part.map_or(Value::Null, |part| Value::Float(numeric::to_float(part))))
        },
        Function::DatePart => |unit, value| {
            let part = timestamp::extract(text_of(unit)?, time_of(value)?, PLAIN)?;
            Ok(part.map_or(Value::Null, |part| Value::Float(numeric::to_float(part))))
        },
        Function::DateTrunc if of(&SqlType::TimestampTz(None)) => |unit, value| {
            Ok(Value::Timestamp(timestamp::trunc_zoned(text_of(unit)?, time_of(value)?)?))
        },
        Function::AtTimeZone if of(&SqlType::TimestampTz(None)) => |zone, value| {
            Ok(Value::Timestamp(zone::find(text_of(zone)?)?.to_local(time_of(value)?)?))
        },
        Function::AtTimeZone => {
            |zone, value| Ok(Value::Timestamp(zone::find(text_of(zone)?)?.to_utc(time_of(value)?)?))
        }
        Function::TimeToChar => |value, format| {
            let shown = time_format::time(time_of(value)?, text_of(format)?)?;
            Ok(shown.map_or(Value::Null, Value::Text))
        },
        Function::ZonedToChar => |value, format| {
            let time = time_of(value)?;
            let local = time.saturating_add(zone::offset(time));
            Ok(time_format::time(local, text_of(format)?)?.map_or(Value::Null, Value::Text))
        },
        Function::DateTrunc => |unit, value| {
            Ok(Value::Timestamp(timestamp::trunc(text_of(unit)?, time_of(value)?, PLAIN)?))
        },
        _ => return None,
    }))
}

fn of_arrays(function: Function) -> Option<Chosen> {
    Some(match function {
        Function::ArrayLength | Function::ArrayUpper => {
            Two(|array, dimension| bound(array, dimension, |length| length))
        }
        Function::ArrayLower => Two(|array, dimension| bound(array, dimension, |_| 1)),
        Function::Cardinality => One(|array| Ok(Value::Int(array_of(array)?.len() as i64))),
        Function::ArrayAppend => Lenient(|values| match values {
            [Value::Null, element] => Ok(Value::Array([element.clone()].into())),
            [array, element] => {
                let elements = array_of(array)?.iter().chain([element]);
                Ok(Value::Array(elements.cloned().collect()))
            }
            _ => Err(wrong_count()),
        }),
        Function::ArrayConcat => Lenient(|values| match values {
            [Value::Null, other] | [other, Value::Null] => Ok(other.clone()),
            [left, right] => {
                let elements = array_of(left)?.iter().chain(array_of(right)?);
                Ok(Value::Array(elements.cloned().collect()))
            }
            _ => Err(wrong_count()),
        }),
        _ => return None,
    })
}

fn of_elements(function: Function) -> Option<Chosen> {
    Some(match function {
        Function::ArrayPrepend => Lenient(|values| match values {
            [element, Value::Null] => Ok(Value::Array([element.clone()].into())),
            [element, array] => {
                let elements = std::iter::once(element).chain(array_of(array)?);
                Ok(Value::Array(elements.cloned().collect()))
            }
            _ => Err(wrong_count()),
        }),
        Function::ArrayRemove => Lenient(|values| match values {
            [Value::Null, _] => Ok(Value::Null),
            [array, gone] => Ok(array::remove(array_of(array)?, gone)),
            _ => Err(wrong_count()),
        }),
        Function::ArrayReplace => Lenient(|values| match values {
            [Value::Null, ..] => Ok(Value::Null),
            [array, old, new] => Ok(array::replace(array_of(array)?, old, new)),
            _ => Err(wrong_count()),
        }),
        Function::ArrayPosition => Lenient(|values| match values {
            [Value::Null, ..] => Ok(Value::Null),
            [_, _, Value::Null] => {
                let message = "initial position must not be null";
                Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, message))
            }
            [array, wanted, rest @ ..] => {
                let first = rest.first().map_or(Ok(1), int_of)?;
                let mut found = array::positions(array_of(array)?, wanted);
                Ok(found.find(|at| *at >= first).into())
            }
            _ => Err(wrong_count()),
        }),
        Function::ArrayPositions => Lenient(|values| match values {
            [Value::Null, _] => Ok(Value::Null),
            [array, wanted] => {
                let found = array::positions(array_of(array)?, wanted).map(Value::Int);
                Ok(Value::Array(found.collect()))
            }
            _ => Err(wrong_count()),
        }),
        Function::ArrayDimensions => {
            One(|array| Ok((!array_of(array)?.is_empty()).then_some(1).into()))
        }
        Function::ArraySlice => Strict(|values| match values {
            [array, low, high] => Ok(array::slice(array_of(array)?, int_of(low)?, int_of(high)?)),
            _ => Err(wrong_count()),
        }),
        Function::ArrayToText => Lenient(|values| match values {
            [Value::Null, ..] | [_, Value::Null, ..] => Ok(Value::Null),
            [array, separator, rest @ ..] => {
                let null = rest.first().and_then(Value::as_text);
                let separator = text_of(separator)?;
                Ok(Value::Text(array::to_text(array_of(array)?, separator, null)))
            }
            _ => Err(wrong_count()),
        }),
        Function::SortedValues => Two(sorted_values),
        Function::TextToArray => Lenient(|values| match values {
            [Value::Null, ..] => Ok(Value::Null),
            [text, separator, rest @ ..] => {
                let null = rest.first().and_then(Value::as_text);
                Ok(array::of_text(text_of(text)?, separator.as_text(), null))
            }
            _ => Err(wrong_count()),
        }),
        _ => return None,
    })
}

fn sorted_values(rows: &Value, keys: &Value) -> Result<Value> {
    Ok(array::sorted_values(array_of(rows)?, text_of(keys)?))
}

/// Returns a bound of a non-empty array's only dimension; null for any other dimension or an empty
/// array.
fn bound(array: &Value, dimension: &Value, bound: impl Fn(i64) -> i64) -> Result<Value> {
    let length = array_of(array)?.len() as i64;
    let has_it = int_of(dimension)? == 1 && length > 0;
    Ok(has_it.then(|| bound(length)).into())
}

//! Chooses the implementation of an operator or function of JSON.

use super::apply::{array_of, int_of, text_of};
use super::call::Chosen;
use super::{Binary, Many};
use crate::error::{Error, Result};
use crate::json::{self, Json, RawJson};
use crate::value::Value;
use compact_str::CompactString;
use sql::expression::BinaryOperator;
use sql::json_function::JsonFunction;
use sql::types::SqlType;

pub(super) fn json_of(value: &Value) -> Result<&Json> {
    match value {
        Value::Json(json) => Ok(json),
        _ => Err(Error::internal("a value is no jsonb")),
    }
}

/// Returns an operator for these types.
pub(super) fn operator(
    operator: BinaryOperator,
    left: &SqlType,
    right: &SqlType,
) -> Option<Binary> {
    use BinaryOperator as Op;
    let by_position = right.is_integer();
    Some(match (operator, left) {
        (Op::Get, SqlType::Jsonb) if by_position => {
            |a, b| Ok(json::position_or_self(json_of(a)?, int_of(b)?).cloned().into())
        }
        (Op::Get, SqlType::Jsonb) => {
            |a, b| Ok(json::field(json_of(a)?, text_of(b)?).cloned().into())
        }
        (Op::GetText, SqlType::Jsonb) if by_position => |a, b| {
            Ok(json::position_or_self(json_of(a)?, int_of(b)?).and_then(json::text_of).into())
        },
        (Op::GetText, SqlType::Jsonb) => {
            |a, b| Ok(json::field(json_of(a)?, text_of(b)?).and_then(json::text_of).into())
        }
        (Op::GetPath, SqlType::Jsonb) => |a, b| at_path(a, b, |json| json.clone().into()),
        (Op::GetPathText, SqlType::Jsonb) => {
            |a, b| at_path(a, b, |json| json::text_of(json).into())
        }
        (Op::Get | Op::GetText | Op::GetPath | Op::GetPathText, _) => {
            return raw_operator(operator, by_position);
        }
        (Op::Contains, SqlType::Jsonb) => {
            |a, b| Ok(Value::Bool(json::contains(json_of(a)?, json_of(b)?)))
        }
        (Op::Contained, SqlType::Jsonb) => {
            |a, b| Ok(Value::Bool(json::contains(json_of(b)?, json_of(a)?)))
        }
        (Op::HasKey, _) => |a, b| Ok(Value::Bool(json::has(json_of(a)?, text_of(b)?))),
        (Op::HasAny, _) => |a, b| {
            let (json, keys) = (json_of(a)?, steps_of(b)?);
            Ok(Value::Bool(keys.into_iter().flatten().any(|key| json::has(json, key))))
        },
        (Op::HasAll, _) => |a, b| {
            let (json, keys) = (json_of(a)?, steps_of(b)?);
            Ok(Value::Bool(keys.into_iter().flatten().all(|key| json::has(json, key))))
        },
        (Op::Concatenate, _) => |a, b| Ok(json::concatenate(json_of(a)?, json_of(b)?)?.into()),
        (Op::Subtract, _) if by_position => {
            |a, b| Ok(json::delete_at(json_of(a)?, int_of(b)?)?.into())
        }
        (Op::Subtract, _) if matches!(right, SqlType::Array(_)) => |a, b| {
            let keys: Vec<&str> = steps_of(b)?.into_iter().flatten().collect();
            Ok(json::delete_some(json_of(a)?, &keys)?.into())
        },
        (Op::Subtract, _) => |a, b| Ok(json::delete(json_of(a)?, text_of(b)?)?.into()),
        (Op::DeletePath, _) => |a, b| Ok(json::delete_path(json_of(a)?, &steps_of(b)?)?.into()),
        _ => return None,
    })
}

/// Operators of `json`.
fn raw_operator(operator: BinaryOperator, by_position: bool) -> Option<Binary> {
    use BinaryOperator as Op;
    Some(match operator {
        Op::Get if by_position => |a, b| {
            let raw = RawJson::new(text_of(a)?)?;
            Ok(raw.element(int_of(b)?)?.map(|part| CompactString::new(part.source())).into())
        },
        Op::Get => |a, b| {
            let raw = RawJson::new(text_of(a)?)?;
            Ok(raw.field(text_of(b)?)?.map(|part| CompactString::new(part.source())).into())
        },
        Op::GetText if by_position => |a, b| {
            let raw = RawJson::new(text_of(a)?)?;
            Ok(raw.element(int_of(b)?)?.map_or(Ok(None), |part| part.value_text())?.into())
        },
        Op::GetText => |a, b| {
            let raw = RawJson::new(text_of(a)?)?;
            Ok(raw.field(text_of(b)?)?.map_or(Ok(None), |part| part.value_text())?.into())
        },
        Op::GetPath => |a, b| raw_path(a, b, false),
        Op::GetPathText => |a, b| raw_path(a, b, true),
        _ => return None,
    })
}

fn raw_path(json: &Value, path: &Value, is_text: bool) -> Result<Value> {
    let raw = RawJson::new(text_of(json)?)?;
    let Some(steps) = steps_of(path)?.into_iter().collect::<Option<Vec<_>>>() else {
        return Ok(Value::Null);
    };
    Ok(match is_text {
        true => raw.piece_text(&steps)?.into(),
        false => raw.piece(&steps)?.into(),
    })
}

fn at_path(json: &Value, path: &Value, give: impl Fn(&Json) -> Value) -> Result<Value> {
    let steps = steps_of(path)?.into_iter().collect::<Option<Vec<_>>>();
    let found = steps.and_then(|steps| json::path(json_of(json).ok()?, &steps));
    Ok(found.map_or(Value::Null, give))
}

/// The elements of an array of texts; `None` for nulls.
fn steps_of(value: &Value) -> Result<Vec<Option<&str>>> {
    Ok(array_of(value)?.iter().map(Value::as_text).collect())
}

/// Returns a function, if it is not one of [`JsonFunction::takes_any`].
pub(super) fn function(function: JsonFunction, is_binary: bool) -> Option<Chosen> {
    use JsonFunction as Of;
    Some(match (function, is_binary) {
        (Of::To, _) => Chosen::Unary(|a| Ok(a.clone())),
        (Of::BuildArray, true) => Chosen::Lenient(|values| {
            let elements = values.iter().map(part).collect::<Result<Vec<_>>>()?;
            let elements = elements.into_iter().map(|json| json.unwrap_or(Json::Null));
            Ok(json::build_array(elements.collect())?.into())
        }),
        (Of::BuildObject, true) => Chosen::Lenient(|values| {
            let keys = values.iter().step_by(2).map(|key| key.as_text().map(CompactString::new));
            let keys: Vec<_> = keys.collect();
            let parts = values.iter().enumerate().map(|(at, value)| match at % 2 {
                0 => Ok(None),
                _ => part(value),
            });
            Ok(json::build_object(parts.collect::<Result<_>>()?, &keys)?.into())
        }),
        (Of::BuildArray, false) => Chosen::Lenient(|values| {
            let mut text = CompactString::default();
            json::print_array(values.iter().map(piece), ", ", &mut text);
            Ok(Value::Text(text))
        }),
        (Of::BuildObject, false) => Chosen::Lenient(|values| {
            let mut text = CompactString::default();
            json::print_object(values, &mut text)?;
            Ok(Value::Text(text))
        }),
        (Of::Typeof, true) => Chosen::Unary(|a| Ok(json::type_of(json_of(a)?).into())),
        (Of::Typeof, false) => Chosen::Unary(|a| Ok(RawJson::new(text_of(a)?)?.type_name().into())),
        (Of::Length, true) => Chosen::Unary(|a| Ok(Value::Int(json::length(json_of(a)?)?))),
        (Of::Length, false) => {
            Chosen::Unary(|a| Ok(Value::Int(RawJson::new(text_of(a)?)?.length()?)))
        }
        (Of::Set, _) => Chosen::Strict(|values| match values {
            [json, path, value, creates] => {
                let (json, value) = (json_of(json)?, json_of(value)?);
                Ok(json::set(json, &steps_of(path)?, value, creates.is_true())?.into())
            }
            _ => Err(Error::internal("jsonb_set has four arguments")),
        }),
        (Of::Pretty, _) => Chosen::Unary(|a| Ok(Value::Text(json::pretty(json_of(a)?)))),
        (Of::StripNulls, _) => Chosen::Unary(|a| Ok(json::without_nulls(json_of(a)?).into())),
        (Of::ExtractPath, true) => Chosen::Binary(|a, b| at_path(a, b, |json| json.clone().into())),
        (Of::ExtractPathText, true) => {
            Chosen::Binary(|a, b| at_path(a, b, |json| json::text_of(json).into()))
        }
        (Of::ExtractPath, false) => Chosen::Binary(|a, b| raw_path(a, b, false)),
        (Of::ExtractPathText, false) => Chosen::Binary(|a, b| raw_path(a, b, true)),
        _ => return rows(function, is_binary),
    })
}

/// Functions whose results are arrays that `FROM` turns into rows.
fn rows(function: JsonFunction, is_binary: bool) -> Option<Chosen> {
    use JsonFunction as Of;
    Some(Chosen::Unary(match (function, is_binary) {
        (Of::Elements, true) => {
            |a| Ok(array(json::elements(json_of(a)?)?.iter().map(|json| json.clone().into())))
        }
        (Of::ElementsText, true) => |a| {
            Ok(array(json::elements(json_of(a)?)?.iter().map(|json| json::text_of(json).into())))
        },
        (Of::Keys, true) => |a| Ok(array(json::keys(json_of(a)?)?.into_iter().map(Value::from))),
        (Of::Values, true) => |a| {
            let pairs = json::values(json_of(a)?, "jsonb_each")?;
            Ok(array(pairs.iter().map(|(_, value)| value.clone().into())))
        },
        (Of::ValuesText, true) => |a| {
            let pairs = json::values(json_of(a)?, "jsonb_each_text")?;
            Ok(array(pairs.iter().map(|(_, value)| json::text_of(value).into())))
        },
        (Of::Elements, false) => {
            |a| Ok(array(RawJson::new(text_of(a)?)?.elements()?.into_iter().map(Value::from)))
        }
        (Of::ElementsText, false) => |a| {
            let pieces = RawJson::new(text_of(a)?)?.elements()?;
            let texts = pieces.into_iter().map(|piece| RawJson::new(piece)?.value_text());
            Ok(array(texts.collect::<Result<Vec<_>>>()?.into_iter().map(Value::from)))
        },
        (Of::Keys, false) => |a| {
            let pairs = RawJson::new(text_of(a)?)?.pairs("json_object_keys")?;
            Ok(array(pairs.into_iter().map(|(key, _)| Value::Text(key))))
        },
        (Of::Values, false) => |a| {
            let pairs = RawJson::new(text_of(a)?)?.pairs("json_each")?;
            Ok(array(pairs.into_iter().map(|(_, value)| value.into())))
        },
        (Of::ValuesText, false) => |a| {
            let pairs = RawJson::new(text_of(a)?)?.pairs("json_each_text")?;
            let texts = pairs.into_iter().map(|(_, value)| RawJson::new(value)?.value_text());
            Ok(array(texts.collect::<Result<Vec<_>>>()?.into_iter().map(Value::from)))
        },
        _ => return None,
    }))
}

fn array(values: impl Iterator<Item = Value>) -> Value {
    Value::Array(values.collect())
}

/// An argument that was converted to `jsonb`; `None` for null.
fn part(value: &Value) -> Result<Option<Json>> {
    match value {
        Value::Null => Ok(None),
        value => json_of(value).cloned().map(Some),
    }
}

/// An argument that was converted to `json`.
fn piece(value: &Value) -> &str {
    value.as_text().unwrap_or("null")
}

/// The object or array of an aggregate's values, which are JSON, or rows of keys and JSON.
pub(crate) fn aggregated(aggregate: sql::expression::Aggregate, values: &[Value]) -> Result<Value> {
    use sql::expression::Aggregate as Of;
    let pair = |value: &Value| match value {
        Value::Row(pair) => match &**pair {
            [key, value] => Ok((key.as_text().map(CompactString::new), value.clone())),
            _ => Err(Error::internal("a pair has two values")),
        },
        _ => Err(Error::internal("a value is no pair")),
    };
    let build: Many = match aggregate {
        Of::JsonbAgg => |values| {
            let elements = values.iter().map(|value| Ok(part(value)?.unwrap_or(Json::Null)));
            Ok(json::build_array(elements.collect::<Result<_>>()?)?.into())
        },
        Of::JsonbObjectAgg => {
            let pairs = values.iter().map(|value| {
                let (key, value) = pair(value)?;
                Ok((key, part(&value)?.unwrap_or(Json::Null)))
            });
            return Ok(json::object_of(pairs.collect::<Result<_>>()?)?.into());
        }
        Of::JsonObjectAgg => {
            let mut text = CompactString::const_new("{ ");
            for (at, value) in values.iter().enumerate() {
                let (key, value) = pair(value)?;
                json::print_pair(key.as_deref(), piece(&value), at, &mut text)?;
            }
            text.push_str(" }");
            return Ok(Value::Text(text));
        }
        Of::JsonAggLines => |values| {
            let mut text = CompactString::default();
            json::print_array(values.iter().map(piece), ", \n ", &mut text);
            Ok(Value::Text(text))
        },
        _ => |values| {
            let mut text = CompactString::default();
            json::print_array(values.iter().map(piece), ", ", &mut text);
            Ok(Value::Text(text))
        },
    };
    build(values)
}

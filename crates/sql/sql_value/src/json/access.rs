//! Reading of `jsonb` values.

use super::{Json, find, order_inside, refuse, text};
use crate::error::Result;
use compact_str::CompactString;

/// The position of element `at` in an array of this length; negative ones count from the end.
pub(super) fn index(length: usize, at: i64) -> Option<usize> {
    let at = if at < 0 { at + length as i64 } else { at };
    usize::try_from(at).ok().filter(|at| *at < length)
}

/// The value of a key of an object.
pub fn field<'j>(json: &'j Json, key: &str) -> Option<&'j Json> {
    match json {
        Json::Object(pairs) => find(pairs, key),
        _ => None,
    }
}

/// The element at a position of an array, counted from 0.
pub fn position(json: &Json, at: i64) -> Option<&Json> {
    match json {
        Json::Array(elements) => index(elements.len(), at).map(|at| &elements[at]),
        _ => None,
    }
}

/// As [`position`]; a scalar is the only element of itself, as for PostgreSQL's operators.
pub fn position_or_self(json: &Json, at: i64) -> Option<&Json> {
    match json {
        scalar if scalar.is_scalar() => index(1, at).map(|_| scalar),
        json => position(json, at),
    }
}

/// The part at a path of keys and positions.
pub fn path<'j>(json: &'j Json, steps: &[&str]) -> Option<&'j Json> {
    steps.iter().try_fold(json, |json, step| match json {
        Json::Array(_) => position(json, step.trim_start().parse::<i32>().ok()?.into()),
        json => field(json, step),
    })
}

/// The value as text: a text without quotes; `None` for a JSON null.
pub fn text_of(json: &Json) -> Option<CompactString> {
    match json {
        Json::Null => None,
        Json::Text(text) => Some(text.clone()),
        json => Some(text(json)),
    }
}

/// The name of the type.
pub fn type_of(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::Text(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// The number of elements of an array.
///
/// # Errors
/// 22023 if it is no array.
pub fn length(json: &Json) -> Result<i64> {
    match json {
        Json::Array(elements) => Ok(elements.len() as i64),
        Json::Object(_) => Err(refuse("cannot get array length of a non-array")),
        _ => Err(refuse("cannot get array length of a scalar")),
    }
}

/// The elements of an array.
///
/// # Errors
/// 22023 if it is no array.
pub fn elements(json: &Json) -> Result<&[Json]> {
    match json {
        Json::Array(elements) => Ok(elements),
        Json::Object(_) => Err(refuse("cannot extract elements from an object")),
        _ => Err(refuse("cannot extract elements from a scalar")),
    }
}

/// The keys of an object.
///
/// # Errors
/// 22023 if it is no object.
pub fn keys(json: &Json) -> Result<Vec<&str>> {
    match json {
        Json::Object(pairs) => Ok(pairs.iter().map(|(key, _)| key.as_str()).collect()),
        Json::Array(_) => Err(refuse("cannot call jsonb_object_keys on an array")),
        _ => Err(refuse("cannot call jsonb_object_keys on a scalar")),
    }
}

/// The pairs of an object.
///
/// # Errors
/// 22023 if it is no object.
pub fn values<'j>(json: &'j Json, function: &str) -> Result<&'j [(CompactString, Json)]> {
    match json {
        Json::Object(pairs) => Ok(pairs),
        _ => Err(refuse(format!("cannot call {function} on a non-object"))),
    }
}

/// Whether a text is a key of an object, an element of an array, or the value itself.
pub fn has(json: &Json, key: &str) -> bool {
    let is_it = |json: &Json| matches!(json, Json::Text(text) if text == key);
    match json {
        Json::Object(pairs) => find(pairs, key).is_some(),
        Json::Array(elements) => elements.iter().any(is_it),
        json => is_it(json),
    }
}

/// Whether all parts of `inner` are at the same place of `outer`. An array may also contain a
/// scalar.
pub fn contains(outer: &Json, inner: &Json) -> bool {
    match (outer, inner) {
        (Json::Array(elements), scalar) if scalar.is_scalar() => {
            elements.iter().any(|element| order_inside(element, scalar).is_eq())
        }
        _ => contains_inside(outer, inner),
    }
}

fn contains_inside(outer: &Json, inner: &Json) -> bool {
    match (outer, inner) {
        (Json::Object(outer), Json::Object(inner)) => inner.iter().all(|(key, value)| {
            find(outer, key).is_some_and(|found| contains_inside(found, value))
        }),
        (Json::Array(outer), Json::Array(inner)) => {
            inner.iter().all(|wanted| outer.iter().any(|found| contains_inside(found, wanted)))
        }
        (outer, inner) => order_inside(outer, inner).is_eq(),
    }
}

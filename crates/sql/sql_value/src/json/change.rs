//! Building of `jsonb` values.

use super::access::index;
use super::{Json, key_order, refuse};
use crate::error::{Error, Result, sqlstate};
use compact_str::CompactString;

/// Makes an array.
///
/// # Errors
/// 54001 if it has too many levels.
pub fn build_array(elements: Vec<Json>) -> Result<Json> {
    Json::Array(elements).checked()
}

/// Makes an object of keys and values, one after the other.
///
/// # Errors
/// 22023 if a key is null, or the last key has no value; 54001 if it has too many levels.
pub fn build_object(parts: Vec<Option<Json>>, keys: &[Option<CompactString>]) -> Result<Json> {
    if parts.len() % 2 == 1 {
        return Err(refuse("argument list must have even number of elements").hint(
            "The arguments of jsonb_build_object() must consist of alternating keys and values.",
        ));
    }
    let mut pairs = Vec::with_capacity(keys.len());
    for (at, (key, value)) in keys.iter().zip(parts.into_iter().skip(1).step_by(2)).enumerate() {
        let Some(key) = key else {
            return Err(refuse(format!("argument {}: key must not be null", 2 * at + 1)));
        };
        pairs.push((key.clone(), value.unwrap_or(Json::Null)));
    }
    Json::object(pairs).checked()
}

/// Makes an object of pairs, as `jsonb_object_agg`.
///
/// # Errors
/// 22023 if a key is null.
pub fn object_of(pairs: Vec<(Option<CompactString>, Json)>) -> Result<Json> {
    let pair = |(key, value): (Option<CompactString>, Json)| match key {
        Some(key) => Ok((key, value)),
        None => Err(refuse("field name must not be null")),
    };
    Json::object(pairs.into_iter().map(pair).collect::<Result<_>>()?).checked()
}

/// `||`: merges objects; all others are concatenated as arrays.
///
/// # Errors
/// 54001 if it has too many levels.
pub fn concatenate(left: &Json, right: &Json) -> Result<Json> {
    if let (Json::Object(left), Json::Object(right)) = (left, right) {
        return Ok(Json::object([left.as_slice(), right].concat()));
    }
    let parts = |json: &Json| match json {
        Json::Array(elements) => elements.clone(),
        other => vec![other.clone()],
    };
    build_array([parts(left), parts(right)].concat())
}

/// `- text`: without a key, or without all such elements.
///
/// # Errors
/// 22023 if it is a scalar.
pub fn delete(json: &Json, key: &str) -> Result<Json> {
    delete_some(json, &[key])
}

/// `- text[]`.
///
/// # Errors
/// 22023 if it is a scalar.
pub fn delete_some(json: &Json, keys: &[&str]) -> Result<Json> {
    match json {
        Json::Object(pairs) => {
            let kept = pairs.iter().filter(|(own, _)| !keys.contains(&own.as_str()));
            Ok(Json::Object(kept.cloned().collect()))
        }
        Json::Array(elements) => {
            let is_gone =
                |json: &&Json| matches!(json, Json::Text(text) if keys.contains(&text.as_str()));
            Ok(Json::Array(elements.iter().filter(|json| !is_gone(json)).cloned().collect()))
        }
        _ => Err(refuse("cannot delete from scalar")),
    }
}

/// `- integer`: without the element at a position.
///
/// # Errors
/// 22023 if it is no array.
pub fn delete_at(json: &Json, at: i64) -> Result<Json> {
    match json {
        Json::Array(elements) => {
            let mut elements = elements.clone();
            if let Some(at) = index(elements.len(), at) {
                elements.remove(at);
            }
            Ok(Json::Array(elements))
        }
        Json::Object(_) => Err(refuse("cannot delete from object using integer index")),
        _ => Err(refuse("cannot delete from scalar")),
    }
}

/// `#-`: without the part at a path.
///
/// # Errors
/// 22023 if it is a scalar, 22P02 if a step into an array is no number.
pub fn delete_path(json: &Json, steps: &[Option<&str>]) -> Result<Json> {
    if json.is_scalar() {
        return Err(refuse("cannot delete path in scalar"));
    }
    let mut json = json.clone();
    if !steps.is_empty() {
        change(&mut json, steps, 0, &Change::Delete)?;
    }
    Ok(json)
}

/// `jsonb_set`: replaces the part at a path; `creates` adds the last step if it is missing.
///
/// # Errors
/// As [`delete_path`].
pub fn set(json: &Json, steps: &[Option<&str>], value: &Json, creates: bool) -> Result<Json> {
    if json.is_scalar() {
        return Err(refuse("cannot set path in scalar"));
    }
    let mut json = json.clone();
    if !steps.is_empty() {
        change(&mut json, steps, 0, &Change::Set { value, creates })?;
    }
    json.checked()
}

enum Change<'j> {
    Delete,
    Set { value: &'j Json, creates: bool },
}

fn change(json: &mut Json, steps: &[Option<&str>], at: usize, what: &Change<'_>) -> Result<()> {
    let Some(step) = steps[at] else {
        let message = format!("path element at position {} is null", at + 1);
        return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
    };
    let is_last = at + 1 == steps.len();
    match json {
        Json::Object(pairs) => {
            let found = pairs.binary_search_by(|(own, _)| key_order(own, step));
            match (found, what) {
                (Ok(place), _) if !is_last => change(&mut pairs[place].1, steps, at + 1, what)?,
                (Ok(place), Change::Delete) => drop(pairs.remove(place)),
                (Ok(place), Change::Set { value, .. }) => pairs[place].1 = (*value).clone(),
                (Err(place), Change::Set { value, creates: true }) if is_last => {
                    pairs.insert(place, (CompactString::new(step), (*value).clone()));
                }
                _ => {}
            }
        }
        Json::Array(elements) => {
            let position: i32 = step.trim_start().parse().map_err(|_| {
                let message =
                    format!("path element at position {} is not an integer: \"{step}\"", at + 1);
                Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, message)
            })?;
            match (index(elements.len(), position.into()), what) {
                (Some(place), _) if !is_last => {
                    change(&mut elements[place], steps, at + 1, what)?;
                }
                (Some(place), Change::Delete) => drop(elements.remove(place)),
                (Some(place), Change::Set { value, .. }) => elements[place] = (*value).clone(),
                (None, Change::Set { value, creates: true }) if is_last => {
                    let place = if position < 0 { 0 } else { elements.len() };
                    elements.insert(place, (*value).clone());
                }
                _ => {}
            }
        }
        _ => {}
    }
    Ok(())
}

/// Without the pairs whose value is null.
pub fn without_nulls(json: &Json) -> Json {
    match json {
        Json::Array(elements) => Json::Array(elements.iter().map(without_nulls).collect()),
        Json::Object(pairs) => {
            let kept = pairs.iter().filter(|(_, value)| *value != Json::Null);
            Json::Object(kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        scalar => scalar.clone(),
    }
}

//! Operators on values of any type.

use crate::evaluate::unsupported;
use regex_lite::{Regex, RegexBuilder};
use sql_session::SqlError;
use sql_value::{Value, like, output};
use sqlparser::ast::{BinaryOperator, UnaryOperator};
use std::cmp::Ordering;

/// A value as text; `None` is null.
pub fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Text(text) => Some(text.to_string()),
        value => Some(output::text(value, &sql::SqlType::Unknown).to_string()),
    }
}

/// A value as a number, if it is one or its text is one.
pub fn int_of(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::Float(number) => Some(*number as i64),
        Value::Bool(truth) => Some(i64::from(*truth)),
        Value::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

pub fn bool_of(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::Text(text) => match text.to_lowercase().as_str() {
            "t" | "true" | "yes" | "on" | "1" => Some(true),
            "f" | "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        },
        Value::Int(number) => Some(*number != 0),
        _ => None,
    }
}

/// The elements of an array; a text such as `{1,2}` is read as one.
pub fn elements_of(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(values) => Some(values.to_vec()),
        Value::Text(text) => {
            let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
            if inner.is_empty() {
                return Some(Vec::new());
            }
            Some(inner.split(',').map(|part| Value::text(part.trim().trim_matches('"'))).collect())
        }
        _ => None,
    }
}

/// Compares values; those of different types as numbers if one is a number. `None` if one is null.
pub fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::Bool(_), _) | (_, Value::Bool(_)) => Some(bool_of(left)?.cmp(&bool_of(right)?)),
        (Value::Float(_), _) | (_, Value::Float(_)) => {
            let number = |value: &Value| match value {
                Value::Float(number) => Some(*number),
                other => int_of(other).map(|number| number as f64),
            };
            number(left)?.partial_cmp(&number(right)?)
        }
        (Value::Int(_), _) | (_, Value::Int(_)) => Some(int_of(left)?.cmp(&int_of(right)?)),
        (Value::Array(left), Value::Array(right)) => {
            let mut pairs = left.iter().zip(right.iter());
            let different = pairs.find_map(|(one, other)| match compare(one, other) {
                Some(Ordering::Equal) => None,
                order => order,
            });
            Some(different.unwrap_or_else(|| left.len().cmp(&right.len())))
        }
        (Value::Array(_), other) | (other, Value::Array(_)) => {
            let elements = Value::Array(elements_of(other)?.into());
            match left {
                Value::Array(_) => compare(left, &elements),
                _ => compare(&elements, right),
            }
        }
        _ => Some(text_of(left)?.cmp(&text_of(right)?)),
    }
}

/// Order for sorting: nulls last.
pub fn sort_order(left: &Value, right: &Value) -> Ordering {
    match (left.is_null(), right.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => compare(left, right).unwrap_or(Ordering::Equal),
    }
}

/// Whether a text matches a regular expression of PostgreSQL.
pub fn matches(text: &str, pattern: &str, ignores_case: bool) -> Result<bool, SqlError> {
    let regex: Result<Regex, _> = RegexBuilder::new(pattern).case_insensitive(ignores_case).build();
    let regex = regex
        .map_err(|error| SqlError::new("2201B", format!("invalid regular expression: {error}")))?;
    Ok(regex.is_match(text))
}

pub fn is_distinct(left: &Value, right: &Value) -> bool {
    match (left.is_null(), right.is_null()) {
        (true, true) => false,
        (false, false) => compare(left, right) != Some(Ordering::Equal),
        _ => true,
    }
}

pub fn is_in(value: &Value, list: &[Value]) -> Option<bool> {
    let mut is_unknown = value.is_null() && !list.is_empty();
    for element in list {
        match compare(value, element) {
            Some(Ordering::Equal) => return Some(true),
            Some(_) => {}
            None => is_unknown = true,
        }
    }
    (!is_unknown).then_some(false)
}

/// A pattern of LIKE whose escape character is the backslash.
pub fn with_backslashes(pattern: Value, escape: Option<Value>) -> Result<Value, SqlError> {
    let Some(escape) = escape else { return Ok(pattern) };
    let (Some(text), Some(escape)) = (text_of(&pattern), text_of(&escape)) else {
        return Ok(Value::Null);
    };
    if escape.chars().count() > 1 {
        let error = SqlError::new("22025", "invalid escape string");
        return Err(error.hint("Escape string must be empty or one character."));
    }
    let escape = escape.chars().next();
    let mut letters = text.chars();
    let mut written = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            letter if Some(letter) == escape => {
                written.push('\\');
                // At the end, the matcher refuses the backslash without a letter.
                written.extend(letters.next());
            }
            '\\' => written.push_str("\\\\"),
            letter => written.push(letter),
        }
    }
    Ok(Value::text(&written))
}

pub fn like_of(
    value: &Value,
    pattern: &Value,
    ignores_case: bool,
) -> Result<Option<bool>, SqlError> {
    match (text_of(value), text_of(pattern)) {
        (Some(text), Some(pattern)) => {
            let matched = like::matches(&text, &pattern, ignores_case);
            matched.map(Some).map_err(|error| SqlError::new("22025", error.message.clone()))
        }
        _ => Ok(None),
    }
}

pub fn unary(operator: UnaryOperator, value: &Value) -> Result<Value, SqlError> {
    Ok(match operator {
        UnaryOperator::Not => bool_of(value).map_or(Value::Null, |truth| Value::Bool(!truth)),
        UnaryOperator::Minus => match value {
            Value::Float(number) => Value::Float(-number),
            other => int_of(other).map_or(Value::Null, |number| Value::Int(number.wrapping_neg())),
        },
        UnaryOperator::Plus => value.clone(),
        other => return Err(unsupported(format!("the operator {other}"))),
    })
}

/// A binary operator; `OPERATOR(pg_catalog.~)` is `~`.
pub fn operate(left: &Value, operator: &BinaryOperator, right: &Value) -> Result<Value, SqlError> {
    let named = match operator {
        BinaryOperator::PGCustomBinaryOperator(parts) => parts.last().cloned().unwrap_or_default(),
        BinaryOperator::Custom(name) => name.clone(),
        other => other.to_string(),
    };
    let truth = |known: Option<bool>| known.map_or(Value::Null, Value::Bool);
    let order = |test: fn(Ordering) -> bool| truth(compare(left, right).map(test));
    let regex = |ignores_case: bool, is_wanted: bool| -> Result<Value, SqlError> {
        match (text_of(left), text_of(right)) {
            (Some(text), Some(pattern)) => {
                Ok(Value::Bool(matches(&text, &pattern, ignores_case)? == is_wanted))
            }
            _ => Ok(Value::Null),
        }
    };
    let number = |operation: fn(i64, i64) -> Option<i64>| {
        let both = int_of(left).zip(int_of(right));
        both.and_then(|(left, right)| operation(left, right)).map_or(Value::Null, Value::Int)
    };
    Ok(match named.to_uppercase().as_str() {
        "AND" => truth(match (bool_of(left), bool_of(right)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }),
        "OR" => truth(match (bool_of(left), bool_of(right)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        }),
        "=" => order(Ordering::is_eq),
        "<>" | "!=" => order(Ordering::is_ne),
        "<" => order(Ordering::is_lt),
        ">" => order(Ordering::is_gt),
        "<=" => order(Ordering::is_le),
        ">=" => order(Ordering::is_ge),
        "~" => regex(false, true)?,
        "~*" => regex(true, true)?,
        "!~" => regex(false, false)?,
        "!~*" => regex(true, false)?,
        "~~" => truth(like_of(left, right, false)?),
        "!~~" => truth(like_of(left, right, false)?.map(|is_like| !is_like)),
        "~~*" => truth(like_of(left, right, true)?),
        "||" => concatenate(left, right),
        "+" => number(i64::checked_add),
        "-" => number(i64::checked_sub),
        "*" => number(i64::checked_mul),
        "/" => number(i64::checked_div),
        "%" => number(i64::checked_rem),
        "&" => number(|left, right| Some(left & right)),
        "|" => number(|left, right| Some(left | right)),
        "@>" => truth(contains(left, right)),
        "<@" => truth(contains(right, left)),
        other => return Err(unsupported(format!("the operator {other}"))),
    })
}

fn contains(left: &Value, right: &Value) -> Option<bool> {
    let (left, right) = elements_of(left).zip(elements_of(right))?;
    Some(right.iter().all(|element| is_in(element, &left) == Some(true)))
}

fn concatenate(left: &Value, right: &Value) -> Value {
    if let (Value::Array(left), Value::Array(right)) = (left, right) {
        return Value::Array(left.iter().chain(right.iter()).cloned().collect());
    }
    match (text_of(left), text_of(right)) {
        (Some(left), Some(right)) => Value::text(&(left + &right)),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_with_numbers_as_numbers() {
        let order = |left: Value, right: Value| compare(&left, &right);
        assert_eq!(order(Value::Int(9), Value::text("10")), Some(Ordering::Less));
        assert_eq!(order(Value::text("9"), Value::text("10")), Some(Ordering::Greater));
        assert_eq!(order(Value::Bool(true), Value::text("t")), Some(Ordering::Equal));
        assert_eq!(order(Value::Null, Value::Int(1)), None);
        let array = Value::Array([Value::Int(0)].as_slice().into());
        assert_eq!(order(array, Value::text("{0}")), Some(Ordering::Equal));
        assert_eq!(sort_order(&Value::Null, &Value::Int(1)), Ordering::Greater);
    }

    #[test]
    fn psqls_patterns_match_whole_names() {
        assert_eq!(matches("account", "^(account)$", false), Ok(true));
        assert_eq!(matches("accounts", "^(account)$", false), Ok(false));
        assert_eq!(matches("Pg_x", "^pg_", true), Ok(true));
        assert!(matches("x", "(", false).is_err());
    }
}

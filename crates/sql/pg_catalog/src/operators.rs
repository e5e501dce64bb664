//! Operators on values of any type.

use regex_lite::{Regex, RegexBuilder};
use sql_session::SqlError;
use sql_value::{Value, output};
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

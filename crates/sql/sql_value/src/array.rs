//! Functions and operators of arrays [PostgreSQL 15, `array_userfuncs.c`, `arrayfuncs.c` and
//! `varlena.c` in `src/backend/utils/adt`].

use crate::order::{order, sort_order};
use crate::value::Value;
use compact_str::CompactString;
use std::cmp::Ordering;

fn equals(left: &Value, right: &Value) -> bool {
    order(left, right).is_eq()
}

/// As [`equals`]; nulls equal nothing.
fn matches(left: &Value, right: &Value) -> bool {
    !left.is_null() && !right.is_null() && equals(left, right)
}

/// Whether every element of `inner` is one of `outer`.
pub fn contains(outer: &[Value], inner: &[Value]) -> bool {
    inner.iter().all(|wanted| outer.iter().any(|found| matches(found, wanted)))
}

/// Whether the arrays have an element in common.
pub fn overlaps(left: &[Value], right: &[Value]) -> bool {
    left.iter().any(|one| right.iter().any(|other| matches(one, other)))
}

/// Without all elements that equal `gone`, which may be null.
pub fn remove(array: &[Value], gone: &Value) -> Value {
    Value::Array(array.iter().filter(|element| !equals(element, gone)).cloned().collect())
}

/// With `new` instead of all elements that equal `old`. Both may be null.
pub fn replace(array: &[Value], old: &Value, new: &Value) -> Value {
    let element = |element: &Value| if equals(element, old) { new } else { element }.clone();
    Value::Array(array.iter().map(element).collect())
}

/// The positions of the elements that equal `wanted`, which may be null, counted from 1.
pub fn positions<'v>(array: &'v [Value], wanted: &'v Value) -> impl Iterator<Item = i64> + 'v {
    let found = array.iter().enumerate().filter(move |(_, element)| equals(element, wanted));
    found.map(|(at, _)| at as i64 + 1)
}

/// The elements at positions `low` to `high`, counted from 1.
pub fn slice(array: &[Value], low: i64, high: i64) -> Value {
    let from = (low.max(1) - 1).min(array.len() as i64) as usize;
    let to = high.clamp(0, array.len() as i64) as usize;
    Value::Array(array.get(from..to).unwrap_or_default().into())
}

/// The elements, which are texts, with a separator between them. Nulls are skipped, unless they
/// have a text.
pub fn to_text(array: &[Value], separator: &str, null: Option<&str>) -> CompactString {
    let mut text = CompactString::default();
    let mut is_first = true;
    for value in array {
        if value.is_null() && null.is_none() {
            continue;
        }
        if !is_first {
            text.push_str(separator);
        }
        is_first = false;
        match null.filter(|_| value.is_null()) {
            Some(null) => text.push_str(null),
            None => text.push_str(value.as_text().unwrap_or_default()),
        }
    }
    text
}

/// The parts of a text between separators; without a separator its characters. Parts that equal
/// `null` are null.
pub fn of_text(text: &str, separator: Option<&str>, null: Option<&str>) -> Value {
    let part = |part: &str| if Some(part) == null { Value::Null } else { Value::text(part) };
    let parts: Vec<Value> = match separator {
        _ if text.is_empty() => Vec::new(),
        None => {
            let letters = text.char_indices().map(|(at, letter)| &text[at..at + letter.len_utf8()]);
            letters.map(part).collect()
        }
        Some("") => vec![part(text)],
        Some(separator) => text.split(separator).map(part).collect(),
    };
    Value::Array(parts.into())
}

/// The last fields of rows, sorted by the fields before them. `keys` has two letters for each of
/// these: `a` or `d` for its direction, `f` or `l` for nulls first or last.
pub fn sorted_values(rows: &[Value], keys: &str) -> Value {
    let keys: Vec<(bool, bool)> =
        keys.as_bytes().chunks(2).map(|key| (key[0] == b'd', key.get(1) == Some(&b'f'))).collect();
    let fields = |row: &Value| match row {
        Value::Row(fields) => fields.to_vec(),
        _ => Vec::new(),
    };
    let mut rows: Vec<Vec<Value>> = rows.iter().map(fields).collect();
    rows.sort_by(|left, right| {
        let pairs = left.iter().zip(right).zip(&keys);
        let mut orders = pairs.map(|((left, right), (descending, nulls_first))| {
            sort_order(left, right, *descending, *nulls_first)
        });
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
    Value::Array(rows.into_iter().map(|mut row| row.pop().unwrap_or(Value::Null)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(numbers: &[i64]) -> Vec<Value> {
        numbers.iter().map(|number| Value::Int(*number)).collect()
    }

    #[test]
    fn slices_end_at_the_ends() {
        let array = ints(&[1, 2, 3]);
        for (low, high, expected) in
            [(2, 3, &[2, 3][..]), (-5, 2, &[1, 2]), (3, 9, &[3]), (3, 2, &[]), (9, 12, &[])]
        {
            assert_eq!(slice(&array, low, high), Value::Array(ints(expected).into()));
        }
    }

    #[test]
    fn nulls_match_nothing_but_are_found() {
        let with_null = [Value::Int(1), Value::Null];
        assert!(!contains(&with_null, &with_null) && overlaps(&with_null, &with_null));
        assert_eq!(positions(&with_null, &Value::Null).collect::<Vec<_>>(), [2]);
        assert_eq!(remove(&with_null, &Value::Null), Value::Array(ints(&[1]).into()));
    }
}

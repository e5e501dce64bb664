//! Values that were just made, on their way to where they are kept.
//!
//! A value is written in pieces: its kind, and what it holds. A processor that loads both at once right behind that waits until
//! the pieces have left for its cache. So the kinds that come most often are taken apart and put together again.

use value::Value;

/// Puts a value behind others.
#[inline(always)]
pub(crate) fn put(values: &mut Vec<Value>, value: Value) {
    match value {
        Value::Null => values.push(Value::Null),
        Value::Int(number) => values.push(Value::Int(number)),
        Value::Numeric(decimal) => values.push(Value::Numeric(decimal)),
        Value::Timestamp(microseconds) => values.push(Value::Timestamp(microseconds)),
        other => values.push(other),
    }
}

/// Puts a value in the place of another.
#[inline(always)]
pub(crate) fn set(place: &mut Value, value: Value) {
    match (&mut *place, &value) {
        (Value::Int(held), Value::Int(number)) => *held = *number,
        (Value::Numeric(held), Value::Numeric(decimal)) => *held = *decimal,
        _ => *place = value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use value::Decimal;

    #[test]
    fn values_of_all_kinds_arrive() {
        let numeric = |units| Value::Numeric(Decimal { units, scale: 2 });
        let all = [
            Value::Null,
            Value::Int(7),
            Value::Int(-8),
            numeric(120),
            numeric(-1 << 90),
            Value::Timestamp(5),
            Value::Bool(true),
            Value::text(
                "a text that needs memory of its own, so that it would be told if it were freed twice",
            ),
        ];
        let mut values = Vec::new();
        all.iter().for_each(|value| put(&mut values, value.clone()));
        assert_eq!(values, all);
        for (before, value) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other)))
        {
            let mut place = before.clone();
            set(&mut place, value.clone());
            assert_eq!(place, *value, "in the place of {before:?}");
        }
    }
}

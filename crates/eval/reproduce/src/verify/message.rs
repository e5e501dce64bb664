//! Calls as messages for the machine that executes them.

use datagen::Call;
use sql_value::{Decimal, Value};
use std::sync::Arc;

/// Kinds of values.
const NULL: u8 = 0;
const BOOL: u8 = 1;
const INT: u8 = 2;
const NUMERIC: u8 = 3;
const FLOAT: u8 = 4;
const TEXT: u8 = 5;
const DATE: u8 = 6;
const TIMESTAMP: u8 = 7;
const ARRAY: u8 = 8;
/// The deepest nesting of arrays.
const DEPTH_MAX: u32 = 4;

pub(super) fn encode(call: &Call) -> Vec<u8> {
    let mut message = vec![call.procedure as u8, call.arguments.len() as u8];
    call.arguments.iter().for_each(|value| put(value, &mut message));
    message
}

/// The call of these bytes, if they are valid.
pub(super) fn decode(message: &[u8]) -> Option<Call> {
    let (&[procedure, count], mut rest) = message.split_first_chunk()?;
    let mut arguments = Vec::with_capacity(count.into());
    for _ in 0..count {
        arguments.push(take(&mut rest, 0)?);
    }
    rest.is_empty().then_some(Call { procedure: procedure.into(), arguments })
}

/// Appends a value. Values that no load draws are encoded as nulls.
fn put(value: &Value, message: &mut Vec<u8>) {
    let mut fixed = |kind: u8, bytes: &[u8]| {
        message.push(kind);
        message.extend_from_slice(bytes);
    };
    match value {
        Value::Bool(truth) => fixed(BOOL, &[u8::from(*truth)]),
        Value::Int(number) => fixed(INT, &number.to_le_bytes()),
        Value::Numeric(decimal) => {
            fixed(NUMERIC, &decimal.units.to_le_bytes());
            message.push(decimal.scale);
        }
        Value::Float(number) => fixed(FLOAT, &number.to_le_bytes()),
        Value::Text(text) => {
            fixed(TEXT, &(text.len() as u32).to_le_bytes());
            message.extend_from_slice(text.as_bytes());
        }
        Value::Date(days) => fixed(DATE, &days.to_le_bytes()),
        Value::Timestamp(time) => fixed(TIMESTAMP, &time.to_le_bytes()),
        Value::Array(elements) => {
            fixed(ARRAY, &(elements.len() as u32).to_le_bytes());
            elements.iter().for_each(|element| put(element, message));
        }
        _ => fixed(NULL, &[]),
    }
}

fn take(rest: &mut &[u8], depth: u32) -> Option<Value> {
    let [kind] = chunk(rest)?;
    Some(match kind {
        NULL => Value::Null,
        BOOL => Value::Bool(chunk::<1>(rest)? == [1]),
        INT => Value::Int(i64::from_le_bytes(chunk(rest)?)),
        NUMERIC => {
            let units = i128::from_le_bytes(chunk(rest)?);
            let [scale] = chunk(rest)?;
            Value::Numeric(Decimal { units, scale })
        }
        FLOAT => Value::Float(f64::from_le_bytes(chunk(rest)?)),
        TEXT => {
            let length = u32::from_le_bytes(chunk(rest)?) as usize;
            let (text, behind) = rest.split_at_checked(length)?;
            *rest = behind;
            Value::text(std::str::from_utf8(text).ok()?)
        }
        DATE => Value::Date(i32::from_le_bytes(chunk(rest)?)),
        TIMESTAMP => Value::Timestamp(i64::from_le_bytes(chunk(rest)?)),
        ARRAY if depth < DEPTH_MAX => {
            let count = u32::from_le_bytes(chunk(rest)?) as usize;
            // Each element takes at least a byte.
            let elements = (0..count.min(rest.len() + 1)).map(|_| take(rest, depth + 1));
            let elements: Option<Vec<Value>> = elements.collect();
            Value::Array(Arc::from(elements.filter(|all| all.len() == count)?))
        }
        _ => return None,
    })
}

fn chunk<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (chunk, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_survive_their_way_and_cut_ones_are_refused() {
        let arguments = vec![
            Value::Int(-7),
            Value::text("a text"),
            Value::Null,
            Value::Numeric(Decimal { units: 12_345, scale: 2 }),
            Value::Array([1, 2, 3].map(Value::Int).to_vec().into()),
            Value::Bool(true),
            Value::Timestamp(99),
            Value::Date(3),
            Value::Float(0.5),
        ];
        let call = Call { procedure: 4, arguments };
        let message = encode(&call);
        assert_eq!(decode(&message), Some(call));
        for end in 0..message.len() {
            assert_eq!(decode(&message[..end]), None, "{end} bytes");
        }
        assert_eq!(decode(&[0, 1, ARRAY, 255, 255, 255, 255]), None);
    }
}

//! Arguments as generated code takes them.

use runtime::Argument;
use value::Value;

/// The arguments of a call, which own their arrays.
#[derive(Clone, Debug)]
pub struct Prepared {
    arguments: Vec<Owned>,
}

#[derive(Clone, Debug)]
enum Owned {
    Plain(Value),
    Ints(Vec<i64>),
    Bools(Vec<bool>),
    Texts(Vec<Value>),
}

impl Prepared {
    /// Prepares drawn arguments; none if generated code takes no such values.
    pub fn new(arguments: Vec<Value>) -> Option<Self> {
        let arguments: Option<Vec<Owned>> = arguments.into_iter().map(owned).collect();
        Some(Self { arguments: arguments? })
    }

    /// The elements of the arguments that are arrays of texts, for [`Prepared::arguments`]: an empty list for all others.
    pub fn texts(&self) -> Vec<Vec<&[u8]>> {
        let has_texts = self.arguments.iter().any(|owned| matches!(owned, Owned::Texts(_)));
        if has_texts { self.arguments.iter().map(texts).collect() } else { Vec::new() }
    }

    /// The arguments, with their texts.
    pub fn arguments<'a>(&'a self, texts: &'a [Vec<&'a [u8]>]) -> Vec<Argument<'a>> {
        let of = |at: usize| texts.get(at).map_or(&[][..], Vec::as_slice);
        let arguments = self.arguments.iter().enumerate();
        arguments.map(|(at, owned)| borrowed(owned, of(at))).collect()
    }
}

fn owned(value: Value) -> Option<Owned> {
    let Value::Array(elements) = &value else {
        let is_known = !matches!(value, Value::Bytes(_) | Value::Interval(_) | Value::Row(_));
        return is_known.then_some(Owned::Plain(value));
    };
    let ints = elements.iter().map(|element| match element {
        Value::Int(number) => Some(*number),
        _ => None,
    });
    let bools = elements.iter().map(|element| match element {
        Value::Bool(flag) => Some(*flag),
        _ => None,
    });
    match elements.first() {
        None | Some(Value::Int(_)) => ints.collect::<Option<_>>().map(Owned::Ints),
        Some(Value::Bool(_)) => bools.collect::<Option<_>>().map(Owned::Bools),
        Some(Value::Text(_))
            if elements.iter().all(|element| matches!(element, Value::Text(_))) =>
        {
            Some(Owned::Texts(elements.to_vec()))
        }
        _ => None,
    }
}

fn texts(owned: &Owned) -> Vec<&[u8]> {
    match owned {
        Owned::Texts(texts) => texts.iter().map(text).collect(),
        _ => Vec::new(),
    }
}

fn text(value: &Value) -> &[u8] {
    match value {
        Value::Text(text) => text.as_bytes(),
        _ => &[],
    }
}

fn borrowed<'a>(owned: &'a Owned, texts: &'a [&'a [u8]]) -> Argument<'a> {
    match owned {
        Owned::Ints(numbers) => Argument::Ints(numbers),
        Owned::Bools(flags) => Argument::Bools(flags),
        Owned::Texts(_) => Argument::Texts(texts),
        Owned::Plain(value) => match value {
            Value::Int(number) | Value::Timestamp(number) => Argument::Int(*number),
            Value::Date(days) => Argument::Int(i64::from(*days)),
            Value::Bool(flag) => Argument::Bool(*flag),
            Value::Float(number) => Argument::Float(*number),
            Value::Numeric(decimal) => i64::try_from(decimal.units)
                .map_or(Argument::Null, |units| Argument::Decimal(units, decimal.scale)),
            Value::Text(text) => Argument::Text(text.as_bytes()),
            _ => Argument::Null,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use value::Decimal;

    #[test]
    fn drawn_values_become_arguments() {
        let texts: Vec<Value> = ["a", "bc"].map(Value::text).to_vec();
        let drawn = vec![
            Value::Int(3),
            Value::Null,
            Value::Numeric(Decimal { units: 120, scale: 2 }),
            Value::Array([1, 2].map(Value::Int).to_vec().into()),
            Value::Array(texts.into()),
            Value::text("x"),
            Value::Array(Vec::new().into()),
        ];
        let prepared = Prepared::new(drawn).expect("all are known");
        let texts = prepared.texts();
        let expected = [
            Argument::Int(3),
            Argument::Null,
            Argument::Decimal(120, 2),
            Argument::Ints(&[1, 2]),
            Argument::Texts(&[b"a", b"bc"]),
            Argument::Text(b"x"),
            Argument::Ints(&[]),
        ];
        assert_eq!(prepared.arguments(&texts), expected);
        let with_null = vec![Value::Array(vec![Value::Int(1), Value::Null].into())];
        assert!(Prepared::new(with_null).is_none(), "arrays with nulls are the executor's");
        let with_null = vec![Value::Array(vec![Value::text("a"), Value::Null].into())];
        assert!(Prepared::new(with_null).is_none(), "of texts, too");
    }
}

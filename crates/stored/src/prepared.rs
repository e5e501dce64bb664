//! Arguments as generated code takes them.

use runtime::Argument;
use std::ops::Deref;
use value::Value;

/// Arguments of a call that take no memory of their own.
const FEW: usize = 16;

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
    /// Prepares drawn arguments.
    ///
    /// # Errors
    ///
    /// Generated code takes no such values; they come back.
    pub fn new(arguments: Vec<Value>) -> Result<Self, Vec<Value>> {
        if !arguments.iter().all(is_known) {
            return Err(arguments);
        }
        Ok(Self { arguments: arguments.into_iter().map(owned).collect() })
    }

    /// Whether no argument is an array.
    pub fn is_plain(&self) -> bool {
        self.arguments.iter().all(|owned| matches!(owned, Owned::Plain(_)))
    }

    /// The elements of the arguments that are arrays of texts, for [`Prepared::arguments`]: an empty list for all others.
    pub fn texts(&self) -> Vec<Vec<&[u8]>> {
        let has_texts = self.arguments.iter().any(|owned| matches!(owned, Owned::Texts(_)));
        if has_texts { self.arguments.iter().map(texts).collect() } else { Vec::new() }
    }

    /// The arguments, with their texts.
    pub fn arguments<'a>(&'a self, texts: &'a [Vec<&'a [u8]>]) -> Arguments<'a> {
        let of = |at: usize| texts.get(at).map_or(&[][..], Vec::as_slice);
        let arguments = self.arguments.iter().enumerate();
        let mut arguments = arguments.map(|(at, owned)| borrowed(owned, of(at)));
        let count = self.arguments.len();
        if count > FEW {
            return Arguments::Many(arguments.collect());
        }
        let mut few = [Argument::Null; FEW];
        few.iter_mut().zip(&mut arguments).for_each(|(place, argument)| *place = argument);
        Arguments::Few(few, count)
    }
}

/// The arguments of a call.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it lives on the stack for a call, without memory of its own"
)]
pub enum Arguments<'a> {
    /// So many.
    Few([Argument<'a>; FEW], usize),
    /// More than those.
    Many(Vec<Argument<'a>>),
}

impl<'a> Deref for Arguments<'a> {
    type Target = [Argument<'a>];

    fn deref(&self) -> &[Argument<'a>] {
        match self {
            Self::Few(arguments, count) => &arguments[..*count],
            Self::Many(arguments) => arguments,
        }
    }
}

/// Whether generated code takes such a value. Arrays are of one kind, without nulls.
fn is_known(value: &Value) -> bool {
    let Value::Array(elements) = value else {
        return !matches!(value, Value::Bytes(_) | Value::Interval(_) | Value::Row(_));
    };
    let all = |test: fn(&Value) -> bool| elements.iter().all(test);
    match elements.first() {
        None => true,
        Some(Value::Int(_)) => all(|element| matches!(element, Value::Int(_))),
        Some(Value::Bool(_)) => all(|element| matches!(element, Value::Bool(_))),
        Some(Value::Text(_)) => all(|element| matches!(element, Value::Text(_))),
        Some(_) => false,
    }
}

/// A value that is known.
fn owned(value: Value) -> Owned {
    let Value::Array(elements) = &value else { return Owned::Plain(value) };
    let int = |element: &Value| if let Value::Int(number) = element { *number } else { 0 };
    match elements.first() {
        Some(Value::Text(_)) => Owned::Texts(elements.to_vec()),
        Some(Value::Bool(_)) => {
            Owned::Bools(elements.iter().map(|element| *element == Value::Bool(true)).collect())
        }
        _ => Owned::Ints(elements.iter().map(int).collect()),
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
        assert_eq!(*prepared.arguments(&texts), expected);
        let with_null = vec![Value::Array(vec![Value::Int(1), Value::Null].into())];
        assert!(Prepared::new(with_null).is_err(), "arrays with nulls are the executor's");
        let with_null = vec![Value::Array(vec![Value::text("a"), Value::Null].into())];
        assert!(Prepared::new(with_null).is_err(), "of texts, too");
    }
}

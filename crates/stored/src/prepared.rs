//! Arguments as generated code takes them.

use runtime::Argument;
use std::ops::Deref;
use value::Value;

/// Arguments of a call that take no memory of their own.
const FEW: usize = 16;

/// The arguments of a call, which own their texts and arrays. Their memory is used again by the next call.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// All of them, with a null in place of each that is held apart.
    plain: Vec<Argument<'static>>,
    /// Those that have memory of their own, with their positions.
    held: Vec<(usize, Held)>,
}

#[derive(Clone, Debug)]
enum Held {
    Text(Value),
    Ints(Vec<i64>),
    Bools(Vec<bool>),
    Texts(Vec<Value>),
}

impl Prepared {
    /// Prepares drawn arguments in place of those before; answers whether generated code takes such values. If so, their
    /// texts are taken out of them.
    pub fn take(&mut self, arguments: &mut [Value]) -> bool {
        self.plain.clear();
        self.held.clear();
        for (at, value) in arguments.iter_mut().enumerate() {
            let argument = match value {
                Value::Int(number) => Argument::Int(*number),
                other => match plain(other) {
                    Some(argument) => argument,
                    None if is_held(other) => {
                        self.held.push((at, held(other)));
                        Argument::Null
                    }
                    None => {
                        self.give_back(arguments);
                        return false;
                    }
                },
            };
            self.plain.push(argument);
        }
        true
    }

    /// Puts texts back that were taken out of drawn arguments.
    #[cold]
    fn give_back(&mut self, arguments: &mut [Value]) {
        for (at, held) in self.held.drain(..) {
            if let Held::Text(value) = held {
                arguments[at] = value;
            }
        }
    }

    /// Whether no argument is an array.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.held.iter().all(|(_, held)| matches!(held, Held::Text(_)))
    }

    /// The elements of the arguments that are arrays of texts, for [`Prepared::arguments`]: an empty list for all others.
    #[inline]
    pub fn texts(&self) -> Vec<Vec<&[u8]>> {
        let has_texts = self.held.iter().any(|(_, held)| matches!(held, Held::Texts(_)));
        if has_texts { self.held.iter().map(|(_, held)| texts(held)).collect() } else { Vec::new() }
    }

    /// The arguments, with their texts.
    #[inline]
    pub fn arguments<'a>(&'a self, texts: &'a [Vec<&'a [u8]>]) -> Arguments<'a> {
        match self.held.is_empty() {
            true => Arguments::Plain(&self.plain),
            false => self.with_held(texts),
        }
    }

    /// The arguments, with those that are held.
    fn with_held<'a>(&'a self, texts: &'a [Vec<&'a [u8]>]) -> Arguments<'a> {
        let count = self.plain.len();
        if count > FEW {
            let mut many = self.plain.clone();
            self.put_held(&mut many, texts);
            return Arguments::Many(many);
        }
        let mut few = [Argument::Null; FEW];
        few[..count].copy_from_slice(&self.plain);
        self.put_held(&mut few, texts);
        Arguments::Few(few, count)
    }

    fn put_held<'a>(&'a self, arguments: &mut [Argument<'a>], texts: &'a [Vec<&'a [u8]>]) {
        for (number, (at, held)) in self.held.iter().enumerate() {
            arguments[*at] = match held {
                Held::Text(value) => Argument::Text(text(value)),
                Held::Ints(numbers) => Argument::Ints(numbers),
                Held::Bools(flags) => Argument::Bools(flags),
                Held::Texts(_) => Argument::Texts(texts.get(number).map_or(&[], Vec::as_slice)),
            };
        }
    }
}

/// The arguments of a call.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it lives on the stack for a call, without memory of its own"
)]
pub enum Arguments<'a> {
    /// As they are kept, where none has memory of its own.
    Plain(&'a [Argument<'a>]),
    /// So many.
    Few([Argument<'a>; FEW], usize),
    /// More than those.
    Many(Vec<Argument<'a>>),
}

impl<'a> Deref for Arguments<'a> {
    type Target = [Argument<'a>];

    #[inline]
    fn deref(&self) -> &[Argument<'a>] {
        match self {
            Self::Plain(arguments) => arguments,
            Self::Few(arguments, count) => &arguments[..*count],
            Self::Many(arguments) => arguments,
        }
    }
}

/// A value that generated code takes and that has no memory of its own.
#[inline]
fn plain(value: &Value) -> Option<Argument<'static>> {
    Some(match value {
        Value::Null => Argument::Null,
        Value::Int(number) | Value::Timestamp(number) => Argument::Int(*number),
        Value::Date(days) => Argument::Int(i64::from(*days)),
        Value::Bool(flag) => Argument::Bool(*flag),
        Value::Float(number) => Argument::Float(*number),
        Value::Numeric(decimal) => {
            Argument::Decimal(i64::try_from(decimal.units).ok()?, decimal.scale)
        }
        _ => return None,
    })
}

/// Whether generated code takes a value that has memory of its own. Arrays are of one kind, without nulls.
#[inline]
fn is_held(value: &Value) -> bool {
    match value {
        Value::Text(_) => true,
        Value::Array(elements) => are_known(elements),
        _ => false,
    }
}

fn are_known(elements: &[Value]) -> bool {
    let all = |test: fn(&Value) -> bool| elements.iter().all(test);
    match elements.first() {
        None => true,
        Some(Value::Int(_)) => all(|element| matches!(element, Value::Int(_))),
        Some(Value::Bool(_)) => all(|element| matches!(element, Value::Bool(_))),
        Some(Value::Text(_)) => all(|element| matches!(element, Value::Text(_))),
        Some(_) => false,
    }
}

/// A value that has memory of its own; a text is taken out of it.
#[inline]
fn held(value: &mut Value) -> Held {
    match value {
        Value::Array(elements) => array(elements),
        text => Held::Text(std::mem::replace(text, Value::Null)),
    }
}

fn array(elements: &[Value]) -> Held {
    let int = |element: &Value| if let Value::Int(number) = element { *number } else { 0 };
    match elements.first() {
        Some(Value::Text(_)) => Held::Texts(elements.to_vec()),
        Some(Value::Bool(_)) => {
            Held::Bools(elements.iter().map(|element| *element == Value::Bool(true)).collect())
        }
        _ => Held::Ints(elements.iter().map(int).collect()),
    }
}

fn text(value: &Value) -> &[u8] {
    match value {
        Value::Text(text) => text.as_bytes(),
        _ => &[],
    }
}

fn texts(held: &Held) -> Vec<&[u8]> {
    match held {
        Held::Texts(texts) => texts.iter().map(text).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use value::Decimal;

    #[test]
    fn drawn_values_become_arguments() {
        let texts: Vec<Value> = ["a", "bc"].map(Value::text).to_vec();
        let mut drawn = vec![
            Value::Int(3),
            Value::Null,
            Value::Numeric(Decimal { units: 120, scale: 2 }),
            Value::Array([1, 2].map(Value::Int).to_vec().into()),
            Value::Array(texts.into()),
            Value::text("x"),
            Value::Array(Vec::new().into()),
        ];
        let mut prepared = Prepared::default();
        assert!(prepared.take(&mut drawn), "all are known");
        assert!(!prepared.is_plain());
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
        let too_long = Value::Numeric(Decimal { units: 1 << 64, scale: 0 });
        let with_nulls = ["a", "1"].map(|text| match text {
            "1" => vec![Value::Int(1), Value::Null],
            text => vec![Value::text(text), Value::Null],
        });
        let [texts, numbers] = with_nulls.map(|elements| Value::Array(elements.into()));
        for others in [too_long, texts, numbers] {
            let others = &mut [Value::text("x"), others];
            assert!(!prepared.take(others), "that is the executor's");
            assert_eq!(others[0], Value::text("x"), "and it gets all of them");
        }
    }

    #[test]
    fn numbers_are_given_as_they_are_kept() {
        let mut prepared = Prepared::default();
        for drawn in [vec![Value::text("a")], vec![Value::Int(3), Value::Bool(true)]] {
            assert!(prepared.take(&mut drawn.clone()) && prepared.is_plain());
            let arguments = prepared.arguments(&[]);
            assert_eq!(arguments.len(), drawn.len());
            assert_eq!(matches!(arguments, Arguments::Plain(_)), drawn.len() == 2);
        }
    }
}

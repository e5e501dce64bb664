//! Arguments of calls as generated code accepts them.

use datagen::Arguments as Drawn;
use procedure_runtime::Argument;
use sql_value::Value;
use std::ops::Deref;

/// Up to this number of arguments, a call needs no heap memory for them.
const FEW: usize = 12;

/// The arguments of a call. Their memory is reused for later calls.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// The drawn values.
    drawn: Drawn,
    /// Arguments as generated code accepts them; null for each that refers to memory.
    plain: Vec<Argument<'static>>,
    /// Positions and contents of the arguments that refer to memory.
    held: Vec<(usize, Held)>,
}

#[derive(Clone, Debug)]
enum Held {
    /// A text in `drawn`.
    Text,
    /// An integer array in `drawn`, stored outside of its values.
    Apart,
    Ints(Vec<i64>),
    Bools(Vec<bool>),
    /// An array of texts in `drawn`.
    Texts,
}

impl Prepared {
    /// Prepares arguments; returns whether generated code accepts them.
    pub fn of(arguments: Vec<Value>) -> (Self, bool) {
        let mut prepared = Self { drawn: Drawn::new(arguments), ..Self::default() };
        let is_taken = prepared.prepare();
        (prepared, is_taken)
    }

    /// The drawn values, to be replaced.
    pub fn drawn(&mut self) -> &mut Drawn {
        &mut self.drawn
    }

    /// The arguments as values; no array may be stored outside of them.
    pub fn values(&self) -> &[Value] {
        debug_assert!(!self.drawn.has_arrays());
        self.drawn.values()
    }

    /// The arguments as values, including arrays.
    pub fn whole(&self) -> Vec<Value> {
        std::mem::take(self.drawn.clone().whole())
    }

    /// Prepares the drawn values; returns whether generated code accepts them. If not, moves arrays
    /// back into the values.
    pub fn prepare(&mut self) -> bool {
        let Self { drawn, plain, held } = self;
        plain.clear();
        held.clear();
        let mut are_known = true;
        plain.extend(drawn.values().iter().enumerate().map(|(at, value)| match value {
            Value::Int(number) => Argument::Int(*number),
            other => prepared(at, other, held).unwrap_or_else(|| {
                are_known = false;
                Argument::Null
            }),
        }));
        if !are_known {
            drawn.whole();
        }
        if drawn.has_arrays() {
            held.extend(drawn.arrays().map(|(at, _)| (at, Held::Apart)));
        }
        are_known
    }

    /// Whether no argument is an array.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.held.iter().all(|(_, held)| matches!(held, Held::Text))
    }

    /// The elements of each text array, for [`Prepared::arguments`]; an empty list for every other
    /// argument.
    #[inline]
    pub fn texts(&self) -> Vec<Vec<&[u8]>> {
        let has_texts = self.held.iter().any(|(_, held)| matches!(held, Held::Texts));
        if has_texts {
            self.held.iter().map(|held| self.elements(held)).collect()
        } else {
            Vec::new()
        }
    }

    fn elements(&self, (at, held): &(usize, Held)) -> Vec<&[u8]> {
        match (held, &self.drawn.values()[*at]) {
            (Held::Texts, Value::Array(texts)) => texts.iter().map(text).collect(),
            _ => Vec::new(),
        }
    }

    /// The arguments; `texts` come from [`Prepared::texts`].
    #[inline]
    pub fn arguments<'a>(&'a self, texts: &'a [Vec<&'a [u8]>]) -> Arguments<'a> {
        match self.held.is_empty() {
            true => Arguments::Plain(&self.plain),
            false => self.with_held(texts),
        }
    }

    /// The arguments, including those that refer to memory.
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
        let mut arrays = self.drawn.arrays();
        for (number, (at, held)) in self.held.iter().enumerate() {
            arguments[*at] = match held {
                Held::Text => Argument::Text(text(&self.drawn.values()[*at])),
                // Arrays are in the same order.
                Held::Apart => Argument::Ints(arrays.next().map_or(&[], |(_, elements)| elements)),
                Held::Ints(numbers) => Argument::Ints(numbers),
                Held::Bools(flags) => Argument::Bools(flags),
                Held::Texts => Argument::Texts(texts.get(number).map_or(&[], Vec::as_slice)),
            };
        }
    }
}

#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it lives on the stack for a call, without memory of its own"
)]
pub enum Arguments<'a> {
    /// As stored: no argument refers to memory.
    Plain(&'a [Argument<'a>]),
    /// At most `FEW` arguments, and their number.
    Few([Argument<'a>; FEW], usize),
    /// More than `FEW` arguments.
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

/// A value as generated code accepts it; null if it is stored in `held`. `None` if generated code
/// does not accept it.
#[inline]
fn prepared(at: usize, value: &Value, held: &mut Vec<(usize, Held)>) -> Option<Argument<'static>> {
    let argument = plain(value);
    if argument.is_none() && is_held(value) {
        held.push((at, self::held(value)));
        return Some(Argument::Null);
    }
    argument
}

/// A value that generated code accepts and that refers to no memory.
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

/// Whether generated code accepts a value that refers to memory. Elements of an array must have one
/// type and not be null.
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

/// Stores a value that refers to memory.
#[inline]
fn held(value: &Value) -> Held {
    match value {
        Value::Array(elements) => array(elements),
        _ => Held::Text,
    }
}

fn array(elements: &[Value]) -> Held {
    match elements.first() {
        Some(Value::Text(_)) => Held::Texts,
        Some(Value::Bool(_)) => {
            Held::Bools(elements.iter().map(|element| *element == Value::Bool(true)).collect())
        }
        _ => Held::Ints(elements.iter().filter_map(Value::as_int).collect()),
    }
}

fn text(value: &Value) -> &[u8] {
    match value {
        Value::Text(text) => text.as_bytes(),
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql_value::Decimal;

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
        let (prepared, is_taken) = Prepared::of(drawn);
        assert!(is_taken && !prepared.is_plain(), "all are known");
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
            let values = vec![Value::text("x"), others];
            let (prepared, is_taken) = Prepared::of(values.clone());
            assert!(!is_taken, "that is the executor's");
            assert_eq!(prepared.values(), values, "and it gets all of them");
        }
    }

    #[test]
    fn numbers_are_given_as_they_are_kept() {
        for drawn in [vec![Value::text("a")], vec![Value::Int(3), Value::Bool(true)]] {
            let (prepared, is_taken) = Prepared::of(drawn.clone());
            assert!(is_taken && prepared.is_plain());
            let arguments = prepared.arguments(&[]);
            assert_eq!(arguments.len(), drawn.len());
            assert_eq!(matches!(arguments, Arguments::Plain(_)), drawn.len() == 2);
        }
    }
}

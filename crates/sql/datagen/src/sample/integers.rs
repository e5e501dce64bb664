//! Draws integers and arrays of integers without SQL values.
//!
//! The random numbers and their order are the same as for values of any type, so that the calls are
//! the same.

use super::{ARRAY_LENGTH_MAX, Site, nurand};
use crate::draw::{Distribution, Draw, Range, Reference, Shares};
use crate::number::Form;
use fabric::random::Random;
use sql_value::Value;

/// A distribution of integers without nulls.
#[derive(Clone, Debug)]
pub(crate) enum Integers {
    Constant(i64),
    Same(Reference),
    Uniform { range: Range, except: Option<Reference> },
    Nurand { a: i64, c: i64, range: Range },
    OneOf { values: Vec<i64>, shares: Shares },
    Mixture { draws: Vec<Self>, shares: Shares },
}

impl Integers {
    /// The same distribution, if it draws only integers.
    pub fn of(from: &Distribution) -> Option<Self> {
        if from.null > 0.0 {
            return None;
        }
        Some(match &from.draw {
            Draw::Constant(Value::Int(number)) => Self::Constant(*number),
            Draw::Same { from, form: None | Some(Form::Int) } => Self::Same(*from),
            Draw::Uniform { range, except } if range.form == Form::Int => {
                Self::Uniform { range: *range, except: *except }
            }
            Draw::Nurand { a, c, range } if range.form == Form::Int => {
                Self::Nurand { a: *a, c: *c, range: *range }
            }
            Draw::OneOf { values, shares } => {
                let values = values.iter().map(Value::as_int).collect::<Option<_>>()?;
                Self::OneOf { values, shares: shares.clone() }
            }
            Draw::Mixture { draws, shares } => {
                let draws = draws.iter().map(Self::of).collect::<Option<_>>()?;
                Self::Mixture { draws, shares: shares.clone() }
            }
            _ => return None,
        })
    }

    /// Draws an array; `length` is a number or another array. Returns `None` and draws nothing if
    /// it is neither, or if an element depends on a value that is not an integer.
    pub fn array(&self, length: &Value, site: &mut Site<'_>, own: &[Value]) -> Option<Value> {
        let length = length_of(length)?;
        if !self.has_integers(site.parent, own) {
            return None;
        }
        let mut elements = Vec::new();
        self.fill(length, &mut site.random, (site.parent, own), &mut elements);
        Some(Value::Array(elements.into_iter().map(Value::Int).collect()))
    }

    /// Appends `length` integers to `list`. All referenced values must be integers.
    pub fn fill(&self, length: i64, random: &mut Random, drawn: Drawn<'_>, list: &mut Vec<i64>) {
        // A local copy, whose state the compiler keeps in registers.
        let mut own = random.clone();
        match self {
            Self::Uniform { range, except: None } => {
                let count = range.count();
                list.extend((0..length).map(|_| range.number(own.below(count))));
            }
            Self::Mixture { draws, shares } => list.extend((0..length).map(|_| {
                let draw = &draws[shares.draw(&mut own)];
                draw.draw(&mut own, drawn)
            })),
            other => list.extend((0..length).map(|_| other.draw(&mut own, drawn))),
        }
        *random = own;
    }

    /// Draws one integer; returns `None` and draws nothing if it depends on a value that is not an
    /// integer.
    #[inline]
    pub fn one(&self, random: &mut Random, drawn: Drawn<'_>) -> Option<i64> {
        self.has_integers(drawn.0, drawn.1).then(|| self.draw(random, drawn))
    }

    /// Whether all referenced values are integers.
    #[inline]
    pub fn has_integers(&self, parent: &[Value], own: &[Value]) -> bool {
        match self {
            Self::Same(from) | Self::Uniform { except: Some(from), .. } => {
                matches!(from.of(parent, own), Value::Int(_))
            }
            Self::Mixture { draws, .. } => draws.iter().all(|draw| draw.has_integers(parent, own)),
            _ => true,
        }
    }

    #[inline(always)]
    fn draw(&self, random: &mut Random, drawn: Drawn<'_>) -> i64 {
        match self {
            Self::Constant(number) => *number,
            Self::Same(from) => integer(from.of(drawn.0, drawn.1)),
            Self::Uniform { range, except: None } => range.number(random.below(range.count())),
            Self::Uniform { range, except: Some(except) } => {
                apart(range, integer(except.of(drawn.0, drawn.1)), random)
            }
            Self::Nurand { a, c, range } => range.number(nurand(*a, *c, range, random)),
            Self::OneOf { values, shares } => values[shares.draw(random)],
            Self::Mixture { draws, shares } => {
                draws[shares.draw(random)].draw_in_turn(random, drawn)
            }
        }
    }

    /// As [`Self::draw`], for a draw of a mixture.
    fn draw_in_turn(&self, random: &mut Random, drawn: Drawn<'_>) -> i64 {
        self.draw(random, drawn)
    }
}

/// The values drawn before: the parent row, and those of the same row or call.
pub(crate) type Drawn<'v> = (&'v [Value], &'v [Value]);

/// The length of an array, given as a number or another array.
pub(crate) fn length_of(said: &Value) -> Option<i64> {
    match said {
        Value::Int(length) => Some((*length).clamp(0, ARRAY_LENGTH_MAX)),
        Value::Array(other) => Some(other.len() as i64),
        _ => None,
    }
}

/// A value known to be an integer.
fn integer(value: &Value) -> i64 {
    let Value::Int(number) = value else { unreachable!("it was looked at before") };
    *number
}

/// Draws an integer of a range other than `except`, if the range has others and is small enough.
fn apart(range: &Range, except: i64, random: &mut Random) -> i64 {
    let count = range.count();
    let offset = i128::from(except) - i128::from(range.low);
    match u64::try_from(offset) {
        Ok(excepted) if excepted < count && count > 1 && count <= 1 << 32 => {
            let offset = random.below(count - 1);
            range.number(offset + u64::from(offset >= excepted))
        }
        _ => range.number(random.below(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::{Population, Scale};

    const STREAM: u64 = 7;

    fn site() -> Site<'static> {
        let random = Random::stream(1, 2, STREAM);
        Site { random, count: 0, group: 0, client: None, now_us: 0, parent: &[] }
    }

    fn always(draw: Draw) -> Distribution {
        Distribution { null: 0.0, draw }
    }

    fn range(low: i64, high: i64) -> Range {
        Range { low, high, form: Form::Int }
    }

    #[test]
    fn exceptions_are_left_out_where_there_is_something_else() {
        let mut random = Random::new(3);
        for _ in 0..1000 {
            assert_ne!(apart(&range(-2, 2), 0, &mut random), 0);
            assert!((1..=9).contains(&apart(&range(1, 9), 12, &mut random)));
            assert_eq!(apart(&range(4, 4), 4, &mut random), 4);
        }
    }

    /// A call of the same number has the same arguments in both ways of drawing.
    #[test]
    fn elements_are_what_single_values_are() {
        let scale = Scale { units: 1, seed: 1, now_us: 0 };
        let population =
            Population { scale, tables: Vec::new(), procedures: Vec::new(), order_count: 0 };
        let own = [Value::Int(3)];
        let of_own = Reference::Own(0);
        let draws = vec![
            always(Draw::Nurand { a: 8191, c: 7911, range: range(1, 100_000) }),
            always(Draw::Constant(Value::Int(100_001))),
            always(Draw::Same { from: of_own, form: Some(Form::Int) }),
            always(Draw::Uniform { range: range(1, 5), except: Some(of_own) }),
            always(Draw::Uniform { range: range(-4, 4), except: None }),
            always(Draw::OneOf {
                values: [0, 8, 16].map(Value::Int).to_vec(),
                shares: Shares::new([1.0, 2.0, 3.0]),
            }),
        ];
        let shares = Shares::new([3.0, 1.0, 2.0, 2.0, 1.0, 1.0]);
        let of = always(Draw::Mixture { draws, shares });
        let (mut one, mut other, mut orders) = (site(), site(), population.orders());
        let length = Value::Int(300);
        let expected = population.array(&of, length.clone(), false, &mut one, &mut orders, &own);
        let integers = Integers::of(&of).expect("they are integers");
        let found = integers.array(&length, &mut other, &own).expect("so is what they refer to");
        assert_eq!(found, expected);
        assert_eq!(other.random.word(), one.random.word(), "as much was drawn");
        let as_long = integers.array(&found, &mut other, &own);
        assert!(matches!(as_long, Some(Value::Array(elements)) if elements.len() == 300));
    }

    #[test]
    fn other_values_are_drawn_one_by_one() {
        let decimal = Range { form: Form::Numeric { decimals: 2, scale: 2 }, ..range(1, 2) };
        let others = [
            always(Draw::Constant(Value::Null)),
            always(Draw::Chance(0.5)),
            always(Draw::Uniform { range: decimal, except: None }),
            Distribution { null: 0.5, draw: Draw::Constant(Value::Int(1)) },
        ];
        assert!(others.iter().all(|other| Integers::of(other).is_none()));
        let same = always(Draw::Same { from: Reference::Own(0), form: None });
        let same = Integers::of(&same).expect("an integer, if the other one is");
        let (two, mut site) = (Value::Int(2), site());
        assert_eq!(same.array(&two, &mut site, &[Value::Null]), None);
        assert_eq!(same.array(&Value::Null, &mut site, &[Value::Int(1)]), None);
        let array = same.array(&two, &mut site, &[Value::Int(5)]).expect("an integer");
        assert_eq!(array, Value::Array([5, 5].map(Value::Int).to_vec().into()));
        // Nothing was drawn for any of them.
        assert_eq!(site.random.word(), Random::stream(1, 2, STREAM).word());
    }
}

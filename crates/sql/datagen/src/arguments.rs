//! The arguments of a call, in reusable memory. Most arguments are integers or arrays of integers,
//! so arrays are drawn without an SQL value for each element.

use crate::draw::{Distribution, Draw, Length, Reference};
use crate::order::Orders;
use crate::population::{Population, Procedure};
use crate::sample::{Integers, Site, length_of};
use sql_value::Value;
use std::ops::Range;

#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// One for each `IN` parameter; null for each that is in `arrays`.
    values: Vec<Value>,
    /// The position of each array of integers among the values, and the range of its elements in
    /// `integers`.
    arrays: Vec<(usize, Range<usize>)>,
    integers: Vec<i64>,
}

impl Arguments {
    /// Creates arguments without separate arrays.
    pub fn new(values: Vec<Value>) -> Self {
        Self { values, arrays: Vec::new(), integers: Vec::new() }
    }

    /// The values, with null for each that is in [`Arguments::arrays`].
    #[inline]
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The separately stored arrays of integers, with their positions.
    #[inline]
    pub fn arrays(&self) -> impl Iterator<Item = (usize, &[i64])> {
        self.arrays.iter().map(|(at, range)| (*at, &self.integers[range.clone()]))
    }

    #[inline]
    pub fn has_arrays(&self) -> bool {
        !self.arrays.is_empty()
    }

    /// All arguments as values; moves the separate arrays into the values.
    pub fn whole(&mut self) -> &mut Vec<Value> {
        for (at, range) in self.arrays.drain(..) {
            let elements = self.integers[range].iter().map(|number| Value::Int(*number));
            self.values[at] = Value::Array(elements.collect());
        }
        &mut self.values
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.arrays.clear();
        self.integers.clear();
    }

    /// The length of the array at `at`, or the integer there.
    fn length(&self, at: usize) -> Option<i64> {
        let apart = self.arrays.iter().find(|(position, _)| *position == at);
        apart.map_or_else(|| length_of(&self.values[at]), |(_, range)| Some(range.len() as i64))
    }
}

/// The fastest way to draw an argument.
#[derive(Clone, Debug)]
pub(crate) enum ArgumentDraw {
    Integer(Integers),
    Array {
        of: Integers,
        length: ArrayLength,
    },
    /// As a value of any type.
    Any,
}

/// The length of an array.
#[derive(Clone, Debug)]
pub(crate) enum ArrayLength {
    Drawn(Integers),
    /// The value of an earlier integer, or the length of an earlier array.
    Same(usize),
}

impl ArgumentDraw {
    /// The fastest way for a distribution.
    pub fn of(distribution: &Distribution) -> Self {
        if let Some(integers) = Integers::of(distribution) {
            return Self::Integer(integers);
        }
        let (Draw::Array { integers: Some(of), length, .. }, 0.0) =
            (&distribution.draw, distribution.null)
        else {
            return Self::Any;
        };
        let length = match length {
            Length::Same(Reference::Own(at)) => Some(ArrayLength::Same(*at)),
            Length::Same(Reference::Parent(_)) => None,
            Length::Drawn(length) => Integers::of(length).map(ArrayLength::Drawn),
        };
        length.map_or(Self::Any, |length| Self::Array { of: of.clone(), length })
    }
}

impl Population {
    /// Draws the arguments of a call. It consumes the same random numbers in the same order as
    /// drawing values one by one.
    #[inline]
    pub(crate) fn draw_arguments(
        &self,
        procedure: &Procedure,
        site: &mut Site<'_>,
        orders: &mut Orders,
        arguments: &mut Arguments,
    ) {
        arguments.clear();
        self.draw_further(procedure, procedure.arguments.len(), site, orders, arguments);
    }

    /// Draws further arguments until there are `count`.
    pub(crate) fn draw_further(
        &self,
        procedure: &Procedure,
        count: usize,
        site: &mut Site<'_>,
        orders: &mut Orders,
        arguments: &mut Arguments,
    ) {
        let there = arguments.values.len();
        let all = procedure.argument_draws.iter().zip(&procedure.arguments);
        for (draw, distribution) in all.take(count).skip(there) {
            // Each arm pushes its value itself: a value built elsewhere and moved stalls on its
            // store.
            match draw {
                ArgumentDraw::Integer(integers) => {
                    let drawn = (site.parent, &arguments.values[..]);
                    if let Some(number) = integers.one(&mut site.random, drawn) {
                        // `push` would build the value elsewhere and copy it.
                        arguments.values.extend(Some(Value::Int(number)));
                        continue;
                    }
                }
                ArgumentDraw::Array { of, length } => {
                    if draw_array(of, length, site, arguments) {
                        arguments.values.push(Value::Null);
                        continue;
                    }
                }
                ArgumentDraw::Any => {}
            }
            let value = self.value(distribution, site, orders, arguments.whole());
            arguments.values.push(value);
        }
    }
}

/// Draws the next argument as a separate array. Returns false and draws nothing if the array
/// depends on a value that is not an integer.
fn draw_array(
    of: &Integers,
    length: &ArrayLength,
    site: &mut Site<'_>,
    arguments: &mut Arguments,
) -> bool {
    let drawn = (site.parent, &arguments.values[..]);
    if !of.has_integers(drawn.0, drawn.1) {
        return false;
    }
    let length = match length {
        ArrayLength::Drawn(length) => length.one(&mut site.random, drawn),
        ArrayLength::Same(at) => arguments.length(*at),
    };
    let Some(length) = length.and_then(|length| length_of(&Value::Int(length))) else {
        return false;
    };
    let begin = arguments.integers.len();
    of.fill(length, &mut site.random, drawn, &mut arguments.integers);
    arguments.arrays.push((arguments.values.len(), begin..arguments.integers.len()));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Range as Numbers;
    use crate::number::Form;
    use crate::population::Scale;
    use fabric::random::Random;

    fn always(draw: Draw) -> Distribution {
        Distribution { null: 0.0, draw }
    }

    fn numbers(low: i64, high: i64) -> Distribution {
        let range = Numbers { low, high, form: Form::Int };
        always(Draw::Uniform { range, except: None })
    }

    fn array(of: Distribution, length: Length) -> Distribution {
        let integers = Integers::of(&of);
        always(Draw::Array { of: Box::new(of), integers, length, is_distinct: false })
    }

    /// Covers arrays with the length of other arrays, arrays that others refer to, and arrays of
    /// other values than integers.
    #[test]
    fn arguments_are_the_same_as_values_one_by_one() {
        let same = |at| Length::Same(Reference::Own(at));
        let copy = |at| always(Draw::Same { from: Reference::Own(at), form: None });
        let arguments = vec![
            numbers(1, 9),
            array(numbers(1, 100), Length::Drawn(Box::new(numbers(0, 7)))),
            array(copy(0), same(1)),
            Distribution { null: 0.3, ..array(numbers(5, 6), same(2)) },
            copy(1),
            array(copy(4), same(0)),
            always(Draw::Chance(0.5)),
            array(always(Draw::Chance(0.5)), same(6)),
            array(numbers(3, 4), same(1)),
            array(copy(0), same(8)),
        ];
        let argument_draws = arguments.iter().map(ArgumentDraw::of).collect();
        let procedure =
            Procedure { name: "p".to_owned(), frequency: 1.0, arguments, argument_draws };
        let scale = Scale { units: 1, seed: 1, now_us: 0 };
        let population =
            Population { scale, tables: Vec::new(), procedures: Vec::new(), order_count: 0 };
        let mut drawn = Arguments::default();
        let (mut has_arrays, mut has_none) = (0, 0);
        for call in 0..200 {
            let site = |random| Site {
                random,
                count: call,
                group: 0,
                client: None,
                now_us: 0,
                parent: &[],
            };
            let mut one = site(Random::stream(1, 2, call));
            let mut expected = Vec::new();
            let mut orders = population.orders();
            population.draw_all(&procedure.arguments, &mut one, &mut orders, &mut expected);
            let mut other = site(Random::stream(1, 2, call));
            population.draw_arguments(&procedure, &mut other, &mut orders, &mut drawn);
            has_arrays += u32::from(drawn.has_arrays());
            has_none += u32::from(drawn.arrays().any(|(_, elements)| elements.is_empty()));
            assert_eq!(*drawn.whole(), expected);
            assert!(!drawn.has_arrays());
            assert_eq!(other.random.word(), one.random.word(), "as much was drawn");
        }
        assert!(has_arrays == 200 && has_none > 0);
    }
}

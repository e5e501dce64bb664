//! Compiled distributions: names are positions, amounts are numbers, literals are values.

use crate::number::Form;
use crate::sample::Integers;
use fabric::random::{Random, Zipf};
use sql::load::Alphabet;
use sql_value::Value;

/// The distribution of a column or argument.
#[derive(Clone, Debug)]
pub(crate) struct Distribution {
    pub null: f64,
    pub draw: Draw,
}

/// A value that was drawn before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reference {
    /// A column of the same row, or an argument of the same call.
    Own(usize),
    /// A column of the parent row.
    Parent(usize),
}

impl Reference {
    /// The referenced value: from the parent row, or from the same row or call.
    #[inline]
    pub fn of<'v>(self, parent: &'v [Value], own: &'v [Value]) -> &'v Value {
        match self {
            Self::Own(at) => &own[at],
            Self::Parent(at) => &parent[at],
        }
    }
}

/// The distribution of values that are not null.
#[derive(Clone, Debug)]
pub(crate) enum Draw {
    Uniform {
        range: Range,
        except: Option<Reference>,
    },
    /// Values in random permutations, one after the other.
    Ordered {
        order: usize,
        values: Ordered,
    },
    Nurand {
        a: i64,
        c: i64,
        range: Range,
    },
    Zipf {
        ranks: Zipf,
        is_scrambled: bool,
        range: Range,
    },
    Sequence {
        range: Range,
        each: u64,
    },
    Constant(Value),
    OneOf {
        values: Vec<Value>,
        shares: Shares,
    },
    Chance(f64),
    Text {
        length: (u32, u32),
        alphabet: Alphabet,
        containing: String,
        ending: String,
    },
    Digits {
        of: Box<Distribution>,
        width: usize,
    },
    LastName(Box<Distribution>),
    Same {
        from: Reference,
        form: Option<Form>,
    },
    Column {
        table: usize,
        column: usize,
        form: Option<Form>,
        row: Option<Box<Distribution>>,
    },
    Mixture {
        draws: Vec<Distribution>,
        shares: Shares,
    },
    Cases {
        by: Reference,
        cases: Vec<(Condition, Distribution)>,
    },
    Array {
        of: Box<Distribution>,
        /// The same distribution, if all elements are integers and need not differ.
        integers: Option<Integers>,
        length: Length,
        is_distinct: bool,
    },
    /// The time of the call; for a date, without the time of day.
    Now {
        is_date: bool,
    },
}

/// A range of integers, which represent values of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub low: i64,
    pub high: i64,
    pub form: Form,
}

impl Range {
    /// Number of integers in the range; the full range of 64 bits counts one less.
    pub fn count(&self) -> u64 {
        (self.high.wrapping_sub(self.low) as u64).saturating_add(1)
    }

    /// The integer at `offset` from the lower bound, modulo the range.
    #[inline]
    pub fn number(&self, offset: u64) -> i64 {
        // The comparison is faster than a division and almost always true.
        let count = self.count();
        let offset = if offset < count { offset } else { offset % count };
        self.low.wrapping_add(offset as i64)
    }

    /// The value of the integer at `offset` from the lower bound, modulo the range.
    pub fn at(&self, offset: u64) -> Value {
        self.form.value(self.number(offset))
    }
}

/// Values that are shuffled.
#[derive(Clone, Debug)]
pub(crate) enum Ordered {
    Range(Range),
    List(Vec<Value>),
}

impl Ordered {
    pub fn count(&self) -> u64 {
        match self {
            Self::Range(range) => range.count(),
            Self::List(values) => values.len() as u64,
        }
    }

    pub fn at(&self, offset: u64) -> Value {
        match self {
            Self::Range(range) => range.at(offset),
            Self::List(values) => values[offset as usize].clone(),
        }
    }
}

/// Weights as cumulative shares, in units of 1 / [`WHOLE`].
#[derive(Clone, Debug)]
pub(crate) struct Shares(Vec<u64>);

/// The sum of all shares: the number of different random fractions, 2^53.
const WHOLE: f64 = (1_u64 << FRACTION_BITS) as f64;
const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS;

impl Shares {
    /// Builds shares from weights. At least one weight must be above 0.
    pub fn new(weights: impl IntoIterator<Item = f64>) -> Self {
        let mut sums: Vec<f64> = Vec::new();
        for weight in weights {
            sums.push(sums.last().copied().unwrap_or(0.0) + weight);
        }
        let sum = sums.last().copied().unwrap_or(1.0);
        // Rounding up keeps the result of each comparison the same as with exact fractions.
        Self(sums.into_iter().map(|upto| (upto / sum * WHOLE).ceil() as u64).collect())
    }

    /// Draws a position by its share.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> usize {
        self.at(random.word() >> (u64::BITS - FRACTION_BITS))
    }

    /// The position of the share that contains a number below [`WHOLE`].
    #[inline]
    fn at(&self, number: u64) -> usize {
        self.0.iter().position(|upto| number < *upto).unwrap_or(self.0.len() - 1)
    }
}

/// The condition of a case.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    Is(Value),
    Below(i64),
    Always,
}

/// The length of an array.
#[derive(Clone, Debug)]
pub(crate) enum Length {
    Drawn(Box<Distribution>),
    Same(Reference),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_take_their_part() {
        let shares = Shares::new([1.0, 0.0, 3.0]);
        let at = |fraction: f64| shares.at((fraction * WHOLE) as u64);
        assert_eq!([0.0, 0.2499, 0.25, 0.99999].map(at), [0, 0, 2, 2]);
    }

    /// Integer comparisons give the same shares as comparisons of fractions, up to the last bit.
    #[test]
    fn shares_are_as_exact_as_fractions() {
        let weights = [0.1, 0.2, 0.3, 85.0, 1e-9, 7.0];
        let shares = Shares::new(weights);
        let sum = weights.iter().fold(0.0, |sum, weight| sum + weight);
        let mut upto = 0.0;
        for (share, weight) in weights.iter().enumerate() {
            upto += weight;
            let bound = upto / sum * WHOLE;
            let below = (bound.ceil() as u64).saturating_sub(1);
            assert!((below as f64 / WHOLE) < upto / sum);
            assert_eq!(shares.at(below), share);
            assert!(share + 1 == weights.len() || shares.at(below + 1) == share + 1);
        }
    }

    #[test]
    fn ranges_are_counted_round() {
        let range = Range { low: -1, high: 1, form: Form::Int };
        assert_eq!(range.count(), 3);
        assert_eq!([0, 2, 3].map(|at| range.at(at)), [-1, 1, -1].map(Value::Int));
        let all = Range { low: i64::MIN, high: i64::MAX, form: Form::Int };
        assert_eq!((all.count(), all.at(1)), (u64::MAX, Value::Int(i64::MIN + 1)));
    }
}

//! Distributions made ready: names are positions, amounts are numbers, literals are values.

use crate::number::Form;
use crate::sample::Integers;
use fabric::random::Zipf;
use sql::load::Alphabet;
use value::Value;

/// How values of one column or argument are drawn.
#[derive(Clone, Debug)]
pub(crate) struct Distribution {
    /// The share of nulls.
    pub null: f64,
    pub draw: Draw,
}

/// A value that was drawn before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reference {
    /// A column of the same row, or an argument of the same call.
    Own(usize),
    /// A column of the parent's row.
    Parent(usize),
}

/// How values that are not null are drawn.
#[derive(Clone, Debug)]
pub(crate) enum Draw {
    Uniform {
        range: Range,
        except: Option<Reference>,
    },
    /// Values that come in random orders, one order after the other.
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
        /// The same, where all elements are integers and may be alike.
        integers: Option<Integers>,
        length: Length,
        is_distinct: bool,
    },
    /// The time of the call, for dates without the time of the day.
    Now {
        is_date: bool,
    },
}

/// A range of whole numbers, which stand for values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub low: i64,
    pub high: i64,
    pub form: Form,
}

impl Range {
    /// How many numbers there are; a range of all of 64 bits counts as one less.
    pub fn count(&self) -> u64 {
        (self.high.wrapping_sub(self.low) as u64).saturating_add(1)
    }

    /// The number at `offset` from the lower bound, counted round.
    #[inline]
    pub fn number(&self, offset: u64) -> i64 {
        // A division takes longer than a comparison that most often succeeds.
        let count = self.count();
        let offset = if offset < count { offset } else { offset % count };
        self.low.wrapping_add(offset as i64)
    }

    /// The value of the number at `offset` from the lower bound, counted round.
    pub fn at(&self, offset: u64) -> Value {
        self.form.value(self.number(offset))
    }
}

/// Values that are put into random orders.
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

/// Weights, as the shares up to each.
#[derive(Clone, Debug)]
pub(crate) struct Shares(Vec<f64>);

impl Shares {
    /// From weights of which one at least is more than 0.
    pub fn new(weights: impl IntoIterator<Item = f64>) -> Self {
        let mut sums: Vec<f64> = Vec::new();
        for weight in weights {
            sums.push(sums.last().copied().unwrap_or(0.0) + weight);
        }
        let sum = sums.last().copied().unwrap_or(1.0);
        Self(sums.into_iter().map(|upto| upto / sum).collect())
    }

    /// Which share a number from 0 to below 1 falls into.
    pub fn at(&self, fraction: f64) -> usize {
        self.0.iter().position(|upto| fraction < *upto).unwrap_or(self.0.len() - 1)
    }
}

/// When a case applies.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    Is(Value),
    Below(i64),
    Always,
}

/// How many elements an array has.
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
        assert_eq!([0.0, 0.2499, 0.25, 0.99999].map(|at| shares.at(at)), [0, 0, 2, 2]);
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

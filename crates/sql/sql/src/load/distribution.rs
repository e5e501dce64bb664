//! Distributions: how arguments of procedures and columns of loaded rows are drawn.

use super::amount::Amount;

/// How the values of one argument or column are drawn.
#[derive(Clone, PartialEq, Debug)]
pub struct Distribution {
    /// The share of nulls, 0 to 1.
    pub null: f64,
    /// How the other values are drawn.
    pub draw: Draw,
}

/// How values that are not null are drawn.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Draw {
    /// Uniform over a range.
    Uniform {
        /// The range, in units of the last decimal place.
        range: Range,
        /// Decimal places: with 2, the range 1 to 500,000 means 0.01 to 5000.00.
        decimals: u8,
        /// An earlier argument whose value is excluded, unless it is the only value.
        except: Option<String>,
        /// Whether values come as random permutations: no value repeats before all others have
        /// come.
        distinct: bool,
    },
    /// `(((random(0, a) | random(low, high)) + c) mod (high - low + 1)) + low` [TPC-C 2.1.6].
    Nurand {
        /// Upper bound of the first random number.
        a: i64,
        /// A constant of the run.
        c: i64,
        /// Bounds of the second random number and of the result.
        range: Range,
    },
    /// The n-th number of a range, with probability proportional to `1 / n^theta`.
    Zipf {
        range: Range,
        /// The exponent: at least 0 and less than 1.
        theta: f64,
        /// Whether a hash scatters the ranks over the range, as in YCSB; otherwise ranks rise with
        /// the numbers.
        scrambled: bool,
    },
    /// A counter: `low + (n / each) mod (high - low + 1)` for the n-th value, n from 0. In a table
    /// with `for_each`, n counts the rows of one parent row.
    Sequence {
        range: Range,
        /// How often each number is repeated.
        each: Amount,
    },
    Constant(Literal),
    /// A value of a list, with weights that need not add up to 1.
    OneOf {
        values: Vec<Literal>,
        /// One weight for each value.
        weights: Vec<f64>,
        /// Whether values come as random permutations, with equal weights.
        distinct: bool,
    },
    /// A boolean, true with this probability.
    Chance(f64),
    Text {
        /// Minimum and maximum number of characters, uniform.
        length: (u32, u32),
        alphabet: Alphabet,
        /// A word inserted at a random position, uniform.
        containing: String,
        /// A suffix; it does not count for `length`.
        ending: String,
    },
    /// A drawn number in decimal, padded with zeros to `width` digits.
    Digits {
        of: Box<Distribution>,
        width: u32,
    },
    /// The last name of a drawn number from 0 to 999 [TPC-C 4.3.2.3].
    LastName(Box<Distribution>),
    /// The value of an earlier argument of the same call, of a column of the same row, or, as
    /// `TABLE.COLUMN`, of a column of the parent row.
    Same(String),
    /// A column of an existing row, for a foreign key.
    Column {
        table: String,
        column: String,
        /// The row's number in loading order, from 1; uniform over all rows if absent.
        row: Option<Box<Distribution>>,
    },
    /// One of several draws, with weights.
    Mixture(Vec<(f64, Distribution)>),
    /// Depends on an earlier argument, a column, or a column of the parent row. The first case
    /// whose condition holds draws the value; without one it is null.
    Cases {
        by: String,
        /// Conditions with their draws.
        cases: Vec<(Condition, Distribution)>,
    },
    Array {
        of: Box<Distribution>,
        length: ArrayLength,
        /// Whether all elements differ.
        distinct: bool,
    },
    /// The time of the call.
    Now,
}

/// The condition of a case.
#[derive(Clone, PartialEq, Debug)]
pub enum Condition {
    /// The value equals this one.
    Is(Literal),
    /// The value is less than this one.
    Below(Amount),
    Always,
}

/// The bounds of a draw, both inclusive.
#[derive(Clone, PartialEq, Debug)]
pub struct Range {
    pub low: Amount,
    pub high: Amount,
}

/// The number of elements of an array.
#[derive(Clone, PartialEq, Debug)]
pub enum ArrayLength {
    Drawn(Box<Distribution>),
    /// The length of an earlier array argument, or the value of an earlier integer argument.
    Same(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alphabet {
    /// `a` to `z` and `A` to `Z`.
    Letters,
    /// `0` to `9`.
    Digits,
    /// Letters and digits.
    Alphanumeric,
}

/// A literal in `workload.toml`.
#[derive(Clone, PartialEq, Debug, serde::Deserialize)]
#[serde(untagged)]
pub enum Literal {
    Bool(bool),
    Integer(i64),
    Float(f64),
    /// Text; or an exact decimal, a date or a time in PostgreSQL's syntax.
    Text(String),
}

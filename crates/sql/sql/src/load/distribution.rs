//! How values are drawn: arguments of procedures, and columns of rows that are loaded.

use super::amount::Amount;

/// How values of one argument or column are drawn.
#[derive(Clone, PartialEq, Debug)]
pub struct Distribution {
    /// The share of values that are null, 0 to 1.
    pub null: f64,
    /// How the others are drawn.
    pub draw: Draw,
}

/// How values that are not null are drawn.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Draw {
    /// Every number of a range alike.
    Uniform {
        /// The range, in units of the last digit.
        range: Range,
        /// Digits behind the point: 2 has the range 1 to 500,000 mean 0.01 to 5000.00.
        decimals: u8,
        /// An earlier argument whose value is left out, unless nothing else is there.
        except: Option<String>,
        /// Whether each number comes once, in random order, before any comes again.
        distinct: bool,
    },
    /// `(((random(0, a) | random(low, high)) + c) mod (high - low + 1)) + low` [TPC-C 2.1.6].
    Nurand {
        /// Upper bound of the first number.
        a: i64,
        /// Constant of a run.
        c: i64,
        /// Bounds of the second number and of the result.
        range: Range,
    },
    /// The n-th of a range with probability proportional to `1 / n^theta`.
    Zipf {
        /// The range.
        range: Range,
        /// Exponent: 0 up to, not including, 1.
        theta: f64,
        /// Whether ranks are spread over the range by a hash instead of rising with it, as YCSB does it.
        scrambled: bool,
    },
    /// A counter: `low + (n / each) mod (high - low + 1)` for the n-th value drawn, n from 0. In a table whose rows are
    /// drawn for each of another, n counts those of one parent.
    Sequence {
        /// The range.
        range: Range,
        /// How often each value is repeated before the next.
        each: Amount,
    },
    /// Always the same.
    Constant(Literal),
    /// One of a list, with weights that need not sum up to 1.
    OneOf {
        /// The values.
        values: Vec<Literal>,
        /// As many weights.
        weights: Vec<f64>,
        /// Whether each value comes once, in random order, before any comes again; then weights are alike.
        distinct: bool,
    },
    /// True with this probability.
    Chance(f64),
    /// Random text.
    Text {
        /// Least and most characters, each length alike.
        length: (u32, u32),
        /// What characters it has.
        alphabet: Alphabet,
        /// A word that stands somewhere in it, at any place alike.
        containing: String,
        /// What follows the random characters; it does not count for the length.
        ending: String,
    },
    /// A drawn number in decimal, with zeros in front up to `width` digits.
    Digits {
        /// The number.
        of: Box<Distribution>,
        /// Digits.
        width: u32,
    },
    /// The last name of a drawn number from 0 to 999 [TPC-C 4.3.2.3].
    LastName(Box<Distribution>),
    /// The value of an earlier argument of the same call, or column of the same row; `TABLE.COLUMN` is one of the row's
    /// parent.
    Same(String),
    /// A value of a column in a row that exists: a draw of a foreign key.
    Column {
        /// The table.
        table: String,
        /// Its column.
        column: String,
        /// Which row, counted from 1 in the order of loading; every row alike if nothing is said.
        row: Option<Box<Distribution>>,
    },
    /// Draws as one of several, with weights.
    Mixture(Vec<(f64, Distribution)>),
    /// Depends on the value of an earlier argument or column, or of a column of the row's parent. The first case that fits
    /// draws; if none does, the value is null.
    Cases {
        /// The argument or column.
        by: String,
        /// Conditions on it, and how to draw for each.
        cases: Vec<(Condition, Distribution)>,
    },
    /// An array.
    Array {
        /// Its elements.
        of: Box<Distribution>,
        /// How many.
        length: ArrayLength,
        /// Whether no two elements are alike.
        distinct: bool,
    },
    /// The time of the call.
    Now,
}

/// When a case applies.
#[derive(Clone, PartialEq, Debug)]
pub enum Condition {
    /// The value is this one.
    Is(Literal),
    /// The value is less.
    Below(Amount),
    /// Whatever the value is.
    Always,
}

/// The bounds of a draw, both included.
#[derive(Clone, PartialEq, Debug)]
pub struct Range {
    /// The least value.
    pub low: Amount,
    /// The greatest value.
    pub high: Amount,
}

/// How many elements an array has.
#[derive(Clone, PartialEq, Debug)]
pub enum ArrayLength {
    /// A drawn number.
    Drawn(Box<Distribution>),
    /// As many as an earlier array argument has, or as an earlier integer argument says.
    Same(String),
}

/// Characters of random text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alphabet {
    /// `a` to `z` and `A` to `Z`.
    Letters,
    /// `0` to `9`.
    Digits,
    /// Both.
    Alphanumeric,
}

/// A value in a file of a load.
#[derive(Clone, PartialEq, Debug, serde::Deserialize)]
#[serde(untagged)]
pub enum Literal {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a point.
    Float(f64),
    /// Text, a decimal with exact digits, or a date or time as PostgreSQL reads it.
    Text(String),
}

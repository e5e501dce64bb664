//! Averages of a load: the expected row count of a table and the expected share of nulls of a
//! column.
//!
//! Decision: docs/decisions/0180-loads-draw-rows-per-parent-row-and-values-in-random-orders.md

use super::{Amount, Condition, Distribution, Draw, Literal, Load, Range, Rows};

/// Maximum length of a chain of references between draws and tables.
const REFERENCES_MAX: u32 = 16;

/// Averages of a load at some scale. Each is `None` if `workload.toml` alone does not determine it.
#[derive(Clone, Copy, Debug)]
pub struct Expectation<'a> {
    load: &'a Load,
    units: u64,
}

/// The values of a column, with their shares.
enum Values {
    /// All whole numbers of a range, uniform, bounds included.
    Range(i64, i64),
    /// Literals, with their shares.
    List(Vec<(Literal, f64)>),
}

impl<'a> Expectation<'a> {
    /// The averages of `load` at `units` of scale.
    pub fn new(load: &'a Load, units: u64) -> Self {
        Self { load, units }
    }

    pub fn amount(&self, amount: &Amount) -> Option<i64> {
        self.amount_within(amount, REFERENCES_MAX)
    }

    fn amount_within(&self, amount: &Amount, references: u32) -> Option<i64> {
        let references = references.checked_sub(1)?;
        amount.evaluate(self.units, &|table| match &self.load.table(table)?.rows {
            Rows::Counted(rows) => self.amount_within(rows, references),
            Rows::ForEach { .. } => None,
        })
    }

    pub fn bounds(&self, range: &Range) -> Option<(i64, i64)> {
        Some((self.amount(&range.low)?, self.amount(&range.high)?))
    }

    /// The row count of a table: exact or expected.
    pub fn rows(&self, table: &str) -> Option<f64> {
        self.rows_within(table, REFERENCES_MAX)
    }

    fn rows_within(&self, table: &str, references: u32) -> Option<f64> {
        let references = references.checked_sub(1)?;
        match &self.load.table(table)?.rows {
            Rows::Counted(rows) => {
                self.amount(rows).filter(|rows| *rows >= 0).map(|rows| rows as f64)
            }
            Rows::ForEach { parent, count } => {
                let each = self.mean(table, count, REFERENCES_MAX)?.max(0.0);
                Some(self.rows_within(parent, references)? * each)
            }
        }
    }

    /// The table and draw of a column, given by its name in `table` or as `TABLE.COLUMN`.
    pub fn column<'n>(&self, table: &'n str, name: &'n str) -> Option<(&'n str, &'a Distribution)> {
        let (table, column) = name.split_once('.').unwrap_or((table, name));
        Some((table, self.load.table(table)?.column(column)?))
    }

    /// The share of nulls of a draw in rows of `table`.
    pub fn null_share(&self, table: &str, distribution: &Distribution) -> Option<f64> {
        self.null_share_within(table, distribution, REFERENCES_MAX)
    }

    fn null_share_within(&self, table: &str, drawn: &Distribution, references: u32) -> Option<f64> {
        let references = references.checked_sub(1)?;
        let inner =
            |table: &str, drawn: &Distribution| self.null_share_within(table, drawn, references);
        let share = match &drawn.draw {
            Draw::Same(name) => {
                let (table, drawn) = self.column(table, name)?;
                inner(table, drawn)?
            }
            Draw::Mixture(draws) => weighted(draws, |drawn| inner(table, drawn))?,
            Draw::Cases { by, cases } => {
                let shares = self.shares(table, by, cases.iter().map(|(when, _)| when))?;
                let drawn = shares
                    .iter()
                    .zip(cases)
                    .map(|(share, (_, drawn))| Some(share * (1.0 - inner(table, drawn)?)));
                1.0 - drawn.sum::<Option<f64>>()?
            }
            Draw::Digits { of, .. } | Draw::LastName(of) => inner(table, of)?,
            _ => 0.0,
        };
        Some((drawn.null + (1.0 - drawn.null) * share).clamp(0.0, 1.0))
    }

    /// The mean of drawn numbers; null counts as 0.
    fn mean(&self, table: &str, drawn: &Distribution, references: u32) -> Option<f64> {
        let references = references.checked_sub(1)?;
        let inner = |table: &str, drawn: &Distribution| self.mean(table, drawn, references);
        let mean = match &drawn.draw {
            Draw::Same(name) => {
                let (table, drawn) = self.column(table, name)?;
                inner(table, drawn)?
            }
            Draw::Mixture(draws) => weighted(draws, |drawn| inner(table, drawn))?,
            Draw::Cases { by, cases } => {
                let shares = self.shares(table, by, cases.iter().map(|(when, _)| when))?;
                let means = shares
                    .iter()
                    .zip(cases)
                    .map(|(share, (_, drawn))| Some(share * inner(table, drawn)?));
                means.sum::<Option<f64>>()?
            }
            _ => match self.values(table, drawn, references)? {
                Values::Range(low, high) => (low as f64 + high as f64) / 2.0,
                Values::List(list) => {
                    let products = list.iter().map(|(literal, share)| match literal {
                        Literal::Integer(number) => Some(*number as f64 * share),
                        _ => None,
                    });
                    products.sum::<Option<f64>>()?
                }
            },
        };
        Some((1.0 - drawn.null) * mean)
    }

    /// The share of each case: the first case that matches applies.
    fn shares<'c>(
        &self,
        table: &str,
        by: &str,
        conditions: impl Iterator<Item = &'c Condition>,
    ) -> Option<Vec<f64>> {
        let (table, drawn) = self.column(table, by)?;
        let values = self.values(table, drawn, REFERENCES_MAX)?;
        // Null matches only a case without condition. Columns with cases and nulls are not
        // computed.
        if drawn.null > 0.0 {
            return None;
        }
        match values {
            Values::Range(low, high) => self.shares_of_range(low, high, conditions),
            Values::List(list) => {
                let mut left = list;
                let mut shares = Vec::new();
                for condition in conditions {
                    let bound = self.bound(condition)?;
                    let fits = |literal: &Literal| match condition {
                        Condition::Is(wanted) => wanted == literal,
                        Condition::Below(_) => {
                            matches!(literal, Literal::Integer(number) if *number < bound)
                        }
                        Condition::Always => true,
                    };
                    shares.push(
                        left.iter().filter(|(literal, _)| fits(literal)).map(|one| one.1).sum(),
                    );
                    left.retain(|(literal, _)| !fits(literal));
                }
                Some(shares)
            }
        }
    }

    fn shares_of_range<'c>(
        &self,
        low: i64,
        high: i64,
        conditions: impl Iterator<Item = &'c Condition>,
    ) -> Option<Vec<f64>> {
        let width = (i128::from(high) - i128::from(low) + 1) as f64;
        // Numbers that no earlier case has matched: from `next` to the upper bound, except `taken`.
        let (mut next, mut taken) = (i128::from(low), Vec::new());
        let mut shares = Vec::new();
        for condition in conditions {
            let end = match condition {
                Condition::Is(Literal::Integer(number)) => {
                    let fits = (next..=i128::from(high)).contains(&i128::from(*number))
                        && !taken.contains(&i128::from(*number));
                    if fits {
                        taken.push(i128::from(*number));
                    }
                    shares.push(f64::from(u8::from(fits)) / width);
                    continue;
                }
                Condition::Is(_) => return None,
                Condition::Below(_) => i128::from(self.bound(condition)?),
                Condition::Always => i128::from(high) + 1,
            };
            let end = end.clamp(next, (i128::from(high) + 1).max(next));
            let singles = taken.iter().filter(|number| (next..end).contains(*number)).count();
            shares.push(((end - next) as f64 - singles as f64) / width);
            next = end;
        }
        Some(shares)
    }

    /// The bound of `Below`; 0 for other conditions, which have none.
    fn bound(&self, condition: &Condition) -> Option<i64> {
        match condition {
            Condition::Below(bound) => self.amount(bound),
            _ => Some(0),
        }
    }

    fn values(&self, table: &str, drawn: &Distribution, references: u32) -> Option<Values> {
        let references = references.checked_sub(1)?;
        match &drawn.draw {
            Draw::Uniform { range, decimals: 0, except: None, .. }
            | Draw::Sequence { range, .. } => {
                let (low, high) = self.bounds(range)?;
                Some(Values::Range(low, high))
            }
            Draw::Constant(literal) => Some(Values::List(vec![(literal.clone(), 1.0)])),
            Draw::OneOf { values, weights, .. } => {
                let sum: f64 = weights.iter().sum();
                let shares = weights.iter().map(|weight| weight / sum);
                Some(Values::List(values.iter().cloned().zip(shares).collect()))
            }
            Draw::Chance(chance) => Some(Values::List(vec![
                (Literal::Bool(true), *chance),
                (Literal::Bool(false), 1.0 - chance),
            ])),
            Draw::Same(name) => {
                let (table, drawn) = self.column(table, name)?;
                self.values(table, drawn, references)
            }
            _ => None,
        }
    }
}

/// The weighted average of a mixture.
fn weighted(
    draws: &[(f64, Distribution)],
    value: impl Fn(&Distribution) -> Option<f64>,
) -> Option<f64> {
    let sum: f64 = draws.iter().map(|(weight, _)| weight).sum();
    draws.iter().map(|(weight, drawn)| Some(weight / sum * value(drawn)?)).sum()
}

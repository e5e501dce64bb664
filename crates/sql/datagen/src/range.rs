//! The range of a column's integers, as far as its draw determines it.

use crate::draw::{Condition, Distribution, Draw, Ordered, Range, Reference};
use crate::number::Form;
use crate::population::{Count, Population};
use sql_value::Value;

/// Maximum length of a chain of references between draws.
const DEPTH_MAX: u32 = 32;

/// The smallest and the largest value.
type Ends = (i64, i64);

impl Population {
    /// The smallest value of a column, and the size of its range; `None` if values are not
    /// integers, may be null, or are unknown.
    ///
    /// # Panics
    /// There is no such table or column.
    pub fn column_range(&self, table: usize, column: usize) -> Option<(i64, u64)> {
        let (low, high) = self.ends(table, &self.tables[table].columns[column], 0)?;
        Some((low, (high.wrapping_sub(low) as u64).checked_add(1)?))
    }

    fn ends(&self, table: usize, of: &Distribution, depth: u32) -> Option<Ends> {
        if of.null > 0.0 || depth > DEPTH_MAX {
            return None;
        }
        let below = |of: &Distribution| self.ends(table, of, depth + 1);
        match &of.draw {
            Draw::Uniform { range, .. }
            | Draw::Ordered { values: Ordered::Range(range), .. }
            | Draw::Nurand { range, .. }
            | Draw::Zipf { range, .. }
            | Draw::Sequence { range, .. } => integers(range),
            Draw::Ordered { values: Ordered::List(values), .. } | Draw::OneOf { values, .. } => {
                united(values.iter().map(integer))
            }
            Draw::Constant(value) => integer(value),
            Draw::Same { from: Reference::Own(column), .. } => {
                below(&self.tables[table].columns[*column])
            }
            Draw::Same { from: Reference::Parent(column), .. } => {
                let Count::ForEach { parent, .. } = self.tables[table].count else { return None };
                self.ends(parent, &self.tables[parent].columns[*column], depth + 1)
            }
            Draw::Column { table, column, .. } => {
                self.ends(*table, &self.tables[*table].columns[*column], depth + 1)
            }
            Draw::Mixture { draws, .. } => united(draws.iter().map(below)),
            // Without a matching case the value is null.
            Draw::Cases { cases, .. } if matches!(cases.last(), Some((Condition::Always, _))) => {
                united(cases.iter().map(|(_, of)| below(of)))
            }
            Draw::Cases { .. }
            | Draw::Chance(_)
            | Draw::Text { .. }
            | Draw::Digits { .. }
            | Draw::LastName(_)
            | Draw::Array { .. }
            | Draw::Now { .. } => None,
        }
    }
}

fn integers(range: &Range) -> Option<Ends> {
    (range.form == Form::Int).then_some((range.low, range.high))
}

fn integer(value: &Value) -> Option<Ends> {
    match value {
        Value::Int(number) => Some((*number, *number)),
        _ => None,
    }
}

/// The range that covers all parts, if all are known.
fn united(parts: impl Iterator<Item = Option<Ends>>) -> Option<Ends> {
    let all: Option<Vec<Ends>> = parts.collect();
    let all = all?;
    let low = all.iter().map(|ends| ends.0).min()?;
    Some((low, all.iter().map(|ends| ends.1).max()?))
}

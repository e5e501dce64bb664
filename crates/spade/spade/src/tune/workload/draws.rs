//! Calls with arguments drawn as the load says, and statistics of them.
//!
//! Decision: docs/decisions/0215-branches-are-decided-by-drawn-arguments.md

use datagen::{Mix, Population, PopulationError, Scale};
use procedure::node::Procedure;
use procedure::operations::Origin;
use spade_format::division::divider;
use sql::{Load, Program};
use sql_value::Value;
use std::collections::BTreeMap;

/// Maximal number of calls drawn for a workload.
const CALLS_MAX: u32 = 20_000;
/// Number of calls of each procedure that are analyzed.
const CALLS_EACH: usize = 400;
/// Seed of the draws.
const SEED: u64 = 1;

/// Drawn calls of all procedures.
#[derive(Clone, Debug)]
pub struct Draws {
    /// Arguments of each call, by procedure in the order of the file.
    calls: Vec<Vec<Vec<Value>>>,
    /// Row counts of the tables, in the order of the schema.
    pub rows: Vec<u64>,
    population: Population,
}

/// Drawn calls of one procedure.
#[derive(Clone, Copy, Debug)]
pub struct Drawn<'a> {
    pub calls: &'a [Vec<Value>],
    procedure: &'a Procedure,
}

impl Draws {
    /// Draws calls at a scale.
    ///
    /// # Errors
    /// The load does not define how rows and arguments are drawn.
    pub fn new(program: &Program, load: &Load, units: u64) -> Result<Self, PopulationError> {
        let scale = Scale { units, seed: SEED, now_us: 0 };
        let population = Population::new(program, load, scale)?;
        let rows = (0..program.catalog.tables.len()).map(|table| population.row_count(table));
        let rows = rows.collect();
        let mut calls: Vec<Vec<Vec<Value>>> = vec![Vec::new(); program.procedures.len()];
        let is_called = |at: usize| load.procedures.get(at).is_some_and(|of| of.frequency > 0.0);
        let mut missing = (0..calls.len()).filter(|at| is_called(*at)).count();
        let mut drawn = population.calls(0, 1, Mix::Deck);
        for _ in 0..CALLS_MAX {
            if missing == 0 {
                break;
            }
            let call = drawn.next_call(0);
            let of = &mut calls[call.procedure];
            if of.len() < CALLS_EACH {
                of.push(call.arguments);
                missing -= usize::from(of.len() == CALLS_EACH);
            }
        }
        Ok(Self { calls, rows, population })
    }

    /// The minimum and maximum of a column, if the load defines its range. Crate `folder_benchmark`
    /// divides tables by such ranges. Dense placement has stricter conditions, because drawn rows
    /// need not fill their range.
    pub fn range(&self, table: &sql::Table, column: usize) -> Option<(i64, i64)> {
        let number = self.population.table(&table.name)?;
        let (low, count) = self.population.column_range(number, column)?;
        Some((low, low.checked_add_unsigned(count.checked_sub(1)?)?))
    }

    /// Whether rows with equal values of the leading key column are on one machine. Crate
    /// `folder_benchmark` divides tables by an integer column with a known range, and otherwise by
    /// the hash of the whole key.
    pub fn is_ranged(&self, table: &sql::Table) -> bool {
        divider(table).is_some_and(|column| self.range(table, column).is_some())
    }

    /// The calls of a procedure.
    pub fn of<'a>(&'a self, number: usize, procedure: &'a Procedure) -> Drawn<'a> {
        Drawn { calls: self.calls.get(number).map_or(&[], Vec::as_slice), procedure }
    }
}

impl<'a> Drawn<'a> {
    /// The position among the arguments of a variable.
    pub fn argument(&self, variable: usize) -> Option<usize> {
        let mut inputs = self.procedure.routine.inputs();
        inputs.position(|(parameter, _)| parameter.variable == variable)
    }

    /// The values of an origin in each call: one, or the elements of an array. `None` if it is not
    /// an argument.
    pub fn values(&self, origin: &Origin) -> Option<Vec<&'a [Value]>> {
        let (variable, is_array) = match origin {
            Origin::Argument(variable) => (*variable, false),
            Origin::Element(array) => match &**array {
                Origin::Argument(variable) => (*variable, true),
                _ => return None,
            },
            _ => return None,
        };
        let at = self.argument(variable)?;
        let values = self.calls.iter().map(|call| match (call.get(at), is_array) {
            (Some(Value::Array(elements)), true) => &elements[..],
            (Some(value), false) => std::slice::from_ref(value),
            _ => &[],
        });
        Some(values.collect())
    }

    /// The mean number of elements of an array argument.
    pub fn elements(&self, array: &Origin) -> Option<f64> {
        let values = self.values(&Origin::Element(Box::new(array.clone())))?;
        mean(values.iter().map(|elements| elements.len() as f64))
    }

    /// The mean of a numeric argument.
    pub fn number(&self, origin: &Origin) -> Option<f64> {
        let values = self.values(origin)?;
        mean(values.iter().flat_map(|values| values.iter()).filter_map(|value| match value {
            Value::Int(number) => Some(*number as f64),
            _ => None,
        }))
    }

    /// The share of values of `origin` that differ from the value of `home` in the same call.
    pub fn differing(&self, origin: &Origin, home: &Origin) -> Option<f64> {
        let (values, homes) = (self.values(origin)?, self.values(home)?);
        let each = values.iter().zip(&homes).flat_map(|(values, homes)| {
            values.iter().map(|value| f64::from(u8::from(homes.first() != Some(value))))
        });
        mean(each)
    }
}

/// The mean; `None` if there are no values.
pub fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// The number of distinct values, and the share of the most frequent one.
pub fn concentration(values: &[&[Value]]) -> Option<(usize, f64)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let all = values.iter().flat_map(|values| values.iter());
    all.for_each(|value| *counts.entry(format!("{value:?}")).or_default() += 1);
    let (sum, most) = (counts.values().sum::<usize>(), counts.values().max()?);
    Some((counts.len(), *most as f64 / sum as f64))
}

//! Which machine has more of the rows that calls ask for than others.
//!
//! Tables in parts have ranges of the column that divides them, so that many calls with near values are about rows of the same machine. Of
//! rows that arguments name, drawn calls tell how many are where.

use super::asked::{Ask, Asked};
use super::candidate::value_range;
use super::draws::Drawn;
use super::group::{Grouping, Source};
use super::model::Call;
use procedure::operations::{Action, Operation, Origin};
use sql::load::Expectation;
use sql::{Catalog, Load};
use value::Value;

/// What shares are found from.
pub struct Places<'a> {
    /// The tables.
    pub catalog: &'a Catalog,
    /// The load.
    pub load: &'a Load,
    /// Its averages at the scale.
    pub expectation: Expectation<'a>,
    /// Which column divides a table.
    pub grouping: &'a Grouping,
    /// Machines that rows are on.
    pub machines: u32,
}

impl Places<'_> {
    /// The share of an operation's rows on each machine; none if they are spread evenly, as far as anybody can tell.
    pub fn shares(&self, asked: &Asked, ask: &Ask, drawn: Drawn<'_>) -> Option<Vec<f64>> {
        let table = &self.catalog.tables[ask.table];
        let column = match self.grouping.tables[ask.table].column {
            Some(column) => column,
            None => *table.primary_key.first()?,
        };
        let values = drawn.values(origin(&asked.operations, ask.operation, column)?)?;
        let machine = self.machine(ask.table, column)?;
        let (mut found, mut all) = (vec![0.0; self.machines as usize], 0.0);
        for value in values.iter().flat_map(|values| values.iter()) {
            found[machine(value)?] += 1.0;
            all += 1.0;
        }
        found.iter_mut().for_each(|share| *share /= f64::max(all, 1.0));
        Some(found)
    }

    /// The machine that each call of a procedure is made on; none if no argument tells it.
    pub fn homes(&self, asked: &Asked, call: &Call, drawn: Drawn<'_>) -> Option<Vec<usize>> {
        let Some(Source::Given(home)) = &call.home.source else { return None };
        let values = drawn.values(home)?;
        // Any table of the group has the range of its values.
        let mut tables = asked.asks.iter().filter_map(|ask| {
            let key = self.grouping.key(ask.table).filter(|key| key.group == call.home.group)?;
            let own = origin(&asked.operations, ask.operation, key.column)?;
            (own == home).then_some((ask.table, key.column))
        });
        let (table, column) = tables.next()?;
        let machine = self.machine(table, column)?;
        values.iter().map(|values| machine(values.first()?)).collect()
    }

    /// Which machine has the rows with a value of a column that divides a table, if its range is known.
    fn machine(&self, table: usize, column: usize) -> Option<impl Fn(&Value) -> Option<usize>> {
        let table = &self.catalog.tables[table];
        let of = self.load.table(&table.name)?.column(&table.columns[column].name)?;
        let (low, high) = value_range(&self.expectation, &table.name, of)?;
        let count = i128::from(high) - i128::from(low) + 1;
        let machines = i128::from(self.machines);
        (count >= machines).then_some(move |value: &Value| {
            let Value::Int(value) = value else { return None };
            let place = (i128::from(*value) - i128::from(low)) * machines / count;
            Some(place.clamp(0, machines - 1) as usize)
        })
    }
}

/// Where the value of a column comes from by which an operation's rows are found, or with which they are added.
pub fn origin(all: &[Operation], number: usize, column: usize) -> Option<&Origin> {
    match &all.get(number)?.action {
        Action::Update { read, .. } | Action::Delete { read } => {
            (*read).filter(|read| *read != number).and_then(|read| origin(all, read, column))
        }
        Action::Read { keys, .. } => {
            let mut equal = keys.iter().filter(|key| key.is_equal && key.column == column);
            equal.next().map(|key| &key.origin)
        }
        Action::Insert { values } => values.get(column),
    }
}

//! The skew of rows: which machine has more of the accessed rows than others.
//!
//! Partitioned tables are divided into ranges of a column, so that calls with near values access
//! rows of the same machine. The arguments of drawn calls show how many.

use super::draws::{Drawn, Draws};
use super::grouping::{Grouping, Source};
use super::profile::{Profile, Request};
use crate::tune::model::Locality;
use procedure::operations::{Action, Operation, Origin};
use sql::{Catalog, Load};
use sql_value::Value;

/// Differences from the mean below this share of all rows count as even, because the sample of
/// calls is small.
const EVEN: f64 = 0.1;

/// Locates rows by their values.
pub struct RowPlacement<'a> {
    pub catalog: &'a Catalog,
    pub load: &'a Load,
    /// Drawn calls and value ranges at this scale.
    pub draws: &'a Draws,
    /// The partitioning column of each table.
    pub grouping: &'a Grouping,
    pub machines: u32,
}

impl RowPlacement<'_> {
    /// The share of an operation's rows on each machine; `None` if they are evenly spread, or if
    /// this is unknown.
    pub fn shares(
        &self,
        profile: &Profile,
        request: &Request,
        drawn: Drawn<'_>,
    ) -> Option<Vec<f64>> {
        let table = &self.catalog.tables[request.table];
        let column = match self.grouping.tables[request.table].column {
            Some(column) => column,
            None => *table.primary_key.first()?,
        };
        let values = drawn.values(origin(&profile.operations, request.operation, column)?)?;
        let machine = self.machine(request.table, column)?;
        let (mut found, mut all) = (vec![0.0; self.machines as usize], 0.0);
        for value in values.iter().flat_map(|values| values.iter()) {
            found[machine(value)?] += 1.0;
            all += 1.0;
        }
        found.iter_mut().for_each(|share| *share /= f64::max(all, 1.0));
        Some(found)
    }

    /// For a call on each machine, the share of the operation's rows that is there. `None` if it is
    /// the same everywhere, as far as the drawn calls show. Values other than the home's are local
    /// on the machine where most of them are.
    pub fn local(
        &self,
        profile: &Profile,
        request: &Request,
        call: &Locality,
        drawn: Drawn<'_>,
    ) -> Option<Vec<f64>> {
        let Some(Source::Argument(home)) = &call.home.source else { return None };
        let key = self.grouping.key(request.table).filter(|key| key.group == call.home.group)?;
        let of = origin(&profile.operations, request.operation, key.column)?;
        let (values, homes) = (drawn.values(of)?, drawn.values(home)?);
        let machine = self.machine(request.table, key.column)?;
        let (mut found, mut others, mut all) = (vec![0.0; self.machines as usize], 0.0, 0.0);
        for (values, home) in values.iter().zip(homes) {
            all += values.len() as f64;
            for value in values.iter().filter(|value| home.first() != Some(value)) {
                found[machine(value)?] += 1.0;
                others += 1.0;
            }
        }
        let mean = others / f64::from(self.machines);
        let is_even = found.iter().all(|count| (count - mean).abs() <= EVEN * all);
        let of_machine = |count: &f64| 1.0 - (others - count) / all;
        (!is_even).then(|| found.iter().map(of_machine).collect())
    }

    /// The home machine of each drawn call; `None` if no argument determines it.
    pub fn homes(
        &self,
        profile: &Profile,
        call: &Locality,
        drawn: Drawn<'_>,
    ) -> Option<Vec<usize>> {
        let Some(Source::Argument(home)) = &call.home.source else { return None };
        let values = drawn.values(home)?;
        // All tables of the group have the same range of values.
        let mut tables = profile.requests.iter().filter_map(|request| {
            let key =
                self.grouping.key(request.table).filter(|key| key.group == call.home.group)?;
            let own = origin(&profile.operations, request.operation, key.column)?;
            (own == home).then_some((request.table, key.column))
        });
        let (table, column) = tables.next()?;
        let machine = self.machine(table, column)?;
        values.iter().map(|values| machine(values.first()?)).collect()
    }

    /// Returns the machine of a value of the partitioning column, if the range of values is known.
    fn machine(&self, table: usize, column: usize) -> Option<impl Fn(&Value) -> Option<usize>> {
        let (low, high) = self.draws.range(&self.catalog.tables[table], column)?;
        let count = i128::from(high) - i128::from(low) + 1;
        let machines = i128::from(self.machines);
        (count >= machines).then_some(move |value: &Value| {
            let Value::Int(value) = value else { return None };
            let place = (i128::from(*value) - i128::from(low)) * machines / count;
            Some(place.clamp(0, machines - 1) as usize)
        })
    }
}

/// The origin of a column's value in the key of an operation or in an inserted row.
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

#[cfg(test)]
mod tests {
    use crate::measurement::Measurements;
    use crate::tune::facts::Facts;
    use crate::tune::{Input, Options};
    use procedure::Workload;
    use sql::WorkloadFolder;
    use std::path::Path;

    /// For a procedure of a shipped workload on four machines: for each operation whose local share
    /// differs between machines, the share on each machine and the mean.
    fn local(name: &str, procedure: &str) -> Vec<(Vec<f64>, f64)> {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = crates.join("../../../workloads").join(name);
        let workload = Workload::read(&folder).expect("it is shipped");
        let text = std::fs::read_to_string(crates.join("measurements/connectx3-fdr-4.json"));
        let measurements = Measurements::parse(&text.expect("it is shipped")).expect("it is sound");
        let folder = WorkloadFolder::read(&folder).expect("it is shipped");
        let input = Input { folder: &folder, workload: &workload, measurements: &measurements };
        let options = Options { machines: Some(4), units: Some(4), ..Options::default() };
        let facts = Facts::new(input, &options).expect("it can be tuned");
        let grouping = facts.grouping();
        let model = facts.model(&grouping);
        let at = facts.profiles.iter().position(|of| of.name == procedure).expect("it is there");
        let call = &model.calls[at];
        let each = call.local_on.iter().cloned().zip(call.local.iter().copied());
        each.filter(|(on, _)| !on.is_empty()).collect()
    }

    #[test]
    fn calls_on_the_hot_machine_find_more_local_rows() {
        // Nine of ten payments go to one of the first accounts, which are all on the first machine.
        let payments = local("smallbank", "send_payment");
        assert!(!payments.is_empty());
        for (on, mean) in payments {
            assert!(on[0] > 0.8 && on[1..].iter().all(|share| *share < 0.2), "{on:?}");
            assert!((on.iter().sum::<f64>() / 4.0 - mean).abs() < 0.01, "{on:?} {mean}");
        }
        assert_eq!(local("smallbank", "balance"), []);
        assert_eq!(local("tpcc", "new_order"), [], "other warehouses are any");
    }
}

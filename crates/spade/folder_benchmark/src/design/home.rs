//! On which memory server most rows of a call are, as far as its arguments tell.
//!
//! Decision: docs/decisions/0277-calls-are-at-home-on-real-clusters-as-on-simulated-ones.md

use super::divide::Division;
use super::{Subject, divide};
use datagen::Call;
use layout::PartRule;
use procedure::operations::{Action, Operation, Origin};
use procedure_runtime::Argument;
use spade_format::design::{Access, Design, Partition};
use spade_format::division::is_written_out;
use sql::Load;
use sql_value::Value;
use std::ops::Range;

/// Where the calls of a procedure have their rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Home {
    /// The argument that tells, by position.
    argument: usize,
    /// How its values are divided.
    rule: PartRule,
    /// Memory servers.
    servers: u16,
    /// Whether whoever calls knows the place, and may ship the call there; else it follows from a row only.
    pub is_told: bool,
    /// Whether calls are shipped.
    pub is_shipped: bool,
}

impl Home {
    /// Where this argument tells, of values that are divided among servers so.
    #[cfg(test)]
    pub(crate) fn of(argument: usize, rule: PartRule, servers: u16) -> Self {
        Self { argument, rule, servers, is_told: true, is_shipped: false }
    }

    /// The memory server, counted from 0; none if the argument is no number.
    pub fn server(&self, call: &Call) -> Option<u16> {
        self.server_of_value(call.arguments.get(self.argument)?)
    }

    /// The same of a call whose argument that tells is this.
    pub(crate) fn server_of_value(&self, value: &Value) -> Option<u16> {
        self.part_of(match value {
            Value::Int(number) => *number,
            Value::Text(digits) => number(digits)?,
            _ => return None,
        })
    }

    /// The argument that tells, by position.
    pub(crate) fn argument(&self) -> usize {
        self.argument
    }

    /// How many memory servers there are.
    pub(crate) fn server_count(&self) -> u16 {
        self.servers
    }

    /// Those that have values: of fewer values than servers, some have none.
    pub(crate) fn servers(&self) -> impl Iterator<Item = u16> {
        let has_values = |values: Range<u64>| !values.is_empty();
        (0..self.servers)
            .filter(move |at| self.rule.values(*at, self.servers).is_some_and(has_values))
    }

    /// The same of a call with these arguments.
    pub fn server_of(&self, arguments: &[Argument<'_>]) -> Option<u16> {
        self.part_of(match arguments.get(self.argument)? {
            Argument::Int(number) => *number,
            Argument::Text(digits) => number(std::str::from_utf8(digits).ok()?)?,
            _ => return None,
        })
    }

    fn part_of(&self, value: i64) -> Option<u16> {
        self.rule.part_of(value, self.servers)
    }
}

/// The number that a text of digits is, as PostgreSQL pads it.
fn number(digits: &str) -> Option<i64> {
    digits.trim_end().parse().ok()
}

/// Of each procedure, in the order of the file: where its calls have their rows on so many memory servers; none if that is
/// anywhere.
///
/// An argument tells that the design names, if it is compared with the column that divides a table. Where it names none, a
/// column may tell that the load writes out from that column in digits: rows are found by it, and their place is known
/// then.
pub(crate) fn homes(
    design: &Design,
    subject: &Subject<'_>,
    load: &Load,
    servers: usize,
) -> Vec<Option<Home>> {
    let divisions = divide(design, subject, servers);
    let homes = subject.workload.procedures.iter().map(|procedure| {
        let name = &procedure.routine.name;
        let of = design.procedures.iter().find(|of| of.procedure == *name);
        let operations = subject.workload.operations(procedure);
        let finding = Finding { subject, design, load, routine: &procedure.routine };
        let mut keys = operations.iter().flat_map(|operation| finding.keys(operation));
        let (key, is_told) = match of.and_then(|of| of.by.as_ref()) {
            Some(by) => {
                let mut inputs = procedure.routine.inputs();
                let argument = inputs.position(|(_, variable)| variable.name == *by)?;
                (keys.find(|key| key.is_divider && key.argument == argument)?, true)
            }
            None => (keys.find(|key| !key.is_divider)?, false),
        };
        let Division::Parts(rule @ PartRule::Ranges { .. }) = divisions[key.table] else {
            return None;
        };
        let is_shipped = is_told && of.is_some_and(|of| of.access == Access::Shipped);
        let (argument, servers) = (key.argument, servers as u16);
        Some(Home { argument, rule, servers, is_told, is_shipped })
    });
    homes.collect()
}

/// An argument that rows are found by.
struct Key {
    table: usize,
    argument: usize,
    /// It is compared with the column that divides the table; else with one that is written out from that.
    is_divider: bool,
}

/// What arguments of a procedure are looked at with.
struct Finding<'a> {
    subject: &'a Subject<'a>,
    design: &'a Design,
    load: &'a Load,
    routine: &'a sql::Procedure,
}

impl Finding<'_> {
    /// The arguments that tell where the rows of an operation are.
    fn keys(&self, operation: &Operation) -> Vec<Key> {
        let table = operation.table;
        let of = &self.subject.workload.catalog.tables[table];
        let known = self.design.tables.iter().find(|known| known.table == of.name);
        let Some(Partition::By { columns, .. }) = known.map(|known| &known.partition) else {
            return Vec::new();
        };
        let Some(divider) = columns.first() else { return Vec::new() };
        let compared: Vec<(usize, &Origin)> = match &operation.action {
            Action::Read { keys, .. } => {
                let equal = keys.iter().filter(|key| key.is_equal);
                equal.map(|key| (key.column, &key.origin)).collect()
            }
            Action::Insert { values } => values.iter().enumerate().collect(),
            Action::Update { .. } | Action::Delete { .. } => Vec::new(),
        };
        let key = |(column, origin): (usize, &Origin)| {
            let Origin::Argument(variable) = origin else { return None };
            let mut inputs = self.routine.inputs();
            let argument = inputs.position(|(parameter, _)| parameter.variable == *variable)?;
            let is_divider = of.columns.get(column)?.name == *divider;
            let tells = is_divider || is_written_out(self.load, of, column, divider);
            tells.then_some(Key { table, argument, is_divider })
        };
        compared.into_iter().filter_map(key).collect()
    }
}

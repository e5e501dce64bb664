//! The memory server with most rows of a call, determined from its arguments.
//!
//! Decision: docs/decisions/0277-calls-are-at-home-on-real-clusters-as-on-simulated-ones.md

use super::divide::Division;
use super::{DesignContext, divide};
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
    /// Position of the argument that determines the server.
    argument: usize,
    /// How its values are divided.
    rule: PartRule,
    /// Number of memory servers.
    servers: u16,
    /// Whether the caller knows the server before the first read, and may ship the call. Otherwise
    /// only a row determines it.
    pub is_told: bool,
    /// Whether calls are shipped.
    pub is_shipped: bool,
}

impl Home {
    /// A home by this argument and division.
    #[cfg(test)]
    pub(crate) fn of(argument: usize, rule: PartRule, servers: u16) -> Self {
        Self { argument, rule, servers, is_told: true, is_shipped: false }
    }

    /// The memory server, counted from 0; `None` if the argument is not a number.
    pub fn server(&self, call: &Call) -> Option<u16> {
        self.server_of_value(call.arguments.get(self.argument)?)
    }

    /// The memory server for this value of the argument.
    pub(crate) fn server_of_value(&self, value: &Value) -> Option<u16> {
        self.part_of(match value {
            Value::Int(number) => *number,
            Value::Text(digits) => number(digits)?,
            _ => return None,
        })
    }

    /// The position of the argument.
    pub(crate) fn argument(&self) -> usize {
        self.argument
    }

    pub(crate) fn server_count(&self) -> u16 {
        self.servers
    }

    /// Servers that have values. If there are fewer values than servers, some have none.
    pub(crate) fn servers(&self) -> impl Iterator<Item = u16> {
        let has_values = |values: Range<u64>| !values.is_empty();
        (0..self.servers)
            .filter(move |at| self.rule.values(*at, self.servers).is_some_and(has_values))
    }

    /// The memory server for these arguments.
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

/// Parses a text of digits, padded as in PostgreSQL's `char`.
fn number(digits: &str) -> Option<i64> {
    digits.trim_end().parse().ok()
}

/// For each procedure, in the order of the file: where its calls have their rows; `None` if that is
/// unknown.
///
/// The design may name an argument; it determines the home if it is compared with the column that
/// divides a table. Otherwise a column may determine it that the load writes out from the dividing
/// column in digits: rows are found by it, and the server is known then.
pub(crate) fn homes(
    design: &Design,
    subject: &DesignContext<'_>,
    load: &Load,
    servers: usize,
) -> Vec<Option<Home>> {
    let divisions = divide(design, subject, servers);
    let homes = subject.workload.procedures.iter().map(|procedure| {
        let name = &procedure.routine.name;
        let of = design.procedures.iter().find(|of| of.procedure == *name);
        let operations = subject.workload.operations(procedure);
        let finder = HomeFinder { subject, design, load, routine: &procedure.routine };
        let mut keys = operations.iter().flat_map(|operation| finder.keys(operation));
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

/// An argument by which rows are found.
struct HomeKey {
    table: usize,
    argument: usize,
    /// Whether it is compared with the column that divides the table. Otherwise it is compared with
    /// one that is written out from that column.
    is_divider: bool,
}

/// The context for finding such arguments.
struct HomeFinder<'a> {
    subject: &'a DesignContext<'a>,
    design: &'a Design,
    load: &'a Load,
    routine: &'a sql::Procedure,
}

impl HomeFinder<'_> {
    /// The arguments that determine where the rows of an operation are.
    fn keys(&self, operation: &Operation) -> Vec<HomeKey> {
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
            tells.then_some(HomeKey { table, argument, is_divider })
        };
        compared.into_iter().filter_map(key).collect()
    }
}

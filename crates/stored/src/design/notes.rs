//! What the engine does otherwise than a design says.

use super::divide::{Division, is_led};
use super::{Subject, divide, is_spread};
use layout::PartRule;
use spade::design::{Design, Partition, TableDesign};

/// Sentences for whoever made the design. On one memory server all rows are together.
pub(crate) fn notes(design: &Design, subject: &Subject<'_>, servers: usize) -> Vec<String> {
    let divisions = divide(design, subject, servers).into_iter().enumerate();
    let tables = divisions.filter(|_| servers > 1).filter_map(|(at, division)| {
        let name = &subject.workload.catalog.tables[at].name;
        let table = design.tables.iter().find(|of| of.table == *name)?;
        let spread = is_spread(design, subject, at, servers);
        table_note(table, subject, at, (!spread).then_some(division))
    });
    tables.collect()
}

/// What is otherwise with a table, whose buckets are spread if it has no division.
fn table_note(
    table: &TableDesign,
    subject: &Subject<'_>,
    at: usize,
    division: Option<Division>,
) -> Option<String> {
    let name = &table.table;
    let in_order = || {
        let uses = &subject.uses.tables[at];
        let who = uses.in_order().or_else(|| uses.indexes.iter().find_map(|of| of.in_order()));
        who.unwrap_or("a procedure")
    };
    match (&table.partition, division) {
        (Partition::RoundRobin, Some(Division::Whole)) => Some(format!(
            "trees of table {name} are on one memory server each: {} goes through them in order, and their keys begin with \
             nothing that divides the table into as many parts as there are memory servers",
            in_order()
        )),
        (Partition::RoundRobin | Partition::Replicated, _) => None,
        (Partition::By { columns, group }, division) => {
            let said = columns.join(", ");
            let because = match division {
                Some(Division::Parts(PartRule::Ranges { .. })) => return None,
                _ if columns.len() > 1 => "a table is divided by one column".to_owned(),
                _ if !is_led(table, subject, at) => {
                    "its primary key does not begin with this column".to_owned()
                }
                Some(Division::Whole) => format!(
                    "{} goes through it in an order that such parts do not have",
                    in_order()
                ),
                _ => "this column is no integer whose range the load tells".to_owned(),
            };
            Some(format!(
                "rows of table {name} with equal {said} are not with those of group {group}: {because}"
            ))
        }
    }
}

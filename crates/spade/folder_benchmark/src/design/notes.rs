//! What the engine does otherwise than a design says.
//!
//! Decision: docs/decisions/0209-unsupported-parts-of-a-design-are-reported-not-refused.md

use super::divide::{Division, is_led};
use super::{Subject, divide, is_spread};
use layout::PartRule;
use spade_format::design::{Design, Partition, TableDesign};

/// Sentences for whoever made the design. On one memory server all rows are together.
pub(crate) fn notes(design: &Design, subject: &Subject<'_>, servers: usize) -> Vec<String> {
    let divisions = divide(design, subject, servers).into_iter().enumerate();
    let tables = divisions.filter(|_| servers > 1).filter_map(|(at, division)| {
        let name = &subject.workload.catalog.tables[at].name;
        let table = design.tables.iter().find(|of| of.table == *name)?;
        let spread = is_spread(design, subject, at, servers);
        let division = (!spread).then_some(division);
        let of_table = table_note(table, subject, at, division);
        Some(of_table.into_iter().chain(index_notes(subject, at, division)))
    });
    tables.flatten().collect()
}

/// Indexes of a divided table that are on one memory server, as ranges of them name nothing that divides them.
fn index_notes(subject: &Subject<'_>, at: usize, division: Option<Division>) -> Vec<String> {
    let table = &subject.workload.catalog.tables[at];
    let by_ranges = match division {
        Some(Division::Parts(PartRule::Ranges { .. })) => true,
        Some(Division::Parts(PartRule::Hashed { .. })) => false,
        Some(Division::Parts(PartRule::Copied) | Division::Whole) | None => return Vec::new(),
    };
    let indexes = table.indexes.iter().zip(&subject.uses.tables[at].indexes);
    let whole = indexes.filter_map(|(index, uses)| {
        let (0, who) = uses.order.least.as_ref()? else { return None };
        let is_beside = by_ranges && index.columns.first() == table.primary_key.first();
        (!is_beside).then(|| {
            let column = &table.columns[index.columns[0]].name;
            format!(
                "index {} of table {} is on one memory server: {who} goes through it in order and names no value of {column}, \
                 by which it could be divided",
                index.name, table.name
            )
        })
    });
    whole.collect()
}

/// What is otherwise with a table, whose buckets are spread if it has no division.
fn table_note(
    table: &TableDesign,
    subject: &Subject<'_>,
    at: usize,
    division: Option<Division>,
) -> Option<String> {
    let name = &table.table;
    let least = subject.uses.tables[at].order.least.as_ref();
    let who = least.map_or("a procedure", |(_, who)| who.as_str());
    match (&table.partition, division) {
        (Partition::RoundRobin, Some(Division::Whole)) => Some(format!(
            "trees of table {name} are on one memory server each: {who} goes through all of its keys in order, which begin with \
             nothing that divides the table into as many parts as there are memory servers"
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
                Some(Division::Whole) => {
                    format!("{who} goes through all of it in an order that such parts do not have")
                }
                _ => "this column is no integer whose range the load tells".to_owned(),
            };
            Some(format!(
                "rows of table {name} with equal {said} are not with those of group {group}: {because}"
            ))
        }
    }
}

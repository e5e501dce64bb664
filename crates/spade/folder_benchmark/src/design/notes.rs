//! Reports differences between a design and what the engine creates.
//!
//! Decision: docs/decisions/0209-unsupported-parts-of-a-design-are-reported-not-refused.md

use super::divide::{Division, is_led};
use super::{DesignContext, divide, is_spread};
use layout::PartRule;
use spade_format::design::{Design, Partition, TableDesign};

/// The differences, as sentences. On a single memory server there are none.
pub(crate) fn notes(design: &Design, subject: &DesignContext<'_>, servers: usize) -> Vec<String> {
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

/// Indexes of a divided table that are on one memory server, because scans have no value that could
/// divide them.
fn index_notes(subject: &DesignContext<'_>, at: usize, division: Option<Division>) -> Vec<String> {
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
                "index {} of table {} is on one memory server: {who} scans it in order without a value of {column}, \
                 by which it could be divided",
                index.name, table.name
            )
        })
    });
    whole.collect()
}

/// The difference of a table. `division` is `None` if its buckets are spread.
fn table_note(
    table: &TableDesign,
    subject: &DesignContext<'_>,
    at: usize,
    division: Option<Division>,
) -> Option<String> {
    let name = &table.table;
    let least = subject.uses.tables[at].order.least.as_ref();
    let who = least.map_or("a procedure", |(_, who)| who.as_str());
    match (&table.partition, division) {
        (Partition::RoundRobin, Some(Division::Whole)) => Some(format!(
            "trees of table {name} are on one memory server each: {who} scans all of its keys in order, and their first \
             column cannot divide the table into as many parts as there are memory servers"
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
                    format!("{who} scans all of it in an order that crosses such parts")
                }
                _ => "this column is not an integer with a range that the load defines".to_owned(),
            };
            Some(format!(
                "rows of table {name} with equal {said} are not with those of group {group}: {because}"
            ))
        }
    }
}

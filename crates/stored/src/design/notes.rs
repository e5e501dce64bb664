//! What the engine does otherwise than a design says.

use super::Subject;
use layout::Storage;
use spade::design::{Access, Design, Partition, Placement, TableDesign};

/// Sentences for whoever made the design. On one memory server all rows are together.
pub(crate) fn notes(design: &Design, subject: &Subject<'_>, servers: usize) -> Vec<String> {
    let shipped = design.procedures.iter().filter(|of| of.access == Access::Shipped);
    let shipped = shipped.map(|of| {
        format!(
            "procedure {} is carried out where it is called, by verbs: procedures are not shipped yet",
            of.procedure
        )
    });
    let tables = design.tables.iter().filter(|_| servers > 1);
    tables.filter_map(|table| table_note(table, subject)).chain(shipped).collect()
}

fn table_note(table: &TableDesign, subject: &Subject<'_>) -> Option<String> {
    let name = &table.table;
    match &table.partition {
        Partition::RoundRobin => None,
        Partition::Replicated => Some(format!(
            "table {name} is there once, spread over the memory servers: tables are not copied yet"
        )),
        Partition::By { columns, group } => {
            let said = columns.join(", ");
            let because = match (table.storage, &table.placement) {
                (Storage::Tree, _) => "a tree is on one memory server as a whole".to_owned(),
                (_, Placement::Hashed { .. }) => {
                    "hashed rows are wherever their hash leads; a dense placement keeps them together".to_owned()
                }
                (_, Placement::Dense { .. }) if leads_key(table, columns, subject) => return None,
                (_, Placement::Dense { .. }) => {
                    "its primary key does not begin with these columns".to_owned()
                }
            };
            Some(format!(
                "rows of table {name} with equal {said} are not with those of group {group}: {because}"
            ))
        }
    }
}

/// Whether the primary key begins with these columns, so that ranges of buckets, which servers have one after another, are
/// ranges of their values.
fn leads_key(table: &TableDesign, columns: &[String], subject: &Subject<'_>) -> bool {
    let Some(of) = subject.workload.catalog.table(&table.table) else { return false };
    let key = of.primary_key.iter().map(|&column| &of.columns[column].name);
    columns.len() <= of.primary_key.len() && key.zip(columns).all(|(has, said)| has == said)
}

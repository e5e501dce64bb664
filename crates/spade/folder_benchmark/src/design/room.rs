//! Selects trees whose leaves the load fills only partly.
//!
//! A load in key order fills the leaves of a tree completely. That saves memory if procedures
//! append, or insert in few places. If they insert anywhere, each of the first inserts splits a
//! leaf, and a measurement after the load would measure splits:
//!
//! ```text
//! loaded in order      |1 2 3 4|5 6 7 8|9 ...      each leaf is full
//! added anywhere          2.5    6.1                each row splits one, until all have been
//! loaded with room     |1 2 .|3 4 .|5 6 .|7 ...    two thirds full, as in the long run
//! ```
//!
//! Decision: docs/decisions/0286-the-load-leaves-room-in-leaves-where-procedures-insert.md

use super::DesignContext;
use super::uses::Adds;
use interpreter::TableDesign;
use layout::{IndexKind, LeafLayout, Storage};
use sql_value::Value;
use sql_value::order::order_all;
use std::cmp::Ordering;

/// Number of rows that are examined for their order.
const SEEN: usize = 512;
/// A table counts as loaded in order if at least this percentage of rows is not before the row
/// `EARLIER` rows earlier; rows of one leaf may come in any order.
const IN_ORDER_PERCENT: usize = 90;
const EARLIER: usize = 16;

/// For each table, in the order of the schema: the rows per leaf of the largest of its trees whose
/// leaves need room after the load. `None` if it has no such tree.
pub(crate) fn leaf_rows(tables: &[TableDesign], subject: &DesignContext<'_>) -> Vec<Option<u64>> {
    tables.iter().enumerate().map(|(at, of)| of_table(subject, at, of)).collect()
}

fn of_table(subject: &DesignContext<'_>, table: usize, of: &TableDesign) -> Option<u64> {
    let schema = &subject.workload.catalog.tables[table].schema;
    let is_tree = of.rows.storage == Storage::Tree;
    let own = is_tree.then(|| (schema.key().to_vec(), of.rows.node_bytes));
    let trees = of.indexes.iter().filter(|index| index.kind == IndexKind::Tree);
    let trees = trees.map(|index| (schema.index_key(&index.columns).collect(), index.node_bytes));
    let rows = own.into_iter().chain(trees).filter_map(|(columns, node_bytes)| {
        let words = schema.index_key_words(&columns);
        let rows = u64::from(LeafLayout::within(node_bytes, words, 1, false).entries);
        let wants_room = is_added_anywhere(subject, table, &columns, rows)
            && is_loaded_in_order(subject, table, &columns);
        wants_room.then_some(rows)
    });
    rows.max()
}

/// Whether calls insert at more places in the order of these columns than the tree has leaves.
fn is_added_anywhere(
    subject: &DesignContext<'_>,
    table: usize,
    columns: &[usize],
    rows: u64,
) -> bool {
    let leaves = (subject.rows(table) / rows).max(1);
    let Some(number) = subject.number(table) else { return false };
    // A column without a range, such as a text, may have any value.
    let range = |column: usize| subject.population.column_range(number, column);
    let values = |column: usize| range(column).map_or(u64::MAX, |(_, values)| values);
    subject.uses.tables[table].adds.iter().any(|adds| {
        let places = columns.iter().map_while(|&column| match adds.get(column)? {
            Adds::Anywhere => Some(values(column)),
            Adds::SamePlace => Some(1),
            Adds::Unknown => None,
        });
        places.fold(1, u64::saturating_mul) > leaves
    })
}

/// Whether the load inserts rows in the order of these columns, as far as the values of the leading
/// ones are known.
fn is_loaded_in_order(subject: &DesignContext<'_>, table: usize, columns: &[usize]) -> bool {
    let Some(number) = subject.number(table) else { return false };
    let rows = subject.population.rows(number, 0, 1).take(SEEN);
    // A hidden key counts up.
    let key = |row: Vec<Value>| columns.iter().map_while(|&at| row.get(at).cloned()).collect();
    let keys: Vec<Vec<Value>> = rows.map(key).collect();
    let pairs = keys.iter().zip(keys.iter().skip(EARLIER));
    let rising =
        pairs.clone().filter(|(earlier, later)| order_all(earlier, later) != Ordering::Greater);
    keys.len() > EARLIER && rising.count() * 100 >= pairs.count() * IN_ORDER_PERCENT
}

#[cfg(test)]
mod tests {
    use super::super::{Uses, default_design, fit};
    use super::*;
    use datagen::{Population, Scale};
    use procedure::node::Workload;
    use spade_format::design::{Design, Placement};
    use sql::WorkloadFolder;
    use std::path::PathBuf;

    /// The tables of a folder that are loaded with room if all tables are trees.
    fn with_room(folder: &str) -> Vec<String> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..").join(folder);
        let files = WorkloadFolder::read(&folder).unwrap_or_else(|error| panic!("{error}"));
        let ready = Workload::read(&folder).unwrap_or_else(|error| panic!("{error}"));
        let scale = Scale { units: 1, seed: 1, now_us: 0 };
        let population = Population::new(&files.program, &files.load, scale);
        let population = population.unwrap_or_else(|error| panic!("{error}"));
        let uses = Uses::new(&ready, &files.load);
        let subject = DesignContext::of(&files.load, &ready, &population, &uses);
        let mut design: Design = default_design(&subject);
        for table in &mut design.tables {
            (table.storage, table.placement) =
                (Storage::Tree, Placement::Hashed { load_percent: 65 });
        }
        let tables = fit(&design, &subject).unwrap_or_else(|problems| panic!("{problems:?}"));
        let room = leaf_rows(&tables, &subject).into_iter().zip(&design.tables);
        room.filter_map(|(rows, table)| Some((rows?, table)).map(|_| table.table.clone())).collect()
    }

    #[test]
    fn trees_with_random_inserts_are_loaded_with_room() {
        // Calls insert forwardings for any facility.
        assert_eq!(with_room("workloads/tatp"), ["call_forwarding"]);
    }

    #[test]
    fn leaves_are_filled_where_rows_are_added_in_few_places_or_behind_all() {
        // Orders of a district are appended.
        assert_eq!(with_room("workloads/tpcc"), Vec::<String>::new());
        assert_eq!(with_room("workloads/ycsb"), Vec::<String>::new());
        assert_eq!(with_room("workloads/smallbank"), Vec::<String>::new());
    }
}

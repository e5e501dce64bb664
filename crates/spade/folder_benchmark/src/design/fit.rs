//! Checks that a design fits a workload, and converts it for the engine.

use super::{DesignContext, places};
use layout::{IndexKind, PhysicalDesign, Storage};
use spade_format::design::{Design, IndexDesign, Partition, Placement, TableDesign};
use std::collections::BTreeSet;
use txn::TableSpec;
use txn::catalog::check_design;

/// Maximal number of slots of a dense placement per row; more is a mistake.
const PLACES_PER_ROW_MAX: u64 = 64;
/// Tables with fewer rows count as this large in that check.
const ROWS_MIN: u64 = 1 << 16;

/// Table designs for the engine, in the order of the schema.
///
/// # Errors
///
/// All problems, a sentence each.
pub(crate) fn fit(
    design: &Design,
    subject: &DesignContext<'_>,
) -> Result<Vec<interpreter::TableDesign>, Vec<String>> {
    let mut problems = Vec::new();
    if design.workload != subject.name {
        let (of, name) = (&design.workload, subject.name);
        problems.push(format!(
            "it is for workload {of}, but this is {name}; tune this workload, or write its name into the design if both \
             have the same tables"
        ));
    }
    names(design, subject, &mut problems);
    let catalog = &subject.workload.catalog;
    let designed = catalog.tables.iter().enumerate().filter_map(|(at, table)| {
        let of = design.tables.iter().find(|of| of.table == table.name)?;
        Some(table_design(of, subject, at, &mut problems))
    });
    let designed: Vec<interpreter::TableDesign> = designed.collect();
    if problems.is_empty() { Ok(designed) } else { Err(problems) }
}

/// Checks that the design lists each table once, and only existing procedures and arguments.
fn names(design: &Design, subject: &DesignContext<'_>, problems: &mut Vec<String>) {
    let catalog = &subject.workload.catalog;
    let mut seen = BTreeSet::new();
    for TableDesign { table, .. } in &design.tables {
        if catalog.position(table).is_none() {
            problems.push(format!("schema.sql has no table {table}"));
        } else if !seen.insert(table) {
            problems.push(format!("it lists table {table} twice"));
        }
    }
    for table in catalog.tables.iter().filter(|table| !seen.contains(&table.name)) {
        problems.push(format!("it lacks table {}", table.name));
    }
    for of in &design.procedures {
        let name = &of.procedure;
        let Some(known) =
            subject.workload.procedures.iter().find(|known| known.routine.name == *name)
        else {
            problems.push(format!("procedures.sql has no procedure {name}"));
            continue;
        };
        let Some(by) = &of.by else { continue };
        if !known.routine.inputs().any(|(_, variable)| variable.name == *by) {
            problems.push(format!("procedure {name} has no argument {by}"));
        }
    }
}

fn table_design(
    of: &TableDesign,
    subject: &DesignContext<'_>,
    at: usize,
    problems: &mut Vec<String>,
) -> interpreter::TableDesign {
    let table = &subject.workload.catalog.tables[at];
    let name = &table.name;
    if let Some(procedure) = &subject.uses.tables[at].order.procedure
        && of.storage != Storage::Tree
    {
        problems.push(format!(
            "table {name} is a hash table, but procedure {procedure} scans its primary key in order; set its \
             storage to tree"
        ));
    }
    if let Partition::By { columns, .. } = &of.partition {
        for column in columns.iter().filter(|column| table.column(column).is_none()) {
            problems.push(format!("table {name}, partitioned by {column}, has no such column"));
        }
    }
    if let Placement::Dense { columns } = &of.placement {
        dense(name, columns, of, subject, at, problems);
    }
    let spec = TableSpec {
        schema: table.schema.clone(),
        design: physical(of),
        indexes: indexes(of, subject, at, problems),
    };
    if let Err(error) = check_design(&spec, usize::MAX) {
        problems.push(error.to_string());
    }
    interpreter::TableDesign { rows: spec.design, indexes: spec.indexes }
}

fn physical(of: &TableDesign) -> PhysicalDesign {
    PhysicalDesign {
        storage: of.storage,
        neighbourhood: of.neighbourhood,
        versions_beside: of.versions_beside,
        keeps_versions: of.keeps_versions,
        size_hint: of.rows.max(1),
        node_bytes: of.node_bytes,
        placement: match &of.placement {
            &Placement::Hashed { load_percent } => layout::Placement::Hashed { load_percent },
            Placement::Dense { columns } => layout::Placement::Dense { columns: columns.clone() },
        },
        server: None,
        part: None,
    }
}

/// Checks a dense placement. The engine checks the number of columns.
fn dense(
    name: &str,
    columns: &[(i64, u64)],
    of: &TableDesign,
    subject: &DesignContext<'_>,
    at: usize,
    problems: &mut Vec<String>,
) {
    if of.storage == Storage::Tree {
        problems.push(format!("table {name} is a tree, whose keys have no dense placement"));
    }
    let (places, rows) = (places(columns), of.rows);
    if places > rows.max(ROWS_MIN).saturating_mul(PLACES_PER_ROW_MAX) {
        problems.push(format!(
            "the dense placement of table {name} has {places} places for {rows} rows; at most {PLACES_PER_ROW_MAX} are \
             allowed per row: make its ranges smaller, or use hashed placement"
        ));
    }
    let key = &subject.workload.catalog.tables[at].primary_key;
    let Some(ranges) = subject.key_ranges(at) else { return };
    for ((&column, &(low, count)), (from, values)) in key.iter().zip(columns).zip(ranges) {
        let last = |low: i64, count: u64| i128::from(low) + i128::from(count) - 1;
        if from < low || last(from, values) > last(low, count) {
            let column = &subject.workload.catalog.tables[at].columns[column].name;
            problems.push(format!(
                "the dense placement of table {name} has places for {column} from {low} to {}, but workload.toml draws \
                 {from} to {}; extend its range, use hashed placement, or draw `columns.{column}` differently",
                last(low, count),
                last(from, values)
            ));
        }
    }
}

fn indexes(
    of: &TableDesign,
    subject: &DesignContext<'_>,
    at: usize,
    problems: &mut Vec<String>,
) -> Vec<layout::IndexDesign> {
    let (table, uses) = (&subject.workload.catalog.tables[at], &subject.uses.tables[at]);
    let name = &table.name;
    for IndexDesign { index, .. } in &of.indexes {
        if !table.indexes.iter().any(|known| known.name == *index) {
            problems.push(format!("table {name} has no index {index} in schema.sql"));
        }
    }
    let mut ready = Vec::new();
    for (index, uses) in table.indexes.iter().zip(&uses.indexes) {
        let mut designs = of.indexes.iter().filter(|design| design.index == index.name);
        let (Some(design), None) = (designs.next(), designs.next()) else {
            let index = &index.name;
            problems.push(format!("it must list index {index} of table {name} exactly once"));
            continue;
        };
        if let (Some(procedure), IndexKind::Hash) = (&uses.order.procedure, design.kind) {
            let index = &index.name;
            problems.push(format!(
                "index {index} of table {name} is a hash table, but procedure {procedure} scans it in order; set \
                 its kind to tree"
            ));
        }
        ready.push(layout::IndexDesign {
            name: index.name.clone(),
            columns: index.columns.clone(),
            unique: index.unique,
            kind: design.kind,
            node_bytes: design.node_bytes,
            size_hint: design.entries.max(1),
            hashed_columns: uses.order.named().map(|named| named as u16),
        });
    }
    ready
}

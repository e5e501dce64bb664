//! The tables and indexes of a schema in a database.

use fabric::Env;
use layout::{IndexDesign, IndexKind, PhysicalDesign, Storage};
use procedure::Operator;
use procedure::node::{Access, Range, Workload};
use sql::Catalog;
use std::collections::BTreeSet;
use txn::{CatalogError, Database, TableSpec};

/// How one table of a workload is stored.
#[derive(Clone, PartialEq, Debug)]
pub struct TableDesign {
    /// Its rows.
    pub rows: PhysicalDesign,
    /// Its indexes, in the order of the schema; their names, columns and whether they are unique are the schema's.
    pub indexes: Vec<IndexDesign>,
}

/// The design of a workload that nobody has tuned, with so many rows of each table expected: hash tables, unless a
/// statement goes through a key in its order, and indexes as the schema asks for them, unless so.
pub fn default_design(workload: &Workload, rows: &dyn Fn(&str) -> u64) -> Vec<TableDesign> {
    let mut ordered = BTreeSet::new();
    for procedure in &workload.procedures {
        for statement in &procedure.statements {
            let plans = statement.sub_plans.iter().map(|plan| &plan.root);
            for root in plans.chain([&statement.root]) {
                root.walk(&mut |node| {
                    if let Operator::Scan(scan) = &node.operator {
                        note_access(scan.table, &scan.access, &mut ordered);
                    }
                });
            }
        }
    }
    let tables = workload.catalog.tables.iter().enumerate();
    let design = |(at, table): (usize, &sql::Table)| {
        let size_hint = rows(&table.name).max(1);
        let storage = match ordered.contains(&(at, None)) {
            true => Storage::Tree,
            false => Storage::HashInlined,
        };
        // A neighbourhood of inlined rows is read as a whole.
        let design =
            PhysicalDesign { storage, neighbourhood: 1, size_hint, ..PhysicalDesign::default() };
        let indexes = table.indexes.iter().enumerate().map(|(number, index)| {
            let is_ordered = ordered.contains(&(at, Some(number)));
            IndexDesign {
                name: index.name.clone(),
                columns: index.columns.clone(),
                unique: index.unique,
                kind: if is_ordered { IndexKind::Tree } else { index.kind },
                size_hint,
                ..IndexDesign::default()
            }
        });
        TableDesign { rows: design, indexes: indexes.collect() }
    };
    tables.map(design).collect()
}

/// Makes the tables of a catalog with their indexes, as `design` says of each in order.
///
/// # Errors
///
/// A table is there already, or its design is refused; the tables before it are there then.
pub async fn create<E: Env>(
    database: &Database<E>,
    catalog: &Catalog,
    design: &[TableDesign],
) -> Result<(), CatalogError> {
    for (table, design) in catalog.tables.iter().zip(design) {
        let spec = TableSpec {
            schema: table.schema.clone(),
            design: design.rows.clone(),
            indexes: design.indexes.clone(),
        };
        database.create_table(spec).await?;
    }
    Ok(())
}

/// Notes table and index of each range.
fn note_access(table: usize, access: &Access, ordered: &mut BTreeSet<(usize, Option<usize>)>) {
    match access {
        Access::Range(Range { index, .. }) => {
            ordered.insert((table, *index));
        }
        Access::Any(accesses) => {
            accesses.iter().for_each(|access| note_access(table, access, ordered));
        }
        Access::Each { access, .. } => note_access(table, access, ordered),
        Access::Key(_) | Access::Lookup { .. } | Access::All => {}
    }
}

//! Creates the tables and indexes of a schema in a database.

use fabric::Env;
use layout::{IndexDesign, IndexKind, PhysicalDesign, Storage};
use procedure::Operator;
use procedure::node::{Access, Range, Workload};
use sql::Catalog;
use std::collections::BTreeSet;
use txn::{CatalogError, Database, TableSpec};

/// The physical design of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct TableDesign {
    pub rows: PhysicalDesign,
    /// The designs of its indexes, in schema order; the schema has their names, columns and
    /// uniqueness.
    pub indexes: Vec<IndexDesign>,
}

/// The design of an untuned workload, with an expected number of rows per table: tables and indexes
/// are hash tables, except those through which a statement does a range scan.
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
        // A neighbourhood of inlined rows is always read as a whole.
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

/// Creates the tables of a catalog with their indexes; `design` has an element per table, in order.
///
/// # Errors
///
/// A table already exists, or its design is refused; the tables before it have then been created.
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

/// Notes the table and index of each range scan.
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

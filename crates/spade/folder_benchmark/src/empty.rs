//! Warns about tables that are empty when their plans are made: the plans may be wrong when
//! procedures have filled them.

use procedure::node::{Access, Operator};
use procedure::{Procedure, Workload};
use sql::Load;
use sql::load::Expectation;

/// Maximal number of statements that a warning lists.
const NAMED_MAX: usize = 3;

/// A warning for each table that is planned with 0 rows although a procedure inserts some, and that
/// a statement reads through an index chosen by PostgreSQL.
pub fn empty_table_warnings(workload: &Workload, load: &Load) -> Vec<String> {
    let expectation = Expectation::new(load, load.units);
    let tables = workload.catalog.tables.iter().enumerate();
    let empty = tables.filter(|(_, table)| expectation.rows(&table.name) == Some(0.0));
    let warnings = empty.filter_map(|(at, table)| {
        let adds = |of: &&Procedure| of.routine.inserts_into(at);
        let adds = workload.procedures.iter().find(adds)?;
        let has_choice = !table.indexes.is_empty();
        let readers: Vec<String> =
            workload.procedures.iter().flat_map(|of| statements_reading(of, at, has_choice)).collect();
        let named = readers.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
        if readers.is_empty() {
            return None;
        }
        let others = match readers.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            count => format!(" and {count} others"),
        };
        Some(format!(
            "table {} is planned with 0 rows, but {} adds some: when it has grown, the plans of {named}{others} may use \
             the wrong index; set `rows` in workload.toml to its later size, and create the plans again",
            table.name, adds.routine.name
        ))
    });
    warnings.collect()
}

/// The statements of a procedure that read a table other than by its whole primary key. Without
/// secondary indexes, only those that read the whole table.
fn statements_reading(procedure: &Procedure, table: usize, has_choice: bool) -> Vec<String> {
    let name = &procedure.routine.name;
    let numbered = (1..).zip(&procedure.statements);
    let reading = numbered.filter(|(_, statement)| {
        let mut found = false;
        let inside = statement.sub_plans.iter().map(|plan| &plan.root);
        for root in inside.chain([&statement.root]) {
            root.walk(&mut |node| {
                if let Operator::Scan(scan) = &node.operator {
                    found |= scan.table == table && is_chosen(&scan.access, has_choice);
                }
            });
        }
        found
    });
    reading.map(|(number, _)| format!("{name}.{number}")).collect()
}

/// Whether PostgreSQL chose the access path by the number of rows.
fn is_chosen(access: &Access, has_choice: bool) -> bool {
    match access {
        Access::Key(_) => false,
        Access::All => true,
        Access::Each { access, .. } => is_chosen(access, has_choice),
        Access::Any(all) => all.iter().any(|access| is_chosen(access, has_choice)),
        Access::Lookup { .. } | Access::Range(_) => has_choice,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::load::{Amount, Rows};
    use std::path::Path;

    fn warnings(empty: &[&str]) -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads/tpcc");
        let workload = Workload::read(&folder).unwrap_or_else(|error| panic!("{error}"));
        let files = sql::WorkloadFolder::read(&folder).unwrap_or_else(|error| panic!("{error}"));
        let mut load = files.load;
        let none = Amount::constant(0);
        for table in load.tables.iter_mut().filter(|table| empty.contains(&&*table.table)) {
            table.rows = Rows::Counted(none.clone());
        }
        empty_table_warnings(&workload, &load)
    }

    #[test]
    fn only_empty_tables_that_grow_cause_a_warning() {
        assert_eq!(warnings(&[]), [""; 0]);
        // No procedure inserts warehouses, and none reads the history.
        assert_eq!(warnings(&["warehouse", "history"]), [""; 0]);
        let told = warnings(&["orders"]);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with("table orders is planned with 0 rows, but new_order adds some")
        );
        assert!(told[0].contains("order_status."), "{told:?}");
    }
}

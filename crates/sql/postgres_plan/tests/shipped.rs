//! The plans of the shipped workloads exist, are valid, use an index wherever there is one, and
//! equal PostgreSQL's current plans.

#[path = "support/shape.rs"]
mod shape;
#[path = "support/mod.rs"]
mod support;

use postgres_plan::folder::{self, FolderError};
use postgres_plan::{Operator, Plan, ServerChoice};
use shape::shape;
use sql::{EmbeddedStatement, WorkloadFolder};
use std::path::PathBuf;

const WORKLOADS: [&str; 4] = ["smallbank", "tatp", "tpcc", "ycsb"];

fn path(workload: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(workload)
}

fn workload(name: &str) -> WorkloadFolder {
    WorkloadFolder::read(&path(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn statements(workload: &WorkloadFolder) -> Vec<&EmbeddedStatement> {
    workload.program.embedded_statements().collect()
}

/// Calls `use_them` with each statement of a workload and its plan.
fn planned(name: &str, use_them: impl Fn(&EmbeddedStatement, &Plan)) {
    let workload = workload(name);
    let statements = statements(&workload);
    let plans = folder::open(&path(name), &statements).unwrap_or_else(|error| panic!("{error}"));
    assert!(!plans.is_empty(), "{name} has statements");
    statements.iter().zip(&plans).for_each(|(statement, plan)| use_them(statement, plan));
}

#[test]
fn every_table_is_reached_by_an_index() {
    for name in WORKLOADS {
        planned(name, |statement, plan| {
            plan.root.walk(&mut |node| {
                let whole = matches!(node.operator, Operator::SequentialScan { .. });
                assert!(
                    !whole,
                    "{} in line {} reads a whole table",
                    statement.procedure, statement.line
                );
            });
        });
    }
}

#[test]
fn plans_are_what_the_transactions_call_for() {
    let shapes = |name: &str, procedure: &str| {
        let found = std::cell::RefCell::new(Vec::new());
        planned(name, |statement, plan| {
            if statement.procedure == procedure {
                found.borrow_mut().push(shape(&plan.root));
            }
        });
        found.into_inner()
    };
    assert_eq!(
        shapes("tpcc", "stock_level"),
        ["index district_pkey", "plain(loop inner(index order_line_pkey, index stock_pkey))",]
    );
    assert_eq!(
        shapes("tpcc", "order_status"),
        [
            "plain(index only customer_name)",
            "limit(sort(index customer_name))",
            "index customer_pkey",
            "limit(index order_customer backward)",
            "index order_line_pkey",
        ]
    );
    assert_eq!(
        shapes("tpcc", "delivery"),
        [
            "limit(lock(index new_order_pkey))",
            "delete new_order(index new_order_pkey)",
            "update orders(index orders_pkey)",
            "update order_line(index order_line_pkey)",
            "update customer(index customer_pkey)",
        ]
    );
    assert_eq!(
        shapes("tatp", "get_new_destination"),
        ["index special_facility_pkey", "index call_forwarding_pkey"]
    );
    assert_eq!(shapes("tatp", "update_location"), ["update subscriber(index subscriber_number)"]);
    assert_eq!(shapes("ycsb", "scan_records"), ["limit(index usertable_pkey)"]);
}

/// The planner knows the workload's sizes: ten lines per order, three customers per name.
#[test]
fn estimates_are_those_of_full_tables() {
    let found = std::cell::RefCell::new(Vec::new());
    planned("tpcc", |statement, plan| {
        plan.root.walk(&mut |node| {
            if let (Operator::IndexScan(scan), "delivery" | "order_status") =
                (&node.operator, &*statement.procedure)
            {
                found.borrow_mut().push((scan.index.clone(), node.estimate.rows));
            }
        });
    });
    let found = found.into_inner();
    for expected in [("order_line_pkey", 10), ("customer_name", 3), ("customer_pkey", 1)] {
        assert!(found.contains(&(expected.0.to_owned(), expected.1)), "{expected:?} in {found:?}");
    }
}

#[test]
fn postgresql_gives_the_same_plans_again() {
    for name in WORKLOADS {
        let workload = workload(name);
        let made = folder::make(&path(name), &workload, &ServerChoice::Private);
        let made = match made {
            Err(FolderError::Collect(error)) => support::unless_absent(Err(error)),
            Err(error) => panic!("{error}"),
            Ok(made) => Some(made),
        };
        let Some(made) = made else { return };
        let changes = folder::compare(&path(name), &made.files).expect("the folder can be read");
        assert!(
            changes.is_empty(),
            "PostgreSQL {} plans otherwise; see what `namdb spade plan workloads/{name}` changes: {changes:?}",
            made.server_version
        );
    }
}

/// Detects a statement that has changed since its planning, and one without a plan.
#[test]
fn plans_of_other_statements_are_refused() {
    let workload = workload("smallbank");
    let statements = statements(&workload);
    let mut other = statements[0].clone();
    other.text.push_str(" AND 1 = 1");
    let told = format!("create the plans with `namdb spade plan {}`", path("smallbank").display());
    match folder::open(&path("smallbank"), &[&other]) {
        Err(error @ FolderError::Stale { .. }) => {
            assert!(error.to_string().contains("amalgamate.1.xml"), "{error}");
            assert!(error.to_string().ends_with(&told), "{error}");
        }
        found => panic!("{found:?}"),
    }
    let unknown = EmbeddedStatement { number: 99, ..statements[0].clone() };
    match folder::open(&path("smallbank"), &[&unknown]) {
        Err(error @ FolderError::Missing { .. }) => {
            assert!(error.to_string().ends_with(&told), "{error}");
        }
        found => panic!("{found:?}"),
    }
}

//! Our plans of the shipped workloads access tables as PostgreSQL's plans do.

use planner::{Costs, PlanSource, Statistics, read_folder};
use procedure::operations::{Action, Path};
use procedure::{Procedure, Workload};
use std::path::PathBuf;

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(name)
}

/// The accesses of a procedure: table and path, or change.
fn accesses(workload: &Workload, procedure: &Procedure) -> Vec<String> {
    let line = |operation: &procedure::operations::Operation| {
        let table = &workload.catalog.tables[operation.table];
        let action = match &operation.action {
            Action::Read { path, .. } => match path {
                Path::Key => "by key".to_owned(),
                Path::Lookup(index) => format!("by {}", table.indexes[*index].name),
                Path::Range(index) => {
                    let name = index.map_or("key", |index| &table.indexes[index].name);
                    format!("range of {name}")
                }
                Path::All => "whole".to_owned(),
            },
            Action::Insert { .. } => "insert".to_owned(),
            Action::Update { .. } => "update".to_owned(),
            _ => "other".to_owned(),
        };
        format!("{} {action}", table.name)
    };
    workload.operations(procedure).iter().map(line).collect()
}

#[test]
fn shipped_workloads_are_accessed_as_with_the_plans_of_postgresql() {
    for name in ["tpcc", "tatp", "smallbank", "ycsb"] {
        let read = |source| {
            let read = read_folder(&folder(name), source, &Statistics::default(), Costs::default());
            read.unwrap_or_else(|error| panic!("{error}"))
        };
        let (planned, theirs) = (read(PlanSource::Own), read(PlanSource::PostgreSql));
        for (own, their) in planned.procedures.iter().zip(&theirs.procedures) {
            let (own_accesses, their_accesses) =
                (accesses(&planned, own), accesses(&theirs, their));
            assert_eq!(own_accesses, their_accesses, "{name}: {}", own.routine.name);
        }
    }
}

#[test]
fn a_folder_that_cannot_be_read_is_refused_by_either_way() {
    for source in [PlanSource::Own, PlanSource::PostgreSql] {
        let missing = folder("no such workload");
        let read = read_folder(&missing, source, &Statistics::default(), Costs::default());
        let error = read.expect_err("there is no such folder").to_string();
        assert!(error.contains("schema.sql"), "{error}");
    }
}

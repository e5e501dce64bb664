//! Code is generated from our own plans for as many procedures as from those of PostgreSQL.

use planner::{Costs, Statistics, plan_program};
use procedure::Workload;
use sql::WorkloadFolder;
use std::path::Path;

const FOLDERS: [&str; 7] = [
    "workloads/tpcc",
    "workloads/tatp",
    "workloads/smallbank",
    "workloads/ycsb",
    "crates/sql/codegen/tests/corners",
    "crates/sql/codegen/tests/edges",
    "crates/sql/codegen/tests/shop",
];

#[test]
fn own_plans_leave_no_more_procedures_to_the_executor() {
    for name in FOLDERS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(name);
        let whole = WorkloadFolder::read(&folder).unwrap_or_else(|errors| panic!("{errors}"));
        let own = plan_program(&whole.program, &Statistics::default(), Costs::default());
        let own = own.unwrap_or_else(|error| panic!("{error}"));
        let theirs = Workload::read(&folder).unwrap_or_else(|error| panic!("{error}"));
        let left = codegen::generate(&own, &whole.load).left;
        let left_by_theirs = codegen::generate(&theirs, &whole.load).left.len();
        let reasons: Vec<String> =
            left.iter().map(|(name, why)| format!("{name}: {why}")).collect();
        assert!(left.len() <= left_by_theirs, "{name}: {left_by_theirs}, but {reasons:#?}");
    }
}

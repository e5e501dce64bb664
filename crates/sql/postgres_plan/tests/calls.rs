//! Runs the shipped workloads in PostgreSQL: fills the tables with a few rows, calls each
//! procedure, and compares results and changes with the specification.

#[path = "support/mod.rs"]
mod support;

use postgres_plan::{ServerChoice, run_files};
use std::path::PathBuf;

fn calls(workload: &str) {
    let crate_folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folder = crate_folder.join("../../../workloads").join(workload);
    let calls = crate_folder.join("tests/calls").join(format!("{workload}.sql"));
    let files = [folder.join("schema.sql"), folder.join("procedures.sql"), calls];
    support::unless_absent(run_files(&files, &ServerChoice::Private));
}

#[test]
fn tpcc_does_what_it_says() {
    calls("tpcc");
}

#[test]
fn tatp_does_what_it_says() {
    calls("tatp");
}

#[test]
fn smallbank_does_what_it_says() {
    calls("smallbank");
}

#[test]
fn ycsb_does_what_it_says() {
    calls("ycsb");
}

/// Errors that PostgreSQL reports do fail the tests above.
#[test]
fn a_failing_call_is_reported_with_its_file() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests");
    let files = [folder.join("nodes/schema.sql"), folder.join("calls/ycsb.sql")];
    match run_files(&files, &ServerChoice::Private) {
        Err(error @ postgres_plan::CollectError::Refused { .. }) => {
            let message = error.to_string();
            assert!(message.contains("ycsb.sql:3: ERROR:"), "{message}");
        }
        other => assert!(support::unless_absent(other).is_none(), "there is no such table"),
    }
}

//! The shipped workloads with fewer rows per unit of scale, so that tests are fast.

use sql::{Program, Source, WorkloadFolder};
use std::path::PathBuf;

/// Texts in `workload.toml` with their replacements.
fn replacements(workload: &str) -> &'static [(&'static str, &'static str)] {
    match workload {
        "smallbank" => &[("100000 * units", "1000 * units"), ("4000 * units", "40 * units")],
        "tatp" => &[("100000 * units", "1000 * units")],
        "ycsb" => &[("100000 * units", "1000 * units"), ("frequency = 0", "frequency = 20")],
        // Per district 120 customers and orders, with the last 36 orders open; 1,000 items.
        "tpcc" => &[
            ("100_000", "1_000"),
            ("100000", "1000"),
            ("100001", "1001"),
            ("300000", "12000"),
            ("30000", "1200"),
            ("3000", "120"),
            ("3001", "121"),
            ("2101", "85"),
            ("[0, 999]", "[0, 39]"),
            ("below = 1001", "below = 41"),
        ],
        _ => &[],
    }
}

/// The path of a workload: shipped, or of the tests of generated code.
pub fn path(workload: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..");
    match workload {
        "corners" | "edges" | "shop" => root.join("crates/sql/codegen/tests").join(workload),
        shipped => root.join("workloads").join(shipped),
    }
}

/// A workload, with fewer rows if it is a shipped one.
pub fn small(workload: &str) -> WorkloadFolder {
    let folder = path(workload);
    let read = |name: &str| {
        std::fs::read_to_string(folder.join(name)).expect("the workload has three files")
    };
    let program = Program::read(&folder).unwrap_or_else(|error| panic!("{error}"));
    let mut text = read("workload.toml");
    for (from, to) in replacements(workload) {
        assert!(text.contains(from), "{workload} has no {from} any more");
        text = text.replace(from, to);
    }
    let load = sql::read_load(&Source::new("workload.toml", &text), &program);
    let load = load.unwrap_or_else(|error| panic!("{error}"));
    WorkloadFolder { load, program, checks: Program::default() }
}

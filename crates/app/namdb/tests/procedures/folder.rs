//! Copies of the shipped workloads with fewer rows, but the same procedures and plans, so that
//! generated code matches them.

use std::fs;
use std::path::{Path, PathBuf};

/// Texts of `workload.toml` and their replacements.
fn replacements(workload: &str) -> &'static [(&'static str, &'static str)] {
    match workload {
        "smallbank" => &[("100000 * units", "1000 * units"), ("4000 * units", "40 * units")],
        "tatp" => &[("100000 * units", "1000 * units"), ("units = 10", "units = 1")],
        // 120 customers and orders for each district, and 1,000 items.
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
            ("units = 10", "units = 1"),
        ],
        _ => &[],
    }
}

/// Writes the copy into this test's scratch folder, replacing an earlier copy.
pub fn small(workload: &str, scratch: &Path) -> PathBuf {
    let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(workload);
    let to = scratch.join(workload);
    fs::create_dir_all(to.join("plans")).expect("the folder can be made");
    for name in ["schema.sql", "procedures.sql"] {
        fs::copy(from.join(name), to.join(name)).expect("the workload has it");
    }
    for plan in fs::read_dir(from.join("plans")).expect("the workload has plans") {
        let plan = plan.expect("it can be read");
        fs::copy(plan.path(), to.join("plans").join(plan.file_name())).expect("there is room");
    }
    let mut text = fs::read_to_string(from.join("workload.toml")).expect("the workload has it");
    for (what, instead) in replacements(workload) {
        assert!(text.contains(what), "{workload} has no {what} any more");
        text = text.replace(what, instead);
    }
    fs::write(to.join("workload.toml"), text).expect("there is room");
    to
}

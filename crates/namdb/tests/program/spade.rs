//! `namdb spade plan`: shipped plans are up to date, and what is wrong with a workload is told.

use crate::support::{namdb, temporary, text};
use serde_json::Value;
use std::path::Path;

fn shipped(workload: &str) -> String {
    format!("{}/../../workloads/{workload}", env!("CARGO_MANIFEST_DIR"))
}

/// Whether there is a PostgreSQL, which there has to be where everything is tested.
fn is_installed(output: &std::process::Output) -> bool {
    let told = text(&output.stderr);
    let absent = told.contains("of PostgreSQL cannot be found");
    if absent {
        assert!(std::env::var_os("NAMDB_CI").is_none(), "{told}");
        println!("skipped: {told}");
    }
    !absent
}

#[test]
fn shipped_plans_are_up_to_date() {
    let output = namdb(&format!("spade plan {} --check --json -", shipped("smallbank")));
    if !is_installed(&output) {
        return;
    }
    let report: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    assert_eq!(output.status.code(), Some(0), "{report:#}");
    let count = report["statements"].as_array().expect("it is a list").len();
    assert_eq!(report["same"], count);
    assert_eq!(report["statements"][0]["file"], "amalgamate.1.xml");
    assert!(text(&output.stderr).contains("plans by PostgreSQL"));
}

#[test]
fn plans_are_made_compared_and_made_again() {
    let folder = temporary("spade-plan");
    let name = folder.display().to_string();
    std::fs::create_dir(&folder).expect("there is a place for temporary files");
    for file in ["schema.sql", "procedures.sql", "workload.toml"] {
        let from = Path::new(&shipped("smallbank")).join(file);
        std::fs::copy(from, folder.join(file)).expect("the file is shipped");
    }
    let plan = |options: &str| namdb(&format!("spade plan {name} {options}"));
    let missing = plan("--check");
    if is_installed(&missing) {
        let told = text(&missing.stdout);
        assert_eq!(missing.status.code(), Some(1), "{told}");
        assert!(told.contains("missing: plans/balance.1.xml"), "{told}");
        assert!(!folder.join("plans").exists(), "a check writes nothing");

        assert_eq!(plan("").status.code(), Some(0));
        assert_eq!(plan("--check").status.code(), Some(0));

        let plans = folder.join("plans");
        std::fs::write(plans.join("balance.1.xml"), "<explain/>").expect("the folder is ours");
        std::fs::write(plans.join("gone.1.xml"), "<explain/>").expect("the folder is ours");
        let told = text(&plan("--check").stdout);
        assert!(told.contains("other than stored: plans/balance.1.xml"), "{told}");
        assert!(told.contains("of no statement: plans/gone.1.xml"), "{told}");
        let told = text(&plan("").stdout);
        assert!(told.contains("changed: plans/balance.1.xml"), "{told}");
        assert!(!plans.join("gone.1.xml").exists());

        let table = "\nCREATE TABLE savings (customer_id integer);\n";
        let schema = folder.join("schema.sql");
        let text_of_schema = std::fs::read_to_string(&schema).expect("it was copied");
        std::fs::write(&schema, text_of_schema + table).expect("the folder is ours");
        assert_eq!(plan("").status.code(), Some(2), "there are two tables of a name");
    }
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let address = "postgresql://nobody@127.0.0.1:1/none";
    let output = namdb(&format!("spade plan {} --server {address}", shipped("smallbank")));
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    if is_installed(&output) {
        assert!(told.contains("PostgreSQL refuses a database of its own"), "{told}");
    }
}

#[test]
fn a_folder_that_is_no_workload_is_told() {
    let output = namdb("spade plan /nonexistent");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/nonexistent/schema.sql"), "{}", text(&output.stderr));
}

/// A design to start from is written once, and what does not fit is told before anything is loaded.
#[test]
fn designs_are_written_changed_and_refused() {
    let file = temporary("design.json");
    let (workload, name) = (shipped("smallbank"), file.display().to_string());
    let written = namdb(&format!("spade design {workload} --out {name}"));
    assert_eq!(written.status.code(), Some(0), "{}", text(&written.stderr));
    let printed = namdb(&format!("spade design {workload}"));
    let design = std::fs::read_to_string(&file).expect("it was written");
    assert_eq!(text(&printed.stdout), design);
    let twice = namdb(&format!("spade design {workload} --out {name}"));
    assert_eq!(twice.status.code(), Some(2), "a file that was changed by hand stays");

    let run = |design: &str| {
        std::fs::write(&file, design).expect("the file is ours");
        namdb(&format!(
            "bench {workload} --units 1 --threads 1 --seconds 0.2 --warm-up 0 --memory 1G --design {name} --json -"
        ))
    };
    let report = run(&design);
    let report: Value = serde_json::from_slice(&report.stdout).expect("the output is JSON");
    assert_eq!(report["options"]["design"], format!("design {name}"), "{report:#}");
    let refused = run(&design.replace("\"hash-inlined\"", "\"tree\""));
    let told = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(told.contains("is a tree, whose keys have no dense placement"), "{told}");
    std::fs::remove_file(&file).expect("the file is ours");
}

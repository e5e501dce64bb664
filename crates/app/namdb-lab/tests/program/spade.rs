//! `namdb spade plan`: the shipped plans are up to date, and errors in a workload are reported.

use crate::support::{namdb, temporary, text};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn shipped(workload: &str) -> String {
    format!("{}/../../../workloads/{workload}", env!("CARGO_MANIFEST_DIR"))
}

/// Whether PostgreSQL is installed, which it must be if all tests are required.
fn is_installed(output: &std::process::Output) -> bool {
    let told = text(&output.stderr);
    let absent = told.contains("are neither in the path nor in");
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
        assert!(told.contains("outdated: plans/balance.1.xml"), "{told}");
        assert!(told.contains("without statement: plans/gone.1.xml"), "{told}");
        let told = text(&plan("").stdout);
        assert!(told.contains("changed: plans/balance.1.xml"), "{told}");
        assert!(!plans.join("gone.1.xml").exists());
        let marked = std::fs::read_to_string(plans.join("balance.1.xml")).expect("it is there");
        std::fs::write(plans.join("balance.1.xml"), format!("\u{feff}{marked}"))
            .expect("it is ours");
        assert_eq!(
            namdb(&format!("spade design {name}")).status.code(),
            Some(0),
            "a mark is no part of it"
        );

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
        assert!(told.contains("PostgreSQL refuses a new database"), "{told}");
    }
}

#[test]
fn a_folder_that_is_no_workload_is_told() {
    let output = namdb("spade plan /nonexistent");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/nonexistent/schema.sql"), "{}", text(&output.stderr));
}

/// The default design is written once, and a design that does not match is rejected before anything
/// is loaded.
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
    let told = text(&twice.stderr);
    assert!(told.contains("choose another file, or remove it"), "{told}");

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

/// Cargo's view of the project in a folder, without network access.
fn cargo_tree(folder: &Path) -> std::process::Output {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "--prefix", "none", "--edges", "normal", "--manifest-path"]);
    cargo.arg(folder.join("Cargo.toml")).output().expect("tests are built by cargo")
}

/// Cargo accepts the written project, and files other than the code belong to the user from then
/// on.
#[test]
fn a_project_for_generated_code_is_written_once_and_its_code_anew() {
    let workload = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sql/codegen/tests/edges");
    let folder = temporary("project");
    let place = folder.display();
    let generate = |options: &str| {
        let output = namdb(&format!("spade generate {workload} --crate {place} {options}"));
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let (code, told) = generate("--check");
    assert_eq!((code, folder.exists()), (Some(1), false), "{told}");
    assert!(told.contains(&format!("missing: {place}/Cargo.toml")), "{told}");
    let (code, told) = generate("");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains(&format!("{place}/target/release/edges bench {workload}")), "{told}");
    let left: Vec<&str> = told.lines().filter(|line| line.contains("left to the exec")).collect();
    let has_place = |line: &&str| line.contains(&format!("({workload}/procedures.sql:"));
    assert!(!left.is_empty() && left.iter().all(has_place), "{told}");
    let tree = cargo_tree(&folder);
    assert!(tree.status.success(), "{}", text(&tree.stderr));
    let used = text(&tree.stdout);
    for name in ["edges v0.1.0", "namdb v", "procedure_runtime v", "txn v", "clap v"] {
        assert!(used.lines().any(|line| line.starts_with(name)), "{name} in {used}");
    }

    let (main, module) = (folder.join("src/main.rs"), folder.join("src/edges/mod.rs"));
    std::fs::write(&main, "fn main() {}\n").expect("it is ours");
    let (code, told) = generate("--check");
    assert_eq!(code, Some(0), "{told}");
    std::fs::write(&module, "//! Workload `edges`, of yesterday\n").expect("it is ours");
    let (code, told) = generate("--check");
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains(&format!("spade generate {workload} --crate {place}")), "{told}");
    let (code, told) = generate("");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains(&format!("yours, unchanged: {place}/src/main.rs")), "{told}");
    assert_eq!(std::fs::read_to_string(&main).expect("it is there"), "fn main() {}\n");
    assert!(std::fs::read_to_string(&module).expect("it is there").contains("FINGERPRINT"));
    // A second workload in it gets a module, which its owner must declare in the library.
    let ledger = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sql/interpreter/tests/ledger");
    let told = text(&namdb(&format!("spade generate {ledger} --crate {place}")).stdout);
    assert!(told.contains("does not declare the code yet: add `pub mod ledger;`"), "{told}");
    assert!(folder.join("src/ledger/mod.rs").exists());
    std::fs::remove_dir_all(&folder).expect("it is ours");

    for (options, expected) in [
        ("--namdb /nowhere", "/nowhere is not a checkout of namdb"),
        ("--into elsewhere", "cannot be used with"),
    ] {
        let (code, told) = generate(options);
        assert_eq!((code, folder.exists()), (Some(2), false), "{told}");
        assert!(told.contains(expected), "{told}");
    }
}

//! `namdb spade tune`: designs of shipped workloads from shipped measurements, and errors.

use crate::support::{namdb, temporary, text};
use serde_json::Value;

fn shipped(workload: &str) -> String {
    format!("{}/../../../workloads/{workload}", env!("CARGO_MANIFEST_DIR"))
}

fn measured() -> String {
    format!("{}/../../spade/spade/measurements/connectx3-fdr.json", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_shipped_workload_is_tuned_into_its_shipped_design() {
    let folder = temporary("spade-tune");
    std::fs::create_dir(&folder).expect("there is a place for temporary files");
    let (design, page) = (folder.join("design.json"), folder.join("report.html"));
    let output = namdb(&format!(
        "spade tune {} --measurements {} --out {} --html {} --json -",
        shipped("smallbank"),
        measured(),
        design.display(),
        page.display()
    ));
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    assert_eq!(report["workload"], "smallbank");
    assert_eq!(report["tables"][0]["candidates"][0]["verdict"], "chosen");
    let kept = std::fs::read_to_string(&design).expect("it was written");
    let expected = format!("{}/designs/connectx3-fdr.json", shipped("smallbank"));
    let expected = std::fs::read_to_string(expected).expect("it is shipped");
    let parts = |text: &str| {
        let value: Value = serde_json::from_str(text).expect("it is JSON");
        ["workload", "tables", "procedures"].map(|key| value[key].clone())
    };
    assert_eq!(parts(&kept), parts(&expected));
    let page = std::fs::read_to_string(&page).expect("it was written");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("</svg>"));
    for part in ["tuned in ", "Partitions", "customer_id", "bottleneck"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

#[test]
fn a_file_that_is_named_twice_is_refused() {
    let file = temporary("named-twice");
    let name = file.display();
    let output = namdb(&format!(
        "spade tune {} --measurements {} --out {name} --html {name}",
        shipped("smallbank"),
        measured()
    ));
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("--out and --html both name"), "{told}");
    assert!(!file.exists(), "nothing was written");
}

/// An edited design is kept unless --force is given; a design as tuning wrote it does not count as
/// edited.
#[test]
fn a_design_that_was_changed_by_hand_stays() {
    let file = temporary("changed-design.json");
    let tune = |options: &str| {
        let output = namdb(&format!(
            "spade tune {} --measurements {} --out {} {options}",
            shipped("smallbank"),
            measured(),
            file.display()
        ));
        (output.status.code(), text(&output.stderr))
    };
    assert_eq!(tune("").0, Some(0), "there was no file");
    assert_eq!(tune("--machines 2").0, Some(0), "it is as tuning wrote it");
    let written = std::fs::read_to_string(&file).expect("it was written");
    let changed = written.replacen("\"versions_beside\": ", "\"versions_beside\":  1", 1);
    let changed = changed.replacen("\"versions_beside\":  11", "\"versions_beside\": 2", 1);
    assert_ne!(changed, written);
    std::fs::write(&file, &changed).expect("the file is ours");
    let (code, told) = tune("");
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("was edited") && told.contains("--force"), "{told}");
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), changed);
    assert_eq!(tune("--force").0, Some(0));
    assert_ne!(std::fs::read_to_string(&file).expect("it is there"), changed);
    std::fs::write(&file, "a list of things to buy").expect("the file is ours");
    let (code, told) = tune("");
    assert!(code == Some(2) && told.contains("is not a design"), "{told}");
    std::fs::remove_file(&file).expect("the file is ours");
}

/// A design tuned for other units than the folder's says so, and is used for these units.
#[test]
fn a_design_for_other_units_is_taken_for_these() {
    let (design, workload) = (temporary("one-unit.json"), shipped("tatp"));
    let (file, measured) = (design.display(), measured());
    let output = namdb(&format!(
        "spade tune {workload} --measurements {measured} --units 1 --out {file} --json -"
    ));
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let tuned: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    let forecast = |units: u32| -> Value {
        let output = namdb(&format!(
            "spade forecast {workload} --measurements {measured} --units {units} --design {file} --json -"
        ));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("the output is JSON")
    };
    assert_eq!(forecast(1)[0]["forecast"]["forecast"], tuned["forecast"]);
    assert_eq!(forecast(3)[0]["forecast"]["units"], 3);
    let run = namdb(&format!("bench {workload} --units 1 --design {file} --seconds 0.2"));
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let written = std::fs::read_to_string(&design).expect("it was written");
    let none = written.replacen("\"units\": 1,", "\"units\": 0,", 1);
    std::fs::write(&design, none).expect("the file is ours");
    let run = namdb(&format!("bench {workload} --units 1 --design {file} --seconds 0.2"));
    let told = text(&run.stderr);
    assert!(run.status.code() == Some(2) && told.contains("the design has units 0;"), "{told}");
    std::fs::remove_file(&design).expect("the file is ours");
}

#[test]
fn designs_are_forecast_side_by_side() {
    let (tuned, measured) = (format!("{}/designs/connectx3-fdr.json", shipped("tatp")), measured());
    let command = format!("spade forecast {} --measurements {measured}", shipped("tatp"));
    let output = namdb(&format!("{command} --design {tuned} --default-design --json -"));
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let parts =
        ["  A  ", "  B  the default design", "bottleneck", "Tables that differ", "Warnings"];
    for part in parts.into_iter().chain(["old versions: 1 beside, kept"]) {
        assert!(told.contains(part), "{part} in {told}");
    }
    let entries: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    assert_eq!(entries[0]["design"], tuned);
    let rate = |at: usize| entries[at]["forecast"]["forecast"]["transactions_per_s"][1].as_f64();
    let (tuned_rate, usual) = (rate(0).expect("a number"), rate(1).expect("a number"));
    let change = format!("({:+.1} %)", 100.0 * (usual / tuned_rate - 1.0));
    assert!(usual < tuned_rate && told.contains(&change), "{change} in {told}");
    let alone = namdb(&format!("{command} --design {tuned}"));
    let told = text(&alone.stdout);
    assert!(told.contains("\nTables\n") && told.contains("index subscriber_number: "), "{told}");
    assert!(!told.contains("  B  "), "{told}");
    for (options, expected) in [
        ("", "no design is given; give a file with --design"),
        ("--design /nowhere/d.json", "cannot read /nowhere/d.json"),
        (&*format!("--design {measured}"), "cannot read the design"),
        (
            &*format!("--design {}/designs/connectx3-fdr.json", shipped("tpcc")),
            "it is for workload tpcc, but this is tatp",
        ),
        (&*format!("--design {tuned} ").repeat(9), "9 designs are given, but at most 8"),
    ] {
        let output = namdb(&format!("{command} {options}"));
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options}: {told}");
        assert!(told.contains(expected), "{expected} in {told}");
    }
}

/// A design that cannot be built is not forecast; the error names its file.
#[test]
fn designs_that_cannot_be_built_are_not_forecast() {
    let file = temporary("not-built.json");
    let name = file.display().to_string();
    let design =
        std::fs::read_to_string(format!("{}/designs/connectx3-fdr.json", shipped("smallbank")));
    let mut design: Value =
        serde_json::from_str(&design.expect("it is shipped")).expect("it is JSON");
    let usual = design.clone();
    let refused = |design: &Value, expected: &str| {
        std::fs::write(&file, design.to_string()).expect("there is room");
        let rest =
            format!("{} --measurements {} --design {name}", shipped("smallbank"), measured());
        for command in ["forecast", "verify"] {
            let output = namdb(&format!("spade {command} {rest}"));
            let told = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command}: {told}");
            assert!(told.contains(expected) && told.contains(&name), "{command}: {told}");
        }
    };
    design["tables"][0]["neighbourhood"] = 0.into();
    refused(&design, "1 to 32");
    design.clone_from(&usual);
    design["tables"][0]["partition"] =
        serde_json::json!({ "by": { "columns": [], "group": "customer" } });
    refused(&design, "by no column;");
    design.clone_from(&usual);
    let twice = design["procedures"][0].clone();
    design["procedures"].as_array_mut().expect("a list").push(twice);
    refused(&design, "twice");
    std::fs::write(&file, format!("\u{feff}{usual}")).expect("there is room");
    let rest = format!("{} --measurements {} --design {name}", shipped("smallbank"), measured());
    let marked = namdb(&format!("spade forecast {rest}"));
    assert_eq!(marked.status.code(), Some(0), "a byte order mark is no part of it");
    std::fs::remove_file(&file).expect("it is ours");
}

#[test]
fn what_cannot_be_tuned_is_told_with_what_to_do() {
    let refused = |options: &str| {
        let output = namdb(&format!("spade tune {} {options}", shipped("tatp")));
        assert_eq!(output.status.code(), Some(2), "{options}");
        text(&output.stderr)
    };
    let told = refused("--measurements /nowhere/m.json");
    assert!(
        told.contains("the file /nowhere/m.json does not exist; measure the cluster with"),
        "{told}"
    );
    let told = refused(&format!("--measurements {} --profile connectx9", measured()));
    assert!(told.contains("there is no such profile; choose from connectx3-fdr"), "{told}");
    let told = refused(&format!("--measurements {} --profile connectx6-200g", measured()));
    let sentence = "nothing was measured on connectx6-200g, only on connectx3-fdr";
    assert!(told.contains(sentence), "{told}");
    let told = refused(&format!("--measurements {} --memory-budget 1MiB", measured()));
    assert!(told.contains("the smallest design needs"), "{told}");
    assert!(refused("--memory-budget lots").contains("is not a size"));
    let told = refused(&format!("--measurements {}/workload.toml", shipped("tatp")));
    assert!(told.contains("these are not measurements"), "{told}");
    for (option, expected) in [
        ("--html -", "--html needs a file; `-`, standard output, is for --json only"),
        ("--out -", "--out needs a file"),
        (&*format!("--html {}/schema.sql", shipped("tatp")), "exists and is not a page"),
        (&*format!("--json {}/schema.sql", shipped("tatp")), "exists and is not a JSON"),
    ] {
        let told = refused(&format!("--measurements {} {option}", measured()));
        assert!(told.contains(expected), "{expected} in {told}");
    }
}

//! `namdb spade verify`: a small workload is built on a simulated cluster and stands beside its forecast.

use crate::support::{namdb, temporary, text};
use serde_json::Value;
use std::path::Path;

fn shipped(workload: &str) -> String {
    format!("{}/../../workloads/{workload}", env!("CARGO_MANIFEST_DIR"))
}

fn measured() -> String {
    format!("{}/../spade/measurements/connectx3-fdr-4.json", env!("CARGO_MANIFEST_DIR"))
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("there is a place for temporary files");
    for entry in std::fs::read_dir(from).expect("it is there") {
        let entry = entry.expect("it can be read");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("it has a type").is_dir() {
            true => copy(&entry.path(), &target),
            false => _ = std::fs::copy(entry.path(), target).expect("there is room"),
        }
    }
}

#[test]
fn a_design_is_measured_beside_its_forecast() {
    let folder = temporary("spade-verify");
    copy(Path::new(&shipped("smallbank")), &folder);
    let load = folder.join("workload.toml");
    let words = std::fs::read_to_string(&load).expect("it is there");
    std::fs::write(&load, words.replace("100000 * units", "6000 * units")).expect("it is ours");
    let (path, design) = (folder.display(), folder.join("tuned.json"));
    let options = format!("--measurements {} --machines 4", measured());
    let output = namdb(&format!("spade tune {path} {options} --out {}", design.display()));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output =
        namdb(&format!("spade verify {path} {options} --design {} --json -", design.display()));
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    for part in ["calls a second", "on 4 machines of connectx3-fdr (simulated", "send_payment"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let found: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    let number = |path: &str| found.pointer(path).and_then(Value::as_f64).expect("it is there");
    let (forecast, measured) =
        (number("/forecast/forecast/transactions_per_s/1"), number("/measured/calls_per_s"));
    assert!((number("/throughput_error") - (forecast / measured - 1.0)).abs() < 1e-9);
    assert!(number("/measured/calls") > 1_000.0);
    assert_eq!(found.pointer("/measured/procedures/5/procedure"), Some(&"write_check".into()));
    assert!(number("/measured/procedures/5/alone_ns") > 1_000.0);
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

/// A folder without generated code, with a table that has no primary key and is read as a whole, on fewer lanes than were measured.
#[test]
fn a_folder_of_ones_own_is_built_and_measured() {
    let ledger = concat!(env!("CARGO_MANIFEST_DIR"), "/../execute/tests/ledger");
    let options = format!("--measurements {} --machines 2 --lanes 2", measured());
    let output = namdb(&format!("spade verify {ledger} {options} --json -"));
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("on 2 machines") && told.contains("2 lanes each"), "{told}");
    let found: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    let procedures = found["measured"]["procedures"].as_array().expect("a list");
    let calls = |at: usize| procedures[at]["calls"].as_u64().expect("a number");
    assert_eq!((procedures.len(), &procedures[0]["procedure"]), (5, &"pay".into()));
    assert!(calls(0) > calls(4), "half of the calls pay, few forget: {procedures:#?}");
}

#[test]
fn what_cannot_be_built_is_told() {
    let refused = |options: &str| {
        let output = namdb(&format!("spade verify {} {options}", shipped("smallbank")));
        assert_eq!(output.status.code(), Some(2), "{options}");
        text(&output.stderr)
    };
    let told = refused("--measurements /nowhere/m.json");
    assert!(told.contains("there is no file /nowhere/m.json; measure the cluster with"), "{told}");
    let told = refused(&format!("--measurements {} --machines 500", measured()));
    assert!(told.contains("a cluster has 2 to 50 machines"), "{told}");
}

//! `namdb spade verify`: a small workload is built on a cluster, simulated or real, and compared
//! with its forecast.

use crate::cluster::Cluster;
use crate::owners::shipped as shipped_bank;
use crate::support::{namdb, number, temporary, text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn shipped(workload: &str) -> String {
    format!("{}/../../../workloads/{workload}", env!("CARGO_MANIFEST_DIR"))
}

fn measured() -> String {
    format!("{}/../../spade/spade/measurements/connectx3-fdr-4.json", env!("CARGO_MANIFEST_DIR"))
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
    for part in ["calls per second", "on 4 machines of connectx3-fdr (simulated", "send_payment"] {
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

/// A folder without generated code, with a table without a primary key that is read as a whole, on
/// fewer lanes than measured.
#[test]
fn a_folder_of_ones_own_is_built_and_measured() {
    let ledger = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sql/interpreter/tests/ledger");
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

/// Measurements as of a cluster over this fabric, with few lanes; their times are invented. With
/// shared memory, all rows are local.
fn measured_over(fabric: &str) -> PathBuf {
    let file = std::fs::read_to_string(measured()).expect("it is shipped");
    let mut table: Value = serde_json::from_str(&file).expect("it is JSON");
    let is_shm = fabric == "shm";
    for (key, value) in [
        ("fabric", json!(fabric)),
        ("machines", json!(2)),
        ("threads", json!(if is_shm { 2 } else { 1 })),
        ("lanes", json!(if is_shm { 2 } else { 4 })),
    ] {
        table["same"][format!("parameters.world.{key}")] = value;
    }
    let mut columns = table["columns"].as_array().expect("a list").iter();
    let place = columns.position(|name| name == "parameters.place").expect("it is a column");
    let rows = table["rows"].as_array_mut().expect("a list");
    rows.retain(|row| !is_shm || row[place] != "one-sided");
    let path = temporary(&format!("measured-over-{fabric}.json"));
    std::fs::write(&path, table.to_string()).expect("there is room");
    path
}

/// A design with shipped procedures is built on two memory servers, called by both compute servers
/// and then by one lane alone, and compared with its forecast.
fn is_measured_over(fabric: &str) {
    let test = format!("verify-{fabric}");
    let options = format!("--fabric {fabric} --memory-servers 2 --compute-servers 2 --memory 64M");
    let cluster = Cluster::up(&test, &options);
    let (folder, measurements) = (shipped_bank(&test), measured_over(fabric));
    let command = format!(
        "spade verify {} --measurements {} --seconds 1.5",
        folder.display(),
        measurements.display()
    );
    let output = cluster.run(&format!("{command} --json -"));
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let found: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    let number = |path: &str| number(&found, path);
    let machines = if fabric == "shm" { 1.0 } else { 2.0 };
    assert_eq!(number("/forecast/machines"), machines);
    assert_eq!(found["measured"]["place"], fabric);
    assert_eq!(found["measured"]["busiest"], Value::Null);
    assert!(number("/measured/calls") > 100.0 && number("/measured/calls_per_s") > 50.0, "{told}");
    for percent in ["remote", "shipped"] {
        let percent = number(&format!("/measured/{percent}_percent"));
        assert!((6.0..14.0).contains(&percent), "{told}");
    }
    for procedure in found["measured"]["procedures"].as_array().expect("a list") {
        let time = |key: &str| procedure[key].as_f64().expect("there were such calls");
        assert!(time("alone_ns") > 0.0 && time("loaded_ns") > 0.0, "{procedure}");
        assert!(procedure["traffic"][0].as_f64() > Some(1.0), "{procedure}");
    }
    let (forecast, measured) =
        (number("/forecast/forecast/transactions_per_s/1"), number("/measured/calls_per_s"));
    assert!((number("/throughput_error") - (forecast / measured - 1.0)).abs() < 1e-9);
    assert!(number("/latency_error").is_finite());
    for part in ["calls per second", "executed by the owners of these", "cannot be observed"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let again = cluster.run(&command);
    assert_eq!(again.status.code(), Some(2), "the tables are there");
    assert!(text(&again.stderr).contains("--fresh"), "{}", text(&again.stderr));
    let again = cluster.run(&format!("{command} --fresh --remote-calls 0"));
    let told = text(&again.stdout);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert!(told.contains("; 0 of 100 arrived at another machine"), "{told}");
    for (options, sentence) in refused_over(fabric, &measurements) {
        let refused = cluster.run(&format!("spade verify {} --fresh {options}", folder.display()));
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(sentence), "{sentence} in {said}");
    }
    let elsewhere = namdb(&command);
    let said = text(&elsewhere.stderr);
    assert_eq!(elsewhere.status.code(), Some(2), "{said}");
    assert!(said.contains(&format!("of a cluster over {fabric}; give its file")), "{said}");
    std::fs::remove_file(measurements).expect("it is ours");
}

/// Options that no cluster over this fabric supports, with their errors.
fn refused_over(fabric: &str, own: &Path) -> Vec<(String, &'static str)> {
    let own = format!("--measurements {}", own.display());
    let simulated = format!("--measurements {}", measured());
    let mut refused = vec![(simulated, "of sim, but the fabric of the cluster")];
    if fabric == "tcp" {
        refused.push((format!("{own} --machines 3"), "the cluster has 2 memory servers"));
        refused.push((format!("{own} --lanes 40"), "take fewer --threads or --lanes"));
    }
    refused
}

#[test]
fn a_design_is_measured_on_a_cluster_over_shared_memory() {
    is_measured_over("shm");
}

#[test]
fn a_design_is_measured_on_a_cluster_over_messages() {
    is_measured_over("tcp");
}

#[test]
fn what_cannot_be_built_is_told() {
    let refused = |options: &str| {
        let output = namdb(&format!("spade verify {} {options}", shipped("smallbank")));
        assert_eq!(output.status.code(), Some(2), "{options}");
        text(&output.stderr)
    };
    let told = refused("--measurements /nowhere/m.json");
    assert!(
        told.contains("the file /nowhere/m.json does not exist; measure the cluster with"),
        "{told}"
    );
    let told = refused(&format!("--measurements {} --machines 500", measured()));
    assert!(told.contains("a cluster has 2 to 50 machines"), "{told}");
    let told = refused(&format!("--measurements {} --units 1000000", measured()));
    assert!(
        told.contains("the workload needs about ") && told.contains("make it smaller"),
        "{told}"
    );
    let bench =
        namdb(&format!("bench {} --profile connectx3-fdr --units 1000000", shipped("smallbank")));
    let told = text(&bench.stderr);
    assert_eq!(bench.status.code(), Some(2), "{told}");
    assert!(
        told.contains("the workload needs about ") && told.contains("make it smaller"),
        "{told}"
    );
}

//! Designs that replicate a table, on clusters and on databases with several memory servers: each
//! server has all of it.

use super::cluster::Cluster;
use super::parts::{assert_sound, partitioned};
use super::support::{namdb, number, text};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// A small variant of TPC-C with partitioned warehouses and replicated items.
fn copied(test: &str) -> PathBuf {
    let folder = partitioned("tpcc", test, &[("warehouse", "w_id"), ("stock", "s_w_id")]);
    let file = folder.join("design.json");
    let read = fs::read(&file).expect("it was written");
    let mut design: Value = serde_json::from_slice(&read).expect("it is JSON");
    let tables = design["tables"].as_array_mut().expect("a list");
    let item = tables.iter_mut().find(|table| table["table"] == "item").expect("it is there");
    item["partition"] = json!("replicated");
    fs::write(file, design.to_string()).expect("there is room");
    folder
}

/// The entry of a table in a list.
fn of<'a>(tables: &'a Value, name: &str) -> &'a Value {
    let all = tables.as_array().expect("a list");
    let is_it = |table: &&Value| table["table"] == name || table["name"] == name;
    all.iter().find(is_it).unwrap_or_else(|| panic!("{name} is missing in {tables:#}"))
}

/// One program creates the copies; others find them, read the nearest one, and check that all are
/// equal.
fn are_made_on(fabric: &str) {
    let options = format!("--fabric {fabric} --memory-servers 2 --memory 384M");
    let cluster = Cluster::up(&format!("copies-{fabric}"), &options);
    let folder = copied(&format!("copies-{fabric}"));
    let folder = folder.display();
    let made = cluster.report(&format!("spade apply {folder} --units 2 --threads 1"));
    assert_eq!(made["notes"], json!([]), "the engine does all that the design says");
    let (item, stock) = (of(&made["tables"], "item"), of(&made["tables"], "stock"));
    assert_eq!((&item["parts"], &item["copies"]), (&json!(1), &json!(2)), "{made:#}");
    assert_eq!((&stock["parts"], &stock["copies"]), (&json!(2), &json!(1)), "{made:#}");
    // Each warehouse has each item once, and the rows of a replicated table are counted once.
    assert_eq!(number(stock, "/rows"), 2.0 * number(item, "/rows"), "{made:#}");
    let status = cluster.report("status");
    assert_eq!(of(&status["tables"], "item")["copies"], 2, "{status:#}");
    let shown = text(&cluster.run("status").stdout);
    assert!(shown.lines().any(|line| line.contains(" item ") && line.ends_with("in 2 copies")));
    for code in ["", "--code plans", "--isolation serializable"] {
        let bench = format!(
            "bench {folder} --units 2 --threads 1 --lanes 4 --seconds 0.3 --warm-up 0.1 --loaded {code}"
        );
        assert_sound(&cluster.report(&bench));
    }
    let fresh = format!("bench {folder} --units 2 --threads 2 --seconds 0.3 --warm-up 0 --fresh");
    assert_sound(&cluster.report(&fresh));
}

#[test]
fn copies_are_made_on_a_cluster_of_two_memory_servers() {
    are_made_on("tcp");
}

#[test]
fn copies_are_made_on_two_memory_servers_of_one_host() {
    are_made_on("shm");
}

#[test]
fn copies_are_made_in_one_process() {
    let folder = copied("copies-local");
    let output = namdb(&format!(
        "bench {} --units 3 --servers 3 --threads 1 --seconds 0.3 --warm-up 0 --memory 1G --json -",
        folder.display()
    ));
    let told = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 5)), "{told}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_sound(&report);
    let item = "/memory/after_load/per_table/item";
    assert_eq!(number(&report, &format!("{item}/copies")), 3.0, "{report:#}");
    let rows = number(&report, &format!("{item}/rows"));
    assert_eq!(number(&report, "/memory/after_load/per_table/stock/rows"), 3.0 * rows);
    assert!(told.lines().any(|line| line.starts_with("  item x 3 ")), "{told}");
    assert!(told.lines().all(|line| line.len() <= 80), "too long for a terminal:\n{told}");
}

//! Designs that partition tables, on clusters and on databases with several memory servers: one
//! program creates the parts, others find, use and check them.

use super::cluster::Cluster;
use super::folder::small;
use super::support::{namdb, number, text};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A small variant of a shipped workload with a `design.json` that partitions tables by these
/// columns.
pub fn partitioned(workload: &str, test: &str, by: &[(&str, &str)]) -> PathBuf {
    let folder = small(workload, &Path::new(env!("CARGO_TARGET_TMPDIR")).join(test));
    let output = namdb(&format!("spade design {}", folder.display()));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut design: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    for table in design["tables"].as_array_mut().expect("a list") {
        let name = table["table"].as_str().expect("a name").to_owned();
        if let Some((_, column)) = by.iter().find(|(of, _)| *of == name) {
            table["partition"] = json!({"by": {"columns": [column], "group": workload}});
        }
    }
    fs::write(folder.join("design.json"), design.to_string()).expect("there is room");
    folder
}

fn warehouses(test: &str) -> PathBuf {
    let by = [
        ("warehouse", "w_id"),
        ("district", "d_w_id"),
        ("customer", "c_w_id"),
        ("orders", "o_w_id"),
        ("new_order", "no_w_id"),
        ("order_line", "ol_w_id"),
        ("stock", "s_w_id"),
    ];
    partitioned("tpcc", test, &by)
}

/// The number of parts of each table.
fn parts(tables: &Value) -> Vec<(&str, u64)> {
    let of = |table: &Value, key: &str| table[key].as_u64().expect("a number");
    let tables = tables.as_array().expect("a list").iter();
    let named = tables.map(|table| (table.get("table").unwrap_or(&table["name"]), table));
    named.map(|(name, table)| (name.as_str().expect("a name"), of(table, "parts"))).collect()
}

pub fn assert_sound(report: &Value) {
    assert!(number(report, "/txn_per_s") > 0.0, "{report:#}");
    let checks = report["checks"].as_array().expect("a list");
    let damaged = checks.iter().find(|check| check["ok"] != true && check["is_rate"] != true);
    assert_eq!(damaged, None, "{report:#}");
    let structures = checks.last().expect("there is one").to_string();
    assert!(structures.contains("every table and index is well formed"), "{structures}");
}

/// One program creates partitioned tables, and others find and use them.
#[test]
fn partitions_are_made_on_a_cluster_of_two_memory_servers() {
    let cluster = Cluster::up("parts", "--fabric tcp --memory-servers 2 --memory 384M");
    let folder = warehouses("parts-tcp");
    let folder = folder.display();
    let apply = format!("spade apply {folder} --units 2 --threads 1");
    let made = cluster.report(&apply);
    assert_eq!(made["notes"], json!([]), "the engine does all that the design says");
    let expected = [
        ("warehouse", 2),
        ("district", 2),
        ("customer", 2),
        // Rows have hidden keys, and their hash selects the server.
        ("history", 2),
        ("orders", 2),
        ("new_order", 2),
        ("order_line", 2),
        // The table is not partitioned: its buckets are on both servers anyway.
        ("item", 1),
        ("stock", 2),
    ];
    assert_eq!(parts(&made["tables"]), expected, "{made:#}");
    let status = cluster.report("status");
    let shown = parts(&status["tables"]);
    assert_eq!(shown.len(), expected.len() + 1, "and the system's: {status:#}");
    assert!(expected.iter().all(|of| shown.contains(of)), "{status:#}");
    let used = [0, 1].map(|at| number(&status, &format!("/servers/{at}/used_bytes")));
    assert!(used[0] < 2.0 * used[1] && used[1] < 2.0 * used[0], "both have half: {used:?}");

    let bench =
        format!("bench {folder} --units 2 --threads 1 --lanes 4 --seconds 0.5 --warm-up 0.1");
    assert_sound(&cluster.report(&format!("{bench} --loaded")));
    let again = cluster.run(&apply);
    let told = text(&again.stderr);
    assert_eq!(again.status.code(), Some(2), "the tables are there");
    assert!(told.contains("table warehouse exists") && told.contains("--fresh"), "{told}");
    let report = cluster.report(&format!("{bench} --loaded --code plans"));
    assert_sound(&report);
    // The rows of the earlier run are counted first.
    assert!(report["checks"].to_string().contains("rows of orders add up"), "{report:#}");
}

#[test]
fn partitions_are_made_in_one_process() {
    let folder = warehouses("parts-local");
    let output = namdb(&format!(
        "bench {} --units 3 --servers 3 --threads 1 --seconds 0.3 --warm-up 0 --memory 1G --json -",
        folder.display()
    ));
    let told = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 5)), "{told}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_sound(&report);
    for (table, parts) in [("order_line", 3.0), ("stock", 3.0), ("item", 1.0)] {
        let path = format!("/memory/after_load/per_table/{table}/parts");
        assert_eq!(number(&report, &path), parts, "{report:#}");
    }
    let shown = |line: &str| told.lines().any(|told| told.starts_with(line));
    assert!(shown("  order_line in 3 ") && shown("  item "), "{told}");
    assert!(told.lines().all(|line| line.len() <= 80), "too long for a terminal:\n{told}");
}

//! A database in a directory: runs that keep their data, and the tools for its files.

use super::support::{namdb, temporary, text};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A folder of its own for a test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = temporary(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ok(arguments: &str) -> String {
    let output = namdb(arguments);
    assert!(output.status.success(), "{arguments}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn refused(arguments: &str) -> String {
    let output = namdb(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments}: {}", text(&output.stdout));
    text(&output.stderr)
}

const RUN: &str = "--threads 2 --seconds 0.3 --warm-up 0 --memory 256M";

#[test]
fn a_benchmark_keeps_its_tables_for_the_next_one() {
    let folder = Folder::new("kept");
    let data = folder.path("data");
    let bench = format!("bench smallbank --records 500 {RUN} --data {data}");
    let report = ok(&format!("{bench} --json -"));
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let directory = &report["directory"];
    assert!(directory["groups"].as_u64().is_some_and(|groups| groups > 0), "{directory}");
    assert!(directory["txn_per_group"].as_f64().is_some_and(|txns| txns > 0.0), "{directory}");
    assert!(refused(&bench).contains("--fresh"), "the tables exist");
    ok(&format!("{bench} --fresh --durability periodic=5"));
    let verified = ok(&format!("verify {data} --memory 256M --json -"));
    let verified: Value = serde_json::from_str(&verified).expect("JSON");
    assert!(verified["rows"].as_u64().is_some_and(|rows| rows >= 1000), "{verified}");
    assert_eq!(verified["faults"], Value::Array(Vec::new()));
}

#[test]
fn levels_and_directories_that_make_no_sense_are_refused() {
    let bench = "bench ycsb --records 100 --seconds 0.1";
    assert!(refused(&format!("{bench} --durability none")).contains("needs --data DIR"));
    assert!(refused(&format!("{bench} --fresh")).contains("--cluster, or --data DIR"));
    let wrong = refused(&format!("{bench} --data x --durability often"));
    assert!(wrong.contains("synchronous, periodic, periodic=MS or none"), "{wrong}");
    let missing = refused(&format!("{bench} --data /nowhere/at/all --memory 64M"));
    assert!(missing.contains("its parent must exist"), "{missing}");
    for tool in ["verify /nowhere", "inspect /nowhere", "backup /nowhere /tmp/x"] {
        let refused = refused(tool);
        assert!(refused.contains("/nowhere") && !refused.contains("parent"), "{tool}: {refused}");
    }
}

#[test]
fn a_copy_has_what_the_original_has() {
    let folder = Folder::new("copied");
    let (data, copy, back) = (folder.path("data"), folder.path("copy"), folder.path("back"));
    ok(&format!("bench ycsb --records 2000 {RUN} --data {data} --durability periodic"));
    let inspected = |path: &str| -> Value {
        serde_json::from_str(&ok(&format!("inspect {path} --json -"))).expect("JSON")
    };
    assert!(ok(&format!("backup {data} {copy}")).contains("1 table"));
    assert!(refused(&format!("backup {data} {copy}")).contains("choose an empty directory"));
    ok(&format!("restore {copy} {back}"));
    let (original, restored) = (inspected(&data), inspected(&back));
    assert_eq!(original["database"], restored["database"]);
    assert_eq!(original["segments"], restored["segments"]);
    assert_eq!(original["segments"][0]["state"], "closed");
    let told = ok(&format!("inspect {back} --groups"));
    assert!(told.contains("usertable") && told.contains("bytes of entries"), "{told}");
    assert!(ok(&format!("verify {back} --memory 256M")).contains("2,000 rows"));
    assert!(refused(&format!("inspect {}", folder.0.display())).contains("has no database"));

    let segment = Path::new(&back).join("redo-0000000001.log");
    let mut bytes = std::fs::read(&segment).expect("the log has a segment");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&segment, bytes).expect("the test owns it");
    for tool in ["verify", "inspect"] {
        let told = refused(&format!("{tool} {back}"));
        assert!(told.contains("redo-0000000001.log` is damaged at byte"), "{tool}: {told}");
    }
    let bench = format!("bench ycsb --records 2000 {RUN}");
    let opened = refused(&format!("{bench} --loaded --data {back}"));
    assert!(opened.contains("is damaged at byte") && opened.contains("accept"), "{opened}");
    let accepted = namdb(&format!("{bench} --fresh --accept-loss --data {back}"));
    let told = text(&accepted.stderr);
    assert!(told.contains("accepted: commits behind group"), "{told}");
}

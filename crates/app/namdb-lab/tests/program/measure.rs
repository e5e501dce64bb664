//! `namdb spade measure`: points are kept and found again, however the earlier run ended.

use crate::support::{namdb, temporary, text};
use serde_json::Value;
use std::path::Path;

fn measure(file: &Path, options: &str) -> std::process::Output {
    namdb(&format!("spade measure --quick --file {} {options}", file.display()))
}

#[test]
fn a_simulated_run_that_is_ended_goes_on_to_the_same_bytes() {
    const CLUSTER: &str = "--profile connectx3-fdr --machines 2 --lanes 1";
    let (whole, parts) = (temporary("measured-whole"), temporary("measured-parts"));
    let output = measure(&whole, CLUSTER);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}{}", text(&output.stderr));
    assert!(told.contains("sim (connectx3-fdr): machines 2, threads of each 16"), "{told}");
    assert!(told.contains("one-sided") && told.contains("hash-outside, primary"), "{told}");
    assert!(told.lines().all(|line| line.len() <= 120), "{told}");

    let begun = measure(&parts, &format!("{CLUSTER} --seconds 0.2"));
    let told = text(&begun.stdout);
    assert_eq!(begun.status.code(), Some(3), "{told}");
    assert!(told.contains("are missing: run the same command again"), "{told}");
    let ended = measure(&parts, CLUSTER);
    assert_eq!(ended.status.code(), Some(0));
    let read = |path: &Path| std::fs::read_to_string(path).expect("it was written");
    assert_eq!(read(&whole), read(&parts));

    let table = temporary("measured-table");
    let again = measure(&whole, &format!("{CLUSTER} --json - --table {}", table.display()));
    let told = text(&again.stderr);
    assert!(told.contains(" has 0 points more than the "), "nothing is measured twice: {told}");
    let json: Value = serde_json::from_slice(&again.stdout).expect("the output is JSON");
    assert_eq!(json["format"], 1);
    assert_eq!(json["points"][0]["parameters"]["world"]["machines"], 2);
    assert!(read(&table).contains("\"columns\":[") && read(&table).len() * 2 < read(&whole).len());
    [whole, parts, table].iter().for_each(|path| std::fs::remove_file(path).expect("it is ours"));
}

#[test]
fn this_process_is_measured_locally_and_by_calls() {
    let file = temporary("measured-local");
    let output = measure(&file, "--threads 1 --seconds 4 --json -");
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "four seconds are not enough: {told}");
    let json: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    let points = json["points"].as_array().expect("it is a list");
    let one = |place: &str| {
        let is_it = |point: &&Value| {
            let parameters = &point["parameters"];
            parameters["place"] == place && parameters["operation"] == "lookup"
        };
        points.iter().find(is_it).unwrap_or_else(|| panic!("no {place} lookup: {told}"))
    };
    let calls = |place: &str| one(place)["measured"]["service"]["calls"].as_f64();
    assert_eq!((calls("local"), calls("shipped")), (Some(0.0), Some(1.0)));
    let local = &one("local")["measured"];
    assert!(local["loaded"]["operations_per_s"]["median"].as_f64() > Some(1000.0), "{local}");
    assert!(local["service"]["requester"]["core_ns"].as_f64() > Some(10.0), "{local}");
    std::fs::remove_file(file).expect("it is ours");
}

#[test]
fn what_cannot_be_measured_is_refused_with_a_sentence() {
    let file = temporary("measured-nothing");
    let refused = |options: &str| {
        let output = measure(&file, options);
        assert_eq!(output.status.code(), Some(2), "{options}");
        assert!(!file.exists(), "{options} leaves no file");
        text(&output.stderr)
    };
    let unknown = refused("--profile token-ring");
    assert!(unknown.contains("choose from connectx3-fdr, connect-ib-2xfdr"), "{unknown}");
    let one = refused("--profile connectx3-fdr --machines 1");
    assert!(one.contains("a cluster has 2 to 200 machines, not \"1\""), "{one}");
    let backwards = refused("--profile connectx3-fdr --machines 50..5");
    assert!(backwards.contains("use 5..50"), "{backwards}");
    let lanes = refused("--lanes 4");
    assert!(lanes.contains("--lanes needs --profile or --cluster"), "{lanes}");
    let both = refused("--profile connectx3-fdr --cluster namdb.toml");
    assert!(both.contains("cannot be used with"), "{both}");
}

#[test]
fn a_file_of_something_else_is_not_touched() {
    let file = temporary("measured-letter");
    std::fs::write(&file, "a letter").expect("there is room");
    let output = measure(&file, "--profile connectx3-fdr");
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("cannot be continued") && told.contains("name another file"), "{told}");
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "a letter");
    std::fs::remove_file(file).expect("it is ours");
}

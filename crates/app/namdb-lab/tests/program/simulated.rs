//! `namdb bench --profile`: any workload on a simulated cluster.

use crate::support::{namdb, number, text};
use serde_json::Value;

const TATP: &str = "../../../workloads/tatp";

fn report(arguments: &str) -> Value {
    let output = namdb(&format!("bench {arguments} --json -"));
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {told}");
    assert!(told.contains("The database is consistent"), "{told}");
    assert!(told.lines().all(|line| line.len() <= 80), "too long for a terminal:\n{told}");
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

#[test]
fn the_same_again_is_the_same_and_all_checks_hold() {
    let run = || report("bank --records 100 --profile connectx3-fdr --machines 2 --lanes 4");
    let report = run();
    assert_eq!(report, run(), "time is virtual, and everything follows from the seed");
    for (pointer, value) in
        [("/workload", "bank"), ("/fabric", "sim"), ("/hardware", "connectx3-fdr")]
    {
        assert_eq!(report.pointer(pointer), Some(&Value::from(value)));
    }
    assert_eq!((number(&report, "/machines"), number(&report, "/lanes_each")), (2.0, 4.0));
    let checks = report["checks"].as_array().expect("a list");
    assert!(checks.len() >= 2 && checks.iter().all(|check| check["ok"] == true), "{checks:?}");
    assert!(number(&report, "/aborts/write_conflict") > 0.0, "eight lanes on 100 accounts");
    let transfer = "/per_type/transfer";
    let [alone, median, tail] = ["alone_p50_us", "p50_us", "p99_us"]
        .map(|quantile| number(&report, &format!("{transfer}/{quantile}")));
    assert!(1.0 < alone && alone < median && median < tail, "{alone} {median} {tail}");
}

#[test]
fn folders_are_stored_and_carried_out_as_their_designs_say() {
    let run = |design: &str| {
        let design = format!("{TATP}/designs/{design}.json");
        let options = "--units 1 --profile connectx3-fdr --machines 2 --lanes 4 --remote-calls 0";
        report(&format!("{TATP} --design {design} {options}"))
    };
    let report = run("connectx3-fdr");
    assert!(report["checks"].as_array().is_some_and(|checks| checks.len() > 6));
    // Partitioned by subscriber: a routed call uses no card for its row.
    let alone_us = number(&report, "/per_type/get_access_data/alone_p50_us");
    assert!(alone_us < 1.0, "{alone_us} us");
}

#[test]
fn what_cannot_be_is_told() {
    for (options, expected) in [
        ("bank --profile connectx9", "connectx9"),
        ("bank --profile connectx3-fdr --machines 1", "2..=50"),
        ("bank --profile connectx3-fdr --lanes 60", "1 to 48 lanes"),
        ("bank --profile connectx3-fdr --threads 2", "--threads"),
        ("bank --machines 4", "--profile"),
        ("bank --cluster namdb.toml --remote-calls 5", "--remote-calls needs a workload folder"),
        ("../../../workloads/tatp --remote-calls 5", "--remote-calls needs --cluster or"),
        ("../../../workloads/tatp --remote-calls 5x", "or `anywhere`"),
        (
            "../../../workloads/tatp --profile connectx3-fdr --remote-calls anywhere",
            "--remote-calls must be a number",
        ),
        ("bank --lanes 4", "--lanes needs --cluster or --profile"),
        ("../../../workloads/tatp --machines 4", "not provided:\n  --profile <NAME>"),
    ] {
        let output = namdb(&format!("bench {options}"));
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options}: {told}");
        assert!(told.contains(expected), "{expected} in {told}");
    }
}

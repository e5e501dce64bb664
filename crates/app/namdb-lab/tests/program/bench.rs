//! `namdb bench`: reports, limits, and runs that end early.

use crate::support::{bench, namdb, number, signalled, temporary, text};
use serde_json::Value;
use std::process::Command;

#[test]
fn the_report_has_everything_a_comparison_needs() {
    let report = bench("ycsb --records 2000 --record-bytes 100 --servers 2 --threads 2");
    for (pointer, value) in [
        ("/workload", "ycsb"),
        ("/fabric", "local"),
        ("/isolation", "snapshot"),
        ("/oracle", "double-collect"),
    ] {
        assert_eq!(report.pointer(pointer), Some(&Value::from(value)));
    }
    assert_eq!((number(&report, "/threads"), number(&report, "/servers")), (2.0, 2.0));
    assert_eq!(number(&report, "/options/records"), 2000.0);
    assert_eq!(number(&report, "/options/record_bytes"), 100.0);
    assert_eq!(report.pointer("/options/workload"), Some(&Value::from("A")));
    assert_eq!(number(&report, "/seed"), 1.0);
    let seconds = number(&report, "/seconds");
    assert!((0.29..3.0).contains(&seconds), "{seconds} s instead of 0.3");
    for pointer in [
        "/cpu_seconds",
        "/txn_per_s",
        "/per_type/read/per_s",
        "/per_type/read/count",
        "/per_type/read/p50_us",
        "/per_type/read/verbs",
        "/per_type/read/bytes",
        "/memory/raw_bytes",
        "/memory/per_table/usertable/used_bytes",
    ] {
        assert!(number(&report, pointer) > 0.0, "{pointer}");
    }
    let quantiles = ["p50_us", "p99_us", "p999_us", "max_us"]
        .map(|quantile| number(&report, &format!("/per_type/update/{quantile}")));
    assert!(quantiles.is_sorted(), "{quantiles:?}");
    // A read takes one round trip, and a further one if it meets a row that is being written.
    let round_trips = number(&report, "/per_type/read/round_trips");
    assert!((1.0..1.1).contains(&round_trips), "{round_trips} round trips for a read");
    for field in ["raw_bytes", "used_bytes", "per_table/usertable/rows"] {
        assert!(number(&report, &format!("/memory/after_load/{field}")) > 0.0, "{field}");
    }
    for field in ["given_up", "unknown"] {
        assert_eq!(number(&report, &format!("/per_type/update/{field}")), 0.0, "{field}");
    }
    let used = number(&report, "/memory/used_bytes");
    assert!(used > number(&report, "/memory/raw_bytes"));
    let checks = report["checks"].as_array().expect("a list");
    assert!(checks.len() >= 4 && checks.iter().all(|check| check["ok"] == true));
    assert!(checks.iter().all(|check| check["name"].is_string() && check["detail"].is_string()));
    assert!(report["aborts"].is_object() && report["machine"].is_string());
    assert!(report["commit"].is_string());
}

#[test]
fn every_workload_runs_under_both_isolation_levels_and_oracles() {
    for world in ["--isolation serializable --threads 2", "--oracle frozen --threads 1"] {
        for workload in [
            "bank --records 100",
            "append --recorded 2000",
            "smallbank --records 1000",
            "tatp --subscribers 2000",
            "ycsb --workload E --records 500 --record-bytes 50",
            "ycsb --ops-per-txn 4 --read-share 50 --uniform --records 500",
        ] {
            let report = bench(&format!("{workload} {world}"));
            assert!(number(&report, "/committed") > 0.0, "{workload} {world}");
        }
    }
}

#[test]
fn tpcc_reports_its_own_figure() {
    let report = bench("tpcc --warehouses 2 --distribution 50 --threads 2");
    assert!(number(&report, "/new_order_per_s") > 0.0);
    assert_eq!(number(&report, "/options/warehouses"), 2.0);
    assert_eq!(report["per_type"].as_object().map(serde_json::Map::len), Some(5));
    // All twelve conditions; the eleventh is checked before the run.
    let checks = report["checks"].as_array().expect("a list");
    for condition in 1..=12 {
        let said = |check: &&Value| {
            let name = check["name"].as_str().expect("a sentence");
            name.contains(&format!("condition {condition}:"))
                && name.starts_with("after the load") == (condition == 11)
        };
        assert_eq!(checks.iter().filter(said).count(), 1, "condition {condition}");
    }
}

/// Failures by the specification's rules are neither commits nor aborts, and the report has both
/// rates.
#[test]
fn tatp_tells_attempted_transactions_from_successful_ones() {
    let report = bench("tatp --subscribers 2000 --threads 2");
    assert_eq!(report["per_type"].as_object().map(serde_json::Map::len), Some(7));
    let (committed, failed) = (number(&report, "/committed"), number(&report, "/rolled_back"));
    let (successful, attempted) =
        (number(&report, "/txn_per_s"), number(&report, "/attempted_per_s"));
    assert!(failed > 0.0 && successful > 0.0);
    let seconds = number(&report, "/seconds");
    assert!((attempted - (committed + failed) / seconds).abs() < 1e-3 * attempted, "{attempted}");
    for always in ["get_subscriber_data", "update_location"] {
        assert_eq!(number(&report, &format!("/per_type/{always}/rolled_back")), 0.0);
    }
    assert_eq!(report["checks"].as_array().map(Vec::len), Some(10));
}

#[test]
fn aborts_are_told_by_type_and_reason() {
    let report = bench("smallbank --records 100 --hot 2 --threads 2 --isolation serializable");
    let by_type = report["per_type"].as_object().expect("a map").values();
    let reasons = by_type.flat_map(|kind| kind["aborts"].as_object().expect("a map").values());
    let sum: f64 = reasons.map(|count| count.as_f64().expect("a number")).sum();
    let all = report["aborts"].as_object().expect("a map").values();
    assert_eq!(sum, all.map(|count| count.as_f64().expect("a number")).sum::<f64>());
}

/// Memory runs out in the measured time or before it: the measurements so far are reported, and the
/// exit code says that they are incomplete.
#[test]
fn a_run_that_fills_the_memory_says_so() {
    let path = temporary("full.json");
    for (warm_up, sentence) in [("0", "MEMORY RAN OUT after"), ("60", "RAN OUT before anything")] {
        let output = namdb(&format!(
            "bench ycsb --workload D --records 1000 --memory 48M --seconds 60 --threads 1 \
             --warm-up {warm_up} --json {}",
            path.display()
        ));
        let drawn = text(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{drawn}{}", text(&output.stderr));
        assert!(drawn.contains(sentence) && !drawn.contains("FAIL"), "{drawn}");
        let report: Value =
            serde_json::from_slice(&std::fs::read(&path).expect("written")).expect("JSON");
        assert_eq!(report["is_out_of_memory"], true);
        assert_eq!(report["is_interrupted"], false);
        assert!(number(&report, "/seconds") < 50.0);
        assert_eq!(number(&report, "/committed") > 0.0, warm_up == "0");
        // The check commits a row, and whether the remaining memory suffices depends on the load's
        // extents.
        let problem = report.pointer("/problems/0").and_then(Value::as_str);
        assert!(problem.is_none_or(|problem| problem.contains("out_of_memory")), "{drawn}");
        assert_eq!(drawn.contains("NOT DONE"), problem.is_some(), "{drawn}");
    }
    std::fs::remove_file(path).expect("ours");
}

/// The limit of `ulimit -v` bounds the memory servers, or is named as the missing resource.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_address_space_is_kept_to() {
    let limited = |kibibytes: u32| {
        let program = env!("CARGO_BIN_EXE_namdb-lab");
        let run = "bench bank --records 10 --seconds 0.1 --warm-up 0 --threads 1";
        let script = format!("ulimit -v {kibibytes}; exec {program} {run}");
        Command::new("sh").args(["-c", &script]).output().expect("there is a shell")
    };
    let output = limited(2 << 20);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = limited(550 << 10);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("MiB are available; make it smaller"), "{errors}");
}

#[test]
fn a_rate_limits_the_transactions_and_leaves_the_processors_time() {
    let output = namdb("bench bank --seconds 1 --threads 2 --rate 500 --memory 256M --json -");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!((400.0..550.0).contains(&number(&report, "/txn_per_s")), "{report}");
    assert!(number(&report, "/cpu_seconds") < 0.5, "{report}");
    assert!(text(&output.stderr).contains("at most 500 transactions per second"));
    assert!(!text(&output.stderr).contains("other programs used the processors"));
}

/// Signals end a run early, and the measurements so far are reported.
#[cfg(unix)]
#[test]
fn an_interrupted_run_still_reports() {
    use rustix::process::Signal;
    for (signal, warm_up) in [(Signal::INT, "0.05"), (Signal::TERM, "0.05"), (Signal::HUP, "600")] {
        let path = temporary("interrupted.json");
        let arguments = format!(
            "bench bank --records 100 --seconds 600 --threads 1 --warm-up {warm_up} --memory 256M \
             --json {}",
            path.display()
        );
        let sentence = if warm_up == "600" { "warming up" } else { "s left" };
        let output = signalled(&arguments, sentence, signal);
        let drawn = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{drawn}{}", text(&output.stderr));
        let report: Value =
            serde_json::from_slice(&std::fs::read(&path).expect("written")).expect("JSON");
        assert_eq!(report["is_interrupted"], true);
        let seconds = number(&report, "/seconds");
        if warm_up == "600" {
            // All transactions are in the database, although none is measured, so the checks must
            // count them.
            assert!(drawn.contains("ended before anything was measured"), "{drawn}");
            assert!(drawn.contains("The database is consistent"), "{drawn}");
            assert_eq!(seconds, 0.0);
        } else {
            assert!(drawn.contains("ended early by the user"), "{drawn}");
            assert!((0.1..60.0).contains(&seconds), "{seconds}");
        }
        std::fs::remove_file(path).expect("ours");
    }
}

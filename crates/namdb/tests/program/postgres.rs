//! `namdb bench DIR --postgres`.

use super::folder::small;
use super::support::{namdb, number, temporary, text};
use serde_json::Value;
use std::path::Path;

/// Runs it for a moment; none where there is no PostgreSQL.
fn beside(workload: &str, options: &str) -> Option<(String, Value)> {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("beside-{workload}"));
    let folder = small(workload, &scratch);
    let json = temporary(&format!("beside-{workload}.json"));
    let output = namdb(&format!(
        "bench {} --postgres --threads 2 --warm-up 0.2 --memory 1G --json {} {options}",
        folder.display(),
        json.display()
    ));
    let errors = text(&output.stderr);
    if output.status.code() == Some(2) && errors.contains("apt-get install postgresql") {
        assert!(std::env::var_os("NAMDB_CI").is_none(), "{errors}");
        println!("skipped: {errors}");
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let report = std::fs::read_to_string(&json).expect("the report was written");
    std::fs::remove_file(&json).expect("the report is ours");
    Some((text(&output.stdout), serde_json::from_str(&report).expect("the report is JSON")))
}

#[test]
fn subscribers_are_the_same_in_postgresql() {
    let Some((drawn, report)) = beside("tatp", "--seconds 0.5") else { return };
    assert!(drawn.contains("Beside PostgreSQL") && drawn.contains("namdb commits"), "{drawn}");
    assert!(drawn.lines().all(|line| line.len() <= 80), "too wide for a terminal:\n{drawn}");
    let theirs = &report["postgresql"];
    assert_eq!(
        (&theirs["isolation"], number(theirs, "/clients")),
        (&"repeatable read".into(), 2.0)
    );
    assert!(number(theirs, "/load/rows") > 5_000.0 && number(theirs, "/txn_per_s") > 0.0);
    assert_eq!(number(theirs, "/failed"), 0.0, "{theirs:#}");
    // Of what changes something, by the specification, more than half ends by rule: 3.5 in 100 of all.
    for side in [theirs, &report["namdb"]] {
        let (committed, rolled_back) = (number(side, "/committed"), number(side, "/rolled_back"));
        let share = rolled_back / (committed + rolled_back);
        assert!((0.02..0.06).contains(&share), "{share} of {side:#}");
    }
    let shares = [theirs, &report["namdb"]].map(|side| {
        number(side, "/per_type/get_subscriber_data/count")
            / number(side, "/attempted_per_s")
            / number(side, "/seconds")
    });
    assert!(shares.iter().all(|share| (0.25..0.45).contains(share)), "{shares:?}");
    let ratio = number(&report, "/namdb/txn_per_s") / number(theirs, "/txn_per_s");
    assert!((number(&report, "/ratio") - ratio).abs() < 1e-6 * ratio);
}

/// Two clients on one warehouse: some calls lose, and are tried again. Orders have arrays, payments decimals.
#[test]
fn orders_are_the_same_in_postgresql() {
    let Some((_, report)) = beside("tpcc", "--clients 3 --seconds 2") else { return };
    let theirs = &report["postgresql"];
    assert_eq!((number(theirs, "/clients"), number(theirs, "/failed")), (3.0, 0.0), "{theirs:#}");
    for kind in ["new_order", "payment"] {
        assert!(number(theirs, &format!("/per_type/{kind}/count")) > 0.0, "{theirs:#}");
    }
    assert!(number(theirs, "/retries") > 0.0, "{theirs:#}");
}

#[test]
fn a_comparison_at_a_rate_or_on_a_cluster_is_refused() {
    for option in ["--rate 100", "--cluster nowhere.toml"] {
        let output = namdb(&format!("bench {} --postgres {option}", shipped()));
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option}: {errors}");
    }
}

fn shipped() -> String {
    format!("{}/../../workloads/smallbank", env!("CARGO_MANIFEST_DIR"))
}

//! `namdb soak`: samples are written at once, and survive a run that ends early.

use crate::support::{namdb, number, signalled, temporary, text};
use serde_json::Value;

/// The samples in a soak's log.
fn logged(path: &std::path::Path) -> Vec<Value> {
    let log = std::fs::read_to_string(path).unwrap_or_default();
    log.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

#[test]
fn a_soak_samples_draws_and_writes() {
    let [json, plot, log] = ["soak.json", "soak.svg", "soak.jsonl"].map(temporary);
    let output = namdb(&format!(
        "soak --minutes 0.03 --sample 0.3 --warehouses 1 --threads 1 --memory 2G \
         --json {} --plot {} --log {}",
        json.display(),
        plot.display(),
        log.display()
    ));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let soak: Value =
        serde_json::from_slice(&std::fs::read(&json).expect("written")).expect("JSON");
    assert_eq!(soak["samples"].as_array().map(Vec::len), Some(6));
    assert_eq!(soak["samples"], Value::from(logged(&log)));
    assert!(number(&soak, "/samples/5/txn_per_s") > 0.0);
    assert!(number(&soak, "/samples/5/buffers_in_use") > 0.0);
    assert!(number(&soak, "/report/committed") > 0.0);
    assert!(text(&output.stdout).contains("version buffers in use"));
    assert!(std::fs::read_to_string(&plot).expect("written").starts_with("<svg"));
    for path in [json, plot, log] {
        std::fs::remove_file(path).expect("ours");
    }
}

/// A soak that is killed leaves the samples taken so far.
#[cfg(unix)]
#[test]
fn a_killed_soak_leaves_its_samples() {
    let [plot, log] = ["killed.svg", "killed.jsonl"].map(temporary);
    let arguments = format!(
        "soak --minutes 10 --sample 0.2 --warehouses 1 --threads 1 --memory 2G --plot {} --log {}",
        plot.display(),
        log.display()
    );
    // The remaining time after the process size belongs to the run, not the load.
    let output = signalled(&arguments, "iB, ", rustix::process::Signal::KILL);
    assert_eq!(output.status.code(), None, "{}", text(&output.stderr));
    let samples = logged(&log);
    assert!(samples.len() > 1, "{samples:?}");
    assert!(samples.iter().all(|sample| number(sample, "/txn_per_s") > 0.0), "{samples:?}");
    assert!(samples.iter().map(|sample| number(sample, "/at_s")).is_sorted(), "{samples:?}");
    assert!(!plot.exists());
    std::fs::remove_file(log).expect("ours");
}

/// The report is printed even if its samples cannot be written.
#[cfg(target_os = "linux")]
#[test]
fn a_soak_bears_a_full_disk() {
    let plot = temporary("full.svg");
    let output = namdb(&format!(
        "soak --minutes 0.01 --warehouses 1 --threads 1 --memory 1G --plot {} --log /dev/full",
        plot.display()
    ));
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("the run goes on") && errors.contains("cannot write /dev/full"));
    assert!(text(&output.stdout).contains("The database is consistent"));
    std::fs::remove_file(plot).expect("ours");
}

/// A soak that ends before its first sample says so and plots nothing.
#[cfg(unix)]
#[test]
fn a_soak_without_samples_says_so() {
    let [plot, log] = ["none.svg", "none.jsonl"].map(temporary);
    let arguments = format!(
        "soak --minutes 10 --sample 600 --warehouses 1 --threads 1 --memory 1G --plot {} --log {}",
        plot.display(),
        log.display()
    );
    let output = signalled(&arguments, "warming up", rustix::process::Signal::INT);
    let drawn = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{drawn}{}", text(&output.stderr));
    assert!(drawn.contains("No sample was taken"), "{drawn}");
    assert!(!plot.exists() && !log.exists());
}

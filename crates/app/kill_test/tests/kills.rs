//! The test itself, with few rounds, and that it can fail.

use std::process::{Command, Output};

fn kill_test(name: &str, arguments: &[&str]) -> Output {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // A failed run before this one has left it there.
    let _ = std::fs::remove_dir_all(&directory);
    let mut command = Command::new(env!("CARGO_BIN_EXE_kill-test"));
    let output = command.arg("--directory").arg(&directory).args(arguments).output();
    let output = output.expect("the program can be started");
    assert_eq!(directory.exists(), !output.status.success(), "only a failure keeps the directory");
    let _ = std::fs::remove_dir_all(&directory);
    output
}

#[test]
fn twenty_kills_lose_nothing() {
    let seed = std::process::id().to_string();
    let output = kill_test("twenty", &["--rounds", "20", "--seed", &seed, "--json"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("the report is JSON");
    let count = |name: &str| report[name].as_u64().unwrap_or(0);
    assert_eq!(count("rounds"), 20);
    assert!(count("reported") > 0 && count("checks") > 0, "{report}");
}

/// Commits are reported before they are on the disk: some kill comes in between.
#[test]
fn early_acknowledgement_is_noticed() {
    let output = kill_test("early", &["--rounds", "100", "--acknowledge-early"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "nothing was noticed");
    assert!(errors.contains("LOST"), "{errors}");
}

#[test]
fn a_directory_that_is_in_use_is_refused() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kill-test"));
    let output = command.args(["--directory", folder]).output().expect("it can be started");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("exists already"), "{errors}");
}

//! Standard output, standard error and files that are closed, full, or used for JSON.

use crate::support::{namdb, temporary, text};
use serde_json::Value;
use std::process::Command;

/// Closed pipes and full disks cause no panic, and the JSON is written all the same.
#[cfg(target_os = "linux")]
#[test]
fn closed_and_full_streams_are_borne() {
    use std::process::Stdio;
    let full = || {
        let options = std::fs::OpenOptions::new().write(true).open("/dev/full");
        Stdio::from(options.expect("Linux has it"))
    };
    // The reader of this pipe is gone.
    let closed = || {
        let (reader, writer) = std::io::pipe().expect("pipes are there");
        drop(reader);
        Stdio::from(writer)
    };
    let path = temporary("streams.json");
    let json = format!("--json {}", path.display());
    for command in [
        format!("bench bank --records 10 --seconds 0.1 --warm-up 0 --memory 128M {json}"),
        format!("trace bank --records 10 --memory 128M {json}"),
        "counts --workload point-read --transactions 10".to_owned(),
    ] {
        let outcomes = [(full(), full(), 2), (full(), closed(), 2), (closed(), full(), 0)];
        for (output, errors, code) in outcomes {
            let status = Command::new(env!("CARGO_BIN_EXE_namdb-lab"))
                .args(command.split_whitespace())
                .stdout(output)
                .stderr(errors)
                .status()
                .expect("the program was built");
            assert_eq!(status.code(), Some(code), "{command}");
            if command.contains("--json") {
                let written = std::fs::read(&path).expect("the JSON comes first");
                serde_json::from_slice::<Value>(&written).expect("JSON");
                std::fs::remove_file(&path).expect("ours");
            }
        }
    }
}

#[test]
fn json_can_take_the_output() {
    for arguments in [
        "bench bank --records 10 --seconds 0.1 --warm-up 0 --memory 128M --json -",
        "trace bank --records 10 --memory 128M --json -",
    ] {
        let output = namdb(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("nothing but JSON");
        assert!(text(&output.stderr).contains("round trip"));
    }
}

#[test]
fn an_early_error_leaves_no_file() {
    let path = temporary("early.json");
    let output = namdb(&format!("bench ycsb --records 1 --json {}", path.display()));
    assert_eq!(output.status.code(), Some(2));
    assert!(!path.exists());
}

/// The report is printed even if its JSON file cannot be written.
#[cfg(target_os = "linux")]
#[test]
fn a_report_survives_its_json() {
    let output =
        namdb("bench bank --records 10 --seconds 0.1 --warm-up 0 --memory 128M --json /dev/full");
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("cannot write /dev/full"), "{errors}");
    assert!(text(&output.stdout).contains("The database is consistent"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_survives_its_history() {
    let output = namdb("bench append --seconds 0.1 --threads 1 --memory 256M --history /dev/full");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot write /dev/full"));
    assert!(text(&output.stdout).contains("transactions committed per second"));
}

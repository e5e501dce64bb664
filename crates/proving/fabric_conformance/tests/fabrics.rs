//! Runs the suite on every fabric, as a program.

use std::process::Command;

fn suite(arguments: &[&str]) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_fabric_conformance"));
    let output = program.args(arguments).output().expect("the program of this crate starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    println!("{text}{errors}");
    assert!(output.status.success(), "suite {}: see above", arguments.join(" "));
}

#[test]
fn local() {
    suite(&["--fabric", "local"]);
}

#[test]
fn sim() {
    suite(&["--fabric", "sim"]);
}

#[test]
fn sim_coherent() {
    suite(&["--fabric", "sim-coherent"]);
}

#[test]
fn sim_serial() {
    suite(&["--fabric", "sim-serial"]);
}

#[test]
fn every_test_fails_without_its_promise() {
    suite(&["--broken"]);
}

#[test]
fn shm() {
    suite(&["--fabric", "shm"]);
}

#[test]
fn tcp() {
    suite(&["--fabric", "tcp"]);
}

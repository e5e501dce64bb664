//! Runs the program and parses its output.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn namdb(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_namdb-lab"));
    command.args(arguments.split_whitespace()).output().expect("the program was built")
}

/// Whether a process exists, and is more than an exit code that nobody has read.
pub fn is_running(process: rustix::process::Pid) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    state.is_ok_and(|state| !state.contains(") Z "))
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program writes UTF-8")
}

/// A file name that only this test run uses.
pub fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("namdb-test-{}-{name}", std::process::id()))
}

pub fn number(report: &Value, pointer: &str) -> f64 {
    let found = report.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {pointer} of {report:#}"))
}

/// The token of a cluster, as its operators get it.
pub fn token(cluster: &Path) -> String {
    let output = namdb(&format!("cluster token --cluster {}", cluster.display()));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}

/// Writes a secret beside a cluster's file.
pub fn write_secret(cluster: &Path) {
    let path = cluster.with_extension("secret");
    let file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(&[b'5'; 64])).expect("room for a file");
}

/// A server's answer at its control address to a holder of the token, including the head.
pub fn get(address: &str, path: &str, token: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!(
        "GET {path} HTTP/1.1\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("it answers");
    page
}

/// Runs a benchmark for a short time and returns its report.
pub fn bench(workload: &str) -> Value {
    let path = temporary(&workload.replace(|letter: char| !letter.is_alphanumeric(), "-"));
    let output = namdb(&format!(
        "bench {workload} --seconds 0.3 --warm-up 0.05 --memory 1G --json {}",
        path.display()
    ));
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{workload}: {errors}");
    let drawn = text(&output.stdout);
    assert!(drawn.contains("The database is consistent"), "{drawn}");
    assert!(
        drawn.lines().all(|line| line.len() <= 80),
        "a line is too long for a terminal:\n{drawn}"
    );
    let report = std::fs::read_to_string(&path).expect("the report was written");
    std::fs::remove_file(&path).expect("the report is ours");
    serde_json::from_str(&report).expect("the report is JSON")
}

/// Starts the program, sends the signal once its progress contains `sentence`, and returns its
/// output.
#[cfg(unix)]
pub fn signalled(arguments: &str, sentence: &str, signal: rustix::process::Signal) -> Output {
    use std::io::BufRead;
    let mut command = Command::new(env!("CARGO_BIN_EXE_namdb-lab"));
    let mut child = command
        .args(arguments.split_whitespace())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program was built");
    let errors = child.stderr.take().expect("it is piped");
    let mut lines = std::io::BufReader::new(errors).lines();
    let said = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(sentence)));
    assert!(said.is_some(), "{arguments} ended without saying {sentence}");
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, signal).expect("it runs");
    let rest: Vec<String> = lines.map(|line| line.expect("UTF-8")).collect();
    let mut output = child.wait_with_output().expect("it was started here");
    output.stderr = rest.join("\n").into_bytes();
    output
}

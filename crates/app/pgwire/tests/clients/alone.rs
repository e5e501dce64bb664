//! A process of its own for a test that measures the memory of its process.

use std::process::{Command, Stdio};

/// Set in such a process.
const ALONE: &str = "NAMDB_TEST_ALONE";

/// Whether this process runs the test called `name` and nothing else. Otherwise runs the test in
/// such a process first, and fails if it fails.
pub fn is_alone(name: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let program = std::env::current_exe().expect("the program has a path");
    let mut alone = Command::new(program);
    alone.args([name, "--exact", "--nocapture"]).env(ALONE, "1").stdin(Stdio::null());
    let ended = alone.output().expect("the program can be started");
    let (out, err) =
        (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    // The program also ends well if it has no test of this name.
    let passed = ended.status.success() && out.contains("test result: ok. 1 passed");
    assert!(passed, "{name} fails in a process of its own:\n{out}\n{err}");
    eprint!("{err}");
    false
}

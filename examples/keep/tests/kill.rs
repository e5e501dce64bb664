//! Every visit that was printed is known after a kill.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn visits_are_there_after_a_kill() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("kept");
    // A failed run before this one has left it there.
    let _ = std::fs::remove_dir_all(&directory);
    for visit in 1..=4 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keep"));
        command.arg(&directory).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it prints a line");
        child.kill().and_then(|()| child.wait()).expect("it can be killed");
        assert!(line.starts_with(&format!("visit {visit};")), "{line:?}");
    }
    std::fs::remove_dir_all(&directory).expect("the program has made it");
}

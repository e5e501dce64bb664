//! `namdb counts`: the same result every time, and progress on terminals only.

use crate::support::{namdb, number, text};
use serde_json::Value;
use std::process::Command;

#[test]
fn counts_are_the_same_every_time() {
    for workload in ["tpcc", "ycsb", "smallbank", "tatp", "point-read"] {
        let arguments = format!("counts --workload {workload} --transactions 200");
        let (first, second) = (namdb(&arguments), namdb(&arguments));
        assert!(first.status.success(), "{}", text(&first.stderr));
        assert_eq!(text(&first.stdout), text(&second.stdout));
        // Instructions for output would be counted, too.
        assert_eq!(text(&first.stderr), "");
        let line: Value = serde_json::from_slice(&first.stdout).expect("one line of JSON");
        assert_eq!((&line["workload"], &line["transactions"]), (&workload.into(), &200.into()));
        let types = line["types"].as_object().expect("a map");
        let count: f64 =
            types.keys().map(|kind| number(&line, &format!("/types/{kind}/count"))).sum();
        assert_eq!(count, 200.0);
        assert!(number(&line, "/round_trips") > 0.0);
    }
}

/// On a terminal, a bar shows the remaining time.
#[cfg(target_os = "linux")]
#[test]
fn counts_show_progress_on_a_terminal() {
    use rustix::pty;
    use std::io::Read;
    let master = pty::openpt(pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY).expect("a pty");
    pty::grantpt(&master).and_then(|()| pty::unlockpt(&master)).expect("it is ours");
    let name = pty::ptsname(&master, Vec::new()).expect("it has a name");
    let mut options = std::fs::OpenOptions::new();
    let name = name.into_string().expect("ASCII");
    let terminal = options.read(true).write(true).open(name).expect("it is unlocked");
    let window = rustix::termios::Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&terminal, window).expect("it is a terminal");
    let mut child = Command::new(env!("CARGO_BIN_EXE_namdb-lab"))
        .args("counts --workload tpcc --transactions 20000".split_whitespace())
        .stdout(std::process::Stdio::null())
        .stderr(terminal)
        .env("TERM", "xterm")
        .spawn()
        .expect("the program was built");
    // Once all writers have closed a terminal, its last reader gets an error instead of an end of
    // file.
    let mut said = Vec::new();
    let _ = std::fs::File::from(master).read_to_end(&mut said);
    assert!(child.wait().expect("it was started here").success());
    let said = text(&said);
    assert!(said.contains("running") && said.contains("s left"), "{said}");
    assert!(said.contains("20,000 transactions ("), "{said}");
}

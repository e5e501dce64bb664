//! Passes the commit from which the program is built, so that every report can print it.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Every commit, checkout and merge adds a line to this log.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    println!("cargo:rustc-env=NAMDB_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}

/// The output of a git command; `None` without git or outside a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

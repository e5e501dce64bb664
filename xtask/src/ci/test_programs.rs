//! Runs the workspace's test programs, which cargo has built, concurrently, since many of their
//! tests wait.
//!
//! Cargo runs one program after another. Three at a time keep two processors busy while tests with
//! processes wait for leases and deadlines.

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::{clock, process};

/// Number of concurrent programs.
const AT_ONCE: usize = 3;
/// The longest ones start first, so that others fill the rest of the time: two that wait, and two
/// that compute.
const FIRST: [&str; 3] = [WAITING, "registry", "protocol"];
/// Tests that start processes and wait for most of their time, so that more of them run at once.
const WAITING: &str = "program";
/// Number of concurrent tests of that program.
const WAITING_THREADS: &str = "4";
/// Time-out of a program.
const TIME_MAX: Duration = Duration::from_secs(600);

/// A test program.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    path: PathBuf,
    /// The folder of its package, which is its working directory.
    folder: PathBuf,
    package: String,
    target: String,
}

/// Builds all test programs of the workspace and runs them; returns their output. The output of
/// each is printed when it ends.
pub fn run(root: &Path, build: &[&str]) -> Result<String> {
    let messages = process::read_output(&mut process::cargo(root, build))?;
    let programs = programs(&messages)?;
    ensure!(!programs.is_empty(), "cargo built no test program");
    let queue = Mutex::new(VecDeque::from(programs));
    let (said, failed) = (Mutex::new(String::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no holder panics").pop_front();
                    let Some(program) = next else { break };
                    let (text, outcome) = run_one(&program);
                    let mut said = said.lock().expect("no holder panics");
                    print!("{text}");
                    said.push_str(&text);
                    if let Err(error) = outcome {
                        failed.lock().expect("no holder panics").push(error);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no holder panics");
    let failed: Vec<String> = failed.iter().map(|error| format!("{error:#}")).collect();
    ensure!(failed.is_empty(), "{}", failed.join("; "));
    Ok(said.into_inner().expect("no holder panics"))
}

/// The programs in cargo's messages, the longest first.
fn programs(messages: &str) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).context("a message of cargo")?;
        let Some(path) = message["executable"].as_str() else { continue };
        if message["profile"]["test"] != Value::Bool(true) {
            continue;
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let manifest = text(&message["manifest_path"]).context("an artifact without a package")?;
        let folder = Path::new(&manifest).parent().context("a manifest without a folder")?;
        let package = folder.file_name().context("a package without a folder")?;
        programs.push(Program {
            path: PathBuf::from(path),
            folder: folder.to_owned(),
            package: package.to_string_lossy().into_owned(),
            target: text(&message["target"]["name"]).context("an artifact without a name")?,
        });
    }
    programs.sort_by_key(|program| {
        FIRST.iter().position(|first| *first == program.target).unwrap_or(FIRST.len())
    });
    Ok(programs)
}

/// Runs a program; returns its output, and whether all its tests passed.
fn run_one(program: &Program) -> (String, Result<()>) {
    let Program { package, target, .. } = program;
    let start = clock::now();
    let (said, ended) = match watch(program) {
        Ok((said, status)) => (said, Ok(status)),
        Err(error) => (String::new(), Err(error)),
    };
    eprintln!("ci:   {package}, {target}: {:.1} s", start.elapsed().as_secs_f64());
    let outcome = ended.and_then(|status| match status {
        Some(status) if status.success() => Ok(()),
        Some(status) => bail!("the tests `{target}` of {package} ended with {status}"),
        None => bail!("the tests `{target}` of {package} took longer than {TIME_MAX:?}"),
    });
    (said, outcome)
}

/// The output of a program, and its exit status if it ended in time.
fn watch(program: &Program) -> Result<(String, Option<ExitStatus>)> {
    let mut command = Command::new(&program.path);
    command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    if program.target == WAITING {
        command.env("RUST_TEST_THREADS", WAITING_THREADS);
    }
    let mut child =
        command.spawn().with_context(|| format!("start `{}`", process::describe(&command)))?;
    let mut stdout = child.stdout.take().expect("it was piped just above");
    std::thread::scope(|scope| {
        let listener = scope.spawn(|| {
            let mut said = Vec::new();
            // After an error the output so far is all there is.
            let _ = stdout.read_to_end(&mut said);
            said
        });
        let ended = clock::wait(TIME_MAX, || child.try_wait().transpose());
        if ended.is_none() {
            child.kill().context("end tests that hang")?;
            child.wait().context("wait for tests")?;
        }
        let said = listener.join().expect("the listener does not panic");
        let status = ended.transpose().context("wait for tests")?;
        Ok((String::from_utf8_lossy(&said).into_owned(), status))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(path: &str) -> Program {
        Program {
            path: path.into(),
            folder: "/".into(),
            package: "p".to_owned(),
            target: "t".to_owned(),
        }
    }

    #[test]
    fn test_programs_are_told_from_other_artifacts_and_those_that_take_longest_come_first() {
        let line = |executable: &str, test: bool, name: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/txn/Cargo.toml","target":{{"name":"{name}"}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        let messages = [
            line("\"/t/txn\"", true, "txn"),
            line("\"/t/namdb\"", false, "namdb"),
            line("null", true, "nothing"),
            line("\"/t/program\"", true, "program"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let found = programs(&messages.join("\n")).expect("they are messages");
        let names: Vec<&str> = found.iter().map(|program| program.target.as_str()).collect();
        assert_eq!(names, ["program", "txn"]);
        assert_eq!(
            (found[1].package.as_str(), found[1].folder.to_str()),
            ("txn", Some("/w/crates/txn"))
        );
    }

    #[test]
    fn tests_that_fail_or_cannot_be_started_are_named() {
        assert!(run_one(&program("/bin/true")).1.is_ok());
        for (path, word) in [("/bin/false", "`t` of p"), ("/nowhere/tests", "start `tests`")] {
            let error = run_one(&program(path)).1.expect_err("it does not succeed");
            assert!(format!("{error:#}").contains(word), "{error:#}");
        }
    }
}

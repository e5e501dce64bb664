//! The test programs of the instrumented crates, for mutants that no world shows.

use crate::child::{self, Ended, Patience, Switch, now};
use crate::compile;
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The least time of a program with a mutant.
const TIME_MIN: Duration = Duration::from_secs(30);
/// A program with a mutant takes at most as many times as long as without.
const SLOWER_MAX: u32 = 4;
/// The time of a program without a mutant.
const TIME_MAX: Duration = Duration::from_secs(1200);
/// Tests that check the whole workspace, or the sources, and not the behaviour.
const BUILD: [&str; 9] =
    ["test", "--release", "--no-run", "-p", "memory", "-p", "index", "-p", "txn"];

/// A test program, and its time without a mutant.
struct TestProgram {
    name: String,
    path: PathBuf,
    folder: PathBuf,
    time: Duration,
}

/// All test programs, the fastest first.
pub(crate) struct TestPrograms(Vec<TestProgram>);

impl TestPrograms {
    /// No program.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// Builds the programs of the copy and runs each once, without a mutant.
    ///
    /// # Errors
    /// If one does not build, or fails.
    pub fn build(copy: &Path) -> Result<Self> {
        let mut programs = Vec::new();
        for (name, path) in compile::build(copy, &BUILD)? {
            let package = ["memory", "index"].iter().find(|&&package| package == name);
            let folder = copy.join("crates/engine").join(package.unwrap_or(&"txn"));
            let start = now();
            let patience = Patience { silence: TIME_MAX, all: TIME_MAX };
            let ended = child::run(&folder, &path, &[], Switch::Off, patience, |_| {})?;
            let program = path.display();
            ensure!(ended == Ended::Code(0), "without a mutant {program} ends with {ended:?}");
            let time = start.elapsed();
            eprintln!("mutation: tests of {name} take {:.1} s", time.as_secs_f64());
            programs.push(TestProgram { name, path, folder, time });
        }
        programs.sort_by_key(|program| program.time);
        Ok(Self(programs))
    }

    /// The first program that fails with the mutant, and how.
    ///
    /// # Errors
    /// If one cannot be started.
    pub fn hunt(&self, mutant: u32) -> Result<Option<(String, String)>> {
        for TestProgram { name, path, folder, time } in &self.0 {
            let all = (*time * SLOWER_MAX).max(TIME_MIN);
            let patience = Patience { silence: all, all };
            let mut failed = String::new();
            let mut note = |line: &str| {
                if line.ends_with("FAILED") && failed.is_empty() {
                    failed = line.to_owned();
                }
            };
            let ended = child::run(folder, path, &[], Switch::On(mutant), patience, &mut note)?;
            if ended != Ended::Code(0) {
                let how = if failed.is_empty() { format!("{ended:?}") } else { failed };
                return Ok(Some((format!("tests of {name}"), how)));
            }
        }
        Ok(None)
    }
}

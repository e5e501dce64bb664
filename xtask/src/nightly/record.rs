//! The record of parts that ran, by commit: a file beside cargo's artefacts.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::done::Done;
use crate::workspace;

/// Digits of a commit's hash in the table.
const SHORT_HASH_DIGITS: usize = 12;

/// By commit, and then by part.
#[derive(Default, Serialize, Deserialize)]
pub struct Record(BTreeMap<String, BTreeMap<String, Sum>>);

/// One run of a part.
pub struct Run {
    pub result: RunResult,
    pub seconds: u64,
    pub seeds: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunResult {
    Passed,
    Failed,
    /// The host lacks something that the part needs.
    Skipped,
}

impl RunResult {
    pub fn of(outcome: &Result<Done>) -> Self {
        match outcome {
            Ok(Done::Ran) => Self::Passed,
            Ok(Done::Skipped) => Self::Skipped,
            Err(_) => Self::Failed,
        }
    }
}

/// All runs of a part at a commit. Skipped ones are not among them.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sum {
    /// Whether the last run passed.
    pub passed: bool,
    /// Whether a run was skipped.
    #[serde(default)]
    pub skipped: bool,
    pub rounds: u64,
    pub seeds: u64,
    pub seconds: u64,
}

impl fmt::Display for Sum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sum { rounds, seeds, seconds, .. } = self;
        match rounds {
            0 => formatter.write_str(self.result()),
            _ => {
                let result = self.result();
                write!(formatter, "{result}, rounds {rounds}, seeds {seeds}, {seconds} s")
            }
        }
    }
}

impl Sum {
    fn result(&self) -> &'static str {
        match (self.rounds, self.skipped, self.passed) {
            (0, false, _) => "not run",
            (0, true, _) => "skipped",
            (_, _, true) => "passed",
            (_, _, false) => "failed",
        }
    }
}

impl Record {
    /// Reads the record; an empty one if there is none.
    pub fn read(root: &Path) -> Result<Record> {
        let path = path(root)?;
        if !path.exists() {
            return Ok(Record::default());
        }
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| {
            format!("{} is damaged; remove it to start an empty record", path.display())
        })
    }

    pub fn write(&self, root: &Path) -> Result<()> {
        let path = path(root)?;
        let text = serde_json::to_string_pretty(self).context("write the record as JSON")?;
        std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))
    }

    pub fn of(&self, commit: &str, part: &str) -> Sum {
        self.0.get(commit).and_then(|parts| parts.get(part)).copied().unwrap_or_default()
    }

    pub fn add(&mut self, commit: &str, part: &str, run: Run) {
        let sum = self.0.entry(commit.to_owned()).or_default().entry(part.to_owned()).or_default();
        if run.result == RunResult::Skipped {
            sum.skipped = true;
            return;
        }
        sum.passed = run.result == RunResult::Passed;
        sum.rounds += 1;
        sum.seeds += run.seeds;
        sum.seconds += run.seconds;
    }

    /// The newest result of each part, as `docs/testing.md` shows them: of the first of `history`,
    /// newest commit first, at which the part ran, or, if it never did, was skipped. Runs of other
    /// commits do not count.
    pub fn table(&self, parts: &[&str], history: &[String]) -> String {
        let mut text = String::from(
            "| part | commit | result | seconds | rounds | seeds |\n|---|---|---|---|---|---|\n",
        );
        for part in parts {
            let ran = history.iter().find(|commit| self.of(commit, part).rounds > 0);
            let skipped = || history.iter().find(|commit| self.of(commit, part).skipped);
            let commit = ran.or_else(skipped).map_or("", |commit| commit);
            let sum = self.of(commit, part);
            let Sum { rounds, seeds, seconds, .. } = sum;
            let result = sum.result();
            let commit = &commit[..SHORT_HASH_DIGITS.min(commit.len())];
            text.push_str(&format!(
                "| {part} | {commit} | {result} | {seconds} | {rounds} | {seeds} |\n"
            ));
        }
        text
    }
}

fn path(root: &Path) -> Result<PathBuf> {
    Ok(workspace::target_directory(root)?.join("nightly.json"))
}

#[cfg(test)]
mod tests {
    use super::RunResult::{Failed, Passed, Skipped};
    use super::*;

    const TEN_SECONDS: Run = Run { result: Passed, seconds: 10, seeds: 0 };

    #[test]
    fn rounds_and_seeds_of_a_commit_add_up_and_the_last_run_decides() {
        let mut record = Record::default();
        record.add("abc", "seeds", Run { result: Passed, seconds: 10, seeds: 100 });
        record.add("abc", "seeds", Run { result: Failed, seconds: 5, seeds: 100 });
        let sum = record.of("abc", "seeds");
        let expected = Sum { passed: false, skipped: false, rounds: 2, seeds: 200, seconds: 15 };
        assert_eq!(sum, expected);
        assert_eq!(record.of("abd", "seeds"), Sum::default());
        assert_eq!(sum.to_string(), "failed, rounds 2, seeds 200, 15 s");
    }

    #[test]
    fn a_skipped_run_is_neither_passed_nor_a_round() {
        let mut record = Record::default();
        record.add(
            "new",
            "hosts",
            Run { result: RunResult::of(&Ok(Done::Skipped)), ..TEN_SECONDS },
        );
        let sum = record.of("new", "hosts");
        assert!(!sum.passed);
        assert_eq!(sum.to_string(), "skipped");
        let rows = |record: &Record| {
            let history = ["new", "old"].map(str::to_owned);
            record
                .table(&["hosts"], &history)
                .lines()
                .skip(2)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(rows(&record), ["| hosts | new | skipped | 0 | 0 | 0 |"]);
        record.add("old", "hosts", Run { result: Passed, ..TEN_SECONDS });
        assert_eq!(rows(&record), ["| hosts | old | passed | 10 | 1 | 0 |"]);
        record.add("old", "hosts", Run { result: Skipped, ..TEN_SECONDS });
        assert_eq!(rows(&record), ["| hosts | old | passed | 10 | 1 | 0 |"]);
    }

    #[test]
    fn records_without_skipped_runs_are_read() {
        let text = r#"{"abc": {"hosts": {"passed": true, "rounds": 1, "seeds": 0, "seconds": 9}}}"#;
        let record: Record = serde_json::from_str(text).expect("it is a record");
        assert_eq!(record.of("abc", "hosts").to_string(), "passed, rounds 1, seeds 0, 9 s");
    }

    #[test]
    fn the_table_shows_each_part_at_the_newest_commit_at_which_it_ran() {
        let mut record = Record::default();
        record.add("old", "seeds", Run { result: Passed, seconds: 10, seeds: 100 });
        record.add("old", "hosts", Run { result: Passed, seconds: 20, seeds: 0 });
        record.add("new", "hosts", Run { result: Failed, seconds: 30, seeds: 0 });
        record.add("elsewhere", "kills", Run { result: Passed, seconds: 40, seeds: 100 });
        let history = ["newest", "new", "old"].map(str::to_owned);
        let table = record.table(&["seeds", "hosts", "kills"], &history);
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| seeds | old | passed | 10 | 1 | 100 |",
                "| hosts | new | failed | 30 | 1 | 0 |",
                "| kills |  | not run | 0 | 0 | 0 |",
            ]
        );
    }
}

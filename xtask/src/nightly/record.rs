//! The record of parts that ran, by commit: a file beside cargo's artefacts.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::workspace;

/// By commit, and then by part.
#[derive(Default, Serialize, Deserialize)]
pub struct Record(BTreeMap<String, BTreeMap<String, Sum>>);

/// One run of a part.
pub struct Run {
    pub passed: bool,
    pub seconds: u64,
    pub seeds: u64,
}

/// All runs of a part at a commit.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sum {
    /// Whether the last run passed.
    pub passed: bool,
    pub rounds: u64,
    pub seeds: u64,
    pub seconds: u64,
}

impl fmt::Display for Sum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sum { passed, rounds, seeds, seconds } = self;
        let result = match (rounds, passed) {
            (0, _) => return write!(formatter, "not run"),
            (_, true) => "passed",
            (_, false) => "failed",
        };
        write!(formatter, "{result}, rounds {rounds}, seeds {seeds}, {seconds} s")
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
        sum.passed = run.passed;
        sum.rounds += 1;
        sum.seeds += run.seeds;
        sum.seconds += run.seconds;
    }

    /// A commit's parts, as `docs/testing.md` shows them.
    pub fn table(&self, commit: &str) -> String {
        let mut text = format!(
            "Commit {}.\n\n| part | result |\n|---|---|\n",
            &commit[..12.min(commit.len())]
        );
        for (part, sum) in self.0.get(commit).into_iter().flatten() {
            text.push_str(&format!("| {part} | {sum} |\n"));
        }
        text
    }
}

fn path(root: &Path) -> Result<PathBuf> {
    Ok(workspace::target_directory(root)?.join("nightly.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_and_seeds_of_a_commit_add_up_and_the_last_run_decides() {
        let mut record = Record::default();
        record.add("abc", "seeds", Run { passed: true, seconds: 10, seeds: 100 });
        record.add("abc", "seeds", Run { passed: false, seconds: 5, seeds: 100 });
        let sum = record.of("abc", "seeds");
        assert_eq!(sum, Sum { passed: false, rounds: 2, seeds: 200, seconds: 15 });
        assert_eq!(record.of("abd", "seeds"), Sum::default());
        let table = record.table("abc");
        assert!(table.contains("| seeds | failed, rounds 2, seeds 200, 15 s |"), "{table}");
    }
}

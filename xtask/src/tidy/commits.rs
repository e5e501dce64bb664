//! Commit messages have a subject of at most 72 characters and a body that gives the reason.
//!
//! `xtask/hooks/commit-msg` refuses other messages when they are written. This check reads those
//! that are already commits, after the one that `xtask/tidy-ratchet.toml` records.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde::Deserialize;

use super::Violation;
use super::ratchet;
use super::tree::Tree;
use crate::process;

const SUBJECT_CHARACTERS_MAX: usize = 72;

#[derive(Default, Deserialize)]
struct Ratchet {
    #[serde(default)]
    commits: Commits,
}

/// Which commits to check.
#[derive(Default, Deserialize)]
struct Commits {
    /// The last one that is exempt.
    after: Option<String>,
}

/// Reads the messages of the commits after the recorded one, merges excepted.
pub fn check(root: &Path, tree: &Tree) -> Result<Vec<Violation>> {
    let text = tree.file(ratchet::PATH).map_or("", |file| &file.text);
    let Some(after) = toml::from_str::<Ratchet>(text)?.commits.after else {
        return Ok(Vec::new());
    };
    let commit = format!("{after}^{{commit}}");
    if process::capture(git(root).args(["cat-file", "-e", &commit])).is_err() {
        eprintln!("tidy: no commit messages are checked, since this clone lacks {after}");
        return Ok(Vec::new());
    }
    let range = format!("{after}..HEAD");
    let log = ["log", "-z", "--no-merges", "--format=%h%n%B", &range];
    let messages = process::capture(git(root).args(log))?;
    let commits = messages.split('\0').filter_map(|commit| commit.split_once('\n'));
    Ok(commits
        .filter_map(|(hash, message)| Some(Violation::new(hash, 1, judge(message)?)))
        .collect())
}

fn git(root: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(root);
    command
}

/// The fault of a message; the hook has the same rules.
fn judge(message: &str) -> Option<String> {
    let (subject, rest) = message.trim_end().split_once('\n').unwrap_or((message.trim_end(), ""));
    let characters = subject.chars().count();
    if characters > SUBJECT_CHARACTERS_MAX {
        return Some(format!(
            "the subject has {characters} characters, write at most {SUBJECT_CHARACTERS_MAX}"
        ));
    }
    if rest.trim().is_empty() {
        return Some("the message has no body, write the problem and the reason".to_string());
    }
    let is_separate = rest.starts_with('\n');
    (!is_separate).then(|| "the body follows without an empty line, insert one".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Messages and whether they are in order.
    fn cases() -> Vec<(String, bool)> {
        let body = "\n\nReaders of a full buffer failed.\n";
        vec![
            (format!("txn: retry a full version buffer once{body}"), true),
            (format!("{}{body}", "x".repeat(SUBJECT_CHARACTERS_MAX)), true),
            (format!("{}{body}", "\u{e4}".repeat(SUBJECT_CHARACTERS_MAX)), true),
            (format!("{}{body}", "x".repeat(SUBJECT_CHARACTERS_MAX + 1)), false),
            ("txn: retry once\n".to_string(), false),
            ("txn: retry once\n\n\n".to_string(), false),
            ("txn: retry once\nBecause.\n".to_string(), false),
        ]
    }

    #[test]
    fn subjects_are_short_and_bodies_give_reasons() {
        for (message, is_accepted) in cases() {
            assert_eq!(judge(&message).is_none(), is_accepted, "{message:?}");
        }
    }

    #[test]
    fn the_hook_judges_alike() {
        let hook = Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks/commit-msg");
        let path = std::env::temp_dir().join(format!("namdb-message-{}", std::process::id()));
        for (message, is_accepted) in cases() {
            // Lines that an editor shows and git drops are no body.
            let text = format!("{message}\n# A comment.\n");
            fs::write(&path, text).expect("the temporary folder can be written");
            let outcome = process::capture(Command::new(&hook).arg(&path));
            assert_eq!(outcome.is_ok(), is_accepted, "{message:?}");
        }
        fs::remove_file(&path).expect("it was written above");
    }

    #[test]
    fn a_missing_commit_is_no_failure() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let hash = "0123456789012345678901234567890123456789";
        let tree = |after: &str| Tree::of(&[(ratchet::PATH, after)]);
        let missing = format!("[commits]\nafter = \"{hash}\"\n");
        assert_eq!(check(root, &tree(&missing)).expect("it is skipped"), []);
        assert_eq!(check(root, &tree("[functions]\n")).expect("it is skipped"), []);
    }
}

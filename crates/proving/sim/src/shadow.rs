//! The shadow history: all versions of all rows, outside the protocol. It knows what every read
//! must find, so that a wrong read is an error at once, even in a transaction that aborts
//! afterwards or whose answer nobody looks at.
//!
//! ```text
//! Note::Writes   a commit, before its first write that others can see    row -> version, version
//! Note::Reads    a read that is settled    found == the last version of the row in the snapshot?
//! ```
//!
//! Notes of allocators go to the shadow of memory, [`crate::pieces`].
//!
//! Versions of a row are in the order of their commits, because a writer holds the row's lock from
//! its note on until the version is installed. A version whose commit never becomes visible is in
//! no snapshot, and does no harm.

use crate::pieces::Pieces;
use fabric::Note;
use layout::VersionWord;
use std::collections::HashMap;

/// Errors kept; a run with one bug has thousands.
const ERRORS_MAX: usize = 10;

/// The versions of all rows that were written in this world.
pub(crate) struct Shadow {
    is_on: bool,
    rows: HashMap<u32, HashMap<Box<[u64]>, Vec<VersionWord>>>,
    /// Reads that were compared with the history.
    checked: u64,
    pieces: Pieces,
    errors: Vec<String>,
}

impl Shadow {
    pub(crate) fn new(is_on: bool) -> Self {
        let (rows, pieces) = (HashMap::new(), Pieces::default());
        Self { is_on, rows, checked: 0, pieces, errors: Vec::new() }
    }

    /// Gives up: memory was lost, so that reads may find less than was written.
    pub(crate) fn give_up(&mut self) {
        *self = Self {
            checked: self.checked,
            errors: std::mem::take(&mut self.errors),
            ..Self::new(false)
        };
    }

    pub(crate) fn checked(&self) -> u64 {
        self.checked
    }

    /// Pieces in use that the last structural check has not reached, in words.
    pub(crate) fn take_unreached(&mut self) -> Vec<String> {
        let unreached = self.pieces.take_unreached().into_iter();
        unreached.map(|(at, words)| format!("nothing leads to {words} words at {at:?}")).collect()
    }

    pub(crate) fn take_errors(&mut self) -> Vec<String> {
        std::mem::take(&mut self.errors)
    }

    pub(crate) fn note(&mut self, now_ns: u64, note: Note<'_>) {
        if !self.is_on {
            return;
        }
        match note {
            Note::Writes { table, key, version } => {
                let rows = self.rows.entry(table).or_default();
                match rows.get_mut(key) {
                    Some(versions) => versions.push(version),
                    None => drop(rows.insert(key.into(), vec![version])),
                }
            }
            Note::Reads { table, key, found, covers } => {
                let versions = self.rows.get(&table).and_then(|rows| rows.get(key));
                // Rows that no commit has written are not known.
                let Some(versions) = versions else { return };
                self.checked += 1;
                let seen = versions.iter().rev().find(|&&version| covers(version)).copied();
                let is_there = |version: &VersionWord| !version.is_deleted();
                let (expected, found) = (seen.filter(is_there), found.filter(is_there));
                if expected != found && self.errors.len() < ERRORS_MAX {
                    self.errors.push(format!(
                        "at {now_ns} ns a read of row {key:x?} of table {table} found {found:?}, \
                         and its snapshot has {expected:?} of {versions:?}"
                    ));
                }
            }
            of_memory => {
                if let Err(error) = self.pieces.note(of_memory)
                    && self.errors.len() < ERRORS_MAX
                {
                    self.errors.push(format!("at {now_ns} ns {error}"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::SlotId;

    fn version(counter: u64) -> VersionWord {
        VersionWord::new(SlotId(1), counter)
    }

    /// The number of errors after a read by a snapshot with numbers up to `upto`.
    fn errors_after(upto: u64, found: Option<VersionWord>) -> usize {
        let mut shadow = Shadow::new(true);
        for version in [version(3), version(5).deleted(), version(9)] {
            shadow.note(0, Note::Writes { table: 1, key: &[7], version });
        }
        let covers = |version: VersionWord| version.counter() <= upto;
        shadow.note(0, Note::Reads { table: 1, key: &[7], found, covers: &covers });
        assert_eq!(shadow.checked(), 1);
        shadow.take_errors().len()
    }

    #[test]
    fn a_read_finds_the_last_version_of_its_snapshot() {
        assert_eq!(errors_after(2, None), 0);
        assert_eq!(errors_after(4, Some(version(3))), 0);
        assert_eq!(errors_after(5, None), 0);
        assert_eq!(errors_after(5, Some(version(5).deleted())), 0);
        assert_eq!(errors_after(9, Some(version(9))), 0);
    }

    #[test]
    fn every_other_version_is_an_error() {
        assert_eq!(errors_after(2, Some(version(3))), 1);
        assert_eq!(errors_after(4, None), 1);
        assert_eq!(errors_after(8, Some(version(3))), 1);
        assert_eq!(errors_after(9, None), 1);
        assert_eq!(errors_after(9, Some(version(5).deleted())), 1);
    }

    #[test]
    fn rows_that_nobody_has_written_are_not_judged() {
        let mut shadow = Shadow::new(true);
        let covers = |_| true;
        let found = Some(version(1));
        shadow.note(0, Note::Reads { table: 1, key: &[7], found, covers: &covers });
        assert_eq!((shadow.checked(), shadow.take_errors().len()), (0, 0));
        shadow.note(0, Note::Writes { table: 1, key: &[7], version: version(2) });
        shadow.give_up();
        shadow.note(0, Note::Reads { table: 1, key: &[7], found: None, covers: &covers });
        assert_eq!((shadow.checked(), shadow.take_errors().len()), (0, 0));
    }
}

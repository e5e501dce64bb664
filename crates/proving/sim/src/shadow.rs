//! The shadow history: all versions of all rows, outside the protocol. It knows what every read
//! must find, so that a wrong read is an error at once, even in a transaction that aborts
//! afterwards or whose answer nobody looks at.
//!
//! ```text
//! Note::Writes   a commit, before its first write that others can see    row -> version, version
//! Note::Reads    a read that is settled    found == the last version of the row in the snapshot?
//! Note::Searches a search of a range       found has every row that the snapshot has there, once?
//! Note::Undoes   a survivor releases the locks of a dead commit          its versions are none
//! ```
//!
//! A scan that ends at its limit is a search up to its last row, and a visit of a whole table is a
//! search of all keys.
//!
//! Notes of allocators go to the shadow of memory, [`crate::pieces`].
//!
//! Versions of a row are in the order of their commits, because a writer holds the row's lock from
//! its note on until the version is installed. A version whose commit never becomes visible is in
//! no snapshot, and does no harm.

use crate::pieces::Pieces;
use fabric::{Note, Pairs, Source};
use layout::VersionWord;
use std::collections::{BTreeMap, BTreeSet};

/// Errors kept; a run with one bug has thousands.
const ERRORS_MAX: usize = 10;

/// The entries of an index: for each row, its table and key, the entries of its versions.
type Entries = BTreeMap<(u32, Box<[u64]>), Vec<(VersionWord, Box<[u64]>)>>;

/// The versions of all rows that were written in this world.
pub(crate) struct Shadow {
    is_on: bool,
    rows: BTreeMap<u32, BTreeMap<Box<[u64]>, Vec<VersionWord>>>,
    entries: BTreeMap<u32, Entries>,
    /// Reads that were compared with the history.
    checked: u64,
    pieces: Pieces,
    errors: Vec<String>,
}

impl Shadow {
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            rows: BTreeMap::new(),
            entries: BTreeMap::new(),
            checked: 0,
            pieces: Pieces::default(),
            errors: Vec::new(),
        }
    }

    /// Gives up: memory was lost, so that reads may find less than was written.
    pub(crate) fn give_up(&mut self) {
        *self = Self {
            checked: self.checked,
            errors: std::mem::take(&mut self.errors),
            ..Self::new(false)
        };
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on
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
            Note::Writes { table, key, version, entries } => {
                entries(&mut |index, entry| {
                    let rows = self.entries.entry(index).or_default();
                    rows.entry((table, key.into())).or_default().push((version, entry.into()));
                });
                let rows = self.rows.entry(table).or_default();
                match rows.get_mut(key) {
                    Some(versions) => versions.push(version),
                    None => drop(rows.insert(key.into(), vec![version])),
                }
            }
            Note::Undoes { number } => self.undo(number),
            Note::Reads { table, key, found, covers } => {
                let versions = self.rows.get(&table).and_then(|rows| rows.get(key));
                // Rows that no commit has written are not known.
                let Some(versions) = versions else { return };
                self.checked += 1;
                let seen = last_covered(versions, covers);
                let is_there = |version: &VersionWord| !version.is_deleted();
                let (expected, found) = (seen.filter(is_there), found.filter(is_there));
                if expected != found && self.errors.len() < ERRORS_MAX {
                    self.errors.push(format!(
                        "at {now_ns} ns a read of row {key:x?} of table {table} found {found:?}, \
                         and its snapshot has {expected:?} of {versions:?}"
                    ));
                }
            }
            Note::Searches { source, low, high, found, covers } => {
                self.checked += 1;
                if let Some(wrong) = self.wrong_search((source, low, high), found, covers)
                    && self.errors.len() < ERRORS_MAX
                {
                    self.errors.push(format!(
                        "at {now_ns} ns a search of {source:?} from {low:x?} to {high:x?} {wrong}"
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

impl Shadow {
    /// Removes the versions of a commit that will never be installed.
    fn undo(&mut self, number: VersionWord) {
        let stays = |version: &VersionWord| version.timestamp() != number;
        let rows = self.rows.values_mut().flat_map(BTreeMap::values_mut);
        rows.for_each(|versions| versions.retain(stays));
        let entries = self.entries.values_mut().flat_map(BTreeMap::values_mut);
        entries.for_each(|entries| entries.retain(|(version, _)| stays(version)));
    }

    /// A row that a search by this snapshot has found twice, or one in the range that it has
    /// missed.
    fn wrong_search(
        &self,
        (source, low, high): (Source, &[u64], &[u64]),
        found: Pairs<'_>,
        covers: &dyn Fn(VersionWord) -> bool,
    ) -> Option<String> {
        let (mut rows, mut repeated) = (BTreeSet::new(), None);
        found(&mut |table, key| {
            if !rows.insert((table, Box::<[u64]>::from(key))) {
                repeated = Some(format!("found row {key:x?} of table {table} more than once"));
            }
        });
        if repeated.is_some() {
            return repeated;
        }
        let is_between = |key: &[u64]| low <= key && key <= high;
        let seen_of = |table: u32, key: &[u64]| {
            let versions = self.rows.get(&table)?.get(key)?;
            last_covered(versions, covers).filter(|version| !version.is_deleted())
        };
        let missed = |table: u32, key: &[u64], version: VersionWord| {
            format!(
                "found {} rows, and not {version:?} of row {key:x?} of table {table}, which its \
                 snapshot has",
                rows.len()
            )
        };
        match source {
            Source::Table(table) => self.rows.get(&table)?.keys().find_map(|key| {
                let is_expected = is_between(key) && !rows.contains(&(table, key.clone()));
                let version = seen_of(table, key).filter(|_| is_expected)?;
                Some(missed(table, key, version))
            }),
            Source::Index(index) => self.entries.get(&index)?.iter().find_map(|(row, entries)| {
                let seen = seen_of(row.0, &row.1)?;
                // Versions from before the index was known have no entry here.
                let (_, entry) = entries.iter().rev().find(|(version, _)| *version == seen)?;
                let is_missed = is_between(entry) && !rows.contains(row);
                is_missed.then(|| missed(row.0, &row.1, seen))
            }),
        }
    }
}

/// The last version of a row that a snapshot covers.
fn last_covered(
    versions: &[VersionWord],
    covers: &dyn Fn(VersionWord) -> bool,
) -> Option<VersionWord> {
    versions.iter().rev().find(|&&version| covers(version)).copied()
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
            shadow.note(0, Note::Writes { table: 1, key: &[7], version, entries: &|_| {} });
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

    /// The errors after a search for entries 3 to 6 of index 2 that has found these rows. The
    /// snapshot has numbers up to `upto`, and row 7 has entry 5 up to version 4, and then entry 9.
    fn search_errors(upto: u64, rows: &[u64]) -> Vec<String> {
        let mut shadow = Shadow::new(true);
        for (version, entry) in [(version(3), 5), (version(5), 9), (version(8).deleted(), 5)] {
            let entries: Pairs<'_> = &|add| add(2, &[entry]);
            shadow.note(0, Note::Writes { table: 1, key: &[7], version, entries });
        }
        let covers = |version: VersionWord| version.counter() <= upto;
        let found: Pairs<'_> = &|add| rows.iter().for_each(|&row| add(1, &[row]));
        for (source, low, high) in [(Source::Index(2), 3, 6), (Source::Table(1), 8, 9)] {
            let (low, high, covers) = (&[low][..], &[high][..], &covers);
            shadow.note(0, Note::Searches { source, low, high, found, covers });
        }
        shadow.take_errors()
    }

    #[test]
    fn a_search_finds_every_row_with_an_entry_in_the_range() {
        assert_eq!(search_errors(4, &[7]), [""; 0]);
        assert_eq!(search_errors(4, &[6]).len(), 1);
        assert_eq!(search_errors(2, &[]), [""; 0], "the row was not there yet");
        assert_eq!(search_errors(7, &[]), [""; 0], "the row has another entry");
        assert_eq!(search_errors(9, &[]), [""; 0], "the row is deleted");
    }

    #[test]
    fn a_scan_finds_every_row_of_the_range() {
        let mut shadow = Shadow::new(true);
        let entries: Pairs<'_> = &|_| {};
        for key in [7, 8] {
            let key: &[u64] = &[key];
            shadow.note(0, Note::Writes { table: 1, key, version: version(3), entries });
        }
        let (source, low, high, covers) = (Source::Table(1), &[8][..], &[9][..], &|_| true);
        let found: Pairs<'_> = &|add| add(1, &[8]);
        shadow.note(0, Note::Searches { source, low, high, found, covers });
        assert_eq!(shadow.take_errors(), [""; 0]);
        let found: Pairs<'_> = &|_| {};
        shadow.note(0, Note::Searches { source, low, high, found, covers });
        assert_eq!(shadow.take_errors().len(), 1);
    }

    #[test]
    fn a_row_that_is_found_twice_is_an_error() {
        for rows in [&[7, 7][..], &[6, 7, 6]] {
            let errors = search_errors(4, rows);
            assert!(errors[0].contains("more than once"), "{errors:?}");
        }
        assert_eq!(search_errors(4, &[6, 7]), [""; 0]);
    }

    #[test]
    fn rows_that_nobody_has_written_are_not_judged() {
        let mut shadow = Shadow::new(true);
        let covers = |_| true;
        let found = Some(version(1));
        shadow.note(0, Note::Reads { table: 1, key: &[7], found, covers: &covers });
        assert_eq!((shadow.checked(), shadow.take_errors().len()), (0, 0));
        let entries: Pairs<'_> = &|_| {};
        shadow.note(0, Note::Writes { table: 1, key: &[7], version: version(2), entries });
        shadow.give_up();
        shadow.note(0, Note::Reads { table: 1, key: &[7], found: None, covers: &covers });
        assert_eq!((shadow.checked(), shadow.take_errors().len()), (0, 0));
    }
}

//! The journals of a lane: the locks and writes of its last commit, and of its last upkeep, so that
//! others can complete or undo them if the lane's compute server dies [ZB17 §6.2].
//!
//! A journal is an extent on a memory server. The journals of a slot are a list that starts in the
//! slot's words beside the vector. Larger ones are put ahead of smaller ones, which are in use no
//! more: a lane uses the first journal for commits, and the first one for upkeep on each server.
//!
//! ```text
//! word | field   | written by        | meaning
//!    0 | next    | maker             | the previous journal of the slot, 0 if there was none
//!    1 | words   | maker             | size of the journal
//!    2 | kind    | maker             | 0 for commits, 1 for upkeep
//!    3 | entry   | lane, per commit  | the last commit; for upkeep: [`crate::upkeep_entry`]
//! ```
//!
//! The entry of a commit:
//!
//! ```text
//! word | field      | meaning
//!    0 | checksum   | over the other words of the entry
//!    1 | words      | size of the entry
//!    2 | number     | timestamp of the attempt
//!    3 | id         | the value of the lane's mark on every server to which batch 2 is posted
//!    4 | rows       | number of locked rows
//!    5 | structures | number of locked buckets and leaves
//!    6 | rows       | header address and version of each, which unlocks it
//!      | structures | address of each insert word, and its value before
//!      | writes     | those of batch 2
//! ```
//!
//! A lane has a mark in the header of every region: a word with the id of the last entry whose
//! batch 2 reached the server. It is the first write of batch 2 there, so an entry without a mark
//! anywhere has installed nothing.
//!
//! Decision: docs/decisions/0311-a-commit-writes-its-batch-2-to-a-journal-with-its-locks.md

use crate::address::GlobalPtr;
use crate::row::{Cover, checksum};
use crate::version::VersionWord;

/// Word of the next journal's address.
pub const NEXT: u32 = 0;
/// Word of the journal's size.
pub const WORDS: u32 = 1;
/// Word of the kind of entries.
pub const KIND: u32 = 2;
/// First word of the entry.
pub const ENTRY: u32 = 3;

/// The kind of a journal for commits.
pub const COMMITS: u64 = 0;
/// The kind of a journal for upkeep.
pub const UPKEEP: u64 = 1;

/// Words of an entry before its lists.
pub const ENTRY_HEAD: usize = 6;
const CHECKSUM: usize = 0;
const ENTRY_WORDS: usize = 1;
const NUMBER: usize = 2;
const ID: usize = 3;
const ROWS: usize = 4;
const STRUCTURES: usize = 5;

/// The size that the head of an entry names.
pub fn size_of(head: &[u64]) -> u64 {
    head[ENTRY_WORDS]
}

/// The words of an entry ahead of its lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryHead {
    pub number: VersionWord,
    pub id: u64,
    pub rows: usize,
    pub structures: usize,
}

/// Closes an entry whose lists were appended behind [`ENTRY_HEAD`] words.
///
/// # Panics
///
/// If the entry is shorter than that.
pub fn close_entry(entry: &mut [u64], head: EntryHead) {
    entry[ENTRY_WORDS] = entry.len() as u64;
    entry[NUMBER] = head.number.word();
    entry[ID] = head.id;
    entry[ROWS] = head.rows as u64;
    entry[STRUCTURES] = head.structures as u64;
    entry[CHECKSUM] = checksum(&entry[1..], Cover::All);
}

/// An entry that was read completely.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    pub head: EntryHead,
    lists: &'a [u64],
}

impl<'a> Entry<'a> {
    /// The entry at the start of `words`; `None` if there is none, or if its last writer has not
    /// written all of it.
    pub fn read(words: &'a [u64]) -> Option<Self> {
        let length = usize::try_from(*words.get(ENTRY_WORDS)?).ok()?;
        let entry = words.get(..length).filter(|entry| entry.len() >= ENTRY_HEAD)?;
        if entry[CHECKSUM] != checksum(&entry[1..], Cover::All) {
            return None;
        }
        let (rows, structures) = (entry[ROWS] as usize, entry[STRUCTURES] as usize);
        let lists = &entry[ENTRY_HEAD..];
        let locks = rows.checked_add(structures)?.checked_mul(2)?;
        (locks <= lists.len()).then_some(Self {
            head: EntryHead {
                number: VersionWord::from_word(entry[NUMBER]),
                id: entry[ID],
                rows,
                structures,
            },
            lists,
        })
    }

    /// The locked rows, each with the version that unlocks it.
    pub fn rows(&self) -> impl Iterator<Item = (GlobalPtr, u64)> + 'a {
        self.locks().take(self.head.rows)
    }

    /// The locked insert words, each with its value before.
    pub fn structures(&self) -> impl Iterator<Item = (GlobalPtr, u64)> + 'a {
        self.locks().skip(self.head.rows)
    }

    fn locks(&self) -> impl Iterator<Item = (GlobalPtr, u64)> + 'a {
        let pairs = self.lists[..self.locks_end()].chunks_exact(2);
        pairs.map(|pair| (GlobalPtr::from_word(pair[0]), pair[1]))
    }

    fn locks_end(&self) -> usize {
        2 * (self.head.rows + self.head.structures)
    }

    /// The writes of batch 2.
    pub fn writes(&self) -> &'a [u64] {
        &self.lists[self.locks_end()..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::RegionId;
    use crate::version::SlotId;

    fn entry() -> Vec<u64> {
        let row = GlobalPtr::new(RegionId(1), 64);
        let bucket = GlobalPtr::new(RegionId(2), 128);
        let mut entry = vec![0; ENTRY_HEAD];
        entry.extend([row.word(), 40, bucket.word(), 41, 7, 8, 9]);
        let number = VersionWord::new(SlotId(3), 18);
        close_entry(&mut entry, EntryHead { number, id: 77, rows: 1, structures: 1 });
        entry
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let mut words = entry();
        words.extend([1, 2, 3]);
        let read = Entry::read(&words).expect("it is whole");
        assert_eq!(read.head.number, VersionWord::new(SlotId(3), 18));
        assert_eq!(read.head.id, 77);
        let rows: Vec<_> = read.rows().collect();
        assert_eq!(rows, [(GlobalPtr::new(RegionId(1), 64), 40)]);
        let structures: Vec<_> = read.structures().collect();
        assert_eq!(structures, [(GlobalPtr::new(RegionId(2), 128), 41)]);
        assert_eq!(read.writes(), [7, 8, 9]);
    }

    #[test]
    fn an_entry_of_which_a_word_is_missing_is_none() {
        let whole = entry();
        for missing in 0..whole.len() {
            let mut words = whole.clone();
            words[missing] ^= 1 << 17;
            assert_eq!(Entry::read(&words), None, "word {missing}");
        }
        assert_eq!(Entry::read(&whole[..whole.len() - 1]), None);
        assert_eq!(Entry::read(&[]), None);
        assert_eq!(Entry::read(&[0; 64]), None);
    }
}

//! The journal of a lane's upkeep on one memory server: the locks that the lane's upkeep holds or
//! tries to take, and the writes of its last batch.
//!
//! Upkeep posts its entry to every server that a batch changes, ahead of the changes there. So a
//! batch has changed nothing if no server has its whole entry. A journal has room
//! for two entries, which are written by turns: the last batch may have left half an entry, and the
//! one before is whole.
//!
//! ```text
//! word | field    | meaning
//!    0 | checksum | over the other words of the entry
//!    1 | words    | size of the entry
//!    2 | number   | timestamp of the newest lock
//!    3 | step     | rises with every entry of the lane
//!    4 | locks    | number of locks
//!    5 | locks    | of each: address, locked value, value before; both values are equal for
//!      |          | words that nobody else reaches
//!      | writes   | the writes of the batch; a batch that takes locks has none
//! ```
//!
//! Decision: docs/decisions/0314-upkeep-writes-each-batch-to-a-journal-where-it-writes.md

use crate::address::GlobalPtr;
use crate::journal::ENTRY;
use crate::row::{Cover, checksum};
use crate::version::VersionWord;

/// Words of an entry before its lists.
pub const HEAD: usize = 5;
const CHECKSUM: usize = 0;
const WORDS: usize = 1;
const NUMBER: usize = 2;
const STEP: usize = 3;
const LOCKS: usize = 4;
/// Words of a lock in the list.
const LOCK_WORDS: usize = 3;

/// Words that one entry of a journal with this many words may have.
pub const fn room(journal_words: u64) -> u64 {
    journal_words.saturating_sub(ENTRY as u64) / 2
}

/// The place of an entry, 0 or 1, in a journal at `at`.
pub const fn place(at: GlobalPtr, journal_words: u64, number: u64) -> GlobalPtr {
    at.add_words(ENTRY as u64 + number % 2 * room(journal_words))
}

/// A word that upkeep has locked, or tries to lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpkeepLock {
    pub word: GlobalPtr,
    /// The word's value while it is locked.
    pub locked: u64,
    /// Its value before; the locked one if nobody else reaches the word.
    pub before: u64,
}

/// Begins an entry with these locks: its writes follow.
pub fn begin(entry: &mut Vec<u64>, locks: impl Iterator<Item = UpkeepLock>) {
    entry.clear();
    entry.resize(HEAD, 0);
    entry.extend(locks.flat_map(|lock| [lock.word.word(), lock.locked, lock.before]));
    entry[LOCKS] = ((entry.len() - HEAD) / LOCK_WORDS) as u64;
}

/// Closes an entry that [`begin`] has begun.
///
/// # Panics
///
/// If the entry is shorter than its head.
pub fn close(entry: &mut [u64], number: VersionWord, step: u64) {
    entry[WORDS] = entry.len() as u64;
    entry[NUMBER] = number.word();
    entry[STEP] = step;
    entry[CHECKSUM] = checksum(&entry[1..], Cover::All);
}

/// The size that the head of an entry names.
pub fn size_of(head: &[u64]) -> u64 {
    head[WORDS]
}

/// An entry that was read completely.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpkeepEntry<'a> {
    pub number: VersionWord,
    pub step: u64,
    locks: &'a [u64],
    writes: &'a [u64],
}

impl<'a> UpkeepEntry<'a> {
    /// The entry at the start of `words`; `None` if there is none, or not all of it.
    pub fn read(words: &'a [u64]) -> Option<Self> {
        let length = usize::try_from(*words.get(WORDS)?).ok()?;
        let entry = words.get(..length).filter(|entry| entry.len() >= HEAD)?;
        if entry[CHECKSUM] != checksum(&entry[1..], Cover::All) {
            return None;
        }
        let locks = (entry[LOCKS] as usize).checked_mul(LOCK_WORDS)?;
        let (locks, writes) = entry[HEAD..].split_at_checked(locks)?;
        let number = VersionWord::from_word(entry[NUMBER]);
        Some(Self { number, step: entry[STEP], locks, writes })
    }

    /// The words that the lane held, or tried to lock with this batch.
    pub fn locks(&self) -> impl Iterator<Item = UpkeepLock> + 'a {
        let of_lock = |lock: &'a [u64]| UpkeepLock {
            word: GlobalPtr::from_word(lock[0]),
            locked: lock[1],
            before: lock[2],
        };
        self.locks.chunks_exact(LOCK_WORDS).map(of_lock)
    }

    /// The writes of the batch.
    pub fn writes(&self) -> &'a [u64] {
        self.writes
    }

    /// The order of a lane's entries.
    pub fn order(&self) -> (u64, u64) {
        (self.number.counter(), self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::RegionId;
    use crate::version::SlotId;

    fn lock(offset: u64, before: u64) -> UpkeepLock {
        let word = GlobalPtr::new(RegionId(1), offset);
        UpkeepLock {
            word,
            locked: VersionWord::new(SlotId(3), 18).locked_by_upkeep().word(),
            before,
        }
    }

    fn entry() -> Vec<u64> {
        let mut entry = Vec::new();
        begin(&mut entry, [lock(64, 40), lock(128, 0)].into_iter());
        entry.extend([7, 8, 9]);
        close(&mut entry, VersionWord::new(SlotId(3), 18), 5);
        entry
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let mut words = entry();
        words.extend([1, 2]);
        let read = UpkeepEntry::read(&words).expect("it is whole");
        assert_eq!(read.number, VersionWord::new(SlotId(3), 18));
        assert_eq!(read.order(), (18, 5));
        let locks: Vec<UpkeepLock> = read.locks().collect();
        assert_eq!(locks, [lock(64, 40), lock(128, 0)]);
        assert_eq!(read.writes(), [7, 8, 9]);
    }

    #[test]
    fn an_entry_that_lacks_a_word_is_none() {
        let whole = entry();
        for missing in 0..whole.len() {
            let mut words = whole.clone();
            words[missing] ^= 1 << 17;
            assert_eq!(UpkeepEntry::read(&words), None, "word {missing}");
        }
        assert_eq!(UpkeepEntry::read(&whole[..whole.len() - 1]), None);
        assert_eq!(UpkeepEntry::read(&[]), None);
        assert_eq!(UpkeepEntry::read(&[0; 64]), None);
    }

    #[test]
    fn two_entries_stand_side_by_side() {
        let at = GlobalPtr::new(RegionId(1), 4096);
        for words in [64, 65, 1024] {
            let room = room(words);
            let places = [0, 1, 2].map(|number| place(at, words, number));
            assert_eq!(places[0], places[2]);
            assert_eq!(places[1], places[0].add_words(room));
            assert!(u64::from(ENTRY) + 2 * room <= words);
        }
    }
}

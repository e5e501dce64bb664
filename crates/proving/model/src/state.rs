//! The remote words: rows, old-version buffers, slots, the newest frozen vector.
//!
//! One step of the model reads or writes one of these words, because the fabric guarantees
//! atomicity only for the aligned 8-byte word. Values are not stored: a payload word is the version
//! that wrote it, which makes torn payloads visible.

use crate::config::BufferKind;
use crate::reader::Reader;
use crate::writer::Writer;
use std::hash::{Hash, Hasher};

/// Rows in the model; two suffice for every anomaly that involves more than one row.
pub const ROW_COUNT: usize = 2;
/// Slots of the timestamp vector, one for each writer.
pub const SLOT_COUNT: usize = 2;
/// Readers; a long fork needs two that disagree.
pub const READER_COUNT: usize = 2;
/// Payload words of a row; two suffice for a torn read.
pub const WORD_COUNT: usize = 2;
/// Slots of a row's buffer of old versions in the model.
pub const BUFFER_SLOT_COUNT: usize = 2;
/// The largest number of versions in a row's order: the initial one and one per writer.
const ORDER_COUNT: usize = 1 + SLOT_COUNT;

/// One counter per slot: a timestamp vector, or a copy of it.
pub type Counters = [u8; SLOT_COUNT];

/// Whether every counter of `a` is at most that of `b`.
pub fn at_or_before(a: Counters, b: Counters) -> bool {
    a.iter().zip(b).all(|(left, right)| *left <= right)
}

/// A commit timestamp: the writer's slot and the number of the attempt within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    pub slot: u8,
    /// The number within the slot; each attempt has its own, also if it aborts.
    pub counter: u8,
}

impl Version {
    /// The initial version of every row; each vector covers it.
    pub const INITIAL: Version = Version { slot: 0, counter: 0 };

    /// Whether a snapshot shows this version. [ZB17 §4.1]
    pub fn is_covered_by(self, snapshot: Counters) -> bool {
        self.counter <= snapshot[usize::from(self.slot)]
    }
}

/// The word that a writer swaps.
///
/// In our protocol it has the version when unlocked and the owner's commit timestamp when locked;
/// the published one keeps the version and adds the lock bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Version or owner.
    pub version: Version,
    pub locked: bool,
}

impl Header {
    /// The header of an unlocked row.
    pub fn unlocked(version: Version) -> Header {
        Header { version, locked: false }
    }

    /// The header of a locked row.
    pub fn locked(version: Version) -> Header {
        Header { version, locked: true }
    }
}

/// A payload with its version: a row's body, or one slot of the buffer of old versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The version word of the seqlock; `None` is the invalid version.
    pub version: Option<Version>,
    /// The version that displaced this one; only old versions have it.
    pub successor: Option<Version>,
    /// The writer of each payload word.
    pub payload: [Version; WORD_COUNT],
}

impl Record {
    /// Whether all payload words are of the version beside them.
    pub fn is_whole(&self) -> bool {
        self.payload.iter().all(|word| Some(*word) == self.version)
    }
}

/// One row with its buffer of old versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The word that writers swap.
    pub header: Header,
    /// The chain word: whether the buffer is linked to the row.
    pub has_chain: bool,
    pub body: Record,
    pub buffer: [Record; BUFFER_SLOT_COUNT],
    /// The buffer's next-write counter; only the lock holder reads or writes it.
    pub displaced_count: u8,
    /// Not a word of memory: the order in which versions took the row's lock, without aborted ones.
    pub order: [Option<Version>; ORDER_COUNT],
}

impl Row {
    fn initial() -> Row {
        let empty =
            Record { version: None, successor: None, payload: [Version::INITIAL; WORD_COUNT] };
        Row {
            header: Header::unlocked(Version::INITIAL),
            has_chain: false,
            body: Record { version: Some(Version::INITIAL), ..empty },
            buffer: [empty; BUFFER_SLOT_COUNT],
            displaced_count: 0,
            order: [Some(Version::INITIAL), None, None],
        }
    }

    /// The slot of the buffer for the next displaced version.
    pub fn next_buffer_slot(&self, buffer: BufferKind) -> usize {
        usize::from(self.displaced_count) % buffer.slot_count()
    }

    /// Records that `version` has taken the row's lock.
    pub fn append_to_order(&mut self, version: Version) {
        let place = self.order.iter_mut().find(|place| place.is_none());
        *place.expect("a row is locked at most once for each writer that is not aborted") =
            Some(version);
    }

    /// Records that the last holder of the lock has aborted.
    pub fn drop_from_order(&mut self, version: Version) {
        let place = self.order.iter_mut().rfind(|place| place.is_some());
        let place = place.expect("the initial version never goes");
        assert_eq!(*place, Some(version), "only the holder of the lock can abort");
        *place = None;
    }

    /// The place of a version in the row's order of versions.
    pub fn place_of(&self, version: Version) -> Option<usize> {
        self.order.iter().position(|other| *other == Some(version))
    }

    /// The version that a transaction with this snapshot must see.
    pub fn newest_covered_by(&self, snapshot: Counters) -> Version {
        let covered = |version: &Version| version.is_covered_by(snapshot);
        let newest = self.order.iter().flatten().rfind(|version| covered(version));
        *newest.expect("every snapshot covers the initial version")
    }

    /// Whether this version displaced the old one: the condition that a checksum over both
    /// verifies.
    pub fn is_followed_by(&self, old: Version, successor: Option<Version>) -> bool {
        let place = self.place_of(old);
        let next = place.and_then(|place| self.order.get(place + 1).copied().flatten());
        next.is_some() && next == successor
    }

    /// Whether a reader without concurrent writers, in this very state, gets its version.
    pub fn is_readable_at(&self, snapshot: Counters) -> bool {
        let covered = |version: Option<Version>| version.is_some_and(|v| v.is_covered_by(snapshot));
        let fits = |old: &Record| {
            let is_whole = old.is_whole() && old.successor.is_some();
            is_whole && covered(old.version) && !covered(old.successor)
        };
        let is_in_place = covered(self.body.version) && self.body.is_whole();
        is_in_place || (self.has_chain && self.buffer.iter().any(fits))
    }
}

/// Hashes all fields in one call, because hashing dominates the checker's time.
impl Hash for Row {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let mut packed = 0u128;
        let mut push = |byte: u8| packed = packed << 8 | u128::from(byte);
        push(code(Some(self.header.version)) << 1 | u8::from(self.header.locked));
        push(self.displaced_count << 1 | u8::from(self.has_chain));
        self.order[1..].iter().for_each(|version| push(code(*version)));
        for record in [self.body, self.buffer[0], self.buffer[1]] {
            push(code(record.version));
            push(code(record.successor));
            record.payload.iter().for_each(|word| push(code(Some(*word))));
        }
        hasher.write_u128(packed);
    }
}

/// A number for each version and for `None`, small enough to combine with one more bit.
fn code(version: Option<Version>) -> u8 {
    version.map_or(0, |version| {
        assert!(version.counter < 8, "writers try a few times only");
        1 + version.slot * 8 + version.counter
    })
}

const _: () = assert!(SLOT_COUNT == 2 && WORD_COUNT == 2 && BUFFER_SLOT_COUNT == 2);

/// The words by which numbered vectors are frozen.
///
/// The ring of numbered entries is reduced to its newest intact one: a process accepts an entry
/// only if its checksum matches, so its words appear all at once, and an older number is equivalent
/// to a slow reader of the newest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frozen {
    pub newest: Counters,
    /// The lock that a process tries before it freezes a newer one.
    pub locked: bool,
}

/// All of remote memory and every process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub rows: [Row; ROW_COUNT],
    /// The timestamp vector: the newest published number of each slot.
    pub slots: Counters,
    pub frozen: Frozen,
    /// The writers; each owns the slot with its index.
    pub writers: [Writer; SLOT_COUNT],
    pub readers: [Reader; READER_COUNT],
}

impl State {
    /// Memory before the first transaction.
    pub fn initial(writers: [Writer; SLOT_COUNT], readers: [Reader; READER_COUNT]) -> State {
        State {
            rows: [Row::initial(); ROW_COUNT],
            slots: [0; SLOT_COUNT],
            frozen: Frozen { newest: [0; SLOT_COUNT], locked: false },
            writers,
            readers,
        }
    }

    /// Whether the writer of a slot has published its current number.
    pub fn is_published(&self, slot: usize) -> bool {
        self.slots[slot] == self.writers[slot].counter
    }
}

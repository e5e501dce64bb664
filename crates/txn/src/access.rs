//! The rows a transaction has touched: its read set and write set in one list.

use fabric::Span;
use layout::{GlobalPtr, VersionWord};

/// A row in its transaction's access set. It ends with its transaction: a later one does not know it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RowId {
    /// Position in the access set.
    access: u32,
    /// Which transaction of the lane.
    transaction: u32,
}

impl RowId {
    #[inline(always)]
    pub(crate) fn new(access: u32, transaction: u32) -> Self {
        Self { access, transaction }
    }

    /// The position in the access set of the transaction that gave the row.
    ///
    /// # Panics
    /// If it is asked in another one.
    #[inline(always)]
    pub(crate) fn access_in(self, transaction: u32) -> u32 {
        assert!(self.transaction == transaction, "a row id ends with the transaction that gave it");
        self.access
    }
}

/// What the transaction has done with a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Read; visible to the snapshot.
    Read,
    /// Looked for and not there: no entry, a tombstone, or a version after the snapshot.
    Absent,
    /// Written; it existed.
    Updated,
    /// Written; it did not exist.
    Inserted,
    /// Deleted; it existed.
    Deleted,
}

/// What stands where an absent row would be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absence {
    /// The row exists for us.
    None,
    /// Nothing has this key.
    NoEntry,
    /// A tombstone that the snapshot covers; an insert updates it.
    Tombstone,
    /// A version after the snapshot: an insert would conflict.
    Later,
}

/// A row in the access set.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The table, by position in the catalog.
    pub table: u32,
    /// What was done.
    pub state: State,
    /// Why it is absent, if it is.
    pub absence: Absence,
    /// The image is an old version: the row has changed since the snapshot and cannot be written.
    pub is_old: bool,
    /// Address of the row's header, or null while it has none.
    pub row: GlobalPtr,
    /// Header and image in the arena as they were read; zeros for a new row.
    pub image: Span,
    /// Header and image with the transaction's changes; empty while there are none.
    pub fresh: Span,
    /// What the header must hold for a write to be allowed.
    pub version: VersionWord,
    /// First word of the encoded key in the arena.
    pub key_at: u32,
    /// For an absent row: what its bucket or leaf looked like, by position in the lane's list.
    pub place: u32,
    /// Hash of table and key, for the map.
    pub hash: u64,
    /// The buffer that the displaced version goes to, once commit has chosen it.
    pub buffer: GlobalPtr,
    /// The buffer comes out of the pool for this commit.
    pub has_new_buffer: bool,
}

impl Access {
    /// An access that nothing is known of yet but its key.
    #[inline]
    pub fn absent(table: u32, key_at: u32, hash: u64) -> Self {
        Self {
            table,
            state: State::Absent,
            absence: Absence::NoEntry,
            is_old: false,
            row: GlobalPtr::NULL,
            image: Span::default(),
            fresh: Span::default(),
            version: VersionWord::NONE,
            key_at,
            place: u32::MAX,
            hash,
            buffer: GlobalPtr::NULL,
            has_new_buffer: false,
        }
    }

    /// Whether commit has to lock and install the row.
    #[inline]
    pub fn is_written(&self) -> bool {
        matches!(self.state, State::Updated | State::Inserted | State::Deleted)
    }

    /// Whether commit makes the row, rather than changing one that stands there.
    #[inline]
    pub fn is_new(&self) -> bool {
        self.absence == Absence::NoEntry && self.state != State::Read
    }

    /// The words that hold the row as the transaction sees it.
    #[inline]
    pub fn current(&self) -> Span {
        if self.fresh.words > 0 { self.fresh } else { self.image }
    }
}

/// Finds accesses by hash. A transaction clears it by counting up, not by touching its memory.
pub struct AccessMap {
    places: Vec<(u64, u32, u32)>,
    generation: u32,
    used: usize,
}

const PLACES_MIN: usize = 256;

impl Default for AccessMap {
    fn default() -> Self {
        Self { places: vec![(0, 0, 0); PLACES_MIN], generation: 1, used: 0 }
    }
}

impl AccessMap {
    /// Forgets everything.
    #[inline]
    pub fn clear(&mut self) {
        self.used = 0;
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.places.fill((0, 0, 0));
            self.generation = 1;
        }
    }

    /// Walks the accesses with this hash until `matches` says yes.
    #[inline(always)]
    pub fn find(&self, hash: u64, mut matches: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.places.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let (other, access, generation) = self.places[at];
            if generation != self.generation {
                return None;
            }
            if other == hash && matches(access) {
                return Some(access);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds an access.
    #[inline(always)]
    pub fn insert(&mut self, hash: u64, access: u32) {
        if self.used * 2 >= self.places.len() {
            self.grow();
        }
        self.place(hash, access);
        self.used += 1;
    }

    #[inline]
    fn place(&mut self, hash: u64, access: u32) {
        let mask = self.places.len() - 1;
        let mut at = hash as usize & mask;
        while self.places[at].2 == self.generation {
            at = (at + 1) & mask;
        }
        self.places[at] = (hash, access, self.generation);
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![(0, 0, 0); self.places.len() * 4];
        let old = std::mem::replace(&mut self.places, larger);
        for (hash, access, generation) in old {
            if generation == self.generation {
                self.place(hash, access);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_inserted_since_the_last_clear() {
        let mut map = AccessMap::default();
        for n in 0..1000_u32 {
            map.insert(u64::from(n) * 256, n);
        }
        for n in 0..1000_u32 {
            assert_eq!(map.find(u64::from(n) * 256, |access| access == n), Some(n));
        }
        assert_eq!(map.find(256, |_| false), None);
        map.clear();
        assert_eq!(map.find(256, |_| true), None);
    }
}

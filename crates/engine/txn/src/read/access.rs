//! The access set: the rows that a transaction has read or written, in one list.
//!
//! Decision: docs/decisions/0058-the-access-map-uses-the-upper-bits-of-a-product.md

use crate::catalog::TableId;
use crate::lane::ids::Id;
use crate::read::ACCESSES_MAX;
use crate::write::write_set::{BucketInsertId, InsertSlot};
use crate::write::{BucketSeenId, LeafSeenId};
use fabric::Span;
use layout::{GlobalPtr, VersionWord};

/// The id of a row in its transaction's access set. It is valid only in that transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RowId {
    /// Position in the access set.
    access: u32,
    /// The number of the transaction in its lane.
    transaction: u32,
}

impl RowId {
    #[inline(always)]
    pub(crate) fn new(access: AccessId, transaction: u32) -> Self {
        Self { access: access.position(), transaction }
    }

    /// Whether it is of the transaction with this number.
    #[inline]
    pub(crate) fn is_of(self, transaction: u32) -> bool {
        self.transaction == transaction
    }

    /// The position in the access set of `transaction`.
    ///
    /// # Panics
    ///
    /// If the id is of another transaction.
    #[inline(always)]
    pub(crate) fn access_in(self, transaction: u32) -> AccessId {
        assert!(
            self.transaction == transaction,
            "a row id is valid only in the transaction that returned it"
        );
        AccessId::new(self.access)
    }
}

/// The state of a row in its transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Read; the snapshot covers it.
    Read,
    /// Looked up and absent: no entry, a tombstone, or a version after the snapshot.
    Absent,
    /// Updated; it existed before.
    Updated,
    /// Inserted; it did not exist.
    Inserted,
    /// Deleted; it existed before.
    Deleted,
}

/// The reason why a row is absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Absence {
    /// The row is present for the transaction.
    None,
    /// No entry has this key.
    NoEntry,
    /// No entry had this key when the lane last wrote the leaf. Suffices for an insert, which the
    /// commit checks, and for nothing else.
    Kept,
    /// The statement that was to look it up failed before. Suffices for nothing.
    Unknown,
    /// A tombstone that the snapshot covers; an insert updates it.
    Tombstone,
    /// A version after the snapshot: an insert would conflict.
    Later,
}

/// The place of an absent row's key: first the one that the lookup has read, then the one that the
/// commit fills.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyPlace {
    /// No lookup has ended yet.
    Unsettled,
    /// The lookup has read this bucket.
    BucketSeen(BucketSeenId),
    /// The lookup has read this leaf.
    LeafSeen(LeafSeenId),
    /// The transaction inserts into this bucket.
    BucketInsert(BucketInsertId),
    /// The commit fills this slot.
    Slot(InsertSlot),
}

impl KeyPlace {
    /// The bucket that the lookup has read.
    #[inline]
    pub fn bucket_seen(self) -> BucketSeenId {
        match self {
            Self::BucketSeen(seen) => seen,
            other => unreachable!("the key was looked for in a bucket: {other:?}"),
        }
    }

    /// The leaf that the lookup has read.
    #[inline]
    pub fn leaf_seen(self) -> LeafSeenId {
        match self {
            Self::LeafSeen(seen) => seen,
            other => unreachable!("the key was looked for in a leaf: {other:?}"),
        }
    }

    /// The bucket into which the transaction inserts.
    #[inline]
    pub fn bucket_insert(self) -> BucketInsertId {
        match self {
            Self::BucketInsert(insert) => insert,
            other => unreachable!("an insert into a bucket has noted it: {other:?}"),
        }
    }

    /// The slot that the commit fills.
    #[inline]
    pub fn slot(self) -> InsertSlot {
        match self {
            Self::Slot(slot) => slot,
            other => unreachable!("the commit has taken a slot: {other:?}"),
        }
    }
}

pub(crate) type AccessId = Id<Access>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub table: TableId,
    pub state: State,
    /// The reason why the row is absent, if it is.
    pub absence: Absence,
    /// The image is an old version: the row has changed after the snapshot and cannot be written.
    pub is_old: bool,
    /// Address of the row's header; null if it has none yet.
    pub row: GlobalPtr,
    /// Header and image in the arena as they were read; zeros for a new row.
    pub image: Span,
    /// Header and image with the transaction's changes; empty without changes.
    pub fresh: Span,
    /// The version that the header must have for the row to be locked.
    pub version: VersionWord,
    /// First word of the encoded key in the arena.
    pub key_at: u32,
    /// For an absent row: the place of its key.
    pub place: KeyPlace,
    /// The buffer for the displaced version, once the commit has chosen it.
    pub buffer: GlobalPtr,
    /// The commit has taken the buffer from the pool.
    pub has_new_buffer: bool,
}

impl Access {
    /// An access before its lookup, when only its key is known.
    #[inline]
    pub fn absent(table: TableId, key_at: u32) -> Self {
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
            place: KeyPlace::Unsettled,
            buffer: GlobalPtr::NULL,
            has_new_buffer: false,
        }
    }

    /// Marks an access as unknown if no lookup of it has ended.
    pub fn forget_if_unsettled(&mut self) {
        let is_unsettled = self.absence == Absence::NoEntry && self.place == KeyPlace::Unsettled;
        if is_unsettled && self.state == State::Absent {
            self.absence = Absence::Unknown;
        }
    }

    /// Whether the commit locks and installs the row.
    #[inline]
    pub fn is_written(&self) -> bool {
        matches!(self.state, State::Updated | State::Inserted | State::Deleted)
    }

    /// Whether the commit creates the row instead of changing an existing one.
    #[inline]
    pub fn is_new(&self) -> bool {
        matches!(self.absence, Absence::NoEntry | Absence::Kept) && self.state != State::Read
    }

    /// The words of the row as the transaction sees it.
    #[inline]
    pub fn current(&self) -> Span {
        if self.fresh.words > 0 { self.fresh } else { self.image }
    }
}

/// Finds accesses by hash. A transaction clears it by incrementing the generation, without touching
/// its memory.
pub(crate) struct AccessMap {
    places: Vec<Place>,
    /// The place of a 64-bit hash is in its uppermost bits; this is the number of the other bits.
    shift: u32,
    generation: u32,
    used: usize,
}

/// A place of the map in eight bytes, so that those of most transactions stay in the first-level
/// cache.
///
/// ```text
///  63            32 31        22 21        0
/// +----------------+------------+-----------+
/// | hash, upper 32 | generation |  access   |
/// +----------------+------------+-----------+
/// ```
type Place = u64;

const ACCESS_BITS: u32 = 22;
const _: () = assert!(ACCESSES_MAX == 1 << ACCESS_BITS);
/// Generations begin with 1; places that were never used have 0.
const GENERATION_MAX: u32 = (1 << (32 - ACCESS_BITS)) - 1;
const PLACES_MIN: usize = 256;

/// The place for an access that the map does not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vacancy {
    /// The upper half of the hash of table and key.
    hash: u32,
    place: u32,
}

impl Default for AccessMap {
    fn default() -> Self {
        let shift = 64 - PLACES_MIN.ilog2();
        Self { places: vec![0; PLACES_MIN], shift, generation: 1, used: 0 }
    }
}

impl AccessMap {
    #[inline]
    pub fn clear(&mut self) {
        self.used = 0;
        self.generation += 1;
        if self.generation > GENERATION_MAX {
            self.places.fill(0);
            self.generation = 1;
        }
    }

    /// Gives up the memory of an empty map.
    pub fn shrink(&mut self) {
        debug_assert!(self.used == 0, "accesses are not forgotten");
        *self = Self::default();
    }

    /// Number of accesses in the map.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Tries the accesses with this hash until `matches` returns true.
    #[inline(always)]
    pub fn find(
        &self,
        hash: u64,
        mut matches: impl FnMut(AccessId) -> bool,
    ) -> Result<AccessId, Vacancy> {
        let mask = self.places.len() - 1;
        let mut at = (hash >> self.shift) as usize;
        loop {
            let place = self.places[at];
            if place as u32 >> ACCESS_BITS != self.generation {
                return Err(Vacancy { hash: (hash >> 32) as u32, place: at as u32 });
            }
            let access = AccessId::new(place as u32 & (ACCESSES_MAX as u32 - 1));
            if place >> 32 == hash >> 32 && matches(access) {
                return Ok(access);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds an access at the vacancy that [`Self::find`] has just returned.
    #[inline(always)]
    pub fn insert(&mut self, vacancy: Vacancy, access: AccessId) {
        let Vacancy { hash, place } = vacancy;
        debug_assert!((access.position() as usize) < ACCESSES_MAX);
        debug_assert!(self.places[place as usize] as u32 >> ACCESS_BITS != self.generation);
        let known = self.generation << ACCESS_BITS | access.position();
        self.places[place as usize] = u64::from(hash) << 32 | u64::from(known);
        self.used += 1;
        if self.used * 2 >= self.places.len() {
            self.grow();
        }
    }

    /// Removes an access, if it is there.
    pub fn remove(&mut self, hash: u64, access: AccessId) {
        let mask = self.places.len() - 1;
        let is_used = |place: Place| place as u32 >> ACCESS_BITS == self.generation;
        let removed = self.generation << ACCESS_BITS | access.position();
        let mut gap = (hash >> self.shift) as usize;
        while self.places[gap] as u32 != removed {
            if !is_used(self.places[gap]) {
                return;
            }
            gap = (gap + 1) & mask;
        }
        // Those behind it move up, unless they would be before the place where a search begins.
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let place = self.places[at];
            if !is_used(place) {
                break;
            }
            let begin = (place >> self.shift) as usize;
            if at.wrapping_sub(begin) & mask >= at.wrapping_sub(gap) & mask {
                self.places[gap] = place;
                gap = at;
            }
        }
        self.places[gap] = 0;
        self.used -= 1;
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![0; self.places.len() * 4];
        self.shift -= 2;
        let mask = larger.len() - 1;
        for place in std::mem::replace(&mut self.places, larger) {
            if place as u32 >> ACCESS_BITS == self.generation {
                let mut at = (place >> self.shift) as usize;
                while self.places[at] != 0 {
                    at = (at + 1) & mask;
                }
                self.places[at] = place;
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
        // Some hashes are equal, and some have equal upper bits.
        let hash = |n: u32| u64::from(n % 700) << 40;
        for _ in 0..2 * GENERATION_MAX {
            assert!(map.find(hash(7), |_| true).is_err());
            for n in 0..3 {
                let vacancy =
                    map.find(hash(n), |access| access.position() == n).expect_err("it is new");
                map.insert(vacancy, AccessId::new(n));
            }
            map.clear();
        }
        for n in 0..1000 {
            let vacancy =
                map.find(hash(n), |access| access.position() == n).expect_err("it is new");
            map.insert(vacancy, AccessId::new(n));
        }
        for n in 0..1000 {
            let found = map.find(hash(n), |access| access.position() == n);
            assert_eq!(found.expect("it exists"), AccessId::new(n));
        }
        assert!(map.find(hash(1), |_| false).is_err());
        map.clear();
        assert!(map.find(hash(1), |_| true).is_err());
    }

    #[test]
    fn removes_the_last_ones_and_finds_all_others() {
        let mut map = AccessMap::default();
        // Searches of neighbouring hashes pass each other, also around the end of the table.
        let hash = |n: u32| u64::from(n % 97).wrapping_sub(40) << 48 | u64::from(n) << 32;
        let find = |map: &AccessMap, n: u32| map.find(hash(n), |access| access.position() == n);
        let mut count = 0;
        for round in 0..200 {
            for n in count..count + 40 {
                let vacancy = find(&map, n).expect_err("it is new");
                map.insert(vacancy, AccessId::new(n));
            }
            let kept = count + round % 7;
            for n in (kept..count + 40).rev() {
                map.remove(hash(n), AccessId::new(n));
                map.remove(hash(n), AccessId::new(n));
            }
            count = kept;
            assert!((0..count).all(|n| find(&map, n).is_ok()) && map.len() == count as usize);
            assert!((count..count + 40).all(|n| find(&map, n).is_err()));
        }
    }
}

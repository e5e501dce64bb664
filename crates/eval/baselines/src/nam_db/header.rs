//! The header of a version [ZB17 5.1].
//!
//! ```text
//!  63          35 34               3    2       1        0
//! +--------------+------------------+-------+---------+--------+
//! | slot (29)    | timestamp (32)   | moved | deleted | locked |
//! +--------------+------------------+-------+---------+--------+
//! ```

const TIMESTAMP_SHIFT: u32 = 3;
const SLOT_SHIFT: u32 = 35;
const LOCKED: u64 = 1;
const DELETED: u64 = 1 << 1;
const MOVED: u64 = 1 << 2;
/// The largest number of a slot of the vector: at 30,000 commits a second, 2^32 numbers last for 39
/// hours.
pub const TIMESTAMP_MAX: u64 = u32::MAX as u64;
const _: () = assert!(SLOT_SHIFT - TIMESTAMP_SHIFT == 32 && 64 - SLOT_SHIFT == 29);

/// A header, as the word in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header(pub u64);

impl Header {
    /// No version was ever stored here.
    pub const NONE: Self = Self(0);

    /// The header of a version that a commit of a slot writes.
    pub fn new(slot: u32, timestamp: u64, is_deleted: bool) -> Self {
        assert!(timestamp <= TIMESTAMP_MAX, "a slot has used up its numbers");
        let deleted = if is_deleted { DELETED } else { 0 };
        Self(u64::from(slot) << SLOT_SHIFT | timestamp << TIMESTAMP_SHIFT | deleted)
    }

    /// The slot of the vector that the version belongs to.
    pub fn slot(self) -> usize {
        (self.0 >> SLOT_SHIFT) as usize
    }

    pub fn timestamp(self) -> u64 {
        self.0 >> TIMESTAMP_SHIFT & TIMESTAMP_MAX
    }

    /// Whether a version is or was here; a place that is only claimed for a record has none.
    pub fn is_version(self) -> bool {
        self.timestamp() > 0
    }

    /// Whether a transaction commits here.
    pub fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    /// Whether this version marks a deleted record.
    pub fn is_deleted(self) -> bool {
        self.0 & DELETED != 0
    }

    /// Whether its place in the buffer may be reused.
    pub fn is_moved(self) -> bool {
        self.0 & MOVED != 0
    }

    pub fn locked(self) -> Self {
        Self(self.0 | LOCKED)
    }

    pub fn unlocked(self) -> Self {
        Self(self.0 & !LOCKED)
    }

    /// The header after its version was moved to the overflow region.
    pub fn moved(self) -> Self {
        Self(self.0 | MOVED)
    }

    /// Whether a snapshot includes the version [ZB17 4.1]: its timestamp is at most that of its
    /// slot.
    pub fn is_visible(self, vector: &[u64]) -> bool {
        let covered = vector.get(self.slot()).copied().unwrap_or(0);
        self.is_version() && self.timestamp() <= covered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_apart() {
        let header = Header::new((1 << 29) - 1, TIMESTAMP_MAX, true);
        assert_eq!((header.slot(), header.timestamp()), ((1 << 29) - 1, TIMESTAMP_MAX));
        assert!(header.is_deleted() && !header.is_locked() && !header.is_moved());
        assert!(header.locked().is_locked() && header.moved().is_moved());
        assert_eq!(header.locked().unlocked(), header);
    }

    #[test]
    fn a_snapshot_has_what_its_slot_covers_and_no_claims() {
        let header = Header::new(1, 7, false);
        assert!(header.is_visible(&[0, 7]) && !header.is_visible(&[9, 6]));
        assert!(header.locked().is_visible(&[0, 7]), "a lock hides nothing");
        assert!(!Header::NONE.locked().is_visible(&[9, 9]));
    }
}

//! The overflow region of a data server: a list per record of versions that were moved out of the
//! buffers [ZB17 5.1], until they are too old to be kept [ZB17 5.3].
//!
//! ```text
//! word | field  | meaning
//!    0 | older  | the version of the same record that was moved before
//!    1 | owner  | the record
//!    2 | header |
//!    3 | data   |
//! ```

use layout::{GlobalPtr, RegionId, WORD_BYTES};
use std::collections::VecDeque;

/// Words of an entry before its data.
pub(super) const ENTRY_HEAD: u64 = 3;
/// The word of an entry's owner.
pub(super) const OWNER: usize = 1;
/// The word of an entry's header.
pub(super) const ENTRY_HEADER: usize = 2;

/// The allocation of the region; only the server knows it.
#[derive(Debug)]
pub(super) struct OverflowRegion {
    region: RegionId,
    first: u64,
    words: u64,
    next: u64,
    /// The kept entries, oldest first: first word, end, and the time of the move.
    kept: VecDeque<(u64, u64, u64)>,
    /// Versions that were moved longer ago may be overwritten: the longest time of a transaction.
    kept_ns: u64,
}

impl OverflowRegion {
    pub(super) fn new(region: RegionId, (first, words): (u64, u64), kept_ns: u64) -> Self {
        Self { region, first, words, next: first, kept: VecDeque::new(), kept_ns }
    }

    /// A place for an entry; `None` if all entries must be kept.
    pub(super) fn place(&mut self, words: u64, now_ns: u64) -> Option<GlobalPtr> {
        let end = self.first + self.words;
        let start = if self.next + words > end { self.first } else { self.next };
        let entry = start..start + words;
        while let Some(&(first, last, moved_ns)) = self.kept.front() {
            let skipped = start < self.next && first >= self.next;
            let is_in_the_way = skipped || first < entry.end && entry.start < last;
            if !is_in_the_way {
                break;
            }
            if now_ns < moved_ns + self.kept_ns {
                return None;
            }
            self.kept.pop_front();
        }
        if entry.end > end {
            return None;
        }
        self.next = entry.end;
        self.kept.push_back((entry.start, entry.end, now_ns));
        Some(GlobalPtr::new(self.region, start * WORD_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_first_and_not_before_their_time() {
        let mut overflow = OverflowRegion::new(RegionId(1), (100, 10), 50);
        let mut place =
            |words, now_ns| overflow.place(words, now_ns).map(|at| at.offset() / WORD_BYTES);
        assert_eq!(place(4, 0), Some(100));
        assert_eq!(place(4, 10), Some(104));
        assert_eq!(place(4, 20), None, "the first is kept until 50");
        assert_eq!(place(4, 50), Some(100));
        assert_eq!(place(2, 55), None, "the second is kept until 60");
        assert_eq!(place(2, 60), Some(104));
        assert_eq!(place(11, 1000), None, "nothing is longer than the region");
    }
}

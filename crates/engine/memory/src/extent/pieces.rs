//! The memory of one region: free pieces below a mark, and fresh memory above it.
//!
//! Decision: docs/decisions/0044-free-extents-are-merged-and-split.md

use super::AllocateError;
use super::extents::State;

impl State {
    /// Takes the smallest free piece that is large enough; the rest of it stays free.
    pub(super) fn take_free(&mut self, bytes: u64) -> Option<u64> {
        let fits = self.free.iter().filter(|&(_, &free)| free >= bytes);
        let (&offset, &free) = fits.min_by_key(|&(_, &free)| free)?;
        self.free.remove(&offset);
        if free > bytes {
            self.free.insert(offset + bytes, free - bytes);
        }
        Some(offset)
    }

    /// Adds a free piece, merged with adjacent ones; if it reaches the mark, lowers the mark to its
    /// start.
    pub(super) fn add_free(&mut self, offset: u64, bytes: u64) {
        let (mut start, mut end) = (offset, offset + bytes);
        assert!(bytes > 0 && end <= self.mark, "memory above the mark was never allocated");
        assert!(self.free.range(start..end).next().is_none(), "memory is freed once");
        if let Some((&before, &free)) = self.free.range(..start).next_back()
            && before + free >= start
        {
            assert!(before + free == start, "memory is freed once");
            self.free.remove(&before);
            start = before;
        }
        if let Some(free) = self.free.remove(&end) {
            end += free;
        }
        if end == self.mark {
            self.mark = start;
        } else {
            self.free.insert(start, end - start);
        }
    }

    /// Whether every byte below the mark belongs to at most one extent or free piece.
    pub(super) fn is_consistent(&self) -> bool {
        let used = self.used.values().flatten();
        let mut pieces: Vec<(u64, u64)> =
            used.chain(&self.free).map(|(at, bytes)| (*at, at.saturating_add(*bytes))).collect();
        pieces.sort_unstable();
        let is_apart = |pair: &[(u64, u64)]| pair[0].1 <= pair[1].0;
        let end = pieces.last().map_or(0, |(_, end)| *end);
        pieces.windows(2).all(is_apart) && end <= self.mark && self.mark <= self.region_bytes
    }

    pub(super) fn take_fresh(&mut self, bytes: u64) -> Result<u64, AllocateError> {
        if bytes > self.region_bytes - self.mark {
            return Err(self.full(bytes));
        }
        let offset = self.mark;
        self.mark += bytes;
        Ok(offset)
    }
}

#[cfg(test)]
mod tests {
    use crate::extent::{AllocateError, Extents, Label, Need};
    use layout::{GlobalPtr, RegionId, region};

    #[test]
    fn adjacent_free_pieces_merge_and_serve_any_size() {
        let page = region::HEADER_BYTES;
        let extents = Extents::new(RegionId(0), 9 * page);
        let take = |pages: u64| {
            extents.allocate(pages * page, Label(1), Need::Growth).map(GlobalPtr::offset)
        };
        let give = |offset: u64| {
            let bytes = extents.forget(offset, Label(1)).expect("it was allocated");
            extents.recycle(offset, bytes);
        };
        let taken =
            [take(1), take(2), take(3), take(1), take(1)].map(|at| at.expect("there is room"));
        let error = take(1).expect_err("all is allocated");
        assert!(matches!(error, AllocateError::Full { free_bytes: 0, .. }), "{error}");
        // The free pieces at 1, 3 and 2 become one of 6 pages, but the smallest piece that fits is
        // taken.
        give(taken[0]);
        give(taken[2]);
        assert_eq!(take(3), Ok(taken[2]), "the smallest piece that is large enough");
        give(taken[2]);
        give(taken[1]);
        let error = take(7).expect_err("six pages are free");
        assert!(matches!(error, AllocateError::Full { free_bytes, .. } if free_bytes == 6 * page));
        assert_eq!((take(5), take(1)), (Ok(taken[0]), Ok(taken[0] + 5 * page)));
        // Free memory at the end becomes fresh again.
        give(taken[4]);
        give(taken[3]);
        give(taken[0]);
        give(taken[0] + 5 * page);
        assert_eq!(take(8), Ok(taken[0]));
    }
}

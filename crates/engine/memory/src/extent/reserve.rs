//! The reserve: memory that only updates and deletes get, so that a full server can free some.

use super::extents::State;
use super::{AllocateError, Label};
use fabric::CallError;

/// A region keeps one part in this number in reserve for updates and deletes.
const RESERVE_SHARE: u64 = 16;
/// Most bytes of a reserve.
const RESERVE_BYTES_MAX: u64 = 16 << 20;
/// Smallest region with a reserve; only tests have smaller ones.
const RESERVED_REGION_BYTES_MIN: u64 = 8 << 20;
/// A free piece below this size does not count for the reserve: a version buffer of long rows
/// would not fit.
const RESERVED_PIECE_BYTES_MIN: u64 = 16 * 1024;

/// The reason for a request, which decides how much of a server's reserve it may take.
///
/// A delete needs memory before it frees any: the deleted version stays in a version buffer until
/// no snapshot needs it. If inserts could take everything, a full server would stay full for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// New rows, index entries, values and tables: nothing of the reserve.
    Growth,
    /// Old versions of updated rows. A label gets at most a quarter of what is left for the others.
    Update,
    /// Old versions of deleted rows. A label gets at most as much as is left for the others.
    Delete,
}

impl Need {
    /// A label may hold at most the rest of the reserve divided by this.
    fn divisor(self) -> u64 {
        match self {
            Self::Growth => u64::MAX,
            Self::Update => 4,
            Self::Delete => 1,
        }
    }

    pub(super) fn number(self) -> u64 {
        match self {
            Self::Growth => 0,
            Self::Update => 1,
            Self::Delete => 2,
        }
    }

    pub(super) fn from_number(number: u64) -> Result<Self, CallError> {
        let needs = [Self::Growth, Self::Update, Self::Delete];
        needs.into_iter().find(|need| need.number() == number).ok_or(CallError::Malformed("a need"))
    }
}

/// The reserve of a region of this size.
pub(super) fn reserve_bytes(region_bytes: u64) -> u64 {
    match region_bytes {
        ..RESERVED_REGION_BYTES_MIN => 0,
        _ => (region_bytes / RESERVE_SHARE).min(RESERVE_BYTES_MAX),
    }
}

impl State {
    /// Bytes of the free pieces of at least `least_bytes` bytes.
    fn free_bytes(&self, least_bytes: u64) -> u64 {
        let pieces = self.free.values().filter(|&&bytes| bytes >= least_bytes);
        pieces.sum::<u64>() + self.region_bytes - self.mark
    }

    /// Checks a request against the reserve: returns whether it takes memory from the reserve, or
    /// an error if `need` does not allow that.
    pub(super) fn check_reserve(
        &self,
        bytes: u64,
        label: Label,
        need: Need,
    ) -> Result<bool, AllocateError> {
        let least_bytes = match need {
            Need::Growth => RESERVED_PIECE_BYTES_MIN,
            Need::Update | Need::Delete => bytes.min(RESERVED_PIECE_BYTES_MIN),
        };
        let free_bytes = self.free_bytes(least_bytes);
        let left_bytes = free_bytes.saturating_sub(bytes);
        if left_bytes >= self.reserve_bytes {
            return Ok(false);
        }
        let of_label = self.reserved.values().filter(|&&(holder, _)| holder == label);
        let drawn_bytes = bytes + of_label.map(|&(_, bytes)| bytes).sum::<u64>();
        if need != Need::Growth && drawn_bytes <= left_bytes / need.divisor() {
            return Ok(true);
        }
        Err(self.full(bytes))
    }

    /// The error for a request for `wanted_bytes`. It names the bytes that a request for growth
    /// would get.
    pub(super) fn full(&self, wanted_bytes: u64) -> AllocateError {
        let fresh_bytes = self.region_bytes - self.mark;
        let largest = self.free.values().copied().fold(fresh_bytes, u64::max);
        let free_bytes = match self.reserve_bytes {
            0 => largest,
            reserve_bytes => {
                let free_bytes = self.free_bytes(RESERVED_PIECE_BYTES_MIN);
                largest.min(free_bytes.saturating_sub(reserve_bytes))
            }
        };
        AllocateError::Full { wanted_bytes, free_bytes, region_bytes: self.region_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extent::Extents;
    use layout::{GlobalPtr, RegionId, region};

    #[test]
    fn growth_leaves_a_reserve_that_every_label_can_draw_on() {
        let (region_bytes, page) = (16 << 20, region::HEADER_BYTES);
        let reserve = region_bytes / RESERVE_SHARE;
        let extents = Extents::new(RegionId(0), region_bytes);
        let error = extents.allocate(region_bytes, Label(1), Need::Growth).expect_err("too much");
        let AllocateError::Full { free_bytes, .. } = error else { panic!("{error}") };
        assert_eq!(free_bytes, region_bytes - page - reserve);
        extents.allocate(free_bytes, Label(1), Need::Growth).expect("it is free");
        assert!(extents.allocate(page, Label(1), Need::Growth).is_err(), "the reserve stays");
        let draw = |label, need| {
            let pages = (0..).take_while(|_| extents.allocate(page, label, need).is_ok()).count();
            pages as u64 * page
        };
        // One fifth: an update stops at a quarter of what is left. One half: a delete stops at what
        // is left.
        assert_eq!(draw(Label(1), Need::Update), (reserve / 5).next_multiple_of(page) - page);
        assert_eq!(draw(Label(1), Need::Delete) / page, reserve / 2 / page - 51);
        for label in 2..6 {
            assert!(draw(Label(label), Need::Delete) >= 8 * page, "label {label} gets a part");
        }
        assert!(extents.allocate(page, Label(6), Need::Growth).is_err());
        for label in 1..6 {
            for offset in extents.extents_of(Label(label)) {
                let bytes = extents.forget(offset, Label(label)).expect("it was allocated");
                extents.recycle(offset, bytes);
            }
        }
        extents.allocate(free_bytes, Label(1), Need::Growth).expect("all is free again");
    }

    #[test]
    fn free_pieces_of_the_least_size_count_for_growth() {
        let (region_bytes, piece) = (RESERVED_REGION_BYTES_MIN, RESERVED_PIECE_BYTES_MIN);
        let extents = Extents::new(RegionId(0), region_bytes);
        let take = || extents.allocate(piece, Label(1), Need::Growth).ok();
        let taken: Vec<GlobalPtr> = std::iter::from_fn(take).collect();
        // The last one stays, so that no piece becomes fresh memory.
        let others = &taken[..taken.len() - 1];
        let freed: Vec<GlobalPtr> = others.iter().copied().step_by(2).collect();
        for extent in &freed {
            let bytes = extents.forget(extent.offset(), Label(1)).expect("it was allocated");
            extents.recycle(extent.offset(), bytes);
        }
        assert_eq!(std::iter::from_fn(take).count(), freed.len(), "as many as were freed");
    }

    #[test]
    fn a_label_that_was_freed_gets_as_much_of_the_reserve_as_before() {
        let (region_bytes, page) = (RESERVED_REGION_BYTES_MIN, region::HEADER_BYTES);
        let extents = Extents::new(RegionId(0), region_bytes);
        let growth_bytes = region_bytes - page - region_bytes / RESERVE_SHARE;
        extents.allocate(growth_bytes, Label(1), Need::Growth).expect("it is free");
        let draw = || {
            let take = || extents.allocate(page, Label(2), Need::Delete).ok();
            let taken: Vec<GlobalPtr> = std::iter::from_fn(take).collect();
            for extent in &taken {
                let bytes = extents.forget(extent.offset(), Label(2)).expect("it was allocated");
                extents.recycle(extent.offset(), bytes);
            }
            taken.len()
        };
        let first = draw();
        assert!(first > 0, "a label can draw on the reserve");
        assert_eq!([draw(), draw()], [first, first]);
    }
}

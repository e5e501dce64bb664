//! The list of a region's extents, behind its header: with replicas, a server that takes the region
//! over learns from it what is allocated. It has a word for each page of the region; the memory
//! server writes those of the first and the last page of an extent before anybody gets the extent.
//!
//! ```text
//!  63      62                    29 28                    0
//! +-------+------------------------+-----------------------+
//! | known |         label          |         pages         |
//! +-------+------------------------+-----------------------+
//! known  the page was the first or the last one of an extent at some time, and is never 0 again
//! label  the owner of the extent that begins here
//! pages  its pages; 0 if no extent begins here
//! ```
//!
//! # Invariants
//! Memory that belongs to no extent is zero. All memory behind the last known page was never
//! allocated. The words of an extent are written while it has an owner, so each has one writer.
//!
//! Decision: docs/decisions/0355-free-memory-follows-its-region.md

use crate::address::{GlobalPtr, RegionId, WORD_BYTES};
use crate::region::HEADER_BYTES;

/// Bytes of a page: extents begin and end with one.
pub const PAGE_BYTES: u64 = HEADER_BYTES;

const KNOWN: u64 = 1 << 63;
const PAGES_BITS: u32 = 29;
const PAGES_MASK: u64 = (1 << PAGES_BITS) - 1;
const LABEL_BITS: u32 = 34;
/// Most bytes of a region with a list: 2 TiB.
pub const REGION_BYTES_MAX: u64 = PAGES_MASK * PAGE_BYTES;
/// Labels of tables and indexes are below this.
pub const LABEL_MAX: u64 = (1 << LABEL_BITS) - 1;
const _: () = assert!(1 + PAGES_BITS + LABEL_BITS == u64::BITS);

/// The word of a page at which no extent begins any more, or of the last page of one.
pub const KNOWN_PAGE: u64 = KNOWN;

/// The word of the first page of an extent.
#[inline]
pub const fn first_page(label: u64, bytes: u64) -> u64 {
    assert!(label <= LABEL_MAX && bytes <= REGION_BYTES_MAX && bytes.is_multiple_of(PAGE_BYTES));
    KNOWN | (label << PAGES_BITS) | (bytes / PAGE_BYTES)
}

/// The label and the bytes of the extent that begins at a page with this word.
#[inline]
pub const fn extent_of(word: u64) -> Option<(u64, u64)> {
    let (label, pages) = (word >> PAGES_BITS & LABEL_MAX, word & PAGES_MASK);
    if pages == 0 { None } else { Some((label, pages * PAGE_BYTES)) }
}

/// Bytes of the list of a region, which begins behind the header.
#[inline]
pub const fn list_bytes(region_bytes: u64) -> u64 {
    (region_bytes / PAGE_BYTES * WORD_BYTES).next_multiple_of(PAGE_BYTES)
}

/// The address of the word of the page at `offset`.
#[inline]
pub const fn page_word(region: RegionId, offset: u64) -> GlobalPtr {
    GlobalPtr::new(region, HEADER_BYTES + offset / PAGE_BYTES * WORD_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_word_survive_packing() {
        for (label, pages) in [(0, 1), (LABEL_MAX, 7), (3, REGION_BYTES_MAX / PAGE_BYTES)] {
            let word = first_page(label, pages * PAGE_BYTES);
            assert_eq!(extent_of(word), Some((label, pages * PAGE_BYTES)));
            assert!(word >= KNOWN_PAGE);
        }
        assert_eq!((extent_of(KNOWN_PAGE), extent_of(0)), (None, None));
    }

    #[test]
    fn a_list_has_a_word_for_each_page() {
        assert_eq!(list_bytes(1 << 16), PAGE_BYTES);
        assert_eq!(list_bytes(1 << 30), (1 << 30) / 512);
        let region = RegionId(2);
        let last = page_word(region, (1 << 30) - PAGE_BYTES);
        assert_eq!(last.offset(), HEADER_BYTES + list_bytes(1 << 30) - WORD_BYTES);
    }
}

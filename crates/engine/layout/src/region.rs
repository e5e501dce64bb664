//! The first words of every region: its format and size, and its collected-up-to stamp.
//!
//! Decision: docs/decisions/0026-collected-up-to-words-make-collection-safe.md

use crate::address::{GlobalPtr, RegionId, WORD_BYTES};
use crate::version::SlotId;

/// "namdb" and a region mark, in ASCII.
pub const MAGIC: u64 = u64::from_be_bytes(*b"namdbRGN");
/// Raised with every change of a layout in this crate; servers with different formats refuse each
/// other.
pub const FORMAT_VERSION: u64 = 11;

/// Bytes of the header at the start of each region, one page.
///
/// ```text
/// word | field     | written by              | meaning
///    0 | magic     | memory server, at start | MAGIC
///    1 | format    | memory server, at start | FORMAT_VERSION
///    2 | bytes     | memory server, at start | size of the region
///    3 | checksum  | memory server, at start | over words 0..3
///    4 | collected | compare-and-swap        | stamp up to which versions were collected here
///    5 | listed    | memory server           | with replicas: bytes of the region whose extents
///      |           |                         | are in the list behind the header, or 0 if there
///      |           |                         | are none: see [`crate::extent_list`]
///   64 | marks     | the lane of each slot   | two words of each: ids of the last journal entries
///      |           |                         | whose batch 2 has reached the server, and, with
///      |           |                         | replicas, has arrived whole: see [`crate::journal`]
/// ```
pub const HEADER_BYTES: u64 = 4096;
/// Word of the bytes with which the region was created.
pub const BYTES_WORD: u64 = 2;
/// Word of the region's collected-up-to stamp.
pub const COLLECTED_WORD: u64 = 4;
const _: () = assert!(COLLECTED_WORD * WORD_BYTES < HEADER_BYTES);

/// The four words that a memory server writes when it creates a region of `bytes` bytes.
pub fn header(bytes: u64) -> [u64; 4] {
    let fixed = [MAGIC, FORMAT_VERSION, bytes];
    [fixed[0], fixed[1], fixed[2], crate::row::checksum(&fixed, crate::row::Cover::All)]
}

/// The address of the collected-up-to word of `region`.
#[inline]
pub const fn collected(region: RegionId) -> GlobalPtr {
    GlobalPtr::new(region, COLLECTED_WORD * WORD_BYTES)
}

/// Word of the bytes whose extents are listed.
pub const LISTED_WORD: u64 = 5;
const _: () = assert!(LISTED_WORD < MARKS_WORD);

/// The address of the bytes of `region` whose extents are listed.
#[inline]
pub const fn listed(region: RegionId) -> GlobalPtr {
    GlobalPtr::new(region, LISTED_WORD * WORD_BYTES)
}

/// Word of the first mark.
const MARKS_WORD: u64 = 64;
/// Most slots of a database with journals: each has a mark in the header.
pub const MARKS_MAX: u32 = ((HEADER_BYTES / WORD_BYTES - MARKS_WORD) / 2) as u32;

/// The address of the mark of a slot's lane in `region`.
#[inline]
pub const fn mark(region: RegionId, slot: SlotId) -> GlobalPtr {
    debug_assert!((slot.0 as u32) < MARKS_MAX);
    GlobalPtr::new(region, (MARKS_WORD + 2 * slot.0 as u64) * WORD_BYTES)
}

/// The address of the end mark of a slot's lane in `region`.
#[inline]
pub const fn end_mark(region: RegionId, slot: SlotId) -> GlobalPtr {
    mark(region, slot).add_words(1)
}

/// Why a region's header is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegionError {
    /// The region was not created by this program.
    #[error("the region does not start with the magic number of namdb")]
    Magic,
    /// The region was created by another version of this program.
    #[error(
        "the region has format {found}, this program reads format {FORMAT_VERSION}; use the same version everywhere"
    )]
    Format { found: u64 },
    /// The header is damaged.
    #[error("the region's header does not match its checksum")]
    Checksum,
}

/// Checks the first four words of a region.
pub fn check_header(words: [u64; 4]) -> Result<(), RegionError> {
    if words[0] != MAGIC {
        return Err(RegionError::Magic);
    }
    if words[1] != FORMAT_VERSION {
        return Err(RegionError::Format { found: words[1] });
    }
    if words != header(words[2]) {
        return Err(RegionError::Checksum);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_headers_are_told_apart() {
        let good = header(1 << 30);
        assert_eq!(check_header(good), Ok(()));
        assert_eq!(check_header([1, good[1], good[2], good[3]]), Err(RegionError::Magic));
        let newer = [good[0], FORMAT_VERSION + 1, good[2], good[3]];
        assert_eq!(check_header(newer), Err(RegionError::Format { found: FORMAT_VERSION + 1 }));
        assert_eq!(check_header([good[0], good[1], 1, good[3]]), Err(RegionError::Checksum));
    }
}

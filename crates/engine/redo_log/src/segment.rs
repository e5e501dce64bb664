//! The first page of a segment's file.
//!
//! ```text
//! byte | content
//!    0 | header, 512 bytes
//!  512 | sync marker with an even number, 512 bytes: see `marker`
//! 1024 | sync marker with an odd number, 512 bytes
//! 1536 | zeros
//! 4096 | blocks and group records, without gaps; zeros behind them while the segment is open
//! ```
//!
//! Blocks begin on a page of their own, so that writing a marker rewrites none of them.

use crate::bytes::{put, u32_at, u64_at};
use crate::marker::{MARKER_BYTES, Marker};
use crate::position::{DatabaseId, Incarnation};

/// Raised with every change of the log's bytes.
pub const FORMAT_VERSION: u32 = 1;
/// Bytes of the header.
pub const HEADER_BYTES: usize = 512;
/// Offsets of the two markers.
pub const MARKERS: [u64; 2] = [512, 1024];
/// Offset of the zeros behind the markers.
pub(crate) const PAGE_ZEROS: usize = 1536;
/// Offset of the first block.
pub const BLOCKS: u64 = 4096;

const MAGIC: [u8; 8] = *b"namdbRED";
const FORMAT: usize = 8;
const CHECKSUM: usize = 12;
const DATABASE: usize = 16;
const SEGMENT: usize = 32;
const INCARNATION: usize = 40;
const RESERVED: usize = 44;
const PREVIOUS_END: usize = 48;
const PREVIOUS_GROUP: usize = 56;
const ZEROS: usize = 64;

const _: () = {
    assert!(FORMAT == MAGIC.len() && CHECKSUM == FORMAT + 4 && DATABASE == CHECKSUM + 4);
    assert!(SEGMENT == DATABASE + 16 && INCARNATION == SEGMENT + 8);
    assert!(RESERVED == INCARNATION + 4 && PREVIOUS_END == RESERVED + 4);
    assert!(PREVIOUS_GROUP == PREVIOUS_END + 8 && ZEROS == PREVIOUS_GROUP + 8);
    assert!(ZEROS <= HEADER_BYTES && HEADER_BYTES as u64 == storage::SECTOR_BYTES);
    assert!(MARKERS[0] == HEADER_BYTES as u64 && MARKERS[1] == MARKERS[0] + MARKER_BYTES as u64);
    assert!(PAGE_ZEROS as u64 == MARKERS[1] + MARKER_BYTES as u64 && PAGE_ZEROS as u64 <= BLOCKS);
};

/// The header of a segment. It never changes.
///
/// ```text
/// byte | field          | bytes | meaning
///    0 | magic          |     8 | "namdbRED"
///    8 | format         |     4 | FORMAT_VERSION
///   12 | checksum       |     4 | CRC-32 of the header without this field
///   16 | database       |    16 | identity of the database
///   32 | segment        |     8 | number of the segment, as in the file's name
///   40 | incarnation    |     4 | the start of the database that writes the segment
///   44 | reserved       |     4 | 0
///   48 | previous end   |     8 | length of the segment before; 0 for the first
///   56 | previous group |     8 | number of the last group before this segment
///   64 | zeros          |   448 | 0
/// ```
///
/// # Invariants
/// A segment with a group record has a predecessor whose marker says that it is sealed, and whose
/// length is `previous end`. All blocks of a segment belong to its incarnation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    pub database: DatabaseId,
    pub segment: u64,
    pub incarnation: Incarnation,
    /// The length of the segment before; 0 for the first.
    pub previous_end: u64,
    /// The number of the last group before this segment.
    pub previous_group: u64,
}

/// The reason why bytes are no header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadHeader {
    Damaged,
    Format(u32),
}

impl Header {
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        put(&mut bytes, 0, &MAGIC);
        put(&mut bytes, FORMAT, &FORMAT_VERSION.to_le_bytes());
        put(&mut bytes, DATABASE, &self.database.0);
        put(&mut bytes, SEGMENT, &self.segment.to_le_bytes());
        put(&mut bytes, INCARNATION, &self.incarnation.0.to_le_bytes());
        put(&mut bytes, PREVIOUS_END, &self.previous_end.to_le_bytes());
        put(&mut bytes, PREVIOUS_GROUP, &self.previous_group.to_le_bytes());
        let checksum = checksum_without(&bytes, CHECKSUM, 0);
        put(&mut bytes, CHECKSUM, &checksum.to_le_bytes());
        bytes
    }

    /// Decodes a header. All versions have magic, format and checksum at the same places.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadHeader> {
        let Some(bytes) = bytes.get(..HEADER_BYTES) else { return Err(BadHeader::Damaged) };
        let checksum = checksum_without(bytes, CHECKSUM, 0);
        if !bytes.starts_with(&MAGIC) || u32_at(bytes, CHECKSUM) != checksum {
            return Err(BadHeader::Damaged);
        }
        let format = u32_at(bytes, FORMAT);
        if format != FORMAT_VERSION {
            return Err(BadHeader::Format(format));
        }
        Ok(Self {
            database: DatabaseId(
                bytes[DATABASE..SEGMENT].try_into().expect("sixteen bytes were taken"),
            ),
            segment: u64_at(bytes, SEGMENT),
            incarnation: Incarnation(u32_at(bytes, INCARNATION)),
            previous_end: u64_at(bytes, PREVIOUS_END),
            previous_group: u64_at(bytes, PREVIOUS_GROUP),
        })
    }

    /// The state that the checksums of the segment's markers and blocks begin with, so that none of
    /// another file is ever accepted.
    pub fn seed(&self) -> u32 {
        crc32fast::hash(&self.encode())
    }

    /// The first page, with the marker in both places: under its number and under the next one.
    pub fn page(&self, marker: &Marker) -> Vec<u8> {
        let mut page = vec![0; BLOCKS as usize];
        put(&mut page, 0, &self.encode());
        for sequence in [marker.sequence, marker.sequence + 1] {
            let marker = Marker { sequence, ..*marker };
            put(&mut page, marker.offset() as usize, &marker.encode(self.seed()));
        }
        page
    }
}

/// CRC-32 of bytes but for the four at `at`, continuing from `seed`.
pub(crate) fn checksum_without(bytes: &[u8], at: usize, seed: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(seed);
    hasher.update(&bytes[..at]);
    hasher.update(&bytes[at + 4..]);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            database: DatabaseId(*b"0123456789abcdef"),
            segment: 7,
            incarnation: Incarnation(3),
            previous_end: 5000,
            previous_group: 99,
        }
    }

    #[test]
    fn a_header_comes_back_and_each_flipped_bit_is_noticed() {
        let bytes = header().encode();
        assert_eq!(Header::decode(&bytes), Ok(header()));
        for bit in 0..8 * HEADER_BYTES {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::decode(&flipped), Err(BadHeader::Damaged), "{bit}");
        }
        assert_eq!(Header::decode(&bytes[..511]), Err(BadHeader::Damaged));
    }

    #[test]
    fn another_format_is_no_damage() {
        let mut bytes = header().encode();
        put(&mut bytes, FORMAT, &2_u32.to_le_bytes());
        let checksum = checksum_without(&bytes, CHECKSUM, 0);
        put(&mut bytes, CHECKSUM, &checksum.to_le_bytes());
        assert_eq!(Header::decode(&bytes), Err(BadHeader::Format(2)));
    }

    #[test]
    fn segments_have_different_seeds() {
        let other = Header { segment: 8, ..header() };
        assert_ne!(header().seed(), other.seed());
    }
}

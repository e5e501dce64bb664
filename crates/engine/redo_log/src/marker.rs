//! The sync marker: how far a segment was synced.
//!
//! A group's record alone cannot say whether its sync succeeded. The marker says so in a second
//! place: it is written with the next group, before that group's sync, and covers what the sync
//! before has made durable. Two places are used in turn, so that one of them is always intact.

use crate::bytes::{put, u32_at, u64_at};
use crate::segment::{BLOCKS, MARKERS, checksum_without};

/// Bytes of a marker: a sector, which a disk writes whole or not at all.
pub const MARKER_BYTES: usize = 512;

const MAGIC: [u8; 8] = *b"namdbMRK";
const CHECKSUM: usize = 8;
const STATE: usize = 12;
const SEQUENCE: usize = 16;
const SYNCED: usize = 24;
const GROUP: usize = 32;
const ZEROS: usize = 40;

const _: () = {
    assert!(CHECKSUM == MAGIC.len() && STATE == CHECKSUM + 4 && SEQUENCE == STATE + 4);
    assert!(SYNCED == SEQUENCE + 8 && GROUP == SYNCED + 8 && ZEROS == GROUP + 8);
    assert!(ZEROS <= MARKER_BYTES && MARKER_BYTES as u64 == storage::SECTOR_BYTES);
};

/// The states of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum State {
    /// Groups may follow behind the synced bytes.
    Open = 1,
    /// The database was closed: the file ends with the synced bytes, and no segment follows.
    Closed = 2,
    /// The file ends with the synced bytes, and the next segment is durable.
    Sealed = 3,
}

/// A sync marker.
///
/// ```text
/// byte | field    | bytes | meaning
///    0 | magic    |     8 | "namdbMRK"
///    8 | checksum |     4 | CRC-32 of the marker without this field; begins with the header's seed
///   12 | state    |     4 | 1 open, 2 closed, 3 sealed
///   16 | sequence |     8 | counts markers of the segment; the larger one is valid
///   24 | synced   |     8 | offset up to which the file is known to be synced
///   32 | group    |     8 | number of the last group before that offset
///   40 | zeros    |   472 | 0
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marker {
    pub state: State,
    /// Counts the markers of the segment.
    pub sequence: u64,
    /// The offset up to which the file is known to be synced.
    pub synced: u64,
    /// The number of the last group before that offset.
    pub group: u64,
}

impl Marker {
    pub fn encode(&self, seed: u32) -> [u8; MARKER_BYTES] {
        let mut bytes = [0; MARKER_BYTES];
        put(&mut bytes, 0, &MAGIC);
        put(&mut bytes, STATE, &(self.state as u32).to_le_bytes());
        put(&mut bytes, SEQUENCE, &self.sequence.to_le_bytes());
        put(&mut bytes, SYNCED, &self.synced.to_le_bytes());
        put(&mut bytes, GROUP, &self.group.to_le_bytes());
        let checksum = checksum_without(&bytes, CHECKSUM, seed);
        put(&mut bytes, CHECKSUM, &checksum.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8], seed: u32) -> Option<Self> {
        let bytes = bytes.get(..MARKER_BYTES)?;
        let checksum = checksum_without(bytes, CHECKSUM, seed);
        if !bytes.starts_with(&MAGIC) || u32_at(bytes, CHECKSUM) != checksum {
            return None;
        }
        let state = match u32_at(bytes, STATE) {
            1 => State::Open,
            2 => State::Closed,
            3 => State::Sealed,
            _ => return None,
        };
        let synced = u64_at(bytes, SYNCED);
        let (sequence, group) = (u64_at(bytes, SEQUENCE), u64_at(bytes, GROUP));
        (synced >= BLOCKS).then_some(Self { state, sequence, synced, group })
    }

    /// The place of the marker in its file.
    pub fn offset(&self) -> u64 {
        MARKERS[(self.sequence % 2) as usize]
    }
}

/// The markers of a segment, and whether one of the two is damaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Markers {
    pub(crate) newest: Marker,
    /// The offset of a damaged one.
    pub(crate) damaged: Option<u64>,
}

impl Markers {
    /// Reads both markers from the first page; `None` if both are damaged.
    pub(crate) fn read(page: &[u8], seed: u32) -> Option<Self> {
        let found = MARKERS.map(|at| {
            let marker = page.get(at as usize..).and_then(|bytes| Marker::decode(bytes, seed));
            marker.filter(|marker| marker.offset() == at)
        });
        match found {
            [Some(even), Some(odd)] => {
                let newest = if even.sequence > odd.sequence { even } else { odd };
                Some(Self { newest, damaged: None })
            }
            [Some(newest), None] => Some(Self { newest, damaged: Some(MARKERS[1]) }),
            [None, Some(newest)] => Some(Self { newest, damaged: Some(MARKERS[0]) }),
            [None, None] => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(sequence: u64) -> Marker {
        Marker { state: State::Open, sequence, synced: BLOCKS + sequence, group: sequence }
    }

    #[test]
    fn a_marker_comes_back_and_each_flipped_bit_is_noticed() {
        let bytes = marker(5).encode(7);
        assert_eq!(Marker::decode(&bytes, 7), Some(marker(5)));
        assert_eq!(Marker::decode(&bytes, 8), None, "it belongs to another segment");
        for bit in 0..8 * MARKER_BYTES {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Marker::decode(&flipped, 7), None, "{bit}");
        }
    }

    #[test]
    fn the_newer_of_two_markers_counts() {
        let mut page = vec![0; BLOCKS as usize];
        assert_eq!(Markers::read(&page, 7), None);
        for sequence in 4..7 {
            put(&mut page, marker(sequence).offset() as usize, &marker(sequence).encode(7));
            if sequence > 4 {
                let read = Markers::read(&page, 7).expect("both are there");
                assert_eq!((read.newest, read.damaged), (marker(sequence), None));
            }
        }
        page[1024 + 30] ^= 1;
        let read = Markers::read(&page, 7).expect("one is there");
        assert_eq!((read.newest, read.damaged), (marker(6), Some(1024)));
    }
}

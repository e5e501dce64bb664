//! The words of a payload for a column out of line: the reference to the value, or the value itself
//! if it is short and the column has room for it in the row.
//!
//! Decision: docs/decisions/0305-short-values-of-long-columns-are-in-the-row.md

use crate::value::{OutOfLine, REFERENCE_WORDS};
use bytemuck::{cast_slice, cast_slice_mut};

/// Words of a cell.
///
/// ```text
/// column without room   | the reference: 3 words
/// column with room      | byte 0 to room - 1       | room
/// ----------------------+--------------------------+------------------------------
/// value in the row      | its bytes, then zeros    | its length, 1 to room
/// value out of line     | reference, then zeros    | 0
/// empty or null         | zeros                    | 0
/// ```
///
/// # Invariants
/// - A value that fits the room is in the row, so that equal values have equal cells, except for
///   values out of line.
/// - The reference does not reach the byte of the length.
pub(crate) const fn cell_words(in_row: Option<u8>) -> u32 {
    match in_row {
        None => REFERENCE_WORDS,
        Some(bytes) => {
            let words = (bytes as u32 + LENGTH_BYTES).div_ceil(8);
            if words > REFERENCE_WORDS { words } else { REFERENCE_WORDS + 1 }
        }
    }
}

/// Bytes of the length behind the room.
const LENGTH_BYTES: u32 = 1;
const _: () = {
    assert!(cell_words(None) == REFERENCE_WORDS);
    assert!(cell_words(Some(1)) > REFERENCE_WORDS, "a reference ends before the length");
    assert!(cell_words(Some(u8::MAX)) * 8 - LENGTH_BYTES == u8::MAX as u32, "lengths fit a byte");
};

/// Bytes of the room of a cell: 0 if it only has a reference.
#[inline]
const fn room(words: usize) -> usize {
    if words > REFERENCE_WORDS as usize { 8 * words - LENGTH_BYTES as usize } else { 0 }
}

/// The value in the row; `None` if the cell has a reference.
#[inline]
pub fn value_in_row(cell: &[u64]) -> Option<&[u8]> {
    let (room, bytes): (usize, &[u8]) = (room(cell.len()), cast_slice(cell));
    if room == 0 || bytes[room] == 0 {
        return None;
    }
    // The length is a byte of memory that others write; a damaged one ends with the room.
    Some(&bytes[..usize::from(bytes[room]).min(room)])
}

/// The reference; that of an empty value if the value is in the row.
#[inline]
pub fn reference_in(cell: &[u64]) -> OutOfLine {
    match value_in_row(cell) {
        Some(_) => OutOfLine::EMPTY,
        None => OutOfLine::from_words([cell[0], cell[1], cell[2]]),
    }
}

/// Stores a value in the row; false if it does not fit there.
#[inline]
pub(crate) fn put_in_row(cell: &mut [u64], value: &[u8]) -> bool {
    let room = room(cell.len());
    if value.len() > room {
        return false;
    }
    cell.fill(0);
    if !value.is_empty() {
        let bytes = cast_slice_mut::<u64, u8>(cell);
        bytes[..value.len()].copy_from_slice(value);
        bytes[room] = value.len() as u8;
    }
    true
}

/// Stores a reference.
#[inline]
pub fn put_reference(cell: &mut [u64], reference: OutOfLine) {
    cell.fill(0);
    cell[..REFERENCE_WORDS as usize].copy_from_slice(&reference.words());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::{SlotId, VersionWord};

    const STORED: OutOfLine =
        OutOfLine { ptr: u64::MAX << 3, bytes: 1 << 20, version: VersionWord::new(SlotId(63), 9) };

    #[test]
    fn a_cell_has_a_value_or_a_reference() {
        for in_row in [1, 31, 32, 63, 64, 254, 255] {
            let mut cell = vec![u64::MAX; cell_words(Some(in_row)) as usize];
            let room = room(cell.len());
            assert!((usize::from(in_row)..usize::from(in_row).max(24) + 8).contains(&room));
            for length in [1, usize::from(in_row), room] {
                let value = vec![0xff; length];
                assert!(put_in_row(&mut cell, &value));
                assert_eq!(value_in_row(&cell), Some(&*value), "{length} of {in_row}");
                assert_eq!(reference_in(&cell), OutOfLine::EMPTY);
            }
            assert!(!put_in_row(&mut cell, &vec![1; room + 1]));
            assert_eq!(value_in_row(&cell), Some(&vec![0xff; room][..]), "nothing has changed");
            put_reference(&mut cell, STORED);
            assert_eq!((value_in_row(&cell), reference_in(&cell)), (None, STORED));
            assert!(put_in_row(&mut cell, b"") && cell.iter().all(|&word| word == 0));
            assert_eq!((value_in_row(&cell), reference_in(&cell)), (None, OutOfLine::EMPTY));
        }
    }

    #[test]
    fn a_cell_without_room_has_a_reference_only() {
        let mut cell = [0; 3];
        assert!(!put_in_row(&mut cell, b"a"));
        put_reference(&mut cell, STORED);
        assert_eq!((value_in_row(&cell), reference_in(&cell)), (None, STORED));
        assert!(put_in_row(&mut cell, b""), "an empty value needs no room");
        assert_eq!(reference_in(&cell), OutOfLine::EMPTY);
    }

    #[test]
    fn a_damaged_length_reads_no_other_column() {
        let mut cell = [u64::MAX; 5];
        assert_eq!(value_in_row(&cell).map(<[u8]>::len), Some(39));
        cell[4] = 0;
        assert_eq!(value_in_row(&cell), None);
    }
}

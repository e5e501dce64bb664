//! The words of a payload for a column out of line: the reference to the value, or the value itself
//! if it is short and the column has room for it in the row.
//!
//! Decisions:
//! - docs/decisions/0305-short-values-of-long-columns-are-in-the-row.md
//! - docs/decisions/0367-columns-of-sessions-hold-as-many-characters-as-declared.md

use crate::column::Column;
use crate::value::{OutOfLine, REFERENCE_WORDS};

/// Bytes of a reference.
pub(crate) const REFERENCE_BYTES: u32 = 8 * REFERENCE_WORDS;
/// Most bytes of a cell whose length has one byte.
const SHORT_CELL_BYTES_MAX: usize = 256;

/// Bytes of a cell.
///
/// ```text
/// column without room   | the reference: 24 bytes
/// column with room      | byte 0 to room - 1       | room, in cells of over 256 bytes room + 1
/// ----------------------+--------------------------+----------------------------------------
/// value in the row      | its bytes, then zeros    | its length, 1 to room
/// value out of line     | reference, then zeros    | 0
/// empty or null         | zeros                    | 0
/// ```
///
/// Cells without [`Column::packed`] are whole words.
///
/// # Invariants
/// - A value that fits the room is in the row, so that equal values have equal cells, except for
///   values out of line.
/// - The reference does not reach the bytes of the length.
pub(crate) const fn cell_bytes(column: &Column) -> u32 {
    match column.packed {
        Some(room) => packed_bytes(room),
        None => 8 * cell_words(column.in_row),
    }
}

/// Bytes of a cell with room for exactly this many bytes.
const fn packed_bytes(room: u16) -> u32 {
    room as u32 + if room <= u8::MAX as u16 { 1 } else { 2 }
}

const fn cell_words(in_row: Option<u8>) -> u32 {
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
    assert!(packed_bytes(u8::MAX as u16) as usize == SHORT_CELL_BYTES_MAX);
    assert!(packed_bytes(REFERENCE_BYTES as u16) > REFERENCE_BYTES, "it has room");
};

/// Bytes of the room of a cell: 0 if it only has a reference.
#[inline]
pub(crate) const fn room(cell_bytes: usize) -> usize {
    match cell_bytes {
        bytes if bytes == REFERENCE_BYTES as usize => 0,
        bytes if bytes <= SHORT_CELL_BYTES_MAX => bytes - 1,
        bytes => bytes - 2,
    }
}

/// The value in the row; `None` if the cell has a reference.
#[inline]
pub fn value_in_row(cell: &[u8]) -> Option<&[u8]> {
    let room = room(cell.len());
    if room == 0 {
        return None;
    }
    let length = match cell[room..] {
        [length] => usize::from(length),
        [low, high] => usize::from(u16::from_le_bytes([low, high])),
        _ => unreachable!("a length has one or two bytes"),
    };
    // The length is in memory that others write; a damaged one ends with the room.
    (length > 0).then(|| &cell[..length.min(room)])
}

/// The reference; that of an empty value if the value is in the row.
#[inline]
pub fn reference_in(cell: &[u8]) -> OutOfLine {
    match value_in_row(cell) {
        Some(_) => OutOfLine::EMPTY,
        None => OutOfLine::from_words([0, 1, 2].map(|word| word_at(cell, word))),
    }
}

#[inline]
fn word_at(cell: &[u8], word: usize) -> u64 {
    let bytes = cell[8 * word..8 * word + 8].try_into();
    u64::from_le_bytes(bytes.expect("a word has eight bytes"))
}

/// Stores a value in the row; false if it does not fit there.
#[inline]
pub(crate) fn put_in_row(cell: &mut [u8], value: &[u8]) -> bool {
    let room = room(cell.len());
    if value.len() > room {
        return false;
    }
    cell.fill(0);
    if !value.is_empty() {
        cell[..value.len()].copy_from_slice(value);
        let length = (value.len() as u16).to_le_bytes();
        let bytes = cell.len() - room;
        cell[room..].copy_from_slice(&length[..bytes]);
    }
    true
}

/// Stores a reference.
#[inline]
pub fn put_reference(cell: &mut [u8], reference: OutOfLine) {
    cell.fill(0);
    for (place, word) in cell.chunks_exact_mut(8).zip(reference.words()) {
        place.copy_from_slice(&word.to_le_bytes());
    }
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
            let mut cell = vec![0xff; 8 * cell_words(Some(in_row)) as usize];
            let room = room(cell.len());
            assert!((usize::from(in_row)..usize::from(in_row).max(24) + 8).contains(&room));
            check_cell(&mut cell, room, usize::from(in_row));
        }
        for packed in [24, 25, 100, 255, 256, 257, 1024] {
            let mut cell = vec![0xff; packed_bytes(packed) as usize];
            assert_eq!(room(cell.len()), usize::from(packed));
            check_cell(&mut cell, packed.into(), 24);
        }
    }

    fn check_cell(cell: &mut [u8], room: usize, other: usize) {
        for length in [1, other, room] {
            let value = vec![0xff; length];
            assert!(put_in_row(cell, &value));
            assert_eq!(value_in_row(cell), Some(&*value), "{length} of {room}");
            assert_eq!(reference_in(cell), OutOfLine::EMPTY);
        }
        assert!(!put_in_row(cell, &vec![1; room + 1]));
        assert_eq!(value_in_row(cell), Some(&vec![0xff; room][..]), "nothing has changed");
        put_reference(cell, STORED);
        assert_eq!((value_in_row(cell), reference_in(cell)), (None, STORED));
        assert!(put_in_row(cell, b"") && cell.iter().all(|&byte| byte == 0));
        assert_eq!((value_in_row(cell), reference_in(cell)), (None, OutOfLine::EMPTY));
    }

    #[test]
    fn a_cell_without_room_has_a_reference_only() {
        let mut cell = [0; 24];
        assert!(!put_in_row(&mut cell, b"a"));
        put_reference(&mut cell, STORED);
        assert_eq!((value_in_row(&cell), reference_in(&cell)), (None, STORED));
        assert!(put_in_row(&mut cell, b""), "an empty value needs no room");
        assert_eq!(reference_in(&cell), OutOfLine::EMPTY);
    }

    #[test]
    fn a_damaged_length_reads_no_other_column() {
        let mut cell = [0xff; 40];
        assert_eq!(value_in_row(&cell).map(<[u8]>::len), Some(39));
        cell[39] = 0;
        assert_eq!(value_in_row(&cell), None);
        assert_eq!(value_in_row(&[0xff; 302]).map(<[u8]>::len), Some(300));
    }
}

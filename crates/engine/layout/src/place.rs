//! Where a column's value is stored in a row: in the key, in the payload, or out of line.
//!
//! Decision: docs/decisions/0031-dense-placement-for-keys-that-fill-a-box.md

use crate::column::{Column, ColumnType};
use crate::long_cell::cell_bytes;
use std::fmt;
use std::ops::Range;

/// Where a column's bytes are stored in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the encoded key, from this byte on.
    Key {
        /// First byte.
        at: u32,
    },
    /// In the payload, from this byte on.
    Payload {
        /// First byte.
        at: u32,
    },
    /// Out of line; the payload holds a cell with the reference, or with a short value.
    OutOfLine {
        /// First byte of the cell.
        at: u32,
        /// Bytes of the cell, see [`crate::long_cell`].
        bytes: u32,
    },
}

/// The parameters for reading or writing a column, in a few bytes: the data path needs only these.
/// Generated code has its slots as constants, so that the compiler folds them into the accesses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// First byte in key or payload, after a key's null byte.
    pub(crate) at: u32,
    /// Bytes of a fixed-width value, 0 for text and bytes.
    pub(crate) width: u8,
    /// Bits above and below a fixed-width value in its payload word: columns are aligned to their
    /// width, so each is in one word.
    pub(crate) bits_above: u8,
    pub(crate) bits_below: u8,
    /// Bytes of the length that precedes text and bytes.
    pub(crate) prefix: u8,
    /// Bit of the null flag in the payload; 0 if the column has none.
    pub(crate) null_bit: u8,
    pub(crate) kind: SlotKind,
    /// Byte of the null flag in the payload.
    pub(crate) null_byte: u16,
    /// Number of the column among those out of line.
    pub(crate) long: u8,
    /// Bytes of the cell of a column out of line.
    pub(crate) cell_bytes: u16,
    /// Largest length of text and bytes.
    pub(crate) length_max: u32,
    /// Whether it holds text, which is UTF-8.
    pub(crate) is_text: bool,
}

/// Without the bytes of the cell, which the column's place has: the fingerprints of generated code
/// are made of this text.
impl fmt::Debug for Slot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut slot = formatter.debug_struct("Slot");
        slot.field("at", &self.at).field("width", &self.width);
        slot.field("bits_above", &self.bits_above).field("bits_below", &self.bits_below);
        slot.field("prefix", &self.prefix).field("null_bit", &self.null_bit);
        slot.field("kind", &self.kind).field("null_byte", &self.null_byte);
        slot.field("long", &self.long).field("length_max", &self.length_max);
        slot.field("is_text", &self.is_text).finish()
    }
}

impl fmt::Display for Slot {
    /// A constant expression for generated code; for columns that have one.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.is_text) {
            (SlotKind::Key, true) => {
                write!(formatter, "Slot::key_text({}, {})", self.at, self.length_max)?;
            }
            (SlotKind::KeyBool, _) => write!(formatter, "Slot::key_bool({})", self.at)?,
            (SlotKind::Key, false) => write!(formatter, "Slot::key({}, {})", self.at, self.width)?,
            (_, true) => write!(formatter, "Slot::text({}, {})", self.at, self.length_max)?,
            _ => write!(formatter, "Slot::number({}, {})", self.at, self.width)?,
        }
        match self.null_bit {
            0 => Ok(()),
            bit => write!(formatter, ".nullable({}, {bit})", self.null_byte),
        }
    }
}

/// The location of a column's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SlotKind {
    Payload,
    Key,
    /// An unsigned byte of the key.
    KeyBool,
    OutOfLine,
}

impl Slot {
    const EMPTY: Self = Self {
        at: 0,
        width: 0,
        bits_above: 0,
        bits_below: 0,
        prefix: 1,
        null_bit: 0,
        kind: SlotKind::Payload,
        null_byte: 0,
        long: 0,
        cell_bytes: 0,
        length_max: 0,
        is_text: false,
    };

    /// A number of `width` bytes at byte `at` of the payload.
    pub const fn number(at: u32, width: u8) -> Self {
        let bits_below = (at % 8 * 8) as u8;
        Self { at, width, bits_below, bits_above: 64 - 8 * width - bits_below, ..Self::EMPTY }
    }

    /// A text of at most `length_max` bytes at byte `at` of the payload.
    pub const fn text(at: u32, length_max: u32) -> Self {
        let prefix = length_bytes(length_max) as u8;
        Self { at, prefix, length_max, is_text: true, ..Self::EMPTY }
    }

    /// A number of `width` bytes at byte `at` of the key.
    pub const fn key(at: u32, width: u8) -> Self {
        Self { at, width, kind: SlotKind::Key, ..Self::EMPTY }
    }

    /// A text of at most `length_max` bytes at byte `at` of the key.
    pub const fn key_text(at: u32, length_max: u32) -> Self {
        Self { kind: SlotKind::Key, ..Self::text(at, length_max) }
    }

    /// A truth value at byte `at` of the key.
    pub const fn key_bool(at: u32) -> Self {
        Self { at, width: 1, kind: SlotKind::KeyBool, ..Self::EMPTY }
    }

    /// The same column with a null flag, bit `null_bit` of the payload's byte `null_byte`.
    #[must_use]
    pub const fn nullable(self, null_byte: u16, null_bit: u8) -> Self {
        Self { null_byte, null_bit, ..self }
    }

    /// The bytes of the payload with the cell of a column out of line.
    #[inline]
    pub(crate) fn cell(self) -> Range<usize> {
        let at = self.at as usize;
        at..at + usize::from(self.cell_bytes)
    }

    pub(crate) fn new(column: &Column, place: Place, (null_byte, null_bit): (u16, u8)) -> Self {
        let (kind, at, cell_bytes) = match place {
            Place::Payload { at } => (SlotKind::Payload, at, 0),
            Place::OutOfLine { at, bytes } => (SlotKind::OutOfLine, at, bytes as u16),
            Place::Key { at } if column.column_type == ColumnType::Bool => {
                (SlotKind::KeyBool, at + u32::from(column.nullable), 0)
            }
            Place::Key { at } => (SlotKind::Key, at + u32::from(column.nullable), 0),
        };
        let length_max = column.column_type.length_max();
        let width = column.column_type.fixed_bytes().unwrap_or(0) as u8;
        let bits_below = (at % 8 * 8) as u8;
        let is_number = kind == SlotKind::Payload && width > 0;
        assert!(!is_number || bits_below + 8 * width <= 64, "numbers are aligned");
        Self {
            at,
            width,
            bits_above: if is_number { 64 - 8 * width - bits_below } else { 0 },
            bits_below: if is_number { bits_below } else { 0 },
            prefix: length_bytes(length_max) as u8,
            null_bit,
            kind,
            null_byte,
            long: 0,
            cell_bytes,
            length_max,
            is_text: matches!(column.column_type, ColumnType::Char(_) | ColumnType::Varchar(_)),
        }
    }
}

/// Bytes of the length that precedes an inline text.
const fn length_bytes(length_max: u32) -> u32 {
    if length_max <= 255 { 1 } else { 2 }
}

/// Byte and bit of each column's null flag in the payload; bit 0 if it has none.
pub(crate) fn place_null_bits(columns: &[Column], key: &[usize]) -> Vec<(u16, u8)> {
    let mut next = 0_u16;
    let mut place = |(index, column): (usize, &Column)| {
        if !column.nullable || key.contains(&index) {
            return (0, 0);
        }
        let bit = (next / 8, 1 << (next % 8));
        next += 1;
        bit
    };
    columns.iter().enumerate().map(&mut place).collect()
}

/// Places all columns outside the key: null bits first, then columns by falling alignment, then
/// text and packed cells.
pub(crate) fn place_payload(columns: &[Column], key: &[usize], places: &mut [Place]) -> u32 {
    let outside_key: Vec<usize> = (0..columns.len()).filter(|index| !key.contains(index)).collect();
    let nullable = outside_key.iter().filter(|&&index| columns[index].nullable).count() as u32;
    let mut at = nullable.div_ceil(8);
    for width in [8, 4, 2, 1] {
        for &index in &outside_key {
            let column_type = columns[index].column_type;
            if columns[index].is_out_of_line() && columns[index].packed.is_none() && width == 8 {
                at = at.next_multiple_of(8);
                let bytes = cell_bytes(&columns[index]);
                places[index] = Place::OutOfLine { at, bytes };
                at += bytes;
            } else if column_type.fixed_bytes() == Some(width) {
                at = at.next_multiple_of(width);
                places[index] = Place::Payload { at };
                at += width;
            }
        }
    }
    for &index in &outside_key {
        let column_type = columns[index].column_type;
        if columns[index].packed.is_some() {
            let bytes = cell_bytes(&columns[index]);
            places[index] = Place::OutOfLine { at, bytes };
            at += bytes;
        } else if column_type.fixed_bytes().is_none() && !columns[index].is_out_of_line() {
            places[index] = Place::Payload { at };
            at += length_bytes(column_type.length_max()) + column_type.length_max();
        }
    }
    at
}

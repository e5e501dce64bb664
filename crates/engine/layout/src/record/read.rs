//! A view of a row that reads its columns.

use crate::column::{ColumnType, Value};
use crate::key::{Key, KeyBuilder, read_signed, read_unsigned};
use crate::key_part::read_text;
use crate::long_cell::{reference_in, value_in_row};
use crate::place::{Place, Slot, SlotKind};
use crate::schema::Schema;
use crate::value::{LongValues, OutOfLine};
use bytemuck::cast_slice;

/// A read-only view of a row's key and payload.
#[derive(Clone, Copy)]
pub struct RecordRef<'a> {
    schema: &'a Schema,
    key: &'a [u64],
    payload: &'a [u64],
    /// The values of columns out of line, if they were fetched.
    long: Option<&'a LongValues>,
}

impl<'a> RecordRef<'a> {
    /// A view of a row whose encoded key is `key`.
    #[inline]
    pub fn new(schema: &'a Schema, key: &'a [u64], payload: &'a [u64]) -> Self {
        Self { schema, key, payload, long: None }
    }

    /// The same row with the values of its columns out of line, in the order of
    /// [`Schema::long_columns`], so that they can be read too.
    #[inline]
    #[must_use]
    pub fn with_long(self, values: &'a LongValues) -> Self {
        Self { long: Some(values), ..self }
    }

    /// The schema of the row.
    #[inline]
    pub fn schema(&self) -> &'a Schema {
        self.schema
    }

    #[inline]
    pub fn key(&self) -> &'a [u64] {
        self.key
    }

    /// The words of all columns outside the key, for callers that take them all at once. The schema
    /// alone determines the place of each column.
    #[inline]
    pub fn payload(&self) -> &'a [u64] {
        self.payload
    }

    #[inline]
    fn payload_bytes(&self) -> &'a [u8] {
        cast_slice(self.payload)
    }

    /// Whether the column is null.
    #[inline]
    pub fn is_null(&self, column: usize) -> bool {
        if !self.schema.columns()[column].nullable {
            return false;
        }
        match self.schema.place(column) {
            Place::Key { at } => read_unsigned(self.key, at, 1) == 1,
            _ => {
                let slot = self.schema.slot(column);
                self.payload_bytes()[usize::from(slot.null_byte)] & slot.null_bit != 0
            }
        }
    }

    /// Whether the column with this slot, which is outside the key, is null.
    #[inline(always)]
    pub fn is_null_in(&self, slot: Slot) -> bool {
        slot.null_bit != 0 && self.payload_bytes()[usize::from(slot.null_byte)] & slot.null_bit != 0
    }

    /// An integer, date, timestamp, scaled decimal or bool (0 or 1). Unspecified if the column is
    /// null.
    #[inline(always)]
    pub fn int(&self, column: usize) -> i64 {
        self.int_in(self.schema.slot(column))
    }

    /// As [`RecordRef::int`], for the column with this slot.
    #[inline(always)]
    pub fn int_in(&self, slot: Slot) -> i64 {
        slot.int(self.key, self.payload)
    }

    #[inline]
    pub fn float(&self, column: usize) -> f64 {
        match self.schema.place(column) {
            Place::Payload { at } => f64::from_bits(self.payload[at as usize / 8]),
            _ => match self.value(column) {
                Value::Float(value) => value,
                _ => 0.0,
            },
        }
    }

    /// The bytes of a text or bytes column outside the key. Unspecified if the column is null.
    ///
    /// # Panics
    /// If the value is out of line and was not fetched, or the column belongs to the key, or is
    /// neither text nor bytes. [`RecordRef::value`] reads columns of the key.
    #[inline(always)]
    pub fn bytes(&self, column: usize) -> &'a [u8] {
        self.bytes_in(self.schema.slot(column))
    }

    /// As [`RecordRef::bytes`], for the column with this slot.
    #[inline(always)]
    pub fn bytes_in(&self, slot: Slot) -> &'a [u8] {
        if slot.kind != SlotKind::Payload || slot.width > 0 {
            return self.bytes_elsewhere(slot);
        }
        slot.bytes(self.payload)
    }

    /// Bytes in the cell of a column out of line, or outside the payload.
    #[inline(never)]
    fn bytes_elsewhere(&self, slot: Slot) -> &'a [u8] {
        match (slot.kind, self.long) {
            (SlotKind::OutOfLine, values) => {
                let cell = &self.payload_bytes()[slot.cell()];
                match (value_in_row(cell), values) {
                    (Some(value), _) => value,
                    (None, Some(values)) => values.get(usize::from(slot.long)).unwrap_or_default(),
                    (None, None) if reference_in(cell) == OutOfLine::EMPTY => &[],
                    (None, None) => panic!("a value out of line is read with read_long"),
                }
            }
            _ => {
                panic!("text and bytes of the key are read with value, other columns by their type")
            }
        }
    }

    /// A text column outside the key.
    ///
    /// # Panics
    /// As [`RecordRef::bytes`].
    #[inline]
    pub fn text(&self, column: usize) -> &'a str {
        std::str::from_utf8(self.bytes(column)).unwrap_or("")
    }

    /// The bytes of a text column of the key, unspecified if the column is null. They may not be
    /// UTF-8, unlike those of other columns: a program can build a key from any bytes.
    ///
    /// # Panics
    /// If the column does not belong to the key.
    pub fn key_text(&self, column: usize) -> Vec<u8> {
        let Place::Key { at } = self.schema.place(column) else {
            panic!("the column is not in the key");
        };
        let described = &self.schema.columns()[column];
        let (null, length) = (u32::from(described.nullable), described.column_type.length_max());
        read_text(self.key, at + null, length)
    }

    /// Copies a text column of the key into `into`, truncated to its length, and returns the length
    /// of the text. The bytes may not be UTF-8, see [`RecordRef::key_text`].
    ///
    /// # Panics
    /// If this is not the slot of a text column of the key.
    #[inline]
    pub fn copy_key_text(&self, slot: Slot, into: &mut [u8]) -> usize {
        assert!(slot.kind == SlotKind::Key && slot.is_text, "the column is a text of the key");
        let mut bytes = (slot.at..slot.at + slot.length_max)
            .map(|at| read_unsigned(self.key, at, 1) as u8)
            .take_while(|&byte| byte != 0);
        let mut length = 0;
        for (place, byte) in into.iter_mut().zip(&mut bytes) {
            *place = byte;
            length += 1;
        }
        length
    }

    /// The reference to the value of a column out of line, that of an empty value if the value is
    /// in the row; `None` for other columns.
    pub fn out_of_line(&self, column: usize) -> Option<OutOfLine> {
        let cell = self.schema.long_cell(column)?;
        Some(reference_in(&self.payload_bytes()[cell]))
    }

    /// The value of a column out of line, if it is so short that it is in the row.
    pub fn in_row(&self, column: usize) -> Option<&'a [u8]> {
        let cell = self.schema.long_cell(column)?;
        value_in_row(&self.payload_bytes()[cell])
    }

    /// Whether a value of the row is out of line, and must be fetched to read its column.
    pub fn refers_to_values(&self) -> bool {
        let mut columns = self.schema.long_columns().iter();
        columns.any(|&column| self.out_of_line(column) != Some(OutOfLine::EMPTY))
    }

    /// Appends a column to a key, with the encoding of [`Schema::append_key_part`], without
    /// allocation.
    #[inline]
    pub fn append_to_key(&self, builder: KeyBuilder, column: usize) -> KeyBuilder {
        let described = &self.schema.columns()[column];
        let width = self.schema.key_part_bytes(column);
        if let Place::Key { at } = self.schema.place(column) {
            return copy_key_bytes(builder, self.key, at, width);
        }
        let builder = match described.nullable {
            true if self.is_null(column) => return builder.unsigned(1, 1).padded(&[], width - 1),
            true => builder.unsigned(0, 1),
            false => builder,
        };
        match described.column_type {
            ColumnType::Bool => builder.unsigned(self.int(column) as u64, 1),
            ColumnType::Float8 => builder.float8(self.float(column)),
            ColumnType::Char(length) | ColumnType::Varchar(length) => {
                builder.padded(self.bytes(column), length)
            }
            ColumnType::Bytes(length) => {
                let bytes = self.bytes(column);
                builder.padded(bytes, length).unsigned(bytes.len() as u64, 2)
            }
            fixed => {
                let bytes = fixed.fixed_bytes().expect("text and bytes were handled before");
                builder.signed(self.int(column), bytes)
            }
        }
    }

    /// The key of the row's entry in an index over `columns`, see [`Schema::index_key`].
    pub fn index_key(&self, columns: &[usize]) -> Key {
        let columns = self.schema.index_key(columns);
        columns.fold(KeyBuilder::new(), |key, column| self.append_to_key(key, column)).key()
    }

    /// The value of any column.
    ///
    /// # Panics
    /// As [`RecordRef::bytes`].
    pub fn value(&self, column: usize) -> Value {
        if self.is_null(column) {
            return Value::Null;
        }
        if let Place::Key { at } = self.schema.place(column) {
            return self.schema.read_key_part(self.key, column, at);
        }
        match self.schema.columns()[column].column_type {
            ColumnType::Float8 => Value::Float(self.float(column)),
            ColumnType::Char(_) | ColumnType::Varchar(_) => {
                Value::Text(self.text(column).to_owned())
            }
            ColumnType::Bytes(_) => Value::Bytes(self.bytes(column).to_vec()),
            _ => Value::Int(self.int(column)),
        }
    }
}

impl Slot {
    /// The number of the column with this slot in a row with these words, as [`RecordRef::int_in`]
    /// reads it.
    #[inline(always)]
    pub fn int(self, key: &[u64], payload: &[u64]) -> i64 {
        match self.kind {
            SlotKind::Payload => {
                assert!(self.width > 0, "the column holds no number");
                let word = payload[self.at as usize / 8] << self.bits_above;
                word as i64 >> (self.bits_above + self.bits_below)
            }
            SlotKind::Key => read_signed(key, self.at, u32::from(self.width)),
            SlotKind::KeyBool => read_unsigned(key, self.at, 1) as i64,
            SlotKind::OutOfLine => unreachable!("fixed-width columns stay in the row"),
        }
    }

    /// The text or bytes of the column with this slot, which is in the payload.
    #[inline(always)]
    pub fn bytes(self, payload: &[u64]) -> &[u8] {
        let payload: &[u8] = cast_slice(payload);
        let (at, prefix) = (self.at as usize, usize::from(self.prefix));
        let length = match prefix {
            1 => usize::from(payload[at]),
            _ => usize::from(payload[at]) | usize::from(payload[at + 1]) << 8,
        };
        &payload[at + prefix..at + prefix + length]
    }
}

/// Appends `count` bytes of an encoded key, from byte `at` on.
#[inline]
pub fn copy_key_bytes(mut builder: KeyBuilder, words: &[u64], at: u32, count: u32) -> KeyBuilder {
    let mut done = 0;
    while done < count {
        let step = (count - done).min(8);
        builder.append_unsigned(read_unsigned(words, at + done, step), step);
        done += step;
    }
    builder
}

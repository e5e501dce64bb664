//! Reads and writes the columns of a row in place: no copy, no allocation for numbers.
//!
//! Decisions:
//! - docs/decisions/0008-old-versions-have-the-shape-of-rows-and-are-read.md
//! - docs/decisions/0009-an-old-version-stores-its-successor.md
//! - docs/decisions/0201-columns-are-constants-compared-with-the-schema-when-tables.md

use crate::column::{ColumnType, Value, int_fits};
use crate::key::{Key, KeyBuilder, read_signed, read_unsigned};
use crate::key_part::read_text;
use crate::place::{Place, Slot, SlotKind};
use crate::schema::Schema;
use crate::schema_error::SchemaError;
use crate::value::{LongStage, LongValues, OutOfLine, REFERENCE_WORDS};
use bytemuck::{cast_slice, cast_slice_mut};

const _: () =
    assert!(cfg!(target_endian = "little"), "payload columns are little-endian, in place");

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
    /// If the column is out of line and its value was not fetched, belongs to the key, or is
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

    /// Bytes outside the payload.
    #[cold]
    fn bytes_elsewhere(&self, slot: Slot) -> &'a [u8] {
        match (slot.kind, self.long) {
            (SlotKind::OutOfLine, Some(values)) => {
                values.get(usize::from(slot.long)).unwrap_or_default()
            }
            (SlotKind::OutOfLine, None) => {
                panic!("a column out of line is read with read_long")
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

    /// The reference to the value of a column out of line; `None` for other columns.
    pub fn out_of_line(&self, column: usize) -> Option<OutOfLine> {
        let word = self.schema.long_word(column)?;
        Some(OutOfLine::from_words([
            self.payload[word],
            self.payload[word + 1],
            self.payload[word + 2],
        ]))
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

const DOES_NOT_FIT: &str = "the value is out of the range of its column's type";

/// A view of a row's payload for writing columns. Key columns never change once the row exists.
pub struct RecordMut<'a> {
    schema: &'a Schema,
    payload: &'a mut [u64],
    /// Receives the values of columns out of line.
    stage: Option<&'a mut LongStage>,
}

impl<'a> RecordMut<'a> {
    /// A view of the payload words of a row of `schema`.
    #[inline]
    pub fn new(schema: &'a Schema, payload: &'a mut [u64]) -> Self {
        Self { schema, payload, stage: None }
    }

    /// The same view, which stages values out of line in `stage` until they are stored.
    #[inline]
    #[must_use]
    pub fn with_stage(self, stage: &'a mut LongStage) -> Self {
        Self { stage: Some(stage), ..self }
    }

    /// Sets an integer, date, timestamp, scaled decimal or bool.
    ///
    /// # Panics
    /// If the column belongs to the key or is no number, or the value does not fit its type;
    /// [`RecordMut::set`] returns an error instead.
    #[inline(always)]
    pub fn set_int(&mut self, column: usize, value: i64) {
        self.set_int_in(self.schema.slot(column), value);
    }

    /// As [`RecordMut::set_int`], for the column with this slot.
    #[inline(always)]
    pub fn set_int_in(&mut self, slot: Slot, value: i64) {
        assert!(slot.kind == SlotKind::Payload, "a key column cannot be changed in place");
        let bytes = cast_slice_mut::<u64, u8>(self.payload);
        bytes[usize::from(slot.null_byte)] &= !slot.null_bit;
        let at = slot.at as usize;
        match slot.width {
            1 => {
                assert!(matches!(value, 0 | 1), "a truth value is 0 or 1");
                bytes[at] = value as u8;
            }
            2 => {
                let value = i16::try_from(value).expect(DOES_NOT_FIT);
                bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
            }
            4 => {
                let value = i32::try_from(value).expect(DOES_NOT_FIT);
                bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            }
            8 => bytes[at..at + 8].copy_from_slice(&value.to_le_bytes()),
            _ => panic!("the caller sets an integer column"),
        }
    }

    #[inline]
    pub fn set_float(&mut self, column: usize, value: f64) {
        self.set_int(column, value.to_bits() as i64);
    }

    /// Sets text or bytes.
    ///
    /// # Panics
    /// If the column belongs to the key or is neither text nor bytes, the value exceeds its maximal
    /// length, or the column holds text and the value is not UTF-8; [`RecordMut::set`] returns an
    /// error instead.
    #[inline]
    pub fn set_bytes(&mut self, column: usize, value: &[u8]) {
        let slot = self.schema.slot(column);
        if slot.kind != SlotKind::Payload {
            check_bytes(slot, value);
            return self.stage_bytes(column, value);
        }
        self.set_bytes_in(slot, value);
    }

    /// As [`RecordMut::set_bytes`], for the column with this slot, which is stored in the row.
    #[inline(always)]
    pub fn set_bytes_in(&mut self, slot: Slot, value: &[u8]) {
        check_bytes(slot, value);
        assert!(slot.kind == SlotKind::Payload, "the column is kept in the row, outside the key");
        let bytes = cast_slice_mut::<u64, u8>(self.payload);
        bytes[usize::from(slot.null_byte)] &= !slot.null_bit;
        let (at, prefix) = (slot.at as usize, usize::from(slot.prefix));
        bytes[at] = value.len() as u8;
        if prefix == 2 {
            bytes[at + 1] = (value.len() >> 8) as u8;
        }
        bytes[at + prefix..at + prefix + value.len()].copy_from_slice(value);
    }

    /// Stages a value out of line.
    #[cold]
    fn stage_bytes(&mut self, column: usize, value: &[u8]) {
        let word = self.schema.long_word(column).expect("a key column cannot be changed in place");
        let reference = &mut self.payload[word..word + REFERENCE_WORDS as usize];
        let before = OutOfLine::from_words([reference[0], reference[1], reference[2]]);
        let stage = self.stage.as_mut().expect("a transaction's rows have a place for long values");
        let staged = stage.put(before, value);
        self.set_out_of_line(column, staged);
    }

    /// Sets the reference to the value of a column out of line.
    pub fn set_out_of_line(&mut self, column: usize, value: OutOfLine) {
        self.mark_null(column, false);
        let word = self.schema.long_word(column).expect("the column is kept out of line");
        self.payload[word..word + REFERENCE_WORDS as usize].copy_from_slice(&value.words());
    }

    /// Sets the column to null.
    pub fn set_null(&mut self, column: usize) {
        assert!(self.schema.columns()[column].nullable, "the column cannot be null");
        if self.schema.slot(column).kind == SlotKind::OutOfLine {
            self.set_out_of_line(column, OutOfLine::EMPTY);
        }
        self.mark_null(column, true);
    }

    /// Sets the nullable column with this slot, which is stored in the row, to null.
    #[inline(always)]
    pub fn set_null_in(&mut self, slot: Slot) {
        assert!(slot.null_bit != 0, "the column cannot be null");
        cast_slice_mut::<u64, u8>(self.payload)[usize::from(slot.null_byte)] |= slot.null_bit;
    }

    #[inline]
    fn mark_null(&mut self, column: usize, null: bool) {
        let slot = self.schema.slot(column);
        let flags = &mut cast_slice_mut::<u64, u8>(self.payload)[usize::from(slot.null_byte)];
        *flags = if null { *flags | slot.null_bit } else { *flags & !slot.null_bit };
    }

    /// Sets a column to a value, checking type and range.
    pub fn set(&mut self, column: usize, value: &Value) -> Result<(), SchemaError> {
        let described = &self.schema.columns()[column];
        let kind = described.column_type;
        let refuse = |reason: &str| Err(self.schema.value_error(column, reason));
        if matches!(self.schema.place(column), Place::Key { .. }) {
            return refuse("a key column cannot be changed in place");
        }
        match (value, kind) {
            (Value::Null, _) if described.nullable => self.set_null(column),
            (Value::Null, _) => return refuse("it must not be null"),
            (Value::Float(value), ColumnType::Float8) => self.set_float(column, *value),
            (Value::Text(text), ColumnType::Char(length) | ColumnType::Varchar(length)) => {
                let blanks = matches!(kind, ColumnType::Char(_));
                let text = if blanks { text.trim_end_matches(' ') } else { text };
                if text.len() > length as usize {
                    return refuse("longer than the column's maximal length");
                }
                self.set_bytes(column, text.as_bytes());
            }
            (Value::Bytes(bytes), ColumnType::Bytes(length)) => {
                if bytes.len() > length as usize {
                    return refuse("longer than the column's maximal length");
                }
                self.set_bytes(column, bytes);
            }
            (Value::Int(value), _)
                if kind.fixed_bytes().is_some() && kind != ColumnType::Float8 =>
            {
                if !int_fits(*value, kind.fixed_bytes().expect("checked just now")) {
                    return refuse("out of the type's range");
                }
                if kind == ColumnType::Bool && !matches!(value, 0 | 1) {
                    return refuse("a truth value is 0 or 1");
                }
                self.set_int(column, *value);
            }
            _ => return refuse("the value has another type"),
        }
        Ok(())
    }
}

#[inline(always)]
fn check_bytes(slot: Slot, value: &[u8]) {
    assert!(value.len() <= slot.length_max as usize, "the value is longer than its column");
    assert!(!slot.is_text || is_utf8(value), "text is UTF-8, and this value is not");
}

/// Whether the bytes are UTF-8. Most text is ASCII, which the compiled code checks many bytes at a
/// time.
#[inline]
fn is_utf8(bytes: &[u8]) -> bool {
    bytes.is_ascii() || std::str::from_utf8(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;
    use crate::version::{SlotId, VersionWord};

    fn schema() -> Schema {
        let columns = vec![
            Column::new("w", ColumnType::Int2),
            Column::new("name", ColumnType::Varchar(16)),
            Column::nullable("note", ColumnType::Char(300)),
            Column::new("balance", ColumnType::Decimal { scale: 2 }),
            Column::nullable("flag", ColumnType::Bool),
            Column::new("rate", ColumnType::Float8),
            Column::new("c", ColumnType::Int4),
            Column::new("photo", ColumnType::Bytes(9000)),
        ];
        Schema::new("t", columns, &[0, 6]).expect("the schema is fine")
    }

    /// The primary key is in each of them, and no column of it is there twice.
    #[test]
    fn index_keys_have_the_rest_of_the_primary_key_behind_them() {
        let columns = vec![
            Column::new("w", ColumnType::Int2),
            Column::new("d", ColumnType::Int2),
            Column::new("o", ColumnType::Int4),
            Column::new("c", ColumnType::Int4),
        ];
        let schema = Schema::new("orders", columns, &[0, 1, 2]).expect("the schema is fine");
        let key = KeyBuilder::new().int2(3).int2(-4).int4(70).key();
        let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
        RecordMut::new(&schema, &mut payload).set_int(3, 9);
        let record = RecordRef::new(&schema, key.words(), &payload);
        let start = KeyBuilder::new;
        for (columns, expected, ranges) in [
            (&[3][..], start().int4(9).int2(3).int2(-4).int4(70), &[(4, 8)][..]),
            (&[0, 1, 3, 2], start().int2(3).int2(-4).int4(9).int4(70), &[(0, 4), (8, 4)]),
            (&[0, 1, 3], start().int2(3).int2(-4).int4(9).int4(70), &[(0, 4), (8, 4)]),
            (&[2, 3], start().int4(70).int4(9).int2(3).int2(-4), &[(8, 4), (0, 4)]),
            (&[0, 1, 2], start().int2(3).int2(-4).int4(70), &[(0, 8)]),
        ] {
            let entry = record.index_key(columns);
            assert_eq!(entry, expected.key());
            assert_eq!(schema.key_in_index(columns), ranges);
            assert_eq!(schema.index_key_words(columns) as usize, entry.words().len());
            let copy = |builder, &(at, bytes): &(u32, u32)| {
                copy_key_bytes(builder, entry.words(), at, bytes)
            };
            assert_eq!(ranges.iter().fold(start(), copy).key(), key);
        }
    }

    #[test]
    fn constants_are_the_slots_of_the_schema() {
        let columns = vec![
            Column::new("w", ColumnType::Int2),
            Column::new("name", ColumnType::Varchar(16)),
            Column::nullable("note", ColumnType::Char(300)),
            Column::nullable("balance", ColumnType::Decimal { scale: 2 }),
        ];
        let schema = Schema::new("t", columns, &[0]).expect("the schema is fine");
        let written: Vec<String> = (0..4).map(|column| schema.slot(column).to_string()).collect();
        let expected = [
            "Slot::key(0, 2)",
            "Slot::text(16, 16)",
            "Slot::text(33, 300).nullable(0, 1)",
            "Slot::number(8, 8).nullable(0, 2)",
        ];
        assert_eq!(written, expected);
        let constants = [
            Slot::key(0, 2),
            Slot::text(16, 16),
            Slot::text(33, 300).nullable(0, 1),
            Slot::number(8, 8).nullable(0, 2),
        ];
        assert_eq!([0, 1, 2, 3].map(|column| schema.slot(column)), constants);

        let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
        let mut row = RecordMut::new(&schema, &mut payload);
        row.set_bytes_in(constants[1], b"Ada");
        row.set_null_in(constants[2]);
        row.set_int_in(constants[3], -12);
        let key = schema.encode_key(&[Value::Int(-3)]).expect("fits");
        let row = RecordRef::new(&schema, key.words(), &payload);
        assert_eq!((row.int_in(constants[0]), row.bytes_in(constants[1])), (-3, &b"Ada"[..]));
        assert_eq!((row.is_null_in(constants[2]), row.is_null_in(constants[3])), (true, false));
        assert_eq!(row.int_in(constants[3]), -12);
    }

    #[test]
    fn every_column_comes_back() {
        let schema = schema();
        let layout = schema.row_layout(false);
        let key = schema.encode_key(&[Value::Int(-3), Value::Int(7)]).expect("fits");
        let mut payload = vec![0; layout.payload_words as usize];
        let mut row = RecordMut::new(&schema, &mut payload);
        row.set(1, &"Ada".into()).expect("fits");
        row.set(2, &Value::Null).expect("nullable");
        row.set(3, &Value::Int(-1234)).expect("fits");
        row.set(4, &Value::Int(1)).expect("fits");
        row.set(5, &Value::Float(2.5)).expect("fits");
        let stored = OutOfLine { ptr: 64, bytes: 9, version: VersionWord::new(SlotId(1), 2) };
        row.set_out_of_line(7, stored);
        let row = RecordRef::new(&schema, key.words(), &payload);
        assert_eq!((row.int(0), row.int(6), row.int(3), row.int(4)), (-3, 7, -1234, 1));
        assert_eq!((row.text(1), row.is_null(2), row.float(5)), ("Ada", true, 2.5));
        assert_eq!(row.value(2), Value::Null);
        assert_eq!((row.out_of_line(7), row.out_of_line(1)), (Some(stored), None));
        let mut values = LongValues::default();
        values.push(Some(b"a picture"));
        assert_eq!(row.with_long(&values).value(7), Value::Bytes(b"a picture".to_vec()));
    }

    #[test]
    fn long_values_are_staged_and_null_forgets_them() {
        let note = Column::nullable("note", ColumnType::Varchar(5000));
        let schema = Schema::new("t", vec![Column::new("k", ColumnType::Int8), note], &[0]);
        let schema = schema.expect("the schema is fine");
        let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
        let mut stage = LongStage::default();
        let mut row = RecordMut::new(&schema, &mut payload).with_stage(&mut stage);
        row.set(1, &"long ago".into()).expect("fits");
        assert!(row.set(1, &Value::Text("x".repeat(5001))).is_err());
        let seen = RecordRef::new(&schema, &[0], &payload).out_of_line(1).expect("out of line");
        assert_eq!((seen.staged_number(), stage.bytes(0)), (Some(0), &b"long ago"[..]));
        RecordMut::new(&schema, &mut payload).set_null(1);
        let row = RecordRef::new(&schema, &[0], &payload);
        assert_eq!((row.is_null(1), row.out_of_line(1)), (true, Some(OutOfLine::EMPTY)));
    }

    #[test]
    fn values_that_do_not_fit_are_refused_with_a_sentence() {
        let schema = schema();
        let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
        let mut row = RecordMut::new(&schema, &mut payload);
        let error = row.set(1, &"seventeen letters".into()).expect_err("too long");
        assert!(error.to_string().contains("column name of table t"));
        assert!(row.set(3, &Value::Null).is_err());
        let error = row.set(4, &Value::Int(2)).expect_err("neither false nor true");
        assert!(error.to_string().ends_with("a truth value is 0 or 1"));
        let error = row.set(0, &Value::Int(1)).expect_err("a column of the key");
        assert!(error.to_string().ends_with("a key column cannot be changed in place"));
        assert!(schema.encode_key(&[Value::Int(40_000), Value::Int(1)]).is_err());
        assert!(schema.encode_key(&[Value::Int(1)]).is_err());
    }

    fn set_carelessly(set: impl FnOnce(&mut RecordMut<'_>)) {
        let schema = schema();
        let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
        set(&mut RecordMut::new(&schema, &mut payload));
    }

    #[test]
    #[should_panic(expected = "text is UTF-8, and this value is not")]
    fn what_is_no_text_is_not_set_as_text() {
        set_carelessly(|row| row.set_bytes(1, &[b'A', 0xff]));
    }

    #[test]
    #[should_panic(expected = "the value is longer than its column")]
    fn text_that_is_too_long_is_not_cut() {
        set_carelessly(|row| row.set_bytes(1, b"seventeen letters"));
    }

    #[test]
    #[should_panic(expected = "out of the range of its column's type")]
    fn numbers_that_are_too_large_are_not_cut() {
        let columns = vec![Column::new("k", ColumnType::Int8), Column::new("n", ColumnType::Int4)];
        let schema = Schema::new("t", columns, &[0]).expect("the schema is fine");
        RecordMut::new(&schema, &mut [0]).set_int(1, 1 << 31);
    }

    #[test]
    #[should_panic(expected = "a truth value is 0 or 1")]
    fn a_number_is_no_truth_value() {
        set_carelessly(|row| row.set_int(4, 2));
    }

    #[test]
    #[should_panic(expected = "text and bytes of the key are read with value")]
    fn a_column_that_is_not_text_does_not_pass_for_empty_text() {
        let schema = schema();
        let payload = vec![0; schema.row_layout(false).payload_words as usize];
        let key = schema.encode_key(&[Value::Int(-3), Value::Int(7)]).expect("fits");
        RecordRef::new(&schema, key.words(), &payload).text(0);
    }

    #[test]
    fn limits_have_errors() {
        let many = (0..300).map(|n| Column::new(&format!("c{n}"), ColumnType::Int8)).collect();
        assert!(matches!(Schema::new("t", many, &[0]), Err(SchemaError::ColumnCount { .. })));
        let long = vec![Column::new("k", ColumnType::Varchar(65))];
        assert!(matches!(Schema::new("t", long, &[0]), Err(SchemaError::KeyTooLong { .. })));
        let text = |n| Column::new(&format!("c{n}"), ColumnType::Char(1000));
        let mut wide: Vec<_> = (0..9).map(text).collect();
        wide.push(Column::new("k", ColumnType::Int8));
        assert!(matches!(Schema::new("t", wide, &[9]), Err(SchemaError::RowTooLong { .. })));
        let huge = ColumnType::Bytes(u32::MAX);
        let huge = vec![Column::new("k", ColumnType::Int8), Column::new("b", huge)];
        assert!(matches!(Schema::new("t", huge, &[0]), Err(SchemaError::ColumnLength { .. })));
    }
}

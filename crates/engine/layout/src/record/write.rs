//! A view of a row that writes its columns.

use crate::column::{ColumnType, Value, int_fits};
use crate::long_cell::{put_in_row, put_reference, reference_in, value_in_row};
use crate::place::{Place, Slot, SlotKind};
use crate::schema::Schema;
use crate::schema_error::SchemaError;
use crate::value::{LongStage, OutOfLine};
use bytemuck::cast_slice_mut;

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

    /// Sets all columns outside the key to those of a row whose payload was copied, for recovery.
    /// Values out of line become empty: set each that was not.
    ///
    /// # Panics
    /// If the payload is that of another schema.
    pub fn copy_payload(&mut self, payload: &[u64]) {
        self.payload.copy_from_slice(payload);
        for &column in self.schema.long_columns() {
            let cell = self.schema.slot(column).cell();
            let cell = &mut cast_slice_mut::<u64, u8>(self.payload)[cell];
            if value_in_row(cell).is_none() {
                put_reference(cell, OutOfLine::EMPTY);
            }
        }
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
            return self.set_long(column, value);
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

    /// Sets a column out of line: stores a value for which the row has room, stages a longer one.
    #[inline(never)]
    fn set_long(&mut self, column: usize, value: &[u8]) {
        check_bytes(self.schema.slot(column), value);
        let cell = self.schema.long_cell(column).expect("a key column cannot be changed in place");
        let cell = &mut cast_slice_mut::<u64, u8>(self.payload)[cell];
        let before = reference_in(cell);
        if !put_in_row(cell, value) {
            let stage = self.stage.as_mut();
            let stage = stage.expect("a transaction's rows have a place for long values");
            put_reference(cell, stage.put(before, value));
        }
        self.mark_null(column, false);
    }

    /// Sets the reference to the value of a column out of line.
    pub fn set_out_of_line(&mut self, column: usize, value: OutOfLine) {
        self.mark_null(column, false);
        let cell = self.schema.long_cell(column).expect("the column is kept out of line");
        put_reference(&mut cast_slice_mut::<u64, u8>(self.payload)[cell], value);
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

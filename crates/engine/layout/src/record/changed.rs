//! The columns in which two payloads of a row differ, for the redo log.
//!
//! A column's bytes are those of its place in the payload: a number in its width, a text with its
//! length in front, a short value of a column out of line with its length in front, which has as
//! many bytes as in its cell. No bytes mean null.

use crate::long_cell::{put_in_row, reference_in, room, value_in_row};
use crate::place::{Slot, SlotKind};
use crate::schema::{PACKED_ROOM, Schema};
use crate::value::OutOfLine;
use bytemuck::{cast_slice, cast_slice_mut};

/// The bytes of a column in the row.
#[inline]
fn bytes_in(slot: Slot, payload: &[u8]) -> &[u8] {
    if payload[usize::from(slot.null_byte)] & slot.null_bit != 0 {
        return &[];
    }
    let at = slot.at as usize;
    let length = match slot.width {
        0 => usize::from(slot.prefix) + text_length(slot, &payload[at..]),
        width => usize::from(width),
    };
    &payload[at..at + length]
}

fn text_length(slot: Slot, bytes: &[u8]) -> usize {
    match slot.prefix {
        2 => usize::from(bytes[0]) | usize::from(bytes[1]) << 8,
        _ => usize::from(bytes[0]),
    }
}

/// The last bit stands for all words behind the ones with a bit of their own.
const WORD_BITS: u32 = u64::BITS - 1;

/// The words in which two payloads differ, a bit each.
fn differing_words(before: &[u64], after: &[u64]) -> u64 {
    let count = before.len().min(WORD_BITS as usize);
    let (first_before, rest_before) = before.split_at(count);
    let (first_after, rest_after) = after.split_at(count);
    let words = (0..).zip(first_before.iter().zip(first_after));
    let bits = words.fold(0, |bits, (word, (old, new))| bits | u64::from(old != new) << word);
    bits | u64::from(rest_before != rest_after) << WORD_BITS
}

/// The payload words of a column with its null flag, a bit each; 0 for columns of the key.
pub(crate) fn words_of(slot: Slot) -> u64 {
    if matches!(slot.kind, SlotKind::Key | SlotKind::KeyBool) {
        return 0;
    }
    let length = match (slot.kind, slot.width) {
        (SlotKind::OutOfLine, _) => u32::from(slot.cell_bytes),
        (_, 0) => u32::from(slot.prefix) + slot.length_max,
        (_, width) => u32::from(width),
    };
    let first = u32::min(slot.at / 8, WORD_BITS);
    let last = u32::min((slot.at + length - 1) / 8, WORD_BITS);
    let value = (u64::MAX << first) & (u64::MAX >> (WORD_BITS - last));
    let flag = u64::from(slot.null_bit != 0) << u32::min(u32::from(slot.null_byte) / 8, WORD_BITS);
    value | flag
}

/// Passes each column that differs, with its new bytes, to `found`. Returns false if a column
/// differs whose new value is not in the row.
pub fn for_changed_columns(
    schema: &Schema,
    before: &[u64],
    after: &[u64],
    mut found: impl FnMut(u8, &[u8]),
) -> bool {
    let differing = differing_words(before, after);
    let (before, after): (&[u8], &[u8]) = (cast_slice(before), cast_slice(after));
    for (column, &words) in schema.column_words().iter().enumerate() {
        // Most columns of most updates are as they were.
        if differing & words == 0 {
            continue;
        }
        let slot = schema.slot(column);
        match slot.kind {
            SlotKind::Key | SlotKind::KeyBool => {}
            SlotKind::Payload => {
                let (old, new) = (bytes_in(slot, before), bytes_in(slot, after));
                if old != new {
                    found(column as u8, new);
                }
            }
            SlotKind::OutOfLine => {
                let (old, new) = (&before[slot.cell()], &after[slot.cell()]);
                let is_null = |payload: &[u8]| payload[usize::from(slot.null_byte)] & slot.null_bit;
                if old == new && is_null(before) == is_null(after) {
                    continue;
                }
                let room = room(new.len());
                if room == 0 || reference_in(new) != OutOfLine::EMPTY {
                    return false;
                }
                let value = value_in_row(new).unwrap_or_default();
                let mut bytes = [0; LENGTH_BYTES_MAX + VALUE_BYTES_MAX];
                let (length, rest) = bytes.split_at_mut(new.len() - room);
                length.copy_from_slice(&(value.len() as u16).to_le_bytes()[..length.len()]);
                rest[..value.len()].copy_from_slice(value);
                let count = if is_null(after) == 0 { length.len() + value.len() } else { 0 };
                found(column as u8, &bytes[..count]);
            }
        }
    }
    true
}

/// Sets a column of a payload to these bytes; false if they are not those of such a column.
pub fn set_changed_column(schema: &Schema, payload: &mut [u64], column: u8, bytes: &[u8]) -> bool {
    let column = usize::from(column);
    if column >= schema.columns().len() {
        return false;
    }
    let slot = schema.slot(column);
    if slot.kind == SlotKind::OutOfLine {
        return set_changed_cell(slot, payload, bytes);
    }
    let is_fitting = match (slot.kind, slot.width) {
        (SlotKind::Payload, _) if bytes.is_empty() => slot.null_bit != 0,
        (SlotKind::Payload, 0) => {
            let prefix = usize::from(slot.prefix);
            bytes.len() >= prefix
                && bytes.len() - prefix == text_length(slot, bytes)
                && bytes.len() - prefix <= slot.length_max as usize
        }
        (SlotKind::Payload, width) => bytes.len() == usize::from(width),
        _ => false,
    };
    if is_fitting {
        set_null_flag(slot, payload, bytes.is_empty());
        let at = slot.at as usize;
        cast_slice_mut::<u64, u8>(payload)[at..at + bytes.len()].copy_from_slice(bytes);
    }
    is_fitting
}

fn set_null_flag(slot: Slot, payload: &mut [u64], is_null: bool) {
    let flag = &mut cast_slice_mut::<u64, u8>(payload)[usize::from(slot.null_byte)];
    *flag = if is_null { *flag | slot.null_bit } else { *flag & !slot.null_bit };
}

/// Most bytes of the length in front of a short value.
const LENGTH_BYTES_MAX: usize = 2;
/// Longest value in a cell.
const VALUE_BYTES_MAX: usize = *PACKED_ROOM.end() as usize;

/// Stores a short value in the cell of a column out of line.
fn set_changed_cell(slot: Slot, payload: &mut [u64], bytes: &[u8]) -> bool {
    let cell = &mut cast_slice_mut::<u64, u8>(payload)[slot.cell()];
    let room = room(cell.len());
    let (length, value) = bytes.split_at(bytes.len().min(cell.len() - room));
    let told = length.iter().rev().fold(0, |told, &byte| told << 8 | usize::from(byte));
    let is_whole = length.len() == cell.len() - room;
    let is_fitting = room > 0
        && told == value.len()
        && value.len() <= slot.length_max as usize
        && if bytes.is_empty() { slot.null_bit != 0 } else { is_whole }
        && put_in_row(cell, value);
    if is_fitting {
        set_null_flag(slot, payload, bytes.is_empty());
    }
    is_fitting
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, ColumnType, RecordMut, RecordRef, SlotId, Value, VersionWord};

    fn schema() -> Schema {
        let columns = vec![
            Column::new("id", ColumnType::Int8),
            Column::new("flag", ColumnType::Bool),
            Column::nullable("small", ColumnType::Int2),
            Column::new("name", ColumnType::Varchar(20)),
            Column::nullable("note", ColumnType::Varchar(600)),
            Column::new("total", ColumnType::Int8),
            Column::nullable("remark", ColumnType::Varchar(600)).with_in_row(20),
        ];
        Schema::new("t", columns, &[0]).expect("the columns are fine")
    }

    fn row(schema: &Schema, values: &[Value]) -> Vec<u64> {
        let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
        let mut record = RecordMut::new(schema, &mut payload);
        for (column, value) in (1..).zip(values) {
            record.set(column, value).expect("the value fits");
        }
        payload
    }

    #[test]
    fn changes_make_one_row_out_of_the_other() {
        let schema = schema();
        let text = |text: &str| Value::Text(text.to_owned());
        let (long, full) = (text(&"x".repeat(500)), text(&"y".repeat(31)));
        let (one, seven, three) = (Value::Int(1), Value::Int(7), Value::Int(-3));
        let rows = [
            [Value::Int(0), Value::Null, text("a"), Value::Null, seven.clone(), Value::Null],
            [one.clone(), three.clone(), text(""), text("n"), seven, text("")],
            [one.clone(), three, text("abc"), long, Value::Int(8), full],
            [one, Value::Null, text("b"), Value::Null, Value::Int(8), text("r")],
        ]
        .map(|values| row(&schema, &values));
        let mut all = 0;
        for before in &rows {
            for after in &rows {
                let (mut changed, mut count) = (before.clone(), 0);
                let is_whole = for_changed_columns(&schema, before, after, |column, bytes| {
                    assert!(set_changed_column(&schema, &mut changed, column, bytes));
                    count += 1;
                });
                assert!(is_whole && (count == 0) == (before == after));
                all += count;
                let (one, other) =
                    (RecordRef::new(&schema, &[0], &changed), RecordRef::new(&schema, &[0], after));
                for column in 1..7 {
                    assert_eq!(one.value(column), other.value(column), "column {column}");
                }
            }
        }
        assert!(all > 30, "{all} columns changed");
    }

    /// Payloads of more words than the comparison has bits: each column is found alone, so that a
    /// word has the bit of its columns.
    #[test]
    fn changes_of_wide_rows_are_found() {
        let numbers =
            (0..120).map(|number| Column::nullable(&format!("n{number}"), ColumnType::Int8));
        let columns = std::iter::once(Column::new("id", ColumnType::Int8)).chain(numbers).collect();
        let schema = Schema::new("t", columns, &[0]).expect("the columns are fine");
        let before = row(&schema, &[]);
        for column in 1..=120 {
            for value in [Value::Int(1), Value::Null] {
                let (mut after, mut found) = (before.clone(), Vec::new());
                RecordMut::new(&schema, &mut after).set(column, &value).expect("the value fits");
                let note = |column: u8, _: &[u8]| found.push(usize::from(column));
                assert!(for_changed_columns(&schema, &before, &after, note));
                assert_eq!(found, [column], "{value:?}");
            }
        }
    }

    /// The references of these payloads, in place of null and of each other.
    #[test]
    fn a_change_to_a_value_out_of_line_is_none_of_columns() {
        let schema = schema();
        let row = |version| {
            let mut payload = row(&schema, &[Value::Int(0)]);
            let stored =
                OutOfLine { ptr: 64, bytes: 40, version: VersionWord::new(SlotId(1), version) };
            RecordMut::new(&schema, &mut payload).set_out_of_line(6, stored);
            payload
        };
        let short = self::row(&schema, &[Value::Int(0)]);
        let is_whole = |before: &[u64], after: &[u64]| {
            let found = |column, _: &[u8]| assert_eq!(column, 6);
            for_changed_columns(&schema, before, after, found)
        };
        assert!(!is_whole(&short, &row(1)) && !is_whole(&row(1), &row(2)));
        assert!(is_whole(&row(1), &row(1)) && is_whole(&row(1), &short));
        let mut changed = row(1);
        assert!(set_changed_column(&schema, &mut changed, 6, &[1, b'r']));
        let record = RecordRef::new(&schema, &[0], &changed);
        assert_eq!((record.text(6), record.out_of_line(6)), ("r", Some(OutOfLine::EMPTY)));
        // A column without room has no short values.
        let columns =
            [Column::new("id", ColumnType::Int8), Column::nullable("n", ColumnType::Varchar(2000))];
        let schema = Schema::new("t", columns.to_vec(), &[0]).expect("the columns are fine");
        for bytes in [&[][..], &[0], &[1, b'r']] {
            assert!(!set_changed_column(&schema, &mut [0; 4], 1, bytes), "{bytes:?}");
        }
    }

    #[test]
    fn bytes_of_other_columns_are_refused() {
        let schema = schema();
        let mut payload = row(&schema, &[]);
        for (column, bytes) in [
            (0, &[1; 8][..]),
            (1, &[]),
            (1, &[1, 1]),
            (2, &[1]),
            (3, &[5, 1]),
            (3, &[21; 22]),
            (4, &[1]),
            (6, &[2, 1]),
            (6, &[32; 33]),
            (7, &[1]),
        ] {
            assert!(
                !set_changed_column(&schema, &mut payload, column, bytes),
                "{column}: {bytes:?}"
            );
        }
        assert_eq!(payload, row(&schema, &[]));
    }
}

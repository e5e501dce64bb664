//! A table's schema: its columns, its primary key, and the place of each column, computed once.

use crate::column::{COLUMN_LENGTH_MAX, Column, INLINE_LENGTH_MAX};
use crate::key::KEY_WORDS_MAX;
use crate::key_part::key_width;
use crate::long_cell::REFERENCE_BYTES;
use crate::place::{Place, Slot, SlotKind, place_null_bits, place_payload};
use crate::record::words_of;
use crate::row::RowLayout;
use crate::schema_error::SchemaError;
use std::fmt;
use std::ops::Range;

/// Largest number of columns of a table.
pub const COLUMNS_MAX: usize = 256;
/// Longest name of a table, column or index in bytes.
pub const NAME_BYTES_MAX: usize = 128;
/// Largest payload of a row in bytes; longer columns are stored out of line.
pub const PAYLOAD_BYTES_MAX: u32 = 8 * 1024;
/// Bytes that [`Column::packed`] can name: a reference fits, and no value of the row is longer than
/// one without room may be.
pub(crate) const PACKED_ROOM: std::ops::RangeInclusive<u16> =
    REFERENCE_BYTES as u16..=INLINE_LENGTH_MAX as u16;
/// Characters of a refused name in its error message.
const NAME_SHOWN: usize = 32;
/// Positions of columns fit a byte.
const _: () = assert!(COLUMNS_MAX <= u8::MAX as usize + 1);

/// A table's columns and key, with every column's place computed once.
#[derive(Clone, PartialEq, Eq)]
pub struct Schema {
    name: String,
    columns: Vec<Column>,
    key: Vec<usize>,
    places: Vec<Place>,
    slots: Vec<Slot>,
    /// The payload words of each column, a bit each.
    words: Vec<u64>,
    long: Vec<usize>,
    key_bytes: u32,
    payload_bytes: u32,
}

/// Without the words of the columns, which their places have: the fingerprints of generated code
/// are made of this text.
impl fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut schema = formatter.debug_struct("Schema");
        schema.field("name", &self.name).field("columns", &self.columns);
        schema.field("key", &self.key).field("places", &self.places);
        schema.field("slots", &self.slots).field("long", &self.long);
        schema.field("key_bytes", &self.key_bytes);
        schema.field("payload_bytes", &self.payload_bytes).finish()
    }
}

impl Schema {
    /// Checks the columns and computes the place of each. `key` lists the primary key's columns by
    /// position, most significant first.
    pub fn new(name: &str, columns: Vec<Column>, key: &[usize]) -> Result<Self, SchemaError> {
        check_columns(name, &columns, key)?;
        let mut places = vec![Place::Payload { at: 0 }; columns.len()];
        let mut key_bytes = 0;
        for &column in key {
            places[column] = Place::Key { at: key_bytes };
            key_bytes += key_width(&columns[column]);
        }
        if key_bytes > KEY_WORDS_MAX as u32 * 8 {
            return Err(SchemaError::KeyTooLong { table: name.to_owned(), bytes: key_bytes });
        }
        let null_bits = place_null_bits(&columns, key);
        let payload_bytes = place_payload(&columns, key, &mut places);
        if payload_bytes > PAYLOAD_BYTES_MAX {
            return Err(SchemaError::RowTooLong { table: name.to_owned(), bytes: payload_bytes });
        }
        let slot = |index: usize| Slot::new(&columns[index], places[index], null_bits[index]);
        let mut slots: Vec<Slot> = (0..columns.len()).map(slot).collect();
        let is_long = |&index: &usize| matches!(places[index], Place::OutOfLine { .. });
        let long: Vec<usize> = (0..columns.len()).filter(is_long).collect();
        for (position, &column) in long.iter().enumerate() {
            slots[column].long = position as u8;
        }
        let words = slots.iter().map(|&slot| words_of(slot)).collect();
        let (name, key) = (name.to_owned(), key.to_vec());
        Ok(Self { name, columns, key, places, slots, words, long, key_bytes, payload_bytes })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the parts of a primary key.
    #[inline]
    pub fn key_bytes(&self) -> u32 {
        self.key_bytes
    }

    /// Words of a primary key, and of the bounds of a table scan.
    pub fn key_words(&self) -> u32 {
        self.key_bytes.div_ceil(8)
    }

    /// Words of a key of an index over `columns`, and of the bounds of an index scan: these
    /// columns, followed by the primary key's other columns. A lookup has the columns only, see
    /// [`Schema::encode_columns`].
    pub fn index_key_words(&self, columns: &[usize]) -> u32 {
        self.index_key_bytes(columns).div_ceil(8)
    }

    /// Bytes of the parts of a key of an index over `columns`.
    pub fn index_key_bytes(&self, columns: &[usize]) -> u32 {
        self.index_key(columns).map(|column| self.key_part_bytes(column)).sum()
    }

    /// The columns in a key of an index over `columns`: these, followed by the primary key's other
    /// columns.
    pub fn index_key<'a>(&'a self, columns: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        let lacking = self.key.iter().filter(move |column| !columns.contains(column));
        columns.iter().chain(lacking).copied()
    }

    /// The position of the primary key in a key of an index over `columns`: byte ranges (offset,
    /// length) whose concatenation is the primary key.
    pub fn key_in_index(&self, columns: &[usize]) -> Vec<(u32, u32)> {
        let place = |wanted: usize| -> u32 {
            let before = self.index_key(columns).take_while(|&column| column != wanted);
            before.map(|column| self.key_part_bytes(column)).sum()
        };
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for &column in &self.key {
            let (at, bytes) = (place(column), self.key_part_bytes(column));
            match ranges.last_mut() {
                Some((begin, length)) if *begin + *length == at => *length += bytes,
                _ => ranges.push((at, bytes)),
            }
        }
        ranges
    }

    /// The columns in declared order.
    #[inline]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The primary key's columns by position.
    pub fn key(&self) -> &[usize] {
        &self.key
    }

    #[inline]
    pub fn place(&self, column: usize) -> Place {
        self.places[column]
    }

    /// The columns stored out of line.
    #[inline]
    pub fn long_columns(&self) -> &[usize] {
        &self.long
    }

    /// The payload bytes of the cell of a column out of line, see [`crate::long_cell`]; `None` for
    /// other columns.
    #[inline]
    pub fn long_cell(&self, column: usize) -> Option<Range<usize>> {
        let slot = self.slots[column];
        (slot.kind == SlotKind::OutOfLine).then(|| slot.cell())
    }

    /// The position of the column called `name`.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Bytes of a row without encoding: the sum of all columns at their maximal length.
    pub fn raw_bytes(&self) -> u64 {
        self.columns.iter().map(|column| u64::from(column.column_type.raw_bytes())).sum()
    }

    /// The shape of the table's rows.
    pub fn row_layout(&self, checksummed: bool) -> RowLayout {
        let payload_words = self.payload_bytes.div_ceil(8);
        RowLayout { key_words: self.key_words(), payload_words, checksummed }
    }

    pub(crate) fn value_error(&self, column: usize, reason: &str) -> SchemaError {
        SchemaError::Value {
            table: self.name.clone(),
            column: self.columns[column].name.clone(),
            reason: reason.to_owned(),
        }
    }

    pub(crate) fn value_count(&self, expected: usize, found: usize) -> SchemaError {
        SchemaError::ValueCount { table: self.name.clone(), expected, found }
    }

    /// The byte ranges of `columns` in the payload (start, end), null flags included.
    pub fn payload_ranges(&self, columns: &[usize]) -> Vec<(u32, u32)> {
        let mut ranges = Vec::new();
        for &column in columns {
            let slot = self.slot(column);
            let bytes = match slot.kind {
                SlotKind::Payload if slot.width > 0 => u32::from(slot.width),
                SlotKind::Payload => u32::from(slot.prefix) + slot.length_max,
                SlotKind::OutOfLine => u32::from(slot.cell_bytes),
                SlotKind::Key | SlotKind::KeyBool => continue,
            };
            ranges.push((slot.at, slot.at + bytes));
            if slot.null_bit != 0 {
                ranges.push((u32::from(slot.null_byte), u32::from(slot.null_byte) + 1));
            }
        }
        ranges
    }

    /// The payload words of each column with its null flag, see [`words_of`].
    #[inline]
    pub(crate) fn column_words(&self) -> &[u64] {
        &self.words
    }

    /// The parameters for reading and writing `column`.
    #[inline]
    pub fn slot(&self, column: usize) -> Slot {
        self.slots[column]
    }
}

/// Refuses a name of a table, column or index that does not fit in a message or a line of a report.
/// `what` is the kind of object, with its article.
pub fn check_name(what: &'static str, name: &str) -> Result<(), SchemaError> {
    if (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.contains(char::is_control) {
        return Ok(());
    }
    let shown = name.chars().take(NAME_SHOWN).collect();
    Err(SchemaError::Name { what, name: shown, bytes: name.len() })
}

fn check_columns(name: &str, columns: &[Column], key: &[usize]) -> Result<(), SchemaError> {
    check_name("a table", name)?;
    let table = || name.to_owned();
    if columns.is_empty() || columns.len() > COLUMNS_MAX {
        return Err(SchemaError::ColumnCount { table: table(), count: columns.len() });
    }
    for (index, column) in columns.iter().enumerate() {
        check_name("a column", &column.name)?;
        if columns[..index].iter().any(|other| other.name == column.name) {
            let column = column.name.clone();
            return Err(SchemaError::DuplicateColumn { table: table(), column });
        }
        let length = column.column_type.length_max();
        let has_length = column.column_type.fixed_bytes().is_none();
        if has_length && !(1..=COLUMN_LENGTH_MAX).contains(&length) {
            let column = column.name.clone();
            return Err(SchemaError::ColumnLength { table: table(), column, length });
        }
        if let Some(bytes) = column.room().filter(|bytes| !(1..length).contains(bytes)) {
            let column = column.name.clone();
            return Err(SchemaError::InRow { table: table(), column, bytes, length });
        }
        if let Some(bytes) = column.packed.filter(|&bytes| !PACKED_ROOM.contains(&bytes)) {
            let column = column.name.clone();
            return Err(SchemaError::Packed { table: table(), column, bytes });
        }
    }
    let twice = |(index, column): (usize, &usize)| key[..index].contains(column);
    let unknown = key.iter().any(|&column| column >= columns.len());
    let long = key.iter().any(|&column| columns.get(column).is_some_and(Column::is_out_of_line));
    if key.is_empty() || unknown || long || key.iter().enumerate().any(twice) {
        return Err(SchemaError::KeyColumns { table: table() });
    }
    Ok(())
}

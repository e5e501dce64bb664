//! The rows that a call returns, in memory that calls reuse.
//!
//! Decisions:
//! - docs/decisions/0241-texts-stay-in-their-rows-and-large-result-rows-are-copied.md
//! - docs/decisions/0258-results-travel-in-registers-and-values-are-built-where-they.md

use crate::text::copy;
use layout::{RecordRef, Slot};

/// A value of a result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cell<'a> {
    Null,
    /// A number, a boolean, a date or a time.
    Int(i64),
    /// Units and scale of a decimal.
    Decimal(i64, u8),
    Float(f64),
    /// Text; `character` without its trailing blanks.
    Text(&'a [u8]),
}

/// A column of a table's row, returned unchanged and not null.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Column {
    /// A number, a date or a time.
    Int(Slot),
    /// Units and scale of a decimal.
    Decimal(Slot, u8),
    /// A text that is not part of the key.
    Bytes(Slot),
}

/// Rows of values. The procedure's signature has their types.
///
/// Values are stored one after the other, each after a tag byte. If a row consists of columns of a
/// table's row, key and payload are copied as a whole, with a list of the columns; the columns are
/// decoded when they are read.
#[derive(Clone, Debug, Default)]
pub struct Results {
    bytes: Vec<u8>,
    /// Keys and payloads of table rows.
    words: Vec<u64>,
    /// Lists of returned columns; consecutive rows share one.
    lists: Vec<&'static [Column]>,
    rows: usize,
}

/// Tags of values.
const NULL: u8 = 0;
const INT: u8 = 1;
const FLOAT: u8 = 2;
const TEXT: u8 = 3;
/// Decimal of scale 0; the tag of scale `n` is `n` larger.
const DECIMAL: u8 = 4;
const SCALE_MAX: u8 = 200;
/// A table row. 64 bits follow the tag: 32 for the offset of its words, 8 for the number of key
/// words, and 24 for its list of columns.
const RECORD: u8 = u8::MAX;
const _: () = assert!(DECIMAL + SCALE_MAX < RECORD);
const KEY_SHIFT: u32 = 32;
const LIST_SHIFT: u32 = 40;
/// A place is the offset of a value times this, plus the column if the value is a table row.
const COLUMNS_MAX: usize = 1 << 12;

impl Results {
    /// Removes all rows, keeping the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.words.clear();
        self.lists.clear();
        self.rows = 0;
    }

    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Begins a row; its values follow.
    #[inline]
    pub fn row(&mut self) {
        self.rows += 1;
    }

    #[inline]
    pub fn null(&mut self) {
        self.bytes.push(NULL);
    }

    #[inline]
    pub fn nulls<const COUNT: usize>(&mut self) {
        self.bytes.extend_from_slice(&[NULL; COUNT]);
    }

    /// Adds a number, a boolean, a date or a time.
    #[inline]
    pub fn int(&mut self, value: i64) {
        let mut cell = [INT; 9];
        cell[1..].copy_from_slice(&value.to_le_bytes());
        self.bytes.extend_from_slice(&cell);
    }

    /// Adds a row of these columns of a table's row.
    ///
    /// # Panics
    /// If the results take more than 32 GiB, or have more lists of columns than fit 24 bits.
    #[inline]
    pub fn record(&mut self, record: &RecordRef<'_>, columns: &'static [Column]) {
        let begin = u32::try_from(self.words.len()).expect("results are shorter");
        let (key, payload) = (record.key(), record.payload());
        self.words.reserve(key.len() + payload.len());
        self.words.extend_from_slice(key);
        self.words.extend_from_slice(payload);
        if !self.lists.last().is_some_and(|last| std::ptr::eq(*last, columns)) {
            self.lists.push(columns);
        }
        let list = self.lists.len() as u64 - 1;
        assert!(list < 1 << (u64::BITS - LIST_SHIFT), "a procedure has fewer statements");
        let head = list << LIST_SHIFT | (key.len() as u64) << KEY_SHIFT | u64::from(begin);
        let mut cell = [RECORD; 9];
        cell[1..].copy_from_slice(&head.to_le_bytes());
        self.bytes.extend_from_slice(&cell);
        self.rows += 1;
    }

    /// Adds a decimal: units and scale.
    ///
    /// # Panics
    /// If the scale is above 200, which no type allows.
    #[inline]
    pub fn decimal(&mut self, units: i64, scale: u8) {
        assert!(scale <= SCALE_MAX, "numbers of 64 bits have fewer digits");
        let mut cell = [DECIMAL + scale; 9];
        cell[1..].copy_from_slice(&units.to_le_bytes());
        self.bytes.extend_from_slice(&cell);
    }

    /// Adds a decimal, or null.
    #[inline]
    pub fn decimal_or_null(&mut self, units: Option<i64>, scale: u8) {
        match units {
            Some(units) => self.decimal(units, scale),
            None => self.null(),
        }
    }

    #[inline]
    pub fn float(&mut self, value: f64) {
        let mut cell = [FLOAT; 9];
        cell[1..].copy_from_slice(&value.to_le_bytes());
        self.bytes.extend_from_slice(&cell);
    }

    #[inline]
    pub fn text(&mut self, value: &[u8]) {
        let length = u32::try_from(value.len()).expect("columns are shorter");
        let mut head = [TEXT; 5];
        head[1..].copy_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(&head);
        self.bytes.extend_from_slice(value);
    }

    /// Adds several texts. Rows with addresses have many: the same few instructions copy them all.
    pub fn texts(&mut self, values: &[&[u8]]) {
        const HEAD: usize = 5;
        let all: usize = values.iter().map(|value| HEAD + value.len()).sum();
        let mut at = self.bytes.len();
        self.bytes.resize(at + all, TEXT);
        for value in values {
            let length = u32::try_from(value.len()).expect("columns are shorter");
            self.bytes[at + 1..at + HEAD].copy_from_slice(&length.to_le_bytes());
            at += HEAD;
            copy(&mut self.bytes[at..at + value.len()], value);
            at += value.len();
        }
    }

    #[inline]
    pub fn int_or_null(&mut self, value: Option<i64>) {
        match value {
            Some(value) => self.int(value),
            None => self.null(),
        }
    }

    #[inline]
    pub fn float_or_null(&mut self, value: Option<f64>) {
        match value {
            Some(value) => self.float(value),
            None => self.null(),
        }
    }

    #[inline]
    pub fn text_or_null(&mut self, value: Option<&[u8]>) {
        match value {
            Some(value) => self.text(value),
            None => self.null(),
        }
    }

    /// Iterates over all values, row by row.
    pub fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        let mut at = Some(0);
        std::iter::from_fn(move || {
            let (cell, next) = self.read(at?)?;
            at = Some(next);
            Some(cell)
        })
    }

    /// Lists the places of all values, row by row, for [`Results::cell`].
    pub fn places(&self, places: &mut Vec<usize>) {
        places.clear();
        let mut at = 0;
        while let Some((_, next)) = self.read(at) {
            places.push(at);
            at = next;
        }
    }

    /// Returns the value at one of [`Results::places`].
    ///
    /// # Panics
    /// If `place` is not one of them.
    pub fn cell(&self, place: usize) -> Cell<'_> {
        self.read(place).expect("it is one of the places").0
    }

    /// Reads the value at a place, and returns the next place; `None` at the end.
    fn read(&self, place: usize) -> Option<(Cell<'_>, usize)> {
        let (at, column) = (place / COLUMNS_MAX, place % COLUMNS_MAX);
        let (&kind, behind) = self.bytes[at..].split_first()?;
        let number = || <[u8; 8]>::try_from(&behind[..8]).expect("eight bytes");
        let (cell, length) = match kind {
            NULL => (Cell::Null, 0),
            INT => (Cell::Int(i64::from_le_bytes(number())), 8),
            FLOAT => (Cell::Float(f64::from_le_bytes(number())), 8),
            TEXT => {
                let length = <[u8; 4]>::try_from(&behind[..4]).expect("four bytes");
                let length = u32::from_le_bytes(length) as usize;
                (Cell::Text(&behind[4..4 + length]), 4 + length)
            }
            RECORD => {
                let head = u64::from_le_bytes(number());
                let columns = self.lists[(head >> LIST_SHIFT) as usize];
                let cell = self.column(head, columns[column]);
                if column + 1 < columns.len() {
                    return Some((cell, place + 1));
                }
                (cell, 8)
            }
            decimal => (Cell::Decimal(i64::from_le_bytes(number()), decimal - DECIMAL), 8),
        };
        Some((cell, (at + 1 + length) * COLUMNS_MAX))
    }

    /// Decodes a column of the table row that `head` describes.
    fn column(&self, head: u64, column: Column) -> Cell<'_> {
        let words = &self.words[head as u32 as usize..];
        let (key, payload) = words.split_at(usize::from((head >> KEY_SHIFT) as u8));
        match column {
            Column::Int(slot) => Cell::Int(slot.int(key, payload)),
            Column::Decimal(slot, scale) => Cell::Decimal(slot.int(key, payload), scale),
            Column::Bytes(slot) => Cell::Text(slot.bytes(payload)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_in_order() {
        let mut results = Results::default();
        results.row();
        results.int(-5);
        results.text(b"seven");
        results.null();
        results.row();
        results.float(1.5);
        results.text_or_null(None);
        results.int_or_null(Some(i64::MAX));
        results.decimal(-120, 2);
        results.nulls::<2>();
        results.texts(&[b"", b"eight", b"a text that is longer than most of them"]);
        let cells: Vec<Cell<'_>> = results.cells().collect();
        let expected = [
            Cell::Int(-5),
            Cell::Text(b"seven"),
            Cell::Null,
            Cell::Float(1.5),
            Cell::Null,
            Cell::Int(i64::MAX),
            Cell::Decimal(-120, 2),
            Cell::Null,
            Cell::Null,
            Cell::Text(b""),
            Cell::Text(b"eight"),
            Cell::Text(b"a text that is longer than most of them"),
        ];
        assert_eq!((results.rows(), cells), (2, expected.to_vec()));
        let mut places = vec![7];
        results.places(&mut places);
        let cells: Vec<Cell<'_>> = places.iter().map(|&place| results.cell(place)).collect();
        assert_eq!(cells, expected);
        results.clear();
        assert_eq!((results.rows(), results.cells().count()), (0, 0));
    }

    #[test]
    fn rows_of_tables_mix_with_other_values() {
        let columns = vec![
            layout::Column::new("id", layout::ColumnType::Int4),
            layout::Column::new("price", layout::ColumnType::Decimal { scale: 2 }),
            layout::Column::new("name", layout::ColumnType::Char(7)),
            layout::Column::new("amount", layout::ColumnType::Int2),
        ];
        let schema = layout::Schema::new("t", columns, &[0]).expect("a valid schema");
        let key = layout::KeyBuilder::new().int4(-9).key();
        let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
        let mut row = layout::RecordMut::new(&schema, &mut payload);
        row.set_int(1, 1999);
        row.set_bytes(2, b"seven");
        row.set_int(3, -2);
        // In generated code, lists of columns are constants.
        let leaked = |columns: Vec<Column>| -> &'static [Column] { columns.leak() };
        let all = leaked(vec![
            Column::Int(schema.slot(0)),
            Column::Decimal(schema.slot(1), 2),
            Column::Bytes(schema.slot(2)),
            Column::Int(schema.slot(3)),
        ]);
        let some = leaked(vec![Column::Int(schema.slot(3)), Column::Int(schema.slot(0))]);
        let record = RecordRef::new(&schema, key.words(), &payload);
        let mut results = Results::default();
        results.int(5);
        results.record(&record, all);
        results.record(&record, all);
        results.record(&record, some);
        results.text(b"last");
        let whole = [Cell::Int(-9), Cell::Decimal(1999, 2), Cell::Text(b"seven"), Cell::Int(-2)];
        let expected =
            [&[Cell::Int(5)], &whole[..], &whole[..], &[Cell::Int(-2), Cell::Int(-9)]].concat();
        let expected = [&expected[..], &[Cell::Text(b"last")]].concat();
        assert_eq!(results.rows(), 3);
        assert_eq!(results.cells().collect::<Vec<_>>(), expected);
        let mut places = Vec::new();
        results.places(&mut places);
        assert_eq!(places.iter().map(|&at| results.cell(at)).collect::<Vec<_>>(), expected);
        results.clear();
        assert_eq!((results.rows(), results.cells().count()), (0, 0));
    }
}

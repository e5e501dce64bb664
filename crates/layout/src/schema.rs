//! What a table's rows mean: columns, types, the primary key, and where each column's bytes lie.

use crate::key::{KEY_WORDS_MAX, Key, KeyBuilder, read_signed, read_unsigned};
use crate::row::RowLayout;
use serde::{Deserialize, Serialize};

/// Most columns of a table.
pub const COLUMNS_MAX: usize = 256;
/// Most bytes of a row's payload in its slot; longer columns go out of line.
pub const PAYLOAD_BYTES_MAX: u32 = 8 * 1024;
/// Text and bytes with a larger maximal length are kept out of line, behind a pointer and a length.
pub const INLINE_LENGTH_MAX: u32 = 1024;
/// Largest maximal length of a column.
pub const COLUMN_LENGTH_MAX: u32 = 1024 * 1024;

/// Bytes that a row has of a column out of line.
const REFERENCE_BYTES: u32 = crate::value::REFERENCE_WORDS * 8;
/// Positions of columns fit a byte.
const _: () = assert!(COLUMNS_MAX <= u8::MAX as usize + 1);

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ColumnType {
    /// Two-byte integer.
    Int2,
    /// Four-byte integer.
    Int4,
    /// Eight-byte integer.
    Int8,
    /// Truth value.
    Bool,
    /// Eight-byte float.
    Float8,
    /// Exact decimal, kept as an eight-byte integer of units of 10^-scale.
    Decimal {
        /// Digits after the point.
        scale: u8,
    },
    /// Text of at most this many bytes, blanks at the end not significant.
    Char(u32),
    /// Text of at most this many bytes.
    Varchar(u32),
    /// Bytes, at most this many.
    Bytes(u32),
    /// Days since 2000-01-01.
    Date,
    /// Microseconds since 2000-01-01 00:00 UTC.
    Timestamp,
}

impl ColumnType {
    /// Bytes of a fixed-width value, or `None` for text and bytes.
    pub const fn fixed_bytes(self) -> Option<u32> {
        match self {
            Self::Bool => Some(1),
            Self::Int2 => Some(2),
            Self::Int4 | Self::Date => Some(4),
            Self::Int8 | Self::Float8 | Self::Decimal { .. } | Self::Timestamp => Some(8),
            Self::Char(_) | Self::Varchar(_) | Self::Bytes(_) => None,
        }
    }

    /// The maximal length of text and bytes, 0 for other types.
    pub const fn length_max(self) -> u32 {
        match self {
            Self::Char(length) | Self::Varchar(length) | Self::Bytes(length) => length,
            _ => 0,
        }
    }

    /// Bytes of the value as a user counts them: maximal length for text.
    pub const fn raw_bytes(self) -> u32 {
        match self.fixed_bytes() {
            Some(bytes) => bytes,
            None => self.length_max(),
        }
    }

    const fn is_out_of_line(self) -> bool {
        self.length_max() > INLINE_LENGTH_MAX
    }
}

/// A column of a table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Column {
    /// The column's name, unique in its table.
    pub name: String,
    /// Its type.
    pub column_type: ColumnType,
    /// Whether it may be null.
    pub nullable: bool,
}

impl Column {
    /// A column that is never null.
    pub fn new(name: &str, column_type: ColumnType) -> Self {
        Self { name: name.to_owned(), column_type, nullable: false }
    }

    /// A column that may be null.
    pub fn nullable(name: &str, column_type: ColumnType) -> Self {
        Self { nullable: true, ..Self::new(name, column_type) }
    }
}

/// Where a column's bytes lie in a row.
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
    /// Out of line; the payload holds pointer, length and version from this byte on.
    OutOfLine {
        /// First byte of pointer, length and version.
        at: u32,
    },
}

/// A value of a column, as dynamic code passes it around.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// SQL's null.
    Null,
    /// Any integer, date (days), timestamp (microseconds), decimal (scaled), or 0/1 for bool.
    Int(i64),
    /// A float.
    Float(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

/// Why a schema or a row was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Too many columns, or none.
    #[error("table {table} has {count} columns; a table has 1 to {COLUMNS_MAX}")]
    ColumnCount {
        /// Table name.
        table: String,
        /// Columns given.
        count: usize,
    },
    /// Two columns share a name.
    #[error("table {table} names column {column} twice")]
    DuplicateColumn {
        /// Table name.
        table: String,
        /// The name.
        column: String,
    },
    /// The key names a column that is not there, or none.
    #[error(
        "a key of table {table} must name at least one of its columns, each once, none out of line"
    )]
    KeyColumns {
        /// Table name.
        table: String,
    },
    /// The encoded key is too long.
    #[error(
        "a key of table {table} takes {bytes} bytes; at most {} fit, so shorten its text columns",
        KEY_WORDS_MAX * 8
    )]
    KeyTooLong {
        /// Table name.
        table: String,
        /// Bytes needed.
        bytes: u32,
    },
    /// The payload is too long.
    #[error(
        "a row of table {table} takes {bytes} bytes; at most {PAYLOAD_BYTES_MAX} fit, so give long columns a maximal length over {INLINE_LENGTH_MAX} to keep them out of line"
    )]
    RowTooLong {
        /// Table name.
        table: String,
        /// Bytes needed.
        bytes: u32,
    },
    /// A column's maximal length is absurd.
    #[error(
        "column {column} of table {table} has maximal length {length}; 1 to {COLUMN_LENGTH_MAX} is allowed"
    )]
    ColumnLength {
        /// Table name.
        table: String,
        /// Column name.
        column: String,
        /// Length given.
        length: u32,
    },
    /// A value does not fit its column.
    #[error("column {column} of table {table} cannot hold this value: {reason}")]
    Value {
        /// Table name.
        table: String,
        /// Column name.
        column: String,
        /// What is wrong.
        reason: String,
    },
    /// A row or key has the wrong number of values.
    #[error("table {table} wants {expected} values here, {found} were given")]
    ValueCount {
        /// Table name.
        table: String,
        /// Values wanted.
        expected: usize,
        /// Values given.
        found: usize,
    },
}

/// A table's columns and key, with every column's place computed once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schema {
    name: String,
    columns: Vec<Column>,
    key: Vec<usize>,
    places: Vec<Place>,
    slots: Vec<Slot>,
    long: Vec<usize>,
    key_bytes: u32,
    payload_bytes: u32,
}

impl Schema {
    /// Checks the columns and computes where each lies. `key` names the primary key's columns by
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
        let (name, key) = (name.to_owned(), key.to_vec());
        Ok(Self { name, columns, key, places, slots, long, key_bytes, payload_bytes })
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
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

    /// Where column `column` lies.
    #[inline]
    pub fn place(&self, column: usize) -> Place {
        self.places[column]
    }

    /// The columns that are kept out of line.
    #[inline]
    pub fn long_columns(&self) -> &[usize] {
        &self.long
    }

    /// The first of the payload's words that say where the value of `column` is; none if it stands in the
    /// row.
    #[inline]
    pub fn long_word(&self, column: usize) -> Option<usize> {
        match self.places[column] {
            Place::OutOfLine { at } => Some((at / 8) as usize),
            _ => None,
        }
    }

    /// The position of the column called `name`.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Bytes of a row as a user counts them: the sum of all columns at their maximal length.
    pub fn raw_bytes(&self) -> u64 {
        self.columns.iter().map(|column| u64::from(column.column_type.raw_bytes())).sum()
    }

    /// The shape of the table's rows.
    pub fn row_layout(&self, checksummed: bool) -> RowLayout {
        let payload_words = self.payload_bytes.div_ceil(8);
        RowLayout { key_words: self.key_bytes.div_ceil(8), payload_words, checksummed }
    }

    /// Encodes the primary key given as values of the key's columns, in key order.
    pub fn encode_key(&self, values: &[Value]) -> Result<Key, SchemaError> {
        self.encode_columns(&self.key, values)
    }

    /// Encodes `values` of `columns` as a key; secondary keys use it too.
    pub fn encode_columns(&self, columns: &[usize], values: &[Value]) -> Result<Key, SchemaError> {
        if values.len() != columns.len() {
            return Err(self.value_count(columns.len(), values.len()));
        }
        let builder =
            columns.iter().zip(values).try_fold(KeyBuilder::new(), |key, (&column, value)| {
                self.append_key_part(key, column, value)
            })?;
        Ok(builder.key())
    }

    /// Appends one column's value to a key; the same encoding serves primary and secondary keys.
    pub fn append_key_part(
        &self,
        builder: KeyBuilder,
        column: usize,
        value: &Value,
    ) -> Result<KeyBuilder, SchemaError> {
        let Column { column_type, nullable, .. } = &self.columns[column];
        let builder = match (nullable, value) {
            (true, Value::Null) => {
                return Ok(builder
                    .unsigned(1, 1)
                    .padded(&[], key_width(&self.columns[column]) - 1));
            }
            (true, _) => builder.unsigned(0, 1),
            (false, _) => builder,
        };
        let fixed = column_type.fixed_bytes();
        match (value, column_type) {
            (Value::Int(value @ (0 | 1)), ColumnType::Bool) => {
                Ok(builder.unsigned(*value as u64, 1))
            }
            (Value::Float(value), ColumnType::Float8) => Ok(builder.float8(*value)),
            (Value::Int(_), ColumnType::Float8 | ColumnType::Bool) => {
                Err(self.value_error(column, "the value has another type"))
            }
            (Value::Int(value), _) if fixed.is_some_and(|bytes| int_fits(*value, bytes)) => {
                Ok(builder.signed(*value, fixed.expect("integers have a fixed width")))
            }
            (Value::Text(text), ColumnType::Char(_) | ColumnType::Varchar(_)) => {
                self.append_key_text(builder, column, text)
            }
            (Value::Bytes(bytes), ColumnType::Bytes(length)) if bytes.len() <= *length as usize => {
                Ok(builder.padded(bytes, *length).unsigned(bytes.len() as u64, 2))
            }
            _ => Err(self.value_error(column, "wrong type, or out of the type's range")),
        }
    }

    fn append_key_text(
        &self,
        builder: KeyBuilder,
        column: usize,
        text: &str,
    ) -> Result<KeyBuilder, SchemaError> {
        let column_type = self.columns[column].column_type;
        let text = match column_type {
            ColumnType::Char(_) => text.trim_end_matches(' '),
            _ => text,
        };
        if text.len() > column_type.length_max() as usize {
            return Err(self.value_error(column, "longer than the column's maximal length"));
        }
        if text.contains('\0') {
            return Err(self.value_error(column, "text must not contain the character NUL"));
        }
        Ok(builder.padded(text.as_bytes(), column_type.length_max()))
    }

    /// Bytes that `column` takes in an encoded key.
    pub fn key_part_bytes(&self, column: usize) -> u32 {
        key_width(&self.columns[column])
    }

    /// Reads a key column out of encoded key words, from byte `at` on.
    pub fn read_key_part(&self, words: &[u64], column: usize, at: u32) -> Value {
        let Column { column_type, nullable, .. } = self.columns[column];
        let at = match nullable {
            true if read_unsigned(words, at, 1) == 1 => return Value::Null,
            true => at + 1,
            false => at,
        };
        match column_type {
            ColumnType::Bool => Value::Int(read_unsigned(words, at, 1) as i64),
            ColumnType::Float8 => {
                let flipped = read_unsigned(words, at, 8);
                let bits = if flipped >> 63 == 1 { flipped & !(1 << 63) } else { !flipped };
                Value::Float(f64::from_bits(bits))
            }
            ColumnType::Char(length) | ColumnType::Varchar(length) => {
                let bytes = read_bytes(words, at, length);
                let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
                Value::Text(String::from_utf8_lossy(&bytes[..end]).into_owned())
            }
            ColumnType::Bytes(length) => {
                let mut bytes = read_bytes(words, at, length);
                bytes.truncate(read_unsigned(words, at + length, 2) as usize);
                Value::Bytes(bytes)
            }
            other => {
                let bytes = other.fixed_bytes().expect("only text and bytes vary");
                Value::Int(read_signed(words, at, bytes))
            }
        }
    }

    pub(crate) fn value_error(&self, column: usize, reason: &str) -> SchemaError {
        SchemaError::Value {
            table: self.name.clone(),
            column: self.columns[column].name.clone(),
            reason: reason.to_owned(),
        }
    }

    fn value_count(&self, expected: usize, found: usize) -> SchemaError {
        SchemaError::ValueCount { table: self.name.clone(), expected, found }
    }

    /// The bytes of the payload, from and to, that `columns` take, null flags included.
    pub fn payload_ranges(&self, columns: &[usize]) -> Vec<(u32, u32)> {
        let mut ranges = Vec::new();
        for &column in columns {
            let slot = self.slot(column);
            let bytes = match slot.kind {
                SlotKind::Payload if slot.width > 0 => u32::from(slot.width),
                SlotKind::Payload => u32::from(slot.prefix) + slot.length_max,
                SlotKind::OutOfLine => REFERENCE_BYTES,
                SlotKind::Key | SlotKind::KeyBool => continue,
            };
            ranges.push((slot.at, slot.at + bytes));
            if slot.null_bit != 0 {
                ranges.push((u32::from(slot.null_byte), u32::from(slot.null_byte) + 1));
            }
        }
        ranges
    }

    /// What reading and writing `column` takes.
    #[inline]
    pub(crate) fn slot(&self, column: usize) -> Slot {
        self.slots[column]
    }
}

/// Everything that reading or writing a column takes, in a few bytes: the data path looks here only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    /// First byte in key or payload, behind a key's null byte.
    pub at: u32,
    /// Bytes of a fixed-width value, 0 for text and bytes.
    pub width: u8,
    /// Bytes of the length in front of text and bytes.
    pub prefix: u8,
    /// Bit of the null flag in the payload, 0 where there is none.
    pub null_bit: u8,
    /// Where the value stands.
    pub kind: SlotKind,
    /// Byte of the null flag in the payload.
    pub null_byte: u16,
    /// Which of the columns out of line it is.
    pub long: u8,
    /// Largest length of text and bytes.
    pub length_max: u32,
}

/// Where a column's value stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SlotKind {
    Payload,
    Key,
    /// One byte of the key, without sign.
    KeyBool,
    OutOfLine,
}

impl Slot {
    fn new(column: &Column, place: Place, (null_byte, null_bit): (u16, u8)) -> Self {
        let (kind, at) = match place {
            Place::Payload { at } => (SlotKind::Payload, at),
            Place::OutOfLine { at } => (SlotKind::OutOfLine, at),
            Place::Key { at } if column.column_type == ColumnType::Bool => {
                (SlotKind::KeyBool, at + u32::from(column.nullable))
            }
            Place::Key { at } => (SlotKind::Key, at + u32::from(column.nullable)),
        };
        let length_max = column.column_type.length_max();
        Self {
            at,
            width: column.column_type.fixed_bytes().unwrap_or(0) as u8,
            prefix: length_bytes(length_max) as u8,
            null_bit,
            kind,
            null_byte,
            long: 0,
            length_max,
        }
    }
}

fn check_columns(name: &str, columns: &[Column], key: &[usize]) -> Result<(), SchemaError> {
    let table = || name.to_owned();
    if columns.is_empty() || columns.len() > COLUMNS_MAX {
        return Err(SchemaError::ColumnCount { table: table(), count: columns.len() });
    }
    for (index, column) in columns.iter().enumerate() {
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
    }
    let twice = |(index, column): (usize, &usize)| key[..index].contains(column);
    let unknown = key.iter().any(|&column| column >= columns.len());
    let long = key.iter().any(|&c| columns.get(c).is_some_and(|c| c.column_type.is_out_of_line()));
    if key.is_empty() || unknown || long || key.iter().enumerate().any(twice) {
        return Err(SchemaError::KeyColumns { table: table() });
    }
    Ok(())
}

/// Bytes of a column in an encoded key.
fn key_width(column: &Column) -> u32 {
    let width = match column.column_type {
        ColumnType::Bytes(length) => length + 2,
        other => other.fixed_bytes().unwrap_or(other.length_max()),
    };
    width + u32::from(column.nullable)
}

/// Bytes of the length in front of an inline text.
pub(crate) const fn length_bytes(length_max: u32) -> u32 {
    if length_max <= 255 { 1 } else { 2 }
}

fn place_null_bits(columns: &[Column], key: &[usize]) -> Vec<(u16, u8)> {
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

/// Places all columns outside the key: null bits first, then by falling alignment, then text.
fn place_payload(columns: &[Column], key: &[usize], places: &mut [Place]) -> u32 {
    let outside_key: Vec<usize> = (0..columns.len()).filter(|index| !key.contains(index)).collect();
    let nullable = outside_key.iter().filter(|&&index| columns[index].nullable).count() as u32;
    let mut at = nullable.div_ceil(8);
    for width in [8, 4, 2, 1] {
        for &index in &outside_key {
            let column_type = columns[index].column_type;
            if column_type.is_out_of_line() && width == 8 {
                at = at.next_multiple_of(8);
                places[index] = Place::OutOfLine { at };
                at += REFERENCE_BYTES;
            } else if column_type.fixed_bytes() == Some(width) {
                at = at.next_multiple_of(width);
                places[index] = Place::Payload { at };
                at += width;
            }
        }
    }
    for &index in &outside_key {
        let column_type = columns[index].column_type;
        if column_type.fixed_bytes().is_none() && !column_type.is_out_of_line() {
            places[index] = Place::Payload { at };
            at += length_bytes(column_type.length_max()) + column_type.length_max();
        }
    }
    at
}

/// Whether `value` fits a signed integer of `bytes` bytes.
pub(crate) fn int_fits(value: i64, bytes: u32) -> bool {
    let unused = 64 - 8 * bytes;
    value << unused >> unused == value
}

fn read_bytes(words: &[u64], at: u32, length: u32) -> Vec<u8> {
    (at..at + length).map(|byte| read_unsigned(words, byte, 1) as u8).collect()
}

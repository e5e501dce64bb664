//! The records of a lane: `begin`, rows, `end` make up an entry, which is one transaction.
//!
//! ```text
//! per transaction: begin 16 + end 8 bytes; per row: 20 bytes, the key, and the changed bytes
//! ```
//!
//! Keys and images are bytes to the log; the engine knows what they mean.

use crate::bytes::{put, u32_at, u64_at};
use crate::position::Incarnation;
use crate::varint;
use layout::VersionWord;

/// Bytes of a `begin`.
pub const BEGIN_BYTES: usize = 16;
/// Bytes of a row before its key.
pub const ROW_BYTES: usize = 20;
/// Bytes of an `end`.
pub const END_BYTES: usize = 8;
/// Longest key or identity of a row.
pub const KEY_BYTES_MAX: usize = 255;
/// Longest image of a row.
pub const IMAGE_BYTES_MAX: usize = 1 << 30;

const BEGIN: u8 = 1;
const ROW: u8 = 2;
const END: u8 = 3;

const BEGIN_INCARNATION: usize = 4;
const BEGIN_VERSION: usize = 8;
const ROW_CHANGE: usize = 1;
const ROW_IMAGE: usize = 2;
const ROW_KEY: usize = 3;
const ROW_TABLE: usize = 4;
const ROW_REPLACES: usize = 8;
const ROW_LENGTH: usize = 16;
const END_ROWS: usize = 4;

const _: () = {
    assert!(BEGIN_INCARNATION == 4 && BEGIN_VERSION == 8 && BEGIN_BYTES == BEGIN_VERSION + 8);
    assert!(ROW_CHANGE == 1 && ROW_IMAGE == 2 && ROW_KEY == 3 && ROW_TABLE == 4);
    assert!(ROW_REPLACES == ROW_TABLE + 4 && ROW_LENGTH == ROW_REPLACES + 8);
    assert!(ROW_BYTES == ROW_LENGTH + 4 && END_BYTES == END_ROWS + 4);
    assert!(BEGIN_BYTES + END_BYTES <= 32 && ROW_BYTES <= 32);
    assert!(8 * layout::KEY_WORDS_MAX <= KEY_BYTES_MAX && KEY_BYTES_MAX <= u8::MAX as usize);
};

/// The kinds of changes of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    Insert,
    Update,
    Delete,
}

/// The content of a row after the change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Image<'a> {
    /// Of a deleted row.
    None,
    Whole(&'a [u8]),
    /// The columns that changed: see [`Columns`].
    Columns(Columns<'a>),
}

/// Columns with their new values, as `column (1 byte), length (LEB128), value`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Columns<'a>(&'a [u8]);

impl<'a> Columns<'a> {
    /// The changed columns by position, each with its value.
    pub fn iter(self) -> impl Iterator<Item = (u8, &'a [u8])> {
        let mut rest = self.0;
        std::iter::from_fn(move || take_column(&mut rest))
    }

    /// The columns as [`Columns::of`] accepts them.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Appends a column to what [`Columns::of`] accepts.
    pub fn append(bytes: &mut Vec<u8>, column: u8, value: &[u8]) {
        bytes.push(column);
        varint::append(bytes, value.len() as u64);
        bytes.extend_from_slice(value);
    }

    /// Columns that [`Columns::append`] has encoded; `None` if they are not well formed.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        let mut rest = bytes;
        while !rest.is_empty() {
            take_column(&mut rest)?;
        }
        Some(Self(bytes))
    }
}

fn take_column<'a>(rest: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&column, mut after) = rest.split_first()?;
    let length = usize::try_from(varint::take(&mut after)?).ok()?;
    let (value, after) = after.split_at_checked(length)?;
    *rest = after;
    Some((column, value))
}

/// The after-image of a row.
///
/// ```text
/// byte | field    | bytes | meaning
///    0 | kind     |     1 | 2
///    1 | change   |     1 | 1 insert, 2 update, 3 delete
///    2 | image    |     1 | 0 none, 1 whole row, 2 columns
///    3 | key      |     1 | bytes of the key
///    4 | table    |     4 | number of the table
///    8 | replaces |     8 | version that the row had before; 0: the row was absent
///   16 | length   |     4 | bytes of the image
///   20 | key      |       |
///      | image    |       | whole row, or for each column: column (1), length (LEB128), value
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row<'a> {
    pub table: u32,
    /// The key, or the bytes that identify a row without one; at most [`KEY_BYTES_MAX`].
    pub key: &'a [u8],
    /// The version that the row had before; [`VersionWord::NONE`] if it was absent.
    pub replaces: VersionWord,
    pub change: Change,
    pub image: Image<'a>,
}

impl Row<'_> {
    /// Appends the row to a lane's bytes.
    ///
    /// # Panics
    /// If key or image are too long: schemas refuse such rows.
    pub(crate) fn append(&self, bytes: &mut Vec<u8>) {
        let (kind, image) = match self.image {
            Image::None => (0, &[][..]),
            Image::Whole(image) => (1, image),
            Image::Columns(Columns(image)) => (2, image),
        };
        assert!(self.key.len() <= KEY_BYTES_MAX, "a schema refuses longer keys");
        assert!(image.len() <= IMAGE_BYTES_MAX, "a schema refuses longer rows");
        let mut head = [0; ROW_BYTES];
        head[0] = ROW;
        head[ROW_CHANGE] = match self.change {
            Change::Insert => 1,
            Change::Update => 2,
            Change::Delete => 3,
        };
        head[ROW_IMAGE] = kind;
        head[ROW_KEY] = self.key.len() as u8;
        put(&mut head, ROW_TABLE, &self.table.to_le_bytes());
        put(&mut head, ROW_REPLACES, &self.replaces.word().to_le_bytes());
        put(&mut head, ROW_LENGTH, &(image.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&head);
        bytes.extend_from_slice(self.key);
        bytes.extend_from_slice(image);
    }
}

/// A record of a lane.
///
/// ```text
/// begin: byte | field       | bytes | meaning
///           0 | kind        |     1 | 1
///           1 | reserved    |     3 | 0
///           4 | incarnation |     4 | the start of the database that wrote it
///           8 | version     |     8 | slot and number of the transaction
///
/// end:   byte | field       | bytes | meaning
///           0 | kind        |     1 | 3
///           1 | reserved    |     3 | 0
///           4 | rows        |     4 | number of rows since `begin`
/// ```
///
/// # Invariants
/// A record is never divided between blocks. A `begin` behind rows without an `end` takes the place
/// of an entry that was given up: its rows count for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record<'a> {
    Begin { incarnation: Incarnation, version: VersionWord },
    Row(Row<'a>),
    End { rows: u32 },
}

pub(crate) fn append_begin(bytes: &mut Vec<u8>, incarnation: Incarnation, version: VersionWord) {
    let mut record = [0; BEGIN_BYTES];
    record[0] = BEGIN;
    put(&mut record, BEGIN_INCARNATION, &incarnation.0.to_le_bytes());
    put(&mut record, BEGIN_VERSION, &version.word().to_le_bytes());
    bytes.extend_from_slice(&record);
}

pub(crate) fn append_end(bytes: &mut Vec<u8>, rows: u32) {
    let mut record = [0; END_BYTES];
    record[0] = END;
    put(&mut record, END_ROWS, &rows.to_le_bytes());
    bytes.extend_from_slice(&record);
}

impl<'a> Record<'a> {
    /// Takes a record off the front; `None` if the bytes are not well formed.
    pub fn take(bytes: &mut &'a [u8]) -> Option<Self> {
        match *bytes.first()? {
            BEGIN => {
                let record = split(bytes, BEGIN_BYTES)?;
                let version = VersionWord::from_word(u64_at(record, BEGIN_VERSION));
                let incarnation = Incarnation(u32_at(record, BEGIN_INCARNATION));
                let is_plain = version == version.timestamp() && record[1..4] == [0; 3];
                is_plain.then_some(Self::Begin { incarnation, version })
            }
            END => {
                let record = split(bytes, END_BYTES)?;
                (record[1..4] == [0; 3]).then(|| Self::End { rows: u32_at(record, END_ROWS) })
            }
            ROW => take_row(bytes).map(Self::Row),
            _ => None,
        }
    }
}

/// The length of the longest beginning of whole records with at most `bytes_max` bytes, but of one
/// record at least.
pub(crate) fn whole_records(bytes: &[u8], bytes_max: usize) -> usize {
    if bytes.len() <= bytes_max {
        return bytes.len();
    }
    let (mut rest, mut whole) = (bytes, 0);
    while Record::take(&mut rest).is_some() {
        let length = bytes.len() - rest.len();
        if length > bytes_max && whole > 0 {
            break;
        }
        whole = length;
    }
    assert!(whole > 0, "lanes hold whole records");
    whole
}

fn take_row<'a>(bytes: &mut &'a [u8]) -> Option<Row<'a>> {
    let head = split(bytes, ROW_BYTES)?;
    let key = split(bytes, usize::from(head[ROW_KEY]))?;
    let image = split(bytes, u32_at(head, ROW_LENGTH) as usize)?;
    let change = match head[ROW_CHANGE] {
        1 => Change::Insert,
        2 => Change::Update,
        3 => Change::Delete,
        _ => return None,
    };
    let image = match head[ROW_IMAGE] {
        0 if image.is_empty() => Image::None,
        1 => Image::Whole(image),
        2 => Image::Columns(Columns::of(image)?),
        _ => return None,
    };
    Some(Row {
        table: u32_at(head, ROW_TABLE),
        key,
        replaces: VersionWord::from_word(u64_at(head, ROW_REPLACES)),
        change,
        image,
    })
}

fn split<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (first, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::SlotId;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    struct Owned {
        table: u32,
        key: Vec<u8>,
        replaces: u64,
        change: Change,
        columns: Vec<(u8, Vec<u8>)>,
        image: u8,
    }

    fn owned() -> impl Strategy<Value = Owned> {
        let bytes = |most| prop::collection::vec(any::<u8>(), 0..most);
        let change = prop_oneof![Just(Change::Insert), Just(Change::Update), Just(Change::Delete)];
        let columns = prop::collection::vec((any::<u8>(), bytes(300)), 0..6);
        (any::<u32>(), bytes(256), any::<u64>(), change, columns, 0..3_u8).prop_map(
            |(table, key, replaces, change, columns, image)| Owned {
                table,
                key,
                replaces,
                change,
                columns,
                image,
            },
        )
    }

    #[test]
    fn long_buffers_are_divided_between_records() {
        let mut bytes = Vec::new();
        append_begin(&mut bytes, Incarnation(1), VersionWord::new(SlotId(1), 1));
        append_end(&mut bytes, 0);
        append_begin(&mut bytes, Incarnation(1), VersionWord::new(SlotId(1), 2));
        let divided = |most| whole_records(&bytes, most);
        assert_eq!([1, 16, 23, 24, 39, 40, 99].map(divided), [16, 16, 16, 24, 24, 40, 40]);
    }

    proptest! {
        #[test]
        fn records_come_back(rows in prop::collection::vec(owned(), 0..5), counter in 0..1_u64 << 46) {
            let version = VersionWord::new(SlotId(9), counter);
            let mut bytes = Vec::new();
            append_begin(&mut bytes, Incarnation(7), version);
            let mut sizes = BEGIN_BYTES + END_BYTES;
            let images: Vec<Vec<u8>> = rows.iter().map(|row| {
                let mut image = Vec::new();
                for (column, value) in &row.columns {
                    Columns::append(&mut image, *column, value);
                }
                image
            }).collect();
            let row = |(row, image): (&Owned, _)| Row {
                table: row.table,
                key: &[],
                replaces: VersionWord::from_word(row.replaces),
                change: row.change,
                image,
            };
            let image = |index: usize| match rows[index].image {
                0 => Image::None,
                1 => Image::Whole(&images[index]),
                _ => Image::Columns(Columns::of(&images[index]).expect("it was appended")),
            };
            for (index, owned) in rows.iter().enumerate() {
                Row { key: &owned.key, ..row((owned, image(index))) }.append(&mut bytes);
                let stored = if owned.image == 0 { 0 } else { images[index].len() };
                sizes += ROW_BYTES + owned.key.len() + stored;
            }
            append_end(&mut bytes, rows.len() as u32);
            prop_assert_eq!(bytes.len(), sizes);
            let mut rest = &bytes[..];
            let begin = Record::Begin { incarnation: Incarnation(7), version };
            prop_assert_eq!(Record::take(&mut rest), Some(begin));
            for (index, owned) in rows.iter().enumerate() {
                let row = Row { key: &owned.key, ..row((owned, image(index))) };
                prop_assert_eq!(Record::take(&mut rest), Some(Record::Row(row)));
                if let Image::Columns(columns) = row.image {
                    let found: Vec<_> = columns.iter().map(|(at, value)| (at, value.to_vec())).collect();
                    prop_assert_eq!(&found, &owned.columns);
                }
            }
            prop_assert_eq!(Record::take(&mut rest), Some(Record::End { rows: rows.len() as u32 }));
            prop_assert!(rest.is_empty());
            for cut in 1..bytes.len() {
                let mut rest = &bytes[..cut];
                while Record::take(&mut rest).is_some() {}
            }
        }

        #[test]
        fn any_bytes_decode_without_a_panic(bytes in prop::collection::vec(0..4_u8, 0..60)) {
            let mut rest = &bytes[..];
            while Record::take(&mut rest).is_some() {}
        }
    }
}

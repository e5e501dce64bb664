//! The storage of lists in rows. A list is the content of the rows that belong to it: one row,
//! unless there is a bug. Each append reads that row and writes it, or moves the list to another
//! row, so that an append that has not seen the last one conflicts with it in a row.

use crate::kind::{Division, Finding, Kind};
use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, PartRule, PhysicalDesign,
    Placement, RecordRef, Schema, Storage,
};
use std::cell::Cell;
use std::rc::Rc;
use txn::{IndexId, TableId, TableSpec};

pub const TABLE: &str = "list";
/// Its index over owners.
pub const INDEX: &str = "by_owner";
/// The column of the row's number, the primary key; with wide keys the number in its group.
const ID: usize = 0;
/// The column of the list that the row holds; negative: none.
pub const OWNER: usize = 1;
/// The column of the elements, eight bytes each.
pub const ELEMENTS: usize = 2;
/// The column of the row's group, with wide keys the first one of the primary key.
const GROUP: usize = 3;
/// Rows of a group.
const GROUP_ROWS: i64 = 4;
/// The number of the first group, and of the first row of a group: its key word is zero, so that
/// the words of a slot that is being emptied are the key of a row, too.
const FIRST: i64 = i64::MIN;
/// Rows of a list that is found by its keys.
pub const PLACES: i64 = 3;
/// Rows behind those of a list that hold no list, see [`Kind::tide_percent`].
const TIDE: i64 = 13;
/// Rows per list in use, if any row may hold any list.
const ROWS_PER_LIST: u64 = 3;
/// A column of this length is stored out of line.
const LONG_BYTES: u32 = 4000;

pub fn table(kind: &Kind, storage: Storage, versions_beside: u32) -> TableSpec {
    let bytes = if kind.is_long { LONG_BYTES } else { 8 * kind.elements as u32 };
    let mut columns = vec![
        Column::new("id", ColumnType::Int8),
        Column::new("owner", ColumnType::Int8),
        Column::new("elements", ColumnType::Bytes(bytes)),
    ];
    if kind.has_wide_keys {
        columns.push(Column::new("group", ColumnType::Int8));
    }
    let key: &[usize] = if kind.has_wide_keys { &[GROUP, ID] } else { &[ID] };
    let schema = Schema::new(TABLE, columns, key).expect("the schema is right");
    let design = PhysicalDesign {
        part: None,
        server: None,
        keeps_versions: kind.keeps_versions,
        storage,
        neighbourhood: match kind.neighbourhood {
            0 if kind.is_tight => 2,
            0 => 4,
            slots => slots,
        },
        versions_beside,
        size_hint: if kind.is_tight { 1 } else { 64 },
        node_bytes: kind.node_bytes,
        placement: Placement::Hashed { load_percent: 50 },
    };
    let indexes = index(kind).filter(|_| !kind.remakes_index).into_iter().collect();
    TableSpec { schema, design, indexes }
}

/// The rule that divides the table; `None`: it is whole.
pub fn rule(kind: &Kind) -> Option<PartRule> {
    match kind.division {
        Division::Whole => None,
        // Later lists have larger keys, which all are in the last part.
        Division::Ranges(_) => {
            let values = match kind.finding {
                Finding::Owner(_) => kind.lists * ROWS_PER_LIST,
                _ => kind.lists * (PLACES + gap(kind)) as u64,
            };
            let (smallest, values) = match kind.has_wide_keys {
                true => (FIRST, values.div_ceil(GROUP_ROWS as u64)),
                false => (0, values),
            };
            Some(PartRule::Ranges { smallest, values })
        }
        Division::Hashed(_) => Some(PartRule::Hashed { columns: 1 }),
        Division::Copied(_) => Some(PartRule::Copied),
    }
}

/// The index over owners of this kind of world.
pub fn index(kind: &Kind) -> Option<IndexDesign> {
    let node_bytes = kind.node_bytes;
    let (unique, kind) = match kind.finding {
        Finding::Keys => return None,
        Finding::KeysOrIndex(kind) => (false, kind),
        Finding::Owner(kind) => (true, kind),
    };
    let name = INDEX.to_owned();
    let size_hint = if kind == IndexKind::Hash { 4 } else { 64 };
    Some(IndexDesign {
        name,
        columns: vec![OWNER],
        unique,
        kind,
        node_bytes,
        size_hint,
        hashed_columns: None,
    })
}

/// The table and the index of a session.
#[derive(Clone, Copy)]
pub struct Tables {
    pub table: TableId,
    /// The index over owners.
    pub index: Option<IndexId>,
}

/// The key of row `id`.
pub fn key(kind: &Kind, id: i64) -> Key {
    match kind.has_wide_keys {
        true => {
            let of = |number| FIRST + number;
            KeyBuilder::new().int8(of(id / GROUP_ROWS)).int8(of(id % GROUP_ROWS)).key()
        }
        false => number(id),
    }
}

/// A key of one column with this number.
pub fn number(number: i64) -> Key {
    KeyBuilder::new().int8(number).key()
}

/// The number of a row.
pub fn id(kind: &Kind, row: RecordRef<'_>) -> i64 {
    match kind.has_wide_keys {
        true => (row.int(GROUP) - FIRST) * GROUP_ROWS + (row.int(ID) - FIRST),
        false => row.int(ID),
    }
}

/// The possible rows of a list that is found by its keys.
pub fn places(kind: &Kind, list: u64) -> std::ops::Range<i64> {
    let first = list as i64 * (PLACES + gap(kind));
    first..first + PLACES
}

/// The number of rows between those of two lists.
fn gap(kind: &Kind) -> i64 {
    if kind.tide_percent > 0 { TIDE } else { 0 }
}

/// The rows behind those of a list, which tides insert and delete.
pub fn tide(kind: &Kind, list: u64) -> std::ops::Range<i64> {
    let behind = match kind.finding {
        Finding::Owner(_) => rows(kind, list).end,
        _ => places(kind, list).end,
    };
    behind..behind + TIDE
}

/// The possible rows of a list that is found by its owner; lists of later generations have other
/// rows.
pub fn rows(kind: &Kind, list: u64) -> std::ops::Range<i64> {
    let count = kind.lists * ROWS_PER_LIST;
    let first = (list / kind.lists) as i64 * (count as i64 + gap(kind));
    first..first + count as i64
}

/// The elements of a row that stores them in line.
pub fn elements(row: RecordRef<'_>) -> Vec<i64> {
    decode(row.bytes(ELEMENTS))
}

/// Elements from their bytes.
pub fn decode(bytes: &[u8]) -> Vec<i64> {
    bytes.as_chunks::<8>().0.iter().map(|word| i64::from_le_bytes(*word)).collect()
}

pub fn encode(elements: &[i64]) -> Vec<u8> {
    elements.iter().flat_map(|element| element.to_le_bytes()).collect()
}

/// The lists in use. All sessions share it; it contains nothing of the lists' contents.
#[derive(Clone)]
pub struct InUse(Rc<Vec<Cell<u64>>>);

impl InUse {
    pub fn new(count: u64) -> Self {
        Self(Rc::new((0..count).map(Cell::new).collect()))
    }

    /// The list at a place.
    pub fn at(&self, place: u64) -> u64 {
        self.0[place as usize].get()
    }

    /// Replaces a full list by another one at its place.
    pub fn replace(&self, list: u64) {
        let count = self.0.len() as u64;
        let place = &self.0[(list % count) as usize];
        if place.get() == list {
            place.set(list + count);
        }
    }

    /// All lists that are or were in use.
    pub fn all(&self) -> Vec<u64> {
        let last = self.0.iter().map(Cell::get).max().unwrap_or(0);
        (0..=last).collect()
    }
}

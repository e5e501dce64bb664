//! Shared code of the protocol tests: simulated clusters, small transactions as data, and a checker
//! of their histories.

pub mod cluster;
pub mod history;
pub mod mix;
pub mod network;
pub mod program;
pub mod replicated_network;
pub mod server;
pub mod twins;

use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, PhysicalDesign, Placement, Schema,
    Storage,
};
use txn::TableSpec;

/// Position of the column with a row's value, unique over all writes of a run.
pub const VALUE: usize = 1;
/// Position of the column with a row's group, which the tests index.
pub const GROUP: usize = 2;

/// Position of the column with the seed of a row's note, in tables with notes.
pub const SEED: usize = 3;
/// Position of the notes, which are stored out of line, or only the long ones.
pub const NOTE: usize = 4;

/// The note of a seed: null, empty, or some hundred bytes that no other seed has.
pub fn note(seed: i64) -> Option<String> {
    let length = (seed * 7 % 301) as usize;
    let text = |_| format!("{seed} ").repeat(length).chars().take(length).collect();
    (seed % 5 != 4).then_some(()).map(text)
}

/// The three ways to store a table.
pub const STORAGES: [Storage; 3] = [Storage::HashInlined, Storage::HashOutside, Storage::Tree];

pub fn key(id: i32) -> Key {
    KeyBuilder::new().int4(id).key()
}

/// The key of `group` in an index over groups.
pub fn group_key(group: i64) -> Key {
    KeyBuilder::new().int8(group).key()
}

/// A table of keys, values and groups, so small that hash tables grow and leaves split soon.
pub fn table(name: &str, storage: Storage, indexes: Vec<IndexDesign>) -> TableSpec {
    let columns = vec![
        Column::new("id", ColumnType::Int4),
        Column::new("value", ColumnType::Int8),
        Column::new("group", ColumnType::Int8),
    ];
    let schema = Schema::new(name, columns, &[0]).expect("a valid schema");
    let design = PhysicalDesign {
        storage,
        neighbourhood: 4,
        size_hint: 4,
        node_bytes: 256,
        placement: Placement::Hashed { load_percent: 50 },
        ..PhysicalDesign::default()
    };
    TableSpec { schema, design, indexes }
}

/// The same table with notes. Those of up to `in_row` bytes are stored in the row, and their cells
/// are packed if that is less than 100.
pub fn with_notes(plain: TableSpec, in_row: Option<u8>) -> TableSpec {
    let mut columns = plain.schema.columns().to_vec();
    columns.push(Column::new("seed", ColumnType::Int8));
    let packed = in_row.filter(|&bytes| bytes < 100);
    let in_row = in_row.xor(packed);
    let packed = packed.map(u16::from);
    columns.push(Column { in_row, packed, ..Column::nullable("note", ColumnType::Varchar(2000)) });
    let schema = Schema::new(plain.schema.name(), columns, &[0]).expect("a valid schema");
    TableSpec { schema, ..plain }
}

pub fn index(kind: IndexKind, unique: bool) -> IndexDesign {
    let name = "by_group".to_owned();
    IndexDesign {
        name,
        columns: vec![GROUP],
        unique,
        kind,
        node_bytes: 256,
        size_hint: 4,
        hashed_columns: None,
    }
}

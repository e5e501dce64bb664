//! What the proofs of the protocol share: simulated clusters, small transactions as data, and a checker
//! of what they saw.

pub mod cluster;
pub mod history;
pub mod program;
pub mod twins;

use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, PhysicalDesign, Placement, Schema,
    Storage,
};
use txn::TableSpec;

/// Position of the column with a row's value, unique over all writes of a run.
pub const VALUE: usize = 1;
/// Position of the column with a row's group, which indexes are made over.
pub const GROUP: usize = 2;

/// The three ways to store a table.
pub const STORAGES: [Storage; 3] = [Storage::HashInlined, Storage::HashOutside, Storage::Tree];

/// The key of row `id`.
pub fn key(id: i32) -> Key {
    KeyBuilder::new().int4(id).key()
}

/// The key of `group` in an index over groups.
pub fn group_key(group: i64) -> Key {
    KeyBuilder::new().int8(group).key()
}

/// A table of keys, values and groups, small enough that hash tables grow and leaves split soon.
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

/// An index over groups.
pub fn index(kind: IndexKind, unique: bool) -> IndexDesign {
    let name = "by_group".to_owned();
    IndexDesign { name, columns: vec![GROUP], unique, kind, node_bytes: 256, size_hint: 4 }
}

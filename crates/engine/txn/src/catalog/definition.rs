//! Definitions of tables and indexes, as stored in the catalog's shards.
//!
//! Decisions:
//! - docs/decisions/0023-64-slots-by-default.md
//! - docs/decisions/0138-a-table-may-be-placed-on-one-memory-server.md
//! - docs/decisions/0151-lanes-keep-the-leaves-that-they-wrote-last.md

use crate::catalog::CatalogError;
use index::hash::{HashTable, Locator};
use index::tree::Tree;
use layout::{
    BucketLayout, Column, GlobalPtr, IndexDesign, LeafLayout, NodeId, PhysicalDesign, RowLayout,
    Schema, Storage,
};
use serde::{Deserialize, Serialize};

/// A table, with the addresses of its roots.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TableDefinition {
    /// The table's number; never reused.
    pub number: u32,
    pub name: String,
    pub columns: Vec<Column>,
    /// Its primary key, by column position.
    pub key: Vec<usize>,
    pub design: PhysicalDesign,
    pub storage: TableStorage,
    pub indexes: Vec<IndexDefinition>,
}

/// The storage of a table's rows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum TableStorage {
    Hash(HashRoot),
    /// Behind the leaves of a tree.
    Tree(TreeRoot),
}

/// A secondary index, with the address of its root.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct IndexDefinition {
    /// The index's number; never reused.
    pub number: u32,
    pub design: IndexDesign,
    pub storage: IndexStorage,
    pub state: IndexState,
}

/// The state of an index. Transactions maintain it in every state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum IndexState {
    /// It lacks entries of rows that existed before it.
    Filling,
    Readable,
    /// It is being dropped. It never becomes readable again: writers that no longer know the index
    /// omit entries, which a reader would miss.
    Going,
}

/// The storage of an index's entries.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum IndexStorage {
    Hash(HashRoot),
    Tree(TreeRoot),
}

/// The root of a hash table, from which everything else is found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HashRoot {
    pub root: GlobalPtr,
    /// Number of buckets at level 0.
    pub initial_buckets: u64,
    /// Buckets of a segment, as a power of two.
    pub segment_shift: u32,
}

/// The root of a tree, from which everything else is found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TreeRoot {
    pub root: GlobalPtr,
    /// The memory server of its inner nodes.
    pub node: NodeId,
    pub node_bytes: u32,
}

/// Number of slots of a bucket of a secondary hash index.
pub const ENTRY_SLOTS: u32 = 4;

impl TableDefinition {
    /// The schema, which was checked when the table was created.
    pub fn schema(&self) -> Result<Schema, CatalogError> {
        Ok(Schema::new(&self.name, self.columns.clone(), &self.key)?)
    }

    /// Encodes it for a catalog shard.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("definitions are plain data")
    }

    /// Decodes bytes from a catalog shard.
    pub fn decode(bytes: &[u8]) -> Result<Self, CatalogError> {
        serde_json::from_slice(bytes).map_err(|error| CatalogError::Damaged(error.to_string()))
    }
}

/// The layout of a table's buckets, and whether rows are inlined.
pub fn bucket_layout(design: &PhysicalDesign, row: RowLayout) -> (BucketLayout, bool) {
    match design.storage {
        Storage::HashInlined => (BucketLayout::inlined(design.neighbourhood, row), true),
        _ => (BucketLayout::outside(design.neighbourhood, row.key_words), false),
    }
}

impl HashRoot {
    /// The hash table of a table's primary key.
    pub fn table(&self, schema: &Schema, design: &PhysicalDesign, row: RowLayout) -> HashTable {
        let (layout, rows) = bucket_layout(design, row);
        HashTable {
            root: self.root,
            layout,
            rows,
            initial_buckets: self.initial_buckets,
            segment_shift: self.segment_shift,
            locator: Locator::new(schema, &design.placement, design.neighbourhood),
        }
    }

    /// The hash table of a secondary index. Its entries have keys of `key_words` words, which begin
    /// with `column_bytes` bytes of indexed columns.
    pub fn entries(&self, key_words: u32, column_bytes: u32) -> HashTable {
        HashTable {
            root: self.root,
            layout: BucketLayout::outside(ENTRY_SLOTS, key_words),
            rows: false,
            initial_buckets: self.initial_buckets,
            segment_shift: self.segment_shift,
            locator: Locator::Prefix { bytes: column_bytes },
        }
    }
}

impl TreeRoot {
    /// The tree with keys of `key_words` words whose entries point to rows.
    pub fn tree(&self, key_words: u32, checksummed: bool) -> Tree {
        let layout = LeafLayout::within(self.node_bytes, key_words, 1, checksummed);
        Tree { root: self.root, node: self.node, layout }
    }
}

//! Definitions of tables and indexes as the catalog's shards keep them.
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
    /// Counts tables; never used twice.
    pub number: u32,
    /// The table's name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its primary key, by position.
    pub key: Vec<usize>,
    /// How it is stored.
    pub design: PhysicalDesign,
    /// Where it is stored.
    pub storage: TableStorage,
    /// Its secondary indexes.
    pub indexes: Vec<IndexDefinition>,
}

/// Where a table's rows are.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum TableStorage {
    /// In a hash table.
    Hash(HashRoot),
    /// Behind the leaves of a tree.
    Tree(TreeRoot),
}

/// A secondary index, with the address of its root.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct IndexDefinition {
    /// Counts indexes; never used twice.
    pub number: u32,
    /// What the user said.
    pub design: IndexDesign,
    /// Where its entries are.
    pub storage: IndexStorage,
    /// How far it has come.
    pub state: IndexState,
}

/// How far an index has come. Transactions keep it up to date in every state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum IndexState {
    /// It lacks entries of rows that were there before it.
    Filling,
    /// Transactions may read it.
    Readable,
    /// Somebody drops it. It never becomes readable again, or a reader could miss what writers who
    /// do not know it any more leave out.
    Going,
}

/// Where an index's entries are.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum IndexStorage {
    /// In a hash table.
    Hash(HashRoot),
    /// In a tree.
    Tree(TreeRoot),
}

/// The root of a hash table: all else is found from it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HashRoot {
    /// Its root block.
    pub root: GlobalPtr,
    /// Buckets at level 0.
    pub initial_buckets: u64,
    /// Buckets of a segment, as a power of two.
    pub segment_shift: u32,
}

/// The root of a tree: all else is found from it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TreeRoot {
    /// Its root block.
    pub root: GlobalPtr,
    /// The memory server that keeps its inner nodes.
    pub node: NodeId,
    /// Bytes of a node.
    pub node_bytes: u32,
}

/// Slots of a bucket of a secondary hash index.
pub const ENTRY_SLOTS: u32 = 4;

impl TableDefinition {
    /// The schema; it was checked when the table was created.
    pub fn schema(&self) -> Result<Schema, CatalogError> {
        Ok(Schema::new(&self.name, self.columns.clone(), &self.key)?)
    }

    /// As bytes for a catalog shard.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("definitions are plain data")
    }

    /// From the bytes a catalog shard kept.
    pub fn decode(bytes: &[u8]) -> Result<Self, CatalogError> {
        serde_json::from_slice(bytes).map_err(|error| CatalogError::Damaged(error.to_string()))
    }
}

/// The shape of a table's buckets.
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

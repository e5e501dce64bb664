//! The physical design: how a table's rows and indexes are stored, independent of their schema.
//!
//! Decisions:
//! - docs/decisions/0031-dense-placement-for-keys-that-fill-a-box.md
//! - docs/decisions/0138-a-table-may-be-placed-on-one-memory-server.md
//! - docs/decisions/0141-rows-may-keep-the-memory-of-their-old-versions.md
//! - docs/decisions/0289-a-hashed-index-is-partitioned-by-the-columns-that-its-range.md

use crate::part::Part;
use serde::{Deserialize, Serialize};

/// How one table is stored. Every field can be set per table; the defaults suit small rows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PhysicalDesign {
    /// Where rows are stored and how their primary key finds them.
    pub storage: Storage,
    /// Slots per bucket (H in the papers), 1 to 8. Fewer slots mean fewer bytes per remote read.
    pub neighbourhood: u32,
    /// Old versions kept next to a record once it was updated, 1 to 8.
    pub versions_beside: u32,
    /// Whether an updated row keeps the memory of its old versions. Otherwise it is freed when no
    /// snapshot needs them, which costs four verbs per update.
    pub keeps_versions: bool,
    /// Expected number of rows. Hash tables start at this size; they grow online beyond it.
    pub size_hint: u64,
    /// Bytes of a B+-tree node.
    pub node_bytes: u32,
    /// How keys select their bucket.
    pub placement: Placement,
    /// Position of the memory server that stores the whole table with its indexes; `None`: all
    /// servers share it.
    pub server: Option<u16>,
    /// The part of a table that this is; `None`: a whole table.
    #[serde(default)]
    pub part: Option<Part>,
}

impl Default for PhysicalDesign {
    fn default() -> Self {
        Self {
            storage: Storage::HashInlined,
            neighbourhood: 8,
            versions_beside: 1,
            keeps_versions: false,
            size_hint: 1024,
            node_bytes: 512,
            placement: Placement::Hashed { load_percent: 65 },
            server: None,
            part: None,
        }
    }
}

/// Where rows are stored and how the primary key finds them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Storage {
    /// Rows are stored in the slots of hash buckets: one round trip to a row.
    HashInlined,
    /// Hash buckets hold pointers to rows: two round trips, smaller buckets.
    HashOutside,
    /// The leaves of a B+-tree hold pointers to rows: range scans by primary key.
    Tree,
}

impl From<Storage> for PhysicalDesign {
    /// The default design with this storage.
    fn from(storage: Storage) -> Self {
        Self { storage, ..Self::default() }
    }
}

/// How a key selects its bucket.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Placement {
    /// By a mixed hash; the number of buckets follows from this load.
    Hashed {
        /// Planned percentage of used slots.
        load_percent: u32,
    },
    /// By counting, for keys of integer columns that fill a box of known size without large gaps.
    /// The columns are read as one mixed-radix number, and adjacent numbers share a bucket; no
    /// bucket overflows.
    Dense {
        /// Per key column: its smallest value, and its number of values.
        columns: Vec<(i64, u64)>,
    },
}

/// A secondary index. Name and columns have no defaults.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct IndexDesign {
    /// The index's name, unique in its table.
    pub name: String,
    /// The indexed columns, by position in the schema, most significant first.
    pub columns: Vec<usize>,
    /// Whether two rows must not share a key.
    pub unique: bool,
    pub kind: IndexKind,
    /// Bytes of a tree node.
    pub node_bytes: u32,
    /// Expected number of entries, for hash indexes.
    pub size_hint: u64,
    /// If the table has parts and the index does not begin with the column that divides the table:
    /// the number of leading columns whose hash selects the part of an entry; `None`: all columns.
    /// Entries with equal values in these columns are in one part, in their order; with 0 all
    /// entries are.
    pub hashed_columns: Option<u16>,
}

impl Default for IndexDesign {
    /// A tree that is not unique. Callers must set name and columns: an index without them is
    /// refused.
    fn default() -> Self {
        Self {
            name: String::new(),
            columns: Vec::new(),
            unique: false,
            kind: IndexKind::Tree,
            node_bytes: 512,
            size_hint: 1024,
            hashed_columns: None,
        }
    }
}

/// The structure of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum IndexKind {
    /// Single-key lookups.
    Hash,
    /// Single-key lookups and range scans.
    Tree,
}

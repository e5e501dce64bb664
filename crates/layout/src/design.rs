//! The physical design: how a table's rows and indexes are laid out, apart from what they mean.

use crate::part::Part;
use serde::{Deserialize, Serialize};

/// How one table is stored. Every field can be chosen per table; the defaults suit small rows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PhysicalDesign {
    /// Where rows live and how their primary key leads to them.
    pub storage: Storage,
    /// Slots per bucket (H in the papers), 1 to 8. Fewer slots move fewer bytes per remote read.
    pub neighbourhood: u32,
    /// Old versions kept beside a record once it was updated, 1 to 8.
    pub versions_beside: u32,
    /// Whether a row keeps the memory of its old versions once it was updated. Else it goes back when nobody needs them,
    /// which takes four verbs for each update.
    pub keeps_versions: bool,
    /// Expected number of rows. Hash tables start at this size; they grow online beyond it.
    pub size_hint: u64,
    /// Bytes of a B+-tree node.
    pub node_bytes: u32,
    /// How keys choose their bucket.
    pub placement: Placement,
    /// The memory server that has all of it, indexes included, by position; `None`: they share it.
    pub server: Option<u16>,
    /// Which part of a table in parts it is; `None`: it is a whole table.
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

/// Where rows live and how the primary key leads to them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Storage {
    /// Rows stand in the slots of hash buckets: one round trip to a row.
    HashInlined,
    /// Hash buckets hold pointers to rows: two round trips, smaller neighbourhoods.
    HashOutside,
    /// The leaves of a B+-tree hold pointers to rows: range scans by primary key.
    Tree,
}

/// How a key chooses its bucket.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Placement {
    /// By a mixed hash; buckets are planned for this load.
    Hashed {
        /// Planned share of used slots, in percent.
        load_percent: u32,
    },
    /// By counting: for keys of integer columns that fill a box of known size without large gaps. The
    /// columns are read as one mixed-radix number, whose neighbours share a bucket; no bucket overflows.
    Dense {
        /// Per key column: its smallest value, and how many values it takes.
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
    /// Whether no two rows may share a key.
    pub unique: bool,
    /// Hash or tree.
    pub kind: IndexKind,
    /// Bytes of a node of a tree.
    pub node_bytes: u32,
    /// Expected number of entries, for hash indexes.
    pub size_hint: u64,
    /// Where the table is in parts and the index does not begin with the column that divides the table, the part of an entry
    /// is chosen by the hash of so many of its first columns: of all if none is said. Entries that are equal in them are in
    /// one part, in their order; with 0 all are.
    pub hashed_columns: Option<u16>,
}

impl Default for IndexDesign {
    /// A tree that is not unique. Name and columns have to be given: an index without is refused.
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

/// What answers a secondary lookup.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum IndexKind {
    /// Single-key lookups.
    Hash,
    /// Single-key lookups and range scans.
    Tree,
}

//! The parameters of a measured point.

use layout::Storage;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The operation; each is a transaction of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Reads rows by their keys, all in one batch.
    Lookup,
    /// Reads consecutive rows of an index.
    Scan,
    /// Reads a row and writes one of its columns.
    Update,
    /// Inserts a row.
    Insert,
    /// Reads a row and deletes it.
    Delete,
}

/// The index that leads to the rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessPath {
    /// The primary key. The table has no secondary index.
    Primary,
    /// A hash index on another column, the only secondary index. Inserts and deletes maintain it.
    SecondaryHash,
    /// A B+-tree on another column, likewise.
    SecondaryTree,
}

/// Where the operation executes relative to its rows [SPADE 3.2].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The rows are on the executing machine.
    Local,
    /// The rows are on another machine, and are accessed by one-sided verbs.
    OneSided,
    /// The machine with the rows executes the transaction when called.
    Shipped,
}

/// The cluster on which a point was measured.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct World {
    /// The fabric: `local`, `shm`, `tcp`, `verbs`, or `sim`.
    pub fabric: String,
    /// The profile of simulated hardware; on other fabrics the host's name of its processor, which
    /// distinguishes hosts.
    pub hardware: String,
    /// Number of machines. In a simulated cluster each has memory and cores, and one more machine
    /// has the oracle.
    pub machines: u16,
    /// Threads of each machine that execute operations; cores, if simulated.
    pub threads: u32,
    /// Lanes of each machine: operations in progress at a time.
    pub lanes: u32,
}

/// A combination of operation, design and cluster.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    pub world: World,
    pub operation: Operation,
    pub path: AccessPath,
    pub place: Place,
    /// Rows that a lookup or scan reads; 1 for other operations.
    pub rows: u32,
    /// How the table stores its rows.
    #[serde(with = "StorageName")]
    pub storage: Storage,
    /// Bytes of a row's columns beside its primary key of 8 bytes.
    pub row_bytes: u32,
    /// Slots of a bucket; 0 for trees.
    pub neighbourhood: u32,
    /// Planned share of occupied slots in percent; 0 for trees.
    pub load_percent: u32,
    /// Bytes of a node, if table or index is a B+-tree; otherwise 0.
    pub node_bytes: u32,
    /// Copies of each row. More than one are modelled, see `docs/spade/model.md`.
    pub replicas: u32,
    /// Set if the point measures old versions. Other points keep one old version beside each row
    /// with its memory, and update each row so rarely that nobody needs the old version any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Versions>,
}

/// How old versions are stored, and how often they are replaced.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    /// Old versions beside a row.
    pub beside: u32,
    /// Whether the row keeps their memory.
    pub keeps: bool,
    /// Rows that each lane updates in turn. If they are few, old versions are still needed at the
    /// row's next update.
    pub among: u32,
}

/// Names of [`Storage`] in files.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Storage", rename_all = "kebab-case")]
pub(crate) enum StorageName {
    HashInlined,
    HashOutside,
    Tree,
}

impl Operation {
    /// All operations in the order of measurement: those that change the table come last, and the
    /// one that leaves garbage comes after all others.
    pub const ALL: [Self; 5] = [Self::Lookup, Self::Scan, Self::Update, Self::Insert, Self::Delete];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Lookup => "lookup",
            Self::Update => "update",
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::Scan => "scan",
        }
    }
}

impl AccessPath {
    pub const ALL: [Self; 3] = [Self::Primary, Self::SecondaryHash, Self::SecondaryTree];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::SecondaryHash => "secondary-hash",
            Self::SecondaryTree => "secondary-tree",
        }
    }
}

impl Place {
    pub const ALL: [Self; 3] = [Self::Local, Self::OneSided, Self::Shipped];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::OneSided => "one-sided",
            Self::Shipped => "shipped",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for AccessPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

pub const fn storage_name(storage: Storage) -> &'static str {
    match storage {
        Storage::HashInlined => "hash-inlined",
        Storage::HashOutside => "hash-outside",
        Storage::Tree => "tree",
    }
}

//! What a point is about.

use layout::Storage;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is done to rows, in a transaction of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Rows are read by their keys, all in one batch.
    Lookup,
    /// Rows that follow each other by key are read.
    Scan,
    /// A row is read, and one field of it written.
    Update,
    /// A row is added.
    Insert,
    /// A row is read and deleted.
    Delete,
}

/// What leads to the rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessPath {
    /// The primary key. The table has no other index.
    Primary,
    /// A hash index over another column, the only one; an insert makes its entry, too, and a delete retires it.
    SecondaryHash,
    /// A B+-tree over another column, likewise.
    SecondaryTree,
}

/// Where the operation is carried out, and where its rows are [SPADE 3.2].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The rows are in memory of the machine that computes.
    Local,
    /// The rows are in memory of another machine, which is reached by one-sided verbs.
    OneSided,
    /// The owner of the rows is called, and carries out the transaction on its own machine.
    Shipped,
}

/// Where it was measured.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct World {
    /// The fabric: `local`, `shm`, `tcp`, `verbs`, or `sim`.
    pub fabric: String,
    /// The profile of simulated hardware; for other fabrics the host's name for its processor, which tells hosts apart.
    pub hardware: String,
    /// Machines; of a simulated cluster each has memory and cores, and one more has the oracle.
    pub machines: u16,
    /// Threads of each machine that carry out operations; of simulated machines, the cores.
    pub threads: u32,
    /// Lanes of each machine: operations that it has under way.
    pub lanes: u32,
}

/// A combination of what can be chosen.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Where it was measured.
    pub world: World,
    /// What is done.
    pub operation: Operation,
    /// What leads to the rows.
    pub path: AccessPath,
    /// Where it is done.
    pub place: Place,
    /// Rows that one operation reads: of lookups and scans; 1 of all others.
    pub rows: u32,
    /// Where rows live, and how primary keys lead to them.
    #[serde(with = "StorageName")]
    pub storage: Storage,
    /// Bytes of a row's columns beside its primary key of 8 bytes.
    pub row_bytes: u32,
    /// Slots of a bucket: of hash tables; 0 of trees.
    pub neighbourhood: u32,
    /// Planned share of used slots, in percent: of hash tables; 0 of trees.
    pub load_percent: u32,
    /// Bytes of a node: where the table or its index is a B+-tree; else 0.
    pub node_bytes: u32,
    /// Copies of each row. More than one are modelled, see `docs/spade.md`.
    pub replicas: u32,
    /// What becomes of old versions, where that is what is measured. Elsewhere one is beside each row, its memory stays, and
    /// nobody needs it any more when the row is changed again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Versions>,
}

/// What becomes of old versions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    /// How many are beside a row.
    pub beside: u32,
    /// Whether their memory stays with the row.
    pub keeps: bool,
    /// Rows that each lane changes by turns: of few, the old versions are still needed when their turn comes again.
    pub among: u32,
}

/// [`Storage`] as it stands in files.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Storage", rename_all = "kebab-case")]
pub(crate) enum StorageName {
    HashInlined,
    HashOutside,
    Tree,
}

impl Operation {
    /// All of them, in the order in which they are measured: what changes the table comes last, and what leaves garbage
    /// behind after all others.
    pub const ALL: [Self; 5] = [Self::Lookup, Self::Scan, Self::Update, Self::Insert, Self::Delete];

    /// The name in files and reports.
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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Primary, Self::SecondaryHash, Self::SecondaryTree];

    /// The name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::SecondaryHash => "secondary-hash",
            Self::SecondaryTree => "secondary-tree",
        }
    }
}

impl Place {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Local, Self::OneSided, Self::Shipped];

    /// The name in files and reports.
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

/// The name of a storage in files and reports.
pub const fn storage_name(storage: Storage) -> &'static str {
    match storage {
        Storage::HashInlined => "hash-inlined",
        Storage::HashOutside => "hash-outside",
        Storage::Tree => "tree",
    }
}

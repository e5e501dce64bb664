//! The root of a cluster's database.
//!
//! Decision: docs/decisions/0070-the-databases-root-names-its-memory-servers.md

use crate::cluster_file::OracleKind;
use layout::GlobalPtr;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The data with which a compute server opens a database that another one created.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DatabaseRoot {
    /// The first word of the oracle's area.
    pub oracle: GlobalPtr,
    /// Number of slots of its vector ([`layout::OracleLayout`]).
    pub slots: u32,
    /// How snapshots are taken: the same way in all servers, since snapshots of different ways
    /// cannot be compared.
    pub snapshots: OracleKind,
    /// Maximal transaction time in milliseconds.
    pub transaction_time_ms: u64,
    /// Identities of the memory servers that keep the database, ordered by number. A restarted
    /// server has lost its part and has another identity.
    pub servers: Vec<u64>,
    /// Places of each region's contents, the region itself included.
    #[serde(default = "one")]
    pub replicas: u16,
    /// The replicas that were promoted after deaths of memory servers: each region with its place.
    #[serde(default)]
    pub promoted: BTreeMap<u16, u16>,
}

impl DatabaseRoot {
    /// Identifies the time from one start of the database to its end: the identity of its first
    /// memory server.
    pub fn life(&self) -> Option<u64> {
        self.servers.first().copied()
    }
}

const fn one() -> u16 {
    1
}

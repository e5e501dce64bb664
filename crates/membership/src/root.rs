//! Where the database of a cluster begins.

use crate::cluster_file::OracleKind;
use layout::GlobalPtr;
use serde::{Deserialize, Serialize};

/// What a compute server has to know to open the database that another one made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DatabaseRoot {
    /// The first word of the oracle's area.
    pub oracle: GlobalPtr,
    /// Slots of its vector ([`layout::OracleLayout`]).
    pub slots: u32,
    /// How snapshots are taken: one way for all, since those of two ways cannot be compared.
    pub snapshots: OracleKind,
    /// How long a transaction may run, in milliseconds.
    pub transaction_time_ms: u64,
    /// Identities of the memory servers that keep the database, by number. A server that restarts has lost its
    /// part and has another identity.
    pub servers: Vec<u64>,
}

//! The root of a cluster's database.
//!
//! Decision: docs/decisions/0070-the-databases-root-names-its-memory-servers.md

use crate::cluster_file::OracleKind;
use fabric::Contents;
use layout::GlobalPtr;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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
    /// Identities of the memory servers on which the database was created, ordered by number. A
    /// restarted server has lost its part and has another identity.
    pub servers: Vec<u64>,
    /// Places of each region's contents, the region itself included.
    #[serde(default = "one")]
    pub replicas: u16,
    /// The replicas that were promoted after deaths of memory servers: each region with its place.
    #[serde(default)]
    pub promoted: BTreeMap<u16, u16>,
    /// The memory servers that have taken the place of others, by number.
    #[serde(default)]
    pub returned: BTreeMap<u16, Returned>,
    /// Identifies the database in all its runs; 0 where that is not known.
    #[serde(default)]
    pub id: u64,
    /// Number of times that the database has begun with what was on disk.
    #[serde(default)]
    pub run: u64,
    /// Numbers of the memory servers that have died or left, and without which the others have gone
    /// on: what these had is old.
    #[serde(default)]
    pub without: BTreeSet<u16>,
}

/// A memory server in the place of one that has died.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Returned {
    pub identity: u64,
    pub stage: FillStage,
}

/// How far a server that has returned is filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FillStage {
    /// It has nothing yet, or part of its regions.
    Empty,
    /// No change of the catalog begins any more.
    Awaited,
    /// It gets all writes, and the database stands still.
    Filling,
    /// It has all of its regions.
    Whole,
}

impl FillStage {
    /// The contents of the server's memory.
    pub fn contents(self) -> Contents {
        match self {
            Self::Empty => Contents::Empty,
            Self::Awaited => Contents::Awaited,
            Self::Filling => Contents::Filling,
            Self::Whole => Contents::Whole,
        }
    }
}

impl DatabaseRoot {
    /// Identifies the time from one start of the database to its end: the identity of its first
    /// memory server.
    pub fn life(&self) -> Option<u64> {
        self.servers.first().copied()
    }

    /// The memory servers that keep the database, ordered by number: each the one that has taken
    /// the place of others last.
    pub fn holders(&self) -> impl Iterator<Item = u64> + '_ {
        let created = (0_u16..).zip(&self.servers);
        created.map(|(number, &identity)| {
            self.returned.get(&number).map_or(identity, |returned| returned.identity)
        })
    }

    /// Whether a memory server keeps the database, or is being filled.
    pub fn has_holder(&self, identity: u64) -> bool {
        self.holders().any(|holder| holder == identity)
    }

    /// Servers that are being filled are as empty as before.
    pub(crate) fn give_up_filling(&mut self) {
        for returned in self.returned.values_mut().filter(|it| it.stage != FillStage::Whole) {
            returned.stage = FillStage::Empty;
        }
    }
}

const fn one() -> u16 {
    1
}

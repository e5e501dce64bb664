//! The record that every change of a cluster replaces, and what follows from it.

use crate::cluster_file::ClusterId;
use crate::cluster_map::ClusterMap;
use crate::error::RegistryError;
use crate::member::{Member, Program};
use crate::root::DatabaseRoot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// So many of those who left in order are remembered: more than leave between two looks.
const LEFT_MAX: usize = 64;
/// Most compute servers of a cluster.
const COMPUTE_SERVERS_MAX: u16 = 1024;

/// Epoch, members and root of a cluster: what one compare-and-swap changes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) cluster: ClusterId,
    pub(crate) name: String,
    pub(crate) epoch: u64,
    /// Identities, in the order in which they joined.
    pub(crate) members: Vec<u64>,
    /// Identities of those who left in order, the last at the end.
    #[serde(default)]
    pub(crate) left: Vec<u64>,
    pub(crate) root: Option<DatabaseRoot>,
}

/// What a store holds at one moment.
pub(crate) struct Stored {
    /// The record's text.
    pub(crate) record: Option<String>,
    /// Names and texts of the entries whose lease is held.
    pub(crate) entries: Vec<(String, String)>,
}

/// A record with the members that live, read at one moment.
pub(crate) struct Seen {
    /// The record's text as it was read, which a change is compared with.
    pub(crate) text: Option<String>,
    pub(crate) record: Record,
    members: Vec<Member>,
}

/// Whose view it is.
pub(crate) struct Reader<'a> {
    pub(crate) cluster: ClusterId,
    pub(crate) name: &'a str,
    pub(crate) program: &'a Program,
    pub(crate) place: &'a str,
}

impl Reader<'_> {
    /// Reads what is stored, and refuses what is of another cluster or another version.
    pub(crate) fn see(&self, stored: Stored) -> Result<Seen, RegistryError> {
        let record = match &stored.record {
            Some(text) => self.record(text)?,
            None => Record {
                cluster: self.cluster,
                name: self.name.to_owned(),
                epoch: 0,
                members: Vec::new(),
                left: Vec::new(),
                root: None,
            },
        };
        let mut members = Vec::new();
        for (name, text) in &stored.entries {
            // Entries of another version may have other fields, but those that tell it.
            let entry: Versioned = self.parse(name, text)?;
            if !record.members.contains(&entry.identity) {
                continue;
            }
            if entry.program != *self.program {
                return Err(RegistryError::OtherVersion {
                    member: name.replace('-', " server "),
                    found: entry.program,
                    ours: self.program.clone(),
                });
            }
            members.push(self.parse::<Member>(name, text)?);
        }
        members.sort_by_key(|member| (!member.is_memory_server(), member.number));
        Ok(Seen { text: stored.record, record, members })
    }

    fn record(&self, text: &str) -> Result<Record, RegistryError> {
        let owner: Owner = self.parse("record", text)?;
        if owner.cluster != self.cluster || owner.name != self.name {
            return Err(RegistryError::OtherCluster {
                place: self.place.to_owned(),
                found: owner.cluster,
                found_name: owner.name,
                id: self.cluster,
                name: self.name.to_owned(),
            });
        }
        self.parse("record", text)
    }

    fn parse<T: DeserializeOwned>(&self, name: &str, text: &str) -> Result<T, RegistryError> {
        serde_json::from_str(text).map_err(|error| RegistryError::Damaged {
            place: format!("`{name}` of {}", self.place),
            why: error.to_string(),
        })
    }
}

/// The fields of an entry that stay the same in all versions.
#[derive(Deserialize)]
struct Versioned {
    identity: u64,
    program: Program,
}

/// The fields of a record that stay the same in all versions.
#[derive(Deserialize)]
struct Owner {
    cluster: ClusterId,
    name: String,
}

impl Record {
    /// The text that is stored.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).expect("a record is made of texts and numbers")
    }

    /// The record of the next epoch, with these members.
    pub(crate) fn next(&self, members: Vec<u64>) -> Self {
        Self { epoch: self.epoch + 1, members, ..self.clone() }
    }

    /// The record of the next epoch, in which one says good-bye.
    pub(crate) fn without(&self, leaving: u64) -> Self {
        let others = self.members.iter().copied().filter(|&id| id != leaving);
        let mut next = self.next(others.collect());
        next.left.push(leaving);
        next.left.drain(..next.left.len().saturating_sub(LEFT_MAX));
        next
    }
}

impl Seen {
    /// The record without those whose lease has ended, if there are any.
    pub(crate) fn without_expired(&self) -> Option<Record> {
        let lives = |identity: &u64| self.members.iter().any(|member| member.identity == *identity);
        let living: Vec<u64> = self.record.members.iter().copied().filter(lives).collect();
        (living.len() < self.record.members.len()).then(|| self.record.next(living))
    }

    /// Whether somebody with this identity is in the cluster.
    pub(crate) fn has(&self, identity: u64) -> bool {
        self.record.members.contains(&identity)
    }

    /// The number for one who joins: its own for a server of the cluster's file, which names so many compute
    /// servers; for others the lowest above those.
    pub(crate) fn number_for(&self, newcomer: &Member, named: u16) -> Result<u16, RegistryError> {
        let holder = |number: u16| {
            let is_rival = |member: &&Member| {
                member.is_memory_server() == newcomer.is_memory_server() && member.number == number
            };
            self.members.iter().find(is_rival)
        };
        if !newcomer.is_memory_server() && newcomer.number >= named {
            let lowest = (named..COMPUTE_SERVERS_MAX).find(|number| holder(*number).is_none());
            return lowest.ok_or(RegistryError::NoNumber(COMPUTE_SERVERS_MAX));
        }
        match holder(newcomer.number) {
            Some(by) => {
                Err(RegistryError::NumberTaken { number: newcomer.number, by: by.to_string() })
            }
            None => Ok(newcomer.number),
        }
    }

    /// What servers and clients are told.
    pub(crate) fn into_map(self) -> ClusterMap {
        let Record { cluster, epoch, left, root, .. } = self.record;
        ClusterMap { cluster, epoch, members: self.members, left, root }
    }
}

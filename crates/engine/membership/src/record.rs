//! The record that every change of a cluster replaces, and what it implies.
//!
//! Decision: docs/decisions/0066-membership-is-one-record-replaced-by-compare-and-swap.md

use crate::cluster_file::ClusterId;
use crate::cluster_map::ClusterMap;
use crate::error::RegistryError;
use crate::eviction::Eviction;
use crate::member::{Member, Program};
use crate::opening::Opening;
use crate::root::{DatabaseRoot, FillStage};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Number of servers that left in order to remember: more than leave between two polls.
const LEFT_MAX: usize = 64;
/// Number of evictions to remember, for the evicted and for operators.
const EVICTED_MAX: usize = 16;
/// Maximum number of compute servers in a cluster.
const COMPUTE_SERVERS_MAX: u16 = 1024;

/// Epoch, members and root of a cluster, changed together by one compare-and-swap.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) cluster: ClusterId,
    pub(crate) name: String,
    pub(crate) epoch: u64,
    /// Identities, in the order in which they joined.
    pub(crate) members: Vec<u64>,
    /// Identities of the servers that left in order, the latest at the end.
    #[serde(default)]
    pub(crate) left: Vec<u64>,
    /// The last members that the failure detector has evicted, the latest at the end.
    #[serde(default)]
    pub(crate) evicted: Vec<Eviction>,
    pub(crate) root: Option<DatabaseRoot>,
    /// The epoch up to which a member has drained.
    #[serde(default)]
    pub(crate) drained: BTreeMap<u64, u64>,
    /// Memory servers that serve nobody any more, and have not left yet.
    #[serde(default)]
    pub(crate) ended: BTreeSet<u64>,
    /// The database that is about to begin with what its memory servers have on disk.
    #[serde(default)]
    pub(crate) opening: Option<Opening>,
}

/// The content of a store at one moment.
pub(crate) struct Stored {
    pub(crate) record: Option<String>,
    /// Names and texts of the entries whose lease is held.
    pub(crate) entries: Vec<(String, String)>,
}

/// A record with its living members, read at one moment.
pub(crate) struct Seen {
    /// The record's text as it was read; a change compares it with the current one.
    pub(crate) text: Option<String>,
    pub(crate) record: Record,
    members: Vec<Member>,
}

/// The cluster and version that a reader belongs to.
pub(crate) struct Reader<'a> {
    pub(crate) cluster: ClusterId,
    pub(crate) name: &'a str,
    pub(crate) program: &'a Program,
    pub(crate) place: &'a str,
}

impl Reader<'_> {
    /// Parses stored state, and refuses that of another cluster or version.
    pub(crate) fn see(&self, stored: Stored) -> Result<Seen, RegistryError> {
        let record = match &stored.record {
            Some(text) => self.record(text)?,
            None => Record {
                cluster: self.cluster,
                name: self.name.to_owned(),
                epoch: 0,
                members: Vec::new(),
                left: Vec::new(),
                evicted: Vec::new(),
                root: None,
                drained: BTreeMap::new(),
                ended: BTreeSet::new(),
                opening: None,
            },
        };
        let mut members = Vec::new();
        for (name, text) in &stored.entries {
            // Entries of other versions may differ in all fields except these.
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

/// The fields of an entry that are the same in all versions.
#[derive(Deserialize)]
struct Versioned {
    identity: u64,
    program: Program,
}

/// The fields of a record that are the same in all versions.
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

    /// Returns the record of the next epoch, with these members. Others have died.
    pub(crate) fn next(&self, members: Vec<u64>) -> Self {
        let has_died = self.members.iter().any(|identity| !members.contains(identity));
        let mut next = self.changed(members);
        if has_died && let Some(root) = &mut next.root {
            root.give_up_filling();
        }
        next
    }

    fn changed(&self, members: Vec<u64>) -> Self {
        let mut next = Self { epoch: self.epoch + 1, members, ..self.clone() };
        let is_gone = |identity: &u64| !next.members.contains(identity);
        if self.members.iter().any(is_gone)
            && let Some(root) = &mut next.root
        {
            root.note_departures(&next.members, &next.ended);
        }
        next.ended.retain(|identity| next.members.contains(identity));
        next.drained.retain(|identity, _| next.members.contains(identity));
        next
    }

    /// Returns the record of the next epoch, in which one server leaves in order.
    pub(crate) fn without(&self, leaving: u64) -> Self {
        let others = self.members.iter().copied().filter(|&id| id != leaving).collect();
        // A program has nothing under way any more; so short ones do not keep a fill from its end.
        let is_holder = self.root.as_ref().is_some_and(|root| root.has_holder(leaving));
        let mut next = if is_holder { self.next(others) } else { self.changed(others) };
        next.left.push(leaving);
        next.left.drain(..next.left.len().saturating_sub(LEFT_MAX));
        next
    }

    /// Whether a member is a memory server that has returned and does not count yet. Such a server
    /// may hear nobody for reasons of its own, and is needed by nobody.
    pub(crate) fn is_unfilled(&self, identity: u64) -> bool {
        let returned = self.root.iter().flat_map(|root| root.returned.values());
        let mut own = returned.filter(|one| one.identity == identity);
        own.any(|one| one.stage != FillStage::Whole)
    }

    /// Returns the record of the next epoch, without the member that `eviction` names.
    pub(crate) fn evicting(&self, mut eviction: Eviction) -> Self {
        let others = self.members.iter().copied().filter(|&id| id != eviction.identity);
        let mut next = self.next(others.collect());
        eviction.epoch = next.epoch;
        next.evicted.push(eviction);
        next.evicted.drain(..next.evicted.len().saturating_sub(EVICTED_MAX));
        next
    }
}

impl Seen {
    /// Returns the record without members whose lease has ended, if there are any.
    pub(crate) fn without_expired(&self) -> Option<Record> {
        let lives = |identity: &u64| self.members.iter().any(|member| member.identity == *identity);
        let living: Vec<u64> = self.record.members.iter().copied().filter(lives).collect();
        (living.len() < self.record.members.len()).then(|| self.record.next(living))
    }

    /// Returns the living member with this identity.
    pub(crate) fn member(&self, identity: u64) -> Option<&Member> {
        self.members.iter().find(|member| member.identity == identity)
    }

    /// Whether a member has this identity.
    pub(crate) fn has(&self, identity: u64) -> bool {
        self.record.members.contains(&identity)
    }

    /// Returns the number for a joining server: its own if the cluster file lists it, else the
    /// lowest free one above the `named` compute servers that the file lists.
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

    /// Returns the map as it is.
    pub(crate) fn map(&self) -> ClusterMap {
        let (text, record, members) = (None, self.record.clone(), self.members.clone());
        Self { text, record, members }.into_map()
    }

    /// Returns the map for servers and clients.
    pub(crate) fn into_map(self) -> ClusterMap {
        let Record { cluster, epoch, left, evicted, root, drained, .. } = self.record;
        ClusterMap { cluster, epoch, members: self.members, left, evicted, root, drained }
    }
}

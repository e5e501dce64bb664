//! How the memory servers agree on the beginning of a database with what they have on disk.
//!
//! ```text
//! announced  the first one says who begins with what it has; each reads that, and serves
//! whole      the first one has recovered the dead and made replicas equal
//! marked     each has marked what it has on disk as old; until then nothing of it has changed
//! published  programs use the database; the announcement is gone
//! ```
//!
//! Decision: docs/decisions/0376-images-are-old-when-the-database-is-whole.md

use crate::clock::{self, Moment};
use crate::error::RegistryError;
use crate::record::Record;
use crate::registry::{Next, Registry};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// Which memory servers begin a database with what they have.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Opening {
    /// The memory servers that are members, ordered by number.
    pub members: Vec<u64>,
    /// The servers of the database's root: in the place of those that begin with empty memory are
    /// identities that nobody has.
    pub servers: Vec<u64>,
    /// The identity of the database.
    #[serde(default)]
    pub database: u64,
    /// The number of the run.
    pub run: u64,
    /// Whether the database is whole, so that its servers mark what they have on disk as old.
    #[serde(default)]
    pub is_whole: bool,
    /// The members that have done so.
    #[serde(default)]
    pub marked: BTreeSet<u64>,
}

impl Opening {
    /// An announcement that its servers follow.
    pub fn new(members: Vec<u64>, servers: Vec<u64>, database: u64, run: u64) -> Self {
        Self { members, servers, database, run, is_whole: false, marked: BTreeSet::new() }
    }

    /// Whether it is the same announcement, however far it is.
    fn is_same(&self, other: &Self) -> bool {
        (&self.members, &self.servers, self.database, self.run)
            == (&other.members, &other.servers, other.database, other.run)
    }
}

impl Registry {
    /// Announces which memory servers begin the database with what they have: each does, or begins
    /// with empty memory, when it has read this.
    ///
    /// # Errors
    /// The registry is unreachable.
    pub fn set_opening(&self, opening: &Opening) -> Result<(), RegistryError> {
        self.change_opening(|known| {
            let is_there = known.is_some_and(|known| known.is_same(opening));
            (!is_there).then(|| opening.clone())
        })
    }

    /// The last announcement that no database has followed yet.
    ///
    /// # Errors
    /// The registry is unreachable.
    pub fn opening(&self) -> Result<Option<Opening>, RegistryError> {
        Ok(self.see()?.record.opening)
    }

    /// Says that the database of an announcement is whole, and waits until all of its members have
    /// marked what they have on disk as old, at most for `patience`. Returns those that have not.
    ///
    /// # Errors
    /// The registry is unreachable.
    pub fn await_marked(
        &self,
        opening: &Opening,
        patience: Duration,
    ) -> Result<Vec<u64>, RegistryError> {
        self.change_opening(|known| {
            let known = known.filter(|known| known.is_same(opening) && !known.is_whole)?;
            Some(Opening { is_whole: true, ..known.clone() })
        })?;
        let deadline = Moment::now() + patience;
        loop {
            let known = self.opening()?.filter(|known| known.is_same(opening));
            let marked = known.map(|known| known.marked).unwrap_or_default();
            let late = opening.members.iter().filter(|member| !marked.contains(member));
            let late: Vec<u64> = late.copied().collect();
            if late.is_empty() || deadline.is_past() {
                return Ok(late);
            }
            clock::sleep(self.poll());
        }
    }

    /// Records that a memory server has marked what it has on disk as old.
    ///
    /// # Errors
    /// The registry is unreachable.
    pub fn note_marked(&self, identity: u64) -> Result<(), RegistryError> {
        self.change_opening(|known| {
            let known = known.filter(|known| known.members.contains(&identity))?;
            let mut next = known.clone();
            next.marked.insert(identity).then_some(next)
        })
    }

    fn change_opening(
        &self,
        change: impl Fn(Option<&Opening>) -> Option<Opening>,
    ) -> Result<(), RegistryError> {
        self.change_until(|seen| {
            let Some(opening) = change(seen.record.opening.as_ref()) else { return Ok(Next::Keep) };
            let record = Record { opening: Some(opening), ..seen.record.clone() };
            Ok(Next::Replace(Box::new(record), None))
        })?;
        Ok(())
    }
}

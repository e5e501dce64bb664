//! A transaction at its manager: its reads, its writes, and the messages of its commit.

use super::exchange::Exchange;
use super::owner::{DONE, TOO_OLD};
use super::partition::{Range, Write};
use super::request::OwnerRequest;
use crate::message::{Malformed, Reader};
use crate::row_key::RowKey;
use fabric::{CallError, Env};
use std::collections::BTreeMap;

/// The reason why a transaction cannot continue.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Stop {
    /// An owner has discarded the snapshot's versions.
    #[error("the snapshot is too old")]
    TooOld,
    /// An owner's answer is missing or invalid.
    #[error("an owner did not answer: {0}")]
    Unanswered(CallError),
    /// The procedure rolls back.
    #[error("the procedure rolls back")]
    RolledBack,
}

impl From<Malformed> for Stop {
    fn from(malformed: Malformed) -> Self {
        Self::Unanswered(malformed.into())
    }
}

/// A running transaction.
pub struct Transaction<'a, E> {
    exchange: &'a Exchange<'a, E>,
    number: u64,
    read_timestamp: u64,
    writes: BTreeMap<RowKey, Option<Vec<u8>>>,
}

/// The bytes after the first one of an owner's answer.
fn content(answer: &[u8]) -> Result<Reader<'_>, Stop> {
    match answer.split_first() {
        Some((&DONE, content)) => Ok(Reader::new(content)),
        Some((&TOO_OLD, _)) => Err(Stop::TooOld),
        _ => Err(Malformed.into()),
    }
}

impl<'a, E: Env> Transaction<'a, E> {
    pub(super) fn begin(exchange: &'a Exchange<'a, E>, read_timestamp: u64) -> Self {
        let (number, writes) = (exchange.server.next_transaction(), BTreeMap::new());
        Self { exchange, number, read_timestamp, writes }
    }

    fn owner(&self, partition: u32) -> usize {
        self.exchange.server.cluster().owner(partition)
    }

    /// The index of the manager's server: its data is accessed without messages.
    pub fn home(&self) -> u32 {
        self.exchange.server.index() as u32
    }

    /// The clock of the manager's server, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.exchange.env.now_ns()
    }

    /// Reads rows, with one message per owner.
    ///
    /// # Errors
    /// If the transaction cannot continue.
    pub async fn read(&self, keys: &[RowKey]) -> Result<Vec<Option<Vec<u8>>>, Stop> {
        let mut found: Vec<Option<Vec<u8>>> = vec![None; keys.len()];
        let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (place, key) in keys.iter().enumerate() {
            match self.writes.get(key) {
                Some(written) => found[place].clone_from(written),
                None => {
                    let owner = self.owner(key.partition);
                    places.entry(owner).or_default().push(place);
                }
            }
        }
        let read_timestamp = self.read_timestamp;
        let request = |(&owner, places): (&usize, &Vec<usize>)| {
            let keys = places.iter().map(|place| keys[*place]).collect();
            (owner, OwnerRequest::Read { read_timestamp, keys })
        };
        let requests = places.iter().map(request).collect();
        let answers = self.exchange.ask_owners(requests).await.map_err(Stop::Unanswered)?;
        for (answer, places) in answers.iter().zip(places.values()) {
            let mut rows = content(answer)?;
            for place in places {
                found[*place] = rows.optional()?.map(<[u8]>::to_vec);
            }
        }
        Ok(found)
    }

    /// Reads a range of committed rows with their numbers, without the transaction's own writes.
    ///
    /// # Errors
    /// If the transaction cannot continue.
    pub async fn scan(&self, range: Range) -> Result<Vec<(u64, Vec<u8>)>, Stop> {
        let request = OwnerRequest::Scan { read_timestamp: self.read_timestamp, range };
        let answer = self.ask(range.first.partition, request).await?;
        let mut rows = content(&answer)?;
        let count = rows.u32()?;
        (0..count).map(|_| Ok((rows.u64()?, rows.string()?.to_vec()))).collect()
    }

    /// The numbers that an index of a table has under a name.
    ///
    /// # Errors
    /// If the transaction cannot continue.
    pub async fn named(&self, partition: u32, table: u32, name: &[u8]) -> Result<Vec<u64>, Stop> {
        let request = OwnerRequest::Named { partition, table, name: name.to_vec() };
        let answer = self.ask(partition, request).await?;
        let mut numbers = content(&answer)?;
        let count = numbers.u32()?;
        (0..count).map(|_| Ok(numbers.u64()?)).collect()
    }

    async fn ask(&self, partition: u32, request: OwnerRequest) -> Result<Vec<u8>, Stop> {
        let owner = self.owner(partition);
        self.exchange.ask_owner(owner, request).await.map_err(Stop::Unanswered)
    }

    pub fn write(&mut self, key: RowKey, content: Vec<u8>) {
        self.writes.insert(key, Some(content));
    }

    pub fn delete(&mut self, key: RowKey) {
        self.writes.insert(key, None);
    }

    pub(super) fn has_writes(&self) -> bool {
        !self.writes.is_empty()
    }

    /// The owners of its write set, with their rows.
    fn owners(&self) -> BTreeMap<usize, Vec<Write>> {
        let mut owners: BTreeMap<usize, Vec<Write>> = BTreeMap::new();
        for (&key, content) in &self.writes {
            let owner = self.owner(key.partition);
            owners.entry(owner).or_default().push((key, content.clone()));
        }
        owners
    }

    /// First phase: returns whether all owners vote to commit.
    pub(super) async fn prepare(&self) -> bool {
        let (transaction, read_timestamp) = (self.number, self.read_timestamp);
        let request = |(owner, writes)| {
            (owner, OwnerRequest::Prepare { transaction, read_timestamp, writes })
        };
        let requests = self.owners().into_iter().map(request).collect();
        match self.exchange.ask_owners(requests).await {
            Ok(votes) => votes.iter().all(|vote| vote.first() == Some(&DONE)),
            Err(_) => false,
        }
    }

    /// Second phase: installs the versions everywhere.
    pub(super) async fn commit(&self, timestamp: u64) -> Result<(), CallError> {
        self.decide(OwnerRequest::Commit { transaction: self.number, timestamp }).await
    }

    /// Second phase, if an owner has refused. An unreachable owner has nothing to release.
    pub(super) async fn abort(&self) {
        let _ = self.decide(OwnerRequest::Abort { transaction: self.number }).await;
    }

    async fn decide(&self, decision: OwnerRequest) -> Result<(), CallError> {
        let tell = |owner| (owner, decision.clone());
        let requests = self.owners().into_keys().map(tell).collect();
        self.exchange.ask_owners(requests).await.map(drop)
    }
}

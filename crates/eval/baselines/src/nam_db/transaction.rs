//! A transaction at its compute server: its reads and its writes.

use super::client::Client;
use super::design::Slot;
use super::header::Header;
use super::index::IndexRequest;
use super::step::{Step, StepTimes, Stopwatch};
use crate::row_key::RowKey;
use crate::trad_si::Range;
use fabric::{CallError, Env, FabricError};
use layout::WORD_BYTES;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The reason why a transaction cannot continue. It holds no locks then.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Stop {
    /// The snapshot's version of a record was discarded.
    #[error("the snapshot is too old")]
    TooOld,
    #[error("table {0} has no room")]
    NoRoom(u32),
    /// A memory server cannot be reached.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// A memory server does not answer.
    #[error("a memory server does not answer: {0}")]
    Unanswered(CallError),
    /// The procedure rolls back.
    #[error("the procedure rolls back")]
    RolledBack,
}

/// The result of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Its effects are permanent.
    Committed,
    /// It has no effect, because of a conflict: it may be retried.
    Aborted,
}

/// A record as a transaction has read it, or the place for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) slot: Slot,
    /// The header of the version that was read, without lock; `NONE` if the snapshot has no
    /// version.
    pub(super) header: Header,
    pub(super) data: Vec<u64>,
}

/// A running transaction.
pub struct Transaction<'a, E> {
    pub(super) client: &'a mut Client<E>,
    pub(super) vector: Arc<[u64]>,
    pub(super) found: BTreeMap<RowKey, Found>,
    pub(super) writes: BTreeMap<RowKey, Option<Vec<u8>>>,
    /// Free places that new records of this transaction use.
    pub(super) taken: BTreeSet<Slot>,
    pub(super) index_writes: Vec<IndexRequest>,
    pub(super) stopwatch: Stopwatch,
}

impl Found {
    /// The record's bytes, if it exists.
    fn content(&self) -> Option<Vec<u8>> {
        let is_there = self.header.is_version() && !self.header.is_deleted();
        is_there.then(|| self.data.iter().flat_map(|word| word.to_le_bytes()).collect())
    }
}

/// Bytes as the words of a record's data.
pub(super) fn words(content: &[u8], data_words: u32) -> Vec<u64> {
    assert!(content.len() <= data_words as usize * WORD_BYTES as usize, "records have one length");
    let mut words = vec![0; data_words as usize];
    for (word, bytes) in words.iter_mut().zip(content.chunks(WORD_BYTES as usize)) {
        let mut whole = [0; WORD_BYTES as usize];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(whole);
    }
    words
}

impl<'a, E: Env> Transaction<'a, E> {
    pub(super) fn new(client: &'a mut Client<E>, vector: Arc<[u64]>, begun_ns: u64) -> Self {
        let mut stopwatch = Stopwatch::start(begun_ns);
        stopwatch.end(Step::Timestamp, client.env.now_ns());
        let (found, writes) = (BTreeMap::new(), BTreeMap::new());
        let (taken, index_writes) = (BTreeSet::new(), Vec::new());
        Self { client, vector, found, writes, taken, index_writes, stopwatch }
    }

    pub(super) fn end_step(&mut self, step: Step) {
        self.stopwatch.end(step, self.client.env.now_ns());
    }

    /// The time of each step so far.
    pub fn spent_ns(&self) -> StepTimes {
        self.stopwatch.spent_ns()
    }

    /// The clock of the compute server, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.client.env.now_ns()
    }

    /// Reads records; independent ones together. Their bytes are padded to whole words.
    ///
    /// # Errors
    /// If the transaction cannot continue.
    pub async fn read(&mut self, keys: &[RowKey]) -> Result<Vec<Option<Vec<u8>>>, Stop> {
        self.find(keys).await?;
        self.end_step(Step::Read);
        let content = |key: &RowKey| match self.writes.get(key) {
            Some(written) => written.clone(),
            None => self.found[key].content(),
        };
        Ok(keys.iter().map(content).collect())
    }

    /// The numbers that ordered indexes have in ranges of one partition, without the transaction's
    /// own changes.
    ///
    /// # Errors
    /// If the transaction cannot continue.
    pub async fn look_up(&mut self, ranges: &[Range]) -> Result<Vec<Vec<u64>>, Stop> {
        let Some(first) = ranges.first() else { return Ok(Vec::new()) };
        let server = self.client.design.index_server(first.first.partition);
        let requests: Vec<_> = ranges.iter().map(|&range| IndexRequest::Find(range)).collect();
        let found = self.client.ask_index(server, &requests).await?;
        self.end_step(Step::Read);
        Ok(found)
    }

    pub fn write(&mut self, key: RowKey, content: Vec<u8>) {
        self.writes.insert(key, Some(content));
    }

    pub fn delete(&mut self, key: RowKey) {
        self.writes.insert(key, None);
    }

    /// Inserts a key into an ordered index when the transaction commits.
    pub fn enter(&mut self, key: RowKey) {
        self.index_writes.push(IndexRequest::Insert(key));
    }

    /// Removes a key from an ordered index when the transaction commits.
    pub fn take_out(&mut self, key: RowKey) {
        self.index_writes.push(IndexRequest::Delete(key));
    }
}

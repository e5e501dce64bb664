//! A transaction at its compute server [ZB17 listing 1].

use super::oracle::{OUTCOME_PLACES, Oracle, outcome_word};
use super::record::{Found, Record, Records, headers};
use super::step::CommitStep;
use crate::Work;
use fabric::{Batch, Env, FabricError};

/// The state of a transaction thread.
#[derive(Clone)]
pub struct Client<E> {
    env: E,
    oracle: Oracle,
    records: Records,
    work: Work<E>,
}

/// A transaction that has begun: its snapshot, and the records that it has read.
#[derive(Debug)]
pub struct Snapshot {
    read_timestamp: u64,
    read: Vec<(Record, Found)>,
}

/// The result of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The commit timestamp.
    Committed(u64),
    /// A record was newer than the snapshot, or has changed since it was read.
    Aborted,
}

impl Snapshot {
    /// The content of a record, by its position among those read.
    pub fn content(&self, place: usize) -> &[u64] {
        &self.read[place].1.content
    }
}

impl<E: Env> Client<E> {
    /// A thread of a compute server. `work` is called with the number of records that are read and
    /// written by verbs that are not row verbs.
    pub fn new(env: E, oracle: Oracle, records: Records, work: Work<E>) -> Self {
        Self { env, oracle, records, work }
    }

    fn handle_records(&self, count: usize) {
        if self.records == Records::AsPublished {
            (self.work)(&self.env, count as u64);
        }
    }

    /// Step 1: fetches the read timestamp.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn begin(&self) -> Result<Snapshot, FabricError> {
        let read_timestamp = self.read_timestamp().await?;
        Ok(Snapshot { read_timestamp, read: Vec::new() })
    }

    async fn read_timestamp(&self) -> Result<u64, FabricError> {
        let mut batch = Batch::new();
        let span = batch.read(self.oracle.read_timestamp(), 1);
        let batch = self.env.execute(batch).await?;
        Ok(batch.words(span)[0])
    }

    /// Step 2: reads records, in one round trip. Returns whether all versions are those of the
    /// snapshot; if not, the transaction has ended without effect.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn read(
        &self,
        snapshot: &mut Snapshot,
        wanted: &[Record],
    ) -> Result<bool, FabricError> {
        let is_coherent = self.env.is_coherent();
        let mut batch = Batch::new();
        let read = |&record: &Record| self.records.read(&mut batch, record, is_coherent);
        let spans: Vec<_> = wanted.iter().map(read).collect();
        let batch = self.env.execute(batch).await?;
        self.handle_records(wanted.len());
        for (&record, &span) in wanted.iter().zip(&spans) {
            let found = self.records.found(&batch, span, record);
            if found.is_torn || found.version > snapshot.read_timestamp {
                return Ok(false);
            }
            snapshot.read.push((record, found));
        }
        Ok(true)
    }

    /// Steps 3 to 6: `updates` are of records that were read, by their position among them;
    /// `inserts` are of records that no other transaction knows yet.
    ///
    /// # Errors
    /// Those of the fabric. The transaction may then have committed or not, and blocks the read
    /// timestamp.
    pub async fn commit(
        &self,
        snapshot: &Snapshot,
        updates: &[(usize, Vec<u64>)],
        inserts: &[(Record, Vec<u64>)],
    ) -> Result<Ended, FabricError> {
        let timestamp = self.draw_timestamp(snapshot.read_timestamp).await?;
        self.env.reach(CommitStep::TimestampDrawn).await;
        let (locked, has_all) = self.lock(snapshot, updates).await?;
        if has_all {
            self.env.reach(CommitStep::RecordsLocked).await;
            self.install(snapshot, timestamp, updates, inserts).await?;
            self.env.reach(CommitStep::RecordsInstalled).await;
        } else {
            self.unlock(snapshot, &locked).await?;
            self.env.reach(CommitStep::LocksReleased).await;
        }
        self.write_outcome(timestamp, has_all);
        Ok(if has_all { Ended::Committed(timestamp) } else { Ended::Aborted })
    }

    /// Step 3. Waits if the list of outcomes has no free place for this transaction.
    async fn draw_timestamp(&self, mut read_timestamp: u64) -> Result<u64, FabricError> {
        let mut batch = Batch::new();
        let drawn = batch.fetch_and_add(self.oracle.commit_timestamp(), 1);
        let batch = self.env.execute(batch).await?;
        let timestamp = batch.found(drawn) + 1;
        while timestamp > read_timestamp + OUTCOME_PLACES {
            self.env.yield_now().await;
            read_timestamp = self.read_timestamp().await?;
        }
        Ok(timestamp)
    }

    /// Step 4: returns the positions, among the records read, of those that were locked, and
    /// whether these are all.
    async fn lock(
        &self,
        snapshot: &Snapshot,
        updates: &[(usize, Vec<u64>)],
    ) -> Result<(Vec<usize>, bool), FabricError> {
        if updates.is_empty() {
            return Ok((Vec::new(), true));
        }
        let mut batch = Batch::new();
        let swaps: Vec<_> = updates
            .iter()
            .map(|&(place, _)| {
                let (record, found) = &snapshot.read[place];
                let (unlocked, locked) = headers(found.version);
                batch.compare_and_swap(record.at, unlocked, locked)
            })
            .collect();
        let batch = self.env.execute(batch).await?;
        let is_locked = |&(_, &swap): &(&(usize, Vec<u64>), &_)| batch.swapped(swap);
        let locked: Vec<usize> =
            updates.iter().zip(&swaps).filter(is_locked).map(|(update, _)| update.0).collect();
        let has_all = locked.len() == updates.len();
        Ok((locked, has_all))
    }

    /// Step 5.
    async fn install(
        &self,
        snapshot: &Snapshot,
        timestamp: u64,
        updates: &[(usize, Vec<u64>)],
        inserts: &[(Record, Vec<u64>)],
    ) -> Result<(), FabricError> {
        let is_coherent = self.env.is_coherent();
        let mut batch = Batch::new();
        let updated = updates.iter().map(|(place, content)| (snapshot.read[*place].0, content));
        let inserted = inserts.iter().map(|(record, content)| (*record, content));
        for (record, content) in updated.chain(inserted) {
            self.records.install(&mut batch, record, timestamp, content, is_coherent);
        }
        self.handle_records(updates.len() + inserts.len());
        if !batch.is_empty() {
            self.env.execute(batch).await?;
        }
        Ok(())
    }

    /// Step 5 of a transaction that could not lock all records: restores the headers.
    async fn unlock(&self, snapshot: &Snapshot, locked: &[usize]) -> Result<(), FabricError> {
        let mut batch = Batch::new();
        for &place in locked {
            let (record, found) = &snapshot.read[place];
            batch.write_word(record.at, headers(found.version).0);
        }
        if !batch.is_empty() {
            self.env.execute(batch).await?;
        }
        Ok(())
    }

    /// Step 6, asynchronously.
    fn write_outcome(&self, timestamp: u64, has_committed: bool) {
        let (own, oracle) = (self.env.clone(), self.oracle);
        self.env.spawn(async move {
            let mut batch = Batch::new();
            batch.write_word(oracle.outcome(timestamp), outcome_word(timestamp, has_committed));
            // If the oracle is down, no transaction begins any more.
            let _ = own.execute(batch).await;
        });
    }

    /// Adds records before any transaction.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn load(&self, records: &[(Record, Vec<u64>)]) -> Result<(), FabricError> {
        let is_coherent = self.env.is_coherent();
        let mut batch = Batch::new();
        for (record, content) in records {
            self.records.install(&mut batch, *record, 0, content, is_coherent);
        }
        self.env.execute(batch).await.map(drop)
    }
}

//! The commit [ZB17 5.1, listing 1], in the order of the paper.

use super::design::{RecordWords, Slot, Table, key_word};
use super::header::Header;
use super::index::IndexRequest;
use super::mover::MOVE;
use super::step::{CommitStep, Step};
use super::transaction::{Ended, Found, Stop, Transaction, words};
use crate::message::Writer;
use crate::row_key::RowKey;
use fabric::{Batch, Env, FabricError, Span};
use futures_util::future::try_join_all;
use layout::RegionId;
use std::collections::BTreeMap;

/// A record of the write set.
struct Written {
    key: RowKey,
    table: Table,
    found: Found,
    /// The new data; `None`: the record is deleted.
    data: Option<Vec<u64>>,
    is_locked: bool,
    /// The next-write counter of its ring.
    counter: u64,
}

impl Written {
    /// Whether there is a current version that must be kept.
    fn has_old(&self) -> bool {
        self.found.header.is_version()
    }

    /// Its place in the ring.
    fn place(&self) -> u64 {
        self.counter % self.table.versions
    }

    /// Takes the words of the ring that were read. Returns whether the slot with the oldest version
    /// can be overwritten.
    fn has_room(&mut self, ring: &[u64]) -> bool {
        self.counter = ring[0];
        let oldest = Header(ring[1 + self.place() as usize]);
        !oldest.is_version() || oldest.is_moved()
    }

    fn ring(&self, batch: &mut Batch) -> Span {
        batch.read(self.table.ring(self.found.slot), self.table.ring_words() as u32)
    }
}

impl<E: Env> Transaction<'_, E> {
    /// Commits. On a conflict the transaction aborts at once [ZB17 7.4].
    ///
    /// # Errors
    /// If the transaction cannot continue, and those of the fabric; after the latter it may have
    /// committed, and records stay locked.
    pub async fn commit(&mut self) -> Result<Ended, Stop> {
        let keys: Vec<RowKey> = self.writes.keys().copied().collect();
        if keys.is_empty() {
            return Ok(Ended::Committed);
        }
        self.find_places(&keys).await?;
        self.end_step(Step::Read);
        let env = self.client.env.clone();
        let mut written = self.write_set();
        let may_commit = self.lock(&mut written).await?;
        if !may_commit {
            self.unlock(&written).await?;
            env.reach(CommitStep::LocksReleased).await;
            self.end_step(Step::Lock);
            return Ok(Ended::Aborted);
        }
        env.reach(CommitStep::RecordsLocked).await;
        self.end_step(Step::Lock);
        let (slot, timestamp) = self.client.draw();
        self.copy_old_versions(&written).await?;
        env.reach(CommitStep::OldVersionsCopied).await;
        self.end_step(Step::OldVersions);
        self.install(&written, (slot, timestamp)).await?;
        env.reach(CommitStep::VersionsInstalled).await;
        self.end_step(Step::NewVersions);
        self.update_indexes().await?;
        env.reach(CommitStep::IndexesUpdated).await;
        self.end_step(Step::Index);
        self.client.publish(timestamp).await?;
        env.reach(CommitStep::Published).await;
        self.end_step(Step::Publish);
        Ok(Ended::Committed)
    }

    /// Finds records that were not read, and places for new records; if two new records have the
    /// same place, another read follows.
    async fn find_places(&mut self, keys: &[RowKey]) -> Result<(), Stop> {
        self.find(keys).await?;
        let is_new = |found: &Found| !found.header.is_version();
        let mut new: Vec<RowKey> =
            keys.iter().copied().filter(|key| is_new(&self.found[key])).collect();
        while !new.is_empty() {
            new.retain(|key| !self.taken.insert(self.found[key].slot));
            new.iter().for_each(|key| drop(self.found.remove(key)));
            self.find(&new).await?;
        }
        Ok(())
    }

    fn write_set(&self) -> Vec<Written> {
        let written = |(&key, content): (&RowKey, &Option<Vec<u8>>)| {
            let (table, found) = (*self.client.design.table(key), self.found[&key].clone());
            let data = content.as_ref().map(|content| words(content, table.data_words));
            Written { key, table, found, data, is_locked: false, counter: 0 }
        };
        self.writes.iter().map(written).collect()
    }

    /// Validates and locks by one compare-and-swap per record, and ensures room for all current
    /// versions. The rings are read behind the swaps: while a transaction holds the lock, no other
    /// changes the ring.
    async fn lock(&self, written: &mut [Written]) -> Result<bool, Stop> {
        let mut batch = Batch::new();
        let mut post = |written: &Written| {
            let (at, header) = (written.table.header(written.found.slot), written.found.header);
            let swap = batch.compare_and_swap(at, header.0, header.locked().0);
            (swap, written.has_old().then(|| written.ring(&mut batch)))
        };
        let posted: Vec<_> = written.iter().map(&mut post).collect();
        let batch = self.client.env.execute(batch).await?;
        let (mut has_all, mut full) = (true, Vec::new());
        for (place, (written, (swap, ring))) in written.iter_mut().zip(posted).enumerate() {
            written.is_locked = batch.swapped(swap);
            has_all &= written.is_locked;
            if ring.is_some_and(|ring| !written.has_room(batch.words(ring))) {
                full.push(place);
            }
        }
        if !has_all || full.is_empty() {
            return Ok(has_all);
        }
        self.make_room(written, &full).await
    }

    /// Asks the movers to make room in full rings. Returns whether they could.
    async fn make_room(&self, written: &mut [Written], full: &[usize]) -> Result<bool, Stop> {
        let mut requests: BTreeMap<RegionId, Writer> = BTreeMap::new();
        for &place in full {
            let Written { key, found: Found { slot, .. }, .. } = &written[place];
            let request = requests.entry(slot.region).or_default();
            request.u32(key.table);
            request.u64(slot.number);
        }
        let env = &self.client.env;
        let ask = |(region, request): (RegionId, Writer)| async move {
            env.call(env.node_of(region), MOVE, request.finish()).await
        };
        let asked = try_join_all(requests.into_iter().map(ask)).await;
        asked.map_err(Stop::Unanswered)?;
        let mut batch = Batch::new();
        let rings: Vec<Span> = full.iter().map(|&place| written[place].ring(&mut batch)).collect();
        let batch = env.execute(batch).await?;
        let mut rings = full.iter().zip(rings);
        Ok(rings.all(|(&place, ring)| written[place].has_room(batch.words(ring))))
    }

    /// Restores the headers of the locked records.
    async fn unlock(&self, written: &[Written]) -> Result<(), FabricError> {
        let mut batch = Batch::new();
        for written in written.iter().filter(|written| written.is_locked) {
            batch.write_word(written.table.header(written.found.slot), written.found.header.0);
        }
        match batch.is_empty() {
            true => Ok(()),
            false => self.client.env.execute(batch).await.map(drop),
        }
    }

    /// Copies header and data of the current versions to the rings.
    async fn copy_old_versions(&self, written: &[Written]) -> Result<(), FabricError> {
        let mut batch = Batch::new();
        for written in written.iter().filter(|written| written.has_old()) {
            let Written { table, found: Found { slot, header, data }, .. } = written;
            let data = batch.put(data);
            batch.write(table.old_data(*slot, written.place()), data);
            batch.write_word(table.ring(*slot).add_words(1 + written.place()), header.0);
            batch.write_word(table.ring(*slot), written.counter + 1);
        }
        match batch.is_empty() {
            true => Ok(()),
            false => self.client.env.execute(batch).await.map(drop),
        }
    }

    /// Installs: one write of the entire record, with the header first, whose lock bit is 0.
    async fn install(
        &self,
        written: &[Written],
        (number, timestamp): (u32, u64),
    ) -> Result<(), FabricError> {
        let mut batch = Batch::new();
        for Written { key, table, found: Found { slot, .. }, data, .. } in written {
            let span = batch.reserve((table.slot_words() - RecordWords::HEADER) as u32);
            let header = Header::new(number, timestamp, data.is_none());
            let record = batch.words_mut(span);
            record.fill(0);
            fill(record, header, (*key, table, *slot), data.as_deref());
            batch.write(table.header(*slot), span);
        }
        (self.client.work)(&self.client.env, written.len() as u64);
        self.client.env.execute(batch).await.map(drop)
    }

    /// Updates the indexes within the transaction [ZB17 6.1].
    async fn update_indexes(&mut self) -> Result<(), Stop> {
        let mut servers: BTreeMap<usize, Vec<IndexRequest>> = BTreeMap::new();
        for request in std::mem::take(&mut self.index_writes) {
            let (IndexRequest::Insert(key) | IndexRequest::Delete(key)) = request else {
                unreachable!("a search is no update");
            };
            let server = self.client.design.index_server(key.partition);
            servers.entry(server).or_default().push(request);
        }
        let client = &*self.client;
        let ask = |(server, requests): (usize, Vec<IndexRequest>)| async move {
            client.ask_index(server, &requests).await
        };
        try_join_all(servers.into_iter().map(ask)).await.map(drop)
    }
}

/// Builds a record's words from its header on.
pub(super) fn fill(
    record: &mut [u64],
    header: Header,
    (key, table, slot): (RowKey, &Table, Slot),
    data: Option<&[u64]>,
) {
    let words = [header.0, key_word(key), table.ring(slot).word(), table.old_data(slot, 0).word()];
    record[..words.len()].copy_from_slice(&words);
    if let Some(data) = data {
        record[words.len()..].copy_from_slice(data);
    }
}

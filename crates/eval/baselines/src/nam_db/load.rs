//! Loads records before any transaction, and reads all records when no transaction runs.

use super::commit::fill;
use super::design::{BUCKET_SLOTS, Design, RecordWords, Slot, row_key};
use super::header::Header;
use super::transaction::words;
use crate::row_key::RowKey;
use fabric::{Batch, Env, FabricError};
use layout::WORD_BYTES;
use std::collections::BTreeMap;

/// Words of records that are written in one batch.
const BATCH_WORDS: usize = 1 << 16;
/// Number of buckets that are read in one batch.
const LOOK_BUCKETS: u64 = 64;
/// The first number of slot 0 belongs to the population: the owner of that slot continues after it.
pub const LOADED: u64 = 1;

pub struct Load<'a, E> {
    env: &'a E,
    design: &'a Design,
    /// Number of used slots of each bucket, by table and data server.
    used: Vec<Vec<Vec<u8>>>,
    batch: Batch,
}

impl<'a, E: Env> Load<'a, E> {
    /// Begins with empty tables.
    pub fn new(env: &'a E, design: &'a Design) -> Self {
        let used = design.tables.iter().map(|table| {
            let buckets = vec![0; table.buckets as usize];
            vec![buckets; design.data.len()]
        });
        Self { env, design, used: used.collect(), batch: Batch::new() }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn record(&mut self, key: RowKey, content: &[u8]) -> Result<(), FabricError> {
        let (server, bucket) = self.design.bucket(key);
        let table = self.design.table(key);
        let used = &mut self.used[key.table as usize][server];
        let buckets = (bucket..table.buckets).chain(0..bucket);
        let mut free = buckets.filter(|&bucket| u64::from(used[bucket as usize]) < BUCKET_SLOTS);
        let bucket = free.next().expect("the tables have room for what is loaded");
        let number = bucket * BUCKET_SLOTS + u64::from(used[bucket as usize]);
        drop(free);
        used[bucket as usize] += 1;
        let slot = Slot { region: self.design.data[server], number };
        let span = self.batch.reserve((table.slot_words() - RecordWords::HEADER) as u32);
        let (header, data) = (Header::new(0, LOADED, false), words(content, table.data_words));
        fill(self.batch.words_mut(span), header, (key, table, slot), Some(&data));
        self.batch.write(table.header(slot), span);
        if self.batch.arena_words() > BATCH_WORDS { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> Result<(), FabricError> {
        let mut batch = self.env.execute(std::mem::take(&mut self.batch)).await?;
        batch.reset();
        self.batch = batch;
        Ok(())
    }

    /// Ends the load: the vector covers the loaded records.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn end(mut self) -> Result<(), FabricError> {
        self.batch.write_word(self.design.vector.slot(0), LOADED);
        self.flush().await
    }
}

/// Reads all current records of all tables, while no transaction changes them.
///
/// # Errors
/// Those of the fabric.
pub async fn survey<E: Env>(
    env: &E,
    design: &Design,
) -> Result<BTreeMap<RowKey, Vec<u8>>, FabricError> {
    let mut records = BTreeMap::new();
    for (number, table) in (0..).zip(&design.tables) {
        for &region in &design.data {
            for bucket in (0..table.buckets).step_by(LOOK_BUCKETS as usize) {
                let buckets = LOOK_BUCKETS.min(table.buckets - bucket) as u32;
                let first = Slot { region, number: bucket * BUCKET_SLOTS };
                let mut batch = Batch::new();
                let span = batch.read(table.slot(first), buckets * table.bucket_words());
                let batch = env.execute(batch).await?;
                for record in batch.words(span).chunks_exact(table.slot_words() as usize) {
                    let header = Header(record[RecordWords::HEADER as usize]);
                    assert!(!header.is_locked(), "a transaction is committing");
                    if header.is_version() && !header.is_deleted() {
                        let key = row_key(number, record[RecordWords::KEY as usize]);
                        let data = &record[RecordWords::DATA as usize..];
                        let mut content = Vec::with_capacity(data.len() * WORD_BYTES as usize);
                        data.iter().for_each(|word| content.extend(word.to_le_bytes()));
                        let twice = records.insert(key, content);
                        assert!(twice.is_none(), "{key:?} is there twice");
                    }
                }
            }
        }
    }
    Ok(records)
}

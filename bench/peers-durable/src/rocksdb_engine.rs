//! RocksDB with synced writes: concurrent writers form groups with one sync. A read before each
//! write makes the work equal, though RocksDB does not protect the two by a transaction.

use crate::engine::{Engine, LOAD_ROWS, ROWS, Turn, VALUE_BYTES, in_threads, updated};
use anyhow::{Context, Result};
use rocksdb::statistics::Ticker;
use rocksdb::{DB, Options, WriteBatch, WriteOptions};
use std::path::Path;
use std::time::Duration;

pub struct RocksDb {
    db: DB,
    options: Options,
}

impl RocksDb {
    pub fn open(directory: &Path) -> Result<Self> {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.enable_statistics();
        let db = DB::open(&options, directory)?;
        for first in (0..ROWS).step_by(LOAD_ROWS as usize) {
            let mut batch = WriteBatch::default();
            for row in first..first + LOAD_ROWS {
                batch.put(row.to_be_bytes(), [0; VALUE_BYTES]);
            }
            db.write(batch)?;
        }
        Ok(Self { db, options })
    }

    fn update(&self, row: u64) -> Result<()> {
        let key = row.to_be_bytes();
        let value = self.db.get_pinned(key)?.context("the row was loaded")?;
        let mut options = WriteOptions::default();
        options.set_sync(true);
        Ok(self.db.put_opt(key, updated(&value), &options)?)
    }
}

impl Engine for RocksDb {
    fn name(&self) -> &'static str {
        "RocksDB"
    }

    fn way(&self, sessions: usize) -> String {
        format!("{sessions} threads")
    }

    fn run(&mut self, sessions: usize, time: Duration) -> Result<Turn> {
        let syncs = || self.options.get_ticker_count(Ticker::WalFileSynced);
        let before = syncs();
        let (commits, seconds) = in_threads(sessions, time, |row| self.update(row))?;
        Ok(Turn { commits, seconds, syncs: Some(syncs() - before) })
    }
}

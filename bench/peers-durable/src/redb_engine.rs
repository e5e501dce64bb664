//! redb, with its default durability. It has one writer at a time and no group commit.

use crate::engine::{Engine, LOAD_ROWS, ROWS, Turn, VALUE_BYTES, in_threads, updated};
use anyhow::{Context, Result};
use redb::{Database, ReadableTable, TableDefinition};
use std::path::Path;
use std::time::Duration;

const TABLE: TableDefinition<u64, &[u8]> = TableDefinition::new("row");
/// Threads beyond this number only wait for the others.
const THREADS_MAX: usize = 64;

pub struct Redb(Database);

impl Redb {
    pub fn open(directory: &Path) -> Result<Self> {
        std::fs::create_dir_all(directory)?;
        let db = Database::create(directory.join("redb"))?;
        for first in (0..ROWS).step_by(LOAD_ROWS as usize) {
            let txn = db.begin_write()?;
            {
                let mut table = txn.open_table(TABLE)?;
                for row in first..first + LOAD_ROWS {
                    table.insert(row, &[0; VALUE_BYTES][..])?;
                }
            }
            txn.commit()?;
        }
        Ok(Self(db))
    }

    fn update(&self, row: u64) -> Result<()> {
        let txn = self.0.begin_write()?;
        {
            let mut table = txn.open_table(TABLE)?;
            let value = updated(table.get(row)?.context("the row was loaded")?.value());
            table.insert(row, &value[..])?;
        }
        Ok(txn.commit()?)
    }
}

impl Engine for Redb {
    fn name(&self) -> &'static str {
        "redb"
    }

    fn way(&self, sessions: usize) -> String {
        format!("{} threads, one writer at a time", sessions.min(THREADS_MAX))
    }

    fn run(&mut self, sessions: usize, time: Duration) -> Result<Turn> {
        let threads = sessions.min(THREADS_MAX);
        let (commits, seconds) = in_threads(threads, time, |row| self.update(row))?;
        Ok(Turn { commits, seconds, syncs: None })
    }
}

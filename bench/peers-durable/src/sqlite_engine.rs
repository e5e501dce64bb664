//! SQLite in WAL mode with `synchronous=FULL`: one sync per commit. It has one writer at a time, so
//! all threads share a connection, which is faster than connections that poll for the lock.

use crate::engine::{Engine, LOAD_ROWS, ROWS, Turn, VALUE_BYTES, in_threads, updated};
use anyhow::{Result, anyhow};
use rusqlite::{Connection, params};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// Threads beyond this number only wait for the others.
const THREADS_MAX: usize = 64;

pub struct Sqlite(Mutex<Connection>);

impl Sqlite {
    pub fn open(directory: &Path) -> Result<Self> {
        std::fs::create_dir_all(directory)?;
        let mut connection = Connection::open(directory.join("sqlite"))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute("CREATE TABLE row (id INTEGER PRIMARY KEY, value BLOB)", [])?;
        for first in (0..ROWS).step_by(LOAD_ROWS as usize) {
            let txn = connection.transaction()?;
            for row in first..first + LOAD_ROWS {
                let mut insert = txn.prepare_cached("INSERT INTO row VALUES (?, ?)")?;
                insert.execute(params![row as i64, [0u8; VALUE_BYTES]])?;
            }
            txn.commit()?;
        }
        Ok(Self(Mutex::new(connection)))
    }

    fn update(&self, row: u64) -> Result<()> {
        let mut connection = self.0.lock().map_err(|_| anyhow!("a session panicked"))?;
        let txn = connection.transaction()?;
        let value: Vec<u8> = txn
            .prepare_cached("SELECT value FROM row WHERE id = ?")?
            .query_row([row as i64], |row| row.get(0))?;
        txn.prepare_cached("UPDATE row SET value = ? WHERE id = ?")?
            .execute(params![updated(&value), row as i64])?;
        Ok(txn.commit()?)
    }
}

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite"
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

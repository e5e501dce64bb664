//! namdb, `Durability::Synchronous`.

use crate::engine::{Engine, LOAD_ROWS, ROWS, Rows, Turn, VALUE_BYTES, in_threads, updated};
use anyhow::{Context, Result};
use futures_util::stream::{FuturesUnordered, StreamExt};
use namdb::asynchronous::block_on;
use namdb::host::Moment;
use namdb::{AsyncSession, Config, Db, Isolation, KeyValueTable, Retry, Transaction};
use std::path::Path;
use std::time::Duration;

/// Engine threads for more than one session.
const THREADS: usize = 2;

pub struct Namdb {
    db: Db,
    table: KeyValueTable,
}

impl Namdb {
    pub fn open(directory: &Path) -> Result<Self> {
        let config = Config {
            server_bytes: 1 << 30,
            directory: Some(directory.into()),
            ..Config::default()
        };
        let db = namdb::open(config)?;
        let table = KeyValueTable::create(&db, "row", 8, VALUE_BYTES as u32, Default::default())?;
        let mut session = db.session();
        for first in (0..ROWS).step_by(LOAD_ROWS as usize) {
            session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
                (first..first + LOAD_ROWS).try_for_each(|row| {
                    txn.write_value(table, &row.to_be_bytes(), &[0; VALUE_BYTES])
                })
            })?;
        }
        Ok(Self { db, table })
    }

    fn groups(&self) -> Result<u64> {
        let statistics = self.db.directory_statistics().context("the database has a directory")?;
        Ok(statistics.groups)
    }

    /// The futures of all sessions, which this thread drives.
    fn run_futures(&self, sessions: usize, time: Duration) -> Result<(u64, f64)> {
        let asynchronous = AsyncSession::open(&self.db, THREADS)?;
        let (table, start) = (self.table, Moment::now());
        let session = async |session: usize| -> Result<u64> {
            let (mut rows, mut commits) = (Rows::of(session), 0);
            while start.elapsed_s() < time.as_secs_f64() {
                let row = rows.draw();
                let update = move |txn: &mut Transaction<'_>| update(txn, table, row);
                asynchronous.transaction(Isolation::Snapshot, Retry::default(), update).await?;
                commits += 1;
            }
            Ok(commits)
        };
        let mut all: FuturesUnordered<_> = (0..sessions).map(session).collect();
        let commits = block_on(async {
            let mut commits = 0;
            while let Some(of_session) = all.next().await {
                commits += of_session?;
            }
            anyhow::Ok(commits)
        })?;
        Ok((commits, start.elapsed_s()))
    }
}

fn update(txn: &mut Transaction<'_>, table: KeyValueTable, row: u64) -> namdb::Result<()> {
    let key = row.to_be_bytes();
    let value = txn.read_value(table, &key)?.unwrap_or_default();
    txn.write_value(table, &key, &updated(&value))
}

impl Engine for Namdb {
    fn name(&self) -> &'static str {
        "namdb"
    }

    fn way(&self, sessions: usize) -> String {
        match sessions {
            1 => "1 thread".to_owned(),
            _ => format!("{sessions} futures on {THREADS} engine threads"),
        }
    }

    fn run(&mut self, sessions: usize, time: Duration) -> Result<Turn> {
        let before = self.groups()?;
        let (commits, seconds) = match sessions {
            1 => {
                let session = std::sync::Mutex::new(self.db.session());
                in_threads(1, time, |row| {
                    let mut session = session.lock().map_err(|_| anyhow::anyhow!("poisoned"))?;
                    let table = self.table;
                    Ok(session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
                        update(txn, table, row)
                    })?)
                })?
            }
            _ => self.run_futures(sessions, time)?,
        };
        Ok(Turn { commits, seconds, syncs: Some(self.groups()? - before) })
    }
}

//! Locks that stay: their process waits for a memory server, or is not recovered yet.
//!
//! A lock has the number of its commit or upkeep, which holds it for microseconds. So a word that
//! has the same lock some time later is held by one that does not go on. To find locked words is to
//! read the tables, so this counts only in databases of limited size.

use super::cluster_client::ClusterClient;
use super::cluster_site::{self, SiteQuery};
use crate::bench::site::{Site, SiteSession};
use crate::bench::text::counted;
use anyhow::{Context, Result};
use fabric::{Batch, Env};
use layout::{GlobalPtr, VersionWord};
use membership::ClusterFile;
use txn::{Database, TableMemory};

/// Largest size of the tables that are read.
const READ_BYTES_MAX: u64 = 256 << 20;
/// Time for which a lock must last to count as left.
const LAST_NS: u64 = 500_000_000;

/// The remedy for locks that recovery does not release.
pub const REMEDY: &str = "dead processes are recovered within seconds; if this stays, stop the cluster, start it, and load the data again: `namdb cluster down`, \
                          `namdb cluster up`";

/// Counts the locks of a whole database.
pub struct LeftLocks;

impl LeftLocks {
    /// Visits a running cluster; `None` as for [`count`].
    pub fn look(cluster: &ClusterFile) -> Result<Option<u64>> {
        cluster_site::query(&ClusterClient::visit(cluster.clone())?, Self)
    }
}

impl SiteQuery for LeftLocks {
    type Output = Option<u64>;

    fn look<S: Site>(self, site: &S) -> Result<Self::Output> {
        let session = site.session()?;
        let database = session.handle();
        session.wait(database.refresh())?;
        let tables =
            session.wait(database.memory_usage()).context("cannot read the memory usage")?;
        session.wait(count(&database, &tables))
    }
}

/// Whether the tables are small enough to be read for their locks.
pub async fn are_tables_small<E: Env>(database: &Database<E>) -> Result<bool> {
    database.refresh().await.context("cannot read the catalog")?;
    let tables = database.memory_usage().await.context("cannot read the memory usage")?;
    Ok(is_small(&tables))
}

fn is_small(tables: &[TableMemory]) -> bool {
    tables.iter().map(|table| table.used_bytes).sum::<u64>() <= READ_BYTES_MAX
}

/// Number of the locks that were left; `None` if the tables are too large to look for them.
pub async fn count<E: Env>(database: &Database<E>, tables: &[TableMemory]) -> Result<Option<u64>> {
    if !is_small(tables) {
        return Ok(None);
    }
    let report = database.check().await.context("cannot read the tables")?;
    let words: Vec<GlobalPtr> = report.locks.iter().map(|lock| lock.word).collect();
    if words.is_empty() {
        return Ok(Some(0));
    }
    let before = read(database, &words).await?;
    database.env().sleep_ns(LAST_NS).await;
    let after = read(database, &words).await?;
    let is_left = |(before, after): (&u64, &u64)| {
        before == after && VersionWord::from_word(*after).is_locked()
    };
    Ok(Some(before.iter().zip(&after).filter(|pair| is_left(*pair)).count() as u64))
}

async fn read<E: Env>(database: &Database<E>, words: &[GlobalPtr]) -> Result<Vec<u64>> {
    let mut batch = Batch::new();
    let spans: Vec<_> = words.iter().map(|&word| batch.read(word, 1)).collect();
    let batch = database.env().execute(batch).await.context("cannot read the locks")?;
    Ok(spans.into_iter().map(|span| batch.word(span.at)).collect())
}

/// The lines about the locks, with the remedy.
pub fn told(left_locks: Option<u64>) -> String {
    match left_locks {
        None => "\n  locks are not counted: the tables are too large\n".to_owned(),
        Some(0) => String::new(),
        Some(count) => format!("\n  {}; {REMEDY}\n", held(count)),
    }
}

/// A sentence about locks that were left.
pub fn held(count: u64) -> String {
    let locks = counted(count, "lock");
    let by = "by processes that have died, or wait for a memory server";
    format!("{locks} left on rows, buckets or leaves {by}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::{Fabric, run_now};
    use layout::{Column, ColumnType, KeyBuilder, RegionId, Schema, SlotId};
    use txn::local::{OpenConfig, open};
    use txn::{DatabaseConfig, Isolation, Outcome, TableSpec};

    const MARK: i64 = 0x1234_5678_9abc;

    #[test]
    fn a_lock_that_stays_is_counted() {
        let config = OpenConfig {
            servers: 1,
            server_bytes: 16 << 20,
            seed: 1,
            database: DatabaseConfig::default(),
        };
        let database = open(&config).expect("16 MiB can be had");
        let columns = vec![Column::new("id", ColumnType::Int8), Column::new("n", ColumnType::Int8)];
        let schema = Schema::new("counter", columns, &[0]).expect("the columns are fine");
        let spec = TableSpec { schema, design: Default::default(), indexes: Vec::new() };
        let table = run_now(database.create_table(spec)).expect("the table is new");
        let mut lane = run_now(database.lane()).expect("a slot is free");
        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("it begins");
        let row = run_now(txn.insert(table, &KeyBuilder::new().int8(7).key())).expect("is new");
        txn.update(row).set_int(1, MARK);
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
        let counted = || {
            let tables = run_now(database.memory_usage()).expect("it is read");
            run_now(count(&database, &tables)).expect("it is read")
        };
        assert_eq!(counted(), Some(0));
        let mut batch = Batch::new();
        let words = batch.read(GlobalPtr::new(RegionId(0), 0), (4 << 20) / 8);
        let batch = run_now(database.env().execute(batch)).expect("it is read");
        let payload = batch.words(words).iter().position(|&word| word == MARK as u64);
        let payload = payload.expect("the row is there") as u64 * 8;
        // Header, version, chain and key are before the payload.
        let header = GlobalPtr::new(RegionId(0), payload - 4 * 8);
        let mut lock = Batch::new();
        lock.write_word(header, VersionWord::new(SlotId(5), 9).locked().word());
        run_now(database.env().execute(lock)).expect("it is written");
        assert_eq!(counted(), Some(1));
        assert!(told(Some(1)).contains("1 lock left on rows"));
        assert_eq!(told(Some(0)), "");
    }
}

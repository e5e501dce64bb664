//! Filling an index over a table in use: every row of a snapshot gets its entry, a few hundred rows per
//! transaction. The table or the index may be dropped meanwhile.

use crate::catalog::{Catalog, CatalogError, TableId};
use crate::change::no_index;
use crate::database::Database;
use crate::definition::{IndexDefinition, TableDefinition};
use crate::transaction::Isolation;
use crate::{Abort, Lane, Outcome};
use fabric::Env;
use layout::Key;

/// Rows that one transaction of an index fill writes entries for.
const FILL_ROWS: usize = 256;
/// Tries of such a transaction.
const FILL_TRIES_MAX: u32 = 1000;

impl<E: Env> Database<E> {
    /// Adds an entry for every row of a snapshot.
    pub(crate) async fn fill_index(
        &self,
        table: &TableDefinition,
        index: &IndexDefinition,
    ) -> Result<(), CatalogError> {
        let mut lane = self.lane().await.map_err(|error| CatalogError::Limit(error.to_string()))?;
        let keys = self.keys(&mut lane, table, index).await?;
        for chunk in keys.chunks(FILL_ROWS) {
            self.fill_chunk(&mut lane, table, index, chunk).await?;
        }
        Ok(())
    }

    /// The keys of all rows that were there when everybody kept the index up to date.
    async fn keys(
        &self,
        lane: &mut Lane<E>,
        table: &TableDefinition,
        index: &IndexDefinition,
    ) -> Result<Vec<Key>, CatalogError> {
        let mut keys = Vec::new();
        let mut last = None;
        for _ in 0..FILL_TRIES_MAX {
            keys.clear();
            let Ok(mut txn) = lane.begin(Isolation::Snapshot).await else { continue };
            still_there(&txn.lane().catalog, table, index)?;
            let mut note = |row: layout::RecordRef<'_>| keys.push(Key::from_words(row.key()));
            match txn.for_each(TableId(table.number), &mut note).await {
                Ok(()) => return Ok(keys),
                Err(error) => last = Some(error.to_string()),
            }
        }
        Err(CatalogError::Unreachable(last.unwrap_or_else(|| under_load(index))))
    }

    /// Rows that changed since the snapshot have their entry from whoever changed them; the others get it
    /// here, in a transaction that writes entries only.
    async fn fill_chunk(
        &self,
        lane: &mut Lane<E>,
        table: &TableDefinition,
        index: &IndexDefinition,
        keys: &[Key],
    ) -> Result<(), CatalogError> {
        for _ in 0..FILL_TRIES_MAX {
            let Ok(mut txn) = lane.begin(Isolation::Snapshot).await else { continue };
            still_there(&txn.lane().catalog, table, index)?;
            let reads: Vec<_> = keys.iter().map(|&key| (TableId(table.number), key)).collect();
            let mut rows = Vec::new();
            if txn.read_many(&reads, &mut rows).await.is_err() {
                continue;
            }
            let filled = txn.add_index_entries(index.number, rows.iter().flatten()).await;
            match filled {
                Ok(Outcome::Committed) => return Ok(()),
                Ok(Outcome::Aborted(Abort::UniqueViolation)) => {
                    let violation = lane.last_unique_violation().expect("it was noted").clone();
                    return Err(CatalogError::Duplicate(violation));
                }
                Ok(Outcome::Aborted(Abort::OutOfMemory)) => {
                    return Err(CatalogError::OutOfMemory("memory servers are full".to_owned()));
                }
                _ => self.env.yield_now().await,
            }
        }
        Err(CatalogError::Unreachable(under_load(index)))
    }
}

fn under_load(index: &IndexDefinition) -> String {
    format!("index {} could not be filled under this load", index.design.name)
}

/// Whether the catalog of the transaction that has begun still has what is filled: then nothing of it is
/// freed before that transaction ends.
fn still_there(
    catalog: &Catalog,
    table: &TableDefinition,
    index: &IndexDefinition,
) -> Result<(), CatalogError> {
    if catalog.info(TableId(table.number)).is_none() {
        return Err(CatalogError::NoTable(table.name.clone()));
    }
    if !matches!(catalog.indexes.get(index.number as usize), Some(Some(_))) {
        return Err(no_index(index, table));
    }
    Ok(())
}

//! Filling an index over a table in use: every row gets its entry, a few hundred rows per
//! transaction. Meanwhile the table or the index may be dropped.
//!
//! Rows are found part by part, each in a snapshot of its own, so that neither memory nor the age
//! of a snapshot bounds the size of the table. A row that changes meanwhile may be missed: the
//! transaction that changes it knows the index and adds the entry.
//!
//! Decision: docs/decisions/0052-fresh-memory-may-be-touched-in-advance.md

use crate::catalog::change::no_index;
use crate::catalog::definition::{IndexDefinition, TableDefinition};
use crate::catalog::{Catalog, CatalogError, IndexId, TableId};
use crate::database::Database;
use crate::lane::LaneInner;
use crate::read::value::Visitor;
use crate::read::visit::VisitPart;
use crate::transaction::Isolation;
use crate::{Abort, Lane, Outcome, TxnError};
use fabric::{Env, Mutant};
use layout::{Key, RecordRef};

/// With this number of keys, their rows get entries before the next part of the table is read.
const FILL_ROWS: usize = 256;
/// Maximal number of attempts of a transaction.
const FILL_TRIES_MAX: u32 = 1000;
/// After more consecutive failures, an attempt waits before the next.
const FILL_YIELDS_MAX: u32 = 100;
/// The time of that wait.
const FILL_WAIT_NS: u64 = 1_000_000;

impl<E: Env> Database<E> {
    /// Adds an entry for every row that existed when all transactions had begun to maintain the
    /// index.
    pub(crate) async fn fill_index(
        &self,
        table: &TableDefinition,
        index: &IndexDefinition,
    ) -> Result<(), CatalogError> {
        let mut lane = self.lane().await.map_err(|error| CatalogError::Limit(error.to_string()))?;
        // The last transactions that did not know the index have ended: the next snapshot must
        // cover their rows.
        if !self.env.mutant(Mutant::CatalogFillOldSnapshot) {
            let fresh = lane.inner().freeze_now().await;
            fresh?;
        }
        let (mut keys, mut from) = (Vec::new(), None);
        loop {
            from = self.next_keys(&mut lane, table, index, from, &mut keys).await?;
            self.fill_rows(&mut lane, table, index, &keys).await?;
            if from.is_none() {
                return Ok(());
            }
        }
    }

    /// Finds the keys of the next rows; returns the next part.
    async fn next_keys(
        &self,
        lane: &mut Lane<E>,
        table: &TableDefinition,
        index: &IndexDefinition,
        from: Option<VisitPart>,
        keys: &mut Vec<Key>,
    ) -> Result<Option<VisitPart>, CatalogError> {
        let mut last = None;
        for tries in 0..FILL_TRIES_MAX {
            let Ok(mut txn) = lane.begin(Isolation::Snapshot).await else { continue };
            check_exists(&txn.lane().open.catalog, table, index)?;
            // A snapshot that was too old for many rows may suffice for fewer.
            let wanted = FILL_ROWS >> tries.min(usize::BITS - 1);
            match read_keys(txn.lane(), TableId(table.number), from, wanted, keys).await {
                Ok(next) => return Ok(next),
                Err(error) => last = Some(error.to_string()),
            }
        }
        Err(CatalogError::Unreachable(last.unwrap_or_else(|| fill_failure(index))))
    }

    /// Adds entries for rows. It adapts the number of rows per transaction to the load: with fewer
    /// rows a concurrent change of one of them is less likely.
    async fn fill_rows(
        &self,
        lane: &mut Lane<E>,
        table: &TableDefinition,
        index: &IndexDefinition,
        keys: &[Key],
    ) -> Result<(), CatalogError> {
        let (mut rest, mut count, mut failures) = (keys, keys.len(), 0);
        while !rest.is_empty() {
            let (some, others) = rest.split_at(count.min(rest.len()));
            if self.fill_some(lane, table, index, some).await? {
                (rest, count, failures) = (others, 2 * count, 0);
                continue;
            }
            (count, failures) = (count.div_ceil(2), failures + 1);
            if failures == FILL_TRIES_MAX {
                return Err(CatalogError::Unreachable(fill_failure(index)));
            }
            // The owner of a row's lock may have been descheduled for many milliseconds.
            match failures {
                ..=FILL_YIELDS_MAX => self.env.yield_now().await,
                _ => self.env.sleep_ns(FILL_WAIT_NS).await,
            }
        }
        Ok(())
    }

    /// Adds entries for rows, in a transaction that writes entries only. Rows that changed since
    /// they were found already have their entry from the commit that changed them. Returns whether
    /// it committed.
    async fn fill_some(
        &self,
        lane: &mut Lane<E>,
        table: &TableDefinition,
        index: &IndexDefinition,
        keys: &[Key],
    ) -> Result<bool, CatalogError> {
        let Ok(mut txn) = lane.begin(Isolation::Snapshot).await else { return Ok(false) };
        check_exists(&txn.lane().open.catalog, table, index)?;
        let reads: Vec<_> = keys.iter().map(|&key| (TableId(table.number), key)).collect();
        let mut rows = Vec::new();
        if txn.read_many(&reads, &mut rows).await.is_err() {
            return Ok(false);
        }
        match txn.add_index_entries(IndexId(index.number), rows.iter().flatten()).await {
            Ok(Outcome::Committed) => Ok(true),
            Ok(Outcome::Aborted(Abort::UniqueViolation)) => {
                let violation = lane.last_unique_violation().expect("it was noted").clone();
                Err(CatalogError::Duplicate(violation))
            }
            Ok(Outcome::Aborted(Abort::OutOfMemory)) => {
                Err(CatalogError::OutOfMemory("memory servers are full".to_owned()))
            }
            _ => Ok(false),
        }
    }
}

/// Reads the keys of the next parts of the table in one snapshot: of at least one part, and until
/// there are `wanted` keys.
async fn read_keys<E: Env>(
    lane: &mut LaneInner<E>,
    table: TableId,
    from: Option<VisitPart>,
    wanted: usize,
    keys: &mut Vec<Key>,
) -> Result<Option<VisitPart>, TxnError> {
    keys.clear();
    let mut part = match from {
        Some(part) => part,
        None => lane.first_part(table).await?,
    };
    loop {
        let mut note = |row: RecordRef<'_>| keys.push(Key::from_words(row.key()));
        let next = lane.visit_part(table, part, &mut Visitor::Plain(&mut note)).await?;
        match next {
            Some(next) if keys.len() < wanted => part = next,
            end => return Ok(end),
        }
    }
}

fn fill_failure(index: &IndexDefinition) -> String {
    format!("index {} could not be filled under this load", index.design.name)
}

/// Checks that the transaction's catalog still has the table and the index: if so, none of their
/// memory is freed before that transaction ends.
fn check_exists(
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

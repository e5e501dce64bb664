//! Changing the catalog while transactions run: tables and indexes are created and dropped in
//! steps. Each step waits until every lane has acknowledged it.
//!
//! Changes run concurrently. Each step that alters a definition reads it first; the shard refuses
//! the step if another client has altered the definition in between, and the step reads it again. A
//! step always looks up an index again by its number, because another client may have dropped the
//! index, alone or with its table.
//!
//! Read the common functions here first, then [`table`] and [`index`] (the changes), [`storage`]
//! (the memory that they allocate), [`epoch`] (the acknowledgement by lanes).

mod epoch;
mod index;
mod storage;
mod table;

pub(crate) use epoch::SilentLanes;
pub(crate) use index::no_index;

use crate::catalog::CatalogError;
use crate::catalog::definition::TableDefinition;
use crate::database::Database;
use crate::detach::detached;
use crate::promotion::RunningChange;
use crate::step::ChangeStep;
use fabric::{Batch, Env};
use layout::NodeId;
use layout::oracle::TABLES;
use memory::catalog::Change;

/// Longest time that a change waits while the world stands still, and between two looks.
const STILL_NS_MAX: u64 = 10_000_000_000;
const STILL_LOOK_NS: u64 = 1_000_000;
/// Why a change has not begun.
const REPLACED: &str = "a memory server is being replaced; try again when replicas are complete";

impl<E: Env> Database<E> {
    /// Runs a change to its end, even if the caller drops the future: a half-finished change would
    /// remain.
    pub(crate) async fn run_to_end<T: 'static, F>(
        &self,
        change: impl FnOnce(Self) -> F,
    ) -> Result<T, CatalogError>
    where
        F: Future<Output = Result<T, CatalogError>> + 'static,
    {
        if self.shared.redo.get().is_some() {
            // Rows of an unknown table in the log would make it unreadable.
            let reason = "a database with a directory has no tables in parts";
            return Err(CatalogError::WrongKind(reason));
        }
        self.run_logged_to_end(change).await
    }

    /// As [`Database::run_to_end`], for changes of indexes: filling one commits, and a redo log
    /// must have these commits.
    pub(crate) async fn run_logged_to_end<T: 'static, F>(
        &self,
        change: impl FnOnce(Self) -> F,
    ) -> Result<T, CatalogError>
    where
        F: Future<Output = Result<T, CatalogError>> + 'static,
    {
        let running = self.begin_change().await?;
        let change = change(self.clone());
        let change = async move {
            let _running = running;
            change.await
        };
        if E::IMMEDIATE { change.await } else { detached(&self.env, change, drop).await }
    }

    /// Waits while the world stands still, or a server is about to be filled. Later that server
    /// waits for the change.
    async fn begin_change(&self) -> Result<Option<RunningChange>, CatalogError> {
        if !self.env.has_replicas() {
            return Ok(None);
        }
        let deadline_ns = self.env.now_ns().saturating_add(STILL_NS_MAX);
        loop {
            // Counted before the look, so that who looks at the count afterwards misses none.
            let running = self.shared.lock_holders().begin_change();
            if !self.env.is_paused() && !self.env.defers_changes() {
                return Ok(Some(running));
            }
            drop(running);
            if self.env.now_ns() >= deadline_ns {
                return Err(CatalogError::Unreachable(REPLACED.to_owned()));
            }
            self.env.sleep_ns(STILL_LOOK_NS).await;
        }
    }

    /// The current definition of a table, with its version.
    async fn definition(&self, table: &str) -> Result<(u64, TableDefinition), CatalogError> {
        let definitions = self.shared.definitions(&self.env).await?;
        let found = definitions.into_iter().find(|(_, definition)| definition.name == table);
        found.ok_or_else(|| CatalogError::NoTable(table.to_owned()))
    }

    /// Stores a definition in its shard, if the shard still has `version`.
    async fn put(
        &self,
        version: u64,
        definition: &TableDefinition,
    ) -> Result<Change, CatalogError> {
        let (shard, bytes) = (self.shard_of(&definition.name), definition.encode());
        let name = &definition.name;
        let change = memory::catalog::put(&self.env, shard, name, version, &bytes).await?;
        if change == Change::Done {
            self.env.reach(ChangeStep::DefinitionStored).await;
        }
        Ok(change)
    }

    /// Alters the definition of a table; repeats that as long as other clients are faster. Fails
    /// without effect if `alter` fails, or if the table was dropped, even if there is a new table
    /// of the same name.
    async fn alter(
        &self,
        table: &TableDefinition,
        alter: impl Fn(&mut TableDefinition) -> Result<(), CatalogError>,
    ) -> Result<(), CatalogError> {
        loop {
            let (version, mut definition) = self.definition(&table.name).await?;
            if definition.number != table.number {
                return Err(CatalogError::NoTable(table.name.clone()));
            }
            alter(&mut definition)?;
            if self.put(version, &definition).await? == Change::Done {
                return Ok(());
            }
        }
    }

    fn shard_of(&self, name: &str) -> NodeId {
        memory::catalog::shard_of(name, self.shared.servers.len() as u16)
    }

    /// The number of the next table, if nobody creates one before.
    pub async fn next_table_number(&self) -> Result<u32, CatalogError> {
        self.draw_number(TABLES, 0).await
    }

    /// Leaves out the numbers of tables below `number`, because an earlier start of the database
    /// has used them. For a database that nobody else uses yet.
    pub async fn skip_table_numbers(&self, number: u32) -> Result<(), CatalogError> {
        let next = self.next_table_number().await?;
        self.draw_number(TABLES, u64::from(number.saturating_sub(next))).await?;
        Ok(())
    }

    /// Draws numbers that no table or index has ever had, because lanes may still know dropped
    /// ones.
    async fn draw_number(&self, word: u32, count: u64) -> Result<u32, CatalogError> {
        let mut batch = Batch::new();
        let drawn = batch.fetch_and_add(self.shared.oracle.add_words(u64::from(word)), count);
        let batch = self.env.execute(batch).await?;
        u32::try_from(batch.found(drawn)).map_err(|_| {
            CatalogError::Limit("all numbers of tables or indexes are used up".to_owned())
        })
    }
}

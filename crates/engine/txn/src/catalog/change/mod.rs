//! Changing the catalog while transactions run: tables and indexes come and go in steps, each of
//! which waits until every lane has taken note of it.
//!
//! Changes run side by side. Each step that alters a definition reads it, and is refused by the
//! shard if somebody else altered it in between; then it reads again. An index that others may
//! meanwhile have dropped, alone or with its table, is always looked for again by its number.
//!
//! To read it: what all changes have in common, here; [`table`] and [`index`] (the changes),
//! [`storage`] (the memory that they make), [`epoch`] (that lanes take note).

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
use crate::step::ChangeStep;
use fabric::{Batch, Env};
use layout::NodeId;
use memory::catalog::Change;

impl<E: Env> Database<E> {
    /// Runs a change to its end, even if nobody waits for it any more: what is left half done would
    /// stay.
    pub(crate) async fn to_its_end<T: 'static, F>(
        &self,
        change: impl FnOnce(Self) -> F,
    ) -> Result<T, CatalogError>
    where
        F: Future<Output = Result<T, CatalogError>> + 'static,
    {
        let change = change(self.clone());
        if E::IMMEDIATE { change.await } else { detached(&self.env, change, drop).await }
    }

    /// The definition of a table as the catalog now has it, with its version.
    async fn definition(&self, table: &str) -> Result<(u64, TableDefinition), CatalogError> {
        let definitions = self.shared.definitions(&self.env).await?;
        let found = definitions.into_iter().find(|(_, definition)| definition.name == table);
        found.ok_or_else(|| CatalogError::NoTable(table.to_owned()))
    }

    /// Puts a definition into its shard, in place of the version that was read.
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

    /// Alters the definition of a table, as often as somebody else was faster. It fails without
    /// effect if `alter` does, or if the table is gone; another one of the same name is not meant.
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

    /// Numbers that no table or index has had before: lanes may still know of those that were
    /// dropped.
    async fn draw_number(&self, word: u32, count: u64) -> Result<u32, CatalogError> {
        let mut batch = Batch::new();
        let drawn = batch.fetch_and_add(self.shared.oracle.add_words(u64::from(word)), count);
        let batch = self.env.execute(batch).await?;
        u32::try_from(batch.found(drawn))
            .map_err(|_| CatalogError::Limit("numbers are used up".to_owned()))
    }
}

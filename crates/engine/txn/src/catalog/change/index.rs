//! Creating and dropping indexes, in steps.

use crate::catalog::definition::{IndexDefinition, IndexState, TableDefinition};
use crate::catalog::{CatalogError, INDEXES_MAX, IndexId, index_label};
use crate::database::{Database, Placed};
use crate::step::ChangeStep;
use fabric::Env;
use layout::IndexDesign;
use layout::oracle::INDEXES;

impl<E: Env> Database<E> {
    pub(crate) async fn create_index_generic(
        &self,
        table: &str,
        design: IndexDesign,
    ) -> Result<IndexId, CatalogError> {
        if let Some(keeper) = self.shared.keeper.get() {
            let index = keeper.create_index(table, design)?;
            self.refresh().await?;
            return Ok(index);
        }
        let table = table.to_owned();
        self.run_logged_to_end(|database| async move { database.make_index(&table, design).await })
            .await
    }

    async fn make_index(&self, table: &str, design: IndexDesign) -> Result<IndexId, CatalogError> {
        self.free_overdue().await;
        let (_, table) = self.definition(table).await?;
        check_room(&table, &design.name)?;
        refuse_parts(&table)?;
        let number = self.draw_number(INDEXES, 1).await?;
        let label = index_label(number);
        let placed = Placed { label, server: table.design.server };
        let storage = match self.create_entries(&table.schema()?, &design, placed).await {
            Ok(storage) => storage,
            Err(error) => {
                self.free_memory(label).await?;
                return Err(error);
            }
        };
        self.env.reach(ChangeStep::StorageMade).await;
        let index = IndexDefinition { number, design, storage, state: IndexState::Filling };
        let added = self.alter(&table, |definition| {
            check_room(definition, &index.design.name)?;
            definition.indexes.push(index.clone());
            Ok(())
        });
        match added.await {
            Ok(()) => {}
            // It is unknown whether the shard has the definition, so keep the memory.
            Err(error @ CatalogError::Unreachable(_)) => return Err(error),
            Err(error) => {
                self.free_memory(label).await?;
                return Err(error);
            }
        }
        if let Err(error) = self.complete_index(&table, &index).await {
            // If lanes do not acknowledge that in time, the next change frees its memory.
            let _ = self.withdraw_index(&table, &index).await;
            return Err(error);
        }
        match self.start_epoch(Vec::new()).await {
            // Transactions that begin from now on may read the index; earlier ones need not know
            // that.
            Ok(_) | Err(CatalogError::Unacknowledged) => Ok(IndexId(number)),
            Err(error) => Err(error),
        }
    }

    /// Waits until all transactions maintain the index, fills it, and makes it readable.
    async fn complete_index(
        &self,
        table: &TableDefinition,
        index: &IndexDefinition,
    ) -> Result<(), CatalogError> {
        self.start_epoch(Vec::new()).await?;
        self.fill_index(table, index).await?;
        self.env.reach(ChangeStep::IndexFilled).await;
        let readable = self.alter(table, |definition| {
            let own = index_numbered(definition, index)?;
            if own.state == IndexState::Going {
                return Err(no_index(index, table));
            }
            own.state = IndexState::Readable;
            Ok(())
        });
        readable.await
    }

    /// Removes an index that was never readable from the catalog, unless another client is dropping
    /// it.
    async fn withdraw_index(
        &self,
        table: &TableDefinition,
        index: &IndexDefinition,
    ) -> Result<(), CatalogError> {
        let removed = self.remove_definition(table, index, IndexState::Filling).await;
        match removed {
            Ok(()) => self.start_epoch(vec![index_label(index.number)]).await.map(drop),
            Err(CatalogError::NoTable(_) | CatalogError::NoIndex(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes an index in this state from its table's definition.
    async fn remove_definition(
        &self,
        table: &TableDefinition,
        index: &IndexDefinition,
        state: IndexState,
    ) -> Result<(), CatalogError> {
        let removed = self.alter(table, |definition| {
            if index_numbered(definition, index)?.state != state {
                return Err(no_index(index, table));
            }
            definition.indexes.retain(|other| other.number != index.number);
            Ok(())
        });
        removed.await
    }

    pub(crate) async fn drop_index_generic(
        &self,
        table: &str,
        index: &str,
    ) -> Result<(), CatalogError> {
        if let Some(keeper) = self.shared.keeper.get() {
            keeper.drop_index(table, index)?;
            return self.refresh().await.map(drop);
        }
        let (table, index) = (table.to_owned(), index.to_owned());
        self.run_logged_to_end(
            |database| async move { database.remove_index(&table, &index).await },
        )
        .await
    }

    async fn remove_index(&self, table: &str, index: &str) -> Result<(), CatalogError> {
        let (_, table) = self.definition(table).await?;
        refuse_parts(&table)?;
        let found = table.indexes.iter().find(|other| other.design.name == index);
        let found =
            found.ok_or_else(|| CatalogError::NoIndex(format!("{index} on {}", table.name)))?;
        let going = self.alter(&table, |definition| {
            index_numbered(definition, found)?.state = IndexState::Going;
            Ok(())
        });
        going.await?;
        self.start_epoch(Vec::new()).await?;
        self.remove_definition(&table, found, IndexState::Going).await?;
        self.start_epoch(vec![index_label(found.number)]).await.map(drop)
    }
}

/// Refuses an index whose name the table already has, or for which it has no room.
fn check_room(table: &TableDefinition, index: &str) -> Result<(), CatalogError> {
    if table.indexes.iter().any(|other| other.design.name == index) {
        return Err(CatalogError::Exists(format!("index {index}")));
    }
    if table.indexes.len() >= INDEXES_MAX {
        return Err(CatalogError::Limit(format!(
            "a table has at most {INDEXES_MAX} secondary indexes"
        )));
    }
    Ok(())
}

/// Refuses tables in parts: their indexes must be the same in all parts, and changes are part by
/// part.
fn refuse_parts(table: &TableDefinition) -> Result<(), CatalogError> {
    let reason = "indexes of a table in parts are created and dropped with the table";
    match table.design.part {
        None => Ok(()),
        Some(_) => Err(CatalogError::WrongKind(reason)),
    }
}

/// The index in a definition that was read again.
fn index_numbered<'a>(
    table: &'a mut TableDefinition,
    index: &IndexDefinition,
) -> Result<&'a mut IndexDefinition, CatalogError> {
    let missing = no_index(index, table);
    table.indexes.iter_mut().find(|other| other.number == index.number).ok_or(missing)
}

/// The error for an index that was dropped during a change.
pub(crate) fn no_index(index: &IndexDefinition, table: &TableDefinition) -> CatalogError {
    CatalogError::NoIndex(format!("{} on {}", index.design.name, table.name))
}

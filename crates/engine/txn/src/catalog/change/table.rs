//! Creating and dropping tables.
//!
//! Decision: docs/decisions/0244-parts-of-a-table-are-tables.md

use crate::catalog::definition::TableDefinition;
use crate::catalog::part::{NamedTable, parts_of};
use crate::catalog::{CatalogError, TableId, TableSpec, check_design, index_label, table_label};
use crate::database::Database;
use crate::step::ChangeStep;
use fabric::Env;
use layout::oracle::{INDEXES, TABLES};
use memory::Label;
use memory::catalog::{ABSENT, Change};

impl<E: Env> Database<E> {
    pub(crate) async fn create_table_generic(
        &self,
        spec: TableSpec,
    ) -> Result<TableId, CatalogError> {
        if let Some(keeper) = self.shared.keeper.get() {
            let table = keeper.create_table(spec)?;
            self.refresh().await?;
            return Ok(table);
        }
        self.run_to_end(|database| async move {
            let made = database.create_tables(vec![spec]).await?;
            Ok(made[0].table)
        })
        .await
    }

    /// Creates tables, which no transaction finds before all of them are stored; returns their
    /// names and numbers. If one cannot be created, removes those before it.
    pub(crate) async fn create_tables(
        &self,
        specs: Vec<TableSpec>,
    ) -> Result<Vec<NamedTable>, CatalogError> {
        self.free_overdue_at_once().await;
        let mut made: Vec<NamedTable> = Vec::new();
        for spec in specs {
            match self.store_table(spec).await {
                Ok(table) => made.push(table),
                Err(error) => {
                    if !made.is_empty() {
                        // Ignore this error: the first one says more, and a drop by the table's
                        // name removes the rest.
                        let _ = self.remove_tables(&made).await;
                    }
                    return Err(error);
                }
            }
        }
        // Transactions that begin from now on see the tables; earlier ones need not know them.
        let started = self.begin_epoch(Vec::new()).await;
        self.enforce_table_limit(&made).await?;
        started.map(|_| made)
    }

    /// Allocates a table's memory and stores its definition; returns its name and number.
    async fn store_table(&self, spec: TableSpec) -> Result<NamedTable, CatalogError> {
        check_design(&spec, self.shared.servers.len())?;
        let catalog = self.refresh().await?;
        let name = spec.schema.name().to_owned();
        if catalog.table(&name).is_some() {
            return Err(CatalogError::Exists(format!("table {name}")));
        }
        if catalog.names().count() >= self.shared.config.tables {
            return Err(too_many_tables(self.shared.config.tables));
        }
        let number = self.draw_number(TABLES, 1).await?;
        for (position, index) in spec.indexes.iter().enumerate() {
            if spec.indexes[..position].iter().any(|other| other.name == index.name) {
                return Err(CatalogError::Exists(format!("index {}", index.name)));
            }
        }
        let first_index = self.draw_number(INDEXES, spec.indexes.len() as u64).await?;
        let storages = match self.create_storages(&spec, number, first_index).await {
            Ok(storages) => storages,
            Err(error) => {
                // No definition names the table, so free its memory at once.
                self.free_table_memory(&spec, number, first_index).await?;
                return Err(error);
            }
        };
        let (storage, indexes) = storages;
        self.env.reach(ChangeStep::StorageMade).await;
        let definition = TableDefinition {
            number,
            name: name.clone(),
            columns: spec.schema.columns().to_vec(),
            key: spec.schema.key().to_vec(),
            design: spec.design.clone(),
            storage,
            indexes,
        };
        if self.put(ABSENT, &definition).await? == Change::Conflict {
            // Another client has created a table of this name meanwhile.
            self.free_table_memory(&spec, number, first_index).await?;
            self.refresh().await?;
            return Err(CatalogError::Exists(format!("table {name}")));
        }
        Ok(NamedTable { name, table: TableId(number) })
    }

    /// Removes tables that were stored in the last epoch if they exceed the maximum: other clients
    /// may have stored theirs after this one counted the tables. The catalog of that epoch has all
    /// tables stored before, so the last of the excess tables always sees all others. Clients that
    /// reach the maximum together may all be refused.
    async fn enforce_table_limit(&self, made: &[NamedTable]) -> Result<(), CatalogError> {
        if self.shared.cached_catalog().names().count() <= self.shared.config.tables {
            return Ok(());
        }
        match self.remove_tables(made).await {
            // Another client may have dropped it.
            Ok(()) | Err(CatalogError::NoTable(_) | CatalogError::Unacknowledged) => {
                Err(too_many_tables(self.shared.config.tables))
            }
            Err(error) => Err(error),
        }
    }

    /// Frees the memory of a table that no definition names.
    async fn free_table_memory(
        &self,
        spec: &TableSpec,
        number: u32,
        first_index: u32,
    ) -> Result<(), CatalogError> {
        let indexes = (0..spec.indexes.len() as u32).map(|n| index_label(first_index + n));
        for label in indexes.chain([table_label(number)]) {
            self.free_memory(label).await?;
        }
        Ok(())
    }

    pub(crate) async fn drop_table_generic(&self, name: &str) -> Result<(), CatalogError> {
        if let Some(keeper) = self.shared.keeper.get() {
            keeper.drop_table(name)?;
            return self.refresh().await.map(drop);
        }
        let name = name.to_owned();
        self.run_to_end(|database| async move {
            let all = parts_of(&database.shared.definitions(&database.env).await?, &name);
            if all.is_empty() {
                return Err(CatalogError::NoTable(name));
            }
            database.remove_tables(&all).await
        })
        .await
    }

    pub(crate) async fn drop_tables_generic(&self, names: &[&str]) -> Result<(), CatalogError> {
        if let Some(keeper) = self.shared.keeper.get() {
            let catalog = self.refresh().await?;
            let mut there = names.iter().filter(|name| catalog.table(name).is_some());
            there.try_for_each(|name| keeper.drop_table(name))?;
            return self.refresh().await.map(drop);
        }
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        self.run_to_end(|database| async move {
            let definitions = database.shared.definitions(&database.env).await?;
            let mut all = Vec::new();
            for table in names.iter().flat_map(|name| parts_of(&definitions, name)) {
                if !all.contains(&table) {
                    all.push(table);
                }
            }
            match database.remove_tables(&all).await {
                // Another client has dropped all of them.
                Err(CatalogError::NoTable(_)) => Ok(()),
                removed => removed,
            }
        })
        .await
    }

    /// Removes tables, each if it still has its number, and then starts one epoch without them.
    pub(crate) async fn remove_tables(&self, tables: &[NamedTable]) -> Result<(), CatalogError> {
        let (mut labels, mut refused) = (Vec::new(), None);
        for NamedTable { name, table } in tables {
            match self.remove_definition_of(name, table.0).await {
                Ok(of) => labels.extend(of),
                // Another client has dropped this one, or the removal failed. Go on: it may succeed
                // for the next.
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        if labels.is_empty() {
            return refused.map_or(Ok(()), Err);
        }
        let started = self.start_epoch(labels).await.map(drop);
        match refused {
            None | Some(CatalogError::NoTable(_)) => started,
            Some(error) => Err(error),
        }
    }

    /// Removes a table from the catalog; returns the labels of its memory.
    async fn remove_definition_of(
        &self,
        name: &str,
        number: u32,
    ) -> Result<Vec<Label>, CatalogError> {
        let definition = loop {
            let (version, definition) = self.definition(name).await?;
            if definition.number != number {
                return Err(CatalogError::NoTable(name.to_owned()));
            }
            let shard = self.shard_of(name);
            let removed = memory::catalog::remove(&self.env, shard, name, version).await?;
            if removed == Change::Done {
                break definition;
            }
        };
        self.env.reach(ChangeStep::DefinitionRemoved).await;
        // The removed definition is the last one of the table, so it has all indexes, including
        // those that are being filled.
        let indexes = definition.indexes.iter().map(|index| index_label(index.number));
        Ok(indexes.chain([table_label(definition.number)]).collect())
    }
}

fn too_many_tables(most: usize) -> CatalogError {
    CatalogError::Limit(format!("a database has at most {most} tables"))
}

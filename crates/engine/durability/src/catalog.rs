//! Changes of the catalog, in memory and in the control file.
//!
//! ```text
//! change          order                a crash in between leaves
//! create a table  file, then memory    an empty table, whose creation was not reported
//! drop a table    file, then memory    no table
//! create an index memory, a group,     no index: it might be unique, and rows that came after
//!                 then file            the crash would violate it
//! drop an index   file, then memory    no index, likewise
//! ```
//!
//! The group makes the commits durable that an index is filled from: without them, the keys of a
//! unique index may not be unique. A caller that drops a table waits for a group before, since
//! earlier commits may have copied its rows elsewhere.
//!
//! A table is in the file before a transaction can write to it, so that the log never has rows of
//! an unknown table.

use crate::control::{Control, StoredTable};
use crate::error::Result;
use layout::IndexDesign;
use storage::{Directory, Disk, PlantedBug};
use txn::{CatalogError, Database, EngineEnv, IndexId, TableId, TableSpec};

/// Creates a table. `database` is a handle without a redo log.
pub async fn create_table<E: EngineEnv, D: Disk>(
    control: &mut Control,
    directory: &Directory<D>,
    database: &Database<E>,
    spec: TableSpec,
) -> Result<TableId> {
    let name = spec.schema.name().to_owned();
    if database.refresh().await?.table(&name).is_some() {
        return Err(CatalogError::Exists(format!("table {name}")).into());
    }
    let before = control.clone();
    let number = database.next_table_number().await?;
    control.tables.push(StoredTable::new(number, &spec));
    control.next_table = number + 1;
    if let Err(error) = control.write(directory).await {
        *control = before;
        return Err(error);
    }
    match database.create_table(spec).await {
        Ok(table) => {
            assert_eq!(table.0, number, "only this function creates tables");
            Ok(table)
        }
        Err(error) => {
            // The number is used up.
            control.tables = before.tables;
            control.write(directory).await?;
            Err(error.into())
        }
    }
}

/// Drops a table. If it remains in memory, it comes back into the file: transactions still use it.
pub async fn drop_table<E: EngineEnv, D: Disk>(
    control: &mut Control,
    directory: &Directory<D>,
    database: &Database<E>,
    name: &str,
) -> Result<()> {
    let before = control.clone();
    if control.table_named(name).is_none() {
        return Err(CatalogError::NoTable(name.to_owned()).into());
    }
    control.tables.retain(|table| table.name != name);
    if let Err(error) = control.write(directory).await {
        *control = before;
        return Err(error);
    }
    let dropped = database.drop_table(name).await;
    if dropped.is_err() && database.refresh().await?.table(name).is_some() {
        *control = before;
        control.write(directory).await?;
    }
    Ok(dropped?)
}

/// Creates an index and fills it. `database` is a handle with the redo log, if there is one:
/// filling installs rows again, and a chain of the log must have each version of its row. `group`
/// is awaited behind that, until everything is durable that is published by then; its result is the
/// number of a group that is durable then, or later.
pub async fn create_index<E: EngineEnv, D: Disk>(
    control: &mut Control,
    directory: &Directory<D>,
    database: &Database<E>,
    group: impl Future<Output = Result<u64>>,
    table: &str,
    design: IndexDesign,
) -> Result<IndexId> {
    let index = database.create_index(table, design.clone()).await?;
    let (name, is_unique) = (design.name.clone(), design.unique);
    let before = control.clone();
    let stored = control.table_named(table).expect("a table in memory is in the control file");
    stored.indexes.push(design);
    let group = match directory.has_planted(PlantedBug::IndexBeforeGroup) {
        true => Ok(0),
        false => group.await,
    };
    let written = match group {
        Ok(group) => {
            if is_unique {
                stored.unique_since.insert(name.clone(), group);
            }
            control.write(directory).await
        }
        Err(error) => Err(error),
    };
    match written {
        Ok(()) => Ok(index),
        Err(error) => {
            *control = before;
            database.drop_index(table, &name).await?;
            Err(error)
        }
    }
}

/// Drops an index. `database` is any handle.
pub async fn drop_index<E: EngineEnv, D: Disk>(
    control: &mut Control,
    directory: &Directory<D>,
    database: &Database<E>,
    table: &str,
    index: &str,
) -> Result<()> {
    let before = control.clone();
    let Some(stored) = control.table_named(table) else {
        return Err(CatalogError::NoTable(table.to_owned()).into());
    };
    let count = stored.indexes.len();
    stored.indexes.retain(|design| design.name != index);
    if stored.indexes.len() == count {
        return Err(CatalogError::NoIndex(index.to_owned()).into());
    }
    stored.unique_since.remove(index);
    if let Err(error) = control.write(directory).await {
        *control = before;
        return Err(error);
    }
    Ok(database.drop_index(table, index).await?)
}

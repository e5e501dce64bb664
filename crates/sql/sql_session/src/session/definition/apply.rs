//! Makes the tables and indexes of new definitions in the engine.

use super::super::details::has_digest;
use super::super::{Block, SqlSession};
use super::Edited;
use crate::catalog::design::{design, index_design};
use crate::catalog::sequences::refuse_same_names;
use crate::catalog::store::sequence_owners;
use crate::catalog::version::{Parsed, VersionRoutine, new_keys};
use crate::catalog::{Change, Version};
use crate::error::{SqlError, catalog_error};
use crate::host::Host;
use fabric::Env;
use sql::Table;
use sql::catalog::ForeignKey;
use std::sync::Arc;
use txn::TableSpec;

impl<H: Host> SqlSession<H> {
    /// Makes the tables and indexes of new definitions in the engine; the block sees them then.
    pub(super) async fn apply(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        edited: Edited,
        text: &str,
    ) -> Result<(), SqlError> {
        let parsed = Parsed::read(&edited.definitions, text)?;
        self.check_references_of(version, &parsed, &edited.definitions)?;
        let of = &parsed.table_definitions;
        refuse_same_names(version, &parsed.catalog, &edited.definitions, of)?;
        let database = self.database.host().handle();
        let change = block.change.as_mut().expect("a change has begun");
        for (table, &at) in parsed.catalog.tables.iter().zip(&parsed.table_definitions) {
            let definition = &edited.definitions[at];
            let old = version.position_of(definition.id);
            let old = old.map(|old| (version.definition_of(old), &version.catalog.tables[old]));
            match old {
                Some((old, before)) if old.physical == definition.physical => {
                    create_indexes(&database, change, before, table).await?;
                }
                _ => {
                    let designed = design(table, &definition.body);
                    let spec = TableSpec {
                        schema: table.schema.clone(),
                        design: designed.rows,
                        indexes: designed.indexes,
                    };
                    database.create_table(spec).await.map_err(|error| catalog_error(&error))?;
                    change.created.push(definition.physical.clone());
                }
            }
        }
        let epoch = change.before.epoch + 1;
        let gone = sequence_owners(&change.before.definitions, &edited.definitions);
        let mut analyzed = self.database.analyzed();
        analyzed.retain(|table, _| !gone.contains(table));
        let next = Version::bind(&database, epoch, edited.definitions, parsed, &analyzed)?;
        let next = Arc::new(next);
        if self.checks_bodies() {
            check_routines(version, &next)?;
        }
        if let Some(transaction) = &mut block.engine {
            transaction.statement().see_new_tables();
        }
        let has_values = !edited.values.is_empty();
        let keys = unproved_keys(version, &next, (&edited.rewritten, has_values));
        self.lock_read_tables(block, (version, &next), &edited.rewritten, &keys)?;
        if block.keeps_transaction() {
            // The old snapshot may be gone, and lacks what others have changed before the locks.
            let renewed = self.renew_in_block(block).await;
            renewed.map_err(|ended| block.failed_by(ended))?;
        }
        for id in edited.rewritten {
            self.copy_rows(block, (version, &next), id, &edited.values).await?;
        }
        self.check_rows(block, version, &next).await?;
        self.check_keys(block, version, &next, &keys).await?;
        block.version = Some(next);
        Ok(())
    }
}

impl<H: Host> SqlSession<H> {
    /// Takes the tables whose rows are copied or checked: the rewritten ones, and both tables of
    /// foreign keys that are checked.
    fn lock_read_tables(
        &self,
        block: &mut Block<H::Env>,
        (before, after): (&Version, &Version),
        rewritten: &[i64],
        keys: &[(usize, &ForeignKey)],
    ) -> Result<(), SqlError> {
        for at in 0..after.catalog.tables.len() {
            let id = after.definition_of(at).id;
            let old = before.position_of(id);
            if let Some(old) = old.filter(|_| rewritten.contains(&id)) {
                self.lock_table(block, before.definition_of(old))?;
            }
        }
        for &(at, key) in keys {
            let position = |at: usize| before.position_of(after.definition_of(at).id);
            let Some(own) = position(at) else { continue };
            for table in [Some(own), position(key.table)].into_iter().flatten() {
                self.lock_table(block, before.definition_of(table))?;
            }
        }
        Ok(())
    }
}

/// The foreign keys that rows may violate, with the positions of their tables: new ones, and those
/// whose columns get other values because their type changes.
fn unproved_keys<'v>(
    before: &Version,
    after: &'v Version,
    (rewritten, has_values): (&[i64], bool),
) -> Vec<(usize, &'v ForeignKey)> {
    let of = &after.table_definitions;
    let mut found = new_keys(before, &after.catalog, &after.definitions, of);
    let is_retyped = |at: usize| {
        let id = after.definition_of(at).id;
        let (Some(old), true) = (before.position_of(id), rewritten.contains(&id)) else {
            return false;
        };
        let old = &before.catalog.tables[old].columns;
        has_values
            || after.catalog.tables[at].columns.iter().any(|column| {
                let same = old.iter().find(|other| other.number == column.number);
                same.is_some_and(|same| same.sql_type != column.sql_type)
            })
    };
    for (at, table) in after.catalog.tables.iter().enumerate() {
        for key in &table.foreign_keys {
            let is_known = |(of, known): &(usize, &ForeignKey)| *of == at && **known == *key;
            if (is_retyped(at) || is_retyped(key.table)) && !found.iter().any(is_known) {
                found.push((at, key));
            }
        }
    }
    found
}

/// Refuses a new routine that cannot be called. One that exists may lose a table that it uses.
fn check_routines(before: &Version, after: &Version) -> Result<(), SqlError> {
    let is_new = |one: &&VersionRoutine| !before.routines.iter().any(|other| other.id == one.id);
    for routine in after.routines.iter().filter(is_new).filter(|routine| !routine.fails_late) {
        routine.compiled.as_ref().map(drop).map_err(Clone::clone)?;
    }
    Ok(())
}

/// Creates new indexes. Those that are gone remain until the transaction ends.
async fn create_indexes<E: Env>(
    database: &txn::Database<E>,
    change: &mut Change,
    before: &Table,
    after: &Table,
) -> Result<(), SqlError> {
    let physical = after.schema.name();
    let has = |table: &Table, name: &str| table.indexes.iter().any(|index| index.name == name);
    for index in after.indexes.iter().filter(|index| !has(before, &index.name)) {
        let created = database.create_index(physical, index_design(after, index)).await;
        created.map_err(|error| {
            let mut error = catalog_error(&error);
            // Digests say nothing to a reader.
            error.detail.take_if(|_| has_digest(after, index));
            error
        })?;
        change.created_indexes.push((physical.to_owned(), index.name.clone()));
    }
    Ok(())
}

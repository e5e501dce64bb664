//! The catalog as a server shows it to its clients.

use super::types::is_dropped;
use super::{DefinitionKind, Version};
use sql::{Procedure, Table, Types};
use std::sync::Arc;

/// A version of the SQL catalog, which does not change.
#[derive(Clone)]
pub struct CatalogSnapshot {
    version: Arc<Version>,
}

impl std::fmt::Debug for CatalogSnapshot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CatalogSnapshot").field("epoch", &self.epoch()).finish()
    }
}

/// A table with its number.
#[derive(Clone, Copy, Debug)]
pub struct CatalogTable<'c> {
    /// The number that columns of results refer to.
    pub oid: u32,
    /// Columns, keys, indexes and constraints. Foreign keys refer to tables by their position.
    pub table: &'c Table,
    /// The number of rows that `ANALYZE` has counted.
    pub rows: Option<f64>,
}

impl CatalogSnapshot {
    pub(crate) fn new(version: Arc<Version>) -> Self {
        Self { version }
    }

    pub(crate) fn version(&self) -> &Version {
        &self.version
    }

    /// Distinguishes all versions that this process has seen.
    pub fn serial(&self) -> u64 {
        self.version.serial
    }

    /// The number of committed changes before it.
    pub fn epoch(&self) -> i64 {
        self.version.epoch
    }

    /// The tables by position.
    pub fn tables(&self) -> impl Iterator<Item = CatalogTable<'_>> {
        let version = &*self.version;
        version.catalog.tables.iter().enumerate().map(move |(at, table)| CatalogTable {
            oid: version.definition_of(at).id as u32,
            table,
            rows: version.statistics.tables[at].rows,
        })
    }

    /// The enumerated types.
    pub fn types(&self) -> Types {
        let catalog = &self.version.catalog;
        let present = catalog.types.iter().filter(|one| !is_dropped(&one.name));
        Types::new(catalog.schemas.clone(), present.cloned().collect())
    }

    /// The functions and procedures with their numbers.
    pub fn routines(&self) -> impl Iterator<Item = (u32, &Procedure)> {
        self.version.routines.iter().map(|routine| (routine.id as u32, &routine.signature))
    }

    /// The sequences: their names, and for those of columns the number of the table and of the
    /// column, from 1.
    pub fn sequences(&self) -> impl Iterator<Item = (&str, Option<(u32, u32)>)> {
        self.version.sequences.iter().map(|(name, sequence)| {
            let (owner, column) = sequence.place;
            (&**name, (column > 0).then_some((owner as u32, column as u32)))
        })
    }

    /// The number of the index that `CREATE INDEX` has made with this name. The indexes of keys
    /// have no numbers.
    pub fn index_oid(&self, name: &str) -> Option<u32> {
        let is_it =
            |one: &&super::Definition| one.kind == DefinitionKind::Index && one.name == name;
        self.version.definitions.iter().find(is_it).map(|one| one.id as u32)
    }
}

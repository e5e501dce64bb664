//! The keeper of a catalog that outlives the process.
//!
//! A database with a redo log may have rows of a table in the log only if the table itself is on
//! the disk. Its handles therefore leave changes of the catalog to the keeper, which orders them
//! with its file.

use crate::catalog::{CatalogError, IndexId, TableId, TableSpec};
use layout::IndexDesign;

/// Changes the catalog, in memory and on the disk. Calls block until that is done.
pub trait CatalogKeeper: Send + Sync {
    fn create_table(&self, spec: TableSpec) -> Result<TableId, CatalogError>;
    fn drop_table(&self, name: &str) -> Result<(), CatalogError>;
    fn create_index(&self, table: &str, design: IndexDesign) -> Result<IndexId, CatalogError>;
    fn drop_index(&self, table: &str, index: &str) -> Result<(), CatalogError>;
}

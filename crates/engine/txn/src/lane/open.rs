//! What a lane keeps of the tables and indexes that it has used: directories, leaves, and pools of memory. They are made
//! when a table is first used, and forgotten with it.
//!
//! Decision: docs/decisions/0148-a-lane-stores-only-what-it-has-opened.md

use super::LaneInner;
use crate::abort::{Abort, TxnError};
use crate::by_server::ByServer;
use crate::catalog::{Catalog, CatalogError, IndexInfo, Primary, Secondary, TableId, TableInfo};
use crate::kept::KeptLeaves;
use crate::value_pool::ValuePool;
use crate::write::Owner;
use fabric::Env;
use index::hash::Directory;
use index::tree::LeafCache;
use layout::NodeId;
use memory::{Label, Pool};
use std::sync::Arc;

/// What a lane keeps per table.
pub(crate) struct LaneTable {
    /// The catalog epoch for which the table's indexes are open.
    pub epoch: u64,
    /// Copy of the hash directory, where the primary key is hashed.
    pub directory: Directory,
    /// Leaves by key, where it is a tree.
    pub leaves: LeafCache,
    /// Leaves that this lane has written last.
    pub kept: KeptLeaves,
    /// Rows and overflow blocks.
    pub pool: Pool,
    /// Leaves: on the tree's server, since its handlers reach no other.
    pub nodes: Pool,
    label: Label,
    /// Version buffers.
    buffers: ByServer<Pool>,
    /// Values out of line.
    values: ByServer<ValuePool>,
}

impl LaneTable {
    /// Where version buffers of rows on `server` come from.
    #[inline]
    pub fn buffers_on(&mut self, server: NodeId) -> &mut Pool {
        let Self { label, buffers, .. } = self;
        buffers.on(server, || Pool::new(*label, vec![server]))
    }

    /// Where values out of line of rows on `server` come from.
    pub fn values_on(&mut self, server: NodeId) -> &mut ValuePool {
        let Self { label, values, .. } = self;
        values.on(server, || ValuePool::new(*label, server))
    }
}

/// What a lane keeps per secondary index.
pub(crate) struct LaneIndex {
    pub directory: Directory,
    pub leaves: LeafCache,
    pub pool: Pool,
}

/// Where overflow blocks of a table or index come from, if it is open.
#[inline]
pub(crate) fn blocks_of<'a>(
    tables: &'a mut [Option<Box<LaneTable>>],
    indexes: &'a mut [Option<Box<LaneIndex>>],
    owner: Owner,
) -> Option<&'a mut Pool> {
    match owner {
        Owner::Table(table) => tables[table as usize].as_mut().map(|table| &mut table.pool),
        Owner::Index(index) => indexes[index as usize].as_mut().map(|index| &mut index.pool),
    }
}

/// What the lane remembers of the leaves of a table or index, and where new ones come from, if it is open.
#[inline]
pub(crate) fn leaves_of<'a>(
    tables: &'a mut [Option<Box<LaneTable>>],
    indexes: &'a mut [Option<Box<LaneIndex>>],
    owner: Owner,
) -> Option<(&'a mut LeafCache, &'a mut Pool)> {
    match owner {
        Owner::Table(table) => {
            tables[table as usize].as_mut().map(|table| (&mut table.leaves, &mut table.nodes))
        }
        Owner::Index(index) => {
            indexes[index as usize].as_mut().map(|index| (&mut index.leaves, &mut index.pool))
        }
    }
}

impl<E: Env> LaneInner<E> {
    /// The table at a position that the catalog is known to hold.
    #[inline]
    pub fn info(&self, table: u32) -> &Arc<TableInfo> {
        self.catalog.tables[table as usize]
            .as_ref()
            .expect("accesses name tables of the lane's catalog")
    }

    /// Whether the lane's part of a table is there and complete.
    #[inline]
    pub fn is_open(&self, table: u32) -> bool {
        matches!(self.tables.get(table as usize), Some(Some(open)) if open.epoch == self.catalog.epoch)
    }

    /// The lane's part of a table, made when it is first used.
    #[inline]
    pub async fn open_table(&mut self, table: u32) -> Result<(), TxnError> {
        if self.is_open(table) { Ok(()) } else { self.open_table_slowly(table).await }
    }

    #[cold]
    async fn open_table_slowly(&mut self, table: u32) -> Result<(), TxnError> {
        let info = self.catalog.info(TableId(table));
        let Some(info) = info.cloned() else {
            // The snapshot is older than the table, or the table is gone for good.
            let newest = self.shared.cached_catalog();
            return match newest.info(TableId(table)) {
                Some(_) => Err(Abort::CatalogChanged.into()),
                None => Err(CatalogError::NoTable(format!("number {table}")).into()),
            };
        };
        if self.catalog.incomplete.contains(&table) {
            // Alone, a part would pass for all of the table.
            let name = info.schema.name();
            return Err(CatalogError::NoTable(format!("{name}, of which parts are missing")).into());
        }
        // Of a table in parts all are opened: rows of one may have their entries in indexes of another.
        let numbers =
            info.parts.as_ref().map_or(std::slice::from_ref(&table), |parts| parts.numbers());
        for &part in numbers {
            let info = self.info(part).clone();
            self.open_one(part, &info).await?;
        }
        // None is before all are: the servers of some may not be reached.
        for &part in numbers {
            self.lane_table(part).epoch = self.catalog.epoch;
        }
        Ok(())
    }

    async fn open_one(&mut self, table: u32, info: &TableInfo) -> Result<(), TxnError> {
        let position = table as usize;
        if self.tables.len() <= position {
            self.tables.resize_with(position + 1, || None);
        }
        if self.tables[position].is_none() {
            self.tables[position] = Some(Box::new(self.new_lane_table(info).await?));
        }
        for &index in &info.indexes {
            self.open_index(index).await?;
        }
        Ok(())
    }

    async fn new_lane_table(&self, info: &TableInfo) -> Result<LaneTable, TxnError> {
        let directory = match &info.primary {
            Primary::Hash(hash) => index::hash::read_directory(&self.env, hash).await?,
            Primary::Tree(_) => Directory::default(),
        };
        let nodes = self.shared.nodes(info.placed());
        let leaf_nodes = match &info.primary {
            Primary::Tree(tree) => vec![tree.node],
            Primary::Hash(_) => nodes.clone(),
        };
        Ok(LaneTable {
            epoch: 0,
            directory,
            leaves: LeafCache::default(),
            kept: KeptLeaves::default(),
            pool: Pool::new(info.label, nodes),
            nodes: Pool::new(info.label, leaf_nodes),
            label: info.label,
            buffers: ByServer::new(),
            values: ByServer::new(),
        })
    }

    async fn open_index(&mut self, index: u32) -> Result<(), TxnError> {
        if let Some(Some(_)) = self.indexes.get(index as usize) {
            return Ok(());
        }
        let Some(info) = self.catalog.indexes[index as usize].clone() else {
            return Err(TxnError::Abort(Abort::CatalogChanged));
        };
        let directory = match &info.storage {
            Secondary::Hash(hash) => index::hash::read_directory(&self.env, hash).await?,
            Secondary::Tree(_) => Directory::default(),
        };
        let nodes = match &info.storage {
            Secondary::Tree(tree) => vec![tree.node],
            Secondary::Hash(_) => self.shared.nodes(info.placed()),
        };
        let pool = Pool::new(info.label, nodes);
        let position = index as usize;
        if self.indexes.len() <= position {
            self.indexes.resize_with(position + 1, || None);
        }
        let opened = LaneIndex { directory, leaves: LeafCache::default(), pool };
        self.indexes[position] = Some(Box::new(opened));
        Ok(())
    }

    /// The index at a position that the catalog is known to hold.
    #[inline]
    pub fn index_info(&self, index: u32) -> &Arc<IndexInfo> {
        self.catalog.indexes[index as usize]
            .as_ref()
            .expect("tables name indexes of the lane's catalog")
    }

    /// The lane's part of a table that [`Self::open_table`] has opened.
    #[inline]
    pub fn lane_table(&mut self, table: u32) -> &mut LaneTable {
        self.tables[table as usize].as_mut().expect("the table was opened when it was first named")
    }

    /// Goes over to a newer catalog; forgets what the lane keeps of tables and indexes that are gone. What it
    /// keeps of others is completed when they are next used.
    pub fn adopt_catalog(&mut self, catalog: Arc<Catalog>) {
        for (position, table) in self.tables.iter_mut().enumerate() {
            if catalog.tables.get(position).is_none_or(Option::is_none) {
                *table = None;
            }
        }
        for (position, index) in self.indexes.iter_mut().enumerate() {
            if catalog.indexes.get(position).is_none_or(Option::is_none) {
                *index = None;
            }
        }
        let (tables, indexes) = (&self.tables, &self.indexes);
        let is_there = |table: usize| tables.get(table).is_some_and(Option::is_some);
        let has_index = |index: u32| indexes.get(index as usize).is_some_and(Option::is_some);
        self.retired
            .retain(|retired| is_there(retired.table()) && retired.index().is_none_or(has_index));
        self.displaced.retain(|displaced| is_there(displaced.table as usize));
        self.catalog = catalog;
    }
}

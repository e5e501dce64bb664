//! A lane's state of the tables and indexes that it has used: directories, leaf caches, and memory
//! pools. The lane makes them when it first uses a table, and drops them with the table.
//!
//! Decision: docs/decisions/0148-a-lane-stores-only-what-it-has-opened.md

use super::LaneInner;
use crate::abort::{Abort, TxnError};
use crate::catalog::{
    Catalog, CatalogError, IndexId, IndexInfo, Primary, Secondary, TableId, TableInfo,
};
use crate::lane::by_server::ByServer;
use crate::write::Owner;
use crate::write::kept::KeptLeaves;
use crate::write::value_pool::ValuePool;
use fabric::Env;
use index::hash::{Directory, HashTable};
use index::tree::{LeafCache, Tree};
use layout::{GlobalPtr, NodeId};
use memory::{Label, Pool, Purpose, SharedPieces};
use std::sync::Arc;

/// A lane's state of a table.
pub(crate) struct LaneTable {
    /// The catalog epoch for which the table's indexes are open.
    pub epoch: u64,
    /// Copy of the hash directory, if the primary key is hashed.
    pub directory: Directory,
    /// Leaf addresses by key, if the table is a tree.
    pub leaves: LeafCache,
    /// Leaves that this lane has written last.
    pub kept: KeptLeaves,
    /// Rows and overflow blocks.
    pub pool: Pool,
    /// Leaves. On the tree's server, because its service reaches no other.
    pub nodes: Pool,
    label: Label,
    shared: Arc<SharedPieces>,
    /// Version buffers.
    buffers: ByServer<Pool>,
    /// Long values.
    values: ByServer<ValuePool>,
}

impl LaneTable {
    /// The pool of version buffers for rows on `server`.
    #[inline]
    pub fn buffers_on(&mut self, server: NodeId) -> &mut Pool {
        let Self { label, shared, buffers, .. } = self;
        buffers.on(server, || {
            Pool::new(*label, vec![server]).sharing(shared.clone(), Purpose::Buffers)
        })
    }

    /// The pool of long values for rows on `server`.
    pub fn values_on(&mut self, server: NodeId) -> &mut ValuePool {
        let Self { label, values, .. } = self;
        values.on(server, || ValuePool::new(*label, server))
    }
}

/// A lane's state of a secondary index.
pub(crate) struct LaneIndex {
    pub directory: Directory,
    pub leaves: LeafCache,
    pub pool: Pool,
}

/// A tree's leaf cache, and the pool for new leaves.
pub(crate) struct LeavesOf<'a> {
    pub cache: &'a mut LeafCache,
    pub pool: &'a mut Pool,
}

/// The lane's catalog, and its state of tables and indexes.
#[derive(Default)]
pub(crate) struct OpenCatalog {
    pub catalog: Arc<Catalog>,
    /// By position in the catalog. A table that the lane has not opened costs one word: lanes of
    /// large clusters open few of many tables.
    pub tables: Vec<Option<Box<LaneTable>>>,
    pub indexes: Vec<Option<Box<LaneIndex>>>,
}

impl OpenCatalog {
    /// A table of the catalog.
    #[inline]
    pub fn info(&self, table: TableId) -> &Arc<TableInfo> {
        self.catalog.tables[table.position()]
            .as_ref()
            .expect("accesses name tables of the lane's catalog")
    }

    /// An index of the catalog.
    #[inline]
    pub fn index_info(&self, index: IndexId) -> &Arc<IndexInfo> {
        self.catalog.indexes[index.position()]
            .as_ref()
            .expect("tables name indexes of the lane's catalog")
    }

    /// The index with this number, if transactions may read it.
    pub fn readable_index(&self, index: IndexId) -> Result<Arc<IndexInfo>, TxnError> {
        let info = self.catalog.index_info(index).filter(|info| info.is_readable).cloned();
        info.ok_or_else(|| CatalogError::NoIndex(format!("number {}", index.0)).into())
    }

    /// Whether the lane has a table's state for the current catalog epoch.
    #[inline]
    pub fn is_open(&self, table: TableId) -> bool {
        matches!(self.tables.get(table.position()), Some(Some(open)) if open.epoch == self.catalog.epoch)
    }

    /// Whether the lane has an index's state. The entries of a dropped index are gone with its
    /// memory.
    pub fn is_index_open(&self, index: IndexId) -> bool {
        let is_known = self.catalog.index_info(index).is_some();
        is_known && self.indexes.get(index.position()).is_some_and(Option::is_some)
    }

    /// The lane's state of an open table.
    #[inline]
    pub fn table(&self, table: TableId) -> &LaneTable {
        self.tables[table.position()].as_ref().expect("a table is opened when it is first named")
    }

    /// Like [`Self::table`], mutable.
    #[inline]
    pub fn table_mut(&mut self, table: TableId) -> &mut LaneTable {
        self.tables[table.position()].as_mut().expect("a table is opened when it is first named")
    }

    /// The lane's state of an open index.
    #[inline]
    pub fn index(&self, index: IndexId) -> &LaneIndex {
        self.indexes[index.position()].as_ref().expect("an index is opened with its table")
    }

    /// Like [`Self::index`], mutable.
    #[inline]
    pub fn index_mut(&mut self, index: IndexId) -> &mut LaneIndex {
        self.indexes[index.position()].as_mut().expect("an index is opened with its table")
    }

    pub fn is_tree(&self, table: TableId) -> bool {
        matches!(self.info(table).primary, Primary::Tree(_))
    }

    /// The table of a table's or index's entries.
    pub fn table_of(&self, owner: Owner) -> TableId {
        match owner {
            Owner::Table(table) => table,
            Owner::Index(index) => self.index_info(index).table,
        }
    }

    /// The hash table of a table or index.
    pub fn hash_table(&self, owner: Owner) -> &HashTable {
        match owner {
            Owner::Table(table) => match &self.info(table).primary {
                Primary::Hash(hash) => hash,
                Primary::Tree(_) => unreachable!("the caller knows that the table is hashed"),
            },
            Owner::Index(index) => match &self.index_info(index).storage {
                Secondary::Hash(hash) => hash,
                Secondary::Tree(_) => unreachable!("the caller knows that the index is hashed"),
            },
        }
    }

    #[inline]
    pub fn tree(&self, owner: Owner) -> Tree {
        match owner {
            Owner::Table(table) => match &self.info(table).primary {
                Primary::Tree(tree) => *tree,
                Primary::Hash(_) => unreachable!("the caller knows that the table is a tree"),
            },
            Owner::Index(index) => match &self.index_info(index).storage {
                Secondary::Tree(tree) => *tree,
                Secondary::Hash(_) => unreachable!("the caller knows that the index is a tree"),
            },
        }
    }

    /// The copy of a hash directory, if its table or index is open.
    pub fn directory(&self, owner: Owner) -> Option<&Directory> {
        match owner {
            Owner::Table(table) => {
                self.tables[table.position()].as_ref().map(|open| &open.directory)
            }
            Owner::Index(index) => {
                self.indexes[index.position()].as_ref().map(|open| &open.directory)
            }
        }
    }

    pub fn set_directory(&mut self, owner: Owner, directory: Directory) {
        match owner {
            Owner::Table(table) => self.table_mut(table).directory = directory,
            Owner::Index(index) => self.index_mut(index).directory = directory,
        }
    }

    /// The leaf cache of a tree.
    #[inline]
    pub fn leaf_cache(&mut self, owner: Owner) -> &mut LeafCache {
        match owner {
            Owner::Table(table) => &mut self.table_mut(table).leaves,
            Owner::Index(index) => &mut self.index_mut(index).leaves,
        }
    }

    /// The pool for overflow blocks of a table or index, if it is open.
    #[inline]
    pub fn blocks_of(&mut self, owner: Owner) -> Option<&mut Pool> {
        match owner {
            Owner::Table(table) => {
                self.tables[table.position()].as_mut().map(|open| &mut open.pool)
            }
            Owner::Index(index) => {
                self.indexes[index.position()].as_mut().map(|open| &mut open.pool)
            }
        }
    }

    /// The leaf cache of a table or index and the pool for new leaves, if it is open.
    #[inline]
    pub fn leaves_of(&mut self, owner: Owner) -> Option<LeavesOf<'_>> {
        match owner {
            Owner::Table(table) => self.tables[table.position()].as_mut().map(|open| {
                let LaneTable { leaves, nodes, .. } = &mut **open;
                LeavesOf { cache: leaves, pool: nodes }
            }),
            Owner::Index(index) => self.indexes[index.position()].as_mut().map(|open| {
                let LaneIndex { leaves, pool, .. } = &mut **open;
                LeavesOf { cache: leaves, pool }
            }),
        }
    }

    /// Evicts a kept leaf that is about to change other than by a commit of this lane.
    pub fn evict_leaf(&mut self, owner: Owner, leaf: GlobalPtr) {
        if let Owner::Table(table) = owner
            && let Some(open) = &mut self.tables[table.position()]
        {
            open.kept.evict(leaf);
        }
    }

    /// Adopts a newer catalog, and closes dropped tables and indexes. The next use of another table
    /// opens its new indexes.
    fn adopt(&mut self, catalog: Arc<Catalog>) {
        debug_assert!(catalog.epoch >= self.catalog.epoch, "catalogs only become newer");
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
        self.catalog = catalog;
    }
}

impl<E: Env> LaneInner<E> {
    /// Opens a table unless it is open.
    #[inline]
    pub async fn open_table(&mut self, table: TableId) -> Result<(), TxnError> {
        if self.open.is_open(table) { Ok(()) } else { self.open_table_slowly(table).await }
    }

    #[cold]
    async fn open_table_slowly(&mut self, table: TableId) -> Result<(), TxnError> {
        let info = self.open.catalog.info(table);
        let Some(info) = info.cloned() else {
            // The snapshot is older than the table, or the table was dropped.
            let newest = self.shared.cached_catalog();
            return match newest.info(table) {
                Some(_) => Err(Abort::CatalogChanged.into()),
                None => Err(CatalogError::NoTable(format!("number {}", table.0)).into()),
            };
        };
        if self.open.catalog.incomplete.contains(&table.0) {
            // An incomplete set of parts must not pass for the whole table.
            let name = info.schema.name();
            return Err(
                CatalogError::NoTable(format!("{name}: other parts of it are missing")).into()
            );
        }
        // All parts of a table are opened together: rows of one part may have their entries in
        // indexes of another.
        let numbers =
            info.parts.as_ref().map_or(std::slice::from_ref(&table.0), |parts| parts.numbers());
        for part in numbers.iter().copied().map(TableId) {
            let info = self.open.info(part).clone();
            self.open_one(part, &info).await?;
        }
        // No part counts as open before all are: the memory server of one may be unreachable.
        for part in numbers.iter().copied().map(TableId) {
            self.open.table_mut(part).epoch = self.open.catalog.epoch;
        }
        Ok(())
    }

    async fn open_one(&mut self, table: TableId, info: &TableInfo) -> Result<(), TxnError> {
        let position = table.position();
        if self.open.tables.len() <= position {
            self.open.tables.resize_with(position + 1, || None);
        }
        if self.open.tables[position].is_none() {
            self.open.tables[position] = Some(Box::new(self.new_lane_table(info).await?));
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
        let shared = self.shared.pieces.clone();
        Ok(LaneTable {
            epoch: 0,
            directory,
            leaves: LeafCache::default(),
            kept: KeptLeaves::default(),
            pool: Pool::new(info.label, nodes).sharing(shared.clone(), Purpose::Rows),
            nodes: Pool::new(info.label, leaf_nodes).sharing(shared.clone(), Purpose::Nodes),
            label: info.label,
            shared,
            buffers: ByServer::new(),
            values: ByServer::new(),
        })
    }

    async fn open_index(&mut self, index: IndexId) -> Result<(), TxnError> {
        if let Some(Some(_)) = self.open.indexes.get(index.position()) {
            return Ok(());
        }
        let Some(info) = self.open.catalog.indexes[index.position()].clone() else {
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
        let pool = pool.sharing(self.shared.pieces.clone(), Purpose::Nodes);
        let position = index.position();
        if self.open.indexes.len() <= position {
            self.open.indexes.resize_with(position + 1, || None);
        }
        let opened = LaneIndex { directory, leaves: LeafCache::default(), pool };
        self.open.indexes[position] = Some(Box::new(opened));
        Ok(())
    }

    /// Adds the tables of a newer catalog that were created since this lane acknowledged its own.
    /// The lane acknowledges nothing: changes of these tables that follow wait for it, too.
    pub fn add_new_tables(&mut self) {
        let newest = self.shared.cached_catalog();
        if newest.epoch > self.open.catalog.epoch {
            self.open.catalog = Arc::new(self.open.catalog.with_new_tables(&newest));
        }
    }

    /// Adopts a newer catalog, and drops the garbage of dropped tables and indexes.
    pub fn adopt_catalog(&mut self, catalog: Arc<Catalog>) {
        self.open.adopt(catalog);
        let OpenCatalog { tables, indexes, .. } = &self.open;
        let is_there = |table: TableId| tables.get(table.position()).is_some_and(Option::is_some);
        let has_index = |index: IndexId| indexes.get(index.position()).is_some_and(Option::is_some);
        self.garbage
            .retired
            .retain(|retired| is_there(retired.table) && retired.index().is_none_or(has_index));
        self.garbage.displaced.retain(|displaced| is_there(displaced.table));
    }
}

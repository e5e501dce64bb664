//! The catalog as a compute server caches it: tables, indexes, and the addresses of their roots
//! [ZB17 §6.1].
//!
//! Read the cached catalog here first, then [`definition`] (the content of its shards), [`part`]
//! (tables in parts), [`change`] (creating and dropping tables and indexes), [`fill`], [`release`],
//! [`check`].

pub(crate) mod change;
pub(crate) mod check;
pub(crate) mod definition;
mod error;
pub(crate) mod fill;
pub mod keeper;
pub(crate) mod part;
pub(crate) mod release;

pub use error::CatalogError;

use crate::catalog::definition::{
    IndexDefinition, IndexState, IndexStorage, TableDefinition, TableStorage,
};
use crate::catalog::part::Parts;
use crate::database::Placed;
use index::hash::HashTable;
use index::tree::Tree;
use layout::row::{BUFFER_SLOTS_MAX, BufferLayout};
use layout::{IndexDesign, Key, PhysicalDesign, RowLayout, Schema, SchemaError};
use memory::Label;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Default maximal number of tables of a database.
pub const TABLES_MAX: usize = 1024;
/// Maximal number of secondary indexes of a table.
pub const INDEXES_MAX: usize = 16;

/// First label of indexes, far above those of tables.
const INDEX_LABELS: u64 = 1 << 32;

/// The label of the memory of the table with this number.
pub(crate) fn table_label(number: u32) -> Label {
    Label(u64::from(number) + 1)
}

/// The label of the memory of the index with this number. It differs from its table's label,
/// because an index can be dropped alone.
pub(crate) fn index_label(number: u32) -> Label {
    Label(INDEX_LABELS + u64::from(number))
}

/// A readable name of a label: `system`, `table 3` or `index 5`, with the number of the [`TableId`]
/// or [`IndexId`].
pub fn label_name(label: Label) -> String {
    match label.0 {
        0 => "system".to_owned(),
        number if number >= INDEX_LABELS => format!("index {}", number - INDEX_LABELS),
        number => format!("table {}", number - 1),
    }
}

/// A table. The id is valid until the table is dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct TableId(pub u32);

impl TableId {
    /// The position in [`Catalog::tables`].
    #[inline(always)]
    pub const fn position(self) -> usize {
        self.0 as usize
    }
}

/// A secondary index. The id is unique over all tables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct IndexId(pub u32);

impl IndexId {
    /// The position in [`Catalog::indexes`].
    #[inline(always)]
    pub const fn position(self) -> usize {
        self.0 as usize
    }
}

/// The specification of a table to be created.
#[derive(Clone, PartialEq, Debug)]
pub struct TableSpec {
    pub schema: Schema,
    pub design: PhysicalDesign,
    pub indexes: Vec<IndexDesign>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableMemory {
    /// The table's name, or "system"; for a table in parts the name of a part.
    pub name: String,
    /// The name of the whole table, which is the name of its first part.
    pub of: String,
    /// The part is a copy with all rows of the table.
    pub is_copy: bool,
    /// Allocated bytes of the table and its indexes: rows, buckets, nodes, old versions, long
    /// values, and free space in their extents.
    pub used_bytes: u64,
}

impl TableMemory {
    /// The sum over all parts of each table, by the table's name.
    pub fn of_whole_tables(parts: Vec<Self>) -> BTreeMap<String, WholeMemory> {
        let mut tables = BTreeMap::<String, WholeMemory>::new();
        for part in parts {
            let table = tables.entry(part.of).or_default();
            table.used_bytes += part.used_bytes;
            match part.is_copy {
                true => table.copies += 1,
                false => table.parts += 1,
            }
        }
        for table in tables.values_mut() {
            (table.parts, table.copies) = (table.parts.max(1), table.copies.max(1));
        }
        tables
    }
}

/// Memory of a table with all its parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WholeMemory {
    /// Allocated bytes of all parts.
    pub used_bytes: u64,
    /// Number of parts with some of the rows each; 1 if the table is not divided.
    pub parts: u32,
    /// Number of copies; 1 if the table is not copied.
    pub copies: u32,
}

/// The storage of a table's rows by primary key.
#[derive(Clone, PartialEq, Debug)]
pub enum Primary {
    /// Rows in the slots of a hash table, or behind pointers in them.
    Hash(HashTable),
    /// Rows behind pointers in the leaves of a tree.
    Tree(Tree),
}

/// A table, with everything precomputed that the data path needs.
#[derive(Clone, PartialEq, Debug)]
pub struct TableInfo {
    /// The label of the table's memory. Unique; never reused.
    pub label: Label,
    pub schema: Arc<Schema>,
    pub design: PhysicalDesign,
    pub row: RowLayout,
    pub buffer: BufferLayout,
    pub primary: Primary,
    pub indexes: Vec<IndexId>,
    /// Some of its columns are stored out of line.
    pub has_long_columns: bool,
    /// It has secondary indexes or long columns.
    pub has_attachments: bool,
    /// All parts of the table, if this is one of several.
    pub parts: Option<Arc<Parts>>,
}

/// The storage of a secondary index's entries.
#[derive(Clone, PartialEq, Debug)]
pub enum Secondary {
    /// Slots of a hash table: the indexed columns select the bucket, the primary key the slot.
    Hash(HashTable),
    /// Entries of a tree: the indexed columns, then those primary key columns that are not among
    /// them.
    Tree(Tree),
}

/// A secondary index, with everything precomputed that the data path needs.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexInfo {
    /// The table of its rows.
    pub table: TableId,
    /// The label of the index's memory. Unique; never reused.
    pub label: Label,
    pub design: IndexDesign,
    /// Bytes of the indexed columns in an entry's key.
    pub column_bytes: u32,
    /// Words of an entry's key: the indexed columns, then those primary key columns that are not
    /// among them.
    pub key_words: u32,
    /// The columns of an entry's key, see [`Schema::index_key`].
    pub key_columns: Vec<usize>,
    /// The ranges of the primary key in an entry's key, see [`Schema::key_in_index`].
    pub primary_ranges: Vec<(u32, u32)>,
    /// The byte ranges (from, to) of the indexed columns in the payload. If no byte in them
    /// changes, the key does not change.
    pub payload_ranges: Vec<(u32, u32)>,
    /// The memory server that has all of it, if only one does.
    pub server: Option<u16>,
    pub storage: Secondary,
    /// Transactions may read it. Before that, they only maintain it.
    pub is_readable: bool,
    /// This index of all parts of its table, if the table is in parts.
    pub parts: Option<Arc<Parts>>,
}

impl TableInfo {
    /// The placement of its rows.
    pub(crate) fn placed(&self) -> Placed {
        Placed { label: self.label, server: self.design.server }
    }

    /// The error for a key with another length than the table's key.
    #[cold]
    pub(crate) fn wrong_key(&self, key: &Key) -> SchemaError {
        wrong_key(format!("table {}", self.schema.name()), self.schema.key_bytes(), key)
    }

    /// The error for a bound with another number of words than the table's key.
    #[cold]
    pub(crate) fn wrong_bound(&self, bound: &Key) -> SchemaError {
        wrong_words(format!("table {}", self.schema.name()), self.row.key_words, bound)
    }
}

impl IndexInfo {
    /// The placement of its entries.
    pub(crate) fn placed(&self) -> Placed {
        Placed { label: self.label, server: self.server }
    }

    /// The error for a key with another length than the indexed columns.
    #[cold]
    pub(crate) fn wrong_key(&self, key: &Key) -> SchemaError {
        wrong_key(format!("index {}", self.design.name), self.column_bytes, key)
    }

    /// The error for a bound with another number of words than an entry's key.
    #[cold]
    pub(crate) fn wrong_bound(&self, bound: &Key) -> SchemaError {
        let owner = format!("index {} with the primary key behind it", self.design.name);
        wrong_words(owner, self.key_words, bound)
    }
}

fn wrong_key(owner: String, expected: u32, key: &Key) -> SchemaError {
    match key.built_bytes() {
        Some(found) if found.div_ceil(8) == expected.div_ceil(8) => {
            SchemaError::KeyBytes { owner, expected, found }
        }
        _ => wrong_words(owner, expected.div_ceil(8), key),
    }
}

fn wrong_words(owner: String, expected: u32, key: &Key) -> SchemaError {
    SchemaError::KeyWords { owner, expected, found: key.words().len() as u32 }
}

/// All tables and indexes of one epoch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Catalog {
    /// The epoch read before the definitions: definitions may be newer, never older.
    pub epoch: u64,
    /// Tables by [`TableId`]; dropped ones leave a hole.
    pub tables: Vec<Option<Arc<TableInfo>>>,
    /// Indexes by [`IndexId`]; dropped ones leave a hole.
    pub indexes: Vec<Option<Arc<IndexInfo>>>,
    names: BTreeMap<String, u32>,
    /// Parts of tables whose other parts are missing: they are being created or dropped, or that
    /// was interrupted.
    pub(crate) incomplete: BTreeSet<u32>,
    /// Some table has parts that are copies.
    pub(crate) has_copies: bool,
}

impl Catalog {
    /// Builds the cache from the definitions in the catalog's shards. `nearest` is the position of
    /// the memory server that is nearest to this compute server.
    pub fn build<'a>(
        epoch: u64,
        definitions: impl IntoIterator<Item = &'a TableDefinition> + Clone,
        checksummed: bool,
        nearest: u16,
    ) -> Result<Self, CatalogError> {
        let mut catalog = Self { epoch, ..Self::default() };
        for definition in definitions.clone() {
            catalog.add(definition, checksummed)?;
        }
        catalog.join_parts(definitions.into_iter(), nearest)?;
        Ok(catalog)
    }

    fn add(&mut self, definition: &TableDefinition, checksummed: bool) -> Result<(), CatalogError> {
        let schema = definition.schema()?;
        let row = schema.row_layout(checksummed);
        let design = definition.design.clone();
        let number = definition.number as usize;
        let indexes = definition.indexes.iter().map(|index| IndexId(index.number)).collect();
        for index in &definition.indexes {
            self.add_index(definition, &schema, index, checksummed);
        }
        let primary = match &definition.storage {
            TableStorage::Hash(hash) => Primary::Hash(hash.table(&schema, &design, row)),
            TableStorage::Tree(tree) => Primary::Tree(tree.tree(row.key_words, checksummed)),
        };
        let info = TableInfo {
            label: table_label(definition.number),
            buffer: BufferLayout { row, slots: design.versions_beside },
            has_long_columns: !schema.long_columns().is_empty(),
            has_attachments: !definition.indexes.is_empty() || !schema.long_columns().is_empty(),
            schema: Arc::new(schema),
            design,
            row,
            primary,
            indexes,
            parts: None,
        };
        if self.tables.len() <= number {
            self.tables.resize(number + 1, None);
        }
        self.tables[number] = Some(Arc::new(info));
        self.names.insert(definition.name.clone(), definition.number);
        Ok(())
    }

    fn add_index(
        &mut self,
        definition: &TableDefinition,
        schema: &Schema,
        index: &IndexDefinition,
        checksummed: bool,
    ) {
        let columns = index.design.columns.iter();
        let column_bytes = columns.map(|&column| schema.key_part_bytes(column)).sum();
        let key_words = schema.index_key_words(&index.design.columns);
        let storage = match &index.storage {
            IndexStorage::Hash(hash) => Secondary::Hash(hash.entries(key_words, column_bytes)),
            IndexStorage::Tree(tree) => Secondary::Tree(tree.tree(key_words, checksummed)),
        };
        let info = IndexInfo {
            table: TableId(definition.number),
            label: index_label(index.number),
            design: index.design.clone(),
            column_bytes,
            key_words,
            key_columns: schema.index_key(&index.design.columns).collect(),
            primary_ranges: schema.key_in_index(&index.design.columns),
            payload_ranges: schema.payload_ranges(&index.design.columns),
            server: definition.design.server,
            storage,
            is_readable: index.state == IndexState::Readable,
            parts: None,
        };
        let number = index.number as usize;
        if self.indexes.len() <= number {
            self.indexes.resize(number + 1, None);
        }
        self.indexes[number] = Some(Arc::new(info));
    }

    /// This catalog with the tables of a newer one that it lacks, and with their indexes. Tables
    /// that it has stay as they are, and so does its epoch. Tables in parts are left out.
    ///
    /// A number never has another table, so a hole with a table in the newer catalog is a table
    /// that was created since.
    pub(crate) fn with_new_tables(&self, newer: &Self) -> Self {
        let mut catalog = self.clone();
        catalog.tables.resize(self.tables.len().max(newer.tables.len()), None);
        catalog.indexes.resize(self.indexes.len().max(newer.indexes.len()), None);
        for (name, &number) in &newer.names {
            let at = number as usize;
            let Some(info) = newer.tables[at].as_ref().filter(|info| info.parts.is_none()) else {
                continue;
            };
            if catalog.tables[at].is_some() || newer.incomplete.contains(&number) {
                continue;
            }
            for index in &info.indexes {
                let at = index.position();
                catalog.indexes[at].clone_from(&newer.indexes[at]);
            }
            catalog.tables[at] = Some(info.clone());
            catalog.names.insert(name.clone(), number);
        }
        catalog
    }

    /// The table called `name`; a table in parts only if all parts exist.
    pub fn table(&self, name: &str) -> Option<TableId> {
        let number = self.names.get(name).filter(|number| !self.incomplete.contains(number))?;
        Some(TableId(*number))
    }

    /// The index called `index` of the table called `table`.
    pub fn index(&self, table: &str, index: &str) -> Option<IndexId> {
        let table = self.info(self.table(table)?)?;
        let named = |&&number: &&IndexId| {
            self.index_info(number).is_some_and(|info| info.design.name == index)
        };
        table.indexes.iter().find(named).copied()
    }

    #[inline]
    pub fn info(&self, table: TableId) -> Option<&Arc<TableInfo>> {
        self.tables.get(table.0 as usize)?.as_ref()
    }

    #[inline]
    pub fn index_info(&self, index: IndexId) -> Option<&Arc<IndexInfo>> {
        self.indexes.get(index.0 as usize)?.as_ref()
    }

    /// The name of the whole table whose part is called `name`; `name` itself if it is not a part.
    pub fn whole_name<'a>(&'a self, name: &'a str) -> &'a str {
        let info = self.names.get(name).and_then(|&number| self.info(TableId(number)));
        info.and_then(|info| info.design.part.as_ref()).map_or(name, |part| &part.of)
    }

    /// Names and numbers of all tables; for a table in parts, those of each part.
    pub fn names(&self) -> impl Iterator<Item = (&str, TableId)> {
        self.names.iter().map(|(name, &number)| (name.as_str(), TableId(number)))
    }
}

/// Allowed sizes of a node of a tree.
const NODE_BYTES: std::ops::RangeInclusive<u32> = 64..=16 * 1024;

fn node_bytes_refused(node_bytes: u32) -> String {
    let (least, most) = NODE_BYTES.into_inner();
    format!("node_bytes is {node_bytes}; {least} to {most} is allowed")
}

/// Refuses designs that cannot be laid out.
pub fn check_design(spec: &TableSpec, servers: usize) -> Result<(), CatalogError> {
    let design = &spec.design;
    let refuse =
        |reason: String| Err(CatalogError::Design { table: spec.schema.name().to_owned(), reason });
    if !(1..=layout::bucket::SLOTS_MAX).contains(&design.neighbourhood) {
        return refuse(format!("neighbourhood is {}; 1 to 32 is allowed", design.neighbourhood));
    }
    if let Some(server) = design.server.filter(|&server| usize::from(server) >= servers) {
        return refuse(format!("server is {server}; there are {servers}, counted from 0"));
    }
    if !(1..=BUFFER_SLOTS_MAX).contains(&design.versions_beside) {
        return refuse(format!("versions_beside is {}; 1 to 8 is allowed", design.versions_beside));
    }
    if !NODE_BYTES.contains(&design.node_bytes) {
        return refuse(node_bytes_refused(design.node_bytes));
    }
    match &design.placement {
        layout::Placement::Hashed { load_percent } if !(1..=100).contains(load_percent) => {
            return refuse(format!("load_percent is {load_percent}; 1 to 100 is allowed"));
        }
        layout::Placement::Dense { columns } if columns.len() != spec.schema.key().len() => {
            return refuse("a dense placement describes every column of the key".to_owned());
        }
        layout::Placement::Dense { columns } if columns.iter().any(|&(_, count)| count == 0) => {
            return refuse("a dense placement gives every column at least one value".to_owned());
        }
        _ => {}
    }
    if let layout::Placement::Dense { .. } = design.placement {
        let is_integer = |&column: &usize| {
            let column = &spec.schema.columns()[column];
            let kind = column.column_type;
            let float = matches!(kind, layout::ColumnType::Float8 | layout::ColumnType::Bool);
            kind.fixed_bytes().is_some() && !column.nullable && !float
        };
        if !spec.schema.key().iter().all(is_integer) {
            return refuse(
                "a dense placement needs a key of integer columns that are never null".to_owned(),
            );
        }
    }
    if spec.indexes.len() > INDEXES_MAX {
        return Err(CatalogError::Limit(format!(
            "a table has at most {INDEXES_MAX} secondary indexes"
        )));
    }
    spec.indexes.iter().try_for_each(|index| check_index(&spec.schema, index))
}

/// Refuses indexes that cannot be laid out.
pub fn check_index(schema: &Schema, index: &IndexDesign) -> Result<(), CatalogError> {
    layout::schema::check_name("an index", &index.name)?;
    let table = schema.name().to_owned();
    let refuse = |reason: String| {
        let reason = format!("index {}: {reason}", index.name);
        Err(CatalogError::Design { table: table.clone(), reason })
    };
    let count = schema.columns().len();
    if index.columns.is_empty() {
        return refuse("it names no column".to_owned());
    }
    if let Some(column) = index.columns.iter().find(|&&column| column >= count) {
        return refuse(format!("it names column {column}, and the last one is {}", count - 1));
    }
    if index.hashed_columns.is_some_and(|hashed| usize::from(hashed) > index.columns.len()) {
        return refuse("it is divided by the hash of more columns than it has".to_owned());
    }
    let long = |&&column: &&usize| schema.long_columns().contains(&column);
    let bytes = schema.index_key_bytes(&index.columns);
    if let Some(&column) = index.columns.iter().find(long) {
        let described = &schema.columns()[column];
        let name = &described.name;
        match described.room() {
            None => {
                return refuse(format!("column {name} is kept out of line, and cannot be indexed"));
            }
            Some(room) if bytes <= layout::KEY_WORDS_MAX as u32 * 8 => {
                return refuse(format!(
                    "column {name} may be out of line, and cannot be indexed; create it without in_row, which is {room}"
                ));
            }
            Some(_) => {} // Its maximal length is too long for a key, which says more.
        }
    }
    if index.kind == layout::IndexKind::Tree && !NODE_BYTES.contains(&index.node_bytes) {
        return refuse(node_bytes_refused(index.node_bytes));
    }
    if bytes > layout::KEY_WORDS_MAX as u32 * 8 {
        return Err(SchemaError::KeyTooLong { table, bytes }.into());
    }
    Ok(())
}

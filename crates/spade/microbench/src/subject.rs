//! The measured table.

use fabric::Env;
use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, PhysicalDesign, Placement,
    RecordMut, Schema, Storage,
};
use spade_format::measurement::{AccessPath, Parameters};
use std::ops::Range;
use txn::{Database, IndexId, Isolation, Lane, TableId, TableSpec};
use workload::loading::{chunks, insert};
use workload::{TransactionResult, WorkloadError, attempts};

/// Bytes per column, including the primary key.
const COLUMN_BYTES: u32 = 8;
/// The column that updates write: the first one after the key.
pub const FIELD: usize = 1;
/// The column of secondary indexes.
pub const ALIAS: usize = 2;
/// A row's alias is larger than its key by this, so that the two cannot be mistaken for each other.
const ALIAS_OFFSET: i64 = 1 << 50;
/// Rows per transaction of the load.
const BATCH: u64 = 64;
const INDEX: &str = "alias";

/// A table of one design, wherever it is stored.
///
/// Its keys are in ranges of [`Subject::RANGE`] keys. The first keys of each range are loaded; a
/// lane that inserts has a range of its own, and uses its other keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    storage: Storage,
    path: AccessPath,
    row_bytes: u32,
    neighbourhood: u32,
    load_percent: u32,
    node_bytes: u32,
    versions_beside: u32,
    keeps_versions: bool,
    pub ranges: u64,
    /// Rows that are loaded into each range.
    pub rows_each: u64,
}

/// The ids of a subject's table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    pub id: TableId,
    /// Its secondary index, if it has one.
    pub index: Option<IndexId>,
}

impl Table {
    /// Finds the table called `name` in a database's cached catalog.
    ///
    /// # Errors
    /// The table does not exist, or was not created by a subject.
    pub fn open<E: Env>(database: &Database<E>, name: &str) -> Result<Self, WorkloadError> {
        let id = database.table(name).ok_or(WorkloadError::NoTable("of the measurement"))?;
        let schema = database.schema(id).ok_or(WorkloadError::NoTable("of the measurement"))?;
        let is_subject = schema.key() == [0]
            && schema.columns().iter().all(|column| column.column_type == ColumnType::Int8);
        if !is_subject {
            return Err(WorkloadError::Configuration(format!(
                "table {name} was not created by a measurement: its columns differ"
            )));
        }
        Ok(Self { id, index: database.index(name, INDEX) })
    }
}

impl Subject {
    /// Keys per range.
    pub const RANGE: i64 = 1 << 32;

    /// Returns the table of a point, with this many ranges of keys and rows in each.
    pub fn of(parameters: &Parameters, ranges: u64, rows_each: u64) -> Self {
        let Parameters { storage, path, row_bytes, .. } = *parameters;
        let Parameters { neighbourhood, load_percent, node_bytes, versions, .. } = *parameters;
        let usual = PhysicalDesign::default().versions_beside;
        let (versions_beside, keeps_versions) =
            versions.map_or((usual, true), |of| (of.beside, of.keeps));
        Self {
            storage,
            path,
            row_bytes,
            neighbourhood,
            load_percent,
            node_bytes,
            versions_beside,
            keeps_versions,
            ranges,
            rows_each,
        }
    }

    pub fn rows(&self) -> u64 {
        self.ranges * self.rows_each
    }

    /// Number of rows that the table is planned for: a third more than are loaded, as room for
    /// inserts.
    fn planned_rows(&self) -> u64 {
        self.rows() * 4 / 3
    }

    /// Returns the key of loaded row `number`, in key order.
    pub fn loaded_key(&self, number: u64) -> i64 {
        debug_assert!(number < self.rows());
        (number / self.rows_each) as i64 * Self::RANGE + (number % self.rows_each) as i64
    }

    /// Returns the first key of a range that is not loaded.
    pub fn free_key(&self, range: u64) -> i64 {
        range as i64 * Self::RANGE + self.rows_each as i64
    }

    /// Returns the approximate size of the loaded table in bytes, with old versions and room to
    /// grow.
    pub fn memory_bytes(&self) -> u64 {
        const AROUND_A_ROW: u64 = 128;
        let copies = 1 + u64::from(self.versions_beside);
        copies * self.rows() * (u64::from(self.row_bytes) + AROUND_A_ROW)
    }

    /// Whether rows are found through a tree.
    pub fn has_tree(&self) -> bool {
        self.storage == Storage::Tree || self.path == AccessPath::SecondaryTree
    }

    fn has_index(&self) -> bool {
        self.path != AccessPath::Primary
    }

    /// Returns its columns and design. With a `server`, the whole table is stored there.
    ///
    /// # Errors
    /// The row is too short for the columns that the path needs, or too long.
    pub fn spec(&self, name: &str, server: Option<u16>) -> Result<TableSpec, WorkloadError> {
        let columns = self.row_bytes / COLUMN_BYTES;
        let needed = if self.has_index() { ALIAS as u32 } else { FIELD as u32 };
        if !self.row_bytes.is_multiple_of(COLUMN_BYTES) || columns < needed {
            return Err(WorkloadError::Configuration(format!(
                "a row of {} bytes cannot be measured: rows consist of at least {needed} columns of {COLUMN_BYTES} bytes",
                self.row_bytes
            )));
        }
        let column = |number: u32| {
            let name = match number as usize {
                0 => "id".to_owned(),
                FIELD => "field".to_owned(),
                ALIAS if self.has_index() => INDEX.to_owned(),
                _ => format!("filler_{number}"),
            };
            Column::new(&name, ColumnType::Int8)
        };
        let schema = Schema::new(name, (0..=columns).map(column).collect(), &[0])?;
        let design = PhysicalDesign {
            storage: self.storage,
            server,
            size_hint: self.planned_rows(),
            versions_beside: self.versions_beside,
            keeps_versions: self.keeps_versions,
            ..self.design()
        };
        let indexes = self.index_kind().map(|kind| IndexDesign {
            name: INDEX.to_owned(),
            columns: vec![ALIAS],
            unique: true,
            kind,
            size_hint: self.planned_rows(),
            ..self.index_design()
        });
        Ok(TableSpec { schema, design, indexes: indexes.into_iter().collect() })
    }

    fn index_kind(&self) -> Option<IndexKind> {
        match self.path {
            AccessPath::Primary => None,
            AccessPath::SecondaryHash => Some(IndexKind::Hash),
            AccessPath::SecondaryTree => Some(IndexKind::Tree),
        }
    }

    /// Returns the physical design of the parameters. Parameters that do not apply are 0; the
    /// design then has its default.
    fn design(&self) -> PhysicalDesign {
        let usual = PhysicalDesign::default();
        if self.storage == Storage::Tree {
            return PhysicalDesign { node_bytes: self.node_bytes, ..usual };
        }
        let placement = Placement::Hashed { load_percent: self.load_percent };
        PhysicalDesign { neighbourhood: self.neighbourhood, placement, ..usual }
    }

    fn index_design(&self) -> IndexDesign {
        let usual = IndexDesign::default();
        match self.path {
            AccessPath::SecondaryTree => IndexDesign { node_bytes: self.node_bytes, ..usual },
            _ => usual,
        }
    }

    /// Inserts the rows of some ranges, and updates each once if `is_updated`, so that memory for
    /// old versions is allocated, as after a while of use.
    ///
    /// # Errors
    /// A memory server is full or unreachable.
    pub async fn load<E: Env>(
        &self,
        lane: &mut Lane<E>,
        table: Table,
        ranges: Range<u64>,
        is_updated: bool,
    ) -> Result<(), WorkloadError> {
        let rows = ranges.start * self.rows_each..ranges.end * self.rows_each;
        for chunk in chunks(rows, BATCH) {
            let keys: Vec<_> =
                chunk.clone().map(|number| (table.id, key(self.loaded_key(number)))).collect();
            let fill = &mut |index: usize, record: &mut RecordMut<'_>| {
                fill(record, self.loaded_key(chunk.start + index as u64), table.index.is_some());
            };
            insert(lane, &keys, fill).await?;
            if is_updated {
                attempts::insist(lane, async |lane| write_again(lane, &keys).await).await?;
            }
        }
        Ok(())
    }
}

async fn write_again<E: Env>(
    lane: &mut Lane<E>,
    keys: &[(TableId, Key)],
) -> Result<TransactionResult, WorkloadError> {
    let mut transaction = lane.begin(Isolation::Snapshot).await?;
    let mut found = Vec::new();
    transaction.read_many(keys, &mut found).await?;
    for row in found.into_iter().flatten() {
        transaction.update(row).set_int(FIELD, 1);
    }
    Ok(attempts::result_of(transaction.commit().await))
}

pub fn key(row: i64) -> Key {
    KeyBuilder::new().int8(row).key()
}

/// Returns the indexed value of a row.
pub fn alias(row: i64) -> i64 {
    row.wrapping_add(ALIAS_OFFSET)
}

/// Writes the columns of an inserted row.
pub fn fill(record: &mut RecordMut<'_>, row: i64, has_index: bool) {
    record.set_int(FIELD, row);
    if has_index {
        record.set_int(ALIAS, alias(row));
    }
}

//! The table that operations work on.

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

/// Bytes of each column, the primary key among them.
const COLUMN_BYTES: u32 = 8;
/// The column that updates write: the first behind the key.
pub const FIELD: usize = 1;
/// The column that secondary indexes are over.
pub const ALIAS: usize = 2;
/// What a row's alias is larger by than its key, so that none passes for the other.
const ALIAS_OFFSET: i64 = 1 << 50;
/// Rows that a transaction of the load inserts or updates.
const BATCH: u64 = 64;
/// The name of the secondary index.
const INDEX: &str = "alias";

/// A table of one design, apart from where it is.
///
/// Its keys are in ranges of [`Subject::RANGE`] keys. The first of each range are loaded; a lane that inserts takes the
/// others of one that is its own.
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
    /// Ranges of keys.
    pub ranges: u64,
    /// Rows that are loaded into each.
    pub rows_each: u64,
}

/// A subject's table as a lane names it.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The table.
    pub id: TableId,
    /// Its secondary index, if it has one.
    pub index: Option<IndexId>,
}

impl Table {
    /// The table called `name` of a database whose catalog is known.
    ///
    /// # Errors
    /// It is not there, or is no subject's.
    pub fn open<E: Env>(database: &Database<E>, name: &str) -> Result<Self, WorkloadError> {
        let id = database.table(name).ok_or(WorkloadError::NoTable("of the measurement"))?;
        let schema = database.schema(id).ok_or(WorkloadError::NoTable("of the measurement"))?;
        let is_subject = schema.key() == [0]
            && schema.columns().iter().all(|column| column.column_type == ColumnType::Int8);
        if !is_subject {
            return Err(WorkloadError::Configuration(format!(
                "table {name} was not made for a measurement: its columns are others"
            )));
        }
        Ok(Self { id, index: database.index(name, INDEX) })
    }
}

impl Subject {
    /// Keys of a range.
    pub const RANGE: i64 = 1 << 32;

    /// The table that a point is about, with so many ranges of keys and rows in each.
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

    /// Rows that are loaded.
    pub fn rows(&self) -> u64 {
        self.ranges * self.rows_each
    }

    /// Rows that it is planned for: a third more than are loaded, which is the room that inserts take.
    fn planned_rows(&self) -> u64 {
        self.rows() * 4 / 3
    }

    /// The key of loaded row `number`, counted from the smallest.
    pub fn loaded_key(&self, number: u64) -> i64 {
        debug_assert!(number < self.rows());
        (number / self.rows_each) as i64 * Self::RANGE + (number % self.rows_each) as i64
    }

    /// The first key of a range that is not loaded.
    pub fn free_key(&self, range: u64) -> i64 {
        range as i64 * Self::RANGE + self.rows_each as i64
    }

    /// Bytes that the table takes when it is loaded, roughly, with old versions and room to grow.
    pub fn memory_bytes(&self) -> u64 {
        const AROUND_A_ROW: u64 = 128;
        let copies = 1 + u64::from(self.versions_beside);
        copies * self.rows() * (u64::from(self.row_bytes) + AROUND_A_ROW)
    }

    /// Whether leaves lead to its rows.
    pub fn has_tree(&self) -> bool {
        self.storage == Storage::Tree || self.path == AccessPath::SecondaryTree
    }

    fn has_index(&self) -> bool {
        self.path != AccessPath::Primary
    }

    /// Its columns and design. With a `server`, all of it is there.
    ///
    /// # Errors
    /// The row has no room for the columns that the path needs, or is too long.
    pub fn spec(&self, name: &str, server: Option<u16>) -> Result<TableSpec, WorkloadError> {
        let columns = self.row_bytes / COLUMN_BYTES;
        let needed = if self.has_index() { ALIAS as u32 } else { FIELD as u32 };
        if !self.row_bytes.is_multiple_of(COLUMN_BYTES) || columns < needed {
            return Err(WorkloadError::Configuration(format!(
                "a row of {} bytes cannot be measured: it has columns of {COLUMN_BYTES} bytes, and {needed} at least",
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

    /// What parameters say of it; those that do not count are 0 there, and as by default here.
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

    /// Inserts the rows of some ranges, and writes each once more if `is_updated`: its memory for an old version is then
    /// there, as after a while of use.
    ///
    /// # Errors
    /// The memory servers are full, or cannot be reached.
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

/// A primary key.
pub fn key(row: i64) -> Key {
    KeyBuilder::new().int8(row).key()
}

/// What the secondary index has for a row.
pub fn alias(row: i64) -> i64 {
    row.wrapping_add(ALIAS_OFFSET)
}

/// Fills a row that was inserted.
pub fn fill(record: &mut RecordMut<'_>, row: i64, has_index: bool) {
    record.set_int(FIELD, row);
    if has_index {
        record.set_int(ALIAS, alias(row));
    }
}

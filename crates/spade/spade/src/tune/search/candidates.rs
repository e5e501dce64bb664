//! Storage options of a table and its indexes, and the memory that each takes.

use crate::tune::cost::chains::grown;
use crate::tune::cost::surface::Surface;
use crate::tune::workload::profile::{Kind, Profile};
use layout::bucket::BucketLayout;
use layout::leaf::LeafLayout;
use layout::row::{BufferLayout, RowLayout};
use layout::{ColumnType, IndexKind, Storage};
use sql::load::{Distribution, Draw, Expectation, Literal};
use sql::{Load, Table};

/// Bucket sizes that are always tried. Larger ones are tried if they were measured.
const SLOTS: [u32; 4] = [1, 2, 4, 8];
/// Planned loads to try, in percent.
const LOADS: [u32; 3] = [40, 65, 90];
/// Node sizes to try, in bytes.
const NODES: [u32; 5] = [256, 512, 1024, 2048, 4096];
/// The default node size.
const USUAL_NODE: u32 = 512;
/// Bucket size and planned load of a hash index.
const INDEX_SLOTS: u32 = 8;
const INDEX_LOAD: u32 = 65;
const LINE_BYTES: u64 = 64;
/// Planned number of segments of a hash table, and the minimal number of buckets per segment.
const SEGMENTS_PLANNED: f64 = 64.0;
const SEGMENT_MIN: f64 = 16.0;
/// Bytes of a page, and of the directory of segments.
const PAGE_BYTES: f64 = 4096.0;
const ROOT_BYTES: f64 = 9.0 * PAGE_BYTES;
/// Average share of used entries in a leaf.
const LEAF_FILL: f64 = 0.7;
/// Dense placement requires that at least this share of the key range is used.
const DENSE_FILL_MIN: f64 = 0.5;
/// Maximal number of rows per value in a hash index. Rows beyond that form long chains, which each
/// change of an entry walks through.
const EQUAL_ROWS_MAX: u64 = 32;
/// Maximal number of columns over which the origin of a value is traced.
const STEPS_MAX: u32 = 8;
/// Default number of old versions beside a row.
pub const VERSIONS_BESIDE: u32 = 1;

/// Storage of a table's rows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RowStorage {
    pub storage: Storage,
    /// Slots of a bucket; 0 for trees.
    pub slots: u32,
    pub placing: KeyPlacement,
    /// Bytes of a node; 0 for hash tables.
    pub node_bytes: u32,
}

/// How a key selects its bucket.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KeyPlacement {
    /// By hash, with this planned load in percent.
    Hashed(u32),
    /// By position in the ranges of the key columns: smallest value and number of values.
    Dense(Vec<(i64, u64)>),
    /// Trees: in key order.
    Ordered,
}

/// Storage of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexStorage {
    pub kind: IndexKind,
    /// Bytes of a node; 0 for hash indexes.
    pub node_bytes: u32,
}

/// Sizes and statistics of a table, on which its storage options depend.
#[derive(Clone, PartialEq, Debug)]
pub struct TableShape {
    pub row: RowLayout,
    pub rows: u64,
    /// Whether a procedure updates rows.
    pub is_updated: bool,
    /// Key words of each index, including the primary key columns behind its own.
    pub index_words: Vec<u32>,
    /// Measured bucket sizes beyond the usual ones.
    pub many_slots: Vec<u32>,
    /// The ranges of the key columns for dense placement, or the reason against it.
    pub dense: Result<Vec<(i64, u64)>, String>,
    /// The statement that scans a range of the primary key, if any.
    pub ranges: Option<String>,
    /// For each index, the statement that scans a range of it, if any.
    pub index_ranges: Vec<Option<String>>,
    /// For each index, the minimal average number of rows per value. `None` if the load does not
    /// define it.
    pub equal_rows: Vec<Option<u64>>,
}

impl TableShape {
    /// Collects the statistics of a table.
    pub fn new(
        table: &Table,
        number: usize,
        rows: u64,
        profiles: &[Profile],
        (load, units): (&Load, u64),
        surface: &Surface,
        checksummed: bool,
    ) -> Self {
        let requests =
            || profiles.iter().flat_map(|of| of.requests.iter().map(move |request| (of, request)));
        let own = || requests().filter(|(_, request)| request.table == number);
        let ranges = |wanted: Option<usize>| {
            let found = own().find(|(_, request)| request.kind == Kind::Scan(wanted));
            found.map(|(of, request)| format!("{}:{}", of.name, request.statement))
        };
        let has = |kind: Kind| own().any(|(_, request)| request.kind == kind);
        let dense = dense_box(table, load, units).and_then(|columns| {
            let places = columns.iter().map(|(_, count)| *count as f64).product::<f64>();
            let fill = rows as f64 / places.max(1.0);
            match (has(Kind::Insert), fill < DENSE_FILL_MIN) {
                (true, _) => Err("inserted rows have keys outside any fixed range".to_owned()),
                (_, true) => Err(format!("its keys fill {:.0} % of their range", 100.0 * fill)),
                _ => Ok(columns),
            }
        });
        let index_words = table.indexes.iter();
        Self {
            row: table.schema.row_layout(checksummed),
            rows: rows.max(1),
            is_updated: has(Kind::Update),
            index_words: index_words.map(|of| table.schema.index_key_words(&of.columns)).collect(),
            many_slots: surface.slots().into_iter().filter(|of| *of > INDEX_SLOTS).collect(),
            dense,
            ranges: ranges(None),
            index_ranges: (0..table.indexes.len()).map(|index| ranges(Some(index))).collect(),
            equal_rows: table
                .indexes
                .iter()
                .map(|index| Some(rows / value_count(table, &index.columns, (load, units))?))
                .collect(),
        }
    }

    /// Bytes of a row beside a key of 8 bytes, as in the measurements.
    pub fn row_bytes(&self) -> f64 {
        f64::from(8 * (self.row.payload_words + self.row.key_words).saturating_sub(1))
    }

    /// All storage options of the rows; each with the reason if it is not possible.
    pub fn choices(&self) -> Vec<(RowStorage, Option<String>)> {
        let ordered = self
            .ranges
            .as_ref()
            .map(|who| format!("{who} scans a range of the primary key, which needs a tree"));
        let mut all = Vec::new();
        for storage in [Storage::HashInlined, Storage::HashOutside] {
            let choice = |slots, placing| RowStorage { storage, slots, placing, node_bytes: 0 };
            for slots in SLOTS {
                for load in LOADS {
                    all.push((choice(slots, KeyPlacement::Hashed(load)), ordered.clone()));
                }
                let (columns, why) = match &self.dense {
                    Ok(columns) => (columns.clone(), None),
                    Err(why) => (Vec::new(), Some(why.clone())),
                };
                all.push((choice(slots, KeyPlacement::Dense(columns)), ordered.clone().or(why)));
            }
            // Without chains, a larger bucket is only more bytes to read.
            for &slots in &self.many_slots {
                for load in LOADS {
                    all.push((choice(slots, KeyPlacement::Hashed(load)), ordered.clone()));
                }
            }
        }
        let tree = |node_bytes| {
            let (storage, placing) = (Storage::Tree, KeyPlacement::Ordered);
            (RowStorage { storage, slots: 0, placing, node_bytes }, None)
        };
        all.extend(NODES.map(tree));
        all
    }

    /// All storage options of an index; each with the reason if it is not possible.
    pub fn index_choices(&self, index: usize) -> Vec<(IndexStorage, Option<String>)> {
        let hash = IndexStorage { kind: IndexKind::Hash, node_bytes: 0 };
        let mut all = vec![(hash, self.unhashed(index))];
        let tree = |node_bytes| (IndexStorage { kind: IndexKind::Tree, node_bytes }, None);
        all.extend(NODES.map(tree));
        all
    }

    /// The reason why an index must be a tree, if any.
    pub fn unhashed(&self, index: usize) -> Option<String> {
        let ordered = self.index_ranges[index].as_ref();
        let equal = self.equal_rows[index].filter(|rows| *rows > EQUAL_ROWS_MAX);
        ordered.map(|who| format!("{who} scans a range of it")).or_else(|| {
            equal.map(|rows| {
                format!("each value has {rows} rows, which would form long bucket chains")
            })
        })
    }

    /// The default storage: hashed and inlined with eight slots, or a tree if a statement needs
    /// order.
    pub fn usual(&self) -> RowStorage {
        match self.ranges {
            Some(_) => RowStorage {
                storage: Storage::Tree,
                slots: 0,
                placing: KeyPlacement::Ordered,
                node_bytes: USUAL_NODE,
            },
            None => RowStorage {
                storage: Storage::HashInlined,
                slots: INDEX_SLOTS,
                placing: KeyPlacement::Hashed(INDEX_LOAD),
                node_bytes: 0,
            },
        }
    }

    /// The default storage of an index.
    pub fn usual_index(&self, index: usize, declared: IndexKind) -> IndexStorage {
        match (self.unhashed(index), declared) {
            (None, IndexKind::Hash) => IndexStorage { kind: IndexKind::Hash, node_bytes: 0 },
            _ => IndexStorage { kind: IndexKind::Tree, node_bytes: USUAL_NODE },
        }
    }

    /// Bytes of all rows without structures.
    pub fn row_sum(&self) -> u64 {
        self.rows.saturating_mul(self.row.bytes())
    }

    /// Bytes of one copy of the rows with their structure.
    pub fn bytes(&self, choice: &RowStorage) -> u64 {
        let (row, rows) = (self.row, self.rows as f64);
        let outside = rows * row.bytes() as f64;
        let bytes = match (choice.storage, &choice.placing) {
            (Storage::Tree, _) => {
                outside + leaves(choice.node_bytes, row.key_words, row.checksummed, rows)
            }
            (storage, placing) => {
                let bucket = match storage {
                    Storage::HashInlined => BucketLayout::inlined(choice.slots, row),
                    _ => BucketLayout::outside(choice.slots, row.key_words),
                };
                let rest = if storage == Storage::HashInlined { 0.0 } else { outside };
                rest + match placing {
                    KeyPlacement::Dense(columns) => {
                        let places = columns.iter().map(|(_, count)| *count as f64);
                        let count = places.product::<f64>() / f64::from(choice.slots);
                        made(libm::ceil(count), libm::ceil(count), &bucket)
                    }
                    KeyPlacement::Hashed(load) => buckets(&bucket, *load, rows),
                    KeyPlacement::Ordered => 0.0,
                }
            }
        };
        bytes as u64
    }

    /// Bytes of version buffers with `slots` slots for `rows` rows; 0 if no procedure updates the
    /// table.
    pub fn version_bytes(&self, slots: u32, rows: u64) -> u64 {
        if !self.is_updated {
            return 0;
        }
        let words = u64::from(BufferLayout { row: self.row, slots }.words());
        rows.min(self.rows).saturating_mul(8 * words)
    }

    /// Average entries of a leaf of the rows or of an index; `None` if it is hashed.
    pub fn leaf_rows(
        &self,
        choice: &RowStorage,
        index: Option<(usize, IndexStorage)>,
    ) -> Option<f64> {
        let (is_tree, node_bytes, words) = match index {
            Some((at, of)) => (of.kind == IndexKind::Tree, of.node_bytes, self.index_words[at]),
            None => (choice.storage == Storage::Tree, choice.node_bytes, self.row.key_words),
        };
        let leaf = || LeafLayout::within(node_bytes, words, 1, self.row.checksummed);
        is_tree.then(|| leaf_rows(&leaf()))
    }

    pub fn buckets(&self, choice: &RowStorage, index: Option<(usize, IndexStorage)>) -> f64 {
        let (slots, load) = match (index, &choice.placing) {
            (None, KeyPlacement::Hashed(load)) => (choice.slots, *load),
            (None, _) => (choice.slots, 100),
            (Some(_), _) => (INDEX_SLOTS, INDEX_LOAD),
        };
        self.rows as f64 * 100.0 / f64::from(slots * load).max(1.0)
    }

    pub fn index_bytes(&self, index: usize, choice: IndexStorage) -> u64 {
        let (words, rows) = (self.index_words[index], self.rows as f64);
        let bytes = match choice.kind {
            IndexKind::Tree => leaves(choice.node_bytes, words, self.row.checksummed, rows),
            IndexKind::Hash => {
                buckets(&BucketLayout::outside(INDEX_SLOTS, words), INDEX_LOAD, rows)
            }
        };
        bytes as u64
    }
}

/// Bytes of buckets without chains: whole segments, each with a power of two buckets, and the
/// directory of segments (`index::hash`). `planned` is the planned number of buckets.
fn made(planned: f64, buckets: f64, bucket: &BucketLayout) -> f64 {
    let least = libm::ceil(planned / SEGMENTS_PLANNED).max(SEGMENT_MIN);
    let segment = libm::exp2(libm::ceil(libm::log2(least)));
    let stride = bucket.bytes().next_multiple_of(LINE_BYTES) as f64;
    ROOT_BYTES + libm::ceil(buckets / segment) * pages(segment * stride)
}

/// Rounds up to whole pages, the unit in which memory servers allocate.
fn pages(bytes: f64) -> f64 {
    libm::ceil(bytes / PAGE_BYTES) * PAGE_BYTES
}

/// Bytes of hashed buckets, including overflow blocks and buckets from splits.
fn buckets(bucket: &BucketLayout, load: u32, rows: f64) -> f64 {
    let count = libm::ceil(rows * 100.0 / f64::from(bucket.slots * load));
    let grown = grown(bucket.slots, load);
    let blocks = count * grown.blocks;
    made(count, libm::ceil(count * grown.buckets), bucket)
        + blocks * f64::from(8 * bucket.overflow_words())
}

fn leaf_rows(leaf: &LeafLayout) -> f64 {
    f64::from(leaf.entries) * LEAF_FILL
}

/// Bytes of a tree's leaves and inner nodes.
fn leaves(node_bytes: u32, key_words: u32, checksummed: bool, entries: f64) -> f64 {
    let leaf = LeafLayout::within(node_bytes, key_words, 1, checksummed);
    let each = leaf_rows(&leaf);
    libm::ceil(entries / each) * f64::from(8 * leaf.words()) * (1.0 + 1.0 / (each - 1.0))
}

/// The range of each key column, if all are integers with known ranges.
fn dense_box(table: &Table, load: &Load, units: u64) -> Result<Vec<(i64, u64)>, String> {
    if table.primary_key.is_empty() {
        return Err("it has no primary key".to_owned());
    }
    let expectation = Expectation::new(load, units);
    let side = |&at: &usize| {
        let column = &table.schema.columns()[at];
        let is_float = matches!(column.column_type, ColumnType::Float8 | ColumnType::Bool);
        let is_whole = column.column_type.fixed_bytes().is_some() && !is_float;
        if !is_whole || column.nullable {
            return Err(format!("its key column {} is not an integer", column.name));
        }
        let (low, high) = load
            .table(&table.name)
            .and_then(|of| of.column(&column.name))
            .and_then(|drawn| value_range(&expectation, &table.name, drawn))
            .ok_or_else(|| format!("the range of its key column {} is unknown", column.name))?;
        let count = i128::from(high) - i128::from(low) + 1;
        let count = u64::try_from(count).ok().filter(|count| *count > 0);
        Ok((low, count.ok_or_else(|| format!("its key column {} has no values", column.name))?))
    };
    table.primary_key.iter().map(side).collect()
}

/// The maximal number of distinct values of the columns together, if all have known integer ranges.
fn value_count(table: &Table, columns: &[usize], (load, units): (&Load, u64)) -> Option<u64> {
    let expectation = Expectation::new(load, units);
    columns.iter().try_fold(1_u64, |product, &at| {
        let drawn = load.table(&table.name)?.column(&table.columns[at].name)?;
        let (low, high) = value_range(&expectation, &table.name, drawn)?;
        let count = u64::try_from(i128::from(high) - i128::from(low) + 1).ok()?;
        Some(product.saturating_mul(count.max(1)))
    })
}

/// The minimum and maximum of an integer column, if the load defines them.
pub fn value_range(
    expectation: &Expectation<'_>,
    table: &str,
    drawn: &Distribution,
) -> Option<(i64, i64)> {
    values(expectation, table, drawn, 0)
}

fn values(
    expectation: &Expectation<'_>,
    table: &str,
    drawn: &Distribution,
    steps: u32,
) -> Option<(i64, i64)> {
    match &drawn.draw {
        Draw::Sequence { range, .. } | Draw::Uniform { range, decimals: 0, .. } => {
            expectation.bounds(range)
        }
        Draw::Constant(Literal::Integer(number)) => Some((*number, *number)),
        Draw::OneOf { values, .. } => {
            let number = |value: &Literal| match value {
                Literal::Integer(number) => Some(*number),
                _ => None,
            };
            let numbers: Vec<i64> = values.iter().map(number).collect::<Option<_>>()?;
            Some((*numbers.iter().min()?, *numbers.iter().max()?))
        }
        Draw::Same(name) if steps < STEPS_MAX => {
            let (table, drawn) = expectation.column(table, name)?;
            values(expectation, table, drawn, steps + 1)
        }
        _ => None,
    }
}

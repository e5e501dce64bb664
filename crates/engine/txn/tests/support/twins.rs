//! Tables of every storage in which all transactions make the same changes: a transaction that sees
//! a change in one table sees it in all, by every way of reading, or it sees half of another
//! transaction.

use super::cluster::Cluster;
use super::history::Cell;
use super::{GROUP, STORAGES, VALUE, group_key, index, key, table};
use fabric::Env;
use layout::{IndexKind, Key, Storage};
use std::collections::BTreeMap;
use txn::{
    Abort, IndexId, Isolation, Lane, Outcome, RowId, Scan, ScanSource, TableId, Transaction,
    TxnError,
};

/// The number of groups; groups begin at 0.
pub const GROUPS: i64 = 5;

/// The content of the tables.
pub type Rows = BTreeMap<i32, Cell>;
/// The changes of a transaction: new contents of rows, or their deletion.
pub type Changes = BTreeMap<i32, Option<Cell>>;

/// The tables, in the order of [`STORAGES`], each with an index over groups.
#[derive(Clone, Copy, Debug)]
pub struct Twins {
    pub tables: [TableId; 3],
    pub indexes: [IndexId; 3],
}

pub const NAMES: [&str; 3] = ["inlined", "outside", "tree"];

impl Twins {
    pub fn create(cluster: &Cluster) -> Self {
        let kinds = [IndexKind::Tree, IndexKind::Hash, IndexKind::Tree];
        let make = |number: usize| {
            let indexes = vec![index(kinds[number], false)];
            let made = cluster.create(table(NAMES[number], STORAGES[number], indexes));
            (made.table, made.by_group.expect("it was created"))
        };
        let made = [0, 1, 2].map(make);
        Self { tables: made.map(|made| made.0), indexes: made.map(|made| made.1) }
    }

    /// Makes the same changes to all tables in one transaction; calls `posting` right before the
    /// commit.
    pub async fn change<E: Env>(
        &self,
        lane: &mut Lane<E>,
        isolation: Isolation,
        changes: &Changes,
        posting: impl FnOnce(),
    ) -> Outcome {
        let mut txn = match lane.begin(isolation).await {
            Ok(txn) => txn,
            Err(abort) => return Outcome::Aborted(abort),
        };
        if let Err(abort) = self.write(&mut txn, changes).await {
            return Outcome::Aborted(abort);
        }
        posting();
        txn.commit().await
    }

    /// Writes the changes in a transaction; returns them without deletions of absent rows.
    pub async fn write<E: Env>(
        &self,
        txn: &mut Transaction<'_, E>,
        changes: &Changes,
    ) -> Result<Changes, Abort> {
        let mut effective = Changes::new();
        for table in self.tables {
            effective = write_table(txn, table, changes).await?;
        }
        Ok(effective)
    }

    /// Changes a single table.
    pub async fn change_one<E: Env>(
        lane: &mut Lane<E>,
        table: TableId,
        changes: &Changes,
    ) -> Outcome {
        let mut txn = match lane.begin(Isolation::Snapshot).await {
            Ok(txn) => txn,
            Err(abort) => return Outcome::Aborted(abort),
        };
        match write_table(&mut txn, table, changes).await {
            Ok(_) => txn.commit().await,
            Err(abort) => Outcome::Aborted(abort),
        }
    }

    /// Like [`Twins::read_all_in`], in a transaction of its own.
    pub async fn read_all<E: Env>(&self, lane: &mut Lane<E>, id_end: i32) -> Result<Rows, Abort> {
        let mut txn = lane.begin(Isolation::Snapshot).await?;
        let rows = self.read_all_in(&mut txn, id_end).await?;
        match txn.commit().await {
            Outcome::Committed => Ok(rows),
            Outcome::Aborted(abort) => Err(abort),
            Outcome::Unknown => panic!("a reader has nothing that could be unknown"),
        }
    }

    /// Key and contents of a row.
    pub fn contents_of<E: Env>(txn: &Transaction<'_, E>, row: RowId) -> (i32, Cell) {
        (txn.row(row).int(0) as i32, cell_of(txn, row))
    }

    /// Reads everything in every way: rows 0 to below `id_end` one by one, all rows, ranges in both
    /// directions, groups.
    ///
    /// # Panics
    ///
    /// If two ways give different results.
    pub async fn read_all_in<E: Env>(
        &self,
        txn: &mut Transaction<'_, E>,
        id_end: i32,
    ) -> Result<Rows, Abort> {
        let mut all: Option<Rows> = None;
        for number in 0..3 {
            let by_key = self.read_by_key(txn, number, id_end).await.map_err(expected)?;
            let mut by_visit = Rows::new();
            let mut visit = |row: layout::RecordRef<'_>| {
                let cell = Cell { value: row.int(VALUE), group: row.int(GROUP) };
                let before = by_visit.insert(row.int(0) as i32, cell);
                assert_eq!(before, None, "{}: a row is visited twice", NAMES[number]);
            };
            txn.for_each(self.tables[number], &mut visit).await.map_err(expected)?;
            assert_eq!(by_visit, by_key, "{}: visits and point reads", NAMES[number]);
            let by_group = self.read_by_group(txn, number).await.map_err(expected)?;
            assert_eq!(by_group, by_key, "{}: lookups and point reads", NAMES[number]);
            if STORAGES[number] == Storage::Tree {
                for is_reverse in [false, true] {
                    let scanned = self.scan(txn, number, is_reverse).await.map_err(expected)?;
                    assert_eq!(scanned, by_key, "scan, reverse: {is_reverse}");
                }
            }
            let before = all.get_or_insert_with(|| by_key.clone());
            assert_eq!(before, &by_key, "{} differs from {}", NAMES[number], NAMES[0]);
        }
        Ok(all.expect("there are tables"))
    }

    async fn read_by_key<E: Env>(
        &self,
        txn: &mut Transaction<'_, E>,
        number: usize,
        id_end: i32,
    ) -> Result<Rows, TxnError> {
        let reads: Vec<_> = (0..id_end).map(|id| (self.tables[number], key(id))).collect();
        let mut found = Vec::new();
        txn.read_many(&reads, &mut found).await?;
        let there = (0..).zip(found).filter_map(|(id, row)| Some((id, row?)));
        Ok(there.map(|(id, row)| (id, cell_of(txn, row))).collect())
    }

    async fn read_by_group<E: Env>(
        &self,
        txn: &mut Transaction<'_, E>,
        number: usize,
    ) -> Result<Rows, TxnError> {
        let (mut all, mut rows) = (Rows::new(), Vec::new());
        for group in 0..GROUPS {
            txn.lookup(self.indexes[number], &group_key(group), &mut rows).await?;
            for &row in &rows {
                let cell = cell_of(txn, row);
                assert_eq!(cell.group, group, "{}: a row of another group", NAMES[number]);
                let id = txn.row(row).int(0) as i32;
                assert_eq!(all.insert(id, cell), None, "{}: row {id} twice", NAMES[number]);
            }
        }
        Ok(all)
    }

    async fn scan<E: Env>(
        &self,
        txn: &mut Transaction<'_, E>,
        number: usize,
        reverse: bool,
    ) -> Result<Rows, TxnError> {
        let source = ScanSource::Table(self.tables[number]);
        let (low, high) = (Key::lowest(1), Key::highest(1));
        let scan = Scan { source, low, high, reverse, limit: usize::MAX };
        let mut rows = Vec::new();
        txn.scan(&scan, &mut rows).await?;
        let ids: Vec<i32> = rows.iter().map(|&row| txn.row(row).int(0) as i32).collect();
        let is_ordered = ids.windows(2).all(|pair| (pair[0] < pair[1]) != reverse);
        assert!(is_ordered, "a scan out of order: {ids:?}");
        Ok(ids.into_iter().zip(rows).map(|(id, row)| (id, cell_of(txn, row))).collect())
    }
}

async fn write_table<E: Env>(
    txn: &mut Transaction<'_, E>,
    table: TableId,
    changes: &Changes,
) -> Result<Changes, Abort> {
    let (mut found, mut rows) = (Vec::new(), Vec::new());
    let reads: Vec<_> = changes.keys().map(|&id| (table, key(id))).collect();
    txn.read_many(&reads, &mut found).await.map_err(expected)?;
    let mut effective = changes.clone();
    let mut inserts = Vec::new();
    let mut inserted = Vec::new();
    for ((read, row), (id, cell)) in reads.iter().zip(&found).zip(changes) {
        match (row, cell) {
            (Some(row), Some(cell)) => fill(txn, *row, *cell),
            (Some(row), None) => txn.delete(*row),
            (None, Some(cell)) => {
                inserts.push(*read);
                inserted.push(*cell);
            }
            (None, None) => {
                effective.remove(id);
            }
        }
    }
    txn.insert_many(&inserts, &mut rows).await.map_err(expected)?;
    for (row, cell) in rows.iter().zip(inserted) {
        fill(txn, *row, cell);
    }
    Ok(effective)
}

fn fill<E: Env>(txn: &mut Transaction<'_, E>, row: RowId, cell: Cell) {
    let mut record = txn.update(row);
    record.set_int(VALUE, cell.value);
    record.set_int(GROUP, cell.group);
}

fn cell_of<E: Env>(txn: &Transaction<'_, E>, row: RowId) -> Cell {
    let record = txn.row(row);
    Cell { value: record.int(VALUE), group: record.int(GROUP) }
}

/// The abort of a failed statement. Panics on any other error.
pub fn expected(error: TxnError) -> Abort {
    error.abort().unwrap_or_else(|| panic!("{error}"))
}

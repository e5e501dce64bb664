//! Scans: the visible rows of a key range, in order, forward and backward.
//!
//! Decision: docs/decisions/0048-independent-scans-share-round-trips.md

use crate::abort::TxnError;
use crate::catalog::{CatalogError, IndexId, IndexInfo, Primary, Secondary, TableId};
use crate::lane::LaneInner;
use crate::read::Pending;
use crate::read::access::{AccessId, RowId};
use crate::read::cursor::Cursor;
use crate::write::Owner;
use crate::write::secondary::column_range;
use fabric::{Env, Mutant, Span};
use index::tree::LeafView;
use layout::{GlobalPtr, Key};
use std::ops::RangeInclusive;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scan {
    pub source: ScanSource,
    /// Smallest key: a primary key, or for an index the indexed columns followed by the rest of the
    /// primary key. [`layout::KeyBuilder::prefix_low`] makes one from leading columns.
    /// [`layout::Schema::key_words`] and [`layout::Schema::index_key_words`] return its number of
    /// words.
    pub low: Key,
    /// Largest key, inclusive. [`layout::KeyBuilder::prefix_high`] makes one from leading columns.
    pub high: Key,
    /// Whether to scan from the largest key down.
    pub reverse: bool,
    /// Maximal number of rows.
    pub limit: usize,
}

/// The source of a scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanSource {
    /// A table whose primary key is a tree.
    Table(TableId),
    /// A secondary index that is a tree.
    Index(IndexId),
}

/// An entry found by a scan: its key in the arena, and its row's address (null: the row is in the
/// bucket of its primary key).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanEntry {
    pub key: Span,
    pub row: GlobalPtr,
    /// The access of a row of the write set, which may not be in any leaf yet.
    pub own: Option<AccessId>,
}

impl<E: Env> LaneInner<E> {
    /// [`Transaction::scan`](crate::Transaction::scan).
    pub(crate) async fn scan(
        &mut self,
        scan: &Scan,
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        rows.clear();
        self.begin_statement()?;
        let scanned = self.scan_one(scan, rows).await;
        self.end_statement(scanned)
    }

    /// [`Transaction::scan_many`](crate::Transaction::scan_many).
    pub(crate) async fn scan_many(
        &mut self,
        scans: &[Scan],
        rows: &mut Vec<Vec<RowId>>,
    ) -> Result<(), TxnError> {
        rows.resize_with(scans.len(), Vec::new);
        rows.iter_mut().for_each(Vec::clear);
        self.begin_statement()?;
        let scanned = self.scan_several(scans, rows).await;
        self.end_statement(scanned)
    }

    /// [`Transaction::lookup`](crate::Transaction::lookup).
    pub(crate) async fn lookup(
        &mut self,
        index: IndexId,
        key: &Key,
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        rows.clear();
        self.begin_statement()?;
        let found = self.look_up_one(index, key, rows).await;
        self.end_statement(found)
    }
}

/// `base` with its leading words replaced by those of `key`.
fn overlay(base: &Key, key: &Key) -> Key {
    let mut words = [0; layout::KEY_WORDS_MAX];
    let count = base.words().len();
    words[..key.words().len()].copy_from_slice(key.words());
    Key::from_words(&words[..count])
}

/// The content of an entry of an index or leaf: a key, and the row's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeyedRow {
    pub key: Key,
    pub row: GlobalPtr,
}

impl KeyedRow {
    /// The content of entry `n` of a leaf.
    pub fn of(leaf: &LeafView<'_>, n: u32) -> Self {
        let row = GlobalPtr::from_word(leaf.value(n)[0]);
        Self { key: Key::from_words(leaf.key(n)), row }
    }
}

/// Reusable lists of lookups in hash indexes.
#[derive(Default)]
pub(crate) struct LookupScratch {
    found: Vec<KeyedRow>,
    scan_entries: Vec<ScanEntry>,
    pending: Vec<Pending>,
    accesses: Vec<AccessId>,
}

/// The source of a scan in the catalog.
pub(crate) struct Range {
    pub owner: Owner,
    pub table: TableId,
    pub index: Option<std::sync::Arc<IndexInfo>>,
}

impl<E: Env> LaneInner<E> {
    async fn scan_one(&mut self, scan: &Scan, rows: &mut Vec<RowId>) -> Result<(), TxnError> {
        self.txn.read_count += 2;
        match self.open.scanned_parts(scan)? {
            None => self.scan_whole(scan, rows).await,
            Some(parts) => self.scan_parts(scan, parts, rows).await,
        }
    }

    async fn scan_several(
        &mut self,
        scans: &[Scan],
        rows: &mut [Vec<RowId>],
    ) -> Result<(), TxnError> {
        self.txn.read_count += 2 * scans.len() as u32;
        let mut cursors = std::mem::take(&mut self.scratch.cursors);
        cursors.clear();
        for scan in scans {
            let scan = self.first_part_of(scan)?;
            cursors.push(Cursor::new(&scan, self.open_range(&scan).await?));
        }
        let result = self.run_cursors(&mut cursors, rows).await;
        if result.is_ok() {
            for (cursor, rows) in cursors.iter().zip(&*rows) {
                let (owner, scan) = cursor.source();
                self.note_scan(owner, scan, rows.len() >= scan.limit, rows);
            }
        }
        self.scratch.cursors = cursors;
        result?;
        for (scan, rows) in scans.iter().zip(rows) {
            if let Some(parts) = self.open.scanned_parts(scan)? {
                self.scan_parts_behind(scan, parts, rows).await?;
            }
        }
        Ok(())
    }

    async fn look_up_one(
        &mut self,
        index: IndexId,
        key: &Key,
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        self.txn.read_count += 2;
        let info = self.open.readable_index(index)?;
        if !key.may_have_bytes(info.column_bytes) {
            return Err(info.wrong_key(key).into());
        }
        self.open_table(info.table).await?;
        let part = self.open.index_part_of(index, &info, key.words());
        let info = if part == index { info } else { self.open.index_info(part).clone() };
        let (owner, table) = (Owner::Index(part), info.table);
        if matches!(info.storage, Secondary::Hash(_)) {
            let range = Range { owner, table, index: Some(info) };
            let mut scratch = std::mem::take(&mut self.scratch.looking);
            let result = self.look_up(&range, key, &mut scratch, rows).await;
            self.scratch.looking = scratch;
            return result;
        }
        let (low, high) = column_range(&overlay(&Key::lowest(info.key_words), key), &info);
        let (source, reverse, limit) = (ScanSource::Index(part), false, usize::MAX);
        let range = Range { owner, table, index: Some(info) };
        let mut cursor = Cursor::new(&Scan { source, low, high, reverse, limit }, range);
        self.run_cursors(std::slice::from_mut(&mut cursor), std::slice::from_mut(rows)).await?;
        self.note_search(owner, &low, &high, rows);
        Ok(())
    }

    async fn scan_whole(&mut self, scan: &Scan, rows: &mut Vec<RowId>) -> Result<(), TxnError> {
        let range = self.open_range(scan).await?;
        let (owner, before) = (range.owner, rows.len());
        let mut cursor = Cursor::new(scan, range);
        self.run_cursors(std::slice::from_mut(&mut cursor), std::slice::from_mut(rows)).await?;
        self.note_scan(owner, scan, rows.len() >= scan.limit, &rows[before..]);
        Ok(())
    }

    /// Scans these parts one after another, in the order of the scan, until there are enough rows.
    async fn scan_parts(
        &mut self,
        scan: &Scan,
        parts: RangeInclusive<usize>,
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        let first = self.part_scan(scan, if scan.reverse { *parts.end() } else { *parts.start() });
        self.scan_whole(&first, rows).await?;
        self.scan_parts_behind(scan, parts, rows).await
    }

    /// Does the same for all parts behind the first one in the order of the scan.
    async fn scan_parts_behind(
        &mut self,
        scan: &Scan,
        parts: RangeInclusive<usize>,
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        let (first, last) = parts.into_inner();
        for step in 1..=last.saturating_sub(first) {
            if rows.len() >= scan.limit {
                break;
            }
            let position = if scan.reverse { last - step } else { first + step };
            self.scan_whole(&self.part_scan(scan, position), rows).await?;
        }
        Ok(())
    }

    /// The scan of the first part in the order of the scan, or of the whole source without parts.
    fn first_part_of(&self, scan: &Scan) -> Result<Scan, TxnError> {
        Ok(match self.open.scanned_parts(scan)? {
            None => *scan,
            Some(parts) if scan.reverse => self.part_scan(scan, *parts.end()),
            Some(parts) => self.part_scan(scan, *parts.start()),
        })
    }

    pub(crate) fn part_scan(&self, scan: &Scan, position: usize) -> Scan {
        Scan { source: self.open.scanned_part(scan.source, position), ..*scan }
    }

    /// Opens the source of a scan and its table. Refuses bounds that are not keys of the source.
    pub(crate) async fn open_range(&mut self, scan: &Scan) -> Result<Range, TxnError> {
        let range = match scan.source {
            ScanSource::Table(table) => {
                match self.open.catalog.info(table).map(|info| &info.primary) {
                    Some(Primary::Tree(_)) => {
                        Range { owner: Owner::Table(table), table, index: None }
                    }
                    Some(Primary::Hash(_)) => {
                        let reason = "a range scan needs a table stored as a tree, or a tree index";
                        return Err(CatalogError::WrongKind(reason).into());
                    }
                    None => return Err(CatalogError::NoTable(format!("number {}", table.0)).into()),
                }
            }
            ScanSource::Index(index) => {
                let info = self.open.readable_index(index)?;
                if matches!(info.storage, Secondary::Hash(_)) {
                    return Err(CatalogError::WrongKind("a range scan needs a tree index").into());
                }
                Range { owner: Owner::Index(index), table: info.table, index: Some(info) }
            }
        };
        for bound in [&scan.low, &scan.high] {
            let words = bound.words().len();
            match &range.index {
                Some(index) if words != index.key_words as usize => {
                    return Err(index.wrong_bound(bound).into());
                }
                None if words != self.open.info(range.table).row.key_words as usize => {
                    return Err(self.open.info(range.table).wrong_bound(bound).into());
                }
                _ => {}
            }
        }
        self.open_table(range.table).await?;
        Ok(range)
    }

    /// Reads the rows of a hash index whose indexed columns equal those in `key`.
    async fn look_up(
        &mut self,
        range: &Range,
        key: &Key,
        scratch: &mut LookupScratch,
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        let (Owner::Index(index), Some(info)) = (range.owner, &range.index) else {
            unreachable!("tables are not looked up by other columns")
        };
        let LookupScratch { found, scan_entries, pending, accesses } = scratch;
        let seen = self.read_entries(index, info, key, found).await?;
        self.witness_word(seen.bucket, seen.insert);
        scan_entries.clear();
        let primary = &self.open.info(range.table).primary;
        let has_addresses = !matches!(primary, Primary::Hash(hash) if hash.rows);
        for &KeyedRow { key, row } in &*found {
            // Without an address, where entries have one, the slot is being emptied.
            if !(row.is_null() && has_addresses) {
                let key = self.txn.batch.put(key.words());
                scan_entries.push(ScanEntry { key, row, own: None });
            }
        }
        if self.writes.rows.is_empty() {
            self.sort(scan_entries);
        } else {
            let (low, high) = column_range(&overlay(&Key::lowest(info.key_words), key), info);
            self.add_own(range, &low, &high, scan_entries);
        }
        if !self.env.mutant(Mutant::ScanRepeatEntry) {
            // A slot that was filled again while it was read may have words of two keys, which
            // together are the key of another slot.
            let batch = &*self.txn.batch;
            scan_entries.dedup_by(|entry, last| batch.words(entry.key) == batch.words(last.key));
        }
        pending.clear();
        accesses.clear();
        self.txn.batch.clear_verbs();
        for scan_entry in &*scan_entries {
            accesses.push(self.post_scan_row(range, scan_entry, pending)?);
        }
        self.settle_pending(pending).await?;
        for (scan_entry, &access) in scan_entries.iter().zip(&*accesses) {
            if self.is_visible_entry(range, scan_entry, access) {
                rows.push(self.txn.row_id(access));
            }
        }
        let (low, high) = column_range(&overlay(&Key::lowest(info.key_words), key), info);
        self.note_search(range.owner, &low, &high, rows);
        Ok(())
    }
}

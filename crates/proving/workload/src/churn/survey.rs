//! Reads everything in one snapshot by every access path, and reports differences.

use super::{ChurnConfig, GROUP, Places, TAG, is_tree, key};
use crate::attempts::result_of;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use layout::{IndexKind, Key, KeyBuilder, RecordRef};
use std::collections::BTreeMap;
use txn::{Isolation, Lane, RowId, Scan, ScanSource, Transaction};

/// Group and tag by row.
type Rows = BTreeMap<i64, (i64, i64)>;

/// Surveys the table; returns the number of its rows.
pub(super) async fn survey<E: Env>(
    lane: &mut Lane<E>,
    config: &ChurnConfig,
    places: Places,
) -> Result<(TransactionResult, usize), WorkloadError> {
    let mut transaction = lane.begin(Isolation::Snapshot).await?;
    let mut visited = Vec::new();
    let mut visit = |row: RecordRef<'_>| visited.push(entry(row));
    transaction.for_each(places.table, &mut visit).await?;
    let rows = gathered("a visit", visited)?;
    agree(&rows, &by_key(&mut transaction, config, places).await?, "reads by key")?;
    agree(&rows, &by_group(&mut transaction, config, places).await?, "lookups by group")?;
    agree(&rows, &by_tag(&mut transaction, config, places).await?, "lookups by tag")?;
    for reverse in [false, true] {
        if is_tree(config) {
            let source = ScanSource::Table(places.table);
            let scanned = scan(&mut transaction, source, reverse).await?;
            agree(&rows, &scanned, "a scan of the table")?;
        }
        if config.group_index == IndexKind::Tree {
            let source = ScanSource::Index(places.by_group);
            let scanned = scan(&mut transaction, source, reverse).await?;
            agree(&rows, &scanned, "a scan by group")?;
        }
    }
    let result = result_of(transaction.commit().await);
    Ok((result, rows.len()))
}

fn entry(row: RecordRef<'_>) -> (i64, (i64, i64)) {
    (row.int(0), (row.int(GROUP), row.int(TAG)))
}

/// The rows found by one access path, which must return each once.
fn gathered(
    how: &str,
    entries: impl IntoIterator<Item = (i64, (i64, i64))>,
) -> Result<Rows, WorkloadError> {
    let mut rows = Rows::new();
    for (row, cells) in entries {
        if rows.insert(row, cells).is_some() {
            return Err(WorkloadError::Inconsistent(format!("{how} has row {row} twice")));
        }
    }
    Ok(rows)
}

pub(super) fn agree(visited: &Rows, seen: &Rows, how: &str) -> Result<(), WorkloadError> {
    if visited == seen {
        return Ok(());
    }
    let all = visited.keys().chain(seen.keys());
    let row = all.copied().find(|row| visited.get(row) != seen.get(row)).unwrap_or_default();
    let (one, other) = (visited.get(&row), seen.get(&row));
    let sentence =
        format!("row {row} (group, tag): a visit of the table sees {one:?}, {how} {other:?}");
    Err(WorkloadError::Inconsistent(sentence))
}

async fn by_key<E: Env>(
    transaction: &mut Transaction<'_, E>,
    config: &ChurnConfig,
    places: Places,
) -> Result<Rows, WorkloadError> {
    let reads: Vec<_> = (0..config.rows).map(|row| (places.table, key(row))).collect();
    let mut rows = Vec::new();
    transaction.read_many(&reads, &mut rows).await?;
    gathered("reading by key", rows.into_iter().flatten().map(|row| entry(transaction.row(row))))
}

async fn by_group<E: Env>(
    transaction: &mut Transaction<'_, E>,
    config: &ChurnConfig,
    places: Places,
) -> Result<Rows, WorkloadError> {
    let mut all = Vec::new();
    let mut rows = Vec::new();
    for group in 0..i64::from(config.groups) {
        let key = KeyBuilder::new().int8(group).key();
        transaction.lookup(places.by_group, &key, &mut rows).await?;
        all.extend(rows.iter().map(|&row| entry(transaction.row(row))));
        if let Some(wrong) = all.iter().rev().take(rows.len()).find(|(_, cells)| cells.0 != group) {
            let sentence = format!("a lookup of group {group} has row {} of another", wrong.0);
            return Err(WorkloadError::Inconsistent(sentence));
        }
    }
    gathered("lookups by group", all)
}

async fn by_tag<E: Env>(
    transaction: &mut Transaction<'_, E>,
    config: &ChurnConfig,
    places: Places,
) -> Result<Rows, WorkloadError> {
    let mut all = Vec::new();
    let mut rows = Vec::new();
    let own = (0..i64::from(config.rows)).map(|row| -1 - row);
    for tag in (0..i64::from(config.tags)).chain(own) {
        let key = KeyBuilder::new().int8(tag).key();
        transaction.lookup(places.by_tag, &key, &mut rows).await?;
        if rows.len() > 1 {
            let ids: Vec<i64> = rows.iter().map(|&row| transaction.row(row).int(0)).collect();
            let sentence = format!("rows {ids:?} share tag {tag}, which is unique");
            return Err(WorkloadError::Inconsistent(sentence));
        }
        all.extend(rows.iter().map(|&row| entry(transaction.row(row))));
    }
    gathered("lookups by tag", all)
}

async fn scan<E: Env>(
    transaction: &mut Transaction<'_, E>,
    source: ScanSource,
    reverse: bool,
) -> Result<Rows, WorkloadError> {
    // An index's keys end with the primary key.
    let words = match source {
        ScanSource::Table(_) => 1,
        ScanSource::Index(_) => 2,
    };
    let (low, high) = (Key::lowest(words), Key::highest(words));
    let mut rows: Vec<RowId> = Vec::new();
    transaction.scan(&Scan { source, low, high, reverse, limit: usize::MAX }, &mut rows).await?;
    let entries: Vec<_> = rows.iter().map(|&row| entry(transaction.row(row))).collect();
    let place = |&(id, (group, _)): &(i64, (i64, i64))| match source {
        ScanSource::Table(_) => id,
        ScanSource::Index(_) => group,
    };
    let is_ordered = entries.windows(2).all(|pair| match reverse {
        false => place(&pair[0]) <= place(&pair[1]),
        true => place(&pair[0]) >= place(&pair[1]),
    });
    if !is_ordered {
        return Err(WorkloadError::Inconsistent("a scan is out of order".to_owned()));
    }
    gathered("a scan", entries)
}

//! Copied tables: each of several memory servers has a copy.
//!
//! A copy is a part with all rows and indexes, and reads use the nearest one. First of all, a
//! commit adds the same row of all other copies to its write set. It locks, installs and publishes
//! them with the first, so that in each snapshot all copies are equal. A write therefore costs as
//! much as there are copies.
//!
//! The first copy is locked one round trip before the others. Otherwise two writers of one row that
//! lock different copies first would each find the other's lock, abort, and do so again.
//!
//! Decision: docs/decisions/0276-copies-of-a-table-are-parts-with-all-rows.md

use crate::abort::{Abort, TxnError};
use crate::catalog::{CatalogError, TableId};
use crate::database::Database;
use crate::lane::{LaneInner, OpenCatalog};
use crate::read::access::{Absence, AccessId, State};
use crate::transaction::Isolation;
use crate::write::Owner;
use bytemuck::{cast_slice, cast_slice_mut};
use fabric::{Env, Mutant, Span};
use layout::key::hash_words;
use layout::{Key, RecordRef, row};
use std::ops::Range;

/// A row that the transaction writes, and the same row of another copy.
struct RowPair {
    own: AccessId,
    other: AccessId,
}

impl<E: Env> LaneInner<E> {
    /// Adds the rows of the other copies to the write set.
    pub(crate) async fn write_to_copies(&mut self) -> Result<(), TxnError> {
        let (mut owns, mut keys) = (Vec::new(), Vec::new());
        for &own in &self.writes.rows {
            let entry = self.txn.accesses[own];
            let info = self.open.info(entry.table);
            let Some(parts) = info.parts.as_ref().filter(|parts| parts.are_copies()) else {
                continue;
            };
            let key = Span { at: entry.current().at + row::KEY, words: info.row.key_words };
            let batch = &*self.txn.batch;
            let key = Key::from_words(batch.words(key));
            for copy in parts.numbers().iter().copied().map(TableId) {
                let skips = self.env.mutant(Mutant::CommitSkipThirdCopy);
                if copy == entry.table || skips && parts.numbers().get(2) == Some(&copy.0) {
                    continue;
                }
                owns.push(own);
                keys.push((copy, key));
            }
        }
        if keys.is_empty() {
            return Ok(());
        }
        let others = self.find_in_parts(&keys).await?;
        for (own, other) in owns.into_iter().zip(others) {
            self.write_copy_row(RowPair { own, other })?;
        }
        Ok(())
    }

    /// Applies the change of a row to the same row of another copy. Both rows are as in the
    /// snapshot, so they are equal.
    fn write_copy_row(&mut self, twin: RowPair) -> Result<(), TxnError> {
        let own = self.txn.accesses[twin.own];
        let found = self.txn.accesses[twin.other].state;
        let is_change = own.absence == Absence::None;
        match (is_change, found) {
            (true, State::Read) | (false, State::Absent) => {}
            // The kept leaf was outdated: another transaction has inserted the key.
            (false, _) if own.absence == Absence::Kept => return Err(Abort::InsertConflict.into()),
            _ => return Err(Abort::Damaged.into()),
        }
        if !is_change {
            self.insert_access(twin.other)?;
            self.copy_payload(&twin);
            self.txn.accesses[twin.other].state = own.state;
        } else if own.state == State::Deleted {
            self.delete(self.txn.row_id(twin.other));
        } else {
            self.make_fresh(twin.other);
            self.copy_payload(&twin);
        }
        Ok(())
    }

    /// Copies the new payload, except cells of unchanged long values, because each copy has
    /// references of its own.
    fn copy_payload(&mut self, twin: &RowPair) {
        let (own, other) = (self.txn.accesses[twin.own], self.txn.accesses[twin.other]);
        let shape = self.open.info(own.table).row;
        let stay = self.unchanged_values(twin.own);
        let batch = &mut *self.txn.batch;
        let payload =
            |image: Span| Span { at: image.at + shape.payload(), words: shape.payload_words };
        let mut copied = batch.words(payload(own.fresh)).to_vec();
        let kept: &[u8] = cast_slice(batch.words(payload(other.fresh)));
        for cell in stay {
            cast_slice_mut::<u64, u8>(&mut copied)[cell.clone()].copy_from_slice(&kept[cell]);
        }
        batch.words_mut(payload(other.fresh)).copy_from_slice(&copied);
    }

    /// The cells of the payload for long values which the transaction has not changed.
    fn unchanged_values(&self, access: AccessId) -> Vec<Range<usize>> {
        let entry = self.txn.accesses[access];
        let info = self.open.info(entry.table);
        if entry.absence != Absence::None {
            return Vec::new();
        }
        let payload = |image: Span| -> &[u8] {
            let (at, words) = (image.at + info.row.payload(), info.row.payload_words);
            cast_slice(self.txn.batch.words(Span { at, words }))
        };
        let (before, after) = (payload(entry.image), payload(entry.fresh));
        let cells = info.schema.long_columns().iter().filter_map(|&column| {
            let cell = info.schema.long_cell(column)?;
            (before[cell.clone()] == after[cell.clone()]).then_some(cell)
        });
        cells.collect()
    }

    /// Whether the transaction writes rows of a later copy.
    pub(crate) fn writes_copies(&self) -> bool {
        let of_other = |&access: &AccessId| {
            self.open.is_later_copy(Owner::Table(self.txn.accesses[access].table))
        };
        self.open.catalog.has_copies && self.writes.rows.iter().any(of_other)
    }
}

impl OpenCatalog {
    /// Whether this belongs to a copy that is locked after the first one.
    pub(crate) fn is_later_copy(&self, owner: Owner) -> bool {
        let part = self.info(self.table_of(owner)).design.part.as_ref();
        part.is_some_and(|part| part.rule.is_copied() && part.number > 0)
    }
}

/// Bytes of the address in a reference.
const POINTER_BYTES: usize = 8;

/// A hash that is the same for a row in all copies.
fn fingerprint(row: RecordRef<'_>) -> u64 {
    let mut words = [row.key(), row.payload()].concat();
    for &column in row.schema().long_columns() {
        let cell = row.schema().long_cell(column).expect("the column is kept out of line");
        // Copies differ in the address of a value; its length and version are the same.
        if row.in_row(column).is_none() {
            let payload = cast_slice_mut::<u64, u8>(&mut words[row.key().len()..]);
            payload[cell][..POINTER_BYTES].fill(0);
        }
    }
    hash_words(&words)
}

/// The differences between the copies of a table at rest.
pub(crate) async fn check_copies<E: Env>(
    database: &Database<E>,
    copies: &[u32],
) -> Result<Vec<String>, CatalogError> {
    let unreachable = |error: TxnError| CatalogError::Unreachable(error.to_string());
    let lane = database.lane().await;
    let mut lane = lane.map_err(|error| CatalogError::Limit(error.to_string()))?;
    let mut txn =
        lane.begin(Isolation::Snapshot).await.map_err(|abort| unreachable(abort.into()))?;
    let mut sums = Vec::new();
    for &copy in copies {
        // The order of rows differs between copies.
        let (mut rows, mut sum) = (0_u64, 0_u64);
        let mut add = |row: RecordRef<'_>| {
            rows += 1;
            sum = sum.wrapping_add(fingerprint(row));
        };
        txn.for_each_in(TableId(copy), &mut add).await.map_err(unreachable)?;
        sums.push((rows, sum));
    }
    lane.rest().await.map_err(|abort| unreachable(abort.into()))?;
    let first = sums[0];
    let differs = |(number, &(rows, sum)): (usize, &(u64, u64))| {
        let what = match rows == first.0 {
            true if sum == first.1 => return None,
            true => "other rows".to_owned(),
            false => format!("{rows} rows instead of {}", first.0),
        };
        Some(format!("copy {number} has {what} than the first"))
    };
    Ok(sums.iter().enumerate().filter_map(differs).collect())
}

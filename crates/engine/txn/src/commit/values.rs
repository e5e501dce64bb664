//! Long values in a commit: it allocates their memory before the locks and writes them in batch 2.
//!
//! A value is written in the batch that installs its row, before the row, on the same server.
//! Nothing refers to its memory until then, so an aborting transaction frees it without a verb.
//!
//! Decision: docs/decisions/0039-long-values-are-written-in-batch-2-ahead-of-their-row.md

use crate::abort::Abort;
use crate::catalog::TableId;
use crate::collect::Retired;
use crate::lane::LaneInner;
use crate::read::ARENA_WORDS_MAX;
use crate::read::access::{Access, State};
use crate::read::value::value_layout;
use bytemuck::{cast_slice, cast_slice_mut};
use fabric::{Batch, Env, Span};
use layout::long_cell::{put_reference, reference_in};
use layout::row::{Cover, LINK};
use layout::value::{BYTES, DATA, VERSION};
use layout::{GlobalPtr, OutOfLine, VersionWord};
use std::ops::Range;

/// A value that this commit stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PlacedValue {
    /// The value's number in the transaction's stage.
    pub(super) number: usize,
    table: TableId,
    pub(super) stored: OutOfLine,
}

/// The cell of a column out of line in a row's image.
pub(super) struct LongCell {
    payload: Span,
    /// Its bytes of the payload.
    bytes: Range<usize>,
}

impl<E: Env> LaneInner<E> {
    /// Allocates memory for every value that was set, on the server of its row, and writes the
    /// reference into the row.
    #[cold]
    pub(super) async fn place_values(&mut self, timestamp: VersionWord) -> Result<(), Abort> {
        if self.txn.stage.word_count() > ARENA_WORDS_MAX {
            return Err(Abort::TooLarge);
        }
        for index in 0..self.writes.rows.len() {
            let access = self.txn.accesses[self.writes.rows[index]];
            if access.fresh.words == 0 || !self.open.info(access.table).has_long_columns {
                continue;
            }
            let columns = self.open.info(access.table).schema.long_columns().len();
            for position in 0..columns {
                let cell = self.long_cell(&access, access.fresh, position);
                let reference = self.reference(&cell);
                let Some(number) = reference.staged_number() else { continue };
                let bytes = reference.bytes;
                let stored = match access.state {
                    // A tombstone of a row that was never visible.
                    State::Deleted => OutOfLine::EMPTY,
                    _ => self.place_value(&access, bytes, timestamp).await?,
                };
                let payload = self.txn.batch.words_mut(cell.payload);
                put_reference(&mut cast_slice_mut(payload)[cell.bytes], stored);
                if stored != OutOfLine::EMPTY {
                    self.writes.placed.push(PlacedValue { number, table: access.table, stored });
                }
            }
        }
        Ok(())
    }

    async fn place_value(
        &mut self,
        access: &Access,
        bytes: u64,
        version: VersionWord,
    ) -> Result<OutOfLine, Abort> {
        let unplaced = OutOfLine { ptr: 0, bytes, version };
        let words = value_layout(&self.env, unplaced).piece_words();
        let server = self.home_of(access).region().server();
        let table = self.open.table_mut(access.table);
        let pool = table.values_on(server);
        let piece = pool.allocate(&self.env, &self.shared.pieces, words).await?;
        Ok(OutOfLine { ptr: piece.word(), ..unplaced })
    }

    /// The row's address, or the block of its slot.
    fn home_of(&self, access: &Access) -> GlobalPtr {
        match access.row.is_null() {
            true => self.writes.block_of(access.place.slot()),
            false => access.row,
        }
    }

    /// The place in `image` of the cell of a column out of line, by its position among these.
    pub(super) fn long_cell(&self, access: &Access, image: Span, position: usize) -> LongCell {
        let info = self.open.info(access.table);
        let column = info.schema.long_columns()[position];
        let bytes = info.schema.long_cell(column).expect("the column is kept out of line");
        let (at, words) = (image.at + info.row.payload(), info.row.payload_words);
        LongCell { payload: Span { at, words }, bytes }
    }

    /// The reference of a cell, that of an empty value if its value is in the row.
    pub(super) fn reference(&self, cell: &LongCell) -> OutOfLine {
        let payload: &[u8] = cast_slice(self.txn.batch.words(cell.payload));
        reference_in(&payload[cell.bytes.clone()])
    }

    /// Calls `visit` with the number of each staged value that the changed row of `access` has.
    pub(crate) fn staged_in(&self, access: &Access, mut visit: impl FnMut(usize)) {
        for position in 0..self.open.info(access.table).schema.long_columns().len() {
            let cell = self.long_cell(access, access.fresh, position);
            self.reference(&cell).staged_number().into_iter().for_each(&mut visit);
        }
    }

    /// Posts the values: before the rows, in batch 2.
    #[cold]
    pub(super) fn install_values(&mut self, batch: &mut Batch) {
        for &PlacedValue { number, stored, .. } in &self.writes.placed {
            let span = batch.reserve(value_layout(&self.env, stored).words());
            let data = self.txn.stage.words(number);
            let image = batch.words_mut(span);
            image[0] = 0;
            image[VERSION as usize] = stored.version.word();
            image[BYTES as usize] = stored.bytes;
            image[DATA as usize..][..data.len()].copy_from_slice(data);
            batch.write_row(GlobalPtr::from_word(stored.ptr), span, LINK, Cover::All);
        }
    }

    /// Frees the values of an aborted commit, which nothing refers to.
    #[cold]
    pub(super) fn free_placed_values(&mut self) {
        for PlacedValue { table, stored, .. } in std::mem::take(&mut self.writes.placed) {
            self.free_value(table, stored);
        }
    }

    /// Enqueues the values that the newest version no longer refers to.
    #[cold]
    pub(crate) fn enqueue_values(&mut self, access: &Access, successor: VersionWord) {
        if access.absence != crate::read::access::Absence::None {
            // A new row had no values; those of a tombstone were enqueued by the deletion.
            return;
        }
        for position in 0..self.open.info(access.table).schema.long_columns().len() {
            let old = self.reference(&self.long_cell(access, access.image, position));
            let is_kept = access.state == State::Updated
                && self.reference(&self.long_cell(access, access.fresh, position)) == old;
            if old.stored().is_some() && !is_kept {
                self.garbage.retired.push_back(Retired::value(access, successor, old));
            }
        }
    }

    /// Frees a value that no snapshot needs.
    pub(crate) fn free_value(&mut self, table: TableId, value: OutOfLine) {
        let Some(piece) = value.stored() else { return };
        let server = piece.region().server();
        if let Some(table) = self.open.tables[table.position()].as_mut() {
            let words = value_layout(&self.env, value).piece_words();
            table.values_on(server).free(&self.env, &self.shared.pieces, piece, words);
        }
    }
}

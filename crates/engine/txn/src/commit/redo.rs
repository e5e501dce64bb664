//! The commit's entry in the redo log: the after-images of all rows of the write set, of updates
//! the columns that have changed.
//!
//! The entry is appended between the last moment to abort and the first write that others can see.
//! Earlier, it could be of a transaction that aborts, whose number a later commit of the lane
//! covers; later, a group's snapshot could cover a commit whose entry the group does not have.
//!
//! Decision: docs/decisions/0301-a-redo-entry-is-appended-at-the-point-of-no-return.md

use super::PlacedValue;
use crate::catalog::TableId;
use crate::lane::LaneInner;
use crate::read::access::{Access, State};
use fabric::{Env, Span};
use layout::{VersionWord, for_changed_columns};
use redo_log::entry::Columns;
use redo_log::{Change, Image, Row};

impl<E: Env> LaneInner<E> {
    /// Appends the entry, if the database has a redo log.
    #[inline(always)]
    pub(super) fn append_redo(&mut self, timestamp: VersionWord) {
        if self.redo.is_some() {
            self.append_after_images(timestamp);
        }
    }

    #[inline(never)]
    fn append_after_images(&mut self, timestamp: VersionWord) {
        let Some(mut lane) = self.redo.take() else { return };
        let mut image = std::mem::take(&mut self.scratch.image);
        let mut placed = self.writes.placed.iter();
        let mut entry = lane.begin(timestamp);
        for &id in &self.writes.rows {
            let access = self.txn.accesses[id];
            let info = self.open.info(access.table);
            let change = match access.state {
                State::Deleted => Change::Delete,
                State::Inserted => Change::Insert,
                _ => Change::Update,
            };
            let image = match change {
                Change::Delete => Image::None,
                Change::Update if self.changed_columns(&access, &mut image) => {
                    Image::Columns(Columns::of(&image).expect("they were just encoded"))
                }
                _ if info.has_long_columns => {
                    self.long_image(&access, timestamp, &mut placed, &mut image);
                    Image::Whole(&image)
                }
                _ => Image::Whole(self.payload(access.table, access.fresh)),
            };
            let key = self.txn.batch.words(self.txn.key(id, info.row.key_words));
            entry.row(&Row {
                table: access.table.0,
                key: bytemuck::cast_slice(key),
                replaces: if access.is_new() { VersionWord::NONE } else { access.version },
                change,
                image,
            });
        }
        entry.finish();
        (self.redo, self.scratch.image) = (Some(lane), image);
    }

    fn payload_words(&self, table: TableId, row: Span) -> &[u64] {
        let layout = &self.open.info(table).row;
        self.txn.batch.words(Span { at: row.at + layout.payload(), words: layout.payload_words })
    }

    fn payload(&self, table: TableId, row: Span) -> &[u8] {
        bytemuck::cast_slice(self.payload_words(table, row))
    }

    /// Encodes the columns that an update has changed, unless the whole payload is smaller or a
    /// value out of line is among them.
    fn changed_columns(&self, access: &Access, image: &mut Vec<u8>) -> bool {
        let before = self.payload_words(access.table, access.image);
        let after = self.payload_words(access.table, access.fresh);
        image.clear();
        let schema = &self.open.info(access.table).schema;
        let is_in_row = for_changed_columns(schema, before, after, |column, value| {
            Columns::append(image, column, value);
        });
        is_in_row && image.len() < 8 * after.len()
    }

    /// The payload, then the bytes of the long values that this commit stores: those whose
    /// reference has its timestamp, in the order of the columns. The other references are those of
    /// the replaced version, which has their values. `placed` has the values in the same order.
    fn long_image<'a>(
        &self,
        access: &Access,
        timestamp: VersionWord,
        placed: &mut impl Iterator<Item = &'a PlacedValue>,
        image: &mut Vec<u8>,
    ) {
        image.clear();
        image.extend_from_slice(self.payload(access.table, access.fresh));
        for position in 0..self.open.info(access.table).schema.long_columns().len() {
            let reference = self.reference(&self.long_cell(access, access.fresh, position));
            if reference.version != timestamp {
                continue;
            }
            let value = placed.next().expect("the commit has placed what it refers to");
            debug_assert!(value.stored == reference, "values are placed in the order of rows");
            image.extend_from_slice(self.txn.stage.bytes(value.number));
        }
    }
}

//! The commit's entry in the redo log: the after-images of all rows of the write set.
//!
//! The entry is appended between the last moment to abort and the first write that others can see.
//! Earlier, it could be of a transaction that aborts, whose number a later commit of the lane
//! covers; later, a group's snapshot could cover a commit whose entry the group does not have.
//!
//! Decision: docs/decisions/0301-a-redo-entry-is-appended-at-the-point-of-no-return.md

use crate::lane::LaneInner;
use crate::read::access::{Access, State};
use fabric::{Env, Span};
use layout::row::{KEY, VERSION};
use layout::value::REFERENCE_WORDS;
use layout::{OutOfLine, VersionWord};
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
        let mut entry = lane.begin(timestamp);
        for &access in &self.writes.rows {
            let access = self.txn.accesses[access];
            image.clear();
            self.append_image(&access, timestamp, &mut image);
            let before = if access.is_new() { access.fresh } else { access.image };
            let key_words = self.open.info(access.table).row.key_words;
            let key = Span { at: before.at + KEY, words: key_words };
            let (change, image) = match access.state {
                State::Deleted => (Change::Delete, Image::None),
                State::Inserted => (Change::Insert, Image::Whole(&image[..])),
                _ => (Change::Update, Image::Whole(&image[..])),
            };
            entry.row(&Row {
                table: access.table.0,
                key: bytemuck::cast_slice(self.txn.batch.words(key)),
                replaces: self.replaced(&access),
                change,
                image,
            });
        }
        entry.finish();
        (self.redo, self.scratch.image) = (Some(lane), image);
    }

    /// The version that a row had before, with the mark of a tombstone.
    fn replaced(&self, access: &Access) -> VersionWord {
        match access.is_new() {
            true => VersionWord::NONE,
            false => VersionWord::from_word(self.txn.batch.word(access.image.at + VERSION)),
        }
    }

    /// The payload's words, then the bytes of the long values that this commit stores: those whose
    /// reference has its timestamp, in the order of the columns. The other references are those of
    /// the replaced version, which has their values.
    fn append_image(&self, access: &Access, timestamp: VersionWord, image: &mut Vec<u8>) {
        if access.state == State::Deleted {
            return;
        }
        let info = self.open.info(access.table);
        let payload =
            Span { at: access.fresh.at + info.row.payload(), words: info.row.payload_words };
        image.extend_from_slice(bytemuck::cast_slice(self.txn.batch.words(payload)));
        if !info.has_long_columns {
            return;
        }
        for &column in info.schema.long_columns() {
            let word = info.schema.long_word(column).expect("the column is kept out of line");
            let span = Span { at: payload.at + word as u32, words: REFERENCE_WORDS };
            let words = self.txn.batch.words(span).try_into().expect("a reference's words");
            let stored = OutOfLine::from_words(words);
            if stored.version != timestamp {
                continue;
            }
            let placed = self.writes.placed.iter().find(|placed| placed.stored == stored);
            let number = placed.expect("the commit has placed what it refers to").number;
            image.extend_from_slice(self.txn.stage.bytes(number));
        }
    }
}

//! Reads the rows of buckets and of their overflow chains: those of several buckets in the same
//! round trips.

use crate::abort::TxnError;
use crate::catalog::TableId;
use crate::lane::LaneInner;
use fabric::{Env, Mutant, Span};
use layout::GlobalPtr;
use layout::bucket;
use layout::row::{Cover, KEY};

/// A row that a visit reads.
#[derive(Clone, Copy)]
pub(super) struct Posted {
    pub(super) row: GlobalPtr,
    /// Its words in the arena.
    pub(super) span: Span,
    /// The key in its slot.
    pub(super) key_at: u32,
}

impl<E: Env> LaneInner<E> {
    /// Reads the insert words of buckets whose slots will be read, if the transaction validates.
    /// They need a round trip of their own: in the same read they could be newer than tags and
    /// link.
    pub(super) async fn read_witnesses(
        &mut self,
        readings: &mut [Reading],
    ) -> Result<(), TxnError> {
        if !self.txn.serializable {
            return Ok(());
        }
        self.txn.batch.clear_verbs();
        let word = |reading: &Reading| reading.bucket.add_words(u64::from(bucket::INSERT));
        let read = |reading: &Reading| self.txn.batch.read(word(reading), 1);
        let inserts: Vec<Span> = readings.iter().map(read).collect();
        self.execute().await?;
        for (reading, insert) in readings.iter_mut().zip(inserts) {
            reading.insert = self.txn.batch.words(insert)[0];
        }
        Ok(())
    }

    /// Reads the rows of the used slots of all blocks: those of the first blocks together, then
    /// those of the next blocks, and so on.
    pub(super) async fn read_chains(
        &mut self,
        table: TableId,
        hash: &index::hash::HashTable,
        readings: &mut [Reading],
    ) -> Result<(), TxnError> {
        loop {
            let has_block = |reading: &&mut Reading| !reading.block.is_null();
            self.txn.batch.clear_verbs();
            let mut headers = Vec::with_capacity(readings.len());
            for reading in readings.iter_mut().filter(has_block) {
                headers.push(self.txn.batch.read(reading.block, bucket::SLOTS));
            }
            if headers.is_empty() {
                return Ok(());
            }
            self.execute().await?;
            self.txn.batch.clear_verbs();
            for (reading, &header) in readings.iter_mut().filter(has_block).zip(&headers) {
                reading.first.get_or_insert(header);
                self.post_slots(table, hash, reading, header);
            }
            if !self.txn.batch.is_empty() {
                self.execute().await?;
            }
            if !hash.rows {
                self.read_rows_outside(table, readings).await?;
            }
            for (reading, header) in readings.iter_mut().filter(has_block).zip(headers) {
                reading.block = GlobalPtr::from_word(self.txn.batch.word(header.at + bucket::LINK));
                reading.slots = hash.layout.overflow_slots;
            }
        }
    }

    /// Posts reads of the used slots of a block whose header was read.
    fn post_slots(
        &mut self,
        table: TableId,
        hash: &index::hash::HashTable,
        reading: &mut Reading,
        header: Span,
    ) {
        reading.known = reading.rows.len();
        let tags = self.txn.batch.word(header.at + bucket::TAGS);
        let words = self.open.info(table).row.words();
        let slots = reading.slots;
        for n in (0..slots).filter(|&n| bucket::tag_of(slots, tags, n) != 0) {
            let slot = reading.block.add_words(u64::from(hash.layout.slot(n)));
            let span = match hash.rows {
                true => self.txn.batch.read_row(slot, words, Cover::AllButLink),
                false => self.txn.batch.read(slot, hash.layout.slot_words),
            };
            let key_at = span.at + if hash.rows { KEY } else { 1 };
            reading.rows.push(Posted { row: slot, span, key_at });
        }
    }

    /// Reads the rows to which the slots read last point.
    async fn read_rows_outside(
        &mut self,
        table: TableId,
        readings: &mut [Reading],
    ) -> Result<(), TxnError> {
        let words = self.open.info(table).row.words();
        self.txn.batch.clear_verbs();
        let takes_null = self.env.mutant(Mutant::ReadTrustSlotKey);
        for reading in readings.iter_mut() {
            let mut known = reading.known;
            let unread = known..reading.rows.len();
            for n in unread {
                let Posted { span, key_at, .. } = reading.rows[n];
                let row = GlobalPtr::from_word(self.txn.batch.word(span.at));
                if row.is_null() && !takes_null {
                    // The slot is being emptied.
                    reading.has_null = true;
                    continue;
                }
                let span = self.txn.batch.read_row(row, words, Cover::AllButLink);
                reading.rows[known] = Posted { row, span, key_at };
                known += 1;
            }
            reading.rows.truncate(known);
            reading.known = known;
        }
        if !self.txn.batch.is_empty() {
            self.execute().await?;
        }
        Ok(())
    }
}

/// A bucket that a visit reads.
pub(super) struct Reading {
    pub(super) number: u64,
    pub(super) bucket: GlobalPtr,
    /// Its insert word, read before anything else, if the transaction validates.
    pub(super) insert: u64,
    /// Its header, read before any slot.
    pub(super) first: Option<Span>,
    /// The block to read next (null behind the last), and the block's number of slots.
    block: GlobalPtr,
    slots: u32,
    pub(super) rows: Vec<Posted>,
    /// Number of rows of the previous blocks.
    known: usize,
    /// Whether a slot had no pointer.
    pub(super) has_null: bool,
}

impl Reading {
    pub(super) fn new(number: u64, bucket: GlobalPtr, hash: &index::hash::HashTable) -> Self {
        let (block, slots) = (bucket, hash.layout.slots);
        let (insert, first, rows, known, has_null) = (0, None, Vec::new(), 0, false);
        Self { number, bucket, insert, first, block, slots, rows, known, has_null }
    }
}

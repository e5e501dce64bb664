//! The context of a call.
//!
//! Decision: docs/decisions/0197-generated-code-does-the-common-case-and-leaves-the-rest.md

use crate::results::Results;
use fabric::Env;
use layout::{Key, KeyBuilder};
use std::cell::Cell;
use txn::{RowId, Scan, TableId, Transaction};

/// Low bits of hidden keys, which are counted up; the high bits are random.
const DRAWN_COUNT_BITS: u32 = 32;

/// A running call.
pub struct Call<'a, 'lane, E: Env> {
    pub txn: &'a mut Transaction<'lane, E>,
    /// Buffers that calls reuse.
    pub scratch: &'a mut Scratch,
    /// The rows that the call returns.
    pub results: &'a mut Results,
    /// Reading of the clock at 2000-01-01 UTC, in microseconds.
    epoch_us: i64,
    /// When the call began, cached at the first use.
    now_us: Cell<Option<i64>>,
}

impl<'a, 'lane, E: Env> Call<'a, 'lane, E> {
    /// Begins a call; the clock showed `epoch_us` microseconds at 2000-01-01 UTC.
    pub fn new(
        txn: &'a mut Transaction<'lane, E>,
        scratch: &'a mut Scratch,
        results: &'a mut Results,
        epoch_us: i64,
    ) -> Self {
        Self { txn, scratch, results, epoch_us, now_us: Cell::new(None) }
    }

    /// Returns when the call began, in microseconds since 2000-01-01 UTC. The clock is read at the
    /// first use, since most calls do not need it.
    #[inline]
    pub fn now_us(&self) -> i64 {
        let now_us = self.now_us.get();
        now_us.unwrap_or_else(|| {
            let now_us = (self.txn.env().now_ns() / 1_000) as i64 - self.epoch_us;
            self.now_us.set(Some(now_us));
            now_us
        })
    }
}

impl<E: Env> Call<'_, '_, E> {
    /// Returns the key of a new row of a table without a primary key. Keys start at a random number
    /// and count up, so that lanes do not collide. If the key exists, the call deviates, and the
    /// executor draws another one.
    #[inline]
    pub fn drawn_key(&mut self) -> Key {
        let before = self.scratch.drawn_key;
        let key = match before {
            Some(before) => before.wrapping_add(1),
            None => (self.txn.env().random() >> 1 >> DRAWN_COUNT_BITS << DRAWN_COUNT_BITS) as i64,
        };
        self.scratch.drawn_key = Some(key);
        KeyBuilder::new().int8(key).key()
    }
}

/// Buffers that calls reuse, so that they stop allocating once the buffers have grown.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Keys to read in one round trip.
    pub reads: Vec<(TableId, Key)>,
    /// The rows found for them.
    pub found: Vec<Option<RowId>>,
    /// Keys to insert in one round trip.
    pub inserts: Vec<(TableId, Key)>,
    /// The rows inserted for them.
    pub inserted: Vec<RowId>,
    /// Ranges to scan in one batch.
    pub scans: Vec<Scan>,
    /// The last key of a row of a table without a primary key.
    drawn_key: Option<i64>,
    rows: Vec<Vec<RowId>>,
    ranges: Vec<Vec<Vec<RowId>>>,
    lists_found: Vec<Vec<Option<RowId>>>,
    numbers: Vec<Vec<i64>>,
}

impl Scratch {
    /// Takes a list of rows, to be returned with [`Scratch::give_rows`]. If an error keeps it from
    /// being returned, the next call allocates a new one.
    #[inline]
    pub fn take_rows(&mut self) -> Vec<RowId> {
        self.rows.pop().unwrap_or_default()
    }

    #[inline]
    pub fn give_rows(&mut self, mut rows: Vec<RowId>) {
        rows.clear();
        self.rows.push(rows);
    }

    /// Takes a list of lists of rows, to be returned with [`Scratch::give_ranges`].
    #[inline]
    pub fn take_ranges(&mut self) -> Vec<Vec<RowId>> {
        self.ranges.pop().unwrap_or_default()
    }

    /// Returns a list of lists. The inner lists keep their content, and so their memory, until they
    /// are filled again.
    #[inline]
    pub fn give_ranges(&mut self, ranges: Vec<Vec<RowId>>) {
        self.ranges.push(ranges);
    }

    /// Takes a list for the rows found for keys.
    #[inline]
    pub fn take_found(&mut self) -> Vec<Option<RowId>> {
        self.lists_found.pop().unwrap_or_default()
    }

    #[inline]
    pub fn give_found(&mut self, mut found: Vec<Option<RowId>>) {
        found.clear();
        self.lists_found.push(found);
    }

    #[inline]
    pub fn take_numbers(&mut self) -> Vec<i64> {
        self.numbers.pop().unwrap_or_default()
    }

    #[inline]
    pub fn give_numbers(&mut self, mut numbers: Vec<i64>) {
        numbers.clear();
        self.numbers.push(numbers);
    }
}

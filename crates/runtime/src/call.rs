//! What a procedure is given for a call.

use crate::results::Results;
use fabric::Env;
use layout::{Key, KeyBuilder};
use std::cell::Cell;
use txn::{RowId, Scan, TableId, Transaction};

/// Low bits of drawn keys, which count.
const DRAWN_COUNT_BITS: u32 = 32;

/// A call under way.
pub struct Call<'a, 'lane, E: Env> {
    /// Its transaction.
    pub txn: &'a mut Transaction<'lane, E>,
    /// Memory that calls use again.
    pub scratch: &'a mut Scratch,
    /// The rows that it gives.
    pub results: &'a mut Results,
    /// What the clock is ahead of the year 2000, in microseconds.
    epoch_us: i64,
    /// When it began, once that was asked for.
    now_us: Cell<Option<i64>>,
}

impl<'a, 'lane, E: Env> Call<'a, 'lane, E> {
    /// A call that begins, where the clock is so many microseconds ahead of the year 2000.
    pub fn new(
        txn: &'a mut Transaction<'lane, E>,
        scratch: &'a mut Scratch,
        results: &'a mut Results,
        epoch_us: i64,
    ) -> Self {
        Self { txn, scratch, results, epoch_us, now_us: Cell::new(None) }
    }

    /// When it began, in microseconds since 2000-01-01 UTC: the same however often it is asked for. The clock is looked at the
    /// first time, since most calls do not ask.
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
    /// The key of a new row of a table without a primary key: keys begin at a drawn place and count from there, so that lanes
    /// do not meet. One that is there already deviates, and the executor draws another.
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

/// Memory that calls use again, so that they allocate nothing once it has grown.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Keys to read in one round trip.
    pub reads: Vec<(TableId, Key)>,
    /// What was found for them.
    pub found: Vec<Option<RowId>>,
    /// Keys to insert in one round trip.
    pub inserts: Vec<(TableId, Key)>,
    /// The rows that were inserted for them.
    pub inserted: Vec<RowId>,
    /// Ranges to scan together.
    pub scans: Vec<Scan>,
    /// The key that was drawn last for a row of a table without a primary key.
    drawn_key: Option<i64>,
    rows: Vec<Vec<RowId>>,
    ranges: Vec<Vec<Vec<RowId>>>,
    lists_found: Vec<Vec<Option<RowId>>>,
    numbers: Vec<Vec<i64>>,
}

impl Scratch {
    /// A list of rows, to be given back with [`Scratch::give_rows`]. One that an error keeps from coming back is lost to the
    /// next call, no more.
    #[inline]
    pub fn take_rows(&mut self) -> Vec<RowId> {
        self.rows.pop().unwrap_or_default()
    }

    /// Gives a list back.
    #[inline]
    pub fn give_rows(&mut self, mut rows: Vec<RowId>) {
        rows.clear();
        self.rows.push(rows);
    }

    /// A list of lists of rows, to be given back with [`Scratch::give_ranges`].
    #[inline]
    pub fn take_ranges(&mut self) -> Vec<Vec<RowId>> {
        self.ranges.pop().unwrap_or_default()
    }

    /// Gives a list of lists back. They keep what is in them, and so their memory, until they are filled again.
    #[inline]
    pub fn give_ranges(&mut self, ranges: Vec<Vec<RowId>>) {
        self.ranges.push(ranges);
    }

    /// A list of what was found for keys.
    #[inline]
    pub fn take_found(&mut self) -> Vec<Option<RowId>> {
        self.lists_found.pop().unwrap_or_default()
    }

    /// Gives a list back.
    #[inline]
    pub fn give_found(&mut self, mut found: Vec<Option<RowId>>) {
        found.clear();
        self.lists_found.push(found);
    }

    /// A list of numbers.
    #[inline]
    pub fn take_numbers(&mut self) -> Vec<i64> {
        self.numbers.pop().unwrap_or_default()
    }

    /// Gives a list back.
    #[inline]
    pub fn give_numbers(&mut self, mut numbers: Vec<i64>) {
        numbers.clear();
        self.numbers.push(numbers);
    }
}

//! List-append: short transactions that append unique values to lists and read whole lists,
//! recorded from the clients' view [Kingsbury and Alvaro 2020]. Its check is the judge of the crate
//! `check`, which is independent of this database.
//!
//! Few keys are in use at a time, so that transactions conflict. A full list is retired and a new
//! key takes its place, so lists are also created while others look for them. Read [`transaction`]
//! (the operations of sessions), [`crate::recording`] (the recorded histories), then `check` (the
//! final read and the verdict).
//!
//! Decision: docs/decisions/0065-the-judge-does-not-depend-on-the-engine.md

mod check;
pub mod transaction;

#[cfg(test)]
mod tests;

use crate::driver::{CheckResult, Finished, RunTotals, Workload};
use crate::error::WorkloadError;
use crate::loading::Numbered;
use crate::recording::Recordings;
use crate::verdicts::verdicts;
use fabric::Env;
use layout::{
    Column, ColumnType, Key, KeyBuilder, PhysicalDesign, RecordMut, RecordRef, Schema, Storage,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
pub use transaction::Terminal;
use txn::{Database, Isolation, Lane, TableId, TableSpec};

const TABLE: &str = "list";
const ELEMENTS: usize = 1;
/// The names of the transaction types.
pub const TYPES: [&str; 2] = ["append", "read"];
/// Bytes of an element in its list.
const ELEMENT_BYTES: u32 = 8;
/// Lists per transaction of the load.
const LOAD_BATCH: u64 = 64;
/// The largest number of elements of a list, limited by the size of a row.
pub const ELEMENTS_MAX: u32 = 128;
/// The largest number of operations of a transaction.
pub const OPERATIONS_MAX: u32 = 64;
/// Memory that is independent of the number of lists.
const BASE_BYTES: u64 = 64 << 20;
/// Memory of a list beside its elements, including old versions.
const LIST_BYTES: u64 = 256;

/// The parameters of the transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AppendConfig {
    /// Number of lists in use at a time.
    pub lists: u64,
    /// Appends to a list before another one replaces it; at most 128.
    pub elements: u32,
    /// The largest number of operations of a transaction, at least 1.
    pub operations: u32,
    /// Reads among the operations, in percent.
    pub read_percent: u32,
    /// The isolation level.
    pub isolation: Isolation,
    /// Number of recorded transactions, aborted attempts included; later transactions only read.
    pub recorded: u64,
}

impl Default for AppendConfig {
    fn default() -> Self {
        Self {
            lists: 20,
            elements: 32,
            operations: 4,
            read_percent: 50,
            isolation: Isolation::Snapshot,
            recorded: 200_000,
        }
    }
}

/// The workload. Its clones share their lists and recordings.
#[derive(Clone, Debug)]
pub struct Append {
    config: AppendConfig,
    /// For each place in use, how often it has got a new list.
    generations: Arc<Vec<AtomicU64>>,
    recordings: Recordings,
}

impl Append {
    /// The workload of a configuration; an error if the configuration is invalid.
    pub fn new(config: AppendConfig) -> Result<Self, WorkloadError> {
        let refuse = |sentence: String| Err(WorkloadError::Configuration(sentence));
        let AppendConfig { lists, elements, operations, read_percent, .. } = config;
        if !(1..=1 << 20).contains(&lists) {
            return refuse(format!("{lists} lists: from 1 to {} can be in use", 1 << 20));
        }
        if !(1..=ELEMENTS_MAX).contains(&elements) {
            return refuse(format!("{elements} elements: a list has room for 1 to {ELEMENTS_MAX}"));
        }
        if !(1..=OPERATIONS_MAX).contains(&operations) {
            let sentence =
                format!("{operations} operations: a transaction has 1 to {OPERATIONS_MAX}");
            return refuse(sentence);
        }
        if read_percent > 100 {
            return refuse(format!("{read_percent} percent of reads are more than all"));
        }
        let generations = Arc::new((0..lists).map(|_| AtomicU64::new(0)).collect());
        Ok(Self { config, generations, recordings: Recordings::default() })
    }

    pub fn config(&self) -> &AppendConfig {
        &self.config
    }

    /// The recorded histories of its sessions.
    pub fn recordings(&self) -> &Recordings {
        &self.recordings
    }

    /// The judge's verdict on the recorded histories.
    pub fn verdicts(&self) -> Vec<CheckResult> {
        verdicts(&self.recordings.history(), self.config.isolation)
    }

    /// The list that currently has this place.
    fn list_at(&self, place: u64) -> u64 {
        place + self.config.lists * self.generations[place as usize].load(Relaxed)
    }

    /// Replaces a full list by a new one at its place.
    fn replace(&self, list: u64) {
        let (place, generation) = (list % self.config.lists, list / self.config.lists);
        // Another session may have replaced it already.
        let _ = self.generations[place as usize].compare_exchange(
            generation,
            generation + 1,
            Relaxed,
            Relaxed,
        );
    }

    fn table<E: Env>(&self, database: &Database<E>) -> Result<TableId, WorkloadError> {
        database.table(TABLE).ok_or(WorkloadError::NoTable(TABLE))
    }
}

impl<E: Env> Workload<E> for Append {
    type Terminal = Terminal;

    fn name(&self) -> &'static str {
        "append"
    }

    fn transaction_types(&self) -> &'static [&'static str] {
        &TYPES
    }

    fn table_names(&self) -> &'static [&'static str] {
        &[TABLE]
    }

    fn load_rows(&self) -> u64 {
        self.config.lists
    }

    fn load_parts(&self) -> u64 {
        self.config.lists.div_ceil(LOAD_BATCH)
    }

    fn memory_bytes(&self) -> u64 {
        let list_bytes = LIST_BYTES + u64::from(self.config.elements * ELEMENT_BYTES);
        let appends = self.config.recorded.saturating_mul(u64::from(self.config.operations));
        let lists = self.config.lists.saturating_add(appends / u64::from(self.config.elements));
        BASE_BYTES.saturating_add(lists.saturating_mul(2 * list_bytes))
    }

    async fn create_tables(&self, database: &Database<E>) -> Result<(), WorkloadError> {
        let elements = ColumnType::Bytes(self.config.elements * ELEMENT_BYTES);
        let columns =
            vec![Column::new("l_id", ColumnType::Int8), Column::new("l_elements", elements)];
        let schema = Schema::new(TABLE, columns, &[0])?;
        let design = PhysicalDesign {
            storage: Storage::HashInlined,
            size_hint: self.config.lists,
            ..PhysicalDesign::default()
        };
        database.create_table(TableSpec { schema, design, indexes: vec![] }).await?;
        Ok(())
    }

    async fn load_part(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        part: u64,
        parts: u64,
        progress: &dyn Fn(u64),
    ) -> Result<(), WorkloadError> {
        let (table, rows) = (self.table(database)?, self.config.lists);
        let lists = Numbered { table, rows, batch: LOAD_BATCH };
        let empty = |_: u64, row: &mut RecordMut<'_>| row.set_bytes(ELEMENTS, &[]);
        lists.load_part(lane, (part, parts), progress, key, empty).await
    }

    fn terminal(
        &self,
        database: &Database<E>,
        thread: u32,
        threads: u32,
        seed: u64,
    ) -> Result<Terminal, WorkloadError> {
        Ok(Terminal::new(self, self.table(database)?, (thread, threads), seed))
    }

    async fn run_one(
        &self,
        lane: &mut Lane<E>,
        terminal: &mut Terminal,
    ) -> Result<Finished, WorkloadError> {
        terminal.run_one(lane).await
    }

    fn take_part(&self, part: u32, _parts: u32) {
        // The process that checks for all records its final read as part 0.
        self.recordings.take_part(part + 1);
    }

    fn testimony(&self) -> String {
        self.recordings.testimony()
    }

    fn hear(&self, testimony: &str) -> Result<(), WorkloadError> {
        self.recordings.hear(testimony)
    }

    async fn check(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        _totals: &RunTotals,
        _after_load: bool,
    ) -> Result<Vec<CheckResult>, WorkloadError> {
        check::check(self, lane, self.table(database)?).await
    }
}

fn key(list: u64) -> Key {
    KeyBuilder::new().int8(list as i64).key()
}

/// The elements of a list's row.
fn elements(row: RecordRef<'_>, elements: &mut Vec<i64>) {
    let (words, rest) = row.bytes(ELEMENTS).as_chunks::<8>();
    debug_assert!(rest.is_empty());
    elements.clear();
    elements.extend(words.iter().map(|word| i64::from_le_bytes(*word)));
}

/// Appends an element to a list's row.
fn append(row: &mut RecordMut<'_>, list: &[i64], value: i64) {
    let mut bytes = [0; (ELEMENTS_MAX * ELEMENT_BYTES) as usize];
    let values = list.iter().chain([&value]);
    for (word, value) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(values) {
        *word = value.to_le_bytes();
    }
    row.set_bytes(ELEMENTS, &bytes[..(list.len() + 1) * ELEMENT_BYTES as usize]);
}

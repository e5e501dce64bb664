//! YCSB [Cooper et al. 2010]: records of ten fields, read and updated with a skew; and its
//! multi-operation form, in which a transaction operates on several records.
//!
//! Every update reads the record, increments its counter and rewrites one field, so that lost
//! updates show in the sum of the counters and torn records in their fields. Read [`config`],
//! [`generator`] (the choice of records), [`record`] (their contents), [`transaction`].

pub mod config;
pub mod generator;
pub mod record;
pub mod transaction;

mod check;
mod tally;
#[cfg(test)]
mod tests;

use crate::driver::{CheckResult, Finished, RunTotals, Workload};
use crate::error::WorkloadError;
use crate::loading::Numbered;
pub use config::{Distribution, Letter, Mix, YcsbConfig, YcsbConfigError};
use fabric::Env;
use generator::{Generator, Population};
use layout::RecordMut;
use std::sync::Arc;
use tally::{Tallies, Writes};
pub use transaction::Terminal;
use txn::{Database, Lane, TableId};

const TABLES: &[&str] = &[record::TABLE];
/// The names of the transaction types.
pub const TYPES: &[&str] = &["read", "update", "insert", "scan", "multi_operation"];
/// Rows per transaction of the load.
const LOAD_ROWS: u64 = 64;
/// Memory that is independent of the number of records.
const BASE_BYTES: u64 = 32 << 20;
/// Bytes of a slot beside its record, including a bucket's header and old versions.
const SLOT_OVERHEAD_BYTES: u64 = 64;

#[derive(Clone, Debug)]
pub struct Ycsb {
    config: YcsbConfig,
    generator: Generator,
    population: Arc<Population>,
    tallies: Tallies,
}

impl Ycsb {
    /// The workload of a configuration; an error if the configuration is invalid.
    pub fn new(config: YcsbConfig) -> Result<Self, WorkloadError> {
        config.validate().map_err(|error| WorkloadError::Configuration(error.to_string()))?;
        let population = Arc::new(Population::new(config.records));
        let generator = Generator::new(&config, population.clone());
        Ok(Self { config, generator, population, tallies: Tallies::default() })
    }

    pub fn config(&self) -> &YcsbConfig {
        &self.config
    }

    fn table<E: Env>(&self, database: &Database<E>) -> Result<TableId, WorkloadError> {
        database.table(record::TABLE).ok_or(WorkloadError::NoTable(record::TABLE))
    }
}

impl<E: Env> Workload<E> for Ycsb {
    type Terminal = Terminal;

    fn name(&self) -> &'static str {
        "ycsb"
    }

    fn transaction_types(&self) -> &'static [&'static str] {
        TYPES
    }

    fn table_names(&self) -> &'static [&'static str] {
        TABLES
    }

    fn load_rows(&self) -> u64 {
        self.config.records
    }

    fn load_parts(&self) -> u64 {
        self.config.records.div_ceil(LOAD_ROWS)
    }

    /// Twice the records, for old versions and inserts, and the slots around them.
    fn memory_bytes(&self) -> u64 {
        let record = u64::from(self.config.record_bytes) + 16;
        let records = self.config.records.saturating_mul(2 * record + SLOT_OVERHEAD_BYTES);
        BASE_BYTES.saturating_add(records)
    }

    async fn create_tables(&self, database: &Database<E>) -> Result<(), WorkloadError> {
        database.create_table(record::table_spec(&self.config)?).await?;
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
        let (table, rows) = (self.table(database)?, self.config.records);
        let records = Numbered { table, rows, batch: LOAD_ROWS };
        let fill = |number: u64, row: &mut RecordMut<'_>| record::fill(row, &self.config, number);
        records.load_part(lane, (part, parts), progress, record::key, fill).await
    }

    fn terminal(
        &self,
        database: &Database<E>,
        thread: u32,
        _threads: u32,
        seed: u64,
    ) -> Result<Terminal, WorkloadError> {
        Ok(Terminal::new(self, self.table(database)?, thread, seed))
    }

    async fn run_one(
        &self,
        lane: &mut Lane<E>,
        terminal: &mut Terminal,
    ) -> Result<Finished, WorkloadError> {
        terminal.run_one(lane).await
    }

    fn take_part(&self, part: u32, parts: u32) {
        self.population.share(part, parts);
    }

    fn testimony(&self) -> String {
        self.tallies.sum().to_text()
    }

    fn hear(&self, testimony: &str) -> Result<(), WorkloadError> {
        self.tallies.open().take(&Writes::from_text(testimony)?);
        Ok(())
    }

    async fn check(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        _totals: &RunTotals,
        _after_load: bool,
    ) -> Result<Vec<CheckResult>, WorkloadError> {
        let table = self.table(database)?;
        check::check(lane, table, &self.config, &self.tallies.sum()).await
    }
}

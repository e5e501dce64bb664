//! TATP [TATP]: the home location register of a mobile phone network, with four tables around the
//! subscriber and seven short transactions; four of five transactions only read.
//!
//! Read [`config`], [`schema`], [`tables`] (physical design), [`population`], [`load`]; [`nurand`],
//! [`input`], [`terminal`], then the transactions: [`reads`], [`updates`], [`forwarding`];
//! [`check`], with the data that terminals record for it: [`journal`], and [`witness`] in recorded
//! runs.
//!
//! A transaction may fail by the specification's rules: types and times are drawn independently of
//! the existing rows. It then ends as [`crate::TransactionResult::RolledBack`], separate from
//! aborts, and is not retried.

mod check;
mod config;
mod forwarding;
mod input;
mod journal;
mod keys;
mod load;
mod nurand;
mod population;
mod reads;
mod schema;
mod tables;
mod terminal;
#[cfg(test)]
mod tests;
mod updates;
mod witness;

pub use config::{SUBSCRIBERS_MAX, TatpConfig};
pub use input::{Input, Kind};
pub use load::{load_subscribers, write_again};
pub use tables::{TABLE_NAMES, Tables, create_set};
pub use terminal::Terminal;

use crate::driver::{CheckResult, Finished, RunTotals, Workload};
use crate::error::WorkloadError;
use crate::recording::Recordings;
use crate::verdicts::verdicts;
use fabric::Env;
use journal::Journal;
use txn::{Database, Lane};

/// The names of the transaction types.
pub const TYPES: [&str; 7] = {
    let mut names = [""; 7];
    let mut index = 0;
    while index < names.len() {
        names[index] = Kind::MIX[index].0.name();
        index += 1;
    }
    names
};

/// The workload. Its clones share the data that terminals record for the checks.
#[derive(Clone, Debug)]
pub struct Tatp {
    config: TatpConfig,
    journal: Journal,
    recordings: Recordings,
}

impl Tatp {
    /// The workload of a configuration; an error if the configuration is invalid.
    pub fn new(config: TatpConfig) -> Result<Self, WorkloadError> {
        match config.problem() {
            None => {
                Ok(Self { config, journal: Journal::default(), recordings: Recordings::default() })
            }
            Some(sentence) => Err(WorkloadError::Configuration(sentence)),
        }
    }

    pub fn config(&self) -> &TatpConfig {
        &self.config
    }

    /// The recorded histories of its sessions, in a recorded run.
    pub fn recordings(&self) -> &Recordings {
        &self.recordings
    }

    /// The judge's verdict on the recorded histories; empty if the run is not recorded.
    pub fn verdicts(&self) -> Vec<CheckResult> {
        match self.config.recorded {
            true => verdicts(&self.recordings.history(), self.config.isolation),
            false => Vec::new(),
        }
    }
}

impl<E: Env> Workload<E> for Tatp {
    type Terminal = Terminal;

    fn name(&self) -> &'static str {
        "tatp"
    }

    fn transaction_types(&self) -> &'static [&'static str] {
        &TYPES
    }

    fn table_names(&self) -> &'static [&'static str] {
        &TABLE_NAMES
    }

    fn load_rows(&self) -> u64 {
        tables::load_rows(&self.config)
    }

    fn load_parts(&self) -> u64 {
        u64::from(self.config.subscribers).div_ceil(load::PART)
    }

    fn memory_bytes(&self) -> u64 {
        tables::memory_bytes(&self.config)
    }

    async fn create_tables(&self, database: &Database<E>) -> Result<(), WorkloadError> {
        tables::create(database, &self.config).await
    }

    async fn load_part(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        part: u64,
        parts: u64,
        progress: &dyn Fn(u64),
    ) -> Result<(), WorkloadError> {
        let tables = Tables::find(database)?;
        load::load_part(lane, &tables, &self.config, (part, parts), progress).await
    }

    fn terminal(
        &self,
        database: &Database<E>,
        thread: u32,
        _threads: u32,
        seed: u64,
    ) -> Result<Terminal, WorkloadError> {
        let tables = Tables::find(database)?;
        let (config, journal, recordings) = (self.config, &self.journal, &self.recordings);
        Ok(Terminal::new(config, tables, journal, recordings, thread, seed))
    }

    async fn run_one(
        &self,
        lane: &mut Lane<E>,
        terminal: &mut Terminal,
    ) -> Result<Finished, WorkloadError> {
        terminal.run_one(lane).await
    }

    fn testimony(&self) -> String {
        self.journal.testimony()
    }

    fn hear(&self, testimony: &str) -> Result<(), WorkloadError> {
        self.journal.hear(testimony)
    }

    async fn check(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        totals: &RunTotals,
        _after_load: bool,
    ) -> Result<Vec<CheckResult>, WorkloadError> {
        let tables = Tables::find(database)?;
        let Self { config, journal, recordings } = self;
        let mut results = check::check(lane, &tables, config, totals, journal, recordings).await?;
        results.extend(self.verdicts());
        Ok(results)
    }
}

//! TATP [TATP]: the home location register of a mobile phone network, four tables around the subscriber and seven
//! short transactions, four of five of which only read.
//!
//! To read it in order: [`config`], [`schema`], [`tables`] (physical design), [`population`], [`load`]; [`nurand`],
//! [`input`], [`terminal`], then the transactions: [`reads`], [`updates`], [`forwarding`]; [`check`], with what
//! terminals leave to it: [`journal`], and [`witness`] in runs that are recorded.
//!
//! A transaction may fail by the specification's rules: types and times are drawn without looking at what is there.
//! It then ends as [`crate::TransactionResult::RolledBack`], apart from aborts, and is not tried again.

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

/// The workload. Its clones share what terminals leave to the checks.
#[derive(Clone, Debug)]
pub struct Tatp {
    config: TatpConfig,
    journal: Journal,
    recordings: Recordings,
}

impl Tatp {
    /// The workload of a configuration, or why there is none.
    pub fn new(config: TatpConfig) -> Result<Self, WorkloadError> {
        match config.problem() {
            None => {
                Ok(Self { config, journal: Journal::default(), recordings: Recordings::default() })
            }
            Some(sentence) => Err(WorkloadError::Configuration(sentence)),
        }
    }

    /// What it runs.
    pub fn config(&self) -> &TatpConfig {
        &self.config
    }

    /// What its sessions have recorded, in a recorded run.
    pub fn recordings(&self) -> &Recordings {
        &self.recordings
    }

    /// The judge's verdict on what its sessions have recorded; nothing where nothing is recorded.
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

//! The `Workload` implementation of a folder: loads parts, opens terminals, and runs checks.

use super::Stored;
use crate::code::Code;
use crate::design;
use crate::empty::empty_table_warnings;
use crate::residence::{Residence, Resident};
use crate::shipping::Shipper;
use crate::terminal::Terminal;
use datagen::{Batches, LoadError, check_references, load_part};
use fabric::Env;
use layout::NodeId;
use std::sync::Arc;
use txn::{Database, Lane, TxnError};
use workload::{CheckResult, Finished, RunTotals, Workload, WorkloadError};

/// Rows per transaction of the load.
const LOAD_BATCH: usize = 100;
/// Maximal number of parts of a table's load.
const LOAD_PARTS: u64 = 1_000;

fn not_loaded(error: LoadError) -> WorkloadError {
    match error {
        // The attempts were given up: the message has the table and their number.
        LoadError::Aborted { reason, .. } if reason.is_retryable() => refused(error),
        LoadError::Statement(TxnError::Abort(reason)) | LoadError::Aborted { reason, .. } => {
            WorkloadError::Aborted(reason)
        }
        LoadError::Statement(error) => WorkloadError::Statement(error),
        LoadError::Value(error) => WorkloadError::Schema(error),
        LoadError::Unknown(_) => WorkloadError::Unknown("a transaction of the load"),
        other => refused(other),
    }
}

pub(super) fn refused(error: impl ToString) -> WorkloadError {
    WorkloadError::Configuration(error.to_string())
}

impl Stored {
    /// Loads one part of a table, given by position. Calls `progress` with the number of rows
    /// inserted since the last call.
    ///
    /// # Errors
    ///
    /// A row violates the schema, or memory servers are full.
    pub async fn load_table<E: Env>(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        table: usize,
        part: (u64, u64),
        progress: &dyn Fn(u64),
    ) -> Result<(), WorkloadError> {
        let population = &self.population;
        let batches = Batches { rows: LOAD_BATCH, leaf_rows: self.leaf_rows[table] };
        let loaded = load_part(population, database, lane, table, part, batches, progress);
        loaded.await.map_err(not_loaded)
    }
}

impl<E: Env> Workload<E> for Stored {
    type Terminal = Terminal;

    fn name(&self) -> &'static str {
        self.name
    }

    fn transaction_types(&self) -> &'static [&'static str] {
        self.procedures
    }

    fn table_names(&self) -> &'static [&'static str] {
        self.tables
    }

    fn load_rows(&self) -> u64 {
        self.row_count()
    }

    fn load_parts(&self) -> u64 {
        LOAD_PARTS
    }

    fn memory_bytes(&self) -> u64 {
        Self::memory_bytes(self, 1)
    }

    fn memory_bytes_on(&self, servers: u16) -> u64 {
        Self::memory_bytes(self, servers)
    }

    fn notes(&self, servers: usize) -> Vec<String> {
        let mut notes = empty_table_warnings(&self.ready, &self.load);
        notes.extend(design::notes(&self.design, &self.subject(), servers));
        notes
    }

    async fn create_tables(&self, database: &Database<E>) -> Result<(), WorkloadError> {
        match database.server_count() {
            1 => interpreter::create(database, &self.ready.catalog, &self.designs).await?,
            count => {
                let count = count.min(usize::from(layout::PARTS_MAX)) as u16;
                let servers: Vec<u16> = (0..count).collect();
                self.create_in_parts(database, &servers).await?;
            }
        }
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
        let part = (part, parts);
        for table in 0..self.tables.len() {
            self.load_table(database, lane, table, part, progress).await?;
        }
        Ok(())
    }

    async fn verify_part(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        part: u64,
        parts: u64,
    ) -> Result<(), WorkloadError> {
        for table in 0..self.tables.len() {
            let part = (part, parts);
            check_references(&self.population, database, lane, table, part, LOAD_BATCH)
                .await
                .map_err(not_loaded)?;
        }
        Ok(())
    }

    fn terminal(
        &self,
        database: &Database<E>,
        thread: u32,
        threads: u32,
        _seed: u64,
    ) -> Result<Terminal, WorkloadError> {
        let client = (u64::from(thread), u64::from(threads));
        let shipper = self.owners.clone().map(Shipper::new);
        let seed = self.population.scale().seed;
        let resident = self.residence.clone();
        let resident = resident.map(|residence| Resident::new(residence, seed, client.0));
        let callee = self.callee(database)?;
        Ok(Terminal::new(self.population.clone(), callee, client, resident, shipper))
    }

    async fn run_one(
        &self,
        lane: &mut Lane<E>,
        terminal: &mut Terminal,
    ) -> Result<Finished, WorkloadError> {
        terminal.run_one(lane).await
    }

    fn has_homes(&self, servers: usize) -> bool {
        servers > 1 && self.homes(servers).iter().any(Option::is_some)
    }

    fn settle(&mut self, own: &[u16], servers: usize, remote: f64) {
        self.residence = Some(Arc::new(Residence::new(self.homes(servers), own, remote)));
    }

    fn is_shipping(&self, servers: usize) -> bool {
        self.is_shipped(servers)
    }

    fn ship_to(&mut self, owners: Vec<Option<NodeId>>) {
        self.owners = Some(Self::owners(self, owners, self.code == Code::Plans, false));
    }

    fn outlives_owners(&self) -> bool {
        true
    }

    fn counts_from_load(&self) -> bool {
        false
    }

    fn skips_whole(&self) -> bool {
        true
    }

    async fn check(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        totals: &RunTotals,
        _after_load: bool,
    ) -> Result<Vec<CheckResult>, WorkloadError> {
        self.checks.judge(database, lane, totals).await
    }

    fn check_rows(&self, before: &[u64], now: &[u64], totals: &RunTotals) -> Vec<CheckResult> {
        self.row_counts.judge(before, now, totals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txn::Abort;

    /// Full memory is distinguished from conflicts with other loaders.
    #[test]
    fn a_load_that_is_given_up_says_of_which_table() {
        let aborted = |reason| {
            let (doing, table) = ("insert rows into", "book".to_owned());
            not_loaded(LoadError::Aborted { doing, table, attempts: 321, reason })
        };
        let said = aborted(Abort::InsertConflict).to_string();
        assert!(said.starts_with("321 attempts to insert rows into book "), "{said}");
        assert!(aborted(Abort::OutOfMemory).is_out_of_memory());
    }
}

//! SmallBank [Alomari et al. 2008]: six short transactions on customers' savings and checking
//! accounts, most of them on few customers.
//!
//! Three of the six are not serializable under snapshot isolation: [`write_skew`] shows it step by
//! step. Also read [`config`] (parameters, mix, inputs), [`tables`] and [`transaction`].

pub mod config;
pub mod tables;
pub mod transaction;
pub mod write_skew;

mod check;
mod ledger;
#[cfg(test)]
mod tests;

use crate::driver::{CheckResult, Finished, RunTotals, Workload};
use crate::error::WorkloadError;
use crate::loading;
use crate::testimony;
pub use config::{Input, Kind, SmallBankConfig, SmallBankConfigError};
use fabric::Env;
use ledger::Ledger;
pub use transaction::Terminal;
use txn::{Database, Lane, TableId};

/// The names of the transaction types.
pub const TYPES: [&str; 6] = {
    let mut names = [""; 6];
    let mut index = 0;
    while index < names.len() {
        names[index] = Kind::MIX[index].0.name();
        index += 1;
    }
    names
};
/// Customers per transaction of the load, each with a row in every table.
const LOAD_CUSTOMERS: u64 = 32;
/// Memory that is independent of the number of customers.
const BASE_BYTES: u64 = 32 << 20;
/// Bytes of a customer's three slots, including buckets and old versions, rounded up.
const CUSTOMER_BYTES: u64 = 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tables {
    /// The customers.
    pub accounts: TableId,
    pub savings: TableId,
    pub checking: TableId,
}

impl Tables {
    pub fn open<E: Env>(database: &Database<E>) -> Result<Self, WorkloadError> {
        let table = |name| database.table(name).ok_or(WorkloadError::NoTable(name));
        let [accounts, savings, checking] = tables::NAMES.map(table);
        Ok(Self { accounts: accounts?, savings: savings?, checking: checking? })
    }
}

#[derive(Clone, Debug)]
pub struct SmallBank {
    config: SmallBankConfig,
    ledger: Ledger,
}

impl SmallBank {
    /// The workload of a configuration; an error if the configuration is invalid.
    pub fn new(config: SmallBankConfig) -> Result<Self, WorkloadError> {
        config.validate().map_err(|error| WorkloadError::Configuration(error.to_string()))?;
        Ok(Self { config, ledger: Ledger::default() })
    }

    pub fn config(&self) -> &SmallBankConfig {
        &self.config
    }
}

impl<E: Env> Workload<E> for SmallBank {
    type Terminal = Terminal;

    fn name(&self) -> &'static str {
        "smallbank"
    }

    fn transaction_types(&self) -> &'static [&'static str] {
        &TYPES
    }

    fn table_names(&self) -> &'static [&'static str] {
        &tables::NAMES
    }

    fn load_rows(&self) -> u64 {
        self.config.customers * tables::NAMES.len() as u64
    }

    fn load_parts(&self) -> u64 {
        self.config.customers.div_ceil(LOAD_CUSTOMERS)
    }

    fn memory_bytes(&self) -> u64 {
        BASE_BYTES.saturating_add(self.config.customers.saturating_mul(CUSTOMER_BYTES))
    }

    async fn create_tables(&self, database: &Database<E>) -> Result<(), WorkloadError> {
        for index in 0..tables::NAMES.len() {
            database.create_table(tables::table_spec(index, self.config.customers)?).await?;
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
        let Tables { accounts, savings, checking } = Tables::open(database)?;
        let ids = [accounts, savings, checking];
        let customers = loading::share(self.config.customers, part, parts);
        for chunk in loading::chunks(customers, LOAD_CUSTOMERS) {
            let per_customer = ids.len();
            let rows = |customer| ids.map(|table| (table, tables::key(customer)));
            let keys: Vec<_> = chunk.clone().flat_map(rows).collect();
            loading::insert(lane, &keys, &mut |index, record| {
                let customer = chunk.start + (index / per_customer) as u64;
                tables::fill(record, index % per_customer, customer);
            })
            .await?;
            progress(keys.len() as u64);
        }
        Ok(())
    }

    fn terminal(
        &self,
        database: &Database<E>,
        thread: u32,
        _threads: u32,
        seed: u64,
    ) -> Result<Terminal, WorkloadError> {
        let tables = Tables::open(database)?;
        Ok(Terminal::new(self.config.clone(), tables, self.ledger.open(), thread, seed))
    }

    async fn run_one(
        &self,
        lane: &mut Lane<E>,
        terminal: &mut Terminal,
    ) -> Result<Finished, WorkloadError> {
        terminal.run_one(lane).await
    }

    fn testimony(&self) -> String {
        testimony::write(&[self.ledger.sum()])
    }

    fn hear(&self, testimony: &str) -> Result<(), WorkloadError> {
        let [cents] = testimony::read(testimony)?;
        self.ledger.open().book(cents);
        Ok(())
    }

    async fn check(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        totals: &RunTotals,
        _after_load: bool,
    ) -> Result<Vec<CheckResult>, WorkloadError> {
        let tables = Tables::open(database)?;
        check::check(lane, tables, &self.config, self.ledger.sum(), totals.unknown()).await
    }
}

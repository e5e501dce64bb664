//! TPC-C, revision 5.11 [TPC-C]: an order entry system of warehouses, districts and customers.
//!
//! It has all nine tables with their full population, all five transactions with their full
//! profiles, the standard mix, and no think times. Read [`scale`], [`schema`], [`tables`] (physical
//! design); [`load`]; [`input`], [`terminal`], then one file per transaction; [`check`].
//!
//! We deviate from the specification, as every published system does: terminals do not think and
//! serve several warehouses, and delivery runs at once.

mod check;
mod customer;
mod deck;
mod delivery;
mod input;
mod keys;
mod load;
mod new_order;
mod nurand;
mod order_status;
mod payment;
mod population;
mod scale;
mod schema;
mod stock_level;
mod tables;
mod terminal;
#[cfg(test)]
mod tests;
mod text;

pub use deck::{Deck, Mix, TRANSACTION_NAMES, TYPE_COUNT, TransactionType};
pub use input::{CustomerChoice, DeliveryInput, InputSource, ItemChoice, LineInput, NewOrderInput};
pub use input::{OrderStatusInput, PaymentInput, StockLevelInput};
pub use nurand::NurandConstants;
pub use scale::Scale;
pub use tables::TABLE_NAMES;
pub use terminal::{Screen, Terminal};
pub use text::last_name;

use crate::attempts::Attempts;
use crate::driver::{CheckResult, Finished, RunTotals, TransactionResult, Workload};
use crate::error::WorkloadError;
use fabric::Env;
use fabric::random::Zipf;
pub use tables::NodeBytes;
use tables::Partitions;
use terminal::Input;
use txn::{Database, Isolation, Lane, RowId};

/// The largest number of warehouses: their number has two bytes in every key.
pub const WAREHOUSES_MAX: u32 = i16::MAX as u32;
/// The unit of timestamps, in nanoseconds.
const TIMESTAMP_UNIT_NS: u64 = 1000;

/// The parameters of load and run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    pub warehouses: u32,
    /// Number of partitions of the warehouses, each with all tables on one memory server: the items
    /// are on each.
    pub partitions: u32,
    /// Whether rows keep the memory of their old versions, see
    /// [`layout::PhysicalDesign::keeps_versions`].
    pub keeps_versions: bool,
    /// The sizes of the nodes of its trees.
    pub node_bytes: NodeBytes,
    /// The amount of data per warehouse.
    pub scale: Scale,
    /// Shares of the transactions.
    pub mix: Mix,
    /// The percentage of new-orders that use another warehouse; `None` is the specification's one
    /// line in a hundred, which is one order in ten.
    pub distribution_percent: Option<u32>,
    /// The distribution of items in new-orders.
    pub item_choice: ItemChoice,
    /// The isolation level. Snapshot isolation suffices: TPC-C is serializable under it [Fekete et
    /// al. 2005].
    pub isolation: Isolation,
    /// Whether terminals remember up to which number they have delivered each district's orders.
    /// Otherwise a delivery passes the tombstones of all earlier ones that are not collected yet.
    pub remembers_deliveries: bool,
    /// Approximate back-off of a terminal after an aborted attempt, in nanoseconds, in addition to
    /// that of [`crate::attempts`]; 0: none. A terminal that retries before the winner's commit is
    /// visible loses to it again.
    pub pause_ns: u64,
    /// The seed of the population and of the constants that run and population must share.
    pub seed: u64,
}

impl Config {
    /// The specification's TPC-C with this many warehouses.
    pub fn new(warehouses: u32) -> Self {
        Self {
            warehouses,
            partitions: 1,
            keeps_versions: false,
            node_bytes: NodeBytes::LARGE,
            scale: Scale::FULL,
            mix: Mix::STANDARD,
            distribution_percent: None,
            item_choice: ItemChoice::Nurand,
            isolation: Isolation::Snapshot,
            remembers_deliveries: true,
            pause_ns: 0,
            seed: 1,
        }
    }

    /// The distribution of items, if it is Zipfian.
    fn zipf(&self) -> Option<Zipf> {
        match self.item_choice {
            ItemChoice::Zipf { theta_percent } => {
                let items = self.scale.items as u64;
                Some(Zipf::new(items, f64::from(theta_percent) / 100.0))
            }
            ItemChoice::Nurand | ItemChoice::Uniform => None,
        }
    }

    fn problem(&self) -> Option<String> {
        if self.warehouses == 0 || self.warehouses > WAREHOUSES_MAX {
            return Some(format!(
                "{} warehouses: 1 to {WAREHOUSES_MAX} are possible",
                self.warehouses
            ));
        }
        if self.partitions == 0 || !self.warehouses.is_multiple_of(self.partitions) {
            return Some(format!(
                "{} warehouses cannot be shared out evenly to {} partitions",
                self.warehouses, self.partitions
            ));
        }
        if !self.mix.is_complete() {
            return Some("the shares of the transactions must add up to 100 percent".to_owned());
        }
        if self.distribution_percent.is_some_and(|percent| percent > 100) {
            return Some("the degree of distribution is a share of at most 100 percent".to_owned());
        }
        self.scale.problem().map(str::to_owned)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Tpcc {
    config: Config,
}

impl Tpcc {
    /// The workload of a configuration; an error if the configuration is invalid.
    pub fn new(config: Config) -> Result<Self, WorkloadError> {
        match config.problem() {
            None => Ok(Self { config }),
            Some(sentence) => Err(WorkloadError::Configuration(sentence)),
        }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }
}

impl<E: Env> Workload<E> for Tpcc {
    type Terminal = Terminal;

    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn transaction_types(&self) -> &'static [&'static str] {
        &TRANSACTION_NAMES
    }

    fn table_names(&self) -> &'static [&'static str] {
        &TABLE_NAMES
    }

    fn load_rows(&self) -> u64 {
        TABLE_NAMES.iter().map(|table| tables::loaded_rows(table, &self.config)).sum()
    }

    fn load_parts(&self) -> u64 {
        u64::from(self.config.warehouses + self.config.partitions)
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
        let tables = Partitions::find(database, &self.config)?;
        load::load_part(lane, &tables, &self.config, (part, parts), progress).await
    }

    fn terminal(
        &self,
        database: &Database<E>,
        thread: u32,
        threads: u32,
        seed: u64,
    ) -> Result<Terminal, WorkloadError> {
        let tables = Partitions::find(database, &self.config)?;
        Terminal::new(&self.config, tables, thread, threads, seed)
    }

    async fn run_one(
        &self,
        lane: &mut Lane<E>,
        terminal: &mut Terminal,
    ) -> Result<Finished, WorkloadError> {
        let (kind, input) = terminal.draw();
        let mut attempts = Attempts::new();
        loop {
            let attempt = attempt(lane, terminal, &input).await;
            if let Some(result) = attempts.judge(lane.env(), attempt).await? {
                let skipped = match input {
                    Input::Delivery(_) => terminal.buffers.skipped,
                    _ => 0,
                };
                return Ok(attempts.finish(kind as usize, result, skipped));
            }
            if self.config.pause_ns > 0 {
                pause(lane.env(), self.config.pause_ns).await;
            }
        }
    }

    fn has_load_checks(&self) -> bool {
        true
    }

    async fn check(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        totals: &RunTotals,
        after_load: bool,
    ) -> Result<Vec<CheckResult>, WorkloadError> {
        let tables = Partitions::find(database, &self.config)?;
        check::check(lane, &tables, &self.config, totals, after_load).await
    }
}

/// Backs off for about `pause_ns`: at least half of it, with a random rest, so that two losers do
/// not collide again.
async fn pause<E: Env>(env: &E, pause_ns: u64) {
    env.sleep_ns(pause_ns / 2 + env.random() % pause_ns).await;
}

async fn attempt<E: Env>(
    lane: &mut Lane<E>,
    terminal: &mut Terminal,
    input: &Input,
) -> Result<TransactionResult, WorkloadError> {
    let isolation = terminal.config.isolation;
    match input {
        Input::NewOrder(input) => {
            let (tables, buffers) = (&terminal.tables, &mut terminal.buffers);
            new_order::new_order(lane, isolation, tables, buffers, input).await
        }
        Input::Payment(input) => {
            if terminal.history_next.is_none() {
                payment::continue_history(lane, terminal).await?;
            }
            payment::payment(lane, isolation, terminal, input).await
        }
        Input::OrderStatus(input) => {
            let tables = terminal.tables.of(input.warehouse);
            let buffers = &mut terminal.buffers;
            order_status::order_status(lane, isolation, tables, buffers, input).await
        }
        Input::Delivery(input) => delivery::delivery(lane, isolation, terminal, input).await,
        Input::StockLevel(input) => {
            let tables = terminal.tables.of(input.warehouse);
            let buffers = &mut terminal.buffers;
            stock_level::stock_level(lane, isolation, tables, buffers, input).await
        }
    }
}

/// The date of a transaction, in microseconds of the world's clock.
#[inline]
fn date_now<E: Env>(env: &E) -> i64 {
    (env.now_ns() / TIMESTAMP_UNIT_NS) as i64
}

/// A row that every loaded database has.
#[inline]
fn present(row: Option<RowId>, table: &'static str) -> Result<RowId, WorkloadError> {
    row.ok_or(WorkloadError::MissingRow { table })
}

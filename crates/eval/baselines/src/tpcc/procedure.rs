//! The transactions as a procedure of Trad-SI.

use super::delivery::Open;
use super::input::{Customer, Input, NewOrder, Payment};
use super::load::Loader;
use super::{Writes, delivery, keys, load, new_order, order_status, payment, stock_level};
use crate::message::Writer;
use crate::row_key::RowKey;
use crate::trad_si::cluster::Server;
use crate::trad_si::{Procedure, Stop, Transaction};
use fabric::Env;
use std::sync::Arc;
use workload::tpcc::Config;

#[derive(Clone, Copy, Debug)]
pub struct Tpcc {
    config: Config,
}

impl Tpcc {
    /// The transactions on the database that [`Tpcc::load`] loads.
    pub fn new(config: Config) -> Self {
        Self { config }
    }

    pub fn load(&self, servers: &[Arc<Server>]) {
        for (index, server) in servers.iter().enumerate() {
            load::items(&self.config, index as u32, &mut Owned(server));
        }
        for w in 1..=self.config.warehouses {
            let owner = keys::partition(w) as usize % servers.len();
            load::warehouse(&self.config, w, &mut Owned(&servers[owner]));
        }
    }
}

struct Owned<'a>(&'a Server);

impl Loader for Owned<'_> {
    fn row(&mut self, key: RowKey, content: Vec<u8>) {
        self.0.partition().load(key, content);
    }

    fn name(&mut self, partition: u32, name: &[u8], numbers: &[u64]) {
        let index = (partition, keys::CUSTOMER_NAME);
        let mut owned = self.0.partition();
        numbers.iter().for_each(|&number| owned.load_name(index, name, number));
    }
}

impl Procedure for Tpcc {
    async fn run<E: Env>(
        &self,
        transaction: &mut Transaction<'_, E>,
        input: &[u8],
    ) -> Result<Vec<u8>, Stop> {
        let mut answer = Writer::new();
        match Input::decode(input)? {
            Input::NewOrder(input) => answer.u64(place(transaction, &input).await? as u64),
            Input::Payment(input) => pay(transaction, &input).await?,
            Input::OrderStatus { warehouse, district, customer } => {
                let lines = show_order(transaction, (warehouse, district), &customer).await?;
                answer.u32(lines);
            }
            Input::Delivery { warehouse, carrier } => {
                self.deliver(transaction, warehouse, carrier).await?;
            }
            Input::StockLevel { warehouse, district, threshold } => {
                answer.u64(count_low(transaction, (warehouse, district), threshold).await?);
            }
        }
        Ok(answer.finish())
    }
}

fn date<E: Env>(transaction: &Transaction<'_, E>) -> i64 {
    (transaction.now_ns() / 1000) as i64
}

/// Applies the writes of a profile, or rolls back.
fn set<E: Env>(transaction: &mut Transaction<'_, E>, writes: Writes) -> Result<(), Stop> {
    for (key, content) in writes.ok_or(Stop::RolledBack)? {
        match content {
            Some(content) => transaction.write(key, content),
            None => transaction.delete(key),
        }
    }
    Ok(())
}

async fn place<E: Env>(
    transaction: &mut Transaction<'_, E>,
    input: &NewOrder,
) -> Result<i64, Stop> {
    let keys = new_order::reads(input, transaction.home());
    let rows = transaction.read(&keys).await?;
    let date = date(transaction);
    set(transaction, new_order::writes(input, &rows, date))?;
    new_order::total(input, &rows).ok_or(Stop::RolledBack)
}

/// The middle one of several customers with one name [TPC-C 2.5.2.2].
async fn find_customer<E: Env>(
    transaction: &Transaction<'_, E>,
    (w, d): (u32, u32),
    customer: &Customer,
) -> Result<RowKey, Stop> {
    match customer {
        Customer::Number(number) => Ok(keys::customer(w, d, *number)),
        Customer::Name(name) => {
            let name = keys::customer_name(d, name);
            let partition = keys::partition(w);
            let numbers = transaction.named(partition, keys::CUSTOMER_NAME, &name).await?;
            let middle = numbers.get(numbers.len().saturating_sub(1) / 2);
            middle.map(|&number| keys::customer_numbered(w, number)).ok_or(Stop::RolledBack)
        }
    }
}

async fn pay<E: Env>(transaction: &mut Transaction<'_, E>, input: &Payment) -> Result<(), Stop> {
    let district = (input.customer_warehouse, input.customer_district);
    let customer = find_customer(transaction, district, &input.customer).await?;
    let rows = transaction.read(&payment::reads(input, customer)).await?;
    let date = date(transaction);
    set(transaction, payment::writes(input, customer, &rows, date))
}

/// Reads the customer's latest order; returns the number of its lines.
async fn show_order<E: Env>(
    transaction: &Transaction<'_, E>,
    (w, d): (u32, u32),
    customer: &Customer,
) -> Result<u32, Stop> {
    let customer = find_customer(transaction, (w, d), customer).await?;
    transaction.read(&[customer]).await?;
    let latest = transaction.scan(order_status::latest(w, d, customer)).await?;
    let Some(&(number, _)) = latest.first() else { return Ok(0) };
    let o = keys::order_number(number);
    transaction.read(&[keys::order(w, d, o)]).await?;
    Ok(transaction.scan(delivery::lines(w, d, o, o)).await?.len() as u32)
}

async fn count_low<E: Env>(
    transaction: &Transaction<'_, E>,
    (w, d): (u32, u32),
    threshold: u32,
) -> Result<u64, Stop> {
    let rows = transaction.read(&[keys::district(w, d)]).await?;
    let district_row = rows[0].as_deref().ok_or(Stop::RolledBack)?;
    let lines = transaction.scan(stock_level::latest_lines(w, d, district_row)).await?;
    let stocks = transaction.read(&stock_level::stocks(w, &lines)).await?;
    Ok(stock_level::count_low(&stocks, threshold))
}

impl Tpcc {
    async fn deliver<E: Env>(
        &self,
        transaction: &mut Transaction<'_, E>,
        w: u32,
        carrier: u32,
    ) -> Result<(), Stop> {
        let date = date(transaction);
        for d in 1..=self.config.scale.districts as u32 {
            let oldest = transaction.scan(delivery::oldest(w, d)).await?;
            let Some(&(number, _)) = oldest.first() else { continue };
            let o = keys::order_number(number);
            let lines = transaction.scan(delivery::lines(w, d, o, o)).await?;
            let mut rows = transaction.read(&[keys::order(w, d, o)]).await?;
            let row = rows.remove(0).ok_or(Stop::RolledBack)?;
            let open = Open { district: d, order: o, row, lines };
            let mut rows = transaction.read(&[keys::customer(w, d, open.customer())]).await?;
            let customer_row = rows.remove(0).ok_or(Stop::RolledBack)?;
            set(transaction, open.writes(w, carrier, date, customer_row))?;
        }
        Ok(())
    }
}

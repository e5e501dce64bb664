//! The transactions on NAM-DB as printed: records by their keys through one-sided verbs, ranges
//! through its ordered indexes.
//!
//! Ordered indexes find orders by customer, and open orders by district, as the paper has them for
//! ranges. A hash index [ZB17 5.2] leads from a last name to its customers; here it is a table
//! whose records never change. Lines are found by the number of lines in their order.

use super::delivery::Open;
use super::input::{Customer, Input, NewOrder, Payment};
use super::load::Loader;
use super::row::{self, get};
use super::{Writes, delivery, keys, load, new_order, order_status, payment, stock_level};
use crate::nam_db::{Design, Load, MemoryServer, Placement, Stop, TableSize, Transaction};
use crate::row_key::RowKey;
use crate::trad_si::Range;
use fabric::{Env, FabricError};
use workload::tpcc::Config;

/// Old versions in the buffers of records that are updated repeatedly.
const VERSIONS: u64 = 8;
/// Old versions of orders and their lines, which are updated once.
const VERSIONS_OF_ORDERS: u64 = 2;
/// Average number of lines of an order.
const LINES_MEAN: u64 = 10;
/// Bytes of a number in the index of names.
const NUMBER_BYTES: usize = 4;
/// Number of a customer's orders that are read to find one in the snapshot.
const ORDERS_LOOKED_AT: u32 = 8;

/// TPC-C.
#[derive(Clone, Copy, Debug)]
pub struct OneSided {
    config: Config,
    /// The number of partitions on one data server, if records are placed by partition.
    placement: Placement,
}

/// The number of a last name in the index of names [FNV-1a], truncated to the bits of a key.
fn name_number(d: u32, name: &[u8]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let byte = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
    keys::customer_name(d, name).iter().fold(OFFSET, byte) >> 20
}

/// The rows to load by verbs.
#[derive(Default)]
struct LoadedRows {
    rows: Vec<(RowKey, Vec<u8>)>,
}

impl Loader for LoadedRows {
    fn row(&mut self, key: RowKey, content: Vec<u8>) {
        self.rows.push((key, content));
    }

    fn name(&mut self, partition: u32, name: &[u8], numbers: &[u64]) {
        let (district, last_name) = name.split_at(NUMBER_BYTES);
        let d = u32::from_le_bytes(district.try_into().expect("it has NUMBER_BYTES bytes"));
        let mut content = (numbers.len() as u32).to_le_bytes().to_vec();
        for &number in numbers {
            let (c, _) = keys::customer_number(keys::customer_numbered(partition + 1, number));
            content.extend(c.to_le_bytes());
        }
        let key = RowKey::new(partition, keys::CUSTOMER_NAME, name_number(d, last_name));
        self.rows.push((key, content));
    }
}

impl OneSided {
    /// The transactions on the database that [`OneSided::load`] loads.
    pub fn new(config: Config, placement: Placement) -> Self {
        Self { config, placement }
    }

    /// The required capacity of the tables on each of `servers` data servers, if each gets `more`
    /// orders.
    pub fn sizes(&self, servers: u64, more: u64) -> Vec<TableSize> {
        let scale = &self.config.scale;
        let (items, districts) = (scale.items as u64, scale.districts as u64);
        let customers = scale.customers_per_district as u64;
        let warehouses = u64::from(self.config.warehouses).div_ceil(servers);
        let orders = warehouses * districts * scale.orders_per_district as u64 + more;
        let items_each = match self.placement {
            Placement::Hashed => items.div_ceil(servers),
            Placement::Partitions(_) => items,
        };
        let names = warehouses * districts * scale.last_names() as u64;
        let name_bytes = NUMBER_BYTES * (1 + customers as usize);
        let size = |data_bytes, records, versions| TableSize { data_bytes, records, versions };
        // In the order of the tables' numbers.
        vec![
            size(row::warehouse::BYTES, warehouses, VERSIONS),
            size(row::district::BYTES, warehouses * districts, VERSIONS),
            size(row::customer::BYTES, warehouses * districts * customers, VERSIONS),
            size(row::history::BYTES, more, 1),
            size(row::order::BYTES, orders, VERSIONS_OF_ORDERS),
            size(row::new_order::BYTES, orders, VERSIONS_OF_ORDERS),
            size(row::order_line::BYTES, orders * LINES_MEAN, VERSIONS_OF_ORDERS),
            size(row::item::BYTES, items_each, 1),
            size(row::stock::BYTES, warehouses * items, VERSIONS),
            // An ordered index has no records.
            size(0, 0, 1),
            size(name_bytes, names, 1),
        ]
    }

    /// Loads records and indexes.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn load<E: Env>(
        &self,
        env: &E,
        design: &Design,
        servers: &[MemoryServer],
    ) -> Result<(), FabricError> {
        let mut to = Load::new(env, design);
        let mut rows = LoadedRows::default();
        match self.placement {
            Placement::Hashed => load::items(&self.config, 0, &mut rows),
            Placement::Partitions(each) => {
                let first = |server| server as u32 * each;
                (0..servers.len()).for_each(|server| {
                    load::items(&self.config, first(server), &mut rows);
                });
            }
        }
        for w in 0..=self.config.warehouses {
            if w > 0 {
                load::warehouse(&self.config, w, &mut rows);
            }
            for (key, content) in rows.rows.drain(..) {
                if matches!(key.table, keys::CUSTOMER_ORDER | keys::NEW_ORDER) {
                    let server = design.index_server(key.partition);
                    servers[server].index.entries().insert(key);
                }
                if key.table != keys::CUSTOMER_ORDER {
                    to.record(key, &content).await?;
                }
            }
        }
        to.end().await
    }

    /// Runs a transaction up to its commit.
    ///
    /// # Errors
    /// If it cannot continue.
    pub async fn run<E: Env>(
        &self,
        transaction: &mut Transaction<'_, E>,
        input: &Input,
    ) -> Result<(), Stop> {
        match input {
            Input::NewOrder(input) => self.place(transaction, input).await,
            Input::Payment(input) => pay(transaction, input).await,
            Input::OrderStatus { warehouse, district, customer } => {
                show_order(transaction, (*warehouse, *district), customer).await.map(drop)
            }
            Input::Delivery { warehouse, carrier } => {
                self.deliver(transaction, *warehouse, *carrier).await
            }
            Input::StockLevel { warehouse, district, threshold } => {
                count_low(transaction, (*warehouse, *district), *threshold).await.map(drop)
            }
        }
    }

    /// The partition of the items that a terminal of this warehouse reads: with locality each data
    /// server has all items.
    fn items_at(&self, w: u32) -> u32 {
        match self.placement {
            Placement::Hashed => 0,
            Placement::Partitions(each) => keys::partition(w) / each * each,
        }
    }

    async fn place<E: Env>(
        &self,
        transaction: &mut Transaction<'_, E>,
        input: &NewOrder,
    ) -> Result<(), Stop> {
        let keys = new_order::reads(input, self.items_at(input.warehouse));
        let rows = transaction.read(&keys).await?;
        let date = date(transaction);
        set(transaction, new_order::writes(input, &rows, date))?;
        new_order::total(input, &rows).map(drop).ok_or(Stop::RolledBack)
    }

    async fn deliver<E: Env>(
        &self,
        transaction: &mut Transaction<'_, E>,
        w: u32,
        carrier: u32,
    ) -> Result<(), Stop> {
        let date = date(transaction);
        let districts = 1..=self.config.scale.districts as u32;
        let ranges: Vec<_> = districts.clone().map(|d| delivery::oldest(w, d)).collect();
        let oldest = transaction.look_up(&ranges).await?;
        let first =
            |(d, numbers): (u32, &Vec<u64>)| Some((d, keys::order_number(*numbers.first()?)));
        let open: Vec<(u32, u32)> = districts.zip(&oldest).filter_map(first).collect();
        let reads = |&(d, o): &(u32, u32)| [keys::new_order(w, d, o), keys::order(w, d, o)];
        let rows = transaction.read(&open.iter().flat_map(reads).collect::<Vec<_>>()).await?;
        let mut orders = Vec::new();
        for (&(d, o), rows) in open.iter().zip(rows.chunks_exact(2)) {
            // The index has orders that are not in the snapshot yet.
            if let [Some(_), Some(row)] = rows {
                orders.push(Open { district: d, order: o, row: row.clone(), lines: Vec::new() });
            }
        }
        let lines = |open: &Open| line_keys((w, open.district, open.order), &open.row);
        let mut keys: Vec<RowKey> = orders.iter().flat_map(lines).collect();
        let line_count = keys.len();
        keys.extend(orders.iter().map(|open| keys::customer(w, open.district, open.customer())));
        let mut rows = transaction.read(&keys).await?;
        let customers = rows.split_off(line_count);
        let mut lines = keys.iter().zip(rows);
        for (mut open, customer) in orders.into_iter().zip(customers) {
            let count = get(&open.row, row::order::LINES) as usize;
            for (key, row) in lines.by_ref().take(count) {
                open.lines.push((key.number, row.ok_or(Stop::RolledBack)?));
            }
            let customer = customer.ok_or(Stop::RolledBack)?;
            set(transaction, open.writes(w, carrier, date, customer))?;
        }
        Ok(())
    }
}

fn date<E: Env>(transaction: &Transaction<'_, E>) -> i64 {
    (transaction.now_ns() / 1000) as i64
}

/// The keys of an order's lines.
fn line_keys((w, d, o): (u32, u32, u32), order_row: &[u8]) -> Vec<RowKey> {
    let count = get(order_row, row::order::LINES) as u32;
    (0..count).map(|line| keys::order_line(w, d, o, line)).collect()
}

/// Applies the writes of a profile to tables and indexes, or rolls back.
fn set<E: Env>(transaction: &mut Transaction<'_, E>, writes: Writes) -> Result<(), Stop> {
    for (key, content) in writes.ok_or(Stop::RolledBack)? {
        match (key.table, content) {
            (keys::CUSTOMER_ORDER, _) => transaction.enter(key),
            (keys::NEW_ORDER, Some(content)) => {
                transaction.enter(key);
                transaction.write(key, content);
            }
            (keys::NEW_ORDER, None) => {
                transaction.take_out(key);
                transaction.delete(key);
            }
            (_, Some(content)) => transaction.write(key, content),
            (_, None) => transaction.delete(key),
        }
    }
    Ok(())
}

/// The middle one of several customers with one name [TPC-C 2.5.2.2].
async fn find_customer<E: Env>(
    transaction: &mut Transaction<'_, E>,
    (w, d): (u32, u32),
    customer: &Customer,
) -> Result<RowKey, Stop> {
    match customer {
        Customer::Number(number) => Ok(keys::customer(w, d, *number)),
        Customer::Name(name) => {
            let number = name_number(d, name);
            let key = RowKey::new(keys::partition(w), keys::CUSTOMER_NAME, number);
            let entry = transaction.read(&[key]).await?.remove(0).ok_or(Stop::RolledBack)?;
            let number = |place: usize| {
                let bytes = entry[place * NUMBER_BYTES..].first_chunk::<NUMBER_BYTES>();
                u32::from_le_bytes(*bytes.expect("the entry has a number at this position"))
            };
            let middle = (number(0).max(1) - 1) as usize / 2;
            Ok(keys::customer(w, d, number(1 + middle)))
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
    transaction: &mut Transaction<'_, E>,
    (w, d): (u32, u32),
    customer: &Customer,
) -> Result<usize, Stop> {
    let customer = find_customer(transaction, (w, d), customer).await?;
    let latest = Range { limit: ORDERS_LOOKED_AT, ..order_status::latest(w, d, customer) };
    let latest = transaction.look_up(&[latest]).await?.remove(0);
    let mut wanted = vec![customer];
    for number in latest {
        let o = keys::order_number(number);
        wanted.push(keys::order(w, d, o));
        let rows = transaction.read(&wanted).await?;
        // The index has orders that are not in the snapshot yet.
        if let Some(Some(row)) = rows.last() {
            let lines = transaction.read(&line_keys((w, d, o), row)).await?;
            return Ok(lines.iter().flatten().count());
        }
    }
    transaction.read(&[customer]).await?;
    Ok(0)
}

async fn count_low<E: Env>(
    transaction: &mut Transaction<'_, E>,
    (w, d): (u32, u32),
    threshold: u32,
) -> Result<u64, Stop> {
    let rows = transaction.read(&[keys::district(w, d)]).await?;
    let district_row = rows[0].as_deref().ok_or(Stop::RolledBack)?;
    let latest: Vec<RowKey> = stock_level::latest_orders(w, d, district_row);
    let rows = transaction.read(&latest).await?;
    let mut wanted = Vec::new();
    for (key, row) in latest.iter().zip(&rows) {
        let o = keys::order_number(key.number);
        wanted.extend(row.iter().flat_map(|row| line_keys((w, d, o), row)));
    }
    let rows = transaction.read(&wanted).await?;
    let lines = wanted.iter().zip(rows).filter_map(|(key, row)| Some((key.number, row?)));
    let stocks = stock_level::stocks(w, &lines.collect::<Vec<_>>());
    let stocks = transaction.read(&stocks).await?;
    Ok(stock_level::count_low(&stocks, threshold))
}

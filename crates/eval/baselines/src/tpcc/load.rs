//! The population [TPC-C 4.3]: numbers that transactions use are as specified, texts are omitted.

use super::keys;
use super::row::warehouse;
use super::row::{customer, district, empty, get, item, new_order, order, order_line, set, stock};
use crate::row_key::RowKey;
use workload::Random;
use workload::tpcc::{Config, NurandConstants, last_name};

/// Streams of random numbers.
const ITEMS: u32 = 1;
const WAREHOUSES: u32 = 2;
/// Percentage of customers with bad credit.
const BAD_CREDIT_PERCENT: u32 = 10;

/// Receives the rows of a population, and the entries of the index of names.
pub trait Loader {
    fn row(&mut self, key: RowKey, content: Vec<u8>);
    /// The numbers of the customers of a name, in the order of their first names.
    fn name(&mut self, partition: u32, name: &[u8], numbers: &[u64]);
}

/// The items, for the server that has `partition`.
pub fn items(config: &Config, partition: u32, to: &mut impl Loader) {
    let mut random = Random::stream(config.seed, ITEMS, 0);
    for i in 1..=config.scale.items as u32 {
        let mut row = empty(item::BYTES);
        set(&mut row, item::PRICE, random.uniform(100, 10_000));
        to.row(keys::item(partition, i), row);
    }
}

/// A warehouse with all its rows.
pub fn warehouse(config: &Config, w: u32, to: &mut impl Loader) {
    let random = &mut Random::stream(config.seed, WAREHOUSES, w.into());
    let mut row = empty(warehouse::BYTES);
    set(&mut row, warehouse::TAX, random.uniform(0, 2000));
    set(&mut row, warehouse::YTD, 3_000_000 * i64::from(config.scale.districts));
    to.row(keys::warehouse(w), row);
    for i in 1..=config.scale.items as u32 {
        let mut row = empty(stock::BYTES);
        set(&mut row, stock::QUANTITY, random.uniform(10, 100));
        to.row(keys::stock(w, i), row);
    }
    for d in 1..=config.scale.districts as u32 {
        let mut row = empty(district::BYTES);
        set(&mut row, district::TAX, random.uniform(0, 2000));
        set(&mut row, district::YTD, 3_000_000);
        set(&mut row, district::NEXT_ORDER, i64::from(config.scale.orders_per_district) + 1);
        to.row(keys::district(w, d), row);
        customers(config, (w, d), random, to);
        orders(config, (w, d), random, to);
    }
}

fn customers(config: &Config, (w, d): (u32, u32), random: &mut Random, to: &mut impl Loader) {
    let constants = NurandConstants::new(config.seed);
    let names = config.scale.last_names();
    let mut named: Vec<Vec<(u64, u64)>> = vec![Vec::new(); names as usize];
    for c in 1..=config.scale.customers_per_district {
        let name = match c <= names {
            true => c - 1,
            false => constants.last_name_load(random, &config.scale),
        };
        let mut row = empty(customer::BYTES);
        set(&mut row, customer::DISCOUNT, random.uniform(0, 5000));
        set(&mut row, customer::BALANCE, -1000);
        set(&mut row, customer::YTD_PAYMENT, 1000);
        set(&mut row, customer::PAYMENT_COUNT, 1);
        set(&mut row, customer::BAD_CREDIT, random.percent(BAD_CREDIT_PERCENT).into());
        let key = keys::customer(w, d, c as u32);
        // First names are random, and therefore their order is.
        named[name as usize].push((random.word(), keys::customer_number(key).1));
        to.row(key, row);
    }
    for (number, customers) in (0..).zip(&mut named) {
        customers.sort_unstable();
        let numbers: Vec<u64> = customers.iter().map(|customer| customer.1).collect();
        let name = keys::customer_name(d, last_name(number).bytes());
        to.name(keys::partition(w), &name, &numbers);
    }
}

fn orders(config: &Config, (w, d): (u32, u32), random: &mut Random, to: &mut impl Loader) {
    let scale = &config.scale;
    let mut customers: Vec<u32> = (1..=scale.customers_per_district as u32).collect();
    random.shuffle(&mut customers);
    for o in 1..=scale.orders_per_district as u32 {
        let c = customers[(o as usize - 1) % customers.len()];
        let is_delivered = o <= scale.delivered_order_max() as u32;
        let mut row = empty(order::BYTES);
        set(&mut row, order::CUSTOMER, c.into());
        set(&mut row, order::LINES, random.uniform(5, 15));
        set(&mut row, order::IS_LOCAL, 1);
        if is_delivered {
            set(&mut row, order::CARRIER, random.uniform(1, 10));
        }
        let lines = get(&row, order::LINES) as u32;
        to.row(keys::order(w, d, o), row);
        to.row(keys::customer_order(w, d, c, o), Vec::new());
        if !is_delivered {
            to.row(keys::new_order(w, d, o), empty(new_order::BYTES));
        }
        for line in 0..lines {
            let mut row = empty(order_line::BYTES);
            set(&mut row, order_line::ITEM, random.uniform(1, scale.items.into()));
            set(&mut row, order_line::SUPPLY_WAREHOUSE, w.into());
            set(&mut row, order_line::QUANTITY, 5);
            let amount = if is_delivered { 0 } else { random.uniform(1, 999_999) };
            set(&mut row, order_line::AMOUNT, amount);
            to.row(keys::order_line(w, d, o, line), row);
        }
    }
}

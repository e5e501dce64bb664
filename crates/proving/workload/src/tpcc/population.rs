//! The contents of the loaded rows [TPC-C 4.3.3.1].
//!
//! Each row follows from the seed, its table and its key alone, so it is independent of the loader,
//! the order of loading, and retries.

use super::Config;
use super::nurand::NurandConstants;
use super::schema::{
    DIST_INFO_BYTES, customer, district, history, item, order_line, orders, stock, warehouse,
};
use super::text::{digits, item_data, last_name, letters, zip};
use crate::random::Random;
use layout::RecordMut;

/// Random streams: one per table, and one for the permutations.
const ITEMS: u32 = 1;
const WAREHOUSES: u32 = 2;
const DISTRICTS: u32 = 3;
const CUSTOMERS: u32 = 4;
const HISTORIES: u32 = 5;
const ORDERS: u32 = 6;
const ORDER_LINES: u32 = 7;
const STOCKS: u32 = 8;
const PERMUTATIONS: u32 = 9;

/// Cents that every customer has paid before the load.
pub const FIRST_PAYMENT: i64 = 1_000;
/// The credit limit of a customer, in cents.
const CREDIT_LIMIT: i64 = 5_000_000;
/// The quantity of each loaded order line.
const LOADED_QUANTITY: i64 = 5;
/// The date of everything loaded: the zero of timestamps, so that loading needs no clock.
const LOAD_DATE: i64 = 0;
/// A number larger than an order's number of lines.
const LINE_STRIDE: u64 = 16;

/// The population of one database.
#[derive(Clone, Copy, Debug)]
pub struct Population {
    config: Config,
    constants: NurandConstants,
}

/// The common data of an order and its lines.
#[derive(Clone, Copy, Debug)]
pub struct LoadedOrder {
    pub line_count: i16,
    /// The carrier, if it is delivered.
    carrier: Option<i64>,
}

impl Population {
    /// The population that a configuration describes.
    pub fn new(config: &Config) -> Self {
        Self { config: *config, constants: NurandConstants::new(config.seed) }
    }

    fn random(&self, table: u32, row: u64) -> Random {
        Random::stream(self.config.seed, table, row)
    }

    /// Counts districts over all warehouses from 0.
    fn district_index(&self, w: i16, d: i16) -> u64 {
        (w as u64 - 1) * self.config.scale.districts as u64 + d as u64 - 1
    }

    /// Counts customers over all districts from 0.
    pub fn customer_index(&self, w: i16, d: i16, c: i32) -> u64 {
        self.district_index(w, d) * self.config.scale.customers_per_district as u64 + c as u64 - 1
    }

    fn order_index(&self, w: i16, d: i16, o: i32) -> u64 {
        self.district_index(w, d) * self.config.scale.orders_per_district as u64 + o as u64 - 1
    }

    pub fn fill_item(&self, i: i32, row: &mut RecordMut<'_>) {
        let random = &mut self.random(ITEMS, i as u64);
        row.set_int(item::I_IM_ID, random.uniform(1, 10_000));
        row.set_bytes(item::I_NAME, letters(random, 14, 24).bytes());
        row.set_int(item::I_PRICE, random.uniform(100, 10_000));
        row.set_bytes(item::I_DATA, item_data(random).bytes());
    }

    pub fn fill_warehouse(&self, w: i16, row: &mut RecordMut<'_>) {
        let random = &mut self.random(WAREHOUSES, w as u64);
        let districts = i64::from(self.config.scale.districts);
        row.set_bytes(warehouse::W_NAME, letters(random, 6, 10).bytes());
        fill_address(row, warehouse::W_STREET_1, random);
        row.set_int(warehouse::W_TAX, random.uniform(0, 2000));
        row.set_int(warehouse::W_YTD, districts * self.district_payments());
    }

    /// The sum of the payments of a district's customers: 30,000.00.
    fn district_payments(&self) -> i64 {
        i64::from(self.config.scale.customers_per_district) * FIRST_PAYMENT
    }

    /// Fills district `d` of warehouse `w`.
    pub fn fill_district(&self, w: i16, d: i16, row: &mut RecordMut<'_>) {
        let random = &mut self.random(DISTRICTS, self.district_index(w, d));
        row.set_bytes(district::D_NAME, letters(random, 6, 10).bytes());
        fill_address(row, district::D_STREET_1, random);
        row.set_int(district::D_TAX, random.uniform(0, 2000));
        row.set_int(district::D_YTD, self.district_payments());
        let next = self.config.scale.orders_per_district + 1;
        row.set_int(district::D_NEXT_O_ID, i64::from(next));
    }

    /// Fills customer `c` of a district.
    pub fn fill_customer(&self, (w, d): (i16, i16), c: i32, row: &mut RecordMut<'_>) {
        let random = &mut self.random(CUSTOMERS, self.customer_index(w, d, c));
        let scale = &self.config.scale;
        let name = match c {
            _ if c <= scale.last_names() => c - 1,
            _ => self.constants.last_name_load(random, scale),
        };
        row.set_bytes(customer::C_LAST, last_name(name).bytes());
        row.set_bytes(customer::C_MIDDLE, b"OE");
        row.set_bytes(customer::C_FIRST, letters(random, 8, 16).bytes());
        fill_address(row, customer::C_STREET_1, random);
        row.set_bytes(customer::C_PHONE, digits(random, 16).bytes());
        row.set_int(customer::C_SINCE, LOAD_DATE);
        row.set_bytes(customer::C_CREDIT, if random.percent(10) { b"BC" } else { b"GC" });
        row.set_int(customer::C_CREDIT_LIM, CREDIT_LIMIT);
        row.set_int(customer::C_DISCOUNT, random.uniform(0, 5000));
        row.set_int(customer::C_BALANCE, -FIRST_PAYMENT);
        row.set_int(customer::C_YTD_PAYMENT, FIRST_PAYMENT);
        row.set_int(customer::C_PAYMENT_CNT, 1);
        row.set_int(customer::C_DELIVERY_CNT, 0);
        row.set_bytes(customer::C_DATA, letters(random, 300, 500).bytes());
    }

    /// Fills the one history row of customer `c` of a district.
    pub fn fill_history(&self, (w, d): (i16, i16), c: i32, row: &mut RecordMut<'_>) {
        let random = &mut self.random(HISTORIES, self.customer_index(w, d, c));
        row.set_int(history::H_C_ID, i64::from(c));
        row.set_int(history::H_C_D_ID, i64::from(d));
        row.set_int(history::H_C_W_ID, i64::from(w));
        row.set_int(history::H_D_ID, i64::from(d));
        row.set_int(history::H_W_ID, i64::from(w));
        row.set_int(history::H_DATE, LOAD_DATE);
        row.set_int(history::H_AMOUNT, FIRST_PAYMENT);
        row.set_bytes(history::H_DATA, letters(random, 12, 24).bytes());
    }

    /// The customers of a district in the order in which they placed their orders.
    pub fn customer_permutation(&self, w: i16, d: i16) -> Vec<i32> {
        let mut customers: Vec<i32> = (1..=self.config.scale.customers_per_district).collect();
        self.random(PERMUTATIONS, self.district_index(w, d)).shuffle(&mut customers);
        customers
    }

    pub fn order(&self, w: i16, d: i16, o: i32) -> LoadedOrder {
        let random = &mut self.random(ORDERS, self.order_index(w, d, o));
        let line_count = random.uniform(5, 15) as i16;
        let carrier = random.uniform(1, 10);
        LoadedOrder { line_count, carrier: self.is_delivered(o).then_some(carrier) }
    }

    /// Whether order `o` was delivered before the load; the others are new orders.
    pub fn is_delivered(&self, o: i32) -> bool {
        o <= self.config.scale.delivered_order_max()
    }

    /// Fills order `o` of a district, placed by customer `c`.
    pub fn fill_order(&self, (w, d): (i16, i16), o: i32, c: i32, row: &mut RecordMut<'_>) {
        let order = self.order(w, d, o);
        row.set_int(orders::O_C_ID, i64::from(c));
        row.set_int(orders::O_ENTRY_D, LOAD_DATE);
        match order.carrier {
            Some(carrier) => row.set_int(orders::O_CARRIER_ID, carrier),
            None => row.set_null(orders::O_CARRIER_ID),
        }
        row.set_int(orders::O_OL_CNT, i64::from(order.line_count));
        row.set_int(orders::O_ALL_LOCAL, 1);
    }

    /// Fills line `number` of order `o` of a district.
    pub fn fill_order_line(
        &self,
        (w, d): (i16, i16),
        o: i32,
        number: i16,
        row: &mut RecordMut<'_>,
    ) {
        let line = self.order_index(w, d, o) * LINE_STRIDE + number as u64;
        let random = &mut self.random(ORDER_LINES, line);
        let items = i64::from(self.config.scale.items);
        row.set_int(order_line::OL_I_ID, random.uniform(1, items));
        row.set_int(order_line::OL_SUPPLY_W_ID, i64::from(w));
        row.set_int(order_line::OL_QUANTITY, LOADED_QUANTITY);
        row.set_bytes(order_line::OL_DIST_INFO, dist_info(random).as_slice());
        if self.is_delivered(o) {
            row.set_int(order_line::OL_DELIVERY_D, LOAD_DATE);
            row.set_int(order_line::OL_AMOUNT, 0);
        } else {
            row.set_null(order_line::OL_DELIVERY_D);
            row.set_int(order_line::OL_AMOUNT, random.uniform(1, 999_999));
        }
    }

    /// Fills the stock of item `i` in warehouse `w`.
    pub fn fill_stock(&self, w: i16, i: i32, row: &mut RecordMut<'_>) {
        let index = (w as u64 - 1) * self.config.scale.items as u64 + i as u64 - 1;
        let random = &mut self.random(STOCKS, index);
        row.set_int(stock::S_QUANTITY, random.uniform(10, 100));
        for column in stock::S_DIST_01..stock::S_DIST_01 + stock::DISTRICT_TEXTS {
            row.set_bytes(column, dist_info(random).as_slice());
        }
        row.set_int(stock::S_YTD, 0);
        row.set_int(stock::S_ORDER_CNT, 0);
        row.set_int(stock::S_REMOTE_CNT, 0);
        row.set_bytes(stock::S_DATA, item_data(random).bytes());
    }
}

fn dist_info(random: &mut Random) -> [u8; DIST_INFO_BYTES] {
    let mut text = [0; DIST_INFO_BYTES];
    random.fill_alphanumeric(&mut text);
    text
}

/// Fills the five columns of an address, from the first street on.
fn fill_address(row: &mut RecordMut<'_>, street_1: usize, random: &mut Random) {
    for column in street_1..street_1 + 3 {
        row.set_bytes(column, letters(random, 10, 20).bytes());
    }
    row.set_bytes(street_1 + 3, letters(random, 2, 2).bytes());
    row.set_bytes(street_1 + 4, zip(random).bytes());
}

//! Delivery [TPC-C 2.7]: the oldest open order of each district.

use super::row::{customer, get, order, order_line, set};
use super::{Writes, keys};
use crate::trad_si::Range;

/// An open order with the rows that belong to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Open {
    pub district: u32,
    pub order: u32,
    pub row: Vec<u8>,
    /// Its lines with the numbers of their keys.
    pub lines: Vec<(u64, Vec<u8>)>,
}

/// The range whose first row is a district's oldest open order.
pub fn oldest(w: u32, d: u32) -> Range {
    let first = keys::new_order(w, d, 0);
    Range { first, last: keys::new_order(w, d + 1, 0).number - 1, limit: 1, is_reverse: false }
}

/// The lines of the orders from `first` to `last`.
pub fn lines(w: u32, d: u32, first: u32, last: u32) -> Range {
    let (low, high) = (keys::order_line(w, d, first, 0), keys::order_line(w, d, last + 1, 0));
    Range { first: low, last: high.number - 1, limit: u32::MAX, is_reverse: false }
}

impl Open {
    /// The customer of the order.
    pub fn customer(&self) -> u32 {
        get(&self.row, order::CUSTOMER) as u32
    }

    /// The writes that deliver it; `customer_row` is that of its customer.
    pub fn writes(mut self, w: u32, carrier: u32, date: i64, customer_row: Vec<u8>) -> Writes {
        let (d, o, c) = (self.district, self.order, self.customer());
        set(&mut self.row, order::CARRIER, carrier.into());
        let mut writes =
            vec![(keys::new_order(w, d, o), None), (keys::order(w, d, o), Some(self.row))];
        let mut amount = 0;
        for (number, mut row) in self.lines {
            amount += get(&row, order_line::AMOUNT);
            set(&mut row, order_line::DELIVERY_DATE, date);
            let key = keys::order_line(w, d, o, 0);
            writes.push((crate::RowKey { number, ..key }, Some(row)));
        }
        let mut row = customer_row;
        let balance = get(&row, customer::BALANCE) + amount;
        set(&mut row, customer::BALANCE, balance);
        let count = get(&row, customer::DELIVERY_COUNT) + 1;
        set(&mut row, customer::DELIVERY_COUNT, count);
        writes.push((keys::customer(w, d, c), Some(row)));
        Some(writes)
    }
}

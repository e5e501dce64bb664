//! The keys of rows. A warehouse is the partition of its number, counted from 0.

use crate::row_key::RowKey;

pub(super) const WAREHOUSE: u32 = 0;
pub(super) const DISTRICT: u32 = 1;
pub(super) const CUSTOMER: u32 = 2;
pub(super) const HISTORY: u32 = 3;
pub(super) const ORDER: u32 = 4;
pub(super) const NEW_ORDER: u32 = 5;
pub(super) const ORDER_LINE: u32 = 6;
pub(super) const ITEM: u32 = 7;
pub(super) const STOCK: u32 = 8;
/// The index from a customer to the customer's orders: one row without content per order.
pub(super) const CUSTOMER_ORDER: u32 = 9;
/// The index from a last name to the customers of a district with that name.
pub const CUSTOMER_NAME: u32 = 10;

/// Bits of the number of a line in its order.
const LINE_BITS: u32 = 4;
/// Bits of an order's number, or of a customer's, in its district.
const NUMBER_BITS: u32 = 28;

/// The partition of a warehouse.
pub fn partition(warehouse: u32) -> u32 {
    warehouse - 1
}

fn row(w: u32, table: u32, number: u64) -> RowKey {
    RowKey::new(partition(w), table, number)
}

pub fn warehouse(w: u32) -> RowKey {
    row(w, WAREHOUSE, 0)
}

pub fn district(w: u32, d: u32) -> RowKey {
    row(w, DISTRICT, d.into())
}

fn in_district(d: u32, number: u32) -> u64 {
    debug_assert!(number >> NUMBER_BITS == 0);
    u64::from(d) << NUMBER_BITS | u64::from(number)
}

pub fn customer(w: u32, d: u32, c: u32) -> RowKey {
    row(w, CUSTOMER, in_district(d, c))
}

/// A customer, by the number in the index of names.
pub fn customer_numbered(w: u32, number: u64) -> RowKey {
    row(w, CUSTOMER, number)
}

/// The customer's number in the district, and that in the index of names.
pub fn customer_number(customer: RowKey) -> (u32, u64) {
    ((customer.number & ((1 << NUMBER_BITS) - 1)) as u32, customer.number)
}

/// The key of a district's last name in the index of names.
pub fn customer_name(d: u32, last: &[u8]) -> Vec<u8> {
    [&d.to_le_bytes(), last].concat()
}

/// A payment, by a number that is unique in the warehouse.
pub fn history(w: u32, number: u64) -> RowKey {
    row(w, HISTORY, number)
}

pub fn order(w: u32, d: u32, o: u32) -> RowKey {
    row(w, ORDER, in_district(d, o))
}

/// An order that is not delivered.
pub fn new_order(w: u32, d: u32, o: u32) -> RowKey {
    row(w, NEW_ORDER, in_district(d, o))
}

/// The number of an order in its district.
pub fn order_number(number: u64) -> u32 {
    (number & ((1 << NUMBER_BITS) - 1)) as u32
}

/// A line of an order, counted from 0.
pub fn order_line(w: u32, d: u32, o: u32, line: u32) -> RowKey {
    debug_assert!(line >> LINE_BITS == 0);
    row(w, ORDER_LINE, in_district(d, o) << LINE_BITS | u64::from(line))
}

/// An item, in the copy of the server with this partition.
pub fn item(partition: u32, i: u32) -> RowKey {
    RowKey::new(partition, ITEM, i.into())
}

pub fn stock(w: u32, i: u32) -> RowKey {
    row(w, STOCK, i.into())
}

/// An order in the index of a customer's orders.
pub fn customer_order(w: u32, d: u32, c: u32, o: u32) -> RowKey {
    row(w, CUSTOMER_ORDER, in_district(d, c) << NUMBER_BITS | u64::from(o))
}

//! New-order [TPC-C 2.4].

use super::input::{Line, NewOrder};
use super::row::warehouse;
use super::row::{customer, district, empty, get, item, new_order, order, order_line, set, stock};
use super::{Rows, Writes, keys};
use crate::row_key::RowKey;
use crate::trad_si::partition::Write;

/// Stock that would fall below this is refilled [TPC-C 2.4.2.2].
const STOCK_MIN: i64 = 10;
/// The amount of a refill.
const STOCK_REFILL: i64 = 91;
/// The unit of rates: the number that stands for a rate of 1.
const RATE_ONE: i64 = 10_000;

/// Positions of the rows before the pairs of item and stock.
const WAREHOUSE: usize = 0;
const DISTRICT: usize = 1;
const CUSTOMER: usize = 2;
const LINES: usize = 3;

/// The rows that it reads: the input names all of them. Items are those of the partition
/// `items_at`.
pub fn reads(input: &NewOrder, items_at: u32) -> Vec<RowKey> {
    let (w, d) = (input.warehouse, input.district);
    let mut keys =
        vec![keys::warehouse(w), keys::district(w, d), keys::customer(w, d, input.customer)];
    for line in &input.lines {
        keys.push(keys::item(items_at, line.item));
        keys.push(keys::stock(line.supply_warehouse, line.item));
    }
    keys
}

/// The rows that it writes. A nonexistent item rolls it back [TPC-C 2.4.2.3].
pub fn writes(input: &NewOrder, rows: &Rows, date: i64) -> Writes {
    let (w, d) = (input.warehouse, input.district);
    let mut district_row = rows[DISTRICT].clone()?;
    let number = get(&district_row, district::NEXT_ORDER);
    set(&mut district_row, district::NEXT_ORDER, number + 1);
    let o = number as u32;
    let mut writes = vec![
        (keys::district(w, d), Some(district_row)),
        (keys::order(w, d, o), Some(order_row(input, date))),
        (keys::new_order(w, d, o), Some(empty(new_order::BYTES))),
        (keys::customer_order(w, d, input.customer, o), Some(Vec::new())),
    ];
    for (number, line) in (0..).zip(&input.lines) {
        let at = LINES + 2 * number as usize;
        let (item_row, stock_row) = (rows[at].as_deref()?, rows[at + 1].as_deref()?);
        writes.push(take_from_stock(line, w, &writes, stock_row));
        let row = line_row(line, get(item_row, item::PRICE));
        writes.push((keys::order_line(w, d, o, number), Some(row)));
    }
    Some(writes)
}

/// The customer's total, in cents.
pub fn total(input: &NewOrder, rows: &Rows) -> Option<i64> {
    let rate = |row: usize, field| Some(get(rows[row].as_deref()?, field));
    let tax = rate(WAREHOUSE, warehouse::TAX)? + rate(DISTRICT, district::TAX)?;
    let discount = rate(CUSTOMER, customer::DISCOUNT)?;
    let mut amount = 0;
    for (number, line) in input.lines.iter().enumerate() {
        amount += i64::from(line.quantity) * rate(LINES + 2 * number, item::PRICE)?;
    }
    Some(amount * (RATE_ONE - discount) / RATE_ONE * (RATE_ONE + tax) / RATE_ONE)
}

fn order_row(input: &NewOrder, date: i64) -> Vec<u8> {
    let is_local = input.lines.iter().all(|line| line.supply_warehouse == input.warehouse);
    let mut row = empty(order::BYTES);
    set(&mut row, order::CUSTOMER, input.customer.into());
    set(&mut row, order::ENTRY_DATE, date);
    set(&mut row, order::LINES, input.lines.len() as i64);
    set(&mut row, order::IS_LOCAL, is_local.into());
    row
}

/// Two lines may take from one stock.
fn take_from_stock(line: &Line, home: u32, before: &[Write], row: &[u8]) -> Write {
    let key = keys::stock(line.supply_warehouse, line.item);
    let taken = before.iter().rev().find(|write| write.0 == key);
    let mut row = taken.and_then(|(_, row)| row.clone()).unwrap_or_else(|| row.to_vec());
    let quantity = i64::from(line.quantity);
    let left = get(&row, stock::QUANTITY) - quantity;
    let left = if left < STOCK_MIN { left + STOCK_REFILL } else { left };
    set(&mut row, stock::QUANTITY, left);
    let remote = i64::from(line.supply_warehouse != home);
    for (field, by) in
        [(stock::YTD, quantity), (stock::ORDER_COUNT, 1), (stock::REMOTE_COUNT, remote)]
    {
        let raised = get(&row, field) + by;
        set(&mut row, field, raised);
    }
    (key, Some(row))
}

fn line_row(line: &Line, price: i64) -> Vec<u8> {
    let mut row = empty(order_line::BYTES);
    set(&mut row, order_line::ITEM, line.item.into());
    set(&mut row, order_line::SUPPLY_WAREHOUSE, line.supply_warehouse.into());
    set(&mut row, order_line::QUANTITY, line.quantity.into());
    set(&mut row, order_line::AMOUNT, i64::from(line.quantity) * price);
    row
}

//! The new-order transaction [TPC-C 2.4].

use super::input::{LINES_MAX, LineInput, NewOrderInput};
use super::keys;
use super::schema::{
    DIST_INFO_BYTES, RATE_ONE, customer, district, item, order_line, orders, stock, warehouse,
};
use super::tables::{Partitions, Tables};
use super::terminal::{Buffers, Screen};
use super::text::is_original;
use super::{date_now, present};
use crate::attempts::result_of;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use txn::{Isolation, Lane, RowId, Transaction};

/// Stock below this is refilled [TPC-C 2.4.2.2].
const STOCK_MIN: i64 = 10;
/// The amount of a refill.
const STOCK_REFILL: i64 = 91;

/// Positions of the first reads.
const WAREHOUSE: usize = 0;
const DISTRICT: usize = 1;
const CUSTOMER: usize = 2;
/// The position of the first pair of item and stock.
const LINES: usize = 3;

/// Places an order [TPC-C 2.4.2]. It takes two dependent round trips: one reads all rows that the
/// input names, the other inserts the rows that depend on the district's next order number.
pub async fn new_order<E: Env>(
    lane: &mut Lane<E>,
    isolation: Isolation,
    partitions: &Partitions,
    buffers: &mut Buffers,
    input: &NewOrderInput,
) -> Result<TransactionResult, WorkloadError> {
    let entry_date = date_now(lane.env());
    buffers.screen.clear();
    let mut txn = lane.begin(isolation).await?;
    let tables = partitions.of(input.warehouse);
    name_reads(partitions, buffers, input);
    txn.read_columns(&buffers.reads, &[tables.customer_terms], &mut buffers.found).await?;
    let order = take_order_number(&mut txn, buffers)?;

    // An unused item number ends the transaction, but only after all earlier operations of the
    // profile [TPC-C 2.4.2.3].
    let item_found = |line: usize| buffers.found[LINES + 2 * line].is_some();
    let valid_lines = (0..input.lines().len()).take_while(|&line| item_found(line)).count();
    name_inserts(tables, buffers, input, order, valid_lines);
    txn.insert_many(&buffers.inserts, &mut buffers.rows).await?;
    fill_order(&mut txn, buffers.rows[0], input, entry_date);
    let amount = fill_lines(&mut txn, buffers, input, valid_lines)?;
    if valid_lines < input.lines().len() {
        buffers.screen.text(b"Item number is not valid");
        txn.abort().await;
        return Ok(TransactionResult::RolledBack);
    }
    show_header(&txn, buffers, order, entry_date, amount)?;
    Ok(result_of(txn.commit().await))
}

fn name_reads(partitions: &Partitions, buffers: &mut Buffers, input: &NewOrderInput) {
    let (w, d) = (input.warehouse, input.district);
    let tables = partitions.of(w);
    buffers.reads.clear();
    buffers.reads.push((tables.warehouse, keys::warehouse(w)));
    buffers.reads.push((tables.district, keys::district(w, d)));
    buffers.reads.push((tables.customer, keys::customer(w, d, input.customer)));
    for line in input.lines() {
        buffers.reads.push((tables.item, keys::item(line.item)));
        let stock = partitions.of(line.supply_warehouse).stock;
        buffers.reads.push((stock, keys::stock(line.supply_warehouse, line.item)));
    }
}

/// Takes D_NEXT_O_ID as this order's number and raises it by one.
fn take_order_number<E: Env>(
    txn: &mut Transaction<'_, E>,
    buffers: &Buffers,
) -> Result<i32, WorkloadError> {
    let row = present(buffers.found[DISTRICT], "district")?;
    let order = txn.row(row).int(district::D_NEXT_O_ID);
    txn.update(row).set_int(district::D_NEXT_O_ID, order + 1);
    Ok(order as i32)
}

fn name_inserts(
    tables: &Tables,
    buffers: &mut Buffers,
    input: &NewOrderInput,
    order: i32,
    lines: usize,
) {
    let (w, d) = (input.warehouse, input.district);
    let key = keys::order(w, d, order);
    buffers.inserts.clear();
    buffers.inserts.push((tables.orders, key));
    buffers.inserts.push((tables.new_order, key));
    let numbers = 1..=lines as i16;
    let line_keys =
        numbers.map(|number| (tables.order_line, keys::order_line(w, d, order, number)));
    buffers.inserts.extend(line_keys);
}

fn fill_order<E: Env>(
    txn: &mut Transaction<'_, E>,
    row: RowId,
    input: &NewOrderInput,
    entry_date: i64,
) {
    let mut order = txn.update(row);
    order.set_int(orders::O_C_ID, i64::from(input.customer));
    order.set_int(orders::O_ENTRY_D, entry_date);
    order.set_null(orders::O_CARRIER_ID);
    order.set_int(orders::O_OL_CNT, input.lines().len() as i64);
    order.set_int(orders::O_ALL_LOCAL, i64::from(input.is_all_local()));
}

/// Takes each line's quantity from its stock and fills the order line; returns the sum of amounts.
fn fill_lines<E: Env>(
    txn: &mut Transaction<'_, E>,
    buffers: &mut Buffers,
    input: &NewOrderInput,
    valid_lines: usize,
) -> Result<i64, WorkloadError> {
    debug_assert!(valid_lines <= LINES_MAX);
    let mut sum = 0;
    for (position, line) in input.lines()[..valid_lines].iter().enumerate() {
        let item_row = present(buffers.found[LINES + 2 * position], "item")?;
        let stock_row = present(buffers.found[LINES + 2 * position + 1], "stock")?;
        let price = show_item(txn, item_row, stock_row, &mut buffers.screen);
        let is_remote = line.supply_warehouse != input.warehouse;
        let quantity_left = take_stock(txn, stock_row, i64::from(line.quantity), is_remote);
        let dist_info = dist_info(txn, stock_row, input.district);
        let amount = price * i64::from(line.quantity);
        fill_line(txn, buffers.rows[2 + position], line, amount, &dist_info);
        buffers.screen.number(quantity_left);
        buffers.screen.number(amount);
        sum += amount;
    }
    Ok(sum)
}

/// Shows name, price and whether the item is of a brand; returns the price.
fn show_item<E: Env>(
    txn: &Transaction<'_, E>,
    item_row: RowId,
    stock_row: RowId,
    screen: &mut Screen,
) -> i64 {
    let item = txn.row(item_row);
    let is_brand = is_original(item.bytes(item::I_DATA))
        && is_original(txn.row(stock_row).bytes(stock::S_DATA));
    let price = item.int(item::I_PRICE);
    screen.text(item.bytes(item::I_NAME));
    screen.number(price);
    screen.text(if is_brand { b"B" } else { b"G" });
    price
}

/// Returns the quantity that is left.
fn take_stock<E: Env>(
    txn: &mut Transaction<'_, E>,
    row: RowId,
    quantity: i64,
    is_remote: bool,
) -> i64 {
    let stock = txn.row(row);
    let left = stock.int(stock::S_QUANTITY) - quantity;
    let left = if left >= STOCK_MIN { left } else { left + STOCK_REFILL };
    let year_to_date = stock.int(stock::S_YTD) + quantity;
    let order_count = stock.int(stock::S_ORDER_CNT) + 1;
    let remote_count = stock.int(stock::S_REMOTE_CNT) + i64::from(is_remote);
    let mut stock = txn.update(row);
    stock.set_int(stock::S_QUANTITY, left);
    stock.set_int(stock::S_YTD, year_to_date);
    stock.set_int(stock::S_ORDER_CNT, order_count);
    if is_remote {
        stock.set_int(stock::S_REMOTE_CNT, remote_count);
    }
    left
}

/// The stock's text for the order's district.
fn dist_info<E: Env>(txn: &Transaction<'_, E>, row: RowId, district: i16) -> [u8; DIST_INFO_BYTES] {
    let column = stock::S_DIST_01 + (district as usize - 1) % stock::DISTRICT_TEXTS;
    let text = txn.row(row).bytes(column);
    text.try_into().expect("the loader writes texts of this length")
}

fn fill_line<E: Env>(
    txn: &mut Transaction<'_, E>,
    row: RowId,
    line: &LineInput,
    amount: i64,
    dist_info: &[u8],
) {
    let mut order_line = txn.update(row);
    order_line.set_int(order_line::OL_I_ID, i64::from(line.item));
    order_line.set_int(order_line::OL_SUPPLY_W_ID, i64::from(line.supply_warehouse));
    order_line.set_null(order_line::OL_DELIVERY_D);
    order_line.set_int(order_line::OL_QUANTITY, i64::from(line.quantity));
    order_line.set_int(order_line::OL_AMOUNT, amount);
    order_line.set_bytes(order_line::OL_DIST_INFO, dist_info);
}

/// Shows the customer and total = sum * (1 - C_DISCOUNT) * (1 + W_TAX + D_TAX), rounded to cents.
fn show_header<E: Env>(
    txn: &Transaction<'_, E>,
    buffers: &mut Buffers,
    order: i32,
    entry_date: i64,
    sum: i64,
) -> Result<(), WorkloadError> {
    let warehouse = txn.row(present(buffers.found[WAREHOUSE], "warehouse")?);
    let district = txn.row(present(buffers.found[DISTRICT], "district")?);
    let customer = txn.row(present(buffers.found[CUSTOMER], "customer")?);
    let discount = customer.int(customer::C_DISCOUNT);
    let taxes = warehouse.int(warehouse::W_TAX) + district.int(district::D_TAX);
    let scaled = sum * (RATE_ONE - discount) * (RATE_ONE + taxes);
    let total = (scaled + RATE_ONE * RATE_ONE / 2) / (RATE_ONE * RATE_ONE);
    let screen = &mut buffers.screen;
    screen.text(customer.bytes(customer::C_LAST));
    screen.text(customer.bytes(customer::C_CREDIT));
    for number in [discount, taxes, i64::from(order), entry_date, total] {
        screen.number(number);
    }
    Ok(())
}

//! The delivery transaction [TPC-C 2.7].
//!
//! It runs at once, in the terminal's own thread: the specification's queue of deferred deliveries
//! exists to keep the terminal responsive, and no user waits here. All districts are one
//! transaction, which [TPC-C 2.7.2.1] allows.
//!
//! Open orders are added at the high end of their district's numbers and removed at the low end, so
//! the oldest open order's number only rises. A terminal therefore remembers the start of each
//! district's open orders, and its next scan begins there instead of passing the tombstones of all
//! deliveries that are not collected yet. [`Config::remembers_deliveries`] switches that off.

#[cfg(doc)]
use super::Config;
use super::input::DeliveryInput;
use super::keys;
use super::schema::{customer, new_order, order_line, orders};
use super::tables::Tables;
use super::terminal::{Buffers, DeliveredOrder, Terminal};
use super::{date_now, present};
use crate::attempts::result_of;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use txn::{Isolation, Lane, Scan, ScanSource, Transaction};

/// Delivers the oldest open order of each district [TPC-C 2.7.4].
pub async fn delivery<E: Env>(
    lane: &mut Lane<E>,
    isolation: Isolation,
    terminal: &mut Terminal,
    input: &DeliveryInput,
) -> Result<TransactionResult, WorkloadError> {
    let date = date_now(lane.env());
    let oldest_orders = terminal.oldest_orders_of(input.warehouse);
    let oldest_orders = &mut terminal.oldest_orders[oldest_orders];
    if !terminal.config.remembers_deliveries {
        oldest_orders.fill(1);
    }
    let tables = terminal.tables.of(input.warehouse);
    let buffers = &mut terminal.buffers;
    let mut txn = lane.begin(isolation).await?;
    take_oldest_orders(&mut txn, tables, buffers, input.warehouse, oldest_orders).await?;
    set_carrier(&mut txn, tables, buffers, input).await?;
    deliver_lines(&mut txn, tables, buffers, input.warehouse, date).await?;
    charge_customers(&mut txn, tables, buffers, input.warehouse).await?;
    show(buffers, input);
    Ok(result_of(txn.commit().await))
}

/// Deletes the row with the lowest NO_O_ID of each district; skips districts without one.
async fn take_oldest_orders<E: Env>(
    txn: &mut Transaction<'_, E>,
    tables: &Tables,
    buffers: &mut Buffers,
    w: i16,
    oldest_orders: &mut [i32],
) -> Result<(), WorkloadError> {
    buffers.orders.clear();
    buffers.scans.clear();
    buffers.skipped = 0;
    buffers.scans.extend((1..).zip(oldest_orders).map(|(district, oldest_order)| {
        let (low, high) = keys::new_orders(w, district, *oldest_order);
        let source = ScanSource::Table(tables.new_order);
        Scan { source, low, high, reverse: false, limit: 1 }
    }));
    txn.scan_many(&buffers.scans, &mut buffers.ranges).await?;
    for (district, rows) in (1..).zip(&buffers.ranges) {
        let Some(&row) = rows.first() else {
            buffers.skipped += 1;
            continue;
        };
        let order = txn.row(row).int(new_order::NO_O_ID) as i32;
        buffers.orders.push(DeliveredOrder { district, order, customer: 0, amount: 0 });
        txn.delete(row);
    }
    Ok(())
}

/// Sets the order's carrier and reads its customer.
async fn set_carrier<E: Env>(
    txn: &mut Transaction<'_, E>,
    tables: &Tables,
    buffers: &mut Buffers,
    input: &DeliveryInput,
) -> Result<(), WorkloadError> {
    let w = input.warehouse;
    let key = |order: &DeliveredOrder| (tables.orders, keys::order(w, order.district, order.order));
    buffers.reads.clear();
    buffers.reads.extend(buffers.orders.iter().map(key));
    txn.read_many(&buffers.reads, &mut buffers.found).await?;
    for (order, &found) in buffers.orders.iter_mut().zip(&buffers.found) {
        let row = present(found, "orders")?;
        order.customer = txn.row(row).int(orders::O_C_ID) as i32;
        txn.update(row).set_int(orders::O_CARRIER_ID, i64::from(input.carrier));
    }
    Ok(())
}

/// Sets the delivery date of all lines of the order, and adds up their amounts.
async fn deliver_lines<E: Env>(
    txn: &mut Transaction<'_, E>,
    tables: &Tables,
    buffers: &mut Buffers,
    w: i16,
    date: i64,
) -> Result<(), WorkloadError> {
    buffers.scans.clear();
    buffers.scans.extend(buffers.orders.iter().map(|order| {
        let (low, high) = keys::order_lines(w, order.district, order.order, order.order);
        let source = ScanSource::Table(tables.order_line);
        Scan { source, low, high, reverse: false, limit: usize::MAX }
    }));
    txn.scan_many(&buffers.scans, &mut buffers.ranges).await?;
    for (order, rows) in buffers.orders.iter_mut().zip(&buffers.ranges) {
        for &row in rows {
            order.amount += txn.row(row).int(order_line::OL_AMOUNT);
            txn.update(row).set_int(order_line::OL_DELIVERY_D, date);
        }
    }
    Ok(())
}

/// Raises the customer's balance by the sum, and C_DELIVERY_CNT by one.
async fn charge_customers<E: Env>(
    txn: &mut Transaction<'_, E>,
    tables: &Tables,
    buffers: &mut Buffers,
    w: i16,
) -> Result<(), WorkloadError> {
    let key = |order: &DeliveredOrder| {
        (tables.customer, keys::customer(w, order.district, order.customer))
    };
    buffers.reads.clear();
    buffers.reads.extend(buffers.orders.iter().map(key));
    txn.read_many(&buffers.reads, &mut buffers.found).await?;
    for (order, &found) in buffers.orders.iter().zip(&buffers.found) {
        let row = present(found, "customer")?;
        let balance = txn.row(row).int(customer::C_BALANCE) + order.amount;
        let delivery_count = txn.row(row).int(customer::C_DELIVERY_CNT) + 1;
        let mut customer = txn.update(row);
        customer.set_int(customer::C_BALANCE, balance);
        customer.set_int(customer::C_DELIVERY_CNT, delivery_count);
    }
    Ok(())
}

/// The result that the specification writes to a file [TPC-C 2.7.2.2].
fn show(buffers: &mut Buffers, input: &DeliveryInput) {
    buffers.screen.clear();
    buffers.screen.number(i64::from(input.warehouse));
    buffers.screen.number(i64::from(input.carrier));
    for order in &buffers.orders {
        buffers.screen.number(i64::from(order.district));
        buffers.screen.number(i64::from(order.order));
    }
}

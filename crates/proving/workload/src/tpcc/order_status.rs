//! The order-status transaction [TPC-C 2.6].

use super::customer::select_customer;
use super::input::OrderStatusInput;
use super::keys;
use super::schema::{customer, order_line, orders};
use super::tables::Tables;
use super::terminal::{Buffers, Screen};
use crate::attempts::result_of;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use layout::RecordRef;
use txn::{Isolation, Lane, Scan, ScanSource};

/// Shows a customer's balance, newest order and its lines [TPC-C 2.6.2].
pub async fn order_status<E: Env>(
    lane: &mut Lane<E>,
    isolation: Isolation,
    tables: &Tables,
    buffers: &mut Buffers,
    input: &OrderStatusInput,
) -> Result<TransactionResult, WorkloadError> {
    let (w, d) = (input.warehouse, input.district);
    buffers.screen.clear();
    let mut txn = lane.begin(isolation).await?;

    let customer_row = select_customer(&mut txn, tables, buffers, (w, d), &input.customer).await?;
    let customer_number = txn.row(customer_row).int(customer::C_ID) as i32;
    show_customer(&mut buffers.screen, txn.row(customer_row));

    let (low, high) = keys::orders_of_customer(w, d, customer_number);
    let source = ScanSource::Index(tables.order_customer);
    txn.scan(&Scan { source, low, high, reverse: true, limit: 1 }, &mut buffers.rows).await?;
    // Only at reduced scale may a customer have no order yet.
    if let Some(&order_row) = buffers.rows.first() {
        let order_number = txn.row(order_row).int(orders::O_ID) as i32;
        show_order(&mut buffers.screen, txn.row(order_row));

        let (low, high) = keys::order_lines(w, d, order_number, order_number);
        let source = ScanSource::Table(tables.order_line);
        let scan = Scan { source, low, high, reverse: false, limit: usize::MAX };
        txn.scan(&scan, &mut buffers.rows).await?;
        for &row in &buffers.rows {
            show_line(&mut buffers.screen, txn.row(row));
        }
    }
    Ok(result_of(txn.commit().await))
}

fn show_customer(screen: &mut Screen, customer: RecordRef<'_>) {
    for column in [customer::C_FIRST, customer::C_MIDDLE, customer::C_LAST] {
        screen.text(customer.bytes(column));
    }
    screen.number(customer.int(customer::C_BALANCE));
}

fn show_order(screen: &mut Screen, order: RecordRef<'_>) {
    let is_open = order.is_null(orders::O_CARRIER_ID);
    screen.number(order.int(orders::O_ID));
    screen.number(order.int(orders::O_ENTRY_D));
    screen.number(if is_open { 0 } else { order.int(orders::O_CARRIER_ID) });
}

fn show_line(screen: &mut Screen, line: RecordRef<'_>) {
    use order_line::{OL_AMOUNT, OL_DELIVERY_D, OL_I_ID, OL_QUANTITY, OL_SUPPLY_W_ID};
    for column in [OL_I_ID, OL_SUPPLY_W_ID, OL_QUANTITY, OL_AMOUNT] {
        screen.number(line.int(column));
    }
    let is_open = line.is_null(OL_DELIVERY_D);
    screen.number(if is_open { 0 } else { line.int(OL_DELIVERY_D) });
}

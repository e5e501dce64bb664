//! The order-status transaction [TPC-C 2.6].

use super::customer::select_customer;
use super::input::OrderStatusInput;
use super::keys;
use super::schema::{customer, order_line, orders};
use super::tables::Tables;
use super::terminal::Buffers;
use crate::attempts::result_of;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
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
    let customer = txn.row(customer_row);
    let customer_number = customer.int(customer::C_ID) as i32;
    for column in [customer::C_FIRST, customer::C_MIDDLE, customer::C_LAST] {
        buffers.screen.text(customer.bytes(column));
    }
    buffers.screen.number(customer.int(customer::C_BALANCE));

    let (low, high) = keys::orders_of_customer(w, d, customer_number);
    let source = ScanSource::Index(tables.order_customer);
    txn.scan(
        &Scan {
            source,
            low,
            high,
            reverse: true,
            limit: 1,
        },
        &mut buffers.rows,
    )
    .await?;
    // Only at reduced scale may a customer have no order yet.
    if let Some(&order_row) = buffers.rows.first() {
        let order = txn.row(order_row);
        let order_number = order.int(orders::O_ID) as i32;
        let carrier = if order.is_null(orders::O_CARRIER_ID) {
            0
        } else {
            order.int(orders::O_CARRIER_ID)
        };
        let entry_date = order.int(orders::O_ENTRY_D);
        for number in [i64::from(order_number), entry_date, carrier] {
            buffers.screen.number(number);
        }

        let (low, high) = keys::order_lines(w, d, order_number, order_number);
        let source = ScanSource::Table(tables.order_line);
        let scan = Scan {
            source,
            low,
            high,
            reverse: false,
            limit: usize::MAX,
        };
        txn.scan(&scan, &mut buffers.rows).await?;
        for &row in &buffers.rows {
            let line = txn.row(row);
            for column in [
                order_line::OL_I_ID,
                order_line::OL_SUPPLY_W_ID,
                order_line::OL_QUANTITY,
            ] {
                buffers.screen.number(line.int(column));
            }
            buffers.screen.number(line.int(order_line::OL_AMOUNT));
            let is_open = line.is_null(order_line::OL_DELIVERY_D);
            buffers.screen.number(if is_open {
                0
            } else {
                line.int(order_line::OL_DELIVERY_D)
            });
        }
    }
    Ok(result_of(txn.commit().await))
}

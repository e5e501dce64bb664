//! The payment transaction [TPC-C 2.5].

use super::customer::select_customer;
use super::input::{CustomerChoice, PaymentInput};
use super::keys;
use super::schema::{C_DATA_BYTES, customer, district, history, warehouse};
use super::terminal::{Screen, Terminal};
use super::text::Text;
use super::{date_now, present};
use crate::attempts::result_of;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use layout::RecordRef;
use txn::{Isolation, Lane, RowId, Scan, ScanSource, Transaction};

/// Bytes of a history row's text: two names of ten and four blanks.
const H_DATA_BYTES: usize = 24;
/// The credit of customers whose payments are recorded in C_DATA.
const BAD_CREDIT: &[u8] = b"BC";

/// Books a payment of a customer [TPC-C 2.5.2]. By number, one round trip reads all rows that the
/// input names; by last name, the index takes a second one.
pub async fn payment<E: Env>(
    lane: &mut Lane<E>,
    isolation: Isolation,
    terminal: &mut Terminal,
    input: &PaymentInput,
) -> Result<TransactionResult, WorkloadError> {
    let date = date_now(lane.env());
    let history_number = terminal.take_history_number();
    let (partitions, buffers) = (&terminal.tables, &mut terminal.buffers);
    let tables = partitions.of(input.warehouse);
    let histories = partitions.of(terminal.first_warehouse).history;
    let customers = partitions.of(input.customer_warehouse);
    let customer_district = (input.customer_warehouse, input.customer_district);
    buffers.screen.clear();
    let mut txn = lane.begin(isolation).await?;

    buffers.reads.clear();
    buffers.reads.push((tables.warehouse, keys::warehouse(input.warehouse)));
    buffers.reads.push((tables.district, keys::district(input.warehouse, input.district)));
    if let CustomerChoice::Number(c) = input.customer {
        let (w, d) = customer_district;
        buffers.reads.push((customers.customer, keys::customer(w, d, c)));
    }
    txn.read_many(&buffers.reads, &mut buffers.found).await?;
    let warehouse_row = present(buffers.found[0], "warehouse")?;
    let district_row = present(buffers.found[1], "district")?;
    let customer_row = match buffers.found.get(2) {
        Some(&found) => present(found, "customer")?,
        None => {
            select_customer(&mut txn, customers, buffers, customer_district, &input.customer)
                .await?
        }
    };

    raise(&mut txn, warehouse_row, warehouse::W_YTD, input.amount);
    raise(&mut txn, district_row, district::D_YTD, input.amount);
    pay(&mut txn, customer_row, input);
    let history_row = txn.insert(histories, &keys::history(history_number)).await?;
    let h_data = history_text(&txn, warehouse_row, district_row);
    let customer_number = txn.row(customer_row).int(customer::C_ID);
    fill_history(&mut txn, history_row, input, customer_number, date, &h_data);
    show(&txn, &mut buffers.screen, [warehouse_row, district_row, customer_row], date);
    Ok(result_of(txn.commit().await))
}

/// Adds to an amount or counter.
fn raise<E: Env>(txn: &mut Transaction<'_, E>, row: RowId, column: usize, by: i64) {
    let raised = txn.row(row).int(column) + by;
    txn.update(row).set_int(column, raised);
}

fn pay<E: Env>(txn: &mut Transaction<'_, E>, row: RowId, input: &PaymentInput) {
    raise(txn, row, customer::C_BALANCE, -input.amount);
    raise(txn, row, customer::C_YTD_PAYMENT, input.amount);
    raise(txn, row, customer::C_PAYMENT_CNT, 1);
    if txn.row(row).bytes(customer::C_CREDIT) == BAD_CREDIT {
        let data = bad_credit_data(txn.row(row), input);
        txn.update(row).set_bytes(customer::C_DATA, data.bytes());
    }
}

/// The payment's numbers in front of the old text, truncated to the column's length.
fn bad_credit_data(customer: RecordRef<'_>, input: &PaymentInput) -> Text<C_DATA_BYTES> {
    let mut data = Text::new();
    let numbers = [
        customer.int(customer::C_ID),
        i64::from(input.customer_district),
        i64::from(input.customer_warehouse),
        i64::from(input.district),
        i64::from(input.warehouse),
        input.amount,
    ];
    for number in numbers {
        data.push_number(number);
        data.push(b" ");
    }
    data.push(customer.bytes(customer::C_DATA));
    data
}

/// H_DATA: W_NAME and D_NAME with four blanks between them.
fn history_text<E: Env>(
    txn: &Transaction<'_, E>,
    warehouse_row: RowId,
    district_row: RowId,
) -> Text<H_DATA_BYTES> {
    let mut text = Text::new();
    text.push(txn.row(warehouse_row).bytes(warehouse::W_NAME));
    text.push(b"    ");
    text.push(txn.row(district_row).bytes(district::D_NAME));
    text
}

fn fill_history<E: Env>(
    txn: &mut Transaction<'_, E>,
    row: RowId,
    input: &PaymentInput,
    customer_number: i64,
    date: i64,
    h_data: &Text<H_DATA_BYTES>,
) {
    let mut history = txn.update(row);
    history.set_int(history::H_C_ID, customer_number);
    history.set_int(history::H_C_D_ID, i64::from(input.customer_district));
    history.set_int(history::H_C_W_ID, i64::from(input.customer_warehouse));
    history.set_int(history::H_D_ID, i64::from(input.district));
    history.set_int(history::H_W_ID, i64::from(input.warehouse));
    history.set_int(history::H_DATE, date);
    history.set_int(history::H_AMOUNT, input.amount);
    history.set_bytes(history::H_DATA, h_data.bytes());
}

/// Shows the two addresses and the customer [TPC-C 2.5.3.3].
fn show<E: Env>(txn: &Transaction<'_, E>, screen: &mut Screen, rows: [RowId; 3], date: i64) {
    let [warehouse, district, customer] = rows.map(|row| txn.row(row));
    for column in warehouse::W_STREET_1..=warehouse::W_ZIP {
        screen.text(warehouse.bytes(column));
    }
    for column in district::D_STREET_1..=district::D_ZIP {
        screen.text(district.bytes(column));
    }
    for column in customer::C_FIRST..=customer::C_PHONE {
        screen.text(customer.bytes(column));
    }
    screen.text(customer.bytes(customer::C_CREDIT));
    for column in [customer::C_SINCE, customer::C_CREDIT_LIM, customer::C_DISCOUNT] {
        screen.number(customer.int(column));
    }
    screen.number(customer.int(customer::C_BALANCE));
    screen.number(date);
    if customer.bytes(customer::C_CREDIT) == BAD_CREDIT {
        // The screen has room for the first 200 characters.
        let data = customer.bytes(customer::C_DATA);
        screen.text(&data[..data.len().min(200)]);
    }
}

/// Determines where an earlier run of the same terminal stopped numbering its history rows.
pub async fn continue_history<E: Env>(
    lane: &mut Lane<E>,
    terminal: &mut Terminal,
) -> Result<(), WorkloadError> {
    let mut txn = lane.begin(Isolation::Snapshot).await?;
    let (low, high) = keys::histories(terminal.history_terminal);
    let histories = terminal.tables.of(terminal.first_warehouse).history;
    let source = ScanSource::Table(histories);
    let scan = Scan { source, low, high, reverse: true, limit: 1 };
    txn.scan(&scan, &mut terminal.buffers.rows).await?;
    let latest = terminal.buffers.rows.first().map(|&row| txn.row(row).int(history::H_ID));
    let first = keys::first_history_number(terminal.history_terminal);
    // The transaction has no writes, so the outcome cannot be unknown.
    if let TransactionResult::Aborted(reason) = result_of(txn.commit().await) {
        return Err(reason.into());
    }
    terminal.history_next = Some(latest.map_or(first, |latest| latest + 1));
    Ok(())
}

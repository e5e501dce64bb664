//! Payment [TPC-C 2.5].

use super::input::Payment;
use super::row::{customer, district, empty, get, history, set, warehouse};
use super::{Rows, Writes, keys};
use crate::row_key::RowKey;

/// The rows that it reads, once the customer is known.
pub fn reads(input: &Payment, customer: RowKey) -> Vec<RowKey> {
    let (w, d) = (input.warehouse, input.district);
    vec![keys::warehouse(w), keys::district(w, d), customer]
}

fn raise(row: &mut [u8], field: super::row::Field, by: i64) {
    let raised = get(row, field) + by;
    set(row, field, raised);
}

/// The rows that it writes.
pub fn writes(input: &Payment, customer_key: RowKey, rows: &Rows, date: i64) -> Writes {
    let (w, d, amount) = (input.warehouse, input.district, i64::from(input.amount));
    let mut warehouse_row = rows[0].clone()?;
    raise(&mut warehouse_row, warehouse::YTD, amount);
    let mut district_row = rows[1].clone()?;
    raise(&mut district_row, district::YTD, amount);
    let mut customer_row = rows[2].clone()?;
    raise(&mut customer_row, customer::BALANCE, -amount);
    raise(&mut customer_row, customer::YTD_PAYMENT, amount);
    raise(&mut customer_row, customer::PAYMENT_COUNT, 1);
    let (number, _) = keys::customer_number(customer_key);
    if get(&customer_row, customer::BAD_CREDIT) == 1 {
        write_into_data(&mut customer_row, &[number, input.customer_district, d, input.amount]);
    }
    let mut history_row = empty(history::BYTES);
    set(&mut history_row, history::CUSTOMER, number.into());
    set(&mut history_row, history::DATE, date);
    set(&mut history_row, history::AMOUNT, amount);
    Some(vec![
        (keys::warehouse(w), Some(warehouse_row)),
        (keys::district(w, d), Some(district_row)),
        (customer_key, Some(customer_row)),
        (keys::history(w, input.number), Some(history_row)),
    ])
}

/// Writes the payment's numbers before the old text, which is truncated at its end.
fn write_into_data(row: &mut [u8], numbers: &[u32]) {
    let data = &mut row[customer::DATA..];
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let end = data.len() - bytes.len();
    data.copy_within(..end, bytes.len());
    data[..bytes.len()].copy_from_slice(&bytes);
}

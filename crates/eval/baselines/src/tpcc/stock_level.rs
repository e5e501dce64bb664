//! Stock-level [TPC-C 2.8]: counts the items of the latest orders whose stock is low.

use super::delivery::lines;
use super::row::{district, get, order_line, stock};
use super::{Rows, keys};
use crate::row_key::RowKey;
use crate::trad_si::Range;
use std::collections::BTreeSet;

/// Number of orders that it reads.
const ORDERS: u32 = 20;

/// The lines of a district's latest orders.
pub fn latest_lines(w: u32, d: u32, district_row: &[u8]) -> Range {
    let next = get(district_row, district::NEXT_ORDER) as u32;
    lines(w, d, next.saturating_sub(ORDERS), next - 1)
}

pub fn latest_orders(w: u32, d: u32, district_row: &[u8]) -> Vec<RowKey> {
    let next = get(district_row, district::NEXT_ORDER) as u32;
    let first = next.saturating_sub(ORDERS).max(1);
    (first..next).map(|o| keys::order(w, d, o)).collect()
}

/// The stocks of the items in these lines, each once.
pub fn stocks(w: u32, lines: &[(u64, Vec<u8>)]) -> Vec<RowKey> {
    let items: BTreeSet<i64> = lines.iter().map(|(_, row)| get(row, order_line::ITEM)).collect();
    items.into_iter().map(|item| keys::stock(w, item as u32)).collect()
}

/// The number of stocks below the threshold.
pub fn count_low(rows: &Rows, threshold: u32) -> u64 {
    let is_low = |row: &&Vec<u8>| get(row, stock::QUANTITY) < i64::from(threshold);
    rows.iter().flatten().filter(is_low).count() as u64
}

//! Order-status [TPC-C 2.6]: a customer's latest order.

use super::keys;
use crate::row_key::RowKey;
use crate::trad_si::Range;

/// The range whose first row is a customer's latest order in the index.
pub fn latest(w: u32, d: u32, customer: RowKey) -> Range {
    let (c, _) = keys::customer_number(customer);
    let first = keys::customer_order(w, d, c, 0);
    let last = keys::customer_order(w, d, c + 1, 0).number - 1;
    Range { first, last, limit: 1, is_reverse: true }
}

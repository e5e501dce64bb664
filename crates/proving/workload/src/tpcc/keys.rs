//! Keys of rows and ranges, in the encoding that the engine compares.

use super::text::{LAST_NAME_BYTES_MAX, Text};
use layout::{Key, KeyBuilder};

/// Words of an order line's key: warehouse, district, order and number take ten bytes.
const ORDER_LINE_WORDS: u32 = 2;
/// Words of an entry of `order_customer`: warehouse, district and customer, then the order's key.
const ORDER_CUSTOMER_WORDS: u32 = 2;
/// Bits of the count within a history number; the terminal's number is above them.
const HISTORY_COUNT_BITS: u32 = 47;

#[inline]
pub fn warehouse(w: i16) -> Key {
    KeyBuilder::new().int2(w).key()
}

#[inline]
pub fn district(w: i16, d: i16) -> Key {
    KeyBuilder::new().int2(w).int2(d).key()
}

#[inline]
pub fn customer(w: i16, d: i16, c: i32) -> Key {
    KeyBuilder::new().int2(w).int2(d).int4(c).key()
}

/// The key of all customers of a district with one last name, in the index `customer_name`.
#[inline]
pub fn customer_name(w: i16, d: i16, last: &Text<LAST_NAME_BYTES_MAX>) -> Key {
    KeyBuilder::new().int2(w).int2(d).padded(last.bytes(), LAST_NAME_BYTES_MAX as u32).key()
}

/// An order's key, and that of its new-order row.
#[inline]
pub fn order(w: i16, d: i16, o: i32) -> Key {
    KeyBuilder::new().int2(w).int2(d).int4(o).key()
}

#[inline]
pub fn order_line(w: i16, d: i16, o: i32, number: i16) -> Key {
    KeyBuilder::new().int2(w).int2(d).int4(o).int2(number).key()
}

/// The range of all lines of the orders from `first` to `last`.
#[inline]
pub fn order_lines(w: i16, d: i16, first: i32, last: i32) -> (Key, Key) {
    let prefix = |o: i32| KeyBuilder::new().int2(w).int2(d).int4(o);
    (prefix(first).prefix_low(ORDER_LINE_WORDS), prefix(last).prefix_high(ORDER_LINE_WORDS))
}

/// The range of the new-order rows of a district, from order `first` on.
#[inline]
pub fn new_orders(w: i16, d: i16, first: i32) -> (Key, Key) {
    (order(w, d, first), order(w, d, i32::MAX))
}

/// The range of all orders of a customer, oldest first, in the index `order_customer`.
#[inline]
pub fn orders_of_customer(w: i16, d: i16, c: i32) -> (Key, Key) {
    let prefix = KeyBuilder::new().int2(w).int2(d).int4(c);
    (prefix.prefix_low(ORDER_CUSTOMER_WORDS), prefix.prefix_high(ORDER_CUSTOMER_WORDS))
}

#[inline]
pub fn history(number: i64) -> Key {
    KeyBuilder::new().int8(number).key()
}

/// The number of the first history row that a terminal writes; the loader is terminal 0.
pub const fn first_history_number(terminal: u16) -> i64 {
    (terminal as i64) << HISTORY_COUNT_BITS
}

/// The range of a terminal's history rows.
pub fn histories(terminal: u16) -> (Key, Key) {
    let first = first_history_number(terminal);
    (history(first), history(first + (1 << HISTORY_COUNT_BITS) - 1))
}

#[inline]
pub fn item(i: i32) -> Key {
    KeyBuilder::new().int4(i).key()
}

#[inline]
pub fn stock(w: i16, i: i32) -> Key {
    KeyBuilder::new().int2(w).int4(i).key()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_their_rows_and_no_others() {
        let (low, high) = order_lines(3, 4, 10, 12);
        let inside = |key: Key| low <= key && key <= high;
        assert!(inside(order_line(3, 4, 10, 1)) && inside(order_line(3, 4, 12, 15)));
        assert!(!inside(order_line(3, 4, 9, 15)) && !inside(order_line(3, 4, 13, 1)));
        assert!(!inside(order_line(3, 5, 11, 1)) && !inside(order_line(2, 4, 11, 1)));
        let (low, high) = new_orders(3, 4, 7);
        assert!(order(3, 4, 6) < low && low <= order(3, 4, 7));
        assert!(order(3, 4, i32::MAX) <= high);
        assert!(order(3, 3, i32::MAX) < low && high < order(3, 5, 1));
    }

    #[test]
    fn terminals_number_their_history_apart() {
        let (low, high) = histories(1);
        assert!(
            history(first_history_number(1) - 1) < low && high < history(first_history_number(2))
        );
        assert!(first_history_number(u16::MAX) > 0);
    }
}

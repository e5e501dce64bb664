//! Rows of the specification's lengths [TPC-C 1.2.1], with the columns that transactions use.

/// A number in a row: its first byte, and its length in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Field {
    at: usize,
    bytes: usize,
}

const fn field(at: usize, bytes: usize) -> Field {
    Field { at, bytes }
}

/// The number in a field, little-endian and signed.
pub(super) fn get(row: &[u8], field: Field) -> i64 {
    let mut word = [0; 8];
    word[..field.bytes].copy_from_slice(&row[field.at..field.at + field.bytes]);
    let unused_bits = 64 - 8 * field.bytes as u32;
    i64::from_le_bytes(word) << unused_bits >> unused_bits
}

/// Sets the number in a field.
pub(super) fn set(row: &mut [u8], field: Field, number: i64) {
    row[field.at..field.at + field.bytes].copy_from_slice(&number.to_le_bytes()[..field.bytes]);
    debug_assert_eq!(get(row, field), number, "the number fits its field");
}

/// A zeroed row.
pub(super) fn empty(bytes: usize) -> Vec<u8> {
    vec![0; bytes]
}

pub(super) mod warehouse {
    use super::{Field, field};
    pub const BYTES: usize = 89;
    pub const TAX: Field = field(0, 4);
    pub const YTD: Field = field(4, 8);
}

pub(super) mod district {
    use super::{Field, field};
    pub const BYTES: usize = 95;
    pub const TAX: Field = field(0, 4);
    pub const YTD: Field = field(4, 8);
    pub const NEXT_ORDER: Field = field(12, 4);
}

pub(super) mod customer {
    use super::{Field, field};
    pub const BYTES: usize = 655;
    pub const DISCOUNT: Field = field(0, 4);
    pub const BALANCE: Field = field(4, 8);
    pub const YTD_PAYMENT: Field = field(12, 8);
    pub const PAYMENT_COUNT: Field = field(20, 4);
    pub const DELIVERY_COUNT: Field = field(24, 4);
    /// 1: bad credit; payments are then written into the data.
    pub const BAD_CREDIT: Field = field(28, 1);
    /// The beginning of the data, which extends to the row's end.
    pub const DATA: usize = 155;
}

pub(super) mod history {
    use super::{Field, field};
    pub const BYTES: usize = 46;
    pub const CUSTOMER: Field = field(0, 4);
    pub const DATE: Field = field(4, 8);
    pub const AMOUNT: Field = field(12, 4);
}

pub(super) mod order {
    use super::{Field, field};
    pub const BYTES: usize = 24;
    pub const CUSTOMER: Field = field(0, 4);
    pub const ENTRY_DATE: Field = field(4, 8);
    pub const CARRIER: Field = field(12, 2);
    pub const LINES: Field = field(14, 2);
    pub const IS_LOCAL: Field = field(16, 1);
}

pub(super) mod new_order {
    pub const BYTES: usize = 8;
}

pub(super) mod order_line {
    use super::{Field, field};
    pub const BYTES: usize = 54;
    pub const ITEM: Field = field(0, 4);
    pub const SUPPLY_WAREHOUSE: Field = field(4, 2);
    pub const DELIVERY_DATE: Field = field(6, 8);
    pub const QUANTITY: Field = field(14, 2);
    pub const AMOUNT: Field = field(16, 8);
}

pub(super) mod item {
    use super::{Field, field};
    pub const BYTES: usize = 82;
    pub const PRICE: Field = field(0, 4);
}

pub(super) mod stock {
    use super::{Field, field};
    pub const BYTES: usize = 306;
    pub const QUANTITY: Field = field(0, 4);
    pub const YTD: Field = field(4, 4);
    pub const ORDER_COUNT: Field = field(8, 4);
    pub const REMOTE_COUNT: Field = field(12, 4);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_sign_and_their_neighbours() {
        let mut row = empty(customer::BYTES);
        set(&mut row, customer::DISCOUNT, 5000);
        set(&mut row, customer::BALANCE, -1000);
        set(&mut row, customer::YTD_PAYMENT, i64::MAX);
        let fields = [customer::DISCOUNT, customer::BALANCE, customer::YTD_PAYMENT];
        assert_eq!(fields.map(|field| get(&row, field)), [5000, -1000, i64::MAX]);
        assert_eq!(get(&row, customer::PAYMENT_COUNT), 0);
    }
}

//! The nine tables and their columns [TPC-C 1.3].
//!
//! Money is a decimal of cents; taxes and discounts have four digits after the point. Counters with
//! four digits in the specification have four bytes, because long runs count further.

use layout::ColumnType::{Char, Decimal, Int2, Int4, Int8, Timestamp, Varchar};
use layout::{Column, ColumnType, Schema, SchemaError};

const MONEY: ColumnType = Decimal { scale: 2 };
const RATE: ColumnType = Decimal { scale: 4 };
/// The rate 1 in units of a `RATE` column.
pub const RATE_ONE: i64 = 10_000;

/// Positions of the columns of `warehouse`.
pub mod warehouse {
    pub const W_ID: usize = 0;
    pub const W_NAME: usize = 1;
    /// The first of the address's five columns, which are always shown together.
    pub const W_STREET_1: usize = 2;
    pub const W_ZIP: usize = 6;
    pub const W_TAX: usize = 7;
    pub const W_YTD: usize = 8;
}

/// Positions of the columns of `district`.
pub mod district {
    pub const D_W_ID: usize = 0;
    pub const D_ID: usize = 1;
    pub const D_NAME: usize = 2;
    /// The first of the address's five columns, which are always shown together.
    pub const D_STREET_1: usize = 3;
    pub const D_ZIP: usize = 7;
    pub const D_TAX: usize = 8;
    pub const D_YTD: usize = 9;
    pub const D_NEXT_O_ID: usize = 10;
}

/// Positions of the columns of `customer`.
pub mod customer {
    pub const C_W_ID: usize = 0;
    pub const C_D_ID: usize = 1;
    pub const C_ID: usize = 2;
    pub const C_FIRST: usize = 3;
    pub const C_MIDDLE: usize = 4;
    pub const C_LAST: usize = 5;
    /// The first of the address's five columns, which are always shown together.
    pub const C_STREET_1: usize = 6;
    pub const C_PHONE: usize = 11;
    pub const C_SINCE: usize = 12;
    pub const C_CREDIT: usize = 13;
    pub const C_CREDIT_LIM: usize = 14;
    pub const C_DISCOUNT: usize = 15;
    pub const C_BALANCE: usize = 16;
    pub const C_YTD_PAYMENT: usize = 17;
    pub const C_PAYMENT_CNT: usize = 18;
    pub const C_DELIVERY_CNT: usize = 19;
    pub const C_DATA: usize = 20;
}

/// Positions of the columns of `history`.
pub mod history {
    pub const H_ID: usize = 0;
    pub const H_C_ID: usize = 1;
    pub const H_C_D_ID: usize = 2;
    pub const H_C_W_ID: usize = 3;
    pub const H_D_ID: usize = 4;
    pub const H_W_ID: usize = 5;
    pub const H_DATE: usize = 6;
    pub const H_AMOUNT: usize = 7;
    pub const H_DATA: usize = 8;
}

/// Positions of the columns of `orders`.
pub mod orders {
    pub const O_W_ID: usize = 0;
    pub const O_D_ID: usize = 1;
    pub const O_ID: usize = 2;
    pub const O_C_ID: usize = 3;
    pub const O_ENTRY_D: usize = 4;
    pub const O_CARRIER_ID: usize = 5;
    pub const O_OL_CNT: usize = 6;
    pub const O_ALL_LOCAL: usize = 7;
}

/// Positions of the columns of `new_order`.
pub mod new_order {
    pub const NO_W_ID: usize = 0;
    pub const NO_D_ID: usize = 1;
    pub const NO_O_ID: usize = 2;
}

/// Positions of the columns of `order_line`.
pub mod order_line {
    pub const OL_W_ID: usize = 0;
    pub const OL_D_ID: usize = 1;
    pub const OL_O_ID: usize = 2;
    pub const OL_NUMBER: usize = 3;
    pub const OL_I_ID: usize = 4;
    pub const OL_SUPPLY_W_ID: usize = 5;
    pub const OL_DELIVERY_D: usize = 6;
    pub const OL_QUANTITY: usize = 7;
    pub const OL_AMOUNT: usize = 8;
    pub const OL_DIST_INFO: usize = 9;
}

/// Positions of the columns of `item`.
pub mod item {
    pub const I_ID: usize = 0;
    pub const I_IM_ID: usize = 1;
    pub const I_NAME: usize = 2;
    pub const I_PRICE: usize = 3;
    pub const I_DATA: usize = 4;
}

/// Positions of the columns of `stock`.
pub mod stock {
    pub const S_W_ID: usize = 0;
    pub const S_I_ID: usize = 1;
    pub const S_QUANTITY: usize = 2;
    /// The first of ten columns, one per district.
    pub const S_DIST_01: usize = 3;
    pub const S_YTD: usize = 13;
    pub const S_ORDER_CNT: usize = 14;
    pub const S_REMOTE_CNT: usize = 15;
    pub const S_DATA: usize = 16;
    /// Number of columns of district texts; further districts share them.
    pub const DISTRICT_TEXTS: usize = 10;
}

/// Bytes of a district text in stock and order lines.
pub const DIST_INFO_BYTES: usize = 24;
/// The largest number of bytes of a customer's data.
pub const C_DATA_BYTES: usize = 500;

/// A table's name, its columns in order, and the positions of its key.
type Described = (&'static str, Vec<Column>, &'static [usize]);

/// The schemas of the nine tables, in the order of [`super::tables::TABLE_NAMES`].
pub fn schemas() -> Result<Vec<Schema>, SchemaError> {
    [
        describe_warehouse(),
        describe_district(),
        describe_customer(),
        describe_history(),
        describe_orders(),
        describe_new_order(),
        describe_order_line(),
        describe_item(),
        describe_stock(),
    ]
    .into_iter()
    .map(|(name, columns, key)| Schema::new(name, columns, key))
    .collect()
}

fn column(name: &str, column_type: ColumnType) -> Column {
    Column::new(name, column_type)
}

/// The columns of an address: two streets, city, state and zip.
fn address(prefix: &str) -> [Column; 5] {
    [
        column(&format!("{prefix}_street_1"), Varchar(20)),
        column(&format!("{prefix}_street_2"), Varchar(20)),
        column(&format!("{prefix}_city"), Varchar(20)),
        column(&format!("{prefix}_state"), Char(2)),
        column(&format!("{prefix}_zip"), Char(9)),
    ]
}

fn describe_warehouse() -> Described {
    let mut columns = vec![column("w_id", Int2), column("w_name", Varchar(10))];
    columns.extend(address("w"));
    columns.extend([column("w_tax", RATE), column("w_ytd", MONEY)]);
    ("warehouse", columns, &[warehouse::W_ID])
}

fn describe_district() -> Described {
    let mut columns =
        vec![column("d_w_id", Int2), column("d_id", Int2), column("d_name", Varchar(10))];
    columns.extend(address("d"));
    columns.extend([column("d_tax", RATE), column("d_ytd", MONEY), column("d_next_o_id", Int4)]);
    ("district", columns, &[district::D_W_ID, district::D_ID])
}

fn describe_customer() -> Described {
    let mut columns = vec![
        column("c_w_id", Int2),
        column("c_d_id", Int2),
        column("c_id", Int4),
        column("c_first", Varchar(16)),
        column("c_middle", Char(2)),
        column("c_last", Varchar(16)),
    ];
    columns.extend(address("c"));
    columns.extend([
        column("c_phone", Char(16)),
        column("c_since", Timestamp),
        column("c_credit", Char(2)),
        column("c_credit_lim", MONEY),
        column("c_discount", RATE),
        column("c_balance", MONEY),
        column("c_ytd_payment", MONEY),
        column("c_payment_cnt", Int4),
        column("c_delivery_cnt", Int4),
        column("c_data", Varchar(C_DATA_BYTES as u32)),
    ]);
    ("customer", columns, &[customer::C_W_ID, customer::C_D_ID, customer::C_ID])
}

/// The specification gives `history` no key [TPC-C 1.3.1]. Ours is hidden: the writing terminal in
/// the high bits and its count in the low ones, so that terminals append to different places.
fn describe_history() -> Described {
    let columns = vec![
        column("h_id", Int8),
        column("h_c_id", Int4),
        column("h_c_d_id", Int2),
        column("h_c_w_id", Int2),
        column("h_d_id", Int2),
        column("h_w_id", Int2),
        column("h_date", Timestamp),
        column("h_amount", MONEY),
        column("h_data", Varchar(24)),
    ];
    ("history", columns, &[history::H_ID])
}

fn describe_orders() -> Described {
    let columns = vec![
        column("o_w_id", Int2),
        column("o_d_id", Int2),
        column("o_id", Int4),
        column("o_c_id", Int4),
        column("o_entry_d", Timestamp),
        Column::nullable("o_carrier_id", Int2),
        column("o_ol_cnt", Int2),
        column("o_all_local", Int2),
    ];
    ("orders", columns, &[orders::O_W_ID, orders::O_D_ID, orders::O_ID])
}

fn describe_new_order() -> Described {
    let columns = vec![column("no_w_id", Int2), column("no_d_id", Int2), column("no_o_id", Int4)];
    ("new_order", columns, &[new_order::NO_W_ID, new_order::NO_D_ID, new_order::NO_O_ID])
}

fn describe_order_line() -> Described {
    use order_line::{OL_D_ID, OL_NUMBER, OL_O_ID, OL_W_ID};
    let columns = vec![
        column("ol_w_id", Int2),
        column("ol_d_id", Int2),
        column("ol_o_id", Int4),
        column("ol_number", Int2),
        column("ol_i_id", Int4),
        column("ol_supply_w_id", Int2),
        Column::nullable("ol_delivery_d", Timestamp),
        column("ol_quantity", Int2),
        column("ol_amount", MONEY),
        column("ol_dist_info", Char(DIST_INFO_BYTES as u32)),
    ];
    ("order_line", columns, &[OL_W_ID, OL_D_ID, OL_O_ID, OL_NUMBER])
}

fn describe_item() -> Described {
    let columns = vec![
        column("i_id", Int4),
        column("i_im_id", Int4),
        column("i_name", Varchar(24)),
        column("i_price", MONEY),
        column("i_data", Varchar(50)),
    ];
    ("item", columns, &[item::I_ID])
}

fn describe_stock() -> Described {
    let mut columns =
        vec![column("s_w_id", Int2), column("s_i_id", Int4), column("s_quantity", Int2)];
    let texts = (1..=stock::DISTRICT_TEXTS)
        .map(|district| column(&format!("s_dist_{district:02}"), Char(DIST_INFO_BYTES as u32)));
    columns.extend(texts);
    columns.extend([
        column("s_ytd", Int4),
        column("s_order_cnt", Int4),
        column("s_remote_cnt", Int4),
        column("s_data", Varchar(50)),
    ]);
    ("stock", columns, &[stock::S_W_ID, stock::S_I_ID])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The constants above and the lists of columns must agree; a shift shows in any later column.
    #[test]
    fn positions_match_names() {
        let schemas = schemas().expect("the schemas are fine");
        let expected: [&[(&str, usize)]; 9] = [
            &[("w_id", warehouse::W_ID), ("w_zip", warehouse::W_ZIP), ("w_ytd", warehouse::W_YTD)],
            &[("d_id", district::D_ID), ("d_next_o_id", district::D_NEXT_O_ID)],
            &[("c_last", customer::C_LAST), ("c_data", customer::C_DATA)],
            &[("h_w_id", history::H_W_ID), ("h_data", history::H_DATA)],
            &[("o_c_id", orders::O_C_ID), ("o_all_local", orders::O_ALL_LOCAL)],
            &[("no_o_id", new_order::NO_O_ID)],
            &[("ol_number", order_line::OL_NUMBER), ("ol_dist_info", order_line::OL_DIST_INFO)],
            &[("i_name", item::I_NAME), ("i_data", item::I_DATA)],
            &[("s_dist_01", stock::S_DIST_01), ("s_dist_10", 12), ("s_data", stock::S_DATA)],
        ];
        for (schema, columns) in schemas.iter().zip(expected) {
            for &(name, position) in columns {
                assert_eq!(schema.position(name), Some(position), "{name}");
            }
        }
    }

    #[test]
    fn keys_fit_the_words_the_design_counts_on() {
        let words: Vec<u32> = schemas()
            .expect("the schemas are fine")
            .iter()
            .map(|schema| schema.row_layout(false).key_words)
            .collect();
        assert_eq!(words, [1, 1, 1, 1, 1, 1, 2, 1, 1]);
    }
}

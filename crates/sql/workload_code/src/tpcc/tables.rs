//! Tables and indexes by their numbers, and columns by their slots.

use fabric::Env;
use layout::Slot;
use procedure_runtime::{BindError, bind};
use txn::{Columns, Database, IndexId, TableId};

/// The numbers of the tables and indexes in an open database.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Table `warehouse`.
    pub warehouse: TableId,
    /// Table `district`.
    pub district: TableId,
    /// Table `customer`.
    pub customer: TableId,
    /// Index `customer_name` of table `customer`.
    pub customer_by_customer_name: IndexId,
    /// Table `history`.
    pub history: TableId,
    /// Table `orders`.
    pub orders: TableId,
    /// Index `order_customer` of table `orders`.
    pub orders_by_order_customer: IndexId,
    /// Table `new_order`.
    pub new_order: TableId,
    /// Table `order_line`.
    pub order_line: TableId,
    /// Table `item`.
    pub item: TableId,
    /// Table `stock`.
    pub stock: TableId,
    /// Key and `w_tax` of rows of table `warehouse`.
    pub columns_of_warehouse_w_tax: Columns,
    /// Key and `c_last`, `c_credit`, `c_discount` of rows of table `customer`.
    pub columns_of_customer_c_last_c_credit_c_discount: Columns,
    /// Key and `s_quantity` of rows of table `stock`.
    pub columns_of_stock_s_quantity: Columns,
}

impl Tables {
    /// Finds tables and indexes by name, and checks that the columns have the slots of this code.
    pub fn find<E: Env>(database: &Database<E>) -> Result<Self, BindError> {
        Ok(Self {
            warehouse: bind::table(database, "warehouse", warehouse::SLOTS)?,
            district: bind::table(database, "district", district::SLOTS)?,
            customer: bind::table(database, "customer", customer::SLOTS)?,
            customer_by_customer_name: bind::index(database, "customer", "customer_name")?,
            history: bind::table(database, "history", history::SLOTS)?,
            orders: bind::table(database, "orders", orders::SLOTS)?,
            orders_by_order_customer: bind::index(database, "orders", "order_customer")?,
            new_order: bind::table(database, "new_order", new_order::SLOTS)?,
            order_line: bind::table(database, "order_line", order_line::SLOTS)?,
            item: bind::table(database, "item", item::SLOTS)?,
            stock: bind::table(database, "stock", stock::SLOTS)?,
            columns_of_warehouse_w_tax: bind::columns(database, "warehouse", &[7])?,
            columns_of_customer_c_last_c_credit_c_discount: bind::columns(
                database,
                "customer",
                &[5, 13, 15],
            )?,
            columns_of_stock_s_quantity: bind::columns(database, "stock", &[2])?,
        })
    }
}

/// Columns of table `warehouse`.
pub mod warehouse {
    use super::Slot;

    /// Column `w_id`.
    pub const W_ID: Slot = Slot::key(0, 2);
    /// Column `w_name`.
    pub const W_NAME: Slot = Slot::text(16, 10);
    /// Column `w_street_1`.
    pub const W_STREET_1: Slot = Slot::text(27, 20);
    /// Column `w_street_2`.
    pub const W_STREET_2: Slot = Slot::text(48, 20);
    /// Column `w_city`.
    pub const W_CITY: Slot = Slot::text(69, 20);
    /// Column `w_state`.
    pub const W_STATE: Slot = Slot::text(90, 2);
    /// Column `w_zip`.
    pub const W_ZIP: Slot = Slot::text(93, 9);
    /// Column `w_tax`.
    pub const W_TAX: Slot = Slot::number(0, 8);
    /// Column `w_ytd`.
    pub const W_YTD: Slot = Slot::number(8, 8);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[
        (0, W_ID),
        (1, W_NAME),
        (2, W_STREET_1),
        (3, W_STREET_2),
        (4, W_CITY),
        (5, W_STATE),
        (6, W_ZIP),
        (7, W_TAX),
        (8, W_YTD),
    ];
}

/// Columns of table `district`.
pub mod district {
    use super::Slot;

    /// Column `d_w_id`.
    pub const D_W_ID: Slot = Slot::key(0, 2);
    /// Column `d_id`.
    pub const D_ID: Slot = Slot::key(2, 2);
    /// Column `d_name`.
    pub const D_NAME: Slot = Slot::text(20, 10);
    /// Column `d_street_1`.
    pub const D_STREET_1: Slot = Slot::text(31, 20);
    /// Column `d_street_2`.
    pub const D_STREET_2: Slot = Slot::text(52, 20);
    /// Column `d_city`.
    pub const D_CITY: Slot = Slot::text(73, 20);
    /// Column `d_state`.
    pub const D_STATE: Slot = Slot::text(94, 2);
    /// Column `d_zip`.
    pub const D_ZIP: Slot = Slot::text(97, 9);
    /// Column `d_tax`.
    pub const D_TAX: Slot = Slot::number(0, 8);
    /// Column `d_ytd`.
    pub const D_YTD: Slot = Slot::number(8, 8);
    /// Column `d_next_o_id`.
    pub const D_NEXT_O_ID: Slot = Slot::number(16, 4);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[
        (0, D_W_ID),
        (1, D_ID),
        (2, D_NAME),
        (3, D_STREET_1),
        (4, D_STREET_2),
        (5, D_CITY),
        (6, D_STATE),
        (7, D_ZIP),
        (8, D_TAX),
        (9, D_YTD),
        (10, D_NEXT_O_ID),
    ];
}

/// Columns of table `customer`.
pub mod customer {
    use super::Slot;

    /// Column `c_w_id`.
    pub const C_W_ID: Slot = Slot::key(0, 2);
    /// Column `c_d_id`.
    pub const C_D_ID: Slot = Slot::key(2, 2);
    /// Column `c_id`.
    pub const C_ID: Slot = Slot::key(4, 4);
    /// Column `c_first`.
    pub const C_FIRST: Slot = Slot::text(48, 16);
    /// Column `c_middle`.
    pub const C_MIDDLE: Slot = Slot::text(65, 2);
    /// Column `c_last`.
    pub const C_LAST: Slot = Slot::text(68, 16);
    /// Column `c_street_1`.
    pub const C_STREET_1: Slot = Slot::text(85, 20);
    /// Column `c_street_2`.
    pub const C_STREET_2: Slot = Slot::text(106, 20);
    /// Column `c_city`.
    pub const C_CITY: Slot = Slot::text(127, 20);
    /// Column `c_state`.
    pub const C_STATE: Slot = Slot::text(148, 2);
    /// Column `c_zip`.
    pub const C_ZIP: Slot = Slot::text(151, 9);
    /// Column `c_phone`.
    pub const C_PHONE: Slot = Slot::text(161, 16);
    /// Column `c_since`.
    pub const C_SINCE: Slot = Slot::number(0, 8);
    /// Column `c_credit`.
    pub const C_CREDIT: Slot = Slot::text(178, 2);
    /// Column `c_credit_lim`.
    pub const C_CREDIT_LIM: Slot = Slot::number(8, 8);
    /// Column `c_discount`.
    pub const C_DISCOUNT: Slot = Slot::number(16, 8);
    /// Column `c_balance`.
    pub const C_BALANCE: Slot = Slot::number(24, 8);
    /// Column `c_ytd_payment`.
    pub const C_YTD_PAYMENT: Slot = Slot::number(32, 8);
    /// Column `c_payment_cnt`.
    pub const C_PAYMENT_CNT: Slot = Slot::number(40, 4);
    /// Column `c_delivery_cnt`.
    pub const C_DELIVERY_CNT: Slot = Slot::number(44, 4);
    /// Column `c_data`.
    pub const C_DATA: Slot = Slot::text(181, 500);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[
        (0, C_W_ID),
        (1, C_D_ID),
        (2, C_ID),
        (3, C_FIRST),
        (4, C_MIDDLE),
        (5, C_LAST),
        (6, C_STREET_1),
        (7, C_STREET_2),
        (8, C_CITY),
        (9, C_STATE),
        (10, C_ZIP),
        (11, C_PHONE),
        (12, C_SINCE),
        (13, C_CREDIT),
        (14, C_CREDIT_LIM),
        (15, C_DISCOUNT),
        (16, C_BALANCE),
        (17, C_YTD_PAYMENT),
        (18, C_PAYMENT_CNT),
        (19, C_DELIVERY_CNT),
        (20, C_DATA),
    ];
}

/// Columns of table `history`.
pub mod history {
    use super::Slot;

    /// Column `h_id`.
    pub const H_ID: Slot = Slot::key(0, 8);
    /// Column `h_c_id`.
    pub const H_C_ID: Slot = Slot::number(16, 4);
    /// Column `h_c_d_id`.
    pub const H_C_D_ID: Slot = Slot::number(20, 2);
    /// Column `h_c_w_id`.
    pub const H_C_W_ID: Slot = Slot::number(22, 2);
    /// Column `h_d_id`.
    pub const H_D_ID: Slot = Slot::number(24, 2);
    /// Column `h_w_id`.
    pub const H_W_ID: Slot = Slot::number(26, 2);
    /// Column `h_date`.
    pub const H_DATE: Slot = Slot::number(0, 8);
    /// Column `h_amount`.
    pub const H_AMOUNT: Slot = Slot::number(8, 8);
    /// Column `h_data`.
    pub const H_DATA: Slot = Slot::text(28, 24);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[
        (0, H_ID),
        (1, H_C_ID),
        (2, H_C_D_ID),
        (3, H_C_W_ID),
        (4, H_D_ID),
        (5, H_W_ID),
        (6, H_DATE),
        (7, H_AMOUNT),
        (8, H_DATA),
    ];
}

/// Columns of table `orders`.
pub mod orders {
    use super::Slot;

    /// Column `o_w_id`.
    pub const O_W_ID: Slot = Slot::key(0, 2);
    /// Column `o_d_id`.
    pub const O_D_ID: Slot = Slot::key(2, 2);
    /// Column `o_id`.
    pub const O_ID: Slot = Slot::key(4, 4);
    /// Column `o_c_id`.
    pub const O_C_ID: Slot = Slot::number(16, 4);
    /// Column `o_entry_d`.
    pub const O_ENTRY_D: Slot = Slot::number(8, 8);
    /// Column `o_carrier_id`.
    pub const O_CARRIER_ID: Slot = Slot::number(20, 2).nullable(0, 1);
    /// Column `o_ol_cnt`.
    pub const O_OL_CNT: Slot = Slot::number(22, 2);
    /// Column `o_all_local`.
    pub const O_ALL_LOCAL: Slot = Slot::number(24, 2);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[
        (0, O_W_ID),
        (1, O_D_ID),
        (2, O_ID),
        (3, O_C_ID),
        (4, O_ENTRY_D),
        (5, O_CARRIER_ID),
        (6, O_OL_CNT),
        (7, O_ALL_LOCAL),
    ];
}

/// Columns of table `new_order`.
pub mod new_order {
    use super::Slot;

    /// Column `no_w_id`.
    pub const NO_W_ID: Slot = Slot::key(0, 2);
    /// Column `no_d_id`.
    pub const NO_D_ID: Slot = Slot::key(2, 2);
    /// Column `no_o_id`.
    pub const NO_O_ID: Slot = Slot::key(4, 4);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, NO_W_ID), (1, NO_D_ID), (2, NO_O_ID)];
}

/// Columns of table `order_line`.
pub mod order_line {
    use super::Slot;

    /// Column `ol_w_id`.
    pub const OL_W_ID: Slot = Slot::key(0, 2);
    /// Column `ol_d_id`.
    pub const OL_D_ID: Slot = Slot::key(2, 2);
    /// Column `ol_o_id`.
    pub const OL_O_ID: Slot = Slot::key(4, 4);
    /// Column `ol_number`.
    pub const OL_NUMBER: Slot = Slot::key(8, 2);
    /// Column `ol_i_id`.
    pub const OL_I_ID: Slot = Slot::number(24, 4);
    /// Column `ol_supply_w_id`.
    pub const OL_SUPPLY_W_ID: Slot = Slot::number(28, 2);
    /// Column `ol_delivery_d`.
    pub const OL_DELIVERY_D: Slot = Slot::number(8, 8).nullable(0, 1);
    /// Column `ol_quantity`.
    pub const OL_QUANTITY: Slot = Slot::number(30, 2);
    /// Column `ol_amount`.
    pub const OL_AMOUNT: Slot = Slot::number(16, 8);
    /// Column `ol_dist_info`.
    pub const OL_DIST_INFO: Slot = Slot::text(32, 24);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[
        (0, OL_W_ID),
        (1, OL_D_ID),
        (2, OL_O_ID),
        (3, OL_NUMBER),
        (4, OL_I_ID),
        (5, OL_SUPPLY_W_ID),
        (6, OL_DELIVERY_D),
        (7, OL_QUANTITY),
        (8, OL_AMOUNT),
        (9, OL_DIST_INFO),
    ];
}

/// Columns of table `item`.
pub mod item {
    use super::Slot;

    /// Column `i_id`.
    pub const I_ID: Slot = Slot::key(0, 4);
    /// Column `i_im_id`.
    pub const I_IM_ID: Slot = Slot::number(8, 4);
    /// Column `i_name`.
    pub const I_NAME: Slot = Slot::text(12, 24);
    /// Column `i_price`.
    pub const I_PRICE: Slot = Slot::number(0, 8);
    /// Column `i_data`.
    pub const I_DATA: Slot = Slot::text(37, 50);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] =
        &[(0, I_ID), (1, I_IM_ID), (2, I_NAME), (3, I_PRICE), (4, I_DATA)];
}

/// Columns of table `stock`.
pub mod stock {
    use super::Slot;

    /// Column `s_w_id`.
    pub const S_W_ID: Slot = Slot::key(0, 2);
    /// Column `s_i_id`.
    pub const S_I_ID: Slot = Slot::key(2, 4);
    /// Column `s_quantity`.
    pub const S_QUANTITY: Slot = Slot::number(12, 2);
    /// Column `s_dist_01`.
    pub const S_DIST_01: Slot = Slot::text(14, 24);
    /// Column `s_dist_02`.
    pub const S_DIST_02: Slot = Slot::text(39, 24);
    /// Column `s_dist_03`.
    pub const S_DIST_03: Slot = Slot::text(64, 24);
    /// Column `s_dist_04`.
    pub const S_DIST_04: Slot = Slot::text(89, 24);
    /// Column `s_dist_05`.
    pub const S_DIST_05: Slot = Slot::text(114, 24);
    /// Column `s_dist_06`.
    pub const S_DIST_06: Slot = Slot::text(139, 24);
    /// Column `s_dist_07`.
    pub const S_DIST_07: Slot = Slot::text(164, 24);
    /// Column `s_dist_08`.
    pub const S_DIST_08: Slot = Slot::text(189, 24);
    /// Column `s_dist_09`.
    pub const S_DIST_09: Slot = Slot::text(214, 24);
    /// Column `s_dist_10`.
    pub const S_DIST_10: Slot = Slot::text(239, 24);
    /// Column `s_ytd`.
    pub const S_YTD: Slot = Slot::number(0, 4);
    /// Column `s_order_cnt`.
    pub const S_ORDER_CNT: Slot = Slot::number(4, 4);
    /// Column `s_remote_cnt`.
    pub const S_REMOTE_CNT: Slot = Slot::number(8, 4);
    /// Column `s_data`.
    pub const S_DATA: Slot = Slot::text(264, 50);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[
        (0, S_W_ID),
        (1, S_I_ID),
        (2, S_QUANTITY),
        (3, S_DIST_01),
        (4, S_DIST_02),
        (5, S_DIST_03),
        (6, S_DIST_04),
        (7, S_DIST_05),
        (8, S_DIST_06),
        (9, S_DIST_07),
        (10, S_DIST_08),
        (11, S_DIST_09),
        (12, S_DIST_10),
        (13, S_YTD),
        (14, S_ORDER_CNT),
        (15, S_REMOTE_CNT),
        (16, S_DATA),
    ];
}

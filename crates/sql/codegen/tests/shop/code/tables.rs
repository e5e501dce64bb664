//! Tables and indexes by their numbers, and columns by their slots.

use fabric::Env;
use layout::Slot;
use procedure_runtime::{BindError, bind};
use txn::{Columns, Database, IndexId, TableId};

/// The numbers of the tables and indexes in an open database.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Table `country`.
    pub country: TableId,
    /// Table `customer`.
    pub customer: TableId,
    /// Index `customer_email_key` of table `customer`.
    pub customer_by_customer_email_key: IndexId,
    /// Index `customer_advised_by` of table `customer`.
    pub customer_by_customer_advised_by: IndexId,
    /// Table `product`.
    pub product: TableId,
    /// Index `product_kind` of table `product`.
    pub product_by_product_kind: IndexId,
    /// Table `purchase`.
    pub purchase: TableId,
    /// Index `purchase_customer` of table `purchase`.
    pub purchase_by_purchase_customer: IndexId,
    /// Table `line`.
    pub line: TableId,
    /// Index `line_of_purchase` of table `line`.
    pub line_by_line_of_purchase: IndexId,
    /// Index `line_sku` of table `line`.
    pub line_by_line_sku: IndexId,
    /// Index `line_gift_for` of table `line`.
    pub line_by_line_gift_for: IndexId,
    /// Table `review`.
    pub review: TableId,
    /// Index `review_line` of table `review`.
    pub review_by_review_line: IndexId,
    /// Table `visit`.
    pub visit: TableId,
    /// Index `visit_customer` of table `visit`.
    pub visit_by_visit_customer: IndexId,
    /// Table `wish`.
    pub wish: TableId,
    /// Index `wish_customer` of table `wish`.
    pub wish_by_wish_customer: IndexId,
    /// Only the key of rows of table `customer`.
    pub columns_of_customer: Columns,
}

impl Tables {
    /// Finds tables and indexes by name, and checks that the columns have the slots of this code.
    pub fn find<E: Env>(database: &Database<E>) -> Result<Self, BindError> {
        Ok(Self {
            country: bind::table(database, "country", country::SLOTS)?,
            customer: bind::table(database, "customer", customer::SLOTS)?,
            customer_by_customer_email_key: bind::index(
                database,
                "customer",
                "customer_email_key",
            )?,
            customer_by_customer_advised_by: bind::index(
                database,
                "customer",
                "customer_advised_by",
            )?,
            product: bind::table(database, "product", product::SLOTS)?,
            product_by_product_kind: bind::index(database, "product", "product_kind")?,
            purchase: bind::table(database, "purchase", purchase::SLOTS)?,
            purchase_by_purchase_customer: bind::index(database, "purchase", "purchase_customer")?,
            line: bind::table(database, "line", line::SLOTS)?,
            line_by_line_of_purchase: bind::index(database, "line", "line_of_purchase")?,
            line_by_line_sku: bind::index(database, "line", "line_sku")?,
            line_by_line_gift_for: bind::index(database, "line", "line_gift_for")?,
            review: bind::table(database, "review", review::SLOTS)?,
            review_by_review_line: bind::index(database, "review", "review_line")?,
            visit: bind::table(database, "visit", visit::SLOTS)?,
            visit_by_visit_customer: bind::index(database, "visit", "visit_customer")?,
            wish: bind::table(database, "wish", wish::SLOTS)?,
            wish_by_wish_customer: bind::index(database, "wish", "wish_customer")?,
            columns_of_customer: bind::columns(database, "customer", &[])?,
        })
    }
}

/// Columns of table `country`.
pub mod country {
    use super::Slot;

    /// Column `code`.
    pub const CODE: Slot = Slot::key_text(0, 2);
    /// Column `name`.
    pub const NAME: Slot = Slot::text(8, 20);
    /// Column `tax`.
    pub const TAX: Slot = Slot::number(0, 8);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, CODE), (1, NAME), (2, TAX)];
}

/// Columns of table `customer`.
pub mod customer {
    use super::Slot;

    /// Column `id`.
    pub const ID: Slot = Slot::key(0, 4);
    /// Column `name`.
    pub const NAME: Slot = Slot::text(28, 24);
    /// Column `country`.
    pub const COUNTRY: Slot = Slot::text(53, 2);
    /// Column `advised_by`.
    pub const ADVISED_BY: Slot = Slot::number(24, 4).nullable(0, 1);
    /// Column `balance`.
    pub const BALANCE: Slot = Slot::number(8, 8);
    /// Column `credit`.
    pub const CREDIT: Slot = Slot::number(16, 8).nullable(0, 2);
    /// Column `email`.
    pub const EMAIL: Slot = Slot::text(56, 32).nullable(0, 4);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] =
        &[(0, ID), (1, NAME), (2, COUNTRY), (3, ADVISED_BY), (4, BALANCE), (5, CREDIT), (6, EMAIL)];
}

/// Columns of table `product`.
pub mod product {
    use super::Slot;

    /// Column `sku`.
    pub const SKU: Slot = Slot::key_text(0, 6);
    /// Column `label`.
    pub const LABEL: Slot = Slot::text(24, 24);
    /// Column `kind`.
    pub const KIND: Slot = Slot::text(49, 3);
    /// Column `price`.
    pub const PRICE: Slot = Slot::number(8, 8);
    /// Column `stock`.
    pub const STOCK: Slot = Slot::number(16, 4);
    /// Column `reserved`.
    pub const RESERVED: Slot = Slot::number(20, 4).nullable(0, 1);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] =
        &[(0, SKU), (1, LABEL), (2, KIND), (3, PRICE), (4, STOCK), (5, RESERVED)];
}

/// Columns of table `purchase`.
pub mod purchase {
    use super::Slot;

    /// Column `id`.
    pub const ID: Slot = Slot::key(0, 4);
    /// Column `customer`.
    pub const CUSTOMER: Slot = Slot::number(24, 4);
    /// Column `state`.
    pub const STATE: Slot = Slot::text(28, 1);
    /// Column `placed`.
    pub const PLACED: Slot = Slot::number(8, 8);
    /// Column `paid`.
    pub const PAID: Slot = Slot::number(16, 8).nullable(0, 1);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] =
        &[(0, ID), (1, CUSTOMER), (2, STATE), (3, PLACED), (4, PAID)];
}

/// Columns of table `line`.
pub mod line {
    use super::Slot;

    /// Column `purchase`.
    pub const PURCHASE: Slot = Slot::key(0, 4);
    /// Column `number`.
    pub const NUMBER_VALUE: Slot = Slot::key(4, 2);
    /// Column `sku`.
    pub const SKU: Slot = Slot::text(24, 6);
    /// Column `quantity`.
    pub const QUANTITY: Slot = Slot::number(16, 4);
    /// Column `amount`.
    pub const AMOUNT: Slot = Slot::number(8, 8);
    /// Column `gift_for`.
    pub const GIFT_FOR: Slot = Slot::number(20, 4).nullable(0, 1);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] =
        &[(0, PURCHASE), (1, NUMBER_VALUE), (2, SKU), (3, QUANTITY), (4, AMOUNT), (5, GIFT_FOR)];
}

/// Columns of table `review`.
pub mod review {
    use super::Slot;

    /// Column `line`.
    pub const LINE: Slot = Slot::number(8, 2).nullable(0, 1);
    /// Column `purchase`.
    pub const PURCHASE: Slot = Slot::number(4, 4).nullable(0, 2);
    /// Column `stars`.
    pub const STARS: Slot = Slot::number(10, 2);
    /// Column `words`.
    pub const WORDS: Slot = Slot::text(12, 20).nullable(0, 4);
    /// Column `id`.
    pub const ID: Slot = Slot::key(0, 4);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] =
        &[(0, LINE), (1, PURCHASE), (2, STARS), (3, WORDS), (4, ID)];
}

/// Columns of table `visit`.
pub mod visit {
    use super::Slot;

    /// Column `customer`.
    pub const CUSTOMER: Slot = Slot::number(4, 4).nullable(0, 1);
    /// Column `sku`.
    pub const SKU: Slot = Slot::text(10, 6);
    /// Column `seconds`.
    pub const SECONDS: Slot = Slot::number(8, 2);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, CUSTOMER), (1, SKU), (2, SECONDS)];
}

/// Columns of table `wish`.
pub mod wish {
    use super::Slot;

    /// Column `customer`.
    pub const CUSTOMER: Slot = Slot::key(0, 4);
    /// Column `sku`.
    pub const SKU: Slot = Slot::key_text(4, 6);
    /// Column `strength`.
    pub const STRENGTH: Slot = Slot::number(0, 2);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, CUSTOMER), (1, SKU), (2, STRENGTH)];
}

//! SmallBank's three tables, each with a row per customer.

use super::config::BALANCE_INITIAL_CENTS;
use layout::{
    Column, ColumnType, Key, KeyBuilder, PhysicalDesign, Placement, RecordMut, Schema, SchemaError,
};
use txn::TableSpec;

/// The tables' names, in the order of [`Tables`].
pub const NAMES: [&str; 3] = ["accounts", "savings", "checking"];
/// The column of the customer's number, in all tables.
pub const CUSTOMER: usize = 0;
/// The column of the customer's name, in `accounts`.
pub const NAME: usize = 1;
/// The column of the cents, in `savings` and `checking`.
pub const BALANCE: usize = 1;

/// Columns and physical design of table `index`. Customers are numbered from 0 without gaps, so
/// buckets are addressed by number, without hashing.
pub fn table_spec(index: usize, customers: u64) -> Result<TableSpec, SchemaError> {
    let content = match index {
        0 => Column::new("name", ColumnType::Char(64)),
        _ => Column::new("balance", ColumnType::Int8),
    };
    let columns = vec![Column::new("customer_id", ColumnType::Int8), content];
    let schema = Schema::new(NAMES[index], columns, &[CUSTOMER])?;
    let placement = Placement::Dense { columns: vec![(0, customers)] };
    let design = PhysicalDesign { placement, size_hint: customers, ..PhysicalDesign::default() };
    Ok(TableSpec { schema, design, indexes: Vec::new() })
}

/// The key of a customer's row, the same in all tables.
#[inline]
pub fn key(customer: u64) -> Key {
    KeyBuilder::new().int8(customer as i64).key()
}

/// Fills a customer's new row of table `index`.
pub fn fill(record: &mut RecordMut<'_>, index: usize, customer: u64) {
    match index {
        0 => record.set_bytes(NAME, name(customer).as_bytes()),
        _ => record.set_int(BALANCE, BALANCE_INITIAL_CENTS),
    }
}

/// A customer's name, which identifies a row of `accounts`.
pub fn name(customer: u64) -> String {
    format!("customer {customer}")
}

//! Finding a customer by number or by last name [TPC-C 2.5.2.2, 2.6.2.2].

use super::input::CustomerChoice;
use super::keys;
use super::present;
use super::schema::customer;
use super::tables::Tables;
use super::terminal::Buffers;
use crate::error::WorkloadError;
use fabric::Env;
use txn::{RowId, Transaction};

/// Reads the customer that the input names.
pub async fn select_customer<E: Env>(
    txn: &mut Transaction<'_, E>,
    tables: &Tables,
    buffers: &mut Buffers,
    (w, d): (i16, i16),
    choice: &CustomerChoice,
) -> Result<RowId, WorkloadError> {
    match choice {
        CustomerChoice::Number(c) => {
            present(txn.read(tables.customer, &keys::customer(w, d, *c)).await?, "customer")
        }
        CustomerChoice::LastName(last) => {
            let key = keys::customer_name(w, d, last);
            txn.lookup(tables.customer_name, &key, &mut buffers.rows).await?;
            present(middle_by_first_name(txn, &mut buffers.rows), "customer")
        }
    }
}

/// The row at position n/2, rounded up, when the n rows are sorted by C_FIRST. The loader uses
/// every name of a district, so there always is one.
fn middle_by_first_name<E: Env>(txn: &Transaction<'_, E>, rows: &mut [RowId]) -> Option<RowId> {
    let first_name = |row: &RowId| txn.row(*row).bytes(customer::C_FIRST);
    rows.sort_unstable_by(|one, other| first_name(one).cmp(first_name(other)));
    // Positions count from 1 in the specification: ceil(n / 2) - 1 = (n - 1) / 2.
    rows.get(rows.len().checked_sub(1)? / 2).copied()
}

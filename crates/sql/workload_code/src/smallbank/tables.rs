//! Tables and indexes by their numbers, and columns by their slots.

use fabric::Env;
use layout::Slot;
use procedure_runtime::{BindError, bind};
use txn::{Columns, Database, TableId};

/// The numbers of the tables and indexes in an open database.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Table `accounts`.
    pub accounts: TableId,
    /// Table `savings`.
    pub savings: TableId,
    /// Table `checking`.
    pub checking: TableId,
    /// Only the key of rows of table `accounts`.
    pub columns_of_accounts: Columns,
}

impl Tables {
    /// Finds tables and indexes by name, and checks that the columns have the slots of this code.
    pub fn find<E: Env>(database: &Database<E>) -> Result<Self, BindError> {
        Ok(Self {
            accounts: bind::table(database, "accounts", accounts::SLOTS)?,
            savings: bind::table(database, "savings", savings::SLOTS)?,
            checking: bind::table(database, "checking", checking::SLOTS)?,
            columns_of_accounts: bind::columns(database, "accounts", &[])?,
        })
    }
}

/// Columns of table `accounts`.
pub mod accounts {
    use super::Slot;

    /// Column `customer_id`.
    pub const CUSTOMER_ID: Slot = Slot::key(0, 8);
    /// Column `name`.
    pub const NAME: Slot = Slot::text(0, 64);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, CUSTOMER_ID), (1, NAME)];
}

/// Columns of table `savings`.
pub mod savings {
    use super::Slot;

    /// Column `customer_id`.
    pub const CUSTOMER_ID: Slot = Slot::key(0, 8);
    /// Column `balance`.
    pub const BALANCE: Slot = Slot::number(0, 8);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, CUSTOMER_ID), (1, BALANCE)];
}

/// Columns of table `checking`.
pub mod checking {
    use super::Slot;

    /// Column `customer_id`.
    pub const CUSTOMER_ID: Slot = Slot::key(0, 8);
    /// Column `balance`.
    pub const BALANCE: Slot = Slot::number(0, 8);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, CUSTOMER_ID), (1, BALANCE)];
}

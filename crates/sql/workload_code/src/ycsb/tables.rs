//! Tables and indexes by their numbers, and columns by their slots.

use fabric::Env;
use layout::Slot;
use procedure_runtime::{BindError, bind};
use txn::{Database, TableId};

/// The numbers of the tables and indexes in an open database.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Table `usertable`.
    pub usertable: TableId,
}

impl Tables {
    /// Finds tables and indexes by name, and checks that the columns have the slots of this code.
    pub fn find<E: Env>(database: &Database<E>) -> Result<Self, BindError> {
        Ok(Self { usertable: bind::table(database, "usertable", usertable::SLOTS)? })
    }
}

/// Columns of table `usertable`.
pub mod usertable {
    use super::Slot;

    /// Column `ycsb_key`.
    pub const YCSB_KEY: Slot = Slot::key(0, 8);
    /// Column `counter`.
    pub const COUNTER: Slot = Slot::number(0, 8);
    /// Column `field0`.
    pub const FIELD0: Slot = Slot::text(8, 100);
    /// Column `field1`.
    pub const FIELD1: Slot = Slot::text(109, 100);
    /// Column `field2`.
    pub const FIELD2: Slot = Slot::text(210, 100);
    /// Column `field3`.
    pub const FIELD3: Slot = Slot::text(311, 100);
    /// Column `field4`.
    pub const FIELD4: Slot = Slot::text(412, 100);
    /// Column `field5`.
    pub const FIELD5: Slot = Slot::text(513, 100);
    /// Column `field6`.
    pub const FIELD6: Slot = Slot::text(614, 100);
    /// Column `field7`.
    pub const FIELD7: Slot = Slot::text(715, 100);
    /// Column `field8`.
    pub const FIELD8: Slot = Slot::text(816, 100);
    /// Column `field9`.
    pub const FIELD9: Slot = Slot::text(917, 100);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[
        (0, YCSB_KEY),
        (1, COUNTER),
        (2, FIELD0),
        (3, FIELD1),
        (4, FIELD2),
        (5, FIELD3),
        (6, FIELD4),
        (7, FIELD5),
        (8, FIELD6),
        (9, FIELD7),
        (10, FIELD8),
        (11, FIELD9),
    ];
}

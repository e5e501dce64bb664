//! Tables and indexes by their numbers, and columns by their slots.

use fabric::Env;
use layout::Slot;
use procedure_runtime::{BindError, bind};
use txn::{Database, TableId};

/// The numbers of the tables and indexes in an open database.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Table `book`.
    pub book: TableId,
    /// Table `reader`.
    pub reader: TableId,
}

impl Tables {
    /// Finds tables and indexes by name, and checks that the columns have the slots of this code.
    pub fn find<E: Env>(database: &Database<E>) -> Result<Self, BindError> {
        Ok(Self {
            book: bind::table(database, "book", book::SLOTS)?,
            reader: bind::table(database, "reader", reader::SLOTS)?,
        })
    }
}

/// Columns of table `book`.
pub mod book {
    use super::Slot;

    /// Column `id`.
    pub const ID: Slot = Slot::key(0, 4);
    /// Column `title`.
    pub const TITLE: Slot = Slot::text(8, 40);
    /// Column `copies`.
    pub const COPIES: Slot = Slot::number(0, 4);
    /// Column `lent`.
    pub const LENT: Slot = Slot::number(4, 4);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, ID), (1, TITLE), (2, COPIES), (3, LENT)];
}

/// Columns of table `reader`.
pub mod reader {
    use super::Slot;

    /// Column `id`.
    pub const ID: Slot = Slot::key(0, 4);
    /// Column `name`.
    pub const NAME: Slot = Slot::text(4, 24);
    /// Column `books`.
    pub const BOOKS: Slot = Slot::number(0, 4);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, ID), (1, NAME), (2, BOOKS)];
}

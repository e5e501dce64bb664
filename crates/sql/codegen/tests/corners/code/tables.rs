//! Tables and indexes by their numbers, and columns by their slots.

use fabric::Env;
use layout::Slot;
use procedure_runtime::{BindError, bind};
use txn::{Columns, Database, IndexId, TableId};

/// The numbers of the tables and indexes in an open database.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Table `wide`.
    pub wide: TableId,
    /// Index `wide_z` of table `wide`.
    pub wide_by_wide_z: IndexId,
    /// Table `small`.
    pub small: TableId,
    /// Table `line`.
    pub line: TableId,
    /// Table `price`.
    pub price: TableId,
    /// Table `big`.
    pub big: TableId,
    /// Table `named`.
    pub named: TableId,
    /// Table `fresh`.
    pub fresh: TableId,
    /// Table `tag`.
    pub tag: TableId,
    /// Index `tag_mark` of table `tag`.
    pub tag_by_tag_mark: IndexId,
    /// Table `cell`.
    pub cell: TableId,
    /// Table `entry`.
    pub entry: TableId,
    /// Table `broad`.
    pub broad: TableId,
    /// Key and `a` of rows of table `wide`.
    pub columns_of_wide_a: Columns,
    /// Key and `a`, `b` of rows of table `wide`.
    pub columns_of_wide_a_b: Columns,
    /// Key and `a`, `z` of rows of table `wide`.
    pub columns_of_wide_a_z: Columns,
    /// Key and `one`, `two` of rows of table `broad`.
    pub columns_of_broad_one_two: Columns,
}

impl Tables {
    /// Finds tables and indexes by name, and checks that the columns have the slots of this code.
    pub fn find<E: Env>(database: &Database<E>) -> Result<Self, BindError> {
        Ok(Self {
            wide: bind::table(database, "wide", wide::SLOTS)?,
            wide_by_wide_z: bind::index(database, "wide", "wide_z")?,
            small: bind::table(database, "small", small::SLOTS)?,
            line: bind::table(database, "line", line::SLOTS)?,
            price: bind::table(database, "price", price::SLOTS)?,
            big: bind::table(database, "big", big::SLOTS)?,
            named: bind::table(database, "named", named::SLOTS)?,
            fresh: bind::table(database, "fresh", fresh::SLOTS)?,
            tag: bind::table(database, "tag", tag::SLOTS)?,
            tag_by_tag_mark: bind::index(database, "tag", "tag_mark")?,
            cell: bind::table(database, "cell", cell::SLOTS)?,
            entry: bind::table(database, "entry", entry::SLOTS)?,
            broad: bind::table(database, "broad", broad::SLOTS)?,
            columns_of_wide_a: bind::columns(database, "wide", &[1])?,
            columns_of_wide_a_b: bind::columns(database, "wide", &[1, 2])?,
            columns_of_wide_a_z: bind::columns(database, "wide", &[1, 5])?,
            columns_of_broad_one_two: bind::columns(database, "broad", &[1, 2])?,
        })
    }
}

/// Columns of table `wide`.
pub mod wide {
    use super::Slot;

    /// Column `k`.
    pub const K: Slot = Slot::key(0, 4);
    /// Column `a`.
    pub const A: Slot = Slot::number(4, 4);
    /// Column `b`.
    pub const B: Slot = Slot::number(8, 4).nullable(0, 1);
    /// Column `t`.
    pub const T: Slot = Slot::text(16, 20);
    /// Column `pad`.
    pub const PAD: Slot = Slot::text(37, 200);
    /// Column `z`.
    pub const Z: Slot = Slot::number(12, 4);
    /// Column `tail`.
    pub const TAIL: Slot = Slot::text(238, 12).nullable(0, 2);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] =
        &[(0, K), (1, A), (2, B), (3, T), (4, PAD), (5, Z), (6, TAIL)];
}

/// Columns of table `small`.
pub mod small {
    use super::Slot;

    /// Column `w`.
    pub const W: Slot = Slot::key(0, 2);
    /// Column `d`.
    pub const D: Slot = Slot::key(2, 2);
    /// Column `q`.
    pub const Q: Slot = Slot::number(4, 4);
    /// Column `r`.
    pub const R: Slot = Slot::number(8, 4).nullable(0, 1);
    /// Column `label`.
    pub const LABEL: Slot = Slot::text(12, 12).nullable(0, 2);
    /// Column `code`.
    pub const CODE: Slot = Slot::text(25, 6);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, W), (1, D), (2, Q), (3, R), (4, LABEL), (5, CODE)];
}

/// Columns of table `line`.
pub mod line {
    use super::Slot;

    /// Column `w`.
    pub const W: Slot = Slot::key(0, 2);
    /// Column `d`.
    pub const D: Slot = Slot::key(2, 2);
    /// Column `n`.
    pub const N: Slot = Slot::key(4, 4);
    /// Column `v`.
    pub const V: Slot = Slot::number(4, 4).nullable(0, 1);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, W), (1, D), (2, N), (3, V)];
}

/// Columns of table `price`.
pub mod price {
    use super::Slot;

    /// Column `p`.
    pub const P: Slot = Slot::key(0, 8);
    /// Column `v`.
    pub const V: Slot = Slot::number(0, 4);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, P), (1, V)];
}

/// Columns of table `big`.
pub mod big {
    use super::Slot;

    /// Column `k`.
    pub const K: Slot = Slot::key(0, 8);
    /// Column `v`.
    pub const V: Slot = Slot::number(0, 8);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, K), (1, V)];
}

/// Columns of table `named`.
pub mod named {
    use super::Slot;

    /// Column `name`.
    pub const NAME: Slot = Slot::key_text(0, 10);
    /// Column `v`.
    pub const V: Slot = Slot::number(0, 4);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, NAME), (1, V)];
}

/// Columns of table `fresh`.
pub mod fresh {
    use super::Slot;

    /// Column `a`.
    pub const A: Slot = Slot::key(0, 4);
    /// Column `b`.
    pub const B: Slot = Slot::key(4, 4);
    /// Column `v`.
    pub const V: Slot = Slot::number(4, 4).nullable(0, 1);
    /// Column `t`.
    pub const T: Slot = Slot::text(8, 5).nullable(0, 2);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, A), (1, B), (2, V), (3, T)];
}

/// Columns of table `tag`.
pub mod tag {
    use super::Slot;

    /// Column `id`.
    pub const ID: Slot = Slot::key(0, 4);
    /// Column `mark`.
    pub const MARK: Slot = Slot::number(4, 4).nullable(0, 1);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, ID), (1, MARK)];
}

/// Columns of table `cell`.
pub mod cell {
    use super::Slot;

    /// Column `g`.
    pub const G: Slot = Slot::key(0, 4);
    /// Column `i`.
    pub const I: Slot = Slot::key(4, 4);
    /// Column `q`.
    pub const Q: Slot = Slot::number(4, 4);
    /// Column `r`.
    pub const R: Slot = Slot::number(8, 4).nullable(0, 1);
    /// Column `label`.
    pub const LABEL: Slot = Slot::text(12, 12).nullable(0, 2);
    /// Column `code`.
    pub const CODE: Slot = Slot::text(25, 6);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, G), (1, I), (2, Q), (3, R), (4, LABEL), (5, CODE)];
}

/// Columns of table `entry`.
pub mod entry {
    use super::Slot;

    /// Column `g`.
    pub const G: Slot = Slot::key(0, 4);
    /// Column `i`.
    pub const I: Slot = Slot::key(4, 4);
    /// Column `n`.
    pub const N: Slot = Slot::key(8, 4);
    /// Column `v`.
    pub const V: Slot = Slot::number(4, 4).nullable(0, 1);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, G), (1, I), (2, N), (3, V)];
}

/// Columns of table `broad`.
pub mod broad {
    use super::Slot;

    /// Column `k`.
    pub const K: Slot = Slot::key(0, 4);
    /// Column `one`.
    pub const ONE: Slot = Slot::text(0, 80);
    /// Column `two`.
    pub const TWO: Slot = Slot::text(81, 80);
    /// Column `three`.
    pub const THREE: Slot = Slot::text(162, 80);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, K), (1, ONE), (2, TWO), (3, THREE)];
}

//! Tables and indexes by their numbers, and columns by their slots.

use fabric::Env;
use layout::Slot;
use procedure_runtime::{BindError, bind};
use txn::{Database, IndexId, TableId};

/// The numbers of the tables and indexes in an open database.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Table `acct`.
    pub acct: TableId,
    /// Index `acct_grp` of table `acct`.
    pub acct_by_acct_grp: IndexId,
    /// Index `acct_kind` of table `acct`.
    pub acct_by_acct_kind: IndexId,
    /// Table `pair`.
    pub pair: TableId,
    /// Index `pair_w` of table `pair`.
    pub pair_by_pair_w: IndexId,
    /// Table `txt`.
    pub txt: TableId,
    /// Table `days`.
    pub days: TableId,
    /// Table `dec`.
    pub dec: TableId,
    /// Table `edge`.
    pub edge: TableId,
    /// Table `yes`.
    pub yes: TableId,
    /// Table `item`.
    pub item: TableId,
    /// Index `item_grp` of table `item`.
    pub item_by_item_grp: IndexId,
    /// Index `item_tag` of table `item`.
    pub item_by_item_tag: IndexId,
    /// Table `one_of`.
    pub one_of: TableId,
    /// Index `one_of_qty` of table `one_of`.
    pub one_of_by_one_of_qty: IndexId,
}

impl Tables {
    /// Finds tables and indexes by name, and checks that the columns have the slots of this code.
    pub fn find<E: Env>(database: &Database<E>) -> Result<Self, BindError> {
        Ok(Self {
            acct: bind::table(database, "acct", acct::SLOTS)?,
            acct_by_acct_grp: bind::index(database, "acct", "acct_grp")?,
            acct_by_acct_kind: bind::index(database, "acct", "acct_kind")?,
            pair: bind::table(database, "pair", pair::SLOTS)?,
            pair_by_pair_w: bind::index(database, "pair", "pair_w")?,
            txt: bind::table(database, "txt", txt::SLOTS)?,
            days: bind::table(database, "days", days::SLOTS)?,
            dec: bind::table(database, "dec", dec::SLOTS)?,
            edge: bind::table(database, "edge", edge::SLOTS)?,
            yes: bind::table(database, "yes", yes::SLOTS)?,
            item: bind::table(database, "item", item::SLOTS)?,
            item_by_item_grp: bind::index(database, "item", "item_grp")?,
            item_by_item_tag: bind::index(database, "item", "item_tag")?,
            one_of: bind::table(database, "one_of", one_of::SLOTS)?,
            one_of_by_one_of_qty: bind::index(database, "one_of", "one_of_qty")?,
        })
    }
}

/// Columns of table `acct`.
pub mod acct {
    use super::Slot;

    /// Column `id`.
    pub const ID: Slot = Slot::key(0, 4);
    /// Column `grp`.
    pub const GRP: Slot = Slot::number(40, 4);
    /// Column `kind`.
    pub const KIND: Slot = Slot::number(48, 2);
    /// Column `bal`.
    pub const BAL: Slot = Slot::number(8, 8);
    /// Column `fee`.
    pub const FEE: Slot = Slot::number(16, 8).nullable(0, 1);
    /// Column `name`.
    pub const NAME: Slot = Slot::text(51, 8);
    /// Column `note`.
    pub const NOTE: Slot = Slot::text(60, 8).nullable(0, 2);
    /// Column `born`.
    pub const BORN: Slot = Slot::number(44, 4).nullable(0, 4);
    /// Column `seen`.
    pub const SEEN: Slot = Slot::number(24, 8);
    /// Column `ratio`.
    pub const RATIO: Slot = Slot::number(32, 8).nullable(0, 8);
    /// Column `ok`.
    pub const OK: Slot = Slot::number(50, 1).nullable(0, 16);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[
        (0, ID),
        (1, GRP),
        (2, KIND),
        (3, BAL),
        (4, FEE),
        (5, NAME),
        (6, NOTE),
        (7, BORN),
        (8, SEEN),
        (9, RATIO),
        (10, OK),
    ];
}

/// Columns of table `pair`.
pub mod pair {
    use super::Slot;

    /// Column `a`.
    pub const A: Slot = Slot::key(0, 4);
    /// Column `b`.
    pub const B: Slot = Slot::key(4, 4);
    /// Column `v`.
    pub const V: Slot = Slot::number(4, 4).nullable(0, 1);
    /// Column `w`.
    pub const W: Slot = Slot::number(8, 2);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, A), (1, B), (2, V), (3, W)];
}

/// Columns of table `txt`.
pub mod txt {
    use super::Slot;

    /// Column `c`.
    pub const C: Slot = Slot::key_text(0, 4);
    /// Column `v`.
    pub const V: Slot = Slot::key_text(4, 6);
    /// Column `n`.
    pub const N: Slot = Slot::number(4, 4).nullable(0, 1);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, C), (1, V), (2, N)];
}

/// Columns of table `days`.
pub mod days {
    use super::Slot;

    /// Column `d`.
    pub const D: Slot = Slot::key(0, 4);
    /// Column `n`.
    pub const N: Slot = Slot::key(4, 4);
    /// Column `moment`.
    pub const MOMENT: Slot = Slot::number(8, 8).nullable(0, 1);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, D), (1, N), (2, MOMENT)];
}

/// Columns of table `dec`.
pub mod dec {
    use super::Slot;

    /// Column `k`.
    pub const K: Slot = Slot::key(0, 8);
    /// Column `v`.
    pub const V: Slot = Slot::number(8, 8).nullable(0, 1);
    /// Column `s`.
    pub const S: Slot = Slot::number(16, 8).nullable(0, 2);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, K), (1, V), (2, S)];
}

/// Columns of table `edge`.
pub mod edge {
    use super::Slot;

    /// Column `k`.
    pub const K: Slot = Slot::key(0, 8);
    /// Column `s`.
    pub const S: Slot = Slot::number(20, 2);
    /// Column `i`.
    pub const I: Slot = Slot::number(16, 4);
    /// Column `b`.
    pub const B: Slot = Slot::number(0, 8);
    /// Column `f`.
    pub const F: Slot = Slot::number(8, 8);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, K), (1, S), (2, I), (3, B), (4, F)];
}

/// Columns of table `yes`.
pub mod yes {
    use super::Slot;

    /// Column `a`.
    pub const A: Slot = Slot::key_bool(0);
    /// Column `k`.
    pub const K: Slot = Slot::key(1, 4);
    /// Column `b`.
    pub const B: Slot = Slot::number(1, 1).nullable(0, 1);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, A), (1, K), (2, B)];
}

/// Columns of table `item`.
pub mod item {
    use super::Slot;

    /// Column `id`.
    pub const ID: Slot = Slot::key(0, 4);
    /// Column `grp`.
    pub const GRP: Slot = Slot::number(32, 4).nullable(0, 1);
    /// Column `tag`.
    pub const TAG: Slot = Slot::number(40, 2);
    /// Column `qty`.
    pub const QTY: Slot = Slot::number(8, 8).nullable(0, 2);
    /// Column `price`.
    pub const PRICE: Slot = Slot::number(16, 8).nullable(0, 4);
    /// Column `rate`.
    pub const RATE: Slot = Slot::number(24, 8);
    /// Column `label`.
    pub const LABEL: Slot = Slot::text(44, 8).nullable(0, 8);
    /// Column `code`.
    pub const CODE: Slot = Slot::text(53, 6);
    /// Column `active`.
    pub const ACTIVE: Slot = Slot::number(42, 1);
    /// Column `stale`.
    pub const STALE: Slot = Slot::number(43, 1).nullable(0, 16);
    /// Column `day`.
    pub const DAY: Slot = Slot::number(36, 4).nullable(0, 32);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[
        (0, ID),
        (1, GRP),
        (2, TAG),
        (3, QTY),
        (4, PRICE),
        (5, RATE),
        (6, LABEL),
        (7, CODE),
        (8, ACTIVE),
        (9, STALE),
        (10, DAY),
    ];
}

/// Columns of table `one_of`.
pub mod one_of {
    use super::Slot;

    /// Column `id`.
    pub const ID: Slot = Slot::key(0, 4);
    /// Column `qty`.
    pub const QTY: Slot = Slot::number(8, 8).nullable(0, 1);
    /// Column `v`.
    pub const V: Slot = Slot::number(16, 4);

    /// All columns, with their positions in the table.
    pub const SLOTS: &[(usize, Slot)] = &[(0, ID), (1, QTY), (2, V)];
}

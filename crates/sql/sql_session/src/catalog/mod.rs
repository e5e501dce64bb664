//! The SQL catalog: definitions as text, and the tables that they make.
//!
//! The database stores one row for each definition, in a table of its own ([`store`]), and the
//! [`statistics`] of tables. A
//! [`Version`] is the catalog that these definitions make; it is never changed. A change builds the
//! next version from the changed definitions ([`change`]). Definitions have [`numbers`].
//!
//! Decision: docs/decisions/0325-the-sql-catalog-is-rows-of-definitions.md

pub(crate) mod change;
pub(crate) mod described;
pub(crate) mod design;
pub(crate) mod numbers;
pub(crate) mod schemas;
pub(crate) mod secured;
pub(crate) mod sequences;
pub(crate) mod snapshot;
pub(crate) mod statistics;
pub(crate) mod store;
pub(crate) mod types;
pub(crate) mod version;

pub(crate) use change::Change;
use sql::namespace::own_name;
pub(crate) use store::Store;
pub(crate) use version::{Version, VersionRoutine};

/// The first number of a user's object, as in PostgreSQL.
pub(crate) const FIRST_OID: i64 = 16_384;

/// The kind of a definition, with its number in the stored rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DefinitionKind {
    Table = 1,
    Index = 2,
    /// A constraint that `ALTER TABLE` has added.
    Constraint = 3,
    Routine = 4,
    Sequence = 5,
    View = 6,
    /// A comment on the definition `table`, or on a part of it.
    Comment = 7,
    Role = 8,
    /// Owner and grants of an object.
    Access = 9,
    /// The largest number of a definition that is gone, see [`numbers`].
    LastNumber = 10,
    /// A schema; of `public` a definition says that it was dropped.
    Schema = 11,
    /// The schemas in which the names of the routine or view `table` are looked up, by number.
    SearchPath = 12,
    /// An enumerated type, see [`types`].
    Type = 13,
}

impl DefinitionKind {
    pub fn of_number(number: i64) -> Option<Self> {
        let all = [
            Self::Table,
            Self::Index,
            Self::Constraint,
            Self::Routine,
            Self::Sequence,
            Self::View,
            Self::Comment,
            Self::Role,
            Self::Access,
            Self::LastNumber,
            Self::Schema,
            Self::SearchPath,
            Self::Type,
        ];
        all.into_iter().find(|kind| *kind as i64 == number)
    }
}

/// An object of the catalog.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Definition {
    /// From [`FIRST_OID`] on; later definitions have larger numbers. The role that owns the
    /// database has a smaller one.
    pub id: i64,
    pub kind: DefinitionKind,
    /// The table that it belongs to; itself for a table, 0 for a routine. The commented object of a
    /// comment.
    pub table: i64,
    pub name: String,
    /// The engine's name of a table. It changes when the table is rewritten.
    pub physical: String,
    /// The statement that defines it.
    pub body: String,
}

/// A name for a table of the engine that no other has, from the table's name and a random number.
pub(crate) fn physical_name(name: &str, random: u64) -> String {
    let short: String = own_name(name).chars().take(24).collect();
    format!("{short}.{random:016x}")
}

/// Whether a name is one of [`physical_name`].
pub(crate) fn is_physical(name: &str) -> bool {
    let is_digit = |digit: char| digit.is_ascii_digit() || ('a'..='f').contains(&digit);
    let number = name.rsplit_once('.').map(|(_, number)| number);
    number.is_some_and(|number| number.len() == 16 && number.chars().all(is_digit))
}

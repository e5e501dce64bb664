//! How to find the rows that a foreign key check reads.
//!
//! Decisions:
//! - docs/decisions/0186-the-statement-checks-unique-keys-and-references.md
//! - docs/decisions/0290-foreign-keys-are-operations-of-a-procedure.md

use sql::Table;

/// How to find rows by the values of some columns. The lists give, for each key column, its
/// position among these columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AccessPath {
    Key(Vec<usize>),
    /// The index at this position.
    Index(usize, Vec<usize>),
}

/// Returns how to find rows of a table by the values of these columns; `None` if that needs a full
/// scan.
pub fn access_path(table: &Table, columns: &[usize]) -> Option<AccessPath> {
    let positions = |key: &[usize]| {
        let place = |column: &usize| columns.iter().position(|own| own == column);
        let places: Option<Vec<usize>> = key.iter().map(place).collect();
        places.filter(|places| places.len() == columns.len())
    };
    if !table.has_hidden_key()
        && let Some(places) = positions(&table.primary_key)
    {
        return Some(AccessPath::Key(places));
    }
    let mut indexes = table.indexes.iter().enumerate();
    indexes.find_map(|(at, index)| {
        positions(&index.columns).map(|places| AccessPath::Index(at, places))
    })
}

//! How the rows are found that a foreign key asks for.

use sql::Table;

/// How rows with values of some columns are found: by the positions that the columns of a key have among them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Way {
    /// By the primary key.
    Key(Vec<usize>),
    /// By an index, by position.
    Index(usize, Vec<usize>),
}

/// How rows of a table with values of these columns are found, if not by looking at all.
pub fn way(table: &Table, columns: &[usize]) -> Option<Way> {
    let positions = |key: &[usize]| {
        let place = |column: &usize| columns.iter().position(|own| own == column);
        let places: Option<Vec<usize>> = key.iter().map(place).collect();
        places.filter(|places| places.len() == columns.len())
    };
    if !table.has_hidden_key()
        && let Some(places) = positions(table.schema.key())
    {
        return Some(Way::Key(places));
    }
    let mut indexes = table.indexes.iter().enumerate();
    indexes.find_map(|(at, index)| positions(&index.columns).map(|places| Way::Index(at, places)))
}

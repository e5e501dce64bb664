//! The physical design of tables that sessions create: trees, which serve every order and range,
//! unless the statement says otherwise.

use crate::lexer::tokens;
use interpreter::TableDesign;
use layout::{IndexDesign, PhysicalDesign, Storage};
use sql::Table;

/// Expected number of rows of a table that is created; tables grow beyond it.
const ROWS: u64 = 1024;

/// The design of a table that `body` defines. `WITH (storage = hash)` stores its rows in a hash
/// table: shorter ways to a row by its whole key, and no ranges of the key.
pub(crate) fn design(table: &Table, body: &str) -> TableDesign {
    let is_hash = table.has_hidden_key() || wants_hash(body);
    let storage = if is_hash { Storage::HashInlined } else { Storage::Tree };
    let indexes = table.indexes.iter().map(|index| index_design(table, index)).collect();
    let rows = PhysicalDesign { storage, size_hint: ROWS, ..PhysicalDesign::default() };
    TableDesign { rows, indexes }
}

pub(crate) fn index_design(table: &Table, index: &sql::catalog::Index) -> IndexDesign {
    IndexDesign {
        name: index.name.clone(),
        columns: table.stored_key(&index.columns),
        unique: index.unique,
        kind: index.kind,
        size_hint: ROWS,
        ..IndexDesign::default()
    }
}

/// Whether the storage parameters choose a hash table.
fn wants_hash(body: &str) -> bool {
    let tokens = tokens(body).unwrap_or_default();
    tokens
        .windows(3)
        .any(|part| part[0].is_word("storage") && part[1].text == "=" && part[2].is_word("hash"))
}

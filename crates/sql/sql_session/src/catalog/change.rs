//! Changes of the catalog by a transaction, and the engine's tables that they create and replace.

use super::Version;
use std::collections::BTreeSet;
use std::sync::Arc;

/// An index of the engine: the engine's name of its table, and its own.
pub(crate) type EngineIndex = (String, String);

/// The changes of a transaction that has not committed. Nobody else sees them: tables that it
/// creates or rewrites have names of their own in the engine, which the committed catalog does not
/// mention.
pub(crate) struct Change {
    /// The catalog without the changes.
    pub before: Arc<Version>,
    /// Tables of the engine that the transaction has created.
    pub created: Vec<String>,
    /// Indexes that it has created for tables of the engine that were there before.
    pub created_indexes: Vec<EngineIndex>,
}

/// Tables and indexes that the engine no longer needs.
#[derive(Default)]
pub(crate) struct Replaced {
    pub tables: Vec<String>,
    pub indexes: Vec<EngineIndex>,
}

impl Change {
    pub fn new(before: Arc<Version>) -> Self {
        Self { before, created: Vec::new(), created_indexes: Vec::new() }
    }

    /// Whether the engine has this index, and perhaps keeps it until the transaction ends.
    pub fn has_index(&self, table: &str, index: &str) -> bool {
        let is_it = |(of, name): &EngineIndex| of == table && name == index;
        self.created_indexes.iter().any(is_it) || self.before.indexes().any(|one| is_it(&one))
    }

    /// Storage of the catalog before, and of intermediate states, that `after` does not use.
    pub fn replaced_by(&self, after: &Version) -> Replaced {
        let kept: BTreeSet<&str> = after.storage().collect();
        let all: BTreeSet<&str> =
            self.before.storage().chain(self.created.iter().map(String::as_str)).collect();
        let tables = all.difference(&kept).map(|&name| name.to_owned()).collect();
        let kept_indexes: BTreeSet<EngineIndex> = after.indexes().collect();
        let indexes = self.before.indexes().chain(self.created_indexes.iter().cloned());
        let is_gone = |one: &EngineIndex| kept.contains(&*one.0) && !kept_indexes.contains(one);
        Replaced { tables, indexes: indexes.filter(is_gone).collect() }
    }

    /// The storage that the transaction has created, for its roll-back.
    pub fn undone(self) -> Replaced {
        Replaced { tables: self.created, indexes: self.created_indexes }
    }
}

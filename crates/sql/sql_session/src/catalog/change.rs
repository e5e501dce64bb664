//! Changes of the catalog by a transaction, and the engine's tables that they create and replace.

use super::Version;
use std::sync::Arc;

/// The changes of a transaction that has not committed. Nobody else sees them: tables that it
/// creates or rewrites have names of their own in the engine, which the committed catalog does not
/// mention.
pub(crate) struct Change {
    /// The catalog without the changes.
    pub before: Arc<Version>,
    /// Tables of the engine that a roll-back drops.
    pub created: Vec<String>,
    /// Tables of the engine that the commit drops.
    pub dropped: Vec<String>,
    /// Indexes, with the engine's names of their tables, that a roll-back drops.
    pub created_indexes: Vec<(String, String)>,
    /// Indexes that the commit drops.
    pub dropped_indexes: Vec<(String, String)>,
}

impl Change {
    pub fn new(before: Arc<Version>) -> Self {
        Self {
            before,
            created: Vec::new(),
            dropped: Vec::new(),
            created_indexes: Vec::new(),
            dropped_indexes: Vec::new(),
        }
    }
}

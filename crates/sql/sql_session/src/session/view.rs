//! The session as the system catalog shows it.

use super::SqlSession;
use crate::host::Host;
use sql::Table;

impl<H: Host> SqlSession<H> {
    /// The tables that the session sees, with the numbers of their definitions.
    pub fn tables(&self) -> Vec<(i64, Table)> {
        let version = self.version();
        let tables = version.catalog.tables.iter().enumerate();
        tables.map(|(at, table)| (version.definition_of(at).id, table.clone())).collect()
    }

    /// All settings with their values.
    pub fn settings(&self) -> Vec<(String, String)> {
        let all = self.settings.all().into_iter();
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

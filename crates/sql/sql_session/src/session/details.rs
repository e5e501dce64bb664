//! Hides rows in errors from roles that may not read them.

use super::SqlSession;
use crate::access::privilege::Privileges;
use crate::access::required::{Rights, check_table};
use crate::catalog::Version;
use crate::error::SqlError;
use crate::host::Host;
use interpreter::Effects;
use sql::Table;
use sql::catalog::Index;
use sql_value::error::{quoted, without_key};

/// Whether the engine has digests in the keys of an index.
pub(super) fn has_digest(table: &Table, index: &Index) -> bool {
    index.columns.iter().any(|&column| table.digest(column).is_some())
}

impl<H: Host> SqlSession<H> {
    /// Hides rows that the role may not read from handlers of errors.
    pub(super) fn hide_rows(&mut self, version: &Version, effects: &Effects) {
        if !effects.has_handlers() {
            return;
        }
        let granted = self.sequences.granted();
        let role = self.acting_role(&granted);
        let rights = Rights { version, granted: &granted, role };
        let is_hidden = |at: &usize| check_table(rights, *at, Privileges::SELECT).is_err();
        let hidden = match granted.roles.is_superuser(role) {
            true => Vec::new(),
            false => effects.shared().filter(is_hidden).collect(),
        };
        self.runner.hide_rows_of(hidden);
    }

    /// Leaves the values out of the detail of a violated constraint, as PostgreSQL does, unless the
    /// role may read the table.
    pub(super) fn without_values(&self, mut error: SqlError) -> SqlError {
        let shows = |detail: &str| {
            ["Failing row contains", "Key (", "The key is"]
                .iter()
                .any(|one| detail.starts_with(one))
        };
        if !error.sqlstate.starts_with("23") || !error.detail.as_deref().is_some_and(shows) {
            return error;
        }
        let (version, granted) = (self.version(), self.granted());
        let named = quoted(&error.message, "relation").or(quoted(&error.message, "table"));
        let constraint = error.constraint.as_deref().unwrap_or_default();
        let table = match named {
            Some(name) => version.table(&name).map(|(at, _)| at),
            None => version.table_of_index(constraint),
        };
        // The engine's key has digests, which say nothing to a reader.
        let has_digests = |table: usize| {
            let table = &version.catalog.tables[table];
            let mut indexes = table.indexes.iter();
            indexes.any(|index| index.name == constraint && has_digest(table, index))
        };
        if error.detail.as_deref().is_some_and(|detail| detail.starts_with("The key is"))
            && table.is_some_and(has_digests)
        {
            error.detail = None;
            return error;
        }
        let role = self.acting_role(&granted);
        let rights = Rights { version: &version, granted: &granted, role };
        let reads = |at| check_table(rights, at, Privileges::SELECT).is_ok();
        if !table.is_some_and(reads) && !granted.roles.is_superuser(role) {
            error.detail = error.detail.take().and_then(|detail| without_key(&detail));
        }
        error
    }
}

//! Hides rows in errors from roles that may not read them.

use super::SqlSession;
use crate::access::privilege::Privileges;
use crate::access::required::{Rights, check_table};
use crate::error::{SqlError, quoted};
use crate::host::Host;
use sql::Table;
use sql::catalog::Index;

/// Whether the engine has digests in the keys of an index.
pub(super) fn has_digest(table: &Table, index: &Index) -> bool {
    index.columns.iter().any(|&column| table.digest(column).is_some())
}

impl<H: Host> SqlSession<H> {
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

/// The detail of a violated reference without the key; `None` for other details.
fn without_key(detail: &str) -> Option<String> {
    let of = ["is not present in table", "is still referenced from table"];
    // The key may contain the words, too.
    let at = of.iter().filter_map(|words| detail.rfind(words)).max()?;
    Some(format!("Key {}", &detail[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_keep_their_tables() {
        let shown =
            without_key("Key (a)=(is not present in table x) is not present in table \"t\".");
        assert_eq!(shown.as_deref(), Some("Key is not present in table \"t\"."));
        assert_eq!(without_key("Failing row contains (1, 2)."), None);
        assert_eq!(without_key("Key (a)=(1) already exists."), None);
    }
}

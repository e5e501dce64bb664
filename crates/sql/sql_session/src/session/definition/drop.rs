//! `DROP` and `TRUNCATE`.

use super::super::rewrite::quoted;
use super::super::{Block, SqlSession};
use super::alter::alteration;
use super::{Edited, no_table};
use crate::access::privilege::Privileges;
use crate::catalog::version::Parsed;
use crate::catalog::{Definition, DefinitionKind, Version};
use crate::command::{DropKind, Referrers};
use crate::error::{Severity, SqlError};
use crate::host::Host;
use sql::namespace::own_name;
use sql::{Table, View};

impl<H: Host> SqlSession<H> {
    pub(super) fn drop_objects(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        (kind, names): (DropKind, &[String]),
        if_exists: bool,
        cascade: bool,
    ) -> Result<Edited, SqlError> {
        let definitions = version.definitions.clone();
        let options = (if_exists, cascade);
        let mut definitions =
            self.drop_from(block, version, definitions, (kind, names), options)?;
        if kind != DropKind::Index {
            return Ok(Edited::new(definitions, kind.tag()));
        }
        // Columns may be stored in another way when they are part of no key.
        let parsed = Parsed::read(&definitions, "")?;
        let rewritten = self.changed_storage(block, version, &parsed, &mut definitions, None);
        Ok(Edited { rewritten, ..Edited::new(definitions, kind.tag()) })
    }

    /// The definitions without these objects.
    pub(super) fn drop_from(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        mut definitions: Vec<Definition>,
        (kind, names): (DropKind, &[String]),
        (if_exists, cascade): (bool, bool),
    ) -> Result<Vec<Definition>, SqlError> {
        let mut tables = Vec::new();
        for name in names {
            let is_it = |one: &Definition| one.kind == kind.definition() && one.name == *name;
            let found = definitions.iter().rposition(is_it);
            let is_there = kind != DropKind::Index || version.table_of_index(name).is_some();
            let Some(at) = found.filter(|_| is_there) else {
                if kind == DropKind::Index
                    && let Some(table) = version.table_of_index(name)
                {
                    return Err(of_constraint(name, &version.catalog.tables[table].name));
                }
                if let Some(error) = of_other_kind(version, kind, name) {
                    return Err(error);
                }
                if if_exists {
                    let message = format!("{} \"{name}\" does not exist, skipping", kind.name());
                    self.notice(Severity::Notice, "00000", message);
                    continue;
                }
                return Err(no_table(kind.name(), name));
            };
            if kind == DropKind::Table {
                block.locks.take(self.database.locks(), definitions[at].id, self)?;
                self.check_references(version, names, name, cascade)?;
                tables.push(definitions[at].clone());
                let table = version.catalog.position(name);
                let depends =
                    |view: &View| table.is_some_and(|table| view.reads().contains(&(table, None)));
                let what = format!("table {name}");
                self.drop_views(version, &mut definitions, &depends, &what, cascade)?;
            } else {
                definitions.remove(at);
                let comment = format!("index {}", own_name(name));
                let table = version.table_of_index(name);
                let table = table.map_or(0, |table| version.definition_of(table).id);
                definitions.retain(|one| {
                    one.kind != DefinitionKind::Comment
                        || kind != DropKind::Index
                        || one.name != comment
                        || one.table != table
                });
                let uses = |view: &View| {
                    kind == DropKind::View
                        && view.views.contains(name)
                        && !names.contains(&view.name)
                };
                let what = format!("view {name}");
                self.drop_views(version, &mut definitions, &uses, &what, cascade)?;
            }
        }
        if !tables.is_empty() {
            definitions = without_tables(version, definitions, &tables);
        }
        Ok(definitions)
    }

    /// Refuses to drop a table that others reference; with `CASCADE`, their foreign keys go, too.
    fn check_references(
        &mut self,
        version: &Version,
        dropped: &[String],
        table: &str,
        cascade: bool,
    ) -> Result<(), SqlError> {
        let Some(position) = version.catalog.position(table) else { return Ok(()) };
        let others = version.catalog.tables.iter().filter(|other| !dropped.contains(&other.name));
        let keys = others.flat_map(|other| other.foreign_keys.iter().map(move |key| (other, key)));
        for (other, key) in keys.filter(|(_, key)| key.table == position) {
            let what = format!("constraint {} on table {}", key.name, other.name);
            if !cascade {
                let message =
                    format!("cannot drop table {table} because other objects depend on it");
                let detail = format!("{what} depends on table {table}");
                let hint = "Use DROP ... CASCADE to drop the dependent objects too.";
                return Err(SqlError::new("2BP01", message).detail(detail).hint(hint));
            }
            self.notice(Severity::Notice, "00000", format!("drop cascades to {what}"));
        }
        Ok(())
    }

    pub(super) fn truncate(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        tables: &[String],
        referrers: Referrers,
    ) -> Result<Edited, SqlError> {
        let mut definitions = version.definitions.clone();
        let mut all = tables.to_vec();
        let mut next = 0;
        while let Some(name) = all.get(next).filter(|_| referrers == Referrers::Truncate).cloned() {
            while let Some(refers) = referrer(version, &name, &all) {
                let message = format!("truncate cascades to table \"{refers}\"");
                self.notice(Severity::Notice, "00000", message);
                all.push(refers.to_owned());
            }
            next += 1;
        }
        if referrers != Referrers::Keep {
            // A COPY into an empty table takes new storage for its rows, and removes none.
            self.check_tables(version, &all, Privileges::TRUNCATE)?;
        }
        for name in &all {
            let owner = self.owner(version, name)?.clone();
            if referrers == Referrers::Refuse {
                let refers = referrer(version, name, tables);
                if let Some(refers) = refers {
                    let message = "cannot truncate a table referenced in a foreign key constraint";
                    let detail = format!("Table \"{refers}\" references \"{name}\".");
                    return Err(SqlError::unsupported(message).detail(detail));
                }
            }
            block.locks.take(self.database.locks(), owner.id, self)?;
            let physical = self.physical_name(name);
            let own = definitions.iter_mut().find(|one| one.id == owner.id);
            own.expect("it was found").physical = physical;
        }
        Ok(Edited::new(definitions, "TRUNCATE TABLE"))
    }
}

/// The definitions without tables. If others refer to them, as a table that was dropped with
/// `CASCADE` may do, the definitions stay, and one that drops the tables follows.
fn without_tables(
    version: &Version,
    definitions: Vec<Definition>,
    tables: &[Definition],
) -> Vec<Definition> {
    let is_of = |one: &Definition| {
        let has_owner = one.kind == DefinitionKind::Access;
        !has_owner && tables.iter().any(|table| table.id == one.table)
    };
    let mut rest = definitions.clone();
    rest.retain(|one| !is_of(one));
    if Parsed::read(&rest, "").is_ok() {
        return rest;
    }
    let mut kept = definitions;
    kept.retain(|one| one.kind != DefinitionKind::Comment || !is_of(one));
    for one in kept.iter_mut().filter(|one| is_of(one)) {
        one.kind = DefinitionKind::Constraint;
        (one.name, one.physical) = (String::new(), String::new());
    }
    for (table, id) in tables.iter().zip(version.next_id()..) {
        let text = format!("DROP TABLE {} CASCADE", quoted(&table.name));
        kept.push(Definition { id, ..alteration(version, table.id, &text) });
    }
    kept
}

impl DropKind {
    fn definition(self) -> DefinitionKind {
        match self {
            Self::Table => DefinitionKind::Table,
            Self::Index => DefinitionKind::Index,
            Self::Routine => DefinitionKind::Routine,
            Self::Sequence => DefinitionKind::Sequence,
            Self::View => DefinitionKind::View,
            Self::Type => DefinitionKind::Type,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Index => "index",
            Self::Routine => "function",
            Self::Sequence => "sequence",
            Self::View => "view",
            Self::Type => "type",
        }
    }

    fn tag(self) -> &'static str {
        match self {
            Self::Table => "DROP TABLE",
            Self::Index => "DROP INDEX",
            Self::Routine => "DROP FUNCTION",
            Self::Sequence => "DROP SEQUENCE",
            Self::View => "DROP VIEW",
            Self::Type => "DROP TYPE",
        }
    }
}

/// A table that references another one, and is not among these.
fn referrer<'v>(version: &'v Version, table: &str, among: &[String]) -> Option<&'v str> {
    let position = version.catalog.position(table)?;
    let refers = |other: &&Table| {
        !among.contains(&other.name) && other.foreign_keys.iter().any(|key| key.table == position)
    };
    version.catalog.tables.iter().find(refers).map(|other| &*other.name)
}

/// The error that an object with this name is of another kind.
fn of_other_kind(version: &Version, kind: DropKind, name: &str) -> Option<SqlError> {
    let is_other = match kind {
        DropKind::Table => version.catalog.view(name).is_some(),
        DropKind::View => version.table(name).is_some(),
        _ => false,
    };
    let message = format!("\"{name}\" is not a {}", kind.name());
    let hint = if kind == DropKind::Table {
        "DROP VIEW to remove a view"
    } else {
        "DROP TABLE to remove a table"
    };
    is_other.then(|| SqlError::new("42809", message).hint(format!("Use {hint}.")))
}

/// The error that an index belongs to a constraint.
fn of_constraint(index: &str, table: &str) -> SqlError {
    let message = format!(
        "cannot drop index {index} because constraint {index} on table {table} requires it"
    );
    let hint = format!("You can drop constraint {index} on table {table} instead.");
    SqlError::new("2BP01", message).hint(hint)
}

//! Changes of the catalog.
//!
//! A change is made in the engine at once, under names that nobody else knows, and in a version of
//! the catalog that only this transaction sees. The commit stores the definitions together with the
//! transaction's rows, publishes the version, and drops what it replaces. A roll-back drops what
//! the transaction has created.

use super::rewrite::quoted;
use super::transaction::done;
use super::{Block, SqlSession};
use crate::catalog::design::{design, index_design};
use crate::catalog::version::{Parsed, VersionRoutine};
use crate::catalog::{Change, Definition, DefinitionKind, Version, physical_name};
use crate::command::{Command, DropKind};
use crate::error::{Severity, SqlError, catalog_error};
use crate::host::Host;
use crate::lexer::tokens;
use crate::outcome::Outcome;
use crate::parse_error::parse_error;
use fabric::Env;
use sql::Table;
use sql::procedure::RoutineKind;
use std::sync::Arc;
use txn::{CatalogError, TableSpec};

/// The new definitions, and the command tag.
struct Edited {
    definitions: Vec<Definition>,
    tag: &'static str,
    /// Tables with new storage that takes over the rows of the old one, by number.
    rewritten: Vec<i64>,
}

/// The end of a transaction that has changed the catalog.
pub(super) enum ChangeEnd {
    Committed(Arc<Version>),
    RolledBack,
    Unknown,
}

impl<H: Host> SqlSession<H> {
    /// Runs a command that changes the catalog; outside of a transaction it is one of its own.
    pub(super) async fn define(
        &mut self,
        command: &Command,
        text: &str,
    ) -> Result<Outcome, SqlError> {
        let is_alone = self.block.is_none();
        if is_alone {
            self.begin_implicit();
        }
        let mut block = self.block.take().expect("it was begun");
        let changed = self.change(&mut block, command, text).await;
        block.has_failed |= changed.is_err();
        self.block = Some(block);
        if is_alone {
            let ended = self.end_implicit(changed.is_err()).await;
            let outcome = changed?;
            ended?;
            return Ok(outcome);
        }
        changed
    }

    pub(super) async fn change(
        &mut self,
        block: &mut Block<H::Env>,
        command: &Command,
        text: &str,
    ) -> Result<Outcome, SqlError> {
        if block.is_read_only {
            let message = "cannot change the catalog in a read-only transaction";
            return Err(SqlError::new("25006", message));
        }
        self.begin_change(block).await?;
        let version = block.version.clone().expect("a change has a version");
        let edited = match command {
            Command::CreateTable { name, if_not_exists } => {
                self.create_table(&version, name, *if_not_exists, text)?
            }
            Command::CreateIndex { name, table, if_not_exists } => {
                self.create_index(&version, (name.as_deref(), table), *if_not_exists, text)?
            }
            Command::AlterTable { table, if_exists } => {
                self.alter_table(block, &version, table, *if_exists, text)?
            }
            Command::Drop { kind, names, if_exists, cascade } => {
                self.drop_objects(block, &version, (*kind, names), *if_exists, *cascade)?
            }
            Command::Truncate { tables, cascade } => {
                self.truncate(block, &version, tables, *cascade)?
            }
            Command::CreateSequence { name, if_not_exists } => {
                self.create_sequence(&version, name, *if_not_exists, text)?
            }
            Command::CreateRoutine { name, replaces } => {
                create_routine(&version, name, *replaces, text)?
            }
            _ => return Err(SqlError::unsupported("this command is not supported")),
        };
        let tag = edited.tag;
        if edited.definitions != version.definitions {
            self.apply(block, &version, edited, text).await?;
        }
        Ok(done(tag))
    }

    /// Prepares the block for a change: it is the only one that changes the catalog, and runs no
    /// transaction of the engine, for whose end the engine would wait.
    pub(super) async fn begin_change(&mut self, block: &mut Block<H::Env>) -> Result<(), SqlError> {
        if block.has_written && block.may_divide() {
            self.settle(block).await?;
        }
        if block.has_written {
            let message = "the catalog cannot be changed in a transaction that has changed rows";
            let hint = "Commit first, or change the catalog at the beginning of the transaction.";
            return Err(SqlError::unsupported(message).hint(hint));
        }
        let keeps_snapshot = block.has_begun && !block.isolation.hides_conflicts();
        if keeps_snapshot && block.change.is_none() {
            let message =
                "a transaction that keeps its snapshot cannot change the catalog behind a query";
            let hint = "Change the catalog first, or at READ COMMITTED.";
            return Err(SqlError::unsupported(message).hint(hint));
        }
        self.stop_in_block(block).await;
        if block.change.is_none() {
            self.database.begin_change(self)?;
            let refreshed = self.database.refresh().await;
            let before = self.database.version();
            block.change = Some(Change::new(before.clone()));
            block.version = Some(before);
            refreshed?;
        }
        Ok(())
    }

    fn create_table(
        &mut self,
        version: &Version,
        name: &str,
        if_not_exists: bool,
        text: &str,
    ) -> Result<Edited, SqlError> {
        let mut definitions = version.definitions.clone();
        let tag = "CREATE TABLE";
        if if_not_exists && self.exists(version, name) {
            return Ok(Edited { definitions, tag, rewritten: Vec::new() });
        }
        let id = version.next_id();
        definitions.push(Definition {
            id,
            kind: DefinitionKind::Table,
            table: id,
            name: name.to_owned(),
            physical: self.physical_name(name),
            body: text.to_owned(),
        });
        Ok(Edited { definitions, tag, rewritten: Vec::new() })
    }

    /// Whether a relation exists; gives notice of it if so.
    fn exists(&mut self, version: &Version, name: &str) -> bool {
        let of_table = |table: &Table| {
            table.name == name
                || table.primary_key_name == name
                || table.indexes.iter().any(|index| index.name == name)
        };
        let exists = version.catalog.tables.iter().any(of_table);
        if exists {
            let message = format!("relation \"{name}\" already exists, skipping");
            self.notice(Severity::Notice, "42P07", message);
        }
        exists
    }

    fn create_sequence(
        &mut self,
        version: &Version,
        name: &str,
        if_not_exists: bool,
        text: &str,
    ) -> Result<Edited, SqlError> {
        let mut definitions = version.definitions.clone();
        let tag = "CREATE SEQUENCE";
        let is_there = version.sequences.contains_key(name);
        if if_not_exists && (is_there || self.exists(version, name)) {
            return Ok(Edited { definitions, tag, rewritten: Vec::new() });
        }
        if is_there {
            return Err(SqlError::new("42P07", format!("relation \"{name}\" already exists")));
        }
        let other = ["INCREMENT", "MINVALUE", "MAXVALUE", "CYCLE"];
        let tokens = tokens(text)?;
        if let Some(option) = tokens.iter().find(|token| other.iter().any(|one| token.is_word(one)))
        {
            // pg_dump writes the defaults, too.
            let is_default = tokens.windows(3).any(|part| {
                part[0].is_word("INCREMENT") && part[1].is_word("BY") && part[2].text == "1"
            });
            if !is_default {
                let message = format!("{} of a sequence is not supported", option.text);
                return Err(SqlError::unsupported(message));
            }
        }
        definitions.push(Definition {
            id: version.next_id(),
            kind: DefinitionKind::Sequence,
            table: 0,
            name: name.to_owned(),
            physical: String::new(),
            body: text.to_owned(),
        });
        Ok(Edited { definitions, tag, rewritten: Vec::new() })
    }

    /// A name for a table of the engine that no other has.
    fn physical_name(&self, name: &str) -> String {
        physical_name(name, self.database.host().handle().env().random())
    }

    fn create_index(
        &mut self,
        version: &Version,
        (name, table): (Option<&str>, &str),
        if_not_exists: bool,
        text: &str,
    ) -> Result<Edited, SqlError> {
        let mut definitions = version.definitions.clone();
        let tag = "CREATE INDEX";
        if if_not_exists && name.is_some_and(|name| self.exists(version, name)) {
            return Ok(Edited { definitions, tag, rewritten: Vec::new() });
        }
        let owner = self.owner(version, table)?.clone();
        let before: Vec<&str> = index_names(version, table);
        let mut definition = Definition {
            id: version.next_id(),
            kind: DefinitionKind::Index,
            table: owner.id,
            name: String::new(),
            physical: String::new(),
            body: text.to_owned(),
        };
        // The reader chooses a name if the statement has none.
        let mut with = definitions.clone();
        with.push(definition.clone());
        let parsed = Parsed::read(&with, text)?;
        let made = parsed.catalog.table(table);
        let made =
            made.and_then(|made| made.indexes.iter().find(|index| !before.contains(&&*index.name)));
        definition.name = made.map(|index| index.name.clone()).unwrap_or_default();
        if name.is_none() {
            definition.body = with_name(text, &definition.name)?;
        }
        definitions.push(definition);
        let rewritten = self.changed_storage(version, &parsed, &mut definitions);
        Ok(Edited { definitions, tag, rewritten })
    }

    /// Gives tables new storage whose rows are stored in another way than before.
    fn changed_storage(
        &self,
        version: &Version,
        parsed: &Parsed,
        definitions: &mut [Definition],
    ) -> Vec<i64> {
        let mut rewritten = Vec::new();
        for (old, table) in version.catalog.tables.iter().enumerate() {
            let definition = version.definition_of(old);
            let Some(new) = parsed.catalog.table(&table.name) else { continue };
            let moves = new.schema != table.schema;
            let found = definitions.iter_mut().find(|one| one.id == definition.id);
            if let Some(found) = found.filter(|_| moves) {
                found.physical = self.physical_name(&found.name);
                rewritten.push(found.id);
            }
        }
        rewritten
    }

    fn alter_table(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        name: &str,
        if_exists: bool,
        text: &str,
    ) -> Result<Edited, SqlError> {
        let mut definitions = version.definitions.clone();
        let tag = "ALTER TABLE";
        if if_exists && version.table(name).is_none() {
            let message = format!("relation \"{name}\" does not exist, skipping");
            self.notice(Severity::Notice, "00000", message);
            return Ok(Edited { definitions, tag, rewritten: Vec::new() });
        }
        let owner = self.owner(version, name)?.clone();
        block.locks.take(self.database.locks(), owner.id, self)?;
        definitions.push(Definition {
            id: version.next_id(),
            kind: DefinitionKind::Constraint,
            table: owner.id,
            name: String::new(),
            physical: String::new(),
            body: text.to_owned(),
        });
        let parsed = Parsed::read(&definitions, text)?;
        let rewritten = self.changed_storage(version, &parsed, &mut definitions);
        Ok(Edited { definitions, tag, rewritten })
    }

    fn owner<'v>(&self, version: &'v Version, table: &str) -> Result<&'v Definition, SqlError> {
        let found = version.table(table).map(|(_, definition)| definition);
        found.ok_or_else(|| no_table("relation", table))
    }

    fn drop_objects(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        (kind, names): (DropKind, &[String]),
        if_exists: bool,
        cascade: bool,
    ) -> Result<Edited, SqlError> {
        let mut definitions = version.definitions.clone();
        let (what, tag) = match kind {
            DropKind::Table => ("table", "DROP TABLE"),
            DropKind::Index => ("index", "DROP INDEX"),
            DropKind::Routine => ("function", "DROP FUNCTION"),
            DropKind::Sequence => ("sequence", "DROP SEQUENCE"),
        };
        for name in names {
            let of_kind = |one: &&Definition| {
                one.name == *name
                    && match kind {
                        DropKind::Table => one.kind == DefinitionKind::Table,
                        DropKind::Index => one.kind == DefinitionKind::Index,
                        DropKind::Routine => one.kind == DefinitionKind::Routine,
                        DropKind::Sequence => one.kind == DefinitionKind::Sequence,
                    }
            };
            let Some(found) = definitions.iter().find(of_kind).cloned() else {
                if if_exists {
                    let message = format!("{what} \"{name}\" does not exist, skipping");
                    self.notice(Severity::Notice, "00000", message);
                    continue;
                }
                return Err(no_table(what, name));
            };
            if kind == DropKind::Table {
                block.locks.take(self.database.locks(), found.id, self)?;
                check_references(version, names, name, cascade)?;
                definitions.retain(|one| one.table != found.id);
            } else {
                definitions.retain(|one| one.id != found.id);
            }
        }
        Ok(Edited { definitions, tag, rewritten: Vec::new() })
    }

    fn truncate(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        tables: &[String],
        cascade: bool,
    ) -> Result<Edited, SqlError> {
        let mut definitions = version.definitions.clone();
        for name in tables {
            let owner = self.owner(version, name)?.clone();
            if !cascade {
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
        Ok(Edited { definitions, tag: "TRUNCATE TABLE", rewritten: Vec::new() })
    }

    /// Makes the tables and indexes of new definitions in the engine; the block sees them then.
    async fn apply(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        edited: Edited,
        text: &str,
    ) -> Result<(), SqlError> {
        let parsed = Parsed::read(&edited.definitions, text)?;
        let database = self.database.host().handle();
        let change = block.change.as_mut().expect("a change has begun");
        for (table, &at) in parsed.catalog.tables.iter().zip(&parsed.table_definitions) {
            let definition = &edited.definitions[at];
            let old = version.catalog.tables.iter().enumerate();
            let old = old.map(|(at, table)| (version.definition_of(at), table));
            let old = old.into_iter().find(|(old, _)| old.id == definition.id);
            match old {
                Some((old, before)) if old.physical == definition.physical => {
                    change_indexes(&database, change, before, table).await?;
                }
                _ => {
                    let designed = design(table, &definition.body);
                    let spec = TableSpec {
                        schema: table.schema.clone(),
                        design: designed.rows,
                        indexes: designed.indexes,
                    };
                    database.create_table(spec).await.map_err(|error| catalog_error(&error))?;
                    change.created.push(definition.physical.clone());
                }
            }
        }
        let kept = |physical: &str| edited.definitions.iter().any(|one| one.physical == *physical);
        let gone = version.definitions.iter().map(|one| &one.physical);
        let gone = gone.filter(|physical| !physical.is_empty() && !kept(physical));
        change.dropped.extend(gone.cloned());
        let epoch = change.before.epoch + 1;
        let analyzed = self.database.analyzed();
        let next = Version::bind(&database, epoch, edited.definitions, parsed, &analyzed)?;
        let next = Arc::new(next);
        check_routines(version, &next)?;
        for id in edited.rewritten {
            self.copy_rows(version, &next, id).await?;
        }
        self.check_rows(version, &next).await?;
        block.version = Some(next);
        Ok(())
    }

    /// Stores the definitions of a block's changes, as a part of its transaction.
    pub(super) async fn store_change(&mut self, block: &mut Block<H::Env>) -> Result<(), SqlError> {
        let Some(change) = &block.change else { return Ok(()) };
        let (before, after) = (change.before.clone(), block.version.clone());
        let Some(after) = after.filter(|after| after.serial != before.serial) else {
            return Ok(());
        };
        self.start_in_block(block, false).await?;
        let transaction = block.engine.as_mut().expect("it was started");
        let mut transaction = transaction.statement();
        let database = self.database.clone();
        let definitions = (&before.definitions[..], &after.definitions[..]);
        let store = database.store();
        store.write(&mut self.runner, &mut transaction, before.epoch, definitions).await?;
        Ok(())
    }

    /// Ends the changes of a block, behind the end of its transaction.
    pub(super) async fn finish_change(&mut self, change: Change, end: ChangeEnd) {
        let database = self.database.host().handle();
        let (tables, indexes) = match end {
            ChangeEnd::Committed(version) => {
                self.database.publish(version);
                (change.dropped, change.dropped_indexes)
            }
            ChangeEnd::RolledBack => (change.created, change.created_indexes),
            ChangeEnd::Unknown => {
                // Storage of the catalog that does not hold is kept. The next change looks again.
                let _ = self.database.refresh().await;
                (Vec::new(), Vec::new())
            }
        };
        for (table, index) in indexes {
            // A table that is gone has no index; memory that is still in use is freed later.
            let _ = database.drop_index(&table, &index).await;
        }
        for table in tables {
            match database.drop_table(&table).await {
                Ok(()) | Err(CatalogError::NoTable(_) | CatalogError::Unacknowledged) => {}
                Err(error) => {
                    let message = format!("the storage of a dropped table is kept: {error}");
                    self.notice(Severity::Warning, "01000", message);
                }
            }
        }
        self.database.end_change();
    }
}

/// Refuses a new routine that cannot be called. One that exists may lose a table that it uses.
fn check_routines(before: &Version, after: &Version) -> Result<(), SqlError> {
    let is_new = |one: &&VersionRoutine| !before.routines.iter().any(|other| other.id == one.id);
    for routine in after.routines.iter().filter(is_new) {
        routine.compiled.as_ref().map(drop).map_err(Clone::clone)?;
    }
    Ok(())
}

/// `CREATE FUNCTION` and `CREATE PROCEDURE`
fn create_routine(
    version: &Version,
    name: &str,
    replaces: bool,
    text: &str,
) -> Result<Edited, SqlError> {
    let mut definitions = version.definitions.clone();
    let source = sql::Source::new("statement", text);
    let read = sql::read_procedures(&source, &version.catalog);
    let read = read.map_err(|errors| parse_error(errors.first(), text))?;
    let tag = match read.first().map(|routine| routine.kind) {
        Some(RoutineKind::Procedure) => "CREATE PROCEDURE",
        _ => "CREATE FUNCTION",
    };
    let is_it = |one: &Definition| one.kind == DefinitionKind::Routine && one.name == *name;
    if definitions.iter().any(is_it) && !replaces {
        let message = format!("function \"{name}\" already exists with same argument types");
        let hint = "namdb has one function of each name; write CREATE OR REPLACE.";
        return Err(SqlError::new("42723", message).hint(hint));
    }
    definitions.retain(|one| !is_it(one));
    definitions.push(Definition {
        id: version.next_id(),
        kind: DefinitionKind::Routine,
        table: 0,
        name: name.to_owned(),
        physical: String::new(),
        body: text.to_owned(),
    });
    Ok(Edited { definitions, tag, rewritten: Vec::new() })
}

/// Creates and drops the indexes that differ.
async fn change_indexes<E: Env>(
    database: &txn::Database<E>,
    change: &mut Change,
    before: &Table,
    after: &Table,
) -> Result<(), SqlError> {
    let physical = after.schema.name();
    let has = |table: &Table, name: &str| table.indexes.iter().any(|index| index.name == name);
    for index in after.indexes.iter().filter(|index| !has(before, &index.name)) {
        let created = database.create_index(physical, index_design(index)).await;
        created.map_err(|error| catalog_error(&error))?;
        change.created_indexes.push((physical.to_owned(), index.name.clone()));
    }
    for index in before.indexes.iter().filter(|index| !has(after, &index.name)) {
        change.dropped_indexes.push((physical.to_owned(), index.name.clone()));
    }
    Ok(())
}

/// The text of `CREATE INDEX` with the name that was chosen for it: another index may get the same
/// name otherwise, when the definitions are read again without those that were dropped.
fn with_name(text: &str, name: &str) -> Result<String, SqlError> {
    let tokens = tokens(text)?;
    let on = tokens.iter().find(|token| token.is_word("ON"));
    let at = on.map_or(text.len(), |token| token.at);
    Ok(format!("{}{} {}", &text[..at], quoted(name), &text[at..]))
}

fn index_names<'v>(version: &'v Version, table: &str) -> Vec<&'v str> {
    let table = version.catalog.table(table);
    let indexes = table.map(|table| &table.indexes[..]).unwrap_or_default();
    indexes.iter().map(|index| &*index.name).collect()
}

/// A table that references another one, and is not among these.
fn referrer<'v>(version: &'v Version, table: &str, among: &[String]) -> Option<&'v str> {
    let position = version.catalog.position(table)?;
    let refers = |other: &&Table| {
        !among.contains(&other.name) && other.foreign_keys.iter().any(|key| key.table == position)
    };
    version.catalog.tables.iter().find(refers).map(|other| &*other.name)
}

fn check_references(
    version: &Version,
    dropped: &[String],
    table: &str,
    cascade: bool,
) -> Result<(), SqlError> {
    match referrer(version, table, dropped) {
        Some(other) if !cascade => {
            let message = format!("cannot drop table {table} because other objects depend on it");
            let detail = format!("A foreign key of table {other} depends on table {table}.");
            let hint = "Use DROP ... CASCADE to drop the dependent objects too.";
            Err(SqlError::new("2BP01", message).detail(detail).hint(hint))
        }
        Some(other) => {
            let message = format!(
                "DROP TABLE {table} CASCADE, with a foreign key of {other}, is not supported"
            );
            Err(SqlError::unsupported(message).hint("Drop both tables."))
        }
        None => Ok(()),
    }
}

fn no_table(what: &str, name: &str) -> SqlError {
    let sqlstate = match what {
        "index" => "42704",
        "function" => "42883",
        _ => "42P01",
    };
    SqlError::new(sqlstate, format!("{what} \"{name}\" does not exist"))
}

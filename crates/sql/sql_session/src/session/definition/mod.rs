//! Changes of the catalog.
//!
//! A change is made in the engine at once, under names that nobody else knows, and in a version of
//! the catalog that only this transaction sees. The commit stores the definitions together with the
//! transaction's rows, publishes the version, and drops what it replaces. A roll-back drops what
//! the transaction has created.
//!
//! A transaction that has changed rows goes on behind a change: it sees the new tables of the
//! engine, and copies rows into new storage itself.
//!
//! ```text
//! create   CREATE TABLE, INDEX, SEQUENCE, FUNCTION; create_as: CREATE TABLE ... AS
//! alter    ALTER TABLE
//! drop     DROP, TRUNCATE
//! comment  COMMENT ON
//! schema   CREATE, DROP, ALTER SCHEMA, SET SCHEMA
//! types    CREATE, DROP, ALTER TYPE
//! view     CREATE VIEW, and what views depend on
//! apply    tables and indexes of the engine
//! ```
//!
//! Decision: docs/decisions/0336-a-transaction-sees-the-tables-that-it-has-created.md

mod alter;
mod apply;
mod comment;
mod create;
mod create_as;
mod drop;
mod schema;
mod types;
mod view;

use super::named::definition_text;
use super::transaction::done;
use super::{Block, SqlSession};
use crate::access::object::follow;
use crate::catalog::change::Replaced;
use crate::catalog::numbers::remember_last;
use crate::catalog::schemas::forget_paths;
use crate::catalog::store::sequence_owners;
use crate::catalog::types::forget_types;
use crate::catalog::{Change, Definition, DefinitionKind, Version, physical_name};
use crate::command::{Command, DropKind};
use crate::error::{Severity, SqlError};
use crate::host::Host;
use crate::outcome::Outcome;
use comment::{comment, forget_comments};
use create::create_routine;
use fabric::Env;
use std::sync::Arc;
use txn::{CatalogError, Isolation};
use view::create_view;

/// The new definitions, and the command tag.
pub(super) struct Edited {
    definitions: Vec<Definition>,
    tag: &'static str,
    /// Tables with new storage that takes over the rows of the old one, by number.
    rewritten: Vec<i64>,
    /// The values of columns with a new type, by the column's name before.
    values: Vec<(String, String)>,
}

impl Edited {
    pub(super) fn new(definitions: Vec<Definition>, tag: &'static str) -> Self {
        Self { definitions, tag, rewritten: Vec::new(), values: Vec::new() }
    }

    /// Whether earlier statements of the transaction mean the same as before.
    fn only_adds(&self, before: &Version) -> bool {
        let (count, all) = (before.definitions.len(), &self.definitions);
        let is_new = |one: &Definition| {
            !matches!(one.kind, DefinitionKind::Index | DefinitionKind::Constraint)
        };
        all.len() >= count && all[..count] == before.definitions && all[count..].iter().all(is_new)
    }
}

/// Removes what belongs to objects that are gone.
fn forget_gone(definitions: &mut Vec<Definition>) {
    forget_comments(definitions);
    forget_paths(definitions);
    forget_types(definitions);
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
        let is_first = block.change.is_none();
        let changed = self.change(&mut block, command, text).await;
        block.has_failed |= changed.is_err();
        self.release_change(&mut block, is_first).await;
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
        if block.change.is_none() {
            self.check_early(command).await?;
        }
        self.begin_change(block).await?;
        let version = block.version.clone().expect("a change has a version");
        let path = self.path_in(&version);
        let command = self.named_in(&version, command)?;
        let written = definition_text(&version, &path, &command, text)?;
        let changed = self.change_named(block, &command, &written.text).await;
        changed.map_err(|error| written.placed(error, text))
    }

    /// Runs a command whose names are full names.
    async fn change_named(
        &mut self,
        block: &mut Block<H::Env>,
        command: &Command,
        text: &str,
    ) -> Result<Outcome, SqlError> {
        let version = block.version.clone().expect("a change has a version");
        self.check_definition(&version, command)?;
        let mut edited = match command {
            Command::CreateTable { name, if_not_exists } => {
                self.create_table(&version, name, *if_not_exists, text)?
            }
            Command::CreateIndex { name, table, if_not_exists } => {
                self.create_index(block, &version, (name.as_deref(), table), *if_not_exists, text)?
            }
            Command::AlterTable { table, if_exists, change } => {
                self.alter_table(block, &version, (table, change), *if_exists, text)?
            }
            Command::AlterIndex { index, if_exists, to } => {
                self.rename_index(block, &version, (index, to), *if_exists, text)?
            }
            Command::CreateEnum { .. }
            | Command::AlterType { .. }
            | Command::Drop { kind: DropKind::Type, .. } => {
                self.change_types(block, &version, command)?
            }
            Command::Drop { kind, names, if_exists, cascade } => {
                self.drop_objects(block, &version, (*kind, names), *if_exists, *cascade)?
            }
            Command::Truncate { tables, referrers } => {
                self.truncate(block, &version, tables, *referrers)?
            }
            Command::CreateView { name, replaces, columns, query } => {
                let path = self.path_in(&version);
                create_view((&version, &path), (name, columns), query, *replaces, text)?
            }
            Command::CreateSchema { .. }
            | Command::DropSchemas { .. }
            | Command::RenameSchema { .. }
            | Command::SetSchema { .. } => self.change_schemas(block, &version, command)?,
            Command::CreateSequence { name, if_not_exists } => {
                self.create_sequence(&version, name, *if_not_exists, text)?
            }
            Command::Comment { on, text } => comment(&version, on, text.as_deref())?,
            Command::CreateRoutine { name, replaces } => {
                let path = self.routine_path(&version, text)?;
                let options = (*replaces, self.checks_bodies());
                create_routine((&version, &path), name, options, text)?
            }
            Command::Grant(command) => self.change_grants(&version, command)?,
            Command::SetOwner { kind, name, if_exists, role, tag } => {
                self.set_owner(&version, (*kind, name), *if_exists, (role, tag))?
            }
            Command::Role(command) => self.change_roles(&version, command)?,
            _ => return Err(SqlError::unsupported("this command is not supported")),
        };
        forget_gone(&mut edited.definitions);
        let tag = edited.tag;
        follow(&version.definitions, &mut edited.definitions, self.acting_role(&version));
        remember_last(&version.definitions, &mut edited.definitions);
        if edited.definitions != version.definitions {
            if block.keeps_transaction() && !edited.only_adds(&version) {
                // The transaction's statements would not run as before.
                block.log.lose();
            }
            self.apply(block, &version, edited, text).await?;
        }
        Ok(done(tag))
    }

    /// Requires the privileges of a command before it waits for its turn to change the catalog: a
    /// role without them keeps nobody waiting.
    async fn check_early(&self, command: &Command) -> Result<(), SqlError> {
        let may_run = |session: &Self| {
            let version = session.database.version();
            let named = session.named_in(&version, command)?;
            session.check_definition(&version, &named)
        };
        if may_run(self).is_ok() {
            return Ok(());
        }
        // Another process may have granted them.
        self.database.refresh().await?;
        may_run(self)
    }

    /// Lets others change the catalog, if the block does not: its first command, `is_first`, has
    /// changed nothing, or the block has failed and can only be rolled back.
    async fn release_change(&mut self, block: &mut Block<H::Env>, is_first: bool) {
        let Some(change) = &block.change else { return };
        let serial = block.version.as_ref().map(|version| version.serial);
        let has_created = !change.created.is_empty() || !change.created_indexes.is_empty();
        let is_unchanged = block.has_failed || serial == Some(change.before.serial);
        let is_over = block.has_failed && block.savepoints.is_empty();
        if !is_over && (!is_first || has_created || !is_unchanged) {
            return;
        }
        if is_over {
            self.queries.clear();
            self.stop_in_block(block).await;
        }
        if let Some(change) = block.change.take() {
            block.version = Some(change.before.clone());
            self.finish_change(change, ChangeEnd::RolledBack).await;
        }
    }

    /// Prepares the block for a change: it is the only one that changes the catalog. Unless it must
    /// keep its transaction of the engine, that ends here, and the engine waits for nobody.
    pub(super) async fn begin_change(&mut self, block: &mut Block<H::Env>) -> Result<(), SqlError> {
        if block.may_divide() && !block.has_undoable_changes() {
            // Committed rows need no copy by the transaction, and do not count against its size.
            self.settle(block).await?;
        }
        let keeps = block.keeps_transaction();
        if !keeps {
            self.stop_in_block(block).await;
            block.begin_anew();
        }
        if block.change.is_some() {
            return Ok(());
        }
        self.database.begin_change(self)?;
        let refreshed = self.database.refresh().await;
        let before = self.database.version();
        let seen = block.version.replace(before.clone());
        let is_moved = seen.is_some_and(|seen| seen.epoch != before.epoch);
        block.change = Some(Change::new(before));
        refreshed?;
        if !keeps {
            // Later statements may change rows with references.
            block.engine_isolation = Isolation::Serializable;
            return Ok(());
        }
        if block.isolation.hides_conflicts() && !block.log.is_lost() {
            // The client cannot distinguish the transaction from one that began now.
            return self.repeat_serializable(block).await;
        }
        match is_moved {
            false => Ok(()),
            true => {
                // The snapshot does not cover rows that were copied into new storage since.
                let message =
                    "could not serialize access due to a concurrent change of the catalog";
                Err(SqlError::new("40001", message))
            }
        }
    }

    /// Takes a table for this transaction alone, to read all of its rows.
    fn lock_table(
        &self,
        block: &mut Block<H::Env>,
        definition: &Definition,
    ) -> Result<(), SqlError> {
        let locks = self.database.locks();
        block.locks.take(locks, definition.id, self)?;
        let is_stale = block.keeps_transaction()
            && !block.renews()
            && block.engine.is_some()
            && !block.has_created(&definition.physical)
            && locks.is_changed_since(definition.id, block.began_at);
        match is_stale {
            false => Ok(()),
            true => {
                let message = "could not serialize access due to a concurrent change of the table";
                Err(SqlError::new("40001", message))
            }
        }
    }

    /// A name for a table of the engine that no other has.
    fn physical_name(&self, name: &str) -> String {
        physical_name(name, self.database.host().handle().env().random())
    }

    fn owner<'v>(&self, version: &'v Version, table: &str) -> Result<&'v Definition, SqlError> {
        if version.catalog.view(table).is_some() {
            return Err(SqlError::new("42809", format!("\"{table}\" is not a table")));
        }
        let found = version.table(table).map(|(_, definition)| definition);
        found.ok_or_else(|| no_table("relation", table))
    }

    /// Stores the definitions of a block's changes, as a part of its transaction.
    pub(super) async fn store_change(&mut self, block: &mut Block<H::Env>) -> Result<(), SqlError> {
        let Some(change) = &block.change else { return Ok(()) };
        let (before, after) = (change.before.clone(), block.version.clone());
        let Some(after) = after.filter(|after| after.serial != before.serial) else {
            return Ok(());
        };
        self.renew_in_block(block).await?;
        self.start_in_block(block).await?;
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
        let Replaced { tables, indexes } = match end {
            ChangeEnd::Committed(version) => {
                let replaced = change.replaced_by(&version);
                let owners = sequence_owners(&change.before.definitions, &version.definitions);
                self.database.forget_analyzed(&owners);
                for owner in owners {
                    self.database.ranges().forget_all(owner);
                }
                self.database.publish(version);
                replaced
            }
            ChangeEnd::RolledBack => change.undone(),
            ChangeEnd::Unknown => {
                // Storage of the catalog that does not hold is kept. The next change looks again.
                let _ = self.database.refresh().await;
                Replaced::default()
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

fn no_table(what: &str, name: &str) -> SqlError {
    let sqlstate = match what {
        "index" => "42704",
        "function" => "42883",
        _ => "42P01",
    };
    SqlError::new(sqlstate, format!("{what} \"{name}\" does not exist"))
}

//! Runs the commands that are no queries.

use super::transaction::done;
use super::{Prepared, SqlSession, is_for_superusers};
use crate::command::{Command, LockMode, arguments};
use crate::error::{Severity, SqlError};
use crate::host::Host;
use crate::lexer::characters;
use crate::outcome::{Outcome, RowSet};
use sql_value::Value;

impl<H: Host> SqlSession<H> {
    pub(super) async fn run_command(&mut self, prepared: &Prepared) -> Result<Outcome, SqlError> {
        let inner = prepared.inner.clone();
        let named = self.early_named(&inner.command)?;
        match named.as_ref().unwrap_or(&inner.command) {
            Command::Empty => Ok(Outcome::Empty),
            Command::Query | Command::Call => Err(SqlError::internal("a query is no command")),
            Command::Begin(characteristics) => {
                let starts =
                    inner.text.get(..5).is_some_and(|one| one.eq_ignore_ascii_case("start"));
                let tag = if starts { "START TRANSACTION" } else { "BEGIN" };
                Ok(self.begin(*characteristics, tag))
            }
            Command::Commit { chain } => self.commit(*chain).await,
            Command::Rollback { chain } => Ok(self.roll_back(*chain).await),
            Command::Savepoint(name) => self.savepoint(name),
            Command::Release(name) => self.release_savepoint(name),
            Command::RollbackTo(name) => self.roll_back_to(name).await,
            Command::SetTransaction(characteristics) => self.set_transaction(*characteristics),
            Command::SetSessionCharacteristics(characteristics) => {
                if let Some(isolation) = characteristics.isolation {
                    let value = Some(isolation.name().to_owned());
                    self.settings.set("default_transaction_isolation", value, false)?;
                }
                if let Some(is_read_only) = characteristics.is_read_only {
                    let value = Some(if is_read_only { "on" } else { "off" }.to_owned());
                    self.settings.set("default_transaction_read_only", value, false)?;
                }
                Ok(done("SET"))
            }
            Command::Set { is_local, name, value } => self.set(*is_local, name, value.clone()),
            Command::SetRole { is_local, name } => {
                self.set_role(name.as_deref(), *is_local)?;
                Ok(done(set_tag(&inner.text)))
            }
            Command::SetSessionUser { is_local, name } => {
                self.set_session_user(name.as_deref(), *is_local)?;
                Ok(done(set_tag(&inner.text)))
            }
            Command::SetConfig { name, value, is_local } => self.set_config(name, value, *is_local),
            Command::Show(name) => self.show(name),
            Command::Reset(name) => {
                self.reset(name.as_deref())?;
                Ok(done("RESET"))
            }
            Command::DiscardAll => self.discard_all(),
            Command::Prepare { name, types, text } => self.prepare_named(name, types, text),
            Command::Execute { name, arguments } => self.execute_named(name, arguments).await,
            Command::Deallocate(name) => self.deallocate(name.as_deref()),
            Command::Copy(copy) => self.begin_copy(copy).await,
            Command::Declare { name, text, at } => {
                self.declare(name, text, characters(&inner.text, *at)).await
            }
            Command::Fetch { name, count } => self.fetch_cursor(name, *count).await,
            Command::Close(name) => self.close_cursor(name.as_deref()).await,
            Command::Explain { options, text, at } => {
                self.explain(*options, text, characters(&inner.text, *at)).await
            }
            Command::Analyze { tables, tag } => self.analyze(tables, tag).await,
            Command::LockTable { tables, mode, waits } => {
                self.lock_tables(tables, *mode, *waits).await
            }
            Command::Ignored(tag) => Ok(done(tag)),
            Command::CreateTableAs(table) => Box::pin(self.create_table_as(table)).await,
            definition => self.define(definition, &inner.text).await,
        }
    }

    /// A command with full names, unless it changes definitions: those are given names when nobody
    /// else changes the catalog.
    fn early_named(&self, command: &Command) -> Result<Option<Command>, SqlError> {
        match command {
            Command::Copy(_)
            | Command::Analyze { .. }
            | Command::LockTable { .. }
            | Command::CreateTableAs(_) => self.named_in(&self.version(), command).map(Some),
            _ => Ok(None),
        }
    }

    fn set(
        &mut self,
        is_local: bool,
        name: &str,
        value: Option<String>,
    ) -> Result<Outcome, SqlError> {
        if name == "transaction_isolation" {
            let level = value.as_deref().and_then(crate::command::IsolationLevel::named);
            let characteristics =
                crate::command::Characteristics { isolation: level, is_read_only: None };
            return self.set_transaction(characteristics);
        }
        if is_local && self.block.is_none() {
            let message = "SET LOCAL can only be used in transaction blocks".to_owned();
            self.notice(Severity::Warning, "25P01", message);
            return Ok(done("SET"));
        }
        self.check_setting(name)?;
        self.settings.set(name, value, is_local)?;
        self.follow_settings(is_local);
        Ok(done("SET"))
    }

    fn reset(&mut self, name: Option<&str>) -> Result<(), SqlError> {
        match name {
            Some(name) => {
                self.check_setting(name)?;
                self.settings.set(name, None, false)?;
            }
            None => self.settings.reset_all(),
        }
        self.follow_settings(false);
        Ok(())
    }

    /// `SELECT set_config(...)`
    fn set_config(&mut self, name: &str, value: &str, is_local: bool) -> Result<Outcome, SqlError> {
        let lower = name.to_lowercase();
        if matches!(&*lower, "role" | "session_authorization") {
            let message = format!("set_config of \"{lower}\" is not supported");
            return Err(SqlError::unsupported(message).hint("Write SET."));
        }
        self.set(is_local, name, Some(value.to_owned()))?;
        let mut rows = RowSet::new(1);
        rows.push([Value::text(self.settings.get(name).unwrap_or_default())]);
        Ok(Outcome::Rows { rows, tag: "SELECT 1".to_owned() })
    }

    /// Refuses settings that only superusers change.
    fn check_setting(&self, name: &str) -> Result<(), SqlError> {
        let granted = self.granted();
        match !is_for_superusers(name) || granted.roles.is_superuser(self.acting_role(&granted)) {
            true => Ok(()),
            false => {
                let name = name.to_lowercase();
                let message = format!("permission denied to set parameter \"{name}\"");
                Err(SqlError::new("42501", message))
            }
        }
    }

    fn show(&self, name: &str) -> Result<Outcome, SqlError> {
        let text = |text: &str| Value::text(text);
        if name == "all" {
            let mut rows = RowSet::new(3);
            for (name, value) in self.settings.all() {
                rows.push([text(name), text(&value), text("")]);
            }
            return Ok(Outcome::Rows { rows, tag: "SHOW".to_owned() });
        }
        let block = self.block.as_ref();
        let value = match name {
            "transaction_isolation" => {
                let level = block.map_or(self.settings.isolation(), |block| block.isolation);
                Some(level.name().to_owned())
            }
            "transaction_read_only" => {
                let is = block.map_or(self.settings.is_read_only(), |block| block.is_read_only);
                Some(if is { "on" } else { "off" }.to_owned())
            }
            name => self.setting(name),
        };
        let Some(value) = value else {
            let message = format!("unrecognized configuration parameter \"{name}\"");
            return Err(SqlError::new("42704", message));
        };
        let mut rows = RowSet::new(1);
        rows.push([text(&value)]);
        Ok(Outcome::Rows { rows, tag: "SHOW".to_owned() })
    }

    /// `LOCK TABLE`. Readers need no lock: they read their snapshot.
    async fn lock_tables(
        &mut self,
        tables: &[String],
        mode: LockMode,
        waits: bool,
    ) -> Result<Outcome, SqlError> {
        self.require_block("LOCK TABLE")?;
        let version = self.version();
        let database = self.database.clone();
        let Some(mut block) = self.block.take() else { return Ok(done("LOCK TABLE")) };
        let mut locked = Ok(());
        for name in tables.iter().filter(|_| mode != LockMode::Reads) {
            let Some((_, definition)) = version.table(name) else {
                let message = format!("relation \"{name}\" does not exist");
                locked = Err(SqlError::new("42P01", message));
                break;
            };
            let granted = self.granted_in(Some(&block), &version);
            if let Err(lacks) = self.check_lock((&version, &granted), name, mode) {
                locked = Err(lacks);
                break;
            }
            locked = match mode {
                _ if !waits && !block.locks.is_free(database.locks(), definition.id) => {
                    let message = format!("could not obtain lock on relation \"{name}\"");
                    Err(SqlError::new("55P03", message))
                }
                LockMode::Alone => block.locks.take(database.locks(), definition.id, self),
                _ => block.locks.share(database.locks(), definition.id, self),
            };
            if locked.is_err() {
                break;
            }
        }
        if !block.keeps_transaction() {
            // Later statements see the rows of those that have held the tables before.
            self.stop_in_block(&mut block).await;
            block.version = block.version.filter(|_| block.change.is_some());
        }
        self.block = Some(block);
        locked.map(|()| done("LOCK TABLE"))
    }

    fn discard_all(&mut self) -> Result<Outcome, SqlError> {
        if self.block.is_some() {
            let message = "DISCARD ALL cannot run inside a transaction block";
            return Err(SqlError::new("25001", message));
        }
        self.named.clear();
        self.cache.clear();
        self.reset_identity();
        self.settings.reset_all();
        self.follow_settings(false);
        self.advisory.release_all(self.database.advisory_locks(), false);
        Ok(done("DISCARD ALL"))
    }

    fn prepare_named(
        &mut self,
        name: &str,
        types: &[String],
        text: &str,
    ) -> Result<Outcome, SqlError> {
        if self.named.contains_key(name) || self.named_texts.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new("42P05", message));
        }
        let version = self.version();
        let oids = types.iter().map(|name| {
            let source = sql::Source::new("type", name).with_path(self.path_in(&version));
            let sql_type = sql::read_type(&source.with_types(&version.catalog.types))
                .map_err(|error| crate::parse_error::parse_error(&error, name))?;
            Ok(crate::oid::of_type(&sql_type))
        });
        let oids = oids.collect::<Result<Vec<u32>, SqlError>>()?;
        let prepared = Prepared::new(text, &oids, &version, &self.identity)?;
        self.named.insert(name.to_owned(), prepared);
        Ok(done("PREPARE"))
    }

    /// The statement of `PREPARE` with this name.
    pub(super) fn find_named(&self, name: &str) -> Result<&Prepared, SqlError> {
        self.named.get(name).ok_or_else(|| {
            SqlError::new("26000", format!("prepared statement \"{name}\" does not exist"))
        })
    }

    async fn execute_named(&mut self, name: &str, list: &str) -> Result<Outcome, SqlError> {
        let prepared = self.find_named(name)?.clone();
        let given = arguments(list)?;
        let wanted = prepared.parameters();
        if given.len() != wanted.len() {
            let message = format!("wrong number of parameters for prepared statement \"{name}\"");
            let detail = format!("Expected {} parameters but got {}.", wanted.len(), given.len());
            return Err(SqlError::new("42601", message).detail(detail));
        }
        let mut values = Vec::new();
        if !given.is_empty() {
            let parts = given
                .iter()
                .zip(wanted)
                .map(|(part, wanted)| format!("CAST(({part}) AS {})", wanted.written()));
            let text = format!("SELECT {}", parts.collect::<Vec<_>>().join(", "));
            let select = Prepared::inside(&text, &self.version(), &self.identity)?;
            if let Outcome::Rows { rows, .. } = self.run_query(&select, &[]).await? {
                values.extend(rows.iter().next().unwrap_or_default().iter().cloned());
            }
        }
        let values = self.placed(&prepared, &values)?;
        match prepared.inner.command {
            Command::Query | Command::Call => self.run_query(&prepared, &values).await,
            _ => Box::pin(self.run_command(&prepared)).await,
        }
    }

    fn deallocate(&mut self, name: Option<&str>) -> Result<Outcome, SqlError> {
        match name {
            None => {
                self.named.clear();
                self.named_texts.clear();
                Ok(done("DEALLOCATE ALL"))
            }
            Some(name) => {
                if self.named_texts.remove(name).is_none() {
                    self.find_named(name)?;
                    self.named.remove(name);
                }
                Ok(done("DEALLOCATE"))
            }
        }
    }
}

/// The tag of `SET` or `RESET`.
fn set_tag(text: &str) -> &'static str {
    let resets = text.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("reset"));
    if resets { "RESET" } else { "SET" }
}

//! The state of a connection.
//!
//! ```text
//! prepared      statements with their plans
//! cache         statements that were prepared before
//! block         the transaction of several statements
//! transaction   BEGIN, COMMIT, ROLLBACK, implicit transactions
//! query         SELECT, INSERT, UPDATE, DELETE
//! open          queries whose rows are taken in parts
//! parking       transactions that give their lane back between two statements
//! row_waits     statements that wait for rows, and newer snapshots
//! replay        repeats the statements of a transaction; savepoints
//! utility       all other commands
//! definition    CREATE, DROP, ALTER, TRUNCATE
//! rewrite       rows of tables whose storage or constraints change
//! divided       changes of many rows by several transactions of the engine
//! copying       COPY; binary_copy: with rows of values
//! cursors       DECLARE, FETCH, CLOSE
//! explain       EXPLAIN
//! dynamic       texts of EXECUTE in routines
//! details       errors without rows that the role may not read
//! analyze       ANALYZE
//! advisory      advisory locks
//! grants        GRANT, REVOKE, and the privileges of commands
//! named         full names for the names in commands
//! roles         CREATE, ALTER, DROP ROLE; identity: the roles of the session
//! settings      SET, SHOW, RESET; units: their durations and sizes
//! style         settings of the forms of values
//! timeouts      limits of statements, waits and silence
//! view          tables and settings for the system catalog
//! ```

mod advisory;
mod analyze;
mod binary_copy;
mod block;
mod cache;
mod copying;
mod cursors;
mod definition;
mod details;
mod divided;
mod dynamic;
mod explain;
pub(crate) mod grants;
mod identity;
mod labels;
mod named;
mod named_texts;
mod open;
mod parking;
mod prepared;
mod query;
mod replay;
mod rewrite;
mod roles;
mod row_waits;
pub(crate) mod settings;
mod sleep;
mod style;
mod timeouts;
mod transaction;
mod type_names;
mod units;
mod utility;
mod view;

pub(crate) use block::{Block, BlockKind};
pub(crate) use identity::Actor;
pub use named_texts::prepared_text;
pub use open::{Fetched, OpenQuery, ROWS_AT_A_TIME};
pub use prepared::{Prepared, StatementKind};
pub(crate) use query::{Ended, ended};
pub(crate) use replay::RETRIES;
pub use settings::is_for_superusers;
pub use timeouts::SilenceLimit;
pub use view::CommentPart;

use crate::advisory::HeldAdvisory;
use crate::catalog::Version;
use crate::catalog::sequences::SessionSequences;
use crate::catalog::snapshot::CatalogSnapshot;
use crate::command::Command;
use crate::database::SqlDatabase;
use crate::error::{Severity, SqlError};
use crate::host::Host;
use crate::outcome::{Notice, Outcome};
use crate::row_locks::SessionRows;
use cache::Cache;
use copying::Copying;
use dynamic::DynamicPlans;
use explain::Measured;
use fabric::Fabric;
use identity::Identity;
use interpreter::{Interrupt, Rows, Runner};
use named::refuse_full_names;
use settings::Settings;
use sql_value::Value;
use sql_value::style::{Style, enter, within};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of a session's transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionStatus {
    /// Outside of a transaction block.
    Idle,
    /// Inside of one.
    InTransaction,
    /// Inside of one that has failed: only its end is accepted.
    Failed,
}

/// The start of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionOptions {
    /// The name of the user, for `current_user`.
    pub user: String,
    /// The name of the database, for `current_database()`.
    pub database: String,
    /// Settings of the start-up message, such as `application_name`.
    pub settings: Vec<(String, String)>,
}

/// A session.
pub struct SqlSession<H: Host> {
    database: SqlDatabase<H>,
    /// The committed catalog as of the last statement. The outer count is the session's own:
    /// counting up and down for each statement moves no cache line between processors.
    #[allow(clippy::redundant_allocation, reason = "the inner count is shared with all sessions")]
    current: Arc<Arc<Version>>,
    /// For its clock.
    env: H::Env,
    options: SessionOptions,
    settings: Settings,
    runner: Runner,
    rows: Rows,
    block: Option<Block<H::Env>>,
    /// Queries whose rows are not all taken.
    queries: BTreeMap<OpenQuery, open::Open<H::Env>>,
    /// Number of queries that were open.
    opened: u64,
    /// Number of rows after which the next query may pause.
    batch: usize,
    /// The statements of `PREPARE`.
    named: BTreeMap<String, Prepared>,
    /// Those of a server, see [`SqlSession::keep_text`].
    named_texts: BTreeMap<String, String>,
    notices: Vec<Notice>,
    copying: Option<Copying>,
    identity: Identity,
    /// The serial numbers of the catalog and of the identity with which its role was last seen.
    role_seen: (u64, u64),
    sequences: Arc<SessionSequences<H>>,
    texts: Arc<DynamicPlans>,
    /// Measurements of the last statement, if they are wanted.
    measured: Option<Measured>,
    cache: Cache,
    interrupt: Arc<Interrupt>,
    advisory: HeldAdvisory,
    row_locks: Arc<SessionRows>,
    /// Whether the running statement has handlers of errors.
    has_handlers: bool,
}

impl<H: Host> SqlSession<H> {
    pub(crate) fn new(
        database: SqlDatabase<H>,
        version: Arc<Version>,
        options: SessionOptions,
    ) -> Self {
        let (user, serial) = (&options.user, database.next_session());
        let identity = Identity::new(serial, &version.roles, user, &options.database);
        let is_superuser = version.roles.is_superuser(identity.current.oid);
        let settings = Settings::new(identity.current.clone(), is_superuser, &options.settings);
        let handle = database.host().handle();
        let advisory = HeldAdvisory::new(database.next_session());
        let row_locks =
            Arc::new(SessionRows::new(database.row_locks().clone(), database.next_session()));
        let mut runner = Runner::new(handle.env(), database.host().sql_time_us());
        let sequences = SessionSequences::new(database.clone(), identity.current.clone());
        let sequences = Arc::new(sequences);
        runner.set_sequences(sequences.clone());
        let texts = Arc::new(DynamicPlans::default());
        runner.set_planner(texts.clone());
        runner.set_row_locker(row_locks.clone());
        let interrupt = Arc::new(Interrupt::default());
        runner.set_interrupt(interrupt.clone());
        let mut session = Self {
            current: Arc::new(version),
            database,
            env: handle.env().clone(),
            interrupt,
            options,
            settings,
            runner,
            rows: Rows::new(0),
            block: None,
            queries: BTreeMap::new(),
            opened: 0,
            batch: usize::MAX,
            named: BTreeMap::new(),
            named_texts: BTreeMap::new(),
            notices: Vec::new(),
            copying: None,
            identity,
            role_seen: (u64::MAX, u64::MAX),
            sequences,
            texts,
            measured: None,
            cache: Cache::default(),
            advisory,
            row_locks,
            has_handlers: false,
        };
        session.follow_settings(false);
        session
    }

    pub fn database(&self) -> &SqlDatabase<H> {
        &self.database
    }

    /// The stack of the thread that runs the statements, if it is not the usual one: it limits how
    /// deep functions call each other.
    pub fn set_stack_bytes(&mut self, bytes: usize) {
        self.runner.set_stack_bytes(bytes);
    }

    /// The catalog that the next statement sees, with the changes of an open transaction.
    pub fn catalog(&self) -> CatalogSnapshot {
        CatalogSnapshot::new(self.version())
    }

    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    pub fn status(&self) -> TransactionStatus {
        match &self.block {
            Some(block) if block.kind == BlockKind::Explicit && block.has_failed => {
                TransactionStatus::Failed
            }
            Some(block) if block.kind == BlockKind::Explicit => TransactionStatus::InTransaction,
            _ => TransactionStatus::Idle,
        }
    }

    /// Resolves and plans one statement, and does not run it. `types` are the numbers of the
    /// client's parameter types; 0, or a shorter list, means that the statement decides.
    ///
    /// # Errors
    /// Those that PostgreSQL reports for Parse, and `0A000` for SQL that namdb does not support. A
    /// transaction block has then failed.
    pub async fn prepare(&mut self, text: &str, types: &[u32]) -> Result<Prepared, SqlError> {
        let prepared = {
            let style = self.settings.style();
            self.cache.keep_style(&style);
            let _entered = enter(style);
            self.prepare_now(text, types)
        };
        self.noted(prepared)
    }

    fn prepare_now(&mut self, text: &str, types: &[u32]) -> Result<Prepared, SqlError> {
        refuse_full_names(text)?;
        let version = self.version();
        let has_failed = self.block.as_ref().is_some_and(|block| block.has_failed);
        if has_failed && !crate::command::ends_transaction(text) {
            return Err(failed_block());
        }
        if let Some(prepared) = self.cache.find(text, types, version.serial) {
            return Ok(prepared);
        }
        if types.is_empty()
            && let Some(prepared) = self.prepare_shape(text, &version)
        {
            return Ok(prepared);
        }
        let prepared = Prepared::new(text, types, &version, &self.identity)?;
        self.cache.keep(text, types, version.serial, &prepared);
        match &prepared.inner.command {
            Command::Execute { name, .. } => Ok(prepared.executing(self.find_named(name)?)),
            Command::Fetch { name, .. } => {
                if let Some(cursor) = self.routine_cursor(name) {
                    return Ok(prepared.fetching(cursor.fields()));
                }
                Ok(prepared.executing(&self.find_cursor(name)?.prepared))
            }
            _ => Ok(prepared),
        }
    }

    /// A statement that differs from earlier ones in constants only.
    fn prepare_shape(&mut self, text: &str, version: &Version) -> Option<Prepared> {
        if cache::needs_constants(text, &version.catalog) {
            return None;
        }
        let shape = cache::shape(text)?;
        let prepared = match self.cache.find(&shape.text, &shape.types, version.serial) {
            Some(prepared) => prepared,
            None => {
                let new = Prepared::new(&shape.text, &shape.types, version, &self.identity);
                let new = new.ok()?;
                if !matches!(new.inner.command, Command::Query | Command::Call) {
                    return None;
                }
                self.cache.keep(&shape.text, &shape.types, version.serial, &new);
                new
            }
        };
        let values = shape.values(prepared.all_parameters())?;
        Some(prepared.with_constants(values))
    }

    /// Runs a prepared statement to its end. Outside of a transaction block and of
    /// [`SqlSession::begin_implicit`] it is a transaction of its own, which is retried after
    /// conflicts.
    ///
    /// # Errors
    /// Those of the statement, and of the commit. A transaction block has then failed.
    pub async fn execute(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Outcome, SqlError> {
        let style = self.settings.style();
        let outcome = within(style, self.execute_now(prepared, parameters)).await;
        self.park_if_scarce().await;
        outcome
    }

    async fn execute_now(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Outcome, SqlError> {
        let has_failed = self.block.as_ref().is_some_and(|block| block.has_failed);
        let command = &prepared.inner.command;
        let ends = matches!(
            command,
            Command::Commit { .. } | Command::Rollback { .. } | Command::RollbackTo(_)
        );
        if has_failed && !ends {
            return Err(failed_block());
        }
        if parameters.len() != prepared.parameters().len() {
            let message = format!(
                "bind message supplies {} parameters, but prepared statement requires {}",
                parameters.len(),
                prepared.parameters().len()
            );
            let refused = Err(SqlError::new("08P01", message));
            return self.noted(refused);
        }
        if !(ends || leaves_role(command)) {
            let exists = self.require_role();
            self.noted(exists)?;
        }
        let placed = self.placed(prepared, parameters);
        let placed = self.noted(placed)?;
        let parameters = prepared.constants().unwrap_or(&placed);
        self.start_timers();
        if self.has_open() && !(keeps_open(command) || ends) {
            self.finish_open().await?;
        }
        let outcome = match command {
            Command::Query | Command::Call => self.run_query(prepared, parameters).await,
            Command::Advisory(call) => self.call_advisory(call, parameters),
            Command::Sleep(call) => self.sleep(call, parameters).await,
            _ if parking::rests(command) => Box::pin(self.run_command(prepared)).await,
            _ => Box::pin(self.wake_and_run(prepared)).await,
        };
        self.noted(outcome)
    }

    async fn wake_and_run(&mut self, prepared: &Prepared) -> Result<Outcome, SqlError> {
        self.wake().await?;
        self.run_command(prepared).await
    }

    /// Makes a transaction block fail if there is an error.
    fn noted<T>(&mut self, result: Result<T, SqlError>) -> Result<T, SqlError> {
        result.map_err(|mut error| {
            if let Some(key) = error.constraint.as_ref().filter(|_| error.table.is_none()) {
                error.table = self.table_of_key(key);
            }
            let error = self.without_values(error);
            let error = self.shown_error(error);
            self.fail();
            error
        })
    }

    /// The table of a unique key.
    fn table_of_key(&self, name: &str) -> Option<String> {
        let of_block = self.block.as_ref().and_then(|block| block.version.clone());
        let version = of_block.unwrap_or_else(|| self.database.version());
        let table = version.table_of_index(name)?;
        Some(version.catalog.tables[table].name.clone())
    }

    /// The server has refused something inside of a transaction block, such as a message of the
    /// client: the block has failed. Does nothing outside of one.
    pub fn fail(&mut self) {
        if let Some(mut block) = self.block.take() {
            block.has_failed = true;
            // Nobody needs them any more: the block goes on behind its last savepoint, if at all.
            let kept = block.savepoints.last().map(|savepoint| savepoint.locks);
            self.row_locks.release_to(kept.unwrap_or_default());
            let last = block.savepoints.len().checked_sub(1);
            self.release_locks_behind(&mut block, last);
            self.block = Some(block);
        }
    }

    /// Takes the messages that routines have raised.
    fn note_raised(&mut self) {
        let raised = self.runner.take_notices();
        self.notices.extend(raised.into_iter().map(Notice::from));
    }

    /// Takes the notices since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        let mut notices = std::mem::take(&mut self.notices);
        for notice in &mut notices {
            notice.message = self.shown_text(&notice.message);
            notice.detail = notice.detail.take().map(|detail| self.shown_text(&detail));
        }
        notices
    }

    pub(crate) fn notice(&mut self, severity: Severity, sqlstate: &str, message: String) {
        let sqlstate = sqlstate.to_owned();
        self.notices.push(Notice { severity, sqlstate, message, detail: None, hint: None });
    }

    /// Takes the settings whose changes a server reports to its client (`ParameterStatus`), with
    /// their new values.
    pub fn take_changed_settings(&mut self) -> Vec<(String, String)> {
        self.settings.take_changed()
    }

    /// The style in which the session's values are written, for [`enter`].
    pub fn style(&self) -> Option<Arc<Style>> {
        self.settings.style()
    }

    /// The value of a setting, as `SHOW` prints it; `None` if there is no such setting.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.settings.get(name).map(str::to_owned)
    }
}

impl<H: Host> Drop for SqlSession<H> {
    /// Rolls back. Where verbs take time, the lane goes home to its database; call
    /// [`SqlSession::close`] to return it to its host.
    fn drop(&mut self) {
        if <H::Env as Fabric>::IMMEDIATE {
            fabric::run_now(self.close());
        }
        self.row_locks.release_all(false);
        self.advisory.release_all(self.database.advisory_locks(), true);
        self.advisory.release_all(self.database.advisory_locks(), false);
        if let Some(mut block) = self.block.take() {
            block.locks.release(self.database.locks());
            if block.change.is_some() {
                self.database.end_change();
            }
        }
    }
}

/// Whether a command changes nothing, or decides itself whether open queries must end.
fn keeps_open(command: &Command) -> bool {
    matches!(
        command,
        Command::Empty
            | Command::Query
            | Command::Call
            | Command::Sleep(_)
            | Command::Execute { .. }
            | Command::Declare { .. }
            | Command::Fetch { .. }
            | Command::Close(_)
            | Command::Show(_)
            | Command::Set { .. }
            | Command::Prepare { .. }
            | Command::Deallocate(_)
    )
}

/// Whether a session whose role was dropped may run a command: it takes another role or needs none.
fn leaves_role(command: &Command) -> bool {
    matches!(
        command,
        Command::Empty
            | Command::Reset(None)
            | Command::DiscardAll
            | Command::SetRole { .. }
            | Command::SetSessionUser { .. }
    )
}

fn failed_block() -> SqlError {
    let message = "current transaction is aborted, commands ignored until end of transaction block";
    SqlError::new("25P02", message)
}

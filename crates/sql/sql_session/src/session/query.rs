//! Runs `SELECT`, `INSERT`, `UPDATE` and `DELETE`.

use super::divided::divides;
use super::{Block, Prepared, SqlSession};
use crate::catalog::Version;
use crate::error::{SqlError, abort_error, engine_error, unique_error};
use crate::host::{Committed, Host};
use crate::locks::HeldLocks;
use crate::outcome::{Notice, Outcome, RowSet};
use crate::planned::{Planned, PlannedAction};
use crate::waiting::Waiter;
use fabric::{Counts, Env, Fabric};
use interpreter::{Attempts, Cursors, Effects, Paused, Rows, StatementError};
use sql::expression::Expr;
use sql::query::Query;
use sql::{Call, CallForm, SqlType};
use sql_value::Value;
use std::sync::Arc;
use txn::{Abort, Isolation, Lane, OwnedTransaction, TxnError};

/// The end of an attempt at a transaction that has not committed.
pub(crate) enum Ended {
    /// A retry may succeed.
    Aborted(Abort, SqlError),
    Failed(SqlError),
    /// The statement must run again, see [`StatementError::Again`].
    Again,
}

impl Ended {
    /// Whether the transaction was too large for the engine.
    fn is_too_large(&self) -> bool {
        match self {
            Self::Aborted(_, error) | Self::Failed(error) => error.sqlstate == "54000",
            Self::Again => false,
        }
    }
}

impl From<SqlError> for Ended {
    fn from(error: SqlError) -> Self {
        Self::Failed(error)
    }
}

impl From<StatementError> for Ended {
    fn from(error: StatementError) -> Self {
        match &error {
            StatementError::Engine(inner) => match inner.abort() {
                Some(abort) => Self::Aborted(abort, engine_error(inner)),
                None => Self::Failed(error.into()),
            },
            StatementError::Sql(_) => Self::Failed(error.into()),
            StatementError::Again => Self::Again,
        }
    }
}

impl From<Ended> for SqlError {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Aborted(_, error) | Ended::Failed(error) => error,
            Ended::Again => StatementError::Again.into(),
        }
    }
}

impl<H: Host> SqlSession<H> {
    /// The version of the catalog that the next statement sees.
    pub(crate) fn version(&self) -> Arc<Version> {
        let pinned = self.block.as_ref().and_then(|block| block.version.clone());
        pinned.unwrap_or_else(|| self.database.version())
    }

    /// The version whose roles and grants count for statements of a block that sees `seen`: the
    /// committed one, or that of a block which changes the catalog, since nobody else changes it
    /// then.
    pub(super) fn granted_in(
        &self,
        block: Option<&Block<H::Env>>,
        seen: &Arc<Version>,
    ) -> Arc<Version> {
        let changes = block.is_some_and(|block| block.change.is_some());
        match changes || self.database.serial() == seen.serial {
            true => seen.clone(),
            false => self.database.version(),
        }
    }

    /// The version whose roles and grants count for the next statement.
    pub(crate) fn granted(&self) -> Arc<Version> {
        self.granted_in(self.block.as_ref(), &self.version())
    }

    pub(super) async fn run_query(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Outcome, SqlError> {
        let outcome = match self.block.take() {
            None => self.run_alone(prepared, parameters).await,
            Some(mut block) => {
                let ran = self.run_in_block(&mut block, prepared, parameters).await;
                self.block = Some(block);
                ran
            }
        };
        outcome.and_then(|outcome| self.with_labels(prepared, outcome))
    }

    /// Runs a statement as a transaction of its own, and retries it after conflicts.
    async fn run_alone(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Outcome, SqlError> {
        let ran = self.run_locking(prepared, parameters).await;
        self.row_locks.end_statement();
        self.row_locks.release_all(has_perhaps_committed(&ran));
        ran
    }

    /// As [`Self::run_alone`]; the locks of rows remain.
    async fn run_locking(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Outcome, SqlError> {
        let mut attempts: Option<Attempts> = None;
        let mut reruns = None;
        let notices = self.notices.len();
        self.row_locks.begin_runs();
        loop {
            let mut locks = HeldLocks::default();
            let ended = self.attempt(prepared, parameters, &mut locks).await;
            locks.release(self.database.locks());
            let (abort, error) = match ended {
                Ok(outcome) => return Ok(outcome),
                Err(ended) if ended.is_too_large() => {
                    let error = ended.into();
                    return Box::pin(self.insert_too_many(prepared, parameters, error)).await;
                }
                Err(Ended::Failed(error)) => return Err(error),
                Err(Ended::Again) => {
                    self.notices.truncate(notices);
                    self.wait_for_row(&mut reruns).await?;
                    continue;
                }
                Err(Ended::Aborted(abort, error)) => (abort, error),
            };
            let handle = self.database.host().handle();
            let attempts = attempts.get_or_insert_with(|| self.new_attempts());
            if !attempts.again(handle.env(), abort).await {
                return Err(error);
            }
            self.check()?;
            self.notices.truncate(notices);
        }
    }

    async fn attempt(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
        locks: &mut HeldLocks,
    ) -> Result<Outcome, Ended> {
        let planned = self.planned(prepared, parameters, locks)?;
        let version = self.current.clone();
        let writes = planned.writes(&version);
        if self.settings.is_read_only() && writes {
            return Err(read_only(&planned).into());
        }
        let isolation = self.settings.isolation().of_engine();
        if writes {
            // It can run again on a newer snapshot at every level.
            self.row_locks.begin_statement(true, None);
        }
        let mut transaction = self.begin_engine(isolation).await?;
        let only_looks = !writes && isolation == Isolation::Snapshot;
        let batch = match only_looks && !has_cursors(&planned, &version) {
            true => self.batch,
            false => usize::MAX,
        };
        self.sequences.set_version(&version, &version);
        self.sequences.set_read_only(self.settings.is_read_only());
        self.runner.replace_cursors(Cursors::default());
        let running = (parameters, only_looks, batch);
        self.runner.set_may_roll_back(true);
        let ran = self.run_planned(&mut transaction, &version, &planned, running).await;
        self.runner.set_may_roll_back(false);
        self.runner.replace_cursors(Cursors::default());
        self.row_locks.end_statement();
        match ran {
            Ok((_, Some(paused))) => {
                let of = (&planned, &*version);
                Ok(self.keep_open(of, prepared, paused, Some(transaction)))
            }
            Ok((count, None)) => {
                self.commit_engine(transaction).await?;
                Ok(self.outcome(&planned, prepared, count))
            }
            Err(ended) => {
                let lane = transaction.abort_and_rest().await;
                self.database.host().give_back_lane(lane);
                Err(ended)
            }
        }
    }

    /// Sees the committed catalog as it is now.
    fn see_current(&mut self) {
        if self.current.serial != self.database.serial() {
            self.current = Arc::new(self.database.version());
        }
    }

    /// The plan for the committed catalog, with shares in the tables whose storage it needs.
    fn planned(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
        locks: &mut HeldLocks,
    ) -> Result<Arc<Planned>, SqlError> {
        loop {
            self.see_current();
            let version = &**self.current;
            let versions = (version, version);
            let planned = prepared.plan_for(versions, &self.identity, parameters)?;
            for table in planned.shared(version) {
                locks.share(self.database.locks(), version.definition_of(table).id, self)?;
            }
            // The catalog may have changed while this session waited for a table.
            if self.database.serial() == version.serial {
                return Ok(planned);
            }
            locks.release(self.database.locks());
        }
    }

    pub(super) async fn begin_engine(
        &mut self,
        isolation: Isolation,
    ) -> Result<OwnedTransaction<H::Env>, Ended> {
        let lane = self.database.host().borrow_lane(&|| self.check().is_err());
        let lane = match lane {
            Ok(lane) => lane,
            Err(error) => {
                self.check()?;
                return Err(error.into());
            }
        };
        match lane.begin_owned(isolation).await {
            Ok(mut transaction) => {
                self.runner.begin(transaction.statement().env());
                Ok(transaction)
            }
            Err((lane, abort)) => {
                self.database.host().give_back_lane(lane);
                Err(Ended::Aborted(abort, abort_error(abort)))
            }
        }
    }

    pub(super) async fn commit_engine(
        &mut self,
        transaction: OwnedTransaction<H::Env>,
    ) -> Result<(), Ended> {
        let is_synchronous = self.settings.is_synchronous();
        let host = self.database.host();
        let committed = host.commit(transaction, is_synchronous).await;
        ended(host, committed)
    }

    /// Runs a statement of a block. After a conflict, the statements before it are repeated first,
    /// if the isolation level allows that.
    pub(super) async fn run_in_block(
        &mut self,
        block: &mut Block<H::Env>,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Outcome, SqlError> {
        let mut attempts: Option<Attempts> = None;
        let notices = self.notices.len();
        loop {
            let writes = block.writes;
            let (abort, error) = match self.step(block, prepared, parameters).await {
                Ok(outcome) => {
                    if !block.log.has_settled_since(writes) {
                        block.log.add(prepared, parameters, &outcome);
                    }
                    return Ok(outcome);
                }
                Err(Ended::Aborted(abort, error)) => (abort, error),
                Err(ended) => return Err(ended.into()),
            };
            block.is_doomed = true;
            let attempts = attempts.get_or_insert_with(|| self.new_attempts());
            let env = self.database.host().handle().env().clone();
            if !self.hides_conflicts(block) || !attempts.again(&env, abort).await {
                return Err(error);
            }
            self.check()?;
            self.notices.truncate(notices);
            self.repeat(block, attempts).await?;
        }
    }

    /// Runs a statement of a block, once more for each row that it has waited for.
    pub(super) async fn step(
        &mut self,
        block: &mut Block<H::Env>,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Outcome, Ended> {
        let (notices, mut reruns) = (self.notices.len(), None);
        self.row_locks.begin_runs();
        loop {
            let ran = self.step_once(block, prepared, parameters).await;
            self.row_locks.end_statement();
            if !matches!(ran, Err(Ended::Again)) {
                return ran;
            }
            self.notices.truncate(notices);
            self.wait_in_block(block, &mut reruns).await?;
        }
    }

    /// Runs a statement of a block once.
    async fn step_once(
        &mut self,
        block: &mut Block<H::Env>,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Outcome, Ended> {
        block.see_current_catalog(&self.database);
        let (version, planned) = self.planned_in_block(block, prepared, parameters)?;
        let writes = planned.writes(&version);
        if block.is_read_only && writes {
            return Err(read_only(&planned).into());
        }
        if writes {
            self.row_locks.begin_statement(block.renews(), block.snapshot_time);
        }
        self.renew_in_block(block).await?;
        if self.has_open() && writes {
            self.finish_queries(block).await?;
        }
        self.start_in_block(block).await?;
        if let Some(insert) = divides(block, &version, &planned) {
            let ran = Box::pin(self.insert_divided(block, &version, insert, parameters));
            let count = ran.await?;
            return Ok(self.outcome(&planned, prepared, count));
        }
        let only_looks =
            !writes && !block.has_written && block.engine_isolation == Isolation::Snapshot;
        let before = writes.then(|| block.before_change(&mut self.runner)).flatten();
        let transaction = block.engine.as_mut().expect("it was started");
        block.has_written |= writes;
        if writes {
            let created = block.change.as_ref().map(|change| &change.created[..]);
            let is_own = created.is_some_and(|created| planned.only_changes(&version, created));
            block.has_written_shared |= !is_own;
            block.writes += 1;
        }
        let is_whole = !only_looks || block.log.is_repeated() || has_cursors(&planned, &version);
        let batch = if is_whole { usize::MAX } else { self.batch };
        let running = (parameters, only_looks, batch);
        self.sequences.set_read_only(block.is_read_only);
        self.runner.replace_cursors(block.routine_cursors.clone());
        let ran = self.run_planned(transaction, &version, &planned, running).await;
        let cursors = self.runner.replace_cursors(Cursors::default());
        if ran.is_ok() {
            block.keep_cursors(cursors);
        }
        match (&ran, before) {
            (Err(Ended::Again), Some(before)) => block.undo_change(before)?,
            (Ok(_), Some(before)) => block.keep_change(&before),
            _ => {}
        }
        Ok(match ran? {
            (_, Some(paused)) => self.keep_open((&planned, &version), prepared, paused, None),
            (count, None) => self.outcome(&planned, prepared, count),
        })
    }

    /// Whether the committed catalog has other storage for one of the tables of a version.
    fn have_moved(&self, version: &Version, mut tables: impl Iterator<Item = usize>) -> bool {
        let current = self.database.version();
        tables.any(|table| {
            let own = version.definition_of(table);
            let now = current.definitions.iter().find(|other| other.id == own.id);
            now.is_none_or(|now| now.physical != own.physical)
        })
    }

    /// The plan for the catalog that the block sees, with shares in the tables whose storage it
    /// needs.
    fn planned_in_block(
        &self,
        block: &mut Block<H::Env>,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<(Arc<Version>, Arc<Planned>), SqlError> {
        loop {
            let version = block.version.get_or_insert_with(|| self.database.version()).clone();
            let granted = self.granted_in(Some(block), &version);
            let versions = (&*version, &*granted);
            let planned = prepared.plan_for(versions, &self.identity, parameters)?;
            for table in planned.shared(&version) {
                block.locks.share(self.database.locks(), version.definition_of(table).id, self)?;
            }
            let has_moved = block.change.is_none()
                && self.database.serial() != version.serial
                && self.have_moved(&version, planned.shared(&version));
            if !has_moved {
                self.sequences.set_version(&version, &granted);
                return Ok((version, planned));
            }
            if block.has_begun && !block.forget_catalog() {
                let message = "could not serialize access due to a concurrent change of the table";
                return Err(SqlError::new("40001", message));
            }
            block.version = None;
        }
    }

    /// Starts the engine's transaction of a block, if it is not running yet.
    pub(super) async fn start_in_block(&mut self, block: &mut Block<H::Env>) -> Result<(), Ended> {
        self.resume_in_block(block).await?;
        if block.engine.is_none() {
            block.began_at = self.database.locks().time();
            block.snapshot_time = Some(self.row_locks.time());
            block.engine = Some(self.begin_engine(block.engine_isolation).await?);
            block.engine_number += 1;
            block.is_doomed = false;
            block.set_early_savepoints();
            // All statements of a transaction see the time of its first one.
            match block.began_us {
                Some(began_us) => self.runner.begin_at(began_us),
                None => block.began_us = Some(self.runner.began_us()),
            }
            block.has_begun = true;
        }
        Ok(())
    }

    /// Rolls the engine's transaction of a block back, and returns its lane.
    pub(super) async fn stop_in_block(&mut self, block: &mut Block<H::Env>) {
        block.parked = None;
        if let Some(transaction) = block.engine.take() {
            let lane = transaction.abort_and_rest().await;
            self.database.host().give_back_lane(lane);
        }
    }

    /// Runs a statement in a transaction; its rows are then in `rows`. Returns their number, or
    /// that of the changed ones. A query may pause after about `batch` rows.
    async fn run_planned(
        &mut self,
        transaction: &mut OwnedTransaction<H::Env>,
        version: &Arc<Version>,
        planned: &Planned,
        (parameters, only_looks, batch): (&[Value], bool, usize),
    ) -> Result<(u64, Option<Paused>), Ended> {
        let routine = planned.routine(version).map(|one| &one.compiled);
        let effects = planned.effects(version);
        self.has_handlers = effects.is_some_and(Effects::has_handlers);
        if let Some(effects) = effects {
            self.hide_rows(version, effects);
            self.begin_calls(version, effects);
        }
        let mut transaction = transaction.statement();
        let (runner, rows, tables) = (&mut self.runner, &mut self.rows, &version.tables);
        let env = transaction.env().clone();
        let before = self.measured.map(|_| (env.now_ns(), env.counters().counts()));
        let given: &[Expr] = match &planned.action {
            PlannedAction::Query(query) => {
                let statement = &query.statement;
                let given = (parameters, only_looks);
                let ran =
                    runner.start(&mut transaction, tables, statement, given, batch, rows).await;
                let raised = runner.take_notices();
                self.notices.extend(raised.into_iter().map(Notice::from));
                let ran = ran?;
                let count = runner.processed();
                self.note_measured(&env, before, count);
                return Ok((count, ran));
            }
            PlannedAction::Call(call) => &call.arguments,
            PlannedAction::Block(_) | PlannedAction::Changes(_) => &[],
        };
        let Some(routine) = routine else { return Err(SqlError::internal("no routine").into()) };
        let routine = routine.as_ref().map_err(Clone::clone)?;
        let arguments = match &planned.action {
            PlannedAction::Changes(_) => Ok(parameters.to_vec()),
            _ => runner.evaluate(transaction.env(), given, parameters),
        };
        let arguments = arguments.map_err(|error| SqlError::from(*error))?;
        let called = runner.call(&mut transaction, tables, routine, &arguments, rows).await;
        self.note_raised();
        called?;
        let count = match &planned.action {
            PlannedAction::Changes(_) => self.runner.processed(),
            _ => self.rows.len() as u64,
        };
        self.note_measured(&env, before, count);
        Ok((count, None))
    }

    /// Notes what a statement took that has run, and its rows, for `EXPLAIN ANALYZE`.
    fn note_measured(&mut self, env: &H::Env, before: Option<(u64, Counts)>, rows: u64) {
        if let (Some(measured), Some((start_ns, counts))) = (&mut self.measured, before) {
            measured.run_ns = env.now_ns() - start_ns;
            measured.counts = env.counters().counts() - counts;
            measured.rows = rows;
        }
    }

    /// The result of a statement that has run.
    fn outcome(&mut self, planned: &Planned, prepared: &Prepared, count: u64) -> Outcome {
        let tag = match &planned.action {
            PlannedAction::Call(call) if call.form == CallForm::Call => "CALL".to_owned(),
            PlannedAction::Call(call) if is_void(call, prepared) => {
                let mut rows = RowSet::new(1);
                rows.push([Value::text("")]);
                return Outcome::Rows { rows, tag: "SELECT 1".to_owned() };
            }
            PlannedAction::Call(_) => format!("SELECT {count}"),
            PlannedAction::Block(_) => "DO".to_owned(),
            PlannedAction::Query(query) => tag_of(&query.query, count),
            PlannedAction::Changes(changes) => tag_of(&changes.query, count),
        };
        match prepared.columns() {
            Some(columns) => Outcome::Rows { rows: taken(&mut self.rows, columns.len()), tag },
            None => Outcome::Done { tag },
        }
    }
}

fn tag_of(query: &Query, count: u64) -> String {
    match query {
        Query::Select(_) => format!("SELECT {count}"),
        Query::Insert(_) => format!("INSERT 0 {count}"),
        Query::Update(_) => format!("UPDATE {count}"),
        Query::Delete(_) => format!("DELETE {count}"),
    }
}

/// The end of a transaction that was to commit; its lane is returned.
pub(crate) fn ended<H: Host>(host: &H, committed: Committed<H::Env>) -> Result<(), Ended> {
    let ended = match committed.outcome {
        Ok(txn::Outcome::Committed) => Ok(()),
        Ok(txn::Outcome::Aborted(abort)) => {
            let lane = committed.lane.as_ref();
            Err(Ended::Aborted(abort, aborted(lane, abort)))
        }
        Ok(txn::Outcome::Unknown) => {
            let message = "it is unknown whether the transaction has committed";
            Err(Ended::Failed(SqlError::new("40003", message)))
        }
        Err(error) => Err(Ended::Failed(error)),
    };
    if let Some(lane) = committed.lane {
        host.give_back_lane(lane);
    }
    ended
}

/// Whether a transaction that has ended so has committed, or may have.
pub(super) fn has_perhaps_committed<T>(ended: &Result<T, SqlError>) -> bool {
    ended.as_ref().err().is_none_or(|error| matches!(&*error.sqlstate, "40003" | "58030"))
}

/// The rows of a statement.
pub(super) fn taken(rows: &mut Rows, width: usize) -> RowSet {
    let mut set = RowSet::new(width);
    for row in rows.iter() {
        // A plan leaves out columns at the end that it knows to be null.
        let missing = std::iter::repeat_n(Value::Null, width - row.len());
        set.push(row.iter().cloned().chain(missing));
    }
    set
}

fn aborted<E: Env>(lane: Option<&Lane<E>>, abort: Abort) -> SqlError {
    let violation = lane.and_then(Lane::last_unique_violation);
    match violation.filter(|_| abort == Abort::UniqueViolation) {
        Some(violation) => unique_error(violation),
        None => engine_error(&TxnError::Abort(abort)),
    }
}

/// Whether routines use cursors, which a query must not find changed when it goes on after a pause.
fn has_cursors(planned: &Planned, version: &Version) -> bool {
    planned.effects(version).is_some_and(Effects::has_cursors)
}

/// Whether a function in a query returns nothing: its value is then empty.
fn is_void(call: &Call, prepared: &Prepared) -> bool {
    let columns = prepared.columns().unwrap_or_default();
    call.form != CallForm::Call && columns.first().is_some_and(|one| one.sql_type == SqlType::Void)
}

fn read_only(planned: &Planned) -> SqlError {
    let command = match &planned.action {
        PlannedAction::Call(_) => "CALL",
        PlannedAction::Block(_) => "DO",
        PlannedAction::Query(query) => command_of(&query.query, "SELECT FOR UPDATE"),
        PlannedAction::Changes(changes) => command_of(&changes.query, "SELECT"),
    };
    let message = format!("cannot execute {command} in a read-only transaction");
    SqlError::new("25006", message)
}

/// The command of a statement that changes or locks rows.
fn command_of(query: &Query, select: &'static str) -> &'static str {
    match query {
        Query::Select(_) => select,
        Query::Insert(_) => "INSERT",
        Query::Update(_) => "UPDATE",
        Query::Delete(_) => "DELETE",
    }
}

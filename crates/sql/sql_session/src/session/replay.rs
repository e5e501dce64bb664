//! Repeats the statements of a transaction after a conflict; savepoints.
//!
//! The engine aborts the whole of a transaction after a conflict. A session therefore remembers the
//! statements of a block with a digest of their results. To repeat them, it runs them in a new
//! transaction of the engine, on a newer snapshot. If every statement has the same result as
//! before, the client cannot tell the difference: the transaction is one that began later.
//! Otherwise it fails with 40001.
//!
//! `ROLLBACK TO SAVEPOINT` undoes changes in the engine's transaction. If a conflict has ended
//! that, the statements before the savepoint are repeated.
//!
//! Decisions:
//! - docs/decisions/0326-a-session-repeats-its-statements.md
//! - docs/decisions/0319-a-savepoint-keeps-the-rows-before-their-changes.md

use super::open::OpenQuery;
use super::query::Ended;
use super::settings::SavedSettings;
use super::transaction::done;
use super::{Block, Prepared, SqlSession};
use crate::catalog::Version;
use crate::error::SqlError;
use crate::host::Host;
use crate::locks::TableMark;
use crate::outcome::Outcome;
use crate::row_locks::LockMark;
use crate::waiting::Waiter;
use interpreter::{Attempts, Retries};
use sql_value::Value;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use txn::Isolation;

/// Maximum number of statements that a block remembers.
const STATEMENTS_MAX: usize = 1_000;
/// Maximum number of parameters that a block remembers.
const PARAMETERS_MAX: usize = 100_000;
/// No repetition starts later than 30 s after the last immediate one has failed. Their number has
/// no bound: one that meets the latch of a process without a processor fails at once, however
/// often.
pub(crate) const RETRIES: Retries =
    Retries { count_max: u32::MAX, within_ns: None, patience_ns: 30_000_000_000 };

/// The statements of a block.
#[derive(Default)]
pub(crate) struct Log {
    statements: Vec<Logged>,
    parameters: usize,
    /// Whether a statement was too much, or cannot be repeated.
    is_lost: bool,
    /// Number of statements that were to change rows before the first one here. Their rows stay,
    /// see [`Block::begin_anew`].
    settled_writes: u64,
    /// Whether the statements are being repeated.
    is_repeated: bool,
}

struct Logged {
    prepared: Prepared,
    parameters: Vec<Value>,
    /// A digest of its result.
    digest: u64,
    /// The query, as long as its rows are not all known.
    open: Option<OpenQuery>,
}

/// A savepoint.
pub(crate) struct Savepoint {
    name: String,
    /// Number of the block's statements before it.
    statements: usize,
    /// Number of those that changed rows.
    writes: u64,
    /// The version of the catalog, if the transaction has changed it before.
    version: Option<Arc<Version>>,
    /// Whether the statements before it cannot be repeated.
    is_lost: bool,
    settings: SavedSettings,
    /// The locks that precede it: of rows, of tables, and advisory ones of the transaction.
    pub(super) locks: LockMark,
    pub(super) table_locks: TableMark,
    pub(super) advisory: usize,
    /// Number of cursors that routines had opened.
    cursors: u64,
    /// The state of the engine's transaction, if one was running.
    engine: Option<EngineState>,
}

/// The state of the engine's transaction at a savepoint.
#[derive(Clone, Copy)]
struct EngineState {
    /// [`Block::engine_number`].
    number: u64,
    savepoint: txn::Savepoint,
    has_written: bool,
    has_written_shared: bool,
}

impl Log {
    pub fn add(&mut self, prepared: &Prepared, parameters: &[Value], outcome: &Outcome) {
        self.parameters += parameters.len();
        if self.statements.len() == STATEMENTS_MAX || self.parameters > PARAMETERS_MAX {
            self.lose();
        }
        if !self.is_lost {
            let (prepared, parameters) = (prepared.clone(), parameters.to_vec());
            let open = if let Outcome::Part { open, .. } = outcome { Some(*open) } else { None };
            self.statements.push(Logged { prepared, parameters, digest: digest(outcome), open });
        }
    }

    /// A query has ended, with this digest of all its rows.
    pub fn finish(&mut self, query: OpenQuery, digest: u64) {
        if let Some(logged) = self.statements.iter_mut().find(|one| one.open == Some(query)) {
            (logged.digest, logged.open) = (digest, None);
        }
    }

    /// Whether the block cannot be repeated. Its statements up to an earlier savepoint may be.
    pub fn is_lost(&self) -> bool {
        self.is_lost || self.statements.iter().any(|logged| logged.open.is_some())
    }

    /// Whether the rows of a statement stay, with this number of statements that were to change
    /// rows before it.
    pub fn has_settled_since(&self, writes: u64) -> bool {
        self.settled_writes > writes
    }

    /// Whether the statements of the block are being repeated: what they change must stay in the
    /// transaction, which may be repeated once more.
    pub fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    /// A statement cannot be repeated.
    pub fn lose(&mut self) {
        self.is_lost = true;
    }

    /// Later statements are resolved in another way: those before them cannot be repeated.
    pub fn lose_earlier(&mut self) {
        self.is_lost |= !self.statements.is_empty() || self.settled_writes > 0;
    }
}

/// A digest of a statement's result.
fn digest(outcome: &Outcome) -> u64 {
    let mut hasher = DefaultHasher::new();
    match outcome {
        // The tag of a query has the number of its rows.
        Outcome::Rows { rows, .. } => super::open::hash_rows(rows, &mut hasher),
        Outcome::Done { tag } => tag.hash(&mut hasher),
        _ => {}
    }
    hasher.finish()
}

impl<E: fabric::Env> Block<E> {
    /// Repeats of the block begin here: its transaction of the engine has ended, and has changed no
    /// rows, or rows that stay.
    pub fn begin_anew(&mut self) {
        self.log = Log { settled_writes: self.writes, ..Log::default() };
        for savepoint in &mut self.savepoints {
            (savepoint.statements, savepoint.is_lost) = (0, false);
        }
    }

    /// The state of the engine's transaction, if it runs.
    fn engine_state(&mut self) -> Option<EngineState> {
        let engine = self.engine.as_mut().filter(|_| !self.is_doomed)?;
        Some(EngineState {
            number: self.engine_number,
            savepoint: engine.statement().savepoint(),
            has_written: self.has_written,
            has_written_shared: self.has_written_shared,
        })
    }

    /// Undoes what the engine's transaction has changed since `state`. False if it has ended.
    fn return_to(&mut self, state: Option<EngineState>) -> bool {
        let Some(state) = state.filter(|state| state.number == self.engine_number) else {
            return false;
        };
        let Some(engine) = self.engine.as_mut().filter(|_| !self.is_doomed) else { return false };
        if engine.statement().roll_back_to(&state.savepoint).is_err() {
            return false;
        }
        self.has_written = state.has_written;
        self.has_written_shared = state.has_written_shared;
        true
    }

    /// The engine's transaction has begun: sets the savepoints in it that precede all changes.
    pub fn set_early_savepoints(&mut self) {
        if self.log.is_repeated {
            return;
        }
        for at in 0..self.savepoints.len() {
            if self.savepoints[at].engine.is_none_or(|state| !state.has_written) {
                self.savepoints[at].engine = self.engine_state();
            }
        }
    }

    /// Sets the savepoints again that follow this number of repeated statements, which have these
    /// locks.
    fn set_savepoints_again(&mut self, statements: usize, locks: LockMark) {
        for at in 0..self.savepoints.len() {
            if self.savepoints[at].statements == statements {
                self.savepoints[at].locks = locks;
                self.savepoints[at].table_locks = self.locks.mark();
                self.savepoints[at].engine = self.engine_state();
            }
        }
    }

    /// The error of a statement. A conflict ends the engine's transaction.
    pub fn failed_by(&mut self, ended: Ended) -> SqlError {
        self.is_doomed |= matches!(ended, Ended::Aborted(..));
        ended.into()
    }

    /// Whether `ROLLBACK TO SAVEPOINT` may undo changes of the engine's transaction.
    pub fn has_undoable_changes(&self) -> bool {
        let is_before = |savepoint: &Savepoint| savepoint.writes < self.writes;
        self.has_written && self.savepoints.iter().any(is_before)
    }
}

impl<H: Host> SqlSession<H> {
    /// Whether a conflict of a block may be hidden from its client.
    pub(super) fn hides_conflicts(&self, block: &Block<H::Env>) -> bool {
        block.isolation.hides_conflicts() && !block.log.is_lost() && block.change.is_none()
    }

    /// Repeats the statements of a block in a new transaction of the engine, until they have run.
    ///
    /// # Errors
    /// A statement has another result than before, or conflicts do not end.
    pub(super) async fn repeat(
        &mut self,
        block: &mut Block<H::Env>,
        attempts: &mut Attempts,
    ) -> Result<(), SqlError> {
        let log = std::mem::take(&mut block.log);
        block.log.is_repeated = true;
        let notices = self.notices.len();
        let repeated = loop {
            match self.repeat_once(block, &log).await {
                Ok(()) => break Ok(()),
                Err(ended @ (Ended::Failed(_) | Ended::Again)) => break Err(ended.into()),
                Err(Ended::Aborted(abort, error)) => {
                    let handle = self.database.host().handle();
                    if !attempts.again(handle.env(), abort).await {
                        break Err(error);
                    }
                    if let Err(ended) = self.check() {
                        break Err(ended);
                    }
                }
            }
        };
        self.notices.truncate(notices);
        block.log = log;
        repeated
    }

    /// Repeats the statements of a block in a serializable transaction of the engine.
    pub(super) async fn repeat_serializable(
        &mut self,
        block: &mut Block<H::Env>,
    ) -> Result<(), SqlError> {
        block.engine_isolation = Isolation::Serializable;
        let mut attempts = self.new_attempts();
        self.repeat(block, &mut attempts).await
    }

    async fn repeat_once(&mut self, block: &mut Block<H::Env>, log: &Log) -> Result<(), Ended> {
        self.stop_in_block(block).await;
        (block.has_written, block.has_written_shared) = (false, false);
        block.writes = log.settled_writes;
        block.set_savepoints_again(0, self.row_locks.mark());
        for (before, logged) in log.statements.iter().enumerate() {
            let outcome = self.step(block, &logged.prepared, &logged.parameters).await?;
            if digest(&outcome) != logged.digest {
                let message = "could not serialize access due to concurrent update";
                let detail = "A statement of the transaction would have another result now.";
                return Err(Ended::Failed(SqlError::new("40001", message).detail(detail)));
            }
            block.set_savepoints_again(before + 1, self.row_locks.mark());
        }
        Ok(())
    }

    pub(super) fn new_attempts(&self) -> Attempts {
        Attempts::new(self.database.host().handle().env(), RETRIES)
    }

    pub(super) fn savepoint(&mut self, name: &str) -> Result<Outcome, SqlError> {
        self.require_block("SAVEPOINT")?;
        if let Some(block) = &mut self.block {
            let engine = block.engine_state();
            block.savepoints.push(Savepoint {
                engine,
                name: name.to_owned(),
                statements: block.log.statements.len(),
                writes: block.writes,
                version: block.change.as_ref().and(block.version.clone()),
                is_lost: block.log.is_lost(),
                locks: self.row_locks.mark(),
                table_locks: block.locks.mark(),
                advisory: self.advisory.count_of_transaction(),
                cursors: block.routine_cursors.opened(),
                settings: self.settings.save(),
            });
        }
        Ok(done("SAVEPOINT"))
    }

    pub(super) fn release_savepoint(&mut self, name: &str) -> Result<Outcome, SqlError> {
        self.require_block("RELEASE SAVEPOINT")?;
        if let Some(block) = &mut self.block {
            let at = position(block, name)?;
            let state = block.savepoints[at].engine;
            if let Some(state) = state.filter(|state| state.number == block.engine_number)
                && let Some(engine) = block.engine.as_mut().filter(|_| !block.is_doomed)
            {
                engine.statement().release(&state.savepoint);
            }
            block.savepoints.truncate(at);
        }
        Ok(done("RELEASE"))
    }

    pub(super) async fn roll_back_to(&mut self, name: &str) -> Result<Outcome, SqlError> {
        self.require_block("ROLLBACK TO SAVEPOINT")?;
        let Some(mut block) = self.block.take() else { return Ok(done("ROLLBACK")) };
        let ended = self.undo_to(&mut block, name).await;
        block.has_failed = ended.is_err();
        self.block = Some(block);
        ended.map(|()| done("ROLLBACK"))
    }

    async fn undo_to(&mut self, block: &mut Block<H::Env>, name: &str) -> Result<(), SqlError> {
        let at = position(block, name)?;
        block.savepoints.truncate(at + 1);
        block.routine_cursors.close_behind(block.savepoints[at].cursors);
        self.row_locks.release_to(block.savepoints[at].locks);
        // The statements before it have run with its settings and roles.
        self.settings.restore(&block.savepoints[at].settings);
        self.follow_settings(false);
        let Savepoint { statements, writes, is_lost, engine, .. } = block.savepoints[at];
        let is_changed = block.writes != writes || block.is_doomed;
        if is_changed && let Err(ended) = self.resume_in_block(block).await {
            // Then the statements before the savepoint are repeated.
            block.failed_by(ended);
        }
        let has_settled = block.log.has_settled_since(writes);
        let must_repeat = is_changed && (has_settled || !block.return_to(engine));
        self.release_locks_behind(block, Some(at));
        if has_settled || is_lost && must_repeat {
            let message =
                "this transaction is too long, or has changed too much, for ROLLBACK TO SAVEPOINT";
            return Err(SqlError::unsupported(message).hint("Roll the whole transaction back."));
        }
        if let Some(change) = &block.change {
            // Storage of the versions behind it is dropped at the end of the transaction.
            let version = block.savepoints[at].version.as_ref();
            block.version = Some(version.unwrap_or(&change.before).clone());
        }
        block.log.statements.truncate(statements);
        block.log.is_lost = is_lost;
        block.writes = writes;
        if !must_repeat {
            return Ok(());
        }
        let mut attempts = self.new_attempts();
        self.repeat(block, &mut attempts).await
    }
}

impl<H: Host> SqlSession<H> {
    /// Releases the table locks and advisory locks of the transaction that came after a savepoint,
    /// or all of them: what was changed since is undone, or will be. Those of tables stay while the
    /// catalog is changed: they guard its storage.
    pub(super) fn release_locks_behind(
        &mut self,
        block: &mut Block<H::Env>,
        savepoint: Option<usize>,
    ) {
        let savepoint = savepoint.map(|at| &block.savepoints[at]);
        let tables = savepoint.map_or_else(TableMark::default, |one| one.table_locks);
        let advisory = savepoint.map_or(0, |one| one.advisory);
        if block.change.is_none() {
            block.locks.release_to(self.database.locks(), tables);
        }
        self.advisory.release_behind(self.database.advisory_locks(), advisory);
    }
}

fn position<E: fabric::Env>(block: &Block<E>, name: &str) -> Result<usize, SqlError> {
    let found = block.savepoints.iter().rposition(|savepoint| savepoint.name == name);
    found.ok_or_else(|| SqlError::new("3B001", format!("savepoint \"{name}\" does not exist")))
}

#[cfg(test)]
mod tests {
    use super::RETRIES;
    use crate::{Host, LocalHost};
    use fabric::run_now;
    use interpreter::Attempts;
    use txn::Abort;
    use txn::local::{OpenConfig, open};

    /// A latch is held for a tenth of a second and more if its holder does not run.
    #[test]
    fn attempts_that_fail_at_once_do_not_use_the_patience_up() {
        let host = LocalHost::new(open(&OpenConfig::default()).expect("the memory is there"));
        let database = host.handle();
        let mut attempts = Attempts::new(database.env(), RETRIES);
        let failures =
            (0..500).filter(|_| run_now(attempts.again(database.env(), Abort::InsertConflict)));
        assert_eq!(failures.count(), 500);
    }
}

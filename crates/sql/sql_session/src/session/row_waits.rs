//! Statements that wait for the locks of rows, and the snapshots of statements at READ COMMITTED.
//!
//! A statement takes the locks of all rows that it will change before it changes the first one. If
//! somebody else holds one, its request is in the row's queue, and the statement ends: what it has
//! changed is undone, and its locks stay. The session waits, for a while with its lane, then
//! without. Then the statement runs again: at READ COMMITTED on a newer snapshot, so that its
//! conditions hold for the newest version of each row. At the other levels it fails if the row has
//! changed since the snapshot.
//!
//! Decision: docs/decisions/0361-rows-are-locked-before-they-are-changed.md

use super::query::Ended;
use super::{Block, SqlSession};
use crate::database::SqlDatabase;
use crate::error::{SqlError, abort_error};
use crate::host::Host;
use crate::row_locks::{RowKey, Waited};
use crate::waiting::Waiter;
use interpreter::{Attempts, Runner, StatementError};
use std::time::Duration;
use txn::{Abort, Savepoint};

/// How long a transaction keeps its lane while it waits, if there are enough of them. Most waits
/// are for a short transaction, and parking takes as long as a short statement.
const LANE_KEPT: Duration = Duration::from_millis(2);
/// A block holds this much, or twice what it needs, before it frees memory.
const SPARE_BYTES: usize = 1 << 20;
/// The longest part of a wait.
const PART: Duration = Duration::from_secs(1);

/// The state of a block before a statement that changes rows.
pub(super) struct BeforeChange {
    savepoint: Savepoint,
    has_written: bool,
    has_written_shared: bool,
    writes: u64,
}

impl<E: fabric::Env> Block<E> {
    /// The state before a statement; `None` without a running transaction. No query is open.
    pub(super) fn before_change(&mut self, runner: &mut Runner) -> Option<BeforeChange> {
        let engine = self.engine.as_mut()?;
        if engine.statement().compact(SPARE_BYTES) {
            runner.note_new_snapshot();
        }
        Some(BeforeChange {
            savepoint: engine.statement().savepoint(),
            has_written: self.has_written,
            has_written_shared: self.has_written_shared,
            writes: self.writes,
        })
    }

    /// Undoes what a statement has changed.
    pub(super) fn undo_change(&mut self, before: BeforeChange) -> Result<(), Ended> {
        if let Some(engine) = &mut self.engine {
            let undone = engine.statement().roll_back_to(&before.savepoint);
            undone.map_err(|abort| Ended::Aborted(abort, abort_error(abort)))?;
            engine.statement().release(&before.savepoint);
        }
        self.has_written = before.has_written;
        self.has_written_shared = before.has_written_shared;
        self.writes = before.writes;
        Ok(())
    }

    /// Keeps what a statement has changed.
    pub(super) fn keep_change(&mut self, before: &BeforeChange) {
        if let Some(engine) = &mut self.engine {
            engine.statement().release(&before.savepoint);
        }
    }

    /// Lets the next statement see the committed catalog as it is now, if it has a snapshot of its
    /// own and the block has changed nothing.
    pub(super) fn see_current_catalog<H: Host<Env = E>>(&mut self, database: &SqlDatabase<H>) {
        if self.version.as_ref().is_some_and(|seen| seen.serial != database.serial()) {
            self.forget_catalog();
        }
    }

    /// Lets the running statement see a newer catalog; false if the block must keep its own.
    pub(super) fn forget_catalog(&mut self) -> bool {
        let is_free = self.renews() && !self.has_written && self.change.is_none();
        if is_free {
            self.version = None;
            self.wants_new_engine = true;
        }
        is_free
    }
}

impl<H: Host> SqlSession<H> {
    /// Gives the next statement of a block a newer snapshot, if its level wants that.
    pub(super) async fn renew_in_block(&mut self, block: &mut Block<H::Env>) -> Result<(), Ended> {
        let wants_new_engine = std::mem::take(&mut block.wants_new_engine);
        let has_engine = block.engine.is_some() || block.parked.is_some();
        if !has_engine || !block.renews() || block.is_doomed {
            return Ok(());
        }
        if self.has_open() {
            // An open query keeps the snapshot that it has begun with.
            self.finish_queries(block).await?;
        }
        if wants_new_engine {
            // A running transaction of the engine keeps its catalog.
            self.stop_in_block(block).await;
        }
        self.resume_in_block(block).await?;
        let began_at = self.database.locks().time();
        if let Some(engine) = &mut block.engine {
            let renewed = engine.statement().renew_snapshot().await;
            renewed.map_err(|abort| Ended::Aborted(abort, abort_error(abort)))?;
            block.began_at = began_at;
            self.runner.note_new_snapshot();
        }
        Ok(())
    }

    /// Waits for the row that the last statement could not lock, before it runs again. The session
    /// has no lane.
    ///
    /// # Errors
    /// As [`SessionRows::wait`], and those of [`Self::rerun`].
    pub(super) async fn wait_for_row(&self, reruns: &mut Option<Attempts>) -> Result<(), SqlError> {
        if !self.row_locks.is_queued() {
            return self.rerun(reruns).await;
        }
        let begun_ns = self.now_ns();
        let row = self.row_locks.queued_row();
        loop {
            match self.row_locks.wait(self, begun_ns, PART) {
                Ok(Waited::NotYet) => {}
                Ok(Waited::Granted(_)) => return self.check(),
                Err(error) => return self.refuse_wait(row, error),
            }
        }
    }

    /// The same in a block.
    pub(super) async fn wait_in_block(
        &mut self,
        block: &mut Block<H::Env>,
        reruns: &mut Option<Attempts>,
    ) -> Result<(), Ended> {
        if !self.row_locks.is_queued() {
            return Ok(self.rerun(reruns).await?);
        }
        let begun_ns = self.now_ns();
        let is_scarce = self.database.host().are_lanes_scarce();
        let mut part = if is_scarce { Duration::ZERO } else { LANE_KEPT };
        let row = self.row_locks.queued_row();
        loop {
            let waited = match self.row_locks.wait(self, begun_ns, part) {
                Ok(waited) => waited,
                Err(error) => return Ok(self.refuse_wait(row, error)?),
            };
            if let Waited::Granted(_) = waited {
                return Ok(self.check()?);
            }
            self.park_waiting(block).await;
            part = PART;
        }
    }

    /// A wait has failed. If the statement has handlers of errors, it runs again, and gets the
    /// error where it has waited.
    fn refuse_wait(&self, row: Option<RowKey>, error: SqlError) -> Result<(), SqlError> {
        match row.filter(|_| self.has_handlers && matches!(&*error.sqlstate, "55P03" | "40P01")) {
            Some(row) => {
                self.row_locks.refuse(row, error.as_value());
                self.check()
            }
            None => Err(error),
        }
    }

    /// A statement runs again without a wait: a row was changed between its snapshot and its lock.
    ///
    /// # Errors
    /// The statement should end, or has run too often (`40001`).
    async fn rerun(&self, reruns: &mut Option<Attempts>) -> Result<(), SqlError> {
        self.check()?;
        let reruns = reruns.get_or_insert_with(|| self.new_attempts());
        let env = self.database.host().handle().env().clone();
        match reruns.again(&env, Abort::Contended).await {
            true => self.check(),
            false => Err(StatementError::Again.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::host::{Host, LocalHost};
    use crate::session::{RETRIES, SessionOptions};
    use crate::waiting::Waiter;
    use crate::{SqlDatabase, SqlSession};
    use fabric::run_now;
    use interpreter::{Attempts, Retries};
    use txn::local::{OpenConfig, open};

    fn session() -> SqlSession<LocalHost> {
        let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
        let database = open(&config).expect("the memory is there");
        let opened = run_now(SqlDatabase::open(LocalHost::new(database)));
        opened.expect("it is empty").session(SessionOptions::default())
    }

    #[test]
    fn a_statement_runs_again_for_a_bounded_time() {
        let session = session();
        let short = Retries { patience_ns: 20_000_000, ..RETRIES };
        let host = session.database.host().clone();
        let mut reruns = Some(Attempts::new(host.handle().env(), short));
        let (mut count, begun_ns) = (0, session.now_ns());
        let error = loop {
            match run_now(session.wait_for_row(&mut reruns)) {
                Ok(()) => count += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.sqlstate, "40001");
        // Few rounds fit into the time if the machine is busy, but it is never shorter.
        assert!(session.now_ns() - begun_ns >= short.patience_ns);
        assert!((1..1_000).contains(&count), "{count}");
    }

    #[test]
    fn a_request_of_the_client_ends_a_statement_that_runs_again() {
        let session = session();
        session.interrupt().request();
        let ended = run_now(session.wait_for_row(&mut None));
        assert_eq!(ended.expect_err("it was requested").sqlstate, "57014");
    }
}

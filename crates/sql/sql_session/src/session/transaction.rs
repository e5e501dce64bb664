//! Begin and end of transactions.

use super::definition::ChangeEnd;
use super::query::{Ended, has_perhaps_committed};
use super::{Block, BlockKind, SqlSession, TransactionStatus};
use crate::command::Characteristics;
use crate::error::{Severity, SqlError};
use crate::host::Host;
use crate::outcome::Outcome;
use crate::waiting::Waiter;

impl<H: Host> SqlSession<H> {
    fn new_block(&self, kind: BlockKind) -> Block<H::Env> {
        let mut block = Block::new(kind, self.settings.isolation(), self.settings.is_read_only());
        block.timer_ns = self.transaction_timer();
        block
    }

    /// Begins an implicit transaction, unless a transaction is open: the following statements, up
    /// to [`SqlSession::end_implicit`], take effect together. For a simple query of several
    /// statements, and for several executions before one Sync.
    pub fn begin_implicit(&mut self) {
        if self.block.is_none() {
            self.settings.begin();
            self.block = Some(self.new_block(BlockKind::Implicit));
        }
    }

    /// Ends the implicit transaction: commits it, or rolls it back if a statement has failed since,
    /// or `has_failed` says that the server has refused one. Does nothing inside a transaction
    /// block, except that `has_failed` makes it fail.
    ///
    /// # Errors
    /// Those of the commit.
    pub async fn end_implicit(&mut self, has_failed: bool) -> Result<(), SqlError> {
        if has_failed {
            self.fail();
        }
        match self.block.take() {
            Some(block) if block.kind == BlockKind::Implicit => {
                let keeps = !block.has_failed;
                let ended = self.end(block, keeps).await;
                ended.map_err(|error| self.without_values(error))
            }
            block => {
                self.block = block;
                Ok(())
            }
        }
    }

    /// `BEGIN` and `START TRANSACTION`, with the command tag.
    pub(super) fn begin(&mut self, characteristics: Characteristics, tag: &str) -> Outcome {
        match &mut self.block {
            Some(block) if block.kind == BlockKind::Explicit => {
                let message = "there is already a transaction in progress".to_owned();
                self.notice(Severity::Warning, "25001", message);
            }
            Some(block) => {
                block.kind = BlockKind::Explicit;
                block.apply(characteristics);
            }
            None => {
                self.settings.begin();
                let mut block = self.new_block(BlockKind::Explicit);
                block.apply(characteristics);
                self.block = Some(block);
            }
        }
        done(tag)
    }

    pub(super) async fn commit(&mut self, chain: bool) -> Result<Outcome, SqlError> {
        let Some(block) = self.block.take() else {
            self.no_transaction();
            return Ok(done("COMMIT"));
        };
        if block.kind == BlockKind::Implicit {
            self.no_transaction();
        }
        let next = chain.then_some((block.isolation, block.is_read_only));
        let keeps = !block.has_failed;
        self.end(block, keeps).await?;
        self.chain(next);
        Ok(done(if keeps { "COMMIT" } else { "ROLLBACK" }))
    }

    pub(super) async fn roll_back(&mut self, chain: bool) -> Outcome {
        let Some(block) = self.block.take() else {
            self.no_transaction();
            return done("ROLLBACK");
        };
        let next = chain.then_some((block.isolation, block.is_read_only));
        // Rolling back has no error to report.
        let _ = self.end(block, false).await;
        self.chain(next);
        done("ROLLBACK")
    }

    fn chain(&mut self, next: Option<(crate::command::IsolationLevel, bool)>) {
        if let Some((isolation, is_read_only)) = next {
            self.settings.begin();
            self.block = Some(Block::new(BlockKind::Explicit, isolation, is_read_only));
        }
    }

    fn no_transaction(&mut self) {
        let message = "there is no transaction in progress".to_owned();
        self.notice(Severity::Warning, "25P01", message);
    }

    /// Ends a transaction.
    pub(super) async fn end(
        &mut self,
        mut block: Block<H::Env>,
        keeps: bool,
    ) -> Result<(), SqlError> {
        while let Some((_, open)) = self.queries.pop_first() {
            self.discard(open).await;
        }
        let ended = match keeps {
            true => self.commit_block(&mut block).await,
            false => {
                self.stop_in_block(&mut block).await;
                Ok(())
            }
        };
        if ended.is_err() {
            // A repetition may have failed in the middle.
            self.stop_in_block(&mut block).await;
        }
        let has_committed = keeps && ended.is_ok();
        if let Some(change) = block.change.take() {
            // Such a commit may have taken effect.
            let is_open = |error: &SqlError| matches!(&*error.sqlstate, "40003" | "58030");
            let end = match (&ended, block.version.take()) {
                (Err(error), _) if is_open(error) => ChangeEnd::Unknown,
                (Ok(()), Some(version)) if keeps => ChangeEnd::Committed(version),
                _ => ChangeEnd::RolledBack,
            };
            self.finish_change(change, end).await;
        }
        self.row_locks.release_all(keeps && has_perhaps_committed(&ended));
        block.locks.release(self.database.locks());
        self.advisory.release_all(self.database.advisory_locks(), true);
        if self.settings.end(has_committed) {
            self.follow_settings(false);
        }
        ended
    }

    async fn commit_block(&mut self, block: &mut Block<H::Env>) -> Result<(), SqlError> {
        if block.change.is_some() {
            let stored = self.store_change(block).await;
            if stored.is_err() {
                self.stop_in_block(block).await;
                return stored;
            }
        }
        let mut attempts = None;
        loop {
            let committed = match self.resume_in_block(block).await {
                Ok(()) => {
                    let Some(transaction) = block.engine.take() else { return Ok(()) };
                    self.commit_engine(transaction).await
                }
                Err(ended) => Err(ended),
            };
            let (abort, error) = match committed {
                Ok(()) => return Ok(()),
                Err(Ended::Aborted(abort, error)) => (abort, error),
                Err(ended) => return Err(ended.into()),
            };
            let attempts = attempts.get_or_insert_with(|| self.new_attempts());
            let env = self.database.host().handle().env().clone();
            if !self.hides_conflicts(block) || !attempts.again(&env, abort).await {
                return Err(error);
            }
            self.check()?;
            self.repeat(block, attempts).await?;
        }
    }

    pub(super) fn set_transaction(
        &mut self,
        characteristics: Characteristics,
    ) -> Result<Outcome, SqlError> {
        match &mut self.block {
            Some(block) => {
                let changes = characteristics.isolation.is_some_and(|to| to != block.isolation);
                if changes && block.has_begun {
                    let message = "SET TRANSACTION ISOLATION LEVEL must be called before any query";
                    return Err(SqlError::new("25001", message));
                }
                block.apply(characteristics);
            }
            None => {
                let message = "SET TRANSACTION can only be used in transaction blocks".to_owned();
                self.notice(Severity::Warning, "25P01", message);
            }
        }
        Ok(done("SET"))
    }

    /// Requires a transaction block for this command.
    pub(super) fn require_block(&self, command: &str) -> Result<(), SqlError> {
        match self.status() {
            TransactionStatus::Idle => {
                let message = format!("{command} can only be used in transaction blocks");
                Err(SqlError::new("25P01", message))
            }
            _ => Ok(()),
        }
    }

    /// Ends the session: rolls back its transaction, and returns its lane.
    pub async fn close(&mut self) {
        if let Some(block) = self.block.take() {
            // Rolling back has no error to report.
            let _ = self.end(block, false).await;
        }
        self.close_queries().await;
        self.advisory.release_all(self.database.advisory_locks(), false);
    }
}

pub(super) fn done(tag: &str) -> Outcome {
    Outcome::Done { tag: tag.to_owned() }
}

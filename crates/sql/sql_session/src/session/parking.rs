//! Transactions of sessions whose clients think: they give their lane back, and borrow another one
//! for the next statement.
//!
//! Parking costs about as much as a short statement, so a session keeps its lane for a while: until
//! the server finds its client silent, or at the end of a statement when more than half of the
//! lanes are in use.
//!
//! Decision: docs/decisions/0358-a-session-parks-its-transaction-when-lanes-are-scarce.md

use super::query::Ended;
use super::{Block, BlockKind, SqlSession};
use crate::command::Command;
use crate::error::{SqlError, abort_error};
use crate::host::Host;
use crate::waiting::Waiter;
use txn::{OwnedTransaction, Parked};

impl<H: Host> SqlSession<H> {
    /// Gives the lanes of open transactions back until their next statements: the client is silent.
    /// A transaction that cannot be parked keeps its lane.
    pub async fn park(&mut self) {
        if let Some(mut block) = self.block.take() {
            self.park_block(&mut block).await;
            self.block = Some(block);
        }
        // Queries outside of a block have transactions of their own.
        let mut queries = std::mem::take(&mut self.queries);
        for open in queries.values_mut() {
            if let Some(transaction) = open.transaction.take() {
                (open.transaction, open.parked) = self.parked(transaction).await;
            }
        }
        self.queries = queries;
    }

    /// Parks the transaction of a block at the end of a statement, if others need lanes.
    pub(super) async fn park_if_scarce(&mut self) {
        let is_idle =
            |block: &mut Block<H::Env>| block.kind == BlockKind::Explicit && block.engine.is_some();
        if self.block.as_mut().is_some_and(is_idle) && self.database.host().are_lanes_scarce() {
            Box::pin(self.park()).await;
        }
    }

    async fn park_block(&mut self, block: &mut Block<H::Env>) {
        if block.has_failed && (block.is_doomed || block.savepoints.is_empty()) {
            // No statement will use it any more.
            return self.stop_in_block(block).await;
        }
        self.park_waiting(block).await;
    }

    /// Parks the transaction of a block that waits.
    pub(super) async fn park_waiting(&self, block: &mut Block<H::Env>) {
        if let Some(mut transaction) = block.engine.take() {
            // An open query reads on in the snapshot that it has begun with, and so does a copy.
            let keeps = self.has_open() || self.copying.is_some();
            let will_renew = block.renews() && !keeps;
            transaction.statement().will_renew_snapshot(will_renew);
            (block.engine, block.parked) = self.parked(transaction).await;
        }
    }

    /// Parks a transaction, or returns it if that is not possible.
    async fn parked(
        &self,
        transaction: OwnedTransaction<H::Env>,
    ) -> (Option<OwnedTransaction<H::Env>>, Option<Parked<H::Env>>) {
        match transaction.park().await {
            Ok((lane, parked)) => {
                self.database.host().give_back_lane(lane);
                (None, Some(parked))
            }
            Err((transaction, _)) => (Some(transaction), None),
        }
    }

    /// Resumes a transaction, if it is parked.
    pub(super) async fn resumed(
        &self,
        parked: &mut Option<Parked<H::Env>>,
    ) -> Result<Option<OwnedTransaction<H::Env>>, Ended> {
        if parked.is_none() {
            return Ok(None);
        }
        let host = self.database.host();
        let lane = match host.borrow_lane(&|| self.check().is_err()) {
            Ok(lane) => lane,
            Err(error) => {
                self.check()?;
                return Err(error.into());
            }
        };
        let Some(of) = parked.take() else { return Ok(None) };
        match lane.resume_owned(of).await {
            Ok(transaction) => Ok(Some(transaction)),
            Err((lane, back, abort)) => {
                host.give_back_lane(lane);
                *parked = back;
                Err(Ended::Aborted(abort, abort_error(abort)))
            }
        }
    }

    /// Resumes the transaction of a block, if it is parked.
    pub(super) async fn resume_in_block(&mut self, block: &mut Block<H::Env>) -> Result<(), Ended> {
        if block.parked.is_some() {
            block.engine = self.resumed(&mut block.parked).await?;
        }
        Ok(())
    }

    /// Resumes the transaction of the session's block before a command, if it is parked.
    pub(super) async fn wake(&mut self) -> Result<(), SqlError> {
        let Some(mut block) = self.block.take_if(|block| block.parked.is_some()) else {
            return Ok(());
        };
        let woken = self.resume_in_block(&mut block).await;
        let woken = woken.map_err(|ended| block.failed_by(ended));
        self.block = Some(block);
        woken
    }
}

/// Whether a command needs no rows of the block's transaction, or resumes it itself.
pub(super) fn rests(command: &Command) -> bool {
    matches!(
        command,
        Command::Empty
            | Command::Begin(_)
            | Command::Commit { .. }
            | Command::Rollback { .. }
            | Command::RollbackTo(_)
            | Command::Set { .. }
            | Command::Show(_)
            | Command::Prepare { .. }
            | Command::Deallocate(_)
    )
}

//! Changes of many rows, by several transactions of the engine.
//!
//! A transaction of the engine changes a limited number of rows. Storage that a block has created
//! or truncated is known to nobody else until COMMIT publishes it with the catalog, so the block's
//! changes of it may be committed in the engine earlier, in parts. A roll-back or a crash drops the
//! storage.
//!
//! Decision: docs/decisions/0333-many-rows-go-into-storage-that-nobody-knows.md

use super::query::Ended;
use super::rewrite::{CHUNK_ROWS, quoted};
use super::{Block, Prepared, SqlSession};
use crate::catalog::Version;
use crate::command::{Command, Referrers};
use crate::error::SqlError;
use crate::host::Host;
use crate::outcome::Outcome;
use crate::planned::{Planned, compile_text};
use crate::waiting::Waiter;
use interpreter::{Rows, SingleStatement, Tables};
use sql::namespace::pinned_name;
use sql_value::Value;
use std::ops::Range;
use txn::{Isolation, OwnedTransaction};

/// An insert of many rows.
#[derive(Clone, Copy)]
pub(super) struct Parts<'s> {
    pub tables: &'s Tables,
    pub insert: &'s SingleStatement,
    pub parameters: &'s [Value],
    /// The rows of its query, or those of its parameters.
    pub rows: &'s Rows,
    /// Whether `rows` are those of its query.
    pub has_query: bool,
}

impl<H: Host> SqlSession<H> {
    /// Commits in the engine what a block has changed so far; [`Block::may_divide`] holds. The rows
    /// are there to stay: a savepoint before them can no longer be rolled back to.
    pub(super) async fn settle(&mut self, block: &mut Block<H::Env>) -> Result<(), SqlError> {
        debug_assert!(block.may_divide(), "others would see the rows");
        let resumed = self.resume_in_block(block).await;
        resumed.map_err(|ended| block.failed_by(ended))?;
        match block.engine.take() {
            Some(transaction) if block.has_written => {
                if let Err(ended) = self.commit_engine(transaction).await {
                    if matches!(ended, Ended::Failed(_)) {
                        // The rows may be there: no savepoint can be rolled back to.
                        block.writes += 1;
                        block.begin_anew();
                    }
                    return Err(block.failed_by(ended));
                }
            }
            transaction => {
                block.engine = transaction;
                self.stop_in_block(block).await;
            }
        }
        block.has_written = false;
        block.begin_anew();
        Ok(())
    }

    /// Gives an empty table storage that only this block knows. False if the table has rows.
    pub(super) async fn renew_empty(
        &mut self,
        block: &mut Block<H::Env>,
        name: &str,
    ) -> Result<bool, SqlError> {
        let version = block.version.clone().unwrap_or_else(|| self.database.version());
        // Most tables have rows. Their sessions should not wait for each other.
        if !self.is_empty(block, &version, name).await? {
            return Ok(false);
        }
        self.begin_change(block).await?;
        let version = block.version.clone().expect("a change has a version");
        let (_, definition) =
            version.table(name).ok_or_else(|| super::copying::no_relation(name))?;
        block.locks.take(self.database.locks(), definition.id, self)?;
        // Another session may have inserted rows before the table was locked.
        if !self.is_empty(block, &version, name).await? {
            return Ok(false);
        }
        let truncate =
            Command::Truncate { tables: vec![pinned_name(name)], referrers: Referrers::Keep };
        self.change(block, &truncate, "").await?;
        Ok(true)
    }

    async fn is_empty(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        name: &str,
    ) -> Result<bool, SqlError> {
        let text = format!("SELECT 1 FROM {} LIMIT 1", quoted(name));
        let (select, _) = compile_text(version.knowledge(), &version.tables, &text)?;
        let rows = self.run_once(&version.tables, &select).await?;
        self.stop_in_block(block).await;
        Ok(rows.is_empty())
    }

    /// Runs an `INSERT ... SELECT` into storage that only this block knows; returns the number of
    /// inserted rows. Few rows stay in the block's transaction.
    pub(super) async fn insert_divided(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        insert: &SingleStatement,
        parameters: &[Value],
    ) -> Result<u64, Ended> {
        let tables = &*version.tables;
        let input = self.divided_input(block, tables, insert, parameters).await?;
        block.writes += 1;
        let parts = Parts { tables, insert, parameters, rows: &input, has_query: true };
        if input.len() <= CHUNK_ROWS {
            self.start_in_block(block).await?;
            block.has_written = true;
            let transaction = block.engine.as_mut().expect("it was started");
            return self.run_part(transaction, parts, 0..input.len()).await;
        }
        self.settle(block).await?;
        Ok(self.insert_in_parts(parts, &mut block.began_us).await?)
    }

    /// The rows of the query of an `INSERT ... SELECT`. A transaction without changes of rows reads
    /// them without remembering them: the block hides conflicts, so what it has read may change.
    async fn divided_input(
        &mut self,
        block: &mut Block<H::Env>,
        tables: &Tables,
        insert: &SingleStatement,
        parameters: &[Value],
    ) -> Result<Rows, Ended> {
        let isolation = block.engine_isolation;
        let only_looks = !block.has_written;
        if only_looks && isolation != Isolation::Snapshot {
            self.stop_in_block(block).await;
            block.engine_isolation = Isolation::Snapshot;
        }
        let started = self.start_in_block(block).await;
        let input = match started {
            Ok(()) => {
                let transaction = block.engine.as_mut().expect("it was started");
                let transaction = &mut transaction.statement();
                let input = self.runner.input(transaction, tables, insert, parameters, only_looks);
                input.await.map_err(Ended::from)
            }
            Err(ended) => Err(ended),
        };
        if block.engine_isolation != isolation {
            self.stop_in_block(block).await;
            block.engine_isolation = isolation;
        }
        input
    }

    /// Runs an `INSERT ... SELECT` that is a transaction of its own and too large for one of the
    /// engine: by several ones, if its table is empty. Returns the error otherwise.
    pub(super) async fn insert_too_many(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
        error: SqlError,
    ) -> Result<Outcome, SqlError> {
        let version = self.database.version();
        let planned = prepared.plan_for((&version, &version), &self.identity, parameters)?;
        let table = match planned.divisible().map(|insert| insert.changed()) {
            Some(&[table]) => version.catalog.tables[table].name.clone(),
            _ => return Err(error),
        };
        self.begin_implicit();
        let mut block = self.block.take().expect("it was begun");
        let renewed = self.renew_empty(&mut block, &table).await;
        let ran = match renewed {
            Ok(true) => self.run_in_block(&mut block, prepared, parameters).await,
            Ok(false) => Err(error.hint(HINT)),
            Err(error) => Err(error),
        };
        self.block = Some(block);
        let ended = self.end_implicit(ran.is_err()).await;
        let outcome = ran?;
        ended?;
        Ok(outcome)
    }

    /// Inserts rows by several transactions of the engine; returns the number of inserted ones. All
    /// see the time `began_us`, if it is known.
    pub(super) async fn insert_in_parts(
        &mut self,
        parts: Parts<'_>,
        began_us: &mut Option<i64>,
    ) -> Result<u64, SqlError> {
        let handle = self.database.host().handle();
        let (mut at, mut inserted) = (0, 0);
        while at < parts.rows.len() {
            let end = parts.rows.len().min(at + CHUNK_ROWS);
            let mut attempts = self.new_attempts();
            inserted += loop {
                match self.insert_part(parts, at..end, began_us).await {
                    Ok(count) => break count,
                    Err(Ended::Aborted(abort, error)) => {
                        if !attempts.again(handle.env(), abort).await {
                            return Err(error);
                        }
                        self.check()?;
                    }
                    Err(ended @ (Ended::Failed(_) | Ended::Again)) => return Err(ended.into()),
                }
            };
            at = end;
        }
        Ok(inserted)
    }

    async fn insert_part(
        &mut self,
        parts: Parts<'_>,
        part: Range<usize>,
        began_us: &mut Option<i64>,
    ) -> Result<u64, Ended> {
        let mut transaction = self.begin_engine(Isolation::Snapshot).await?;
        match *began_us {
            Some(began_us) => self.runner.begin_at(began_us),
            None => *began_us = Some(self.runner.began_us()),
        }
        match self.run_part(&mut transaction, parts, part).await {
            Ok(inserted) => {
                self.commit_engine(transaction).await?;
                Ok(inserted)
            }
            Err(ended) => {
                let lane = transaction.abort_and_rest().await;
                self.database.host().give_back_lane(lane);
                Err(ended)
            }
        }
    }

    /// Inserts rows in a transaction; returns the number of inserted ones.
    pub(super) async fn run_part(
        &mut self,
        transaction: &mut OwnedTransaction<H::Env>,
        parts: Parts<'_>,
        part: Range<usize>,
    ) -> Result<u64, Ended> {
        let Parts { tables, insert, parameters, rows, has_query } = parts;
        let transaction = &mut transaction.statement();
        if has_query {
            let part = (rows, part);
            let ran = self.runner.insert_part(transaction, tables, insert, parameters, part);
            return Ok(ran.await?);
        }
        let mut none = Rows::new(0);
        let count = part.len() as u64;
        for at in part {
            self.runner.check_sometimes(transaction.env())?;
            let values = rows.row(at);
            self.runner.run(transaction, tables, insert, values, false, &mut none).await?;
        }
        Ok(count)
    }
}

/// Whether a block runs this statement by several transactions of the engine if it has many rows.
pub(super) fn divides<'p, E: fabric::Env>(
    block: &Block<E>,
    version: &Version,
    planned: &'p Planned,
) -> Option<&'p SingleStatement> {
    let insert = planned.divisible().filter(|_| block.may_divide())?;
    let is_own = |&table: &usize| block.has_created(&version.definition_of(table).physical);
    insert.changed().iter().all(is_own).then_some(insert)
}

/// The advice for a change of too many rows.
pub(super) const HINT: &str = "Insert them into a table that the same transaction has created or truncated, or into an empty table outside of a transaction block.";

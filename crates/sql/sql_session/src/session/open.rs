//! Queries whose rows a client takes in parts: portals with a row limit, cursors, COPY, and results
//! that are sent while the query runs.
//!
//! A query that has paused reads nothing until it goes on. In a transaction block it uses the
//! block's transaction of the engine; before that changes rows or ends, the query runs to its end,
//! so that it does not see the changes. Outside of one it has a transaction of its own.
//!
//! Decision: docs/decisions/0343-rows-are-sent-while-a-query-runs.md

use super::query::taken;
use super::{Block, Prepared, SqlSession};
use crate::catalog::Version;
use crate::error::SqlError;
use crate::host::Host;
use crate::outcome::{Outcome, RowSet};
use crate::planned::{Planned, PlannedAction};
use fabric::Env;
use interpreter::{Paused, Rows};
use sql_value::style::within;
use sql_value::{GroupKey, Value};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use txn::{OwnedTransaction, Parked};

/// Number of rows that a query hands on at a time if the client takes all.
pub const ROWS_AT_A_TIME: usize = 1024;

/// A query of a session whose rows are not all taken, see [`SqlSession::open`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OpenQuery(u64);

/// The next rows of a query.
#[derive(Clone, PartialEq, Debug)]
pub struct Fetched {
    pub rows: RowSet,
    /// Whether there are no more rows. The query is then closed.
    pub has_ended: bool,
}

/// The state of an open query.
pub(crate) struct Open<E: Env> {
    planned: Arc<Planned>,
    version: Arc<Version>,
    /// `None` if all rows wait.
    paused: Option<Paused>,
    /// Its own transaction; `None` if it is that of the block.
    pub(super) transaction: Option<OwnedTransaction<E>>,
    /// The same while it is parked.
    pub(super) parked: Option<Parked<E>>,
    width: usize,
    /// Rows that wait to be taken, from this one on.
    waiting: RowSet,
    at: usize,
    digest: DefaultHasher,
}

impl<E: Env> Open<E> {
    /// Rows that wait.
    fn waiting(&self) -> usize {
        self.waiting.len() - self.at
    }

    fn take(&mut self, most: usize) -> RowSet {
        if self.at == 0 && self.waiting.len() <= most {
            return std::mem::replace(&mut self.waiting, RowSet::new(self.width));
        }
        let mut rows = RowSet::new(self.width);
        let end = self.waiting.len().min(self.at.saturating_add(most));
        (self.at..end).for_each(|at| rows.push(self.waiting.row(at).iter().cloned()));
        self.at = end;
        if self.at == self.waiting.len() {
            (self.waiting, self.at) = (RowSet::new(self.width), 0);
        }
        rows
    }

    /// Whether it goes on in the transaction of its block.
    fn is_of_block(&self) -> bool {
        self.paused.is_some() && self.transaction.is_none() && self.parked.is_none()
    }

    /// Adds rows of the query.
    fn add(&mut self, rows: &mut Rows) {
        let found = taken(rows, self.width);
        hash_rows(&found, &mut self.digest);
        match self.waiting() {
            0 => (self.waiting, self.at) = (found, 0),
            _ => found.iter().for_each(|row| self.waiting.push(row.iter().cloned())),
        }
    }
}

/// Adds rows to the digest of a result.
pub(super) fn hash_rows(rows: &RowSet, hasher: &mut DefaultHasher) {
    rows.iter().for_each(|row| GroupKey(row.to_vec()).hash(hasher));
}

impl<H: Host> SqlSession<H> {
    /// As [`SqlSession::execute`], for a client that takes the rows in parts: a query that has more
    /// than about `first` rows may return [`Outcome::Part`], with at most as many rows.
    ///
    /// # Errors
    /// As [`SqlSession::execute`].
    pub async fn open(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
        first: usize,
    ) -> Result<Outcome, SqlError> {
        self.batch = first.max(1);
        let outcome = self.execute(prepared, parameters).await;
        self.batch = usize::MAX;
        outcome
    }

    /// As [`SqlSession::run_query`]; about `first` rows are enough before a pause.
    pub(super) async fn open_query(
        &mut self,
        prepared: &Prepared,
        first: usize,
    ) -> Result<(RowSet, Option<OpenQuery>), SqlError> {
        // Before it runs: a change without rows would be committed.
        if prepared.columns().is_none() {
            return Err(SqlError::new("42601", "the query must return rows"));
        }
        let before = std::mem::replace(&mut self.batch, first);
        let outcome = self.run_query(prepared, &[]).await;
        self.batch = before;
        match outcome? {
            Outcome::Rows { rows, .. } => Ok((rows, None)),
            Outcome::Part { rows, open } => Ok((rows, Some(open))),
            _ => Err(SqlError::new("42601", "the query must return rows")),
        }
    }

    /// The next rows of a query, at most `most`.
    ///
    /// # Errors
    /// Those of the query, and of the commit if it is a transaction of its own. The query is then
    /// closed, and a transaction block has failed.
    pub async fn fetch(&mut self, query: OpenQuery, most: usize) -> Result<Fetched, SqlError> {
        let style = self.settings.style();
        let fetched = within(style, self.fetch_now(query, most)).await;
        self.park_if_scarce().await;
        self.noted(fetched)
    }

    /// The client executes a query again, to take more rows: `statement_timeout` begins again.
    /// Without it all rows of a query are one statement.
    pub fn execute_again(&mut self) {
        self.start_timers();
    }

    pub(super) async fn fetch_now(
        &mut self,
        query: OpenQuery,
        most: usize,
    ) -> Result<Fetched, SqlError> {
        let Some(mut open) = self.queries.remove(&query) else {
            return Err(SqlError::new("34000", "the query is no longer open"));
        };
        let most = most.max(1);
        while open.waiting() < most && open.paused.is_some() {
            let missing = most - open.waiting();
            if let Err(error) = self.go_on(&mut open, missing).await {
                self.discard(open).await;
                return Err(error);
            }
        }
        let mut rows = open.take(most);
        if let PlannedAction::Query(query) = &open.planned.action {
            let fields = query.query.outputs();
            let types = fields.iter().map(|field| &field.sql_type);
            if let Err(error) = self.label_rows(&mut rows, types, &open.version) {
                self.discard(open).await;
                return Err(error);
            }
        }
        if open.waiting() > 0 || open.paused.is_some() {
            self.queries.insert(query, open);
            return Ok(Fetched { rows, has_ended: false });
        }
        self.note_whole(query, &open);
        if let Some(resumed) = self.resumed(&mut open.parked).await? {
            open.transaction = Some(resumed);
        }
        if let Some(transaction) = open.transaction.take() {
            self.commit_engine(transaction).await?;
        }
        Ok(Fetched { rows, has_ended: true })
    }

    /// Lets a query find about `batch` rows more.
    async fn go_on(&mut self, open: &mut Open<H::Env>, batch: usize) -> Result<(), SqlError> {
        let PlannedAction::Query(query) = &open.planned.action else { return Ok(()) };
        let Some(paused) = open.paused.take() else { return Ok(()) };
        if let Some(resumed) = self.resumed(&mut open.parked).await? {
            open.transaction = Some(resumed);
        }
        self.wake().await?;
        let of_block = self.block.as_mut().and_then(|block| block.engine.as_mut());
        let Some(transaction) = open.transaction.as_mut().or(of_block) else {
            return Err(SqlError::new("34000", "the transaction of the query has ended"));
        };
        let (tables, mut transaction) = (&open.version.tables, transaction.statement());
        self.runner.set_callees(open.version.clone());
        let (runner, rows) = (&mut self.runner, &mut self.rows);
        let statement = &query.statement;
        let went_on = runner.go_on(&mut transaction, tables, statement, paused, batch, rows).await;
        self.note_raised();
        open.paused = went_on?;
        open.add(&mut self.rows);
        Ok(())
    }

    /// Closes a query, if it is open.
    pub async fn close_query(&mut self, query: OpenQuery) {
        if let Some(open) = self.queries.remove(&query) {
            self.discard(open).await;
        }
    }

    /// Closes the queries outside of a transaction block.
    pub async fn close_queries(&mut self) {
        if self.block.is_none() {
            while let Some((_, open)) = self.queries.pop_first() {
                self.discard(open).await;
            }
        }
    }

    pub(super) async fn discard(&mut self, open: Open<H::Env>) {
        if let Some(transaction) = open.transaction {
            let lane = transaction.abort_and_rest().await;
            self.database.host().give_back_lane(lane);
        }
    }

    /// Keeps a query that has paused; returns the rows that it has found.
    pub(super) fn keep_open(
        &mut self,
        (planned, version): (&Arc<Planned>, &Arc<Version>),
        prepared: &Prepared,
        paused: Paused,
        transaction: Option<OwnedTransaction<H::Env>>,
    ) -> Outcome {
        let width = prepared.columns().map_or(0, <[_]>::len);
        let mut open = Open {
            planned: planned.clone(),
            version: version.clone(),
            paused: Some(paused),
            transaction,
            parked: None,
            width,
            waiting: RowSet::new(width),
            at: 0,
            digest: DefaultHasher::new(),
        };
        open.add(&mut self.rows);
        let rows = open.take(self.batch);
        self.opened += 1;
        let query = OpenQuery(self.opened);
        self.queries.insert(query, open);
        Outcome::Part { rows, open: query }
    }

    /// Whether a query of a block is open.
    pub(super) fn has_open(&self) -> bool {
        !self.queries.is_empty()
    }

    /// Runs the open queries of a block to their ends: its transaction is going to change.
    pub(super) async fn finish_queries(
        &mut self,
        block: &mut Block<H::Env>,
    ) -> Result<(), SqlError> {
        let of_block = self.queries.iter().filter(|(_, open)| open.is_of_block());
        let queries: Vec<OpenQuery> = of_block.map(|(query, _)| *query).collect();
        if !queries.is_empty() {
            let resumed = self.resume_in_block(block).await;
            resumed.map_err(|ended| block.failed_by(ended))?;
        }
        for query in queries {
            let Some(mut open) = self.queries.remove(&query) else { continue };
            self.finish_query(block, &mut open).await?;
            block.log.finish(query, digest_of(&open));
            self.queries.insert(query, open);
        }
        Ok(())
    }

    /// As [`Self::finish_queries`], before a command of the session's block.
    pub(super) async fn finish_open(&mut self) -> Result<(), SqlError> {
        let Some(mut block) = self.block.take() else { return Ok(()) };
        let finished = self.finish_queries(&mut block).await;
        self.block = Some(block);
        self.noted(finished)
    }

    async fn finish_query(
        &mut self,
        block: &mut Block<H::Env>,
        open: &mut Open<H::Env>,
    ) -> Result<(), SqlError> {
        let limit = self.settings.effects().work_memory;
        while open.paused.is_some() {
            if open.waiting() * open.width.max(1) * size_of::<Value>() > limit {
                let message = "the rows of an open cursor or portal need more memory than work_mem";
                let hint =
                    "Fetch or close it before the transaction changes rows, or raise work_mem.";
                return Err(SqlError::new("53200", message).hint(hint));
            }
            // The block is not the session's while one of its statements runs.
            open.transaction = block.engine.take();
            let went_on = self.go_on(open, ROWS_AT_A_TIME).await;
            block.engine = open.transaction.take();
            went_on?;
        }
        Ok(())
    }

    /// Notes for repeats of the block that a query has ended.
    fn note_whole(&mut self, query: OpenQuery, open: &Open<H::Env>) {
        if let Some(block) = &mut self.block {
            block.log.finish(query, digest_of(open));
        }
    }
}

/// The digest of all rows of a query.
fn digest_of<E: Env>(open: &Open<E>) -> u64 {
    open.digest.finish()
}

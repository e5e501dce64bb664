//! Runs the transactions: all lists in one round trip, then reads and appends in the order of
//! drawing, then the commit.

use super::{Append, append, elements, key};
use crate::attempts::{Attempts, insist, result_of};
use crate::driver::{Finished, TransactionResult};
use crate::error::WorkloadError;
use crate::random::Random;
use crate::recording::Session;
use fabric::Env;
use layout::Key;
use txn::{Isolation, Lane, RowId, TableId, Transaction};

/// The random stream of the terminals.
const TERMINAL_STREAM: u32 = 210;
const APPEND: usize = 0;
const READ: usize = 1;

#[derive(Clone, Copy, Debug)]
struct Operation {
    list: u64,
    is_append: bool,
}

/// The state of one thread between transactions.
#[derive(Debug)]
pub struct Terminal {
    workload: Append,
    table: TableId,
    random: Random,
    session: Session,
    /// The number of attempts that may still be recorded.
    recorded_left: u64,
    operations: Vec<Operation>,
    /// The distinct lists among the operations, with the row of each.
    lists: Vec<u64>,
    reads: Vec<(TableId, Key)>,
    rows: Vec<Option<RowId>>,
    elements: Vec<i64>,
}

impl Terminal {
    pub(super) fn new(
        workload: &Append,
        table: TableId,
        (thread, threads): (u32, u32),
        seed: u64,
    ) -> Self {
        Self {
            workload: workload.clone(),
            table,
            random: Random::stream(seed, TERMINAL_STREAM, u64::from(thread)),
            session: workload.recordings.open(),
            recorded_left: workload.config.recorded.div_ceil(u64::from(threads)),
            operations: Vec::new(),
            lists: Vec::new(),
            reads: Vec::new(),
            rows: Vec::new(),
            elements: Vec::new(),
        }
    }

    /// Draws a transaction and runs it to its end. For the judge, every attempt is a separate
    /// transaction.
    pub(super) async fn run_one<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
    ) -> Result<Finished, WorkloadError> {
        self.draw();
        let has_appends = self.operations.iter().any(|operation| operation.is_append);
        let mut is_recorded = false;
        let attempt = async |lane: &mut Lane<E>| {
            is_recorded = self.recorded_left > 0;
            if !is_recorded {
                // An append that is not recorded must not be visible to recorded reads.
                self.operations.iter_mut().for_each(|operation| operation.is_append = false);
            }
            self.recorded_left = self.recorded_left.saturating_sub(1);
            self.recorded_attempt(lane, is_recorded).await
        };
        let mut attempts = Attempts::new();
        let result = attempts.repeat(lane, attempt).await?;
        let kind = if has_appends && is_recorded { APPEND } else { READ };
        Ok(attempts.finish(kind, result, 0))
    }

    fn draw(&mut self) {
        let config = self.workload.config;
        let count = 1 + self.random.below(u64::from(config.operations));
        self.operations.clear();
        for _ in 0..count {
            let list = self.workload.list_at(self.random.below(config.lists));
            let is_append = !self.random.percent(config.read_percent);
            self.operations.push(Operation { list, is_append });
        }
        self.lists.clear();
        self.lists.extend(self.operations.iter().map(|operation| operation.list));
        self.lists.sort_unstable();
        self.lists.dedup();
        self.reads.clear();
        self.reads.extend(self.lists.iter().map(|&list| (self.table, key(list))));
    }

    async fn recorded_attempt<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        is_recorded: bool,
    ) -> Result<TransactionResult, WorkloadError> {
        if !is_recorded {
            return self.attempt(lane).await;
        }
        self.session.begin(lane.env().now_ns());
        let attempt = self.attempt(lane).await;
        self.session.end(lane.env().now_ns(), &attempt);
        attempt
    }

    async fn attempt<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
    ) -> Result<TransactionResult, WorkloadError> {
        let mut transaction = lane.begin(self.workload.config.isolation).await?;
        transaction.read_many(&self.reads, &mut self.rows).await?;
        for index in 0..self.operations.len() {
            let operation = self.operations[index];
            self.operate(&mut transaction, operation).await?;
        }
        Ok(result_of(transaction.commit().await))
    }

    async fn operate<E: Env>(
        &mut self,
        transaction: &mut Transaction<'_, E>,
        Operation { list, is_append }: Operation,
    ) -> Result<(), WorkloadError> {
        let place = self.lists.binary_search(&list).expect("it is a list of the operations");
        self.elements.clear();
        if let Some(row) = self.rows[place] {
            elements(transaction.row(row), &mut self.elements);
        }
        let is_full = self.elements.len() == self.workload.config.elements as usize;
        if is_full {
            self.workload.replace(list);
        }
        if is_full || !is_append {
            self.session.read_list(list, &self.elements);
            return Ok(());
        }
        let row = match self.rows[place] {
            Some(row) => row,
            None => transaction.insert(self.table, &key(list)).await?,
        };
        self.rows[place] = Some(row);
        let value = self.session.value();
        self.session.append(list, value);
        append(&mut transaction.update(row), &self.elements, value);
        Ok(())
    }
}

/// Reads every list in one snapshot, so that the result of every append is known.
pub(super) async fn read_all<E: Env>(
    lane: &mut Lane<E>,
    table: TableId,
    session: &mut Session,
) -> Result<(), WorkloadError> {
    let look = async |lane: &mut Lane<E>| {
        session.begin(lane.env().now_ns());
        let attempt = visit_all(lane, table, session).await;
        session.end(lane.env().now_ns(), &attempt);
        attempt
    };
    insist(lane, look).await.map(drop)
}

async fn visit_all<E: Env>(
    lane: &mut Lane<E>,
    table: TableId,
    session: &mut Session,
) -> Result<TransactionResult, WorkloadError> {
    let mut transaction = lane.begin(Isolation::Snapshot).await?;
    let mut list = Vec::new();
    let mut visit = |row: layout::RecordRef<'_>| {
        elements(row, &mut list);
        session.read_list(row.int(0) as u64, &list);
    };
    transaction.for_each(table, &mut visit).await?;
    Ok(result_of(transaction.commit().await))
}

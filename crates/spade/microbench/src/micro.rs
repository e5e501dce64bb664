//! The measurement of one point as a workload, for threads on real fabrics.

use crate::hand::Hand;
use crate::operation::{Task, attempt};
use crate::ship::{SHIPPED, encode, outcome};
use crate::subject::{Subject, Table};
use fabric::{CallError, Env};
use layout::NodeId;
use spade_format::measurement::{Parameters, Place};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use txn::{Database, Lane};
use workload::{
    AbortCounts, Attempts, CheckResult, Finished, Random, RunTotals, TransactionResult,
    Whereabouts, Workload, WorkloadError,
};

/// Types of transactions: measured ones, and others in between; positions in the list of types.
pub const MEASURED: usize = 0;
const OTHER: usize = 1;
const TYPES: [&str; 2] = ["measured", "other"];
pub const TABLE: &str = "measured";
/// Random stream of the hands.
const HAND_STREAM: u32 = 240;
/// Memory that does not depend on the table.
const BASE_BYTES: u64 = 32 << 20;
/// Factor for the memory of rows that hands insert.
const GROWTH: u64 = 4;

/// One operation on one table by the threads of one process, each with some lanes.
#[derive(Clone, Debug)]
pub struct Micro {
    parameters: Parameters,
    subject: Subject,
    /// Compute servers that execute shipped operations; workers use them round-robin.
    owners: Vec<NodeId>,
    /// Hands between two runs: the rows that they have inserted are still there.
    hands: Arc<Mutex<BTreeMap<u32, Hand>>>,
}

/// The state of a worker.
#[derive(Debug)]
pub struct Terminal {
    number: u32,
    table: Table,
    hand: Option<Hand>,
    hands: Arc<Mutex<BTreeMap<u32, Hand>>>,
    answer: Vec<u8>,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let (Some(hand), Ok(mut hands)) = (self.hand.take(), self.hands.lock()) {
            hands.insert(self.number, hand);
        }
    }
}

impl Micro {
    /// Measures a point with this many workers, on a table of about `rows` rows.
    pub fn new(parameters: &Parameters, workers: u32, rows: u64) -> Self {
        let ranges = u64::from(workers);
        let subject = Subject::of(parameters, ranges, rows.div_ceil(ranges));
        let (owners, hands) = (Vec::new(), Arc::default());
        Self { parameters: parameters.clone(), subject, owners, hands }
    }

    /// Measures another point on the same table; if the point is shipped, operations go to one of
    /// `owners`.
    pub fn turned_to(&self, parameters: &Parameters, owners: &[NodeId]) -> Self {
        let is_shipped = parameters.place == Place::Shipped;
        let owners = if is_shipped { owners.to_vec() } else { Vec::new() };
        Self { parameters: parameters.clone(), owners, ..self.clone() }
    }

    /// Returns the owner that a worker calls, if operations are shipped.
    fn owner(&self, worker: u32) -> Option<NodeId> {
        let turn = (worker as usize).checked_rem(self.owners.len())?;
        Some(self.owners[turn])
    }

    pub fn subject(&self) -> &Subject {
        &self.subject
    }
}

/// Executes a hand's next operation, here or at its owner, and retries until it commits or a retry
/// would not help.
///
/// # Errors
/// A server is full or unreachable, or the table has changed since it was loaded.
pub async fn perform<E: Env>(
    lane: &mut Lane<E>,
    (table, owner): (Table, Option<NodeId>),
    hand: &mut Hand,
    (subject, parameters): (&Subject, &Parameters),
    answer: &mut Vec<u8>,
) -> Result<Finished, WorkloadError> {
    let next = hand.next(subject, parameters);
    let kind = if next.counts { MEASURED } else { OTHER };
    let finished = carry_out(lane, (table, owner), &next.task, (kind, answer)).await?;
    hand.done(next.task, finished.result == TransactionResult::Committed);
    Ok(finished)
}

/// Executes a task of a kind, as [`perform`] does.
///
/// # Errors
/// Those of [`perform`].
pub async fn carry_out<E: Env>(
    lane: &mut Lane<E>,
    (table, owner): (Table, Option<NodeId>),
    task: &Task,
    (kind, answer): (usize, &mut Vec<u8>),
) -> Result<Finished, WorkloadError> {
    let Some(owner) = owner else {
        let mut attempts = Attempts::new();
        let attempt = async |lane: &mut Lane<E>| attempt(lane, table, task, answer).await;
        let result = attempts.repeat(lane, attempt).await?;
        return Ok(attempts.finish(kind, result, 0));
    };
    let refused = |error: CallError| WorkloadError::Configuration(error.to_string());
    let (result, retries) = match lane.env().call(owner, SHIPPED, encode(task)).await {
        Ok(answered) => {
            *answer = answered;
            outcome(answer).map_err(refused)?
        }
        // The owner may have executed it and died before it could respond.
        Err(CallError::Unreachable(_)) => (TransactionResult::Unknown, 0),
        Err(error) => return Err(refused(error)),
    };
    let (aborts, whereabouts) = (AbortCounts::default(), Whereabouts::default());
    Ok(Finished { kind, result, retries, skipped: 0, aborts, whereabouts, is_shipped: false })
}

impl<E: Env> Workload<E> for Micro {
    type Terminal = Terminal;

    fn name(&self) -> &'static str {
        "measure"
    }

    fn transaction_types(&self) -> &'static [&'static str] {
        &TYPES
    }

    fn table_names(&self) -> &'static [&'static str] {
        &[TABLE]
    }

    fn load_rows(&self) -> u64 {
        self.subject.rows()
    }

    fn load_parts(&self) -> u64 {
        self.subject.ranges
    }

    fn memory_bytes(&self) -> u64 {
        BASE_BYTES + GROWTH * self.subject.memory_bytes()
    }

    async fn create_tables(&self, database: &Database<E>) -> Result<(), WorkloadError> {
        database.create_table(self.subject.spec(TABLE, None)?).await?;
        Ok(())
    }

    async fn load_part(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        part: u64,
        parts: u64,
        progress: &dyn Fn(u64),
    ) -> Result<(), WorkloadError> {
        let table = Table::open(database, TABLE)?;
        for range in workload::loading::share(self.subject.ranges, part, parts) {
            self.subject.load(lane, table, range..range + 1, true).await?;
            progress(self.subject.rows_each);
        }
        Ok(())
    }

    fn terminal(
        &self,
        database: &Database<E>,
        thread: u32,
        _threads: u32,
        seed: u64,
    ) -> Result<Terminal, WorkloadError> {
        let table = Table::open(database, TABLE)?;
        let kept = self.hands.lock().expect("no holder panics").remove(&thread);
        let hand = kept.unwrap_or_else(|| {
            let mut random = Random::stream(seed, HAND_STREAM, u64::from(thread));
            let (range, drawn) = (u64::from(thread) % self.subject.ranges, 0..self.subject.ranges);
            Hand::new(&self.subject, range, drawn, &mut random)
        });
        let hands = self.hands.clone();
        Ok(Terminal { number: thread, table, hand: Some(hand), hands, answer: Vec::new() })
    }

    async fn run_one(
        &self,
        lane: &mut Lane<E>,
        terminal: &mut Terminal,
    ) -> Result<Finished, WorkloadError> {
        let owner = self.owner(terminal.number);
        let Terminal { table, hand, answer, .. } = terminal;
        let hand = hand.as_mut().expect("a terminal has its hand until it goes");
        let what = (&self.subject, &self.parameters);
        perform(lane, (*table, owner), hand, what, answer).await
    }

    /// The content of the table is not what is measured.
    async fn check(
        &self,
        _database: &Database<E>,
        _lane: &mut Lane<E>,
        _totals: &RunTotals,
        _after_load: bool,
    ) -> Result<Vec<CheckResult>, WorkloadError> {
        Ok(Vec::new())
    }
}

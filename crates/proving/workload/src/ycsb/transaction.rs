//! Runs YCSB's transactions: all reads in one round trip, then the writes, then the commit.

use super::config::YcsbConfig;
use super::generator::{Generator, Operation, Population, Step};
use super::tally::Tally;
use super::{Ycsb, record};
use crate::attempts::{Attempts, result_of};
use crate::driver::{Finished, TransactionResult};
use crate::error::WorkloadError;
use crate::random::Random;
use fabric::Env;
use layout::{Key, RecordRef};
use std::hint::black_box;
use std::sync::Arc;
use txn::{Lane, RowId, Scan, ScanSource, TableId, Transaction};

/// The state of one thread between transactions.
#[derive(Debug)]
pub struct Terminal {
    config: YcsbConfig,
    generator: Generator,
    population: Arc<Population>,
    tally: Arc<Tally>,
    table: TableId,
    random: Random,
    steps: Vec<Step>,
    /// The field that each update of this transaction rewrites; retries rewrite the same one.
    field: u32,
    /// The updates of this attempt: those whose record exists.
    updates: u64,
    reads: Vec<(TableId, Key)>,
    found: Vec<Option<RowId>>,
    rows: Vec<RowId>,
}

/// Whether a step begins by reading its row.
#[inline]
fn reads_row(step: &&Step) -> bool {
    matches!(step.operation, Operation::Read | Operation::Update)
}

impl Terminal {
    pub(super) fn new(ycsb: &Ycsb, table: TableId, thread: u32, seed: u64) -> Self {
        Self {
            config: ycsb.config.clone(),
            generator: ycsb.generator.clone(),
            population: ycsb.population.clone(),
            tally: ycsb.tallies.open(),
            table,
            random: Random::stream(seed, thread, 0),
            steps: Vec::new(),
            field: 0,
            updates: 0,
            reads: Vec::new(),
            found: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Draws a transaction and runs it to its end.
    #[inline]
    pub(super) async fn run_one<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
    ) -> Result<Finished, WorkloadError> {
        self.generator.draw(&mut self.random, &mut self.steps);
        self.field = self.random.below(u64::from(self.config.field_count())) as u32;
        self.reads.clear();
        let reads = self.steps.iter().filter(reads_row);
        self.reads.extend(reads.map(|step| (self.table, record::key(step.key))));
        lane.prefetch(&self.reads);
        let mut attempts = Attempts::new();
        loop {
            let attempt = self.attempt(lane).await;
            if let Some(result) = attempts.judge(lane.env(), attempt).await? {
                self.count(result);
                return Ok(attempts.finish(self.kind(), result, 0));
            }
        }
    }

    async fn attempt<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
    ) -> Result<TransactionResult, WorkloadError> {
        let mut transaction = lane.begin(self.config.isolation).await?;
        self.read_and_update(&mut transaction).await?;
        for index in 0..self.steps.len() {
            let step = self.steps[index];
            match step.operation {
                Operation::Insert => self.insert(&mut transaction, step).await?,
                Operation::Scan => self.scan(&mut transaction, step).await?,
                Operation::Read | Operation::Update => {}
            }
        }
        Ok(result_of(transaction.commit().await))
    }

    /// The reads are independent, so they share a round trip.
    #[inline]
    async fn read_and_update<E: Env>(
        &mut self,
        transaction: &mut Transaction<'_, E>,
    ) -> Result<(), WorkloadError> {
        self.updates = 0;
        if self.reads.is_empty() {
            return Ok(());
        }
        transaction.read_many(&self.reads, &mut self.found).await?;
        for (step, &row) in self.steps.iter().filter(reads_row).zip(&self.found) {
            let Some(row) = row else {
                // The insert of a recent key may have failed, or may be under way.
                if step.key < self.config.records {
                    return Err(WorkloadError::MissingRow { table: record::TABLE });
                }
                continue;
            };
            deliver(&transaction.row(row), &self.config);
            if step.operation == Operation::Update {
                self.updates += 1;
                let counter = transaction.row(row).int(record::COUNTER) + 1;
                let mut update = transaction.update(row);
                update.set_int(record::COUNTER, counter);
                record::write_field(
                    &mut update,
                    &self.config,
                    step.key,
                    self.field,
                    counter as u64,
                );
            }
        }
        Ok(())
    }

    async fn insert<E: Env>(
        &mut self,
        transaction: &mut Transaction<'_, E>,
        step: Step,
    ) -> Result<(), WorkloadError> {
        let row = transaction.insert(self.table, &record::key(step.key)).await?;
        record::fill(&mut transaction.update(row), &self.config, step.key);
        Ok(())
    }

    async fn scan<E: Env>(
        &mut self,
        transaction: &mut Transaction<'_, E>,
        step: Step,
    ) -> Result<(), WorkloadError> {
        let scan = Scan {
            source: ScanSource::Table(self.table),
            low: record::key(step.key),
            high: Key::highest(1),
            reverse: false,
            limit: step.length as usize,
        };
        transaction.scan(&scan, &mut self.rows).await?;
        for &row in &self.rows {
            deliver(&transaction.row(row), &self.config);
        }
        Ok(())
    }

    /// A single operation gives the transaction its type.
    fn kind(&self) -> usize {
        match self.steps[..] {
            [Step { operation: Operation::Read, .. }] => 0,
            [Step { operation: Operation::Update, .. }] => 1,
            [Step { operation: Operation::Insert, .. }] => 2,
            [Step { operation: Operation::Scan, .. }] => 3,
            _ => 4,
        }
    }

    fn count(&self, result: TransactionResult) {
        let is_known = match result {
            TransactionResult::Committed => true,
            TransactionResult::Unknown => false,
            TransactionResult::RolledBack | TransactionResult::Aborted(_) => return,
        };
        let mut inserts = 0;
        for step in self.steps.iter().filter(|step| step.operation == Operation::Insert) {
            inserts += 1;
            if is_known {
                self.population.announce(step.key);
            }
        }
        if self.updates + inserts > 0 {
            self.tally.add(self.updates, inserts, is_known);
        }
    }
}

/// Copies the whole record for a caller that may read any of its fields.
#[inline]
fn deliver(record: &RecordRef<'_>, config: &YcsbConfig) {
    black_box(record.int(record::COUNTER));
    for field in 0..config.field_count() as usize {
        black_box(record.bytes(record::FIELDS + field));
    }
}

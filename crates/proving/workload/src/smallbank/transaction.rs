//! SmallBank's six transactions. Each reads all its rows in one round trip.

use super::Tables;
use super::config::{Input, Kind, PENALTY_CENTS, SmallBankConfig, draw};
use super::ledger::Page;
use super::tables::{BALANCE, NAME, NAMES, key};
use crate::attempts::{Attempts, result_of};
use crate::driver::{Finished, TransactionResult};
use crate::error::WorkloadError;
use crate::random::Random;
use fabric::Env;
use layout::Key;
use std::hint::black_box;
use std::sync::Arc;
use txn::{Lane, RowId, TableId, Transaction};

/// The state of one thread between transactions.
#[derive(Debug)]
pub struct Terminal {
    config: SmallBankConfig,
    tables: Tables,
    page: Arc<Page>,
    random: Random,
    reads: Vec<(TableId, Key)>,
    found: Vec<Option<RowId>>,
}

/// The decision of a transaction.
enum Wish {
    /// Commit; the sum of all accounts changes by this many cents.
    Commit(i64),
    /// Roll back: there is not enough money.
    RollBack,
}

impl Terminal {
    pub(super) fn new(
        config: SmallBankConfig,
        tables: Tables,
        page: Arc<Page>,
        thread: u32,
        seed: u64,
    ) -> Self {
        let random = Random::stream(seed, thread, 0);
        Self { config, tables, page, random, reads: Vec::new(), found: Vec::new() }
    }

    /// Draws a transaction and runs it to its end.
    #[inline]
    pub(super) async fn run_one<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
    ) -> Result<Finished, WorkloadError> {
        let input = draw(&self.config, &mut self.random);
        let mut attempts = Attempts::new();
        loop {
            let attempt = self.attempt(lane, input).await;
            if let Some(result) = attempts.judge(lane.env(), attempt).await? {
                return Ok(attempts.finish(input.kind as usize, result, 0));
            }
        }
    }

    async fn attempt<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        input: Input,
    ) -> Result<TransactionResult, WorkloadError> {
        let mut transaction = lane.begin(self.config.isolation).await?;
        match self.execute(&mut transaction, input).await? {
            Wish::RollBack => {
                transaction.abort().await;
                Ok(TransactionResult::RolledBack)
            }
            Wish::Commit(change_cents) => {
                let result = result_of(transaction.commit().await);
                if result == TransactionResult::Committed {
                    self.page.book(change_cents);
                }
                Ok(result)
            }
        }
    }

    async fn execute<E: Env>(
        &mut self,
        transaction: &mut Transaction<'_, E>,
        input: Input,
    ) -> Result<Wish, WorkloadError> {
        let Tables { accounts, savings, checking } = self.tables;
        let Input { kind, customer, other, cents } = input;
        let (own, theirs) = (key(customer), key(other));
        self.reads.clear();
        match kind {
            Kind::Amalgamate => self.reads.extend([
                (accounts, own),
                (accounts, theirs),
                (savings, own),
                (checking, own),
                (checking, theirs),
            ]),
            Kind::SendPayment => self.reads.extend([
                (accounts, own),
                (accounts, theirs),
                (checking, own),
                (checking, theirs),
            ]),
            Kind::DepositChecking => self.reads.extend([(accounts, own), (checking, own)]),
            Kind::TransactSavings => self.reads.extend([(accounts, own), (savings, own)]),
            Kind::Balance | Kind::WriteCheck => {
                self.reads.extend([(accounts, own), (savings, own), (checking, own)]);
            }
        }
        transaction.read_many(&self.reads, &mut self.found).await?;
        let rows = self.rows()?;
        Ok(apply(transaction, &rows, kind, cents))
    }

    /// All requested rows; the bank has all of them.
    fn rows(&self) -> Result<[RowId; 5], WorkloadError> {
        let mut rows = [RowId::default(); 5];
        let wanted = rows.iter_mut().zip(&self.found).zip(&self.reads);
        for ((place, &row), &(table, _)) in wanted {
            *place = row.ok_or_else(|| self.missing(table))?;
        }
        Ok(rows)
    }

    #[cold]
    fn missing(&self, table: TableId) -> WorkloadError {
        let ids = [self.tables.accounts, self.tables.savings, self.tables.checking];
        let index = ids.iter().position(|&id| id == table);
        WorkloadError::MissingRow { table: NAMES[index.expect("only these tables are read")] }
    }
}

/// The transaction itself, on the rows in the order of reading.
fn apply<E: Env>(
    transaction: &mut Transaction<'_, E>,
    rows: &[RowId; 5],
    kind: Kind,
    cents: i64,
) -> Wish {
    black_box(transaction.row(rows[0]).bytes(NAME));
    match kind {
        Kind::Amalgamate => {
            let [_, _, savings, checking, target] = *rows;
            let all = balance(transaction, savings) + balance(transaction, checking);
            add(transaction, target, all);
            transaction.update(savings).set_int(BALANCE, 0);
            transaction.update(checking).set_int(BALANCE, 0);
            Wish::Commit(0)
        }
        Kind::Balance => {
            let [_, savings, checking, ..] = *rows;
            black_box(balance(transaction, savings) + balance(transaction, checking));
            Wish::Commit(0)
        }
        Kind::DepositChecking => {
            add(transaction, rows[1], cents);
            Wish::Commit(cents)
        }
        Kind::SendPayment => {
            let [_, _, source, target, _] = *rows;
            if balance(transaction, source) < cents {
                return Wish::RollBack;
            }
            add(transaction, source, -cents);
            add(transaction, target, cents);
            Wish::Commit(0)
        }
        Kind::TransactSavings => {
            if balance(transaction, rows[1]) + cents < 0 {
                return Wish::RollBack;
            }
            add(transaction, rows[1], cents);
            Wish::Commit(cents)
        }
        Kind::WriteCheck => {
            let [_, savings, checking, ..] = *rows;
            let covered = balance(transaction, savings) + balance(transaction, checking) >= cents;
            let charge = if covered { cents } else { cents + PENALTY_CENTS };
            add(transaction, checking, -charge);
            Wish::Commit(-charge)
        }
    }
}

/// The balance of a row of savings or checking.
#[inline]
pub(super) fn balance<E: Env>(transaction: &Transaction<'_, E>, row: RowId) -> i64 {
    transaction.row(row).int(BALANCE)
}

/// Adds to the balance of a row of savings or checking.
#[inline]
pub(super) fn add<E: Env>(transaction: &mut Transaction<'_, E>, row: RowId, cents: i64) {
    let sum = balance(transaction, row) + cents;
    transaction.update(row).set_int(BALANCE, sum);
}

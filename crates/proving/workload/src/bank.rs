//! The bank: transfers between accounts, and audits that must see the same sum in every snapshot.
//!
//! It is the smallest workload with an invariant, and the first one to demonstrate: the sum of all
//! balances is the same in every snapshot.

use crate::attempts::{self, result_of};
use crate::catch_up::catch_up;
use crate::driver::{CheckResult, Finished, RunTotals, TransactionResult, Workload};
use crate::error::WorkloadError;
use crate::loading::Numbered;
use crate::random::Random;
use fabric::Env;
use layout::{
    Column, ColumnType, Key, KeyBuilder, PhysicalDesign, Placement, RecordMut, RecordRef, Schema,
    Storage,
};
use txn::{Database, Isolation, Lane, RowId, TableId, TableSpec, Transaction};

const TABLE: &str = "account";
const A_ID: usize = 0;
const A_BALANCE: usize = 1;
/// Cents on every account after the load.
const FIRST_BALANCE: i64 = 1_000;
/// The largest amount of a transfer, in cents.
const TRANSFER_MAX: i64 = 100;
/// Accounts per transaction of the load.
const LOAD_BATCH: u64 = 256;
/// The random stream of the terminals.
const TERMINAL_STREAM: u32 = 200;
/// Memory per account, including index and old versions.
const ACCOUNT_BYTES: u64 = 256;
/// Memory that is independent of the number of accounts.
const BASE_BYTES: u64 = 64 << 20;

/// The names of the transaction types.
pub const TRANSACTION_NAMES: [&str; 2] = ["transfer", "audit"];
const TRANSFER: usize = 0;
const AUDIT: usize = 1;

#[derive(Clone, Copy, Debug)]
pub struct Bank {
    /// Number of accounts, at least 2.
    pub accounts: i32,
    /// Percentage of audits among all transactions. An audit reads every account.
    pub audit_percent: u32,
    /// The isolation level; snapshot isolation suffices.
    pub isolation: Isolation,
}

impl Bank {
    /// A bank with this many accounts, in which one in a hundred transactions is an audit.
    pub fn new(accounts: i32) -> Result<Self, WorkloadError> {
        if accounts < 2 {
            let sentence = format!("{accounts} accounts: a transfer needs at least two");
            return Err(WorkloadError::Configuration(sentence));
        }
        Ok(Self { accounts, audit_percent: 1, isolation: Isolation::Snapshot })
    }

    fn sum(&self) -> i64 {
        i64::from(self.accounts) * FIRST_BALANCE
    }
}

/// The state of one thread.
#[derive(Debug)]
pub struct Terminal {
    table: TableId,
    random: Random,
    reads: Vec<(TableId, Key)>,
    found: Vec<Option<RowId>>,
}

#[derive(Clone, Copy, Debug)]
struct Transfer {
    from: i32,
    to: i32,
    amount: i64,
}

impl<E: Env> Workload<E> for Bank {
    type Terminal = Terminal;

    fn name(&self) -> &'static str {
        "bank"
    }

    fn transaction_types(&self) -> &'static [&'static str] {
        &TRANSACTION_NAMES
    }

    fn table_names(&self) -> &'static [&'static str] {
        &[TABLE]
    }

    fn load_rows(&self) -> u64 {
        self.accounts as u64
    }

    fn counts_from_load(&self) -> bool {
        false
    }

    fn load_parts(&self) -> u64 {
        (self.accounts as u64).div_ceil(LOAD_BATCH)
    }

    fn memory_bytes(&self) -> u64 {
        BASE_BYTES + self.accounts as u64 * ACCOUNT_BYTES
    }

    async fn create_tables(&self, database: &Database<E>) -> Result<(), WorkloadError> {
        let columns =
            vec![Column::new("a_id", ColumnType::Int4), Column::new("a_balance", ColumnType::Int8)];
        let schema = Schema::new(TABLE, columns, &[A_ID])?;
        let design = PhysicalDesign {
            storage: Storage::HashInlined,
            size_hint: self.accounts as u64,
            placement: Placement::Dense { columns: vec![(1, self.accounts as u64)] },
            ..PhysicalDesign::default()
        };
        database.create_table(TableSpec { schema, design, indexes: vec![] }).await?;
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
        let (table, rows) = (find_table(database)?, self.accounts as u64);
        let accounts = Numbered { table, rows, batch: LOAD_BATCH };
        let key = |number: u64| key(number as i32 + 1);
        let open = |_: u64, row: &mut RecordMut<'_>| row.set_int(A_BALANCE, FIRST_BALANCE);
        accounts.load_part(lane, (part, parts), progress, key, open).await
    }

    fn terminal(
        &self,
        database: &Database<E>,
        thread: u32,
        _threads: u32,
        seed: u64,
    ) -> Result<Terminal, WorkloadError> {
        let random = Random::stream(seed, TERMINAL_STREAM, u64::from(thread));
        Ok(Terminal { table: find_table(database)?, random, reads: Vec::new(), found: Vec::new() })
    }

    async fn run_one(
        &self,
        lane: &mut Lane<E>,
        terminal: &mut Terminal,
    ) -> Result<Finished, WorkloadError> {
        if terminal.random.percent(self.audit_percent) {
            let audit = async |lane: &mut Lane<E>| audit(lane, self, terminal.table).await;
            return attempts::run(lane, AUDIT, audit).await;
        }
        let input = draw_transfer(&mut terminal.random, self.accounts);
        let transfer =
            async |lane: &mut Lane<E>| transfer(lane, self.isolation, terminal, input).await;
        attempts::run(lane, TRANSFER, transfer).await
    }

    async fn check(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        _totals: &RunTotals,
        _after_load: bool,
    ) -> Result<Vec<CheckResult>, WorkloadError> {
        let table = find_table(database)?;
        catch_up(lane).await?;
        let mut seen = Seen::default();
        let look = async |lane: &mut Lane<E>| {
            seen = Seen::default();
            look(lane, table, &mut seen).await
        };
        attempts::insist(lane, look).await?;
        Ok(self.judge(&seen))
    }
}

impl Bank {
    fn judge(&self, seen: &Seen) -> Vec<CheckResult> {
        let compare = |name, found: i64, expected: i64| match found == expected {
            true => CheckResult::holds(name, found.to_string()),
            false => CheckResult::fails(name, format!("{found}, not {expected}")),
        };
        vec![
            compare("all accounts are there", seen.accounts, i64::from(self.accounts)),
            compare("no money was made or lost", seen.sum, self.sum()),
            compare("no account is overdrawn", seen.overdrawn, 0),
        ]
    }
}

fn find_table<E: Env>(database: &Database<E>) -> Result<TableId, WorkloadError> {
    database.table(TABLE).ok_or(WorkloadError::NoTable(TABLE))
}

fn key(account: i32) -> Key {
    KeyBuilder::new().int4(account).key()
}

/// Two different accounts and an amount.
fn draw_transfer(random: &mut Random, accounts: i32) -> Transfer {
    let from = random.uniform(1, i64::from(accounts)) as i32;
    let other = random.uniform(1, i64::from(accounts) - 1) as i32;
    let to = if other >= from { other + 1 } else { other };
    Transfer { from, to, amount: random.uniform(1, TRANSFER_MAX) }
}

/// Transfers an amount, unless that would overdraw the source account.
async fn transfer<E: Env>(
    lane: &mut Lane<E>,
    isolation: Isolation,
    terminal: &mut Terminal,
    transfer: Transfer,
) -> Result<TransactionResult, WorkloadError> {
    let Terminal { table, reads, found, .. } = terminal;
    let mut txn = lane.begin(isolation).await?;
    reads.clear();
    reads.extend([(*table, key(transfer.from)), (*table, key(transfer.to))]);
    txn.read_many(reads, found).await?;
    let (Some(from), Some(to)) = (found[0], found[1]) else {
        return Err(WorkloadError::MissingRow { table: TABLE });
    };
    let from_balance = txn.row(from).int(A_BALANCE) - transfer.amount;
    let to_balance = txn.row(to).int(A_BALANCE) + transfer.amount;
    if from_balance < 0 {
        txn.abort().await;
        return Ok(TransactionResult::RolledBack);
    }
    txn.update(from).set_int(A_BALANCE, from_balance);
    txn.update(to).set_int(A_BALANCE, to_balance);
    Ok(result_of(txn.commit().await))
}

/// The result of reading all accounts.
#[derive(Default)]
struct Seen {
    accounts: i64,
    sum: i64,
    overdrawn: i64,
}

async fn see<E: Env>(
    txn: &mut Transaction<'_, E>,
    table: TableId,
    seen: &mut Seen,
) -> Result<(), WorkloadError> {
    let mut visit = |row: RecordRef<'_>| {
        let balance = row.int(A_BALANCE);
        seen.accounts += 1;
        seen.sum += balance;
        seen.overdrawn += i64::from(balance < 0);
    };
    Ok(txn.for_each(table, &mut visit).await?)
}

async fn look<E: Env>(
    lane: &mut Lane<E>,
    table: TableId,
    seen: &mut Seen,
) -> Result<TransactionResult, WorkloadError> {
    let mut txn = lane.begin(Isolation::Snapshot).await?;
    see(&mut txn, table, seen).await?;
    Ok(result_of(txn.commit().await))
}

/// Adds up all accounts in one snapshot, while transfers continue. A wrong sum ends the run.
async fn audit<E: Env>(
    lane: &mut Lane<E>,
    bank: &Bank,
    table: TableId,
) -> Result<TransactionResult, WorkloadError> {
    let mut seen = Seen::default();
    let result = look(lane, table, &mut seen).await?;
    if result == TransactionResult::Committed && seen.sum != bank.sum() {
        let sentence = format!("the accounts add up to {}, not {}", seen.sum, bank.sum());
        return Err(WorkloadError::Inconsistent(sentence));
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::Trial;
    use fabric::{LocalEnv, run_now};

    const ACCOUNTS: i32 = 600;

    fn run(bank: &Bank, database: &Database<LocalEnv>, thread: u32) -> RunTotals {
        let mut lane = run_now(database.lane()).expect("lanes are free");
        let mut terminal = bank.terminal(database, thread, 2, 1).expect("the table is there");
        let mut totals = RunTotals::new(TRANSACTION_NAMES.len());
        for _ in 0..3000 {
            totals.add(&run_now(bank.run_one(&mut lane, &mut terminal)).expect("money is kept"));
        }
        totals
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the local world is one of threads")]
    fn two_threads_of_transfers_and_audits_keep_the_sum() {
        let bank = Bank { audit_percent: 5, ..Bank::new(ACCOUNTS).expect("two accounts suffice") };
        let mut trial = Trial::load(bank);
        let start = |thread| {
            let database = trial.database.for_thread();
            std::thread::spawn(move || run(&bank, &database, thread))
        };
        let running: Vec<_> = (0..2).map(start).collect();
        let mut totals = RunTotals::new(TRANSACTION_NAMES.len());
        for thread in running {
            totals.merge(&thread.join().expect("the thread did not panic"));
        }
        let (transfers, audits) = (totals.kind(TRANSFER), totals.kind(AUDIT));
        assert!(transfers.committed > 5000 && audits.committed > 100, "{totals:?}");
        assert_eq!(trial.failures(), [""; 0]);
    }

    /// Sets the balance of account 7 in a way that no transfer does.
    fn counterfeit(trial: &mut Trial<Bank>, balance: i64) {
        let table = find_table(&trial.database).expect("the table is there");
        trial.damage(|txn| {
            let row = run_now(txn.read(table, &key(7))).expect("no other transaction runs");
            txn.update(row.expect("the account is there")).set_int(A_BALANCE, balance);
        });
    }

    #[test]
    fn made_and_lost_money_is_noticed() {
        let bank = Bank { audit_percent: 100, ..Bank::new(ACCOUNTS).expect("two suffice") };
        for (balance, failures) in [(1001, 1), (-1, 2)] {
            let mut trial = Trial::load(bank);
            counterfeit(&mut trial, balance);
            assert_eq!(trial.failures().len(), failures);
            let mut terminal = bank.terminal(&trial.database, 0, 1, 1).expect("the table is there");
            let audit = run_now(bank.run_one(&mut trial.lane, &mut terminal));
            let error = audit.expect_err("an audit sees it");
            assert!(matches!(error, WorkloadError::Inconsistent(_)), "{error}");
        }
    }

    #[test]
    fn a_lost_account_is_noticed() {
        let mut trial = Trial::load(Bank::new(ACCOUNTS).expect("two accounts suffice"));
        trial.workload.accounts += 1;
        let failures = trial.failures();
        assert_eq!(failures, ["all accounts are there", "no money was made or lost"]);
    }

    #[test]
    fn transfers_name_two_different_accounts() {
        let mut random = Random::new(1);
        let mut pairs = [[0_u32; 4]; 4];
        for _ in 0..10_000 {
            let transfer = draw_transfer(&mut random, 3);
            pairs[transfer.from as usize][transfer.to as usize] += 1;
        }
        for (from, to) in [(1, 1), (2, 2), (3, 3)] {
            assert_eq!(pairs[from][to], 0);
        }
        assert!(pairs[1][2] > 1500 && pairs[3][1] > 1500 && pairs[2][3] > 1500, "{pairs:?}");
    }

    #[test]
    fn a_bank_with_one_account_is_refused() {
        assert!(Bank::new(1).is_err_and(|error| error.to_string().contains("at least two")));
    }
}

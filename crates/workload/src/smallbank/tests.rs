//! SmallBank from load to check on a local database, its anomaly, and what the check says of damage.

use super::tables::{BALANCE, NAME, key};
use super::write_skew::{self, Observation, WITHDRAWN};
use super::{SmallBank, SmallBankConfig, Tables};
use crate::driver::{RunTotals, TransactionResult, Workload};
use fabric::{LocalEnv, run_now};
use txn::local::OpenConfig;
use txn::{Database, Isolation, Lane, Outcome, Transaction};

struct Bench {
    bank: SmallBank,
    database: Database<LocalEnv>,
    lane: Lane<LocalEnv>,
    totals: RunTotals,
}

fn load(isolation: Isolation) -> Bench {
    let open = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
    let database = txn::local::open(&open).expect("64 MiB can be had");
    let config = SmallBankConfig { customers: 100, hot_customers: 10, hot_percent: 90, isolation };
    let bank = SmallBank::new(config).expect("the configuration makes sense");
    run_now(bank.create_tables(&database)).expect("the tables are new");
    let mut lane = run_now(database.lane()).expect("the first lane");
    for part in 0..2 {
        run_now(bank.load_part(&database, &mut lane, part, 2, &|_| ())).expect("there is room");
    }
    Bench { bank, database, lane, totals: RunTotals::new(6) }
}

impl Bench {
    fn run(&mut self, transactions: u32) {
        let mut terminal =
            Workload::<LocalEnv>::terminal(&self.bank, &self.database, 0, 1, 7).expect("loaded");
        for _ in 0..transactions {
            let finished = run_now(self.bank.run_one(&mut self.lane, &mut terminal));
            self.totals.add(&finished.expect("nothing fails here"));
        }
    }

    fn failures(&mut self) -> Vec<&'static str> {
        let check = self.bank.check(&self.database, &mut self.lane, &self.totals, false);
        let checks = run_now(check).expect("the tables can be read");
        checks.iter().filter(|check| !check.ok).map(|check| check.name).collect()
    }

    /// Changes the tables behind the workload's back.
    fn damage(&mut self, damage: impl FnOnce(&mut Transaction<'_, LocalEnv>, Tables)) {
        let tables = Tables::open(&self.database).expect("loaded");
        let mut transaction = run_now(self.lane.begin(Isolation::Snapshot)).expect("quiet");
        damage(&mut transaction, tables);
        assert_eq!(run_now(transaction.commit()), Outcome::Committed);
    }
}

#[test]
fn the_books_balance_after_a_run() {
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        let mut bench = load(isolation);
        bench.run(3000);
        assert_eq!(bench.failures(), [""; 0]);
        for kind in 0..6 {
            assert!(bench.totals.kind(kind).committed > 100, "kind {kind} hardly ran");
        }
        let bounced: u64 = (0..6).map(|kind| bench.totals.kind(kind).rolled_back).sum();
        assert!(bounced > 0, "no payment bounced, so that branch was not run");
    }
}

#[test]
fn money_made_from_nothing_is_noticed() {
    let mut bench = load(Isolation::Snapshot);
    bench.run(100);
    bench.damage(|transaction, tables| {
        let row = run_now(transaction.read(tables.checking, &key(50)));
        let row = row.expect("quiet").expect("loaded");
        let cents = transaction.row(row).int(BALANCE);
        transaction.update(row).set_int(BALANCE, cents + 1);
    });
    assert_eq!(bench.failures(), ["money is conserved: the accounts hold what the commits say"]);
}

#[test]
fn lost_rows_and_exchanged_names_are_noticed() {
    let mut bench = load(Isolation::Snapshot);
    bench.damage(|transaction, tables| {
        let row = run_now(transaction.read(tables.accounts, &key(3)));
        let row = row.expect("quiet").expect("loaded");
        transaction.update(row).set_bytes(NAME, b"customer 4");
    });
    assert_eq!(bench.failures(), ["every account bears its customer's name"]);
    bench.damage(|transaction, tables| {
        let row = run_now(transaction.read(tables.accounts, &key(3)));
        transaction.delete(row.expect("quiet").expect("loaded"));
    });
    assert_eq!(bench.failures(), ["every customer has one row in each table"]);
}

fn play(isolation: Isolation) -> Observation {
    let mut bench = load(isolation);
    let mut quick = run_now(bench.database.lane()).expect("the second lane");
    let tables = Tables::open(&bench.database).expect("loaded");
    run_now(write_skew::run(&mut bench.lane, &mut quick, tables, 0, isolation)).expect("quiet")
}

#[test]
fn snapshot_isolation_lets_the_write_skew_through() {
    let seen = play(Isolation::Snapshot);
    assert_eq!(seen.write_check, TransactionResult::Committed);
    assert_eq!(seen.transact_savings, TransactionResult::Committed);
    assert_eq!(seen.balance, TransactionResult::Committed);
    assert_eq!(seen.savings_after, write_skew::SAVINGS_BEFORE - WITHDRAWN);
    assert!(!seen.is_serializable(), "{seen:?}");
}

#[test]
fn serializable_transactions_show_no_write_skew() {
    let seen = play(Isolation::Serializable);
    assert!(seen.was_prevented(), "{seen:?}");
    assert!(seen.is_serializable(), "{seen:?}");
    assert_eq!(seen.checking_after, write_skew::CHECKING_BEFORE);
}

//! SmallBank from load to check on a local database, its anomaly, and the check's reports on
//! damage.

use super::tables::{BALANCE, NAME, key};
use super::write_skew::{self, Observation, WITHDRAWN};
use super::{SmallBank, SmallBankConfig, Tables};
use crate::driver::TransactionResult;
use crate::trial::Trial;
use fabric::{LocalEnv, run_now};
use txn::{Isolation, Transaction};

fn load(isolation: Isolation) -> Trial<SmallBank> {
    let config = SmallBankConfig { customers: 100, hot_customers: 10, hot_percent: 90, isolation };
    Trial::load(SmallBank::new(config).expect("the configuration makes sense"))
}

/// Changes the tables without the workload's knowledge.
fn damage(
    trial: &mut Trial<SmallBank>,
    damage: impl FnOnce(&mut Transaction<'_, LocalEnv>, Tables),
) {
    let tables = Tables::open(&trial.database).expect("loaded");
    trial.damage(|transaction| damage(transaction, tables));
}

#[test]
fn the_books_balance_after_a_run() {
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        let mut trial = load(isolation);
        trial.run(3000);
        assert_eq!(trial.failures(), [""; 0]);
        for kind in 0..6 {
            assert!(trial.totals.kind(kind).committed > 100, "kind {kind} hardly ran");
        }
        let bounced: u64 = (0..6).map(|kind| trial.totals.kind(kind).rolled_back).sum();
        assert!(bounced > 0, "no payment bounced, so that branch was not run");
    }
}

#[test]
fn money_made_from_nothing_is_noticed() {
    let mut trial = load(Isolation::Snapshot);
    trial.run(100);
    damage(&mut trial, |transaction, tables| {
        let row = run_now(transaction.read(tables.checking, &key(50)));
        let row = row.expect("quiet").expect("loaded");
        let cents = transaction.row(row).int(BALANCE);
        transaction.update(row).set_int(BALANCE, cents + 1);
    });
    assert_eq!(trial.failures(), ["money is conserved: balances match the committed transactions"]);
}

#[test]
fn lost_rows_and_exchanged_names_are_noticed() {
    let mut trial = load(Isolation::Snapshot);
    damage(&mut trial, |transaction, tables| {
        let row = run_now(transaction.read(tables.accounts, &key(3)));
        let row = row.expect("quiet").expect("loaded");
        transaction.update(row).set_bytes(NAME, b"customer 4");
    });
    assert_eq!(trial.failures(), ["every account has its customer's name"]);
    damage(&mut trial, |transaction, tables| {
        let row = run_now(transaction.read(tables.accounts, &key(3)));
        transaction.delete(row.expect("quiet").expect("loaded"));
    });
    assert_eq!(trial.failures(), ["every customer has one row in each table"]);
}

fn play(isolation: Isolation) -> Observation {
    let mut trial = load(isolation);
    let mut quick = run_now(trial.database.lane()).expect("the second lane");
    let tables = Tables::open(&trial.database).expect("loaded");
    run_now(write_skew::run(&mut trial.lane, &mut quick, tables, 0, isolation)).expect("quiet")
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

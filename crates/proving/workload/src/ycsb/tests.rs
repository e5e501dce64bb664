//! YCSB from load to check on a local database, and the check's reports on damage.

use super::record::{self, COUNTER, FIELDS, TABLE};
use super::{Distribution, Letter, Mix, Ycsb, YcsbConfig};
use crate::trial::Trial;
use fabric::{LocalEnv, run_now};
use txn::{Isolation, TableId, Transaction};

const RECORDS: u64 = 300;

fn load(config: YcsbConfig) -> Trial<Ycsb> {
    Trial::load(Ycsb::new(config).expect("the configuration makes sense"))
}

fn config(letter: Letter) -> YcsbConfig {
    YcsbConfig {
        records: RECORDS,
        record_bytes: 250,
        mix: letter.mix(),
        distribution: letter.distribution(0.99),
        ..YcsbConfig::default()
    }
}

/// Changes the table without the workload's knowledge.
fn damage(trial: &mut Trial<Ycsb>, damage: impl FnOnce(&mut Transaction<'_, LocalEnv>, TableId)) {
    let table = trial.database.table(TABLE).expect("loaded");
    trial.damage(|transaction| damage(transaction, table));
}

fn row(transaction: &mut Transaction<'_, LocalEnv>, table: TableId, number: u64) -> txn::RowId {
    let row = run_now(transaction.read(table, &record::key(number)));
    row.expect("quiet").expect("loaded")
}

#[test]
fn every_letter_runs_and_leaves_a_sound_table() {
    for letter in [Letter::A, Letter::B, Letter::C, Letter::D, Letter::E, Letter::F] {
        let mut trial = load(config(letter));
        trial.run(400);
        assert_eq!(trial.failures(), [""; 0], "after workload {letter:?}");
        assert_eq!(trial.totals.committed(), 400);
    }
}

#[test]
fn transactions_of_many_operations_count_every_update() {
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        let mut trial = load(YcsbConfig {
            mix: Mix::reads_and_updates(0),
            distribution: Distribution::Uniform,
            operations_per_transaction: 10,
            isolation,
            ..config(Letter::A)
        });
        trial.run(50);
        let checks = trial.check();
        let counters = &checks[1];
        assert!(counters.ok && counters.detail == "500", "{counters:?}");
    }
}

#[test]
fn a_lost_update_is_noticed() {
    let mut trial = load(config(Letter::A));
    trial.run(100);
    damage(&mut trial, |transaction, table| {
        let row = row(transaction, table, 5);
        let counter = transaction.row(row).int(COUNTER);
        transaction.update(row).set_int(COUNTER, counter + 1);
    });
    assert_eq!(trial.failures(), ["the counters add up to the committed updates"]);
}

#[test]
fn a_lost_record_is_noticed() {
    let mut trial = load(config(Letter::D));
    trial.run(200);
    damage(&mut trial, |transaction, table| {
        let row = row(transaction, table, RECORDS - 1);
        transaction.delete(row);
    });
    assert_eq!(trial.failures(), ["every loaded or inserted record exists"]);
}

#[test]
fn a_torn_record_is_noticed() {
    let mut trial = load(config(Letter::C));
    damage(&mut trial, |transaction, table| {
        let row = row(transaction, table, 17);
        let mut content = transaction.row(row).bytes(FIELDS + 1).to_vec();
        content[60] ^= 1;
        transaction.update(row).set_bytes(FIELDS + 1, &content);
    });
    assert_eq!(trial.failures(), ["every field was written by one update"]);
}

//! YCSB from load to check on a local database, and what the check says when the table was damaged.

use super::record::{self, COUNTER, FIELDS, TABLE};
use super::{Distribution, Letter, Mix, Ycsb, YcsbConfig};
use crate::driver::{CheckResult, RunTotals, TransactionResult, Workload};
use fabric::{LocalEnv, run_now};
use txn::local::OpenConfig;
use txn::{Database, Isolation, Lane, Outcome, TableId, Transaction};

const RECORDS: u64 = 300;

struct Bench {
    ycsb: Ycsb,
    database: Database<LocalEnv>,
    lane: Lane<LocalEnv>,
    totals: RunTotals,
}

fn load(config: YcsbConfig) -> Bench {
    let open = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
    let database = txn::local::open(&open).expect("64 MiB can be had");
    let ycsb = Ycsb::new(config).expect("the configuration makes sense");
    run_now(ycsb.create_tables(&database)).expect("the tables are new");
    let mut lane = run_now(database.lane()).expect("the first lane");
    for part in 0..3 {
        run_now(ycsb.load_part(&database, &mut lane, part, 3, &|_| ())).expect("there is room");
    }
    Bench { ycsb, database, lane, totals: RunTotals::new(5) }
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

impl Bench {
    fn run(&mut self, transactions: u32) {
        let mut terminal =
            Workload::<LocalEnv>::terminal(&self.ycsb, &self.database, 0, 1, 7).expect("loaded");
        for _ in 0..transactions {
            let finished = run_now(self.ycsb.run_one(&mut self.lane, &mut terminal));
            let finished = finished.expect("nothing fails here");
            assert_eq!(finished.result, TransactionResult::Committed);
            self.totals.add(&finished);
        }
    }

    fn check(&mut self) -> Vec<CheckResult> {
        let check = self.ycsb.check(&self.database, &mut self.lane, &self.totals, false);
        run_now(check).expect("the table can be read")
    }

    fn failures(&mut self) -> Vec<&'static str> {
        self.check().iter().filter(|check| !check.ok).map(|check| check.name).collect()
    }

    /// Changes the table behind the workload's back.
    fn damage(&mut self, damage: impl FnOnce(&mut Transaction<'_, LocalEnv>, TableId)) {
        let table = self.database.table(TABLE).expect("loaded");
        let mut transaction = run_now(self.lane.begin(Isolation::Snapshot)).expect("quiet");
        damage(&mut transaction, table);
        assert_eq!(run_now(transaction.commit()), Outcome::Committed);
    }
}

fn row(transaction: &mut Transaction<'_, LocalEnv>, table: TableId, number: u64) -> txn::RowId {
    let row = run_now(transaction.read(table, &record::key(number)));
    row.expect("quiet").expect("loaded")
}

#[test]
fn every_letter_runs_and_leaves_a_sound_table() {
    for letter in [Letter::A, Letter::B, Letter::C, Letter::D, Letter::E, Letter::F] {
        let mut bench = load(config(letter));
        bench.run(400);
        assert_eq!(bench.failures(), [""; 0], "after workload {letter:?}");
        assert_eq!(bench.totals.committed(), 400);
    }
}

#[test]
fn transactions_of_many_operations_count_every_update() {
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        let mut bench = load(YcsbConfig {
            mix: Mix::reads_and_updates(0),
            distribution: Distribution::Uniform,
            operations_per_transaction: 10,
            isolation,
            ..config(Letter::A)
        });
        bench.run(50);
        let checks = bench.check();
        let counters = &checks[1];
        assert!(counters.ok && counters.detail == "500", "{counters:?}");
    }
}

#[test]
fn a_lost_update_is_noticed() {
    let mut bench = load(config(Letter::A));
    bench.run(100);
    bench.damage(|transaction, table| {
        let row = row(transaction, table, 5);
        let counter = transaction.row(row).int(COUNTER);
        transaction.update(row).set_int(COUNTER, counter + 1);
    });
    assert_eq!(bench.failures(), ["the counters add up to the committed updates"]);
}

#[test]
fn a_lost_record_is_noticed() {
    let mut bench = load(config(Letter::D));
    bench.run(200);
    bench.damage(|transaction, table| {
        let row = row(transaction, table, RECORDS - 1);
        transaction.delete(row);
    });
    assert_eq!(bench.failures(), ["every record loaded or inserted is there"]);
}

#[test]
fn a_torn_record_is_noticed() {
    let mut bench = load(config(Letter::C));
    bench.damage(|transaction, table| {
        let row = row(transaction, table, 17);
        let mut content = transaction.row(row).bytes(FIELDS + 1).to_vec();
        content[60] ^= 1;
        transaction.update(row).set_bytes(FIELDS + 1, &content);
    });
    assert_eq!(bench.failures(), ["every field is as one update wrote it"]);
}

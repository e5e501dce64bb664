//! The churn on one thread, with each kind of storage and index, and with damaged data.

use super::*;
use crate::trial::Trial;
use fabric::run_now;

fn config(storage: Storage, group_index: IndexKind, tag_index: IndexKind) -> ChurnConfig {
    ChurnConfig {
        rows: 30,
        groups: 4,
        tags: 5,
        operations: 3,
        survey_percent: 5,
        delete_percent: 30,
        tide: 0,
        isolation: Isolation::Snapshot,
        design: PhysicalDesign { storage, size_hint: 4, ..PhysicalDesign::default() },
        group_index,
        tag_index,
    }
}

fn trial(storage: Storage, group_index: IndexKind, tag_index: IndexKind) -> Trial<Churn> {
    let config = config(storage, group_index, tag_index);
    Trial::load(Churn::new(config).expect("the configuration is right"))
}

#[test]
fn every_way_of_reading_agrees() {
    for storage in [Storage::HashInlined, Storage::HashOutside, Storage::Tree] {
        for (one, other) in [(IndexKind::Hash, IndexKind::Tree), (IndexKind::Tree, IndexKind::Hash)]
        {
            let mut trial = trial(storage, one, other);
            trial.run(600);
            assert_eq!(trial.failures(), [""; 0]);
            let changes = trial.totals.kind(CHANGE);
            assert!(changes.committed > 300 && changes.rolled_back > 20, "{changes:?}");
        }
    }
}

#[test]
fn rows_come_and_go_with_the_tide() {
    let config = config(Storage::Tree, IndexKind::Tree, IndexKind::Hash);
    let config = ChurnConfig { tide: 40, tags: 0, survey_percent: 0, ..config };
    let mut trial = Trial::load(Churn::new(config).expect("the configuration is right"));
    for (transactions, rows) in [(40, 30), (80, 0), (120, 30)] {
        trial.run(transactions);
        let [check] = &trial.check()[..] else { panic!("there is one check") };
        assert_eq!((check.ok, &*check.detail), (true, &*format!("{rows} rows")));
    }
}

#[test]
fn surveys_report_rows_that_differ() {
    let rows = |cells| std::collections::BTreeMap::from([(7, cells)]);
    assert!(survey::agree(&rows((1, 2)), &rows((1, 2)), "another way").is_ok());
    let error =
        survey::agree(&rows((1, 2)), &rows((1, 3)), "another way").expect_err("tags differ");
    assert!(error.to_string().contains("row 7"), "{error}");
}

#[test]
fn an_entry_that_leads_nowhere_is_noticed() {
    let mut trial = trial(Storage::Tree, IndexKind::Hash, IndexKind::Tree);
    trial.run(200);
    // A survey that expects fewer rows than exist misses some by key.
    trial.workload.config.rows = 3;
    assert_eq!(trial.failures(), [AGREE]);
}

#[test]
fn configurations_that_cannot_be_are_refused() {
    let right = config(Storage::Tree, IndexKind::Hash, IndexKind::Hash);
    let refused = |config| Churn::new(config).expect_err("it cannot be").to_string();
    assert!(refused(ChurnConfig { rows: 0, ..right.clone() }).contains("1 at least"));
    assert!(refused(ChurnConfig { delete_percent: 101, ..right }).contains("100 percent"));
}

#[test]
fn a_look_needs_the_table() {
    let workload = Churn::new(config(Storage::Tree, IndexKind::Hash, IndexKind::Hash));
    let workload = workload.expect("the configuration is right");
    let config = txn::local::OpenConfig::default();
    let database = txn::local::open(&config).expect("memory can be mapped");
    let terminal = workload.terminal(&database, 0, 1, 1);
    assert!(terminal.is_err_and(|error| error.to_string().contains("item")));
    run_now(workload.create_tables(&database)).expect("the table is new");
    assert!(workload.terminal(&database, 0, 1, 1).is_ok());
}

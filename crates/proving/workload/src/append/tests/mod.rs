//! List-append on one thread and on two, under both isolation levels, and with damaged data.

mod simulated;

use super::{Append, AppendConfig, append, key};
use crate::driver::{RunTotals, Workload};
use crate::error::WorkloadError;
use crate::trial::Trial;
use fabric::run_now;
use history_judge::{Level, Outcome, Verdict};
use txn::Isolation;

fn config(isolation: Isolation) -> AppendConfig {
    AppendConfig { lists: 5, elements: 10, isolation, ..AppendConfig::default() }
}

fn new(config: AppendConfig) -> Append {
    Append::new(config).expect("the configuration is right")
}

#[test]
fn one_thread_is_strictly_serializable() {
    let mut trial = Trial::load(new(config(Isolation::Snapshot)));
    trial.run(3000);
    assert_eq!(trial.failures(), [""; 0]);
    let history = trial.workload.recordings().history();
    let report = history_judge::judge(&history).expect("values are unique");
    assert_eq!(report.verdict(Level::StrictSerializable), &Verdict::Holds);
    // Lists have become full, and others were created.
    assert!(report.counts.keys > 100 && report.counts.unordered_keys == 0, "{:?}", report.counts);
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the local world is one of threads")]
fn two_threads_keep_what_each_level_promises() {
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        let mut trial = Trial::load(new(config(isolation)));
        let start = |thread| {
            let (database, workload) = (trial.database.for_thread(), trial.workload.clone());
            std::thread::spawn(move || run(&workload, &database, thread))
        };
        let running: Vec<_> = (0..2).map(start).collect();
        for thread in running {
            trial.totals.merge(&thread.join().expect("the thread did not panic"));
        }
        assert_eq!(trial.failures(), [""; 0]);
        let history = trial.workload.recordings().history();
        let of = |outcome| history.transactions().iter().filter(|t| t.outcome == outcome).count();
        // Every attempt is recorded, and one final read of all lists.
        let aborts: u64 = trial.totals.aborts().map(|(_, count)| count).sum();
        assert_eq!(of(Outcome::Committed) as u64, trial.totals.committed() + 1);
        assert_eq!(of(Outcome::Aborted) as u64, aborts);
    }
}

fn run(workload: &Append, database: &txn::Database<fabric::LocalEnv>, thread: u32) -> RunTotals {
    let mut lane = run_now(database.lane()).expect("lanes are free");
    let mut terminal = workload.terminal(database, thread, 2, 1).expect("the table is there");
    let mut totals = RunTotals::new(super::TYPES.len());
    for _ in 0..5000 {
        totals.add(&run_now(workload.run_one(&mut lane, &mut terminal)).expect("nothing fails"));
    }
    totals
}

#[test]
fn unrecorded_transactions_write_nothing() {
    let recorded = AppendConfig { recorded: 100, ..config(Isolation::Snapshot) };
    let mut trial = Trial::load(new(recorded));
    trial.run(500);
    assert_eq!(trial.failures(), [""; 0]);
    assert_eq!(trial.workload.recordings().history().transactions().len(), 101);
}

#[test]
fn a_list_changed_behind_the_sessions_backs_is_noticed() {
    let mut trial = Trial::load(new(AppendConfig { lists: 1, ..config(Isolation::Snapshot) }));
    let table = trial.database.table(super::TABLE).expect("it was loaded");
    trial.run(3);
    trial.damage(|transaction| {
        let row = run_now(transaction.read(table, &key(0))).expect("quiet");
        // As if the list's content had been lost and replaced.
        append(&mut transaction.update(row.expect("it was loaded")), &[], 77);
    });
    assert_eq!(trial.failures(), ["the history is of strong session snapshot isolation"]);
    assert!(trial.check()[0].detail.starts_with("garbage-read"), "{:?}", trial.check());
}

#[test]
fn configurations_that_cannot_be_are_refused() {
    let refused = |config| match Append::new(config) {
        Err(WorkloadError::Configuration(sentence)) => sentence,
        _ => panic!("{config:?} is accepted"),
    };
    let right = AppendConfig::default();
    assert!(refused(AppendConfig { lists: 0, ..right }).starts_with("0 lists"));
    assert!(refused(AppendConfig { elements: 129, ..right }).starts_with("129 elements"));
    assert!(refused(AppendConfig { operations: 0, ..right }).starts_with("0 operations"));
    assert!(refused(AppendConfig { read_percent: 101, ..right }).starts_with("101 percent"));
}

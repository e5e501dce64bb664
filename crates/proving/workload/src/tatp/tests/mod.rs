//! TATP from load to check on a local database, and the checks' reports on damage.

mod damage;
mod simulated;

use super::*;
use crate::trial::Trial;
use fabric::{LocalEnv, run_now};
use txn::Isolation;

fn load(config: TatpConfig) -> Trial<Tatp> {
    Trial::load(Tatp::new(config).expect("the configuration makes sense"))
}

fn small(isolation: Isolation) -> TatpConfig {
    TatpConfig { isolation, ..TatpConfig::new(2000) }
}

#[test]
fn every_check_holds_after_the_load_and_after_a_run() {
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        let mut trial = load(small(isolation));
        assert_eq!(trial.failures(), [""; 0]);
        trial.run(30_000);
        assert_eq!(trial.failures(), [""; 0]);
        assert_eq!(trial.check().len(), 9);
        for (kind, _) in Kind::MIX {
            let counted = trial.totals.kind(kind as usize);
            assert!(counted.committed > 100, "{} hardly ran", kind.name());
            assert_eq!((counted.aborted, counted.retries), (0, 0), "no other transaction runs");
            let always = matches!(kind, Kind::GetSubscriberData | Kind::UpdateLocation);
            assert_eq!(counted.rolled_back == 0, always, "{}", kind.name());
        }
    }
}

#[test]
fn a_recorded_run_is_strictly_serializable_on_one_thread() {
    let config = TatpConfig { recorded: true, ..TatpConfig::new(20) };
    let mut trial = load(config);
    trial.run(3000);
    let failures: Vec<_> =
        trial.failures().into_iter().filter(|name| !name.contains("often")).collect();
    assert_eq!(failures, [""; 0]);
    let history = trial.workload.recordings().history();
    let report = ::history_judge::judge(&history).expect("values are unique");
    let level = ::history_judge::Level::StrictSerializable;
    assert_eq!(report.verdict(level), &::history_judge::Verdict::Holds);
}

#[test]
fn configurations_that_cannot_be_are_refused() {
    let refused = Tatp::new(TatpConfig::new(0)).expect_err("nobody");
    assert!(refused.to_string().starts_with("0 subscribers"), "{refused}");
    assert!(Tatp::new(TatpConfig::new(u32::MAX)).is_err());
}

/// Another process learns the last updates of this one's terminals.
#[test]
fn another_process_learns_the_last_updates() {
    let mut trial = load(small(Isolation::Snapshot));
    trial.run(500);
    let other = Tatp::new(*trial.workload.config()).expect("it makes sense");
    let testimony = Workload::<LocalEnv>::testimony(&trial.workload);
    Workload::<LocalEnv>::hear(&other, &testimony).expect("it was written");
    trial.workload = other;
    assert_eq!(trial.failures(), [""; 0]);
    // Without them the checks take every update for damage.
    trial.workload = Tatp::new(*trial.workload.config()).expect("it makes sense");
    assert_eq!(trial.failures().len(), 2);
}
